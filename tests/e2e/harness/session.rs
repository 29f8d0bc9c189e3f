//! A program that runs, with what it has printed so far.

use super::{LIMIT, Run, Workspace, signal};
use nix::sys::signal::Signal;
use std::fs::{self, File};
use std::io::Write;
use std::ops::{Deref, DerefMut};
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::Ordering;
use test_support::{Worker, wait_until};

/// A [`Worker`] whose standard error can be read too. It is killed when the value is dropped.
pub(crate) struct Session {
    worker: Worker,
    errors: PathBuf,
}

impl Workspace {
    /// Starts a command with its input open.
    pub(crate) fn start_command(&self, command: &mut Command) -> Session {
        let number = self.sessions.fetch_add(1, Ordering::SeqCst);
        let errors = self.scratch.path().join(format!("errors-{number}.txt"));
        command.stderr(File::create(&errors).unwrap());
        Session {
            worker: Worker::spawn(command).unwrap(),
            errors,
        }
    }
}

impl Session {
    /// Types text. The program may have ended, and then nobody reads it.
    pub(crate) fn type_text(&mut self, text: &str) {
        if let Some(stdin) = self.worker.stdin() {
            let _ = stdin.write_all(text.as_bytes());
        }
    }

    /// What it has written to its standard error.
    pub(crate) fn err(&self) -> String {
        fs::read_to_string(&self.errors).unwrap()
    }

    /// Waits until a text was written to standard error.
    #[track_caller]
    pub(crate) fn wait_for_error_text(&self, text: &str) {
        let what = format!("{text:?} on standard error");
        wait_until(&what, LIMIT, || self.err().contains(text));
    }

    pub(crate) fn signal(&self, name: Signal) {
        signal(self.id(), name);
    }

    /// Closes the input and waits for the end.
    #[track_caller]
    pub(crate) fn end(mut self) -> Run {
        self.close_stdin();
        let status = self.worker.wait(LIMIT);
        Run {
            code: status.code().expect("no signal ended it"),
            out: self.output(),
            err: self.err(),
        }
    }

    /// Types the last input and waits for the end.
    #[track_caller]
    pub(crate) fn finish(mut self, input: &str) -> Run {
        self.type_text(input);
        self.end()
    }
}

impl Deref for Session {
    type Target = Worker;

    fn deref(&self) -> &Worker {
        &self.worker
    }
}

impl DerefMut for Session {
    fn deref_mut(&mut self) -> &mut Worker {
        &mut self.worker
    }
}
