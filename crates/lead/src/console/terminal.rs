//! The terminal: one thread draws the screen, another reads keys.
//!
//! The thread that draws takes what is to be shown while it holds the lock, and writes it when it does
//! not: a terminal that was stopped never stops the lead. It sleeps until something has changed, or until
//! the screen says that it changes by itself.

use super::Input;
use super::files::list_files;
use super::history::LineHistory;
use super::screen::{Action, Bottom, Event, Screen};
use crossterm::event::{Event as KeyboardEvent, read};
use crossterm::terminal::{disable_raw_mode, enable_raw_mode};
use nix::pty::Winsize;
use nix::sys::signal::{Signal, raise};
use std::io::{Write, stdout};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

nix::ioctl_read_bad!(window_size, nix::libc::TIOCGWINSZ, Winsize);

/// How long the last output may take. A stopped terminal takes none at all.
const LAST_OUTPUT: Duration = Duration::from_secs(2);
/// The least time between two drawings: text comes in many small pieces.
const PAUSE: Duration = Duration::from_millis(15);
/// Terminals that know it show everything up to the end mark at once.
const BEGIN: &str = "\u{1b}[?2026h";
const END: &str = "\u{1b}[?2026l";
/// Pastes are marked, so that their line ends are no Enter.
const MARK_PASTES: &str = "\u{1b}[?2004h";
const UNMARK_PASTES: &str = "\u{1b}[?2004l";

/// A screen and what of it is not on the terminal yet. Clones share it.
#[derive(Clone)]
pub(crate) struct SharedScreen(Arc<(Mutex<State>, Condvar)>);

struct State {
    screen: Screen,
    /// Lines to print above the bottom.
    lines: Vec<String>,
    has_changed: bool,
    clears: bool,
    suspends: bool,
    is_over: bool,
}

/// The terminal of one lead.
pub(crate) struct Terminal {
    screen: SharedScreen,
    done: Receiver<()>,
    /// Whether keys are read, and the terminal has the mode for it.
    reads_keys: bool,
}

