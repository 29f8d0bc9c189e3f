//! The console: a terminal, a pipe, or one prompt on the command line.
//!
//! # Theory of operation
//!
//! Everything is printed through [`ConsoleWriter::write`]. At a terminal it goes to a screen
//! (`screen.rs`), which a thread draws and another feeds with keys (`terminal.rs`). Elsewhere a pure part
//! decides which lines go to which stream (`render.rs`), and a thread writes them. A terminal that was
//! stopped or a pipe that nobody reads never stops the lead. What is typed comes out of a channel.
//!
//! **Invariant:** what is printed elsewhere than at a terminal does not depend on the screen, and only
//! whole lines are.
//!
//! **Invariant:** nothing reaches a terminal uncleaned, and the terminal is left as it was found.

mod colour;
mod files;
mod history;
mod keys;
mod one_line;
mod printer;
mod render;
mod screen;
mod stdin;
mod terminal;

pub(crate) use keys::{Offered, OfferedKey, Pressed};
pub use render::Verbosity;
pub(crate) use render::{Mode, Output};
pub(crate) use screen::{RequestBox, Status, WorkInfo};
pub use terminal::size as terminal_size;

use colour::Colour;
use history::LineHistory;
use printer::Printer;
use render::Render;
use screen::{Event, Screen, Setup};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use terminal::{SharedScreen, Terminal};
use tokio::sync::mpsc;

/// What stands before the line that is being typed.
const PROMPT: &str = "team >> ";
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
    /// Ctrl-C: stops the turn, or leaves if there is none.
    Interrupt,
    /// Esc: stops the turn.
    Stop,
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
    /// Whether the answer to the prompt is returned and not printed.
    pub returns_answer: bool,
}

/// The console of one lead.
pub(crate) struct Console {
    writer: ConsoleWriter,
    device: Device,
}

enum Device {
    Screen(Terminal),
    Lines(Printer),
}

/// Prints to the console. Clones share it.
#[derive(Clone)]
pub(crate) enum ConsoleWriter {
    Screen(SharedScreen),
    Lines(Arc<Mutex<Lines>>),
}

pub(crate) struct Lines {
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
    /// Opens the console of a lead in this workspace, and returns what is typed at it. In a one-shot
    /// nothing is read.
    pub(crate) fn open(
        mode: Mode,
        options: &ConsoleOptions,
        workspace: &Path,
    ) -> (Self, mpsc::Receiver<Input>) {
        let (typed, input) = mpsc::channel(TYPED_AHEAD);
        let console = match options.has_screen(mode) {
            true if mode == Mode::OneShot => Self::with_screen(options, None),
            true if terminal::take() => {
                let history = LineHistory::open(options.history.clone());
                let mut console = Self::with_screen(options, Some(history.all()));
                if let Device::Screen(terminal) = &mut console.device {
                    terminal.read_keys(typed, history, workspace.to_path_buf());
                }
                console
            }
            // A terminal that nothing can be drawn on still gives lines.
            true | false => {
                if mode != Mode::OneShot {
                    stdin::start(typed);
                }
                Self::with_lines(mode, options)
            }
        };
        (console, input)
    }

    fn with_screen(options: &ConsoleOptions, history: Option<Vec<String>>) -> Self {
        let (columns, rows) = terminal::size();
        let screen = SharedScreen::new(Screen::new(Setup {
            colour: options.colour(true),
            verbosity: options.verbosity,
            history,
            columns,
            rows,
        }));
        Self {
            writer: ConsoleWriter::Screen(screen.clone()),
            device: Device::Screen(Terminal::start(screen)),
        }
    }

    fn with_lines(mode: Mode, options: &ConsoleOptions) -> Self {
        let shown_on_terminal = match mode {
            Mode::Terminal => true,
            Mode::Piped | Mode::OneShot => std::io::stderr().is_terminal(),
        };
        let (printer, pieces) = Printer::start();
        let colour = options.colour(shown_on_terminal);
        let render = Render::new(mode, options.verbosity, colour, terminal::size().0);
        Self {
            writer: ConsoleWriter::Lines(Arc::new(Mutex::new(Lines { render, pieces }))),
            device: Device::Lines(printer),
        }
    }

    pub(crate) fn writer(&self) -> ConsoleWriter {
        self.writer.clone()
    }

    pub(crate) const fn has_screen(&self) -> bool {
        matches!(self.device, Device::Screen(_))
    }

    /// Shows what is left and gives the terminal back.
    pub(crate) fn close(self) {
        self.writer.write(&Output::End);
        match self.device {
            Device::Screen(terminal) => terminal.close(),
            Device::Lines(printer) => printer.finish(),
        }
    }
}

impl ConsoleOptions {
    /// Whether there is a terminal to draw a screen on. A program that reads the answer gets lines.
    fn has_screen(&self, mode: Mode) -> bool {
        let is_terminal = std::io::stdout().is_terminal() && std::io::stderr().is_terminal();
        let is_wanted = match mode {
            Mode::Terminal => true,
            Mode::Piped => false,
            Mode::OneShot => !self.returns_answer && self.verbosity == Verbosity::Normal,
        };
        is_terminal && is_wanted && self.term.as_deref() != Some("dumb")
    }

    fn colour(&self, is_terminal: bool) -> Colour {
        Colour::choose(is_terminal, self.no_color.as_deref(), self.term.as_deref())
    }
}

impl ConsoleWriter {
    /// Prints something. Returns at once.
    pub(crate) fn write(&self, output: &Output<'_>) {
        match self {
            Self::Screen(screen) => {
                // Only keys ask for more than the terminal can do.
                let _ = screen.handle(Event::Output(output));
            }
            Self::Lines(lines) => {
                // Nothing that is done under the lock leaves a half-done state.
                let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
                let pieces = lines.render.write(output);
                lines.pieces.push(pieces);
                if let Output::End = output {
                    lines.pieces.close();
                }
            }
        }
    }

    /// Prints a notice.
    pub(crate) fn notice(&self, text: &str) {
        self.write(&Output::Notice(text));
    }

    /// The window may have another size.
    pub(crate) fn resized(&self) {
        if let Self::Screen(screen) = self {
            screen.resized();
        }
    }
}

#[cfg(test)]
impl ConsoleWriter {
    /// A writer without output.
    pub(crate) fn silent() -> Self {
        let render = Render::new(Mode::Piped, Verbosity::Normal, Colour::Off, 80);
        let pieces = printer::Queue::nowhere();
        Self::Lines(Arc::new(Mutex::new(Lines { render, pieces })))
    }
}
