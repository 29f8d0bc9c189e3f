//! A terminal for a test: the program sees a real one, the test sees its screen.

use super::{LIMIT, signal};
use nix::sys::signal::Signal;
use std::io::{Read, Write};
use std::process::{Command, ExitStatus};
use std::sync::{Arc, Mutex};
use std::thread;
use test_support::{AtTerminal, try_wait_for, wait_for, wait_until};
use vt100::{Color, Parser};

/// A program at a terminal. It is killed when the value is dropped.
pub(crate) struct Terminal {
    program: AtTerminal,
    seen: Arc<Mutex<Seen>>,
}

/// What the program has written, and what of it is on the screen.
struct Seen {
    bytes: Vec<u8>,
    /// How many of the bytes the parser has had.
    shown: usize,
    parser: Parser,
}

impl Seen {
    /// Shows what was written since the last time. The parser ignores replacement characters instead of
    /// moving on by a cell as terminals do, so it gets question marks for them.
    fn show(&mut self) {
        const REPLACEMENT: &[u8] = "\u{fffd}".as_bytes();
        let new = &self.bytes[self.shown..];
        let is_cut = |length: &usize| new.ends_with(&REPLACEMENT[..*length]);
        let begun = (1..REPLACEMENT.len()).rfind(is_cut).unwrap_or(0);
        let mut rest = &new[..new.len() - begun];
        self.shown += rest.len();
        while let Some(start) = find(rest, REPLACEMENT) {
            self.parser.process(&rest[..start]);
            self.parser.process(b"?");
            rest = &rest[start + REPLACEMENT.len()..];
        }
        self.parser.process(rest);
    }
}

fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|found| found == part)
}

impl Terminal {
    /// Starts a program at a new terminal of this size.
    pub(crate) fn start(command: Command, rows: u16, columns: u16) -> Self {
        let program = AtTerminal::start(command, rows, columns).unwrap();
        let parser = Parser::new(rows.try_into().unwrap(), columns.try_into().unwrap(), 0);
        let seen = Seen {
            bytes: Vec::new(),
            shown: 0,
            parser,
        };
        let seen = Arc::new(Mutex::new(seen));
        let mut output = program.person.try_clone().unwrap();
        let shared = Arc::clone(&seen);
        // The thread ends with the terminal.
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                let mut seen = shared.lock().unwrap();
                seen.bytes.extend_from_slice(&bytes[..count]);
                seen.show();
            }
        });
        Self { program, seen }
    }

    /// Types keys.
    pub(crate) fn type_keys(&mut self, keys: &str) {
        self.program.person.write_all(keys.as_bytes()).unwrap();
    }

    /// Makes the terminal larger or smaller.
    pub(crate) fn resize(&self, rows: u16, columns: u16) {
        let mut seen = self.seen.lock().unwrap();
        let screen = seen.parser.screen_mut();
        screen.set_size(rows.try_into().unwrap(), columns.try_into().unwrap());
        self.program.resize(rows, columns).unwrap();
    }

    /// Sends the program a signal.
    pub(crate) fn signal(&self, which: Signal) {
        signal(self.program.child.id(), which);
    }

    /// Everything the program has written.
    pub(crate) fn output(&self) -> String {
        String::from_utf8_lossy(&self.seen.lock().unwrap().bytes).into_owned()
    }

    /// The text of the screen.
    pub(crate) fn text(&self) -> String {
        self.seen.lock().unwrap().parser.screen().contents()
    }

    /// The number of the colour in which the first such text of the screen is.
    pub(crate) fn colour_of(&self, text: &str) -> Option<u8> {
        let seen = self.seen.lock().unwrap();
        let screen = seen.parser.screen();
        let (_, columns) = screen.size();
        let mut rows = screen.rows(0, columns.get()).enumerate();
        let (row, column) = rows.find_map(|(row, line)| {
            let (before, _) = line.split_once(text)?;
            Some((row, before.chars().count()))
        })?;
        let cell = screen.cell(row.try_into().unwrap(), column.try_into().unwrap())?;
        match cell.fgcolor() {
            Color::Idx(number) => Some(number),
            Color::Default | Color::Rgb(..) => None,
        }
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
    pub(crate) fn wait_until(&self, what: &str, is_right: impl Fn(&str) -> bool) {
        let found = try_wait_for(LIMIT, || is_right(&self.text()).then_some(()));
        assert!(
            found.is_some(),
            "{what} is not on the screen:\n{}",
            self.text()
        );
    }

    /// Waits until the last line of the screen that is not empty is this one.
    #[track_caller]
    pub(crate) fn wait_for_last_line(&self, last: &str) {
        let what = format!("{last:?} as the last line");
        self.wait_until(&what, |screen| last_line(screen) == Some(last));
    }

    /// Waits until the last line of the screen is this one, and another text comes before it.
    #[track_caller]
    pub(crate) fn wait_for_line_above(&self, text: &str, last: &str) {
        let what = format!("{text:?} above {last:?}");
        self.wait_until(&what, |screen| {
            last_line(screen) == Some(last) && screen.lines().any(|line| line.contains(text))
        });
    }

    /// Waits for the end.
    #[track_caller]
    pub(crate) fn end(&mut self) -> ExitStatus {
        let what = format!("the end of the program; its screen:\n{}", self.text());
        wait_for(&what, LIMIT, || self.try_end())
    }

    /// How the program ended, if it has.
    pub(crate) fn try_end(&mut self) -> Option<ExitStatus> {
        self.program.child.try_wait().unwrap()
    }

    /// Waits until the terminal is as it was before the program started.
    #[track_caller]
    pub(crate) fn assert_restored(&self) {
        wait_until("the terminal to be as it was", LIMIT, || {
            let seen = self.seen.lock().unwrap();
            let screen = seen.parser.screen();
            self.program.is_restored().unwrap()
                && !screen.alternate_screen()
                && !screen.hide_cursor()
        });
    }
}

fn last_line(screen: &str) -> Option<&str> {
    let mut lines = screen.lines().map(str::trim_end);
    lines.rfind(|line| !line.is_empty())
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.program.child.kill();
        let _ = self.program.child.wait();
    }
}
