//! A program at a terminal of its own.

use nix::fcntl::{OFlag, open};
use nix::libc;
use nix::pty::{Winsize, grantpt, posix_openpt, ptsname_r, unlockpt};
use nix::sys::signal::{SigHandler, Signal, signal};
use nix::sys::stat::Mode;
use nix::sys::termios::{Termios, tcgetattr};
use nix::unistd::setsid;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

nix::ioctl_write_int_bad!(set_controlling_terminal, libc::TIOCSCTTY);
nix::ioctl_write_ptr_bad!(set_window_size, libc::TIOCSWINSZ, Winsize);

/// A program that sees a real terminal, and both ends of that terminal.
#[derive(Debug)]
pub struct AtTerminal {
    /// The program. Only its owner ends it.
    pub child: Child,
    /// The user's end: reading returns what is shown, writing types keys. Once the program and
    /// `line` are closed, reading fails.
    pub person: File,
    /// The program's end, which tells the modes of the terminal.
    pub line: OwnedFd,
    /// The modes of the terminal before the program started.
    before: Termios,
}

impl AtTerminal {
    /// Starts a program in a session of its own, at a new terminal of this size.
    pub fn start(mut command: Command, rows: u16, columns: u16) -> io::Result<Self> {
        let flags = OFlag::O_RDWR | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
        let person = posix_openpt(flags)?;
        grantpt(&person)?;
        unlockpt(&person)?;
        let line = open(ptsname_r(&person)?.as_str(), flags, Mode::empty())?;
        resize(&line, rows, columns)?;
        let before = tcgetattr(&line)?;
        command
            .stdin(line.try_clone()?)
            .stdout(line.try_clone()?)
            .stderr(line.try_clone()?);
        // SAFETY: only three system calls are made between fork and exec, one of them on the descriptor
        // that the standard library has made the standard input.
        unsafe {
            command.pre_exec(|| {
                setsid()?;
                // Tests run by `nohup` would otherwise pass on that SIGHUP is ignored.
                signal(Signal::SIGHUP, SigHandler::SigDfl)?;
                set_controlling_terminal(libc::STDIN_FILENO, 0)?;
                Ok(())
            });
        }
        Ok(Self {
            child: command.spawn()?,
            person: File::from(OwnedFd::from(person)),
            line,
            before,
        })
    }

    /// Makes the terminal larger or smaller.
    pub fn resize(&self, rows: u16, columns: u16) -> io::Result<()> {
        resize(&self.line, rows, columns)
    }

    /// Whether the modes of the terminal are those from before the program started.
    pub fn is_restored(&self) -> io::Result<bool> {
        let now = tcgetattr(&self.line)?;
        Ok(now.local_flags == self.before.local_flags
            && now.input_flags == self.before.input_flags
            && now.output_flags == self.before.output_flags)
    }
}

fn resize(line: &OwnedFd, rows: u16, columns: u16) -> io::Result<()> {
    let size = Winsize {
        ws_row: rows,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    // SAFETY: the descriptor is open, and the kernel only reads the size.
    unsafe { set_window_size(line.as_raw_fd(), &raw const size) }?;
    Ok(())
}
