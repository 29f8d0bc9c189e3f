//! The thread that writes.

use super::render::{Piece, Stream};
use rustyline::ExternalPrinter;
use std::io::{self, Write};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How long the last output may take at a terminal. A stopped terminal takes none at all.
const LAST_OUTPUT: Duration = Duration::from_secs(2);
/// Up a line and down again: nothing to see, but a message like any other to the line editor.
const NOTHING: &str = "\u{1b}[A\n";

/// A printer of a line editor, which keeps its prompt below what is printed.
pub(crate) type AbovePrompt = Box<dyn ExternalPrinter + Send>;

/// Where the lines go.
pub(crate) enum Sink {
    /// Above the prompt.
    Editor(AbovePrompt),
    /// To standard output and standard error.
    Streams,
}

/// Pieces on their way to the thread.
#[derive(Debug)]
pub(crate) struct Queue(Option<Sender<Vec<Piece>>>);

/// The thread.
#[derive(Debug)]
pub(crate) struct Printer {
    thread: JoinHandle<()>,
    done: Receiver<()>,
}

impl Queue {
    pub(crate) fn push(&mut self, pieces: Vec<Piece>) {
        if let (Some(sender), false) = (&self.0, pieces.is_empty()) {
            // The thread lives as long as this end of the channel.
            let _ = sender.send(pieces);
        }
    }

    /// Nothing comes any more.
    pub(crate) fn close(&mut self) {
        self.0 = None;
    }

    #[cfg(test)]
    pub(crate) const fn nowhere() -> Self {
        Self(None)
    }
}

impl Printer {
    /// Starts the thread.
    pub(crate) fn start(sink: Sink) -> (Self, Queue) {
        let (sender, pieces) = mpsc::channel::<Vec<Piece>>();
        let (ended, done) = mpsc::channel();
        let thread = thread::spawn(move || {
            let mut sink = sink;
            for piece in pieces.into_iter().flatten() {
                sink.write(piece);
            }
            sink.drain();
            let _ = ended.send(());
        });
        (Self { thread, done }, Queue(Some(sender)))
    }

    /// Waits until everything is written; at a terminal not for ever.
    pub(crate) fn finish(self, at_terminal: bool) {
        if at_terminal {
            let _ = self.done.recv_timeout(LAST_OUTPUT);
        } else {
            let _ = self.thread.join();
        }
    }
}

impl Sink {
    fn write(&mut self, piece: Piece) {
        match self {
            Self::Editor(printer) => {
                if printer.print(piece.text.clone()).is_err() {
                    // The editor is gone, and with it the prompt.
                    write(io::stdout(), &piece.text);
                }
            }
            Self::Streams => match piece.stream {
                Stream::Out => write(io::stdout(), &piece.text),
                Stream::Err => write(io::stderr(), &piece.text),
            },
        }
    }

    /// Returns when the line editor has drawn everything. It takes one message at a time and tells
    /// nobody when it is drawn; but when there is room for the second of two more, the first has
    /// been taken, and so all before it are on the screen.
    fn drain(&mut self) {
        if let Self::Editor(printer) = self {
            for _ in 0..2 {
                let _ = printer.print(NOTHING.to_owned());
            }
        }
    }
}

fn write(mut to: impl Write, text: &str) {
    // If nobody reads the output any more, the work goes on without it.
    let _ = to.write_all(text.as_bytes()).and_then(|()| to.flush());
}
