//! A terminal for a test: the program sees a real one, the test sees its screen.

use crate::support::LIMIT;
use rustix::fd::OwnedFd;
use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};
use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Mutex};
use std::thread;
use test_support::{AtTerminal, try_wait_for, wait_for, wait_until};
use vt100::Parser;

/// A program at a terminal. It is killed when the value is dropped.
pub(crate) struct Terminal {
    child: Child,
    keyboard: File,
    /// Kept open, so that the state of the terminal can be looked at after the end.
    line: OwnedFd,
    before: Termios,
    screen: Arc<Mutex<Parser>>,
}

impl Terminal {
    /// Starts a program at a new terminal of 80 by 24.
    pub(crate) fn start(command: Command) -> Self {
        let AtTerminal {
            child,
            person,
            line,
            before,
        } = AtTerminal::start(command, 24, 80).unwrap();
        let screen = Arc::new(Mutex::new(Parser::new(cells(24), cells(80), 0)));
        let mut output = person.try_clone().unwrap();
        let seen = Arc::clone(&screen);
        // The thread ends with the terminal.
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                seen.lock().unwrap().process(&bytes[..count]);
            }
        });
        Self {
            child,
            keyboard: person,
            line,
            before,
            screen,
        }
    }

    /// Types keys.
    pub(crate) fn type_keys(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// Makes the terminal larger or smaller.
    pub(crate) fn resize(&self, rows: u16, columns: u16) {
        let mut parser = self.screen.lock().unwrap();
        let screen = parser.screen_mut();
        screen.set_size(cells(rows), cells(columns));
        tcsetwinsize(&self.line, size(rows, columns)).unwrap();
    }

    /// Sends the program a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).unwrap();
        kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
    }

    /// The text of the screen.
    pub(crate) fn text(&self) -> String {
        self.screen.lock().unwrap().screen().contents()
    }

    /// Waits until all of these are on the screen.
    #[track_caller]
    pub(crate) fn wait_for(&self, texts: &[&str]) {
        self.wait_until(&format!("{texts:?}"), |screen| {
            texts.iter().all(|text| screen.contains(text))
        });
    }

    /// Waits until the screen is as it should be.
    #[track_caller]
    pub(crate) fn wait_until(&self, what: &str, right: impl Fn(&str) -> bool) {
        let found = try_wait_for(LIMIT, || right(&self.text()).then_some(()));
        assert!(
            found.is_some(),
            "{what} is not on the screen:\n{}",
            self.text()
        );
    }

    /// Waits for the end.
    #[track_caller]
    pub(crate) fn end(&mut self) -> ExitStatus {
        let what = format!("the end of the program; its screen:\n{}", self.text());
        wait_for(&what, LIMIT, || self.child.try_wait().unwrap())
    }

    /// Waits until the terminal is as it was before the program started.
    #[track_caller]
    pub(crate) fn assert_restored(&self) {
        wait_until("the terminal to be as it was", LIMIT, || {
            let now = tcgetattr(&self.line).unwrap();
            let parser = self.screen.lock().unwrap();
            let screen = parser.screen();
            now.local_modes == self.before.local_modes
                && now.input_modes == self.before.input_modes
                && now.output_modes == self.before.output_modes
                && !screen.alternate_screen()
                && !screen.hide_cursor()
        });
    }
}

fn cells(count: u16) -> NonZeroU16 {
    NonZeroU16::new(count).unwrap()
}

const fn size(rows: u16, columns: u16) -> Winsize {
    Winsize {
        ws_row: rows,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
