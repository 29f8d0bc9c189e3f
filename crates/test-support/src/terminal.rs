//! A program at a terminal of its own.

use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, open};
use rustix::process::{ioctl_tiocsctty, setsid};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

/// A program that sees a real terminal, and both ends of that terminal.
#[derive(Debug)]
pub struct AtTerminal {
    /// The program. Nothing ends it but its owner.
    pub child: Child,
    /// The person's end: reading gives what is shown, writing types keys. Once the program and
    /// `line` are gone, reading fails.
    pub person: File,
    /// The program's end, with which the modes of the terminal can be looked at.
    pub line: OwnedFd,
    /// The modes of the terminal before the program started.
    pub before: Termios,
}

impl AtTerminal {
    /// Starts a program in a session of its own, at a new terminal of this size.
    pub fn start(mut command: Command, rows: u16, columns: u16) -> io::Result<Self> {
        let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&person)?;
        unlockpt(&person)?;
        let path = ptsname(&person, Vec::new())?;
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let line = open(path, flags, Mode::empty())?;
        let size = Winsize {
            ws_row: rows,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&line, size)?;
        let before = tcgetattr(&line)?;
        command
            .stdin(line.try_clone()?)
            .stdout(line.try_clone()?)
            .stderr(line.try_clone()?);
        // SAFETY: only two system calls are made between fork and exec.
        unsafe {
            command.pre_exec(|| {
                setsid()?;
                ioctl_tiocsctty(rustix::stdio::stdin())?;
                Ok(())
            });
        }
        Ok(Self {
            child: command.spawn()?,
            person: File::from(person),
            line,
            before,
        })
    }
}
