//! The console: a terminal, a pipe, or one prompt on the command line.
//!
//! # Theory of operation
//!
//! Everything is printed through [`ConsoleWriter::write`]. A pure part decides which lines go to which
//! stream; a thread writes them, so that a terminal that was stopped or a pipe that nobody reads
//! never stops the lead. What is typed is read by another thread and comes out of a channel.
//!
//! **Invariant:** only whole lines are written, and nothing reaches a terminal uncleaned.
//!
//! **Invariant:** the terminal is left as it was found, also if the line editor is still reading.

mod colour;
mod editor;
mod keys;
mod one_line;
mod printer;
mod render;
mod stdin;

pub(crate) use keys::{AnswerKeys, Offered, OfferedKey, Pressed};
pub use render::Verbosity;
pub(crate) use render::{Mode, Output};

use colour::Colour;
use editor::Restore;
use printer::{Printer, Sink};
use render::Render;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::mpsc;

/// How many lines may wait between the reader and the lead.
const TYPED_AHEAD: usize = 64;

/// Input of the person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    Line(String),
    /// A key that answers a request, with the text that belongs to it. Without one the person has
    /// changed their mind.
    Answer {
        pressed: Pressed,
        text: Option<String>,
    },
    /// Ctrl-C.
    Interrupt,
    /// No more lines come.
    End,
    /// Has closed the terminal.
    TerminalClosed,
}

/// What the environment says about the console.
#[derive(Clone, Debug, Default)]
pub struct ConsoleOptions {
    /// The value of `NO_COLOR`.
    pub no_color: Option<String>,
    /// The value of `TERM`.
    pub term: Option<String>,
    /// Where the lines typed before are kept.
    pub history: Option<PathBuf>,
    /// How much is printed besides answers and errors.
    pub verbosity: Verbosity,
}

/// The console of one lead.
#[derive(Debug)]
pub(crate) struct Console {
    writer: ConsoleWriter,
    printer: Printer,
    restore: Option<Restore>,
    keys: AnswerKeys,
}

/// Prints to the console. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct ConsoleWriter {
    shared: Arc<Mutex<Shared>>,
}

#[derive(Debug)]
struct Shared {
    render: Render,
    pieces: printer::Queue,
}

impl Mode {
    /// How the lead is used: with a prompt, at a terminal, or otherwise.
    pub(crate) fn choose(has_prompt: bool) -> Self {
        let at_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
        match (has_prompt, at_terminal) {
            (true, _) => Self::OneShot,
            (false, true) => Self::Terminal,
            (false, false) => Self::Piped,
        }
    }
}

impl Console {
    /// Opens the console, and returns what is typed at it. In a one-shot nothing is read.
    pub(crate) fn open(
        mode: Mode,
        console_options: &ConsoleOptions,
    ) -> (Self, mpsc::Receiver<Input>) {
        let (typed, input) = mpsc::channel(TYPED_AHEAD);
        let mut sink = Sink::Streams;
        let mut restore = None;
        let keys = AnswerKeys::default();
        match mode {
            Mode::Terminal => {
                restore = Restore::remember();
                match editor::start(console_options.history.clone(), typed.clone(), keys.clone()) {
                    Some(printer) => sink = Sink::Editor(printer),
                    // A terminal that cannot be edited on still gives lines.
                    None => stdin::start(typed),
                }
            }
            Mode::Piped => stdin::start(typed),
            Mode::OneShot => drop(typed),
        }
        let shown_on_terminal = match mode {
            Mode::Terminal => true,
            Mode::Piped | Mode::OneShot => std::io::stderr().is_terminal(),
        };
        let ConsoleOptions { no_color, term, .. } = console_options;
        let colour = Colour::choose(shown_on_terminal, no_color.as_deref(), term.as_deref());
        let (printer, pieces) = Printer::start(sink);
        let render = Render::new(mode, console_options.verbosity, colour, editor::width());
        let shared = Arc::new(Mutex::new(Shared { render, pieces }));
        let console = Self {
            writer: ConsoleWriter { shared },
            printer,
            restore,
            keys,
        };
        (console, input)
    }

    pub(crate) fn writer(&self) -> ConsoleWriter {
        self.writer.clone()
    }

    /// The keys that answer what waits. Only at a terminal can they be pressed.
    pub(crate) fn keys(&self) -> AnswerKeys {
        self.keys.clone()
    }

    /// Shows what is left and gives the terminal back.
    pub(crate) fn close(self) {
        self.writer.finish();
        self.printer.finish(self.restore.is_some());
        drop(self.restore);
    }
}

impl ConsoleWriter {
    /// Prints something. Returns at once.
    pub(crate) fn write(&self, output: &Output<'_>) {
        self.with(|shared| {
            if let Output::Text(_) = output {
                // The window may have been resized.
                shared.render.set_width(editor::width());
            }
            let pieces = shared.render.write(output);
            shared.pieces.push(pieces);
        });
    }

    /// Prints a notice.
    pub(crate) fn notice(&self, text: &str) {
        self.write(&Output::Notice(text));
    }

    fn finish(&self) {
        self.with(|shared| {
            let pieces = shared.render.finish();
            shared.pieces.push(pieces);
            shared.pieces.close();
        });
    }

    fn with(&self, act: impl FnOnce(&mut Shared)) {
        // Nothing that is done under the lock leaves a half-done state.
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        act(&mut shared);
    }
}

#[cfg(test)]
impl ConsoleWriter {
    /// A writer without output.
    pub(crate) fn silent() -> Self {
        let render = Render::new(Mode::Piped, Verbosity::Normal, Colour::Off, 80);
        let pieces = printer::Queue::nowhere();
        let shared = Arc::new(Mutex::new(Shared { render, pieces }));
        Self { shared }
    }
}
