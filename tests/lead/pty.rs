//! A terminal for a test: the program sees a real one, the test sees its screen.

use crate::support::LIMIT;
use rustix::fd::OwnedFd;
use rustix::termios::{LocalModes, tcgetattr};
use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::thread;
use test_support::{AtTerminal, wait_for, wait_until};

const ROWS: u16 = 40;
const COLUMNS: u16 = 100;

/// A program at a terminal. It is killed when the value is dropped.
pub(crate) struct Terminal {
    child: Child,
    keyboard: File,
    /// Kept open, so that the state of the terminal can be looked at after the end.
    line: OwnedFd,
    output: Arc<Mutex<Vec<u8>>>,
}

impl Terminal {
    /// Starts a program at a new terminal.
    pub(crate) fn start(command: Command) -> Self {
        let AtTerminal {
            child,
            person,
            line,
            ..
        } = AtTerminal::start(command, ROWS, COLUMNS).unwrap();
        let output = Arc::new(Mutex::new(Vec::new()));
        let mut screen = person.try_clone().unwrap();
        let seen = Arc::clone(&output);
        // The thread ends with the terminal.
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count) = screen.read(&mut bytes) {
                if count == 0 {
                    return;
                }
                seen.lock().unwrap().extend_from_slice(&bytes[..count]);
            }
        });
        Self {
            child,
            keyboard: person,
            line,
            output,
        }
    }

    /// Types keys.
    pub(crate) fn type_keys(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// Everything the program has written.
    pub(crate) fn output(&self) -> String {
        String::from_utf8_lossy(&self.output.lock().unwrap()).into_owned()
    }

    /// The lines of the screen, without those that are empty.
    pub(crate) fn screen(&self) -> Vec<String> {
        let mut parser = vt100::Parser::new(size(ROWS), size(COLUMNS), 0);
        parser.process(&self.output.lock().unwrap());
        let screen = parser.screen().contents();
        let lines = screen.lines().map(|line| line.trim_end().to_owned());
        lines.filter(|line| !line.is_empty()).collect()
    }

    /// Waits until the screen is as it should be.
    #[track_caller]
    pub(crate) fn wait_for_screen(&self, what: &str, right: impl Fn(&[String]) -> bool) {
        let mut last = Vec::new();
        let found = test_support::try_wait_for(LIMIT, || {
            last = self.screen();
            right(&last).then_some(())
        });
        assert!(found.is_some(), "{what}: {last:#?}");
    }

    /// Waits until the last line of the screen is this one, and another line comes before it.
    #[track_caller]
    pub(crate) fn wait_for_line_above(&self, line: &str, last: &str) {
        let what = format!("{line:?} above {last:?}");
        self.wait_for_screen(&what, |lines| {
            let is_last = lines.last().is_some_and(|found| found == last);
            is_last && lines.iter().any(|found| found.contains(line))
        });
    }

    /// Waits for the end, and returns the exit code.
    #[track_caller]
    pub(crate) fn end(&mut self) -> Option<i32> {
        let what = format!("the end of the program; its screen: {:#?}", self.screen());
        wait_for(&what, LIMIT, || self.child.try_wait().unwrap()).code()
    }

    /// Waits until the terminal is in the mode that every other program expects.
    #[track_caller]
    pub(crate) fn assert_restored(&self) {
        wait_until("the terminal to be as it was", LIMIT, || {
            let modes = tcgetattr(&self.line).unwrap().local_modes;
            modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG)
        });
    }
}

fn size(cells: u16) -> NonZeroU16 {
    NonZeroU16::new(cells).unwrap()
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