/// The columns and rows of the terminal that standard output is.
pub fn size() -> (usize, usize) {
    let mut size = Winsize {
        ws_row: 0,
        ws_col: 0,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    let terminal = stdout();
    // SAFETY: the descriptor is open while `terminal` lives, and the call writes the size only.
    match unsafe { window_size(terminal.as_raw_fd(), &raw mut size) } {
        Ok(_) if size.ws_col > 0 && size.ws_row > 0 => {
            (usize::from(size.ws_col), usize::from(size.ws_row))
        }
        Ok(_) | Err(_) => (80, 24),
    }
}

impl SharedScreen {
    pub(crate) fn new(screen: Screen) -> Self {
        let state = State {
            screen,
            lines: Vec::new(),
            has_changed: true,
            clears: false,
            suspends: false,
            is_over: false,
        };
        Self(Arc::new((Mutex::new(state), Condvar::new())))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing that is done under the lock leaves a half-done state.
        let (state, _) = &*self.0;
        state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn notify(&self) {
        self.0.1.notify_one();
    }

    /// Tells the screen what happened. Returns what concerns others than the terminal.
    pub(crate) fn handle(&self, event: Event<'_>) -> Vec<Action> {
        let mut state = self.lock();
        let mut others = Vec::new();
        for action in state.screen.handle(event, Instant::now()) {
            match action {
                Action::Print(lines) => state.lines.extend(lines),
                Action::Suspend => state.suspends = true,
                Action::ClearScreen => state.clears = true,
                other @ (Action::Send(_) | Action::Remember(_) | Action::ListFiles(_)) => {
                    others.push(other);
                }
            }
        }
        state.has_changed = true;
        drop(state);
        self.notify();
        others
    }

    pub(crate) fn resized(&self) {
        let (columns, rows) = size();
        self.handle(Event::Resized { columns, rows });
    }

    /// Waits until there is something to draw.
    fn wait(&self) -> MutexGuard<'_, State> {
        let (_, changed) = &*self.0;
        let mut state = self.lock();
        loop {
            if state.has_changed || state.is_over {
                return state;
            }
            let now = Instant::now();
            state = match state.screen.wake_at(now) {
                None => changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(at) => {
                    let waited = changed.wait_timeout(state, at.saturating_duration_since(now));
                    let (state, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
                    if timeout.timed_out() {
                        return state;
                    }
                    state
                }
            };
        }
    }
}

impl Terminal {
    /// Draws the screen from now on.
    pub(crate) fn start(screen: SharedScreen) -> Self {
        let (ended, done) = channel();
        let shared = screen.clone();
        thread::spawn(move || draw(&shared, &ended));
        Self {
            screen,
            done,
            reads_keys: false,
        }
    }

    /// Reads keys from now on. `root` is the folder whose files are completed.
    pub(crate) fn read_keys(
        &mut self,
        typed: tokio::sync::mpsc::Sender<Input>,
        history: LineHistory,
        root: PathBuf,
    ) {
        let keyboard = Keyboard {
            screen: self.screen.clone(),
            typed,
            history,
            root,
        };
        self.reads_keys = true;
        thread::spawn(move || keyboard.read());
    }

    /// Draws what is left and gives the terminal back.
    pub(crate) fn close(self) {
        self.screen.lock().is_over = true;
        self.screen.notify();
        let _ = self.done.recv_timeout(LAST_OUTPUT);
        if self.reads_keys {
            give_back();
        }
    }
}

/// Gives the terminal the mode in which each key comes by itself. Returns whether it has it.
pub(crate) fn take() -> bool {
    let is_taken = enable_raw_mode().is_ok();
    if is_taken {
        write(MARK_PASTES);
    }
    is_taken
}

fn give_back() {
    write(UNMARK_PASTES);
    let _ = disable_raw_mode();
}

fn write(text: &str) {
    let mut out = stdout();
    // If nobody reads the output any more, the work goes on without it.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// The thread that draws.
fn draw(shared: &SharedScreen, ended: &Sender<()>) {
    let mut drawn = Bottom::default();
    loop {
        let mut state = shared.wait();
        state.has_changed = false;
        let lines = std::mem::take(&mut state.lines);
        let clears = std::mem::take(&mut state.clears);
        let suspends = std::mem::take(&mut state.suspends);
        let is_over = state.is_over;
        let bottom = state.screen.bottom(Instant::now());
        drop(state);
        if suspends {
            write(&frame(&drawn, &[], &Bottom::default(), size().0));
            suspend();
            drawn = Bottom::default();
        }
        let clear = if clears { "\u{1b}[2J\u{1b}[H" } else { "" };
        let before = if clears { &Bottom::default() } else { &drawn };
        let frame = frame(before, &lines, &bottom, size().0);
        write(&format!("{BEGIN}{clear}{frame}{END}"));
        drawn = bottom;
        if is_over {
            let _ = ended.send(());
            return;
        }
        thread::sleep(PAUSE);
    }
}

/// Stops the process as the terminal would, until somebody lets it go on.
fn suspend() {
    give_back();
    let _ = raise(Signal::SIGTSTP);
    take();
}

/// What replaces the old bottom by some lines and a new bottom.
fn frame(old: &Bottom, lines: &[String], new: &Bottom, columns: usize) -> String {
    let mut text = String::from("\r");
    let above = rows_above_cursor(old, columns);
    if above > 0 {
        text.push_str(&format!("\u{1b}[{above}A"));
    }
    text.push_str("\u{1b}[J");
    for line in lines {
        text.push_str(line);
        text.push_str("\r\n");
    }
    text.push_str(&new.lines.join("\r\n"));
    let (row, column) = new.cursor;
    let below = new.lines.len().saturating_sub(row + 1);
    if below > 0 {
        text.push_str(&format!("\u{1b}[{below}A"));
    }
    text.push('\r');
    if column > 0 {
        text.push_str(&format!("\u{1b}[{column}C"));
    }
    text
}

/// How many rows of the old bottom are above the cursor. A terminal that became narrower has broken its
/// lines.
fn rows_above_cursor(old: &Bottom, columns: usize) -> usize {
    let above = old.lines.iter().take(old.cursor.0);
    let rows = above.map(|line| shown_columns(line).div_ceil(columns.max(1)).max(1));
    rows.sum::<usize>() + old.cursor.1 / columns.max(1)
}

/// The columns of a line with colours.
fn shown_columns(line: &str) -> usize {
    let mut parts = line.split('\u{1b}');
    let first = parts.next().unwrap_or_default();
    let rest = parts.map(|part| part.split_once('m').map_or("", |(_, text)| text));
    let plain: String = std::iter::once(first).chain(rest).collect();
    unicode_width::UnicodeWidthStr::width(plain.as_str())
}

/// The thread that reads keys.
struct Keyboard {
    screen: SharedScreen,
    typed: tokio::sync::mpsc::Sender<Input>,
    history: LineHistory,
    root: PathBuf,
}

impl Keyboard {
    /// Reads until nobody listens any more. The thread is never joined: nobody can wake it from a read.
    /// A terminal that is closed sends SIGHUP.
    fn read(mut self) {
        while let Ok(event) = read() {
            if !self.event(event) {
                return;
            }
        }
        let _ = self.typed.blocking_send(Input::TerminalClosed);
    }

    /// Returns whether anybody still listens.
    fn event(&mut self, event: KeyboardEvent) -> bool {
        let actions = match event {
            KeyboardEvent::Key(key) => self.screen.handle(Event::Key(key)),
            KeyboardEvent::Paste(text) => self.screen.handle(Event::Paste(&text)),
            KeyboardEvent::Resize(..) => {
                self.screen.resized();
                Vec::new()
            }
            KeyboardEvent::FocusGained | KeyboardEvent::FocusLost | KeyboardEvent::Mouse(_) => {
                Vec::new()
            }
        };
        let mut is_heard = true;
        for action in actions {
            match action {
                Action::Send(input) => is_heard &= self.typed.blocking_send(input).is_ok(),
                Action::Remember(line) => self.history.remember(&line),
                Action::ListFiles(start) => {
                    let files = list_files(&self.root, &start);
                    self.screen.handle(Event::Files(files));
                }
                Action::Print(_) | Action::Suspend | Action::ClearScreen => {}
            }
        }
        is_heard
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bottom(lines: &[&str], cursor: (usize, usize)) -> Bottom {
        Bottom {
            lines: lines.iter().map(|line| (*line).to_owned()).collect(),
            cursor,
        }
    }

    #[test]
    fn lines_are_printed_above_a_bottom_that_is_drawn_again() {
        let mut parser = vt100::Parser::new(6.try_into().unwrap(), 20.try_into().unwrap(), 0);
        let mut show = |text: &str| {
            parser.process(text.as_bytes());
            parser.screen().contents()
        };
        let first = bottom(&["run", "> ab"], (1, 4));
        show(&frame(&Bottom::default(), &[], &first, 20));
        let second = bottom(&["> a", "  b"], (0, 3));
        let shown = show(&frame(
            &first,
            &["one".to_owned(), "two".to_owned()],
            &second,
            20,
        ));
        assert_eq!(shown, "one\ntwo\n> a\n  b");
        let shown = show(&frame(
            &second,
            &["three".to_owned()],
            &Bottom::default(),
            20,
        ));
        assert_eq!(shown, "one\ntwo\nthree");
    }

    #[test]
    fn a_bottom_that_a_narrower_terminal_has_broken_is_found() {
        let old = bottom(&["\u{1b}[2m123456789\u{1b}[0m", "> x"], (1, 3));
        assert_eq!(rows_above_cursor(&old, 20), 1);
        assert_eq!(rows_above_cursor(&old, 5), 2);
    }
}
