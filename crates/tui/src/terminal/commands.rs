//! Runs the commands that keys request.

use crate::one_line;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use teamdir::TeamDir;

/// Runs commands in the background.
pub(super) struct Commands {
    program: PathBuf,
    workspace: PathBuf,
    results: Receiver<(bool, String)>,
    sender: Sender<(bool, String)>,
    wake: UnixStream,
    waker: UnixStream,
}

impl Commands {
    pub(super) fn new(team: &TeamDir, program: &Path) -> io::Result<Self> {
        let (sender, results) = channel();
        let (wake, waker) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        waker.set_nonblocking(true)?;
        Ok(Self {
            program: program.to_path_buf(),
            workspace: team.workspace().to_path_buf(),
            results,
            sender,
            wake,
            waker,
        })
    }

    /// Starts the program with these arguments.
    pub(super) fn start(&self, args: Vec<String>) -> io::Result<()> {
        let mut command = Command::new(&self.program);
        command.arg("-C").arg(&self.workspace).args(args);
        command.stdin(Stdio::null());
        let sender = self.sender.clone();
        let mut waker = self.waker.try_clone()?;
        let work = move || {
            let result = match command.output() {
                Ok(output) if output.status.success() => (true, first_line(&output.stdout)),
                Ok(output) => (false, first_line(&output.stderr)),
                Err(error) => (false, error.to_string()),
            };
            // This fails if the view has ended.
            let _ = sender.send(result);
            let _ = waker.write(&[1]);
        };
        thread::Builder::new().spawn(work).map(|_| ())
    }

    /// The results of the commands that have ended since the last call.
    pub(super) fn finished(&self) -> Vec<(bool, String)> {
        let mut bytes = [0; 64];
        while let Ok(1..) = (&self.wake).read(&mut bytes) {}
        self.results.try_iter().collect()
    }

    /// Becomes readable when a command ends.
    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}

fn first_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let line = text.lines().find(|line| !line.trim().is_empty());
    one_line(line.unwrap_or("done"))
}
