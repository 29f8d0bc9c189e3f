//! The thread that writes.

use super::render::{Piece, Stream};
use std::io::{self, Write};
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};

/// Pieces on their way to the thread.
#[derive(Debug)]
pub(crate) struct Queue(Option<Sender<Vec<Piece>>>);

/// The thread.
#[derive(Debug)]
pub(crate) struct Printer(JoinHandle<()>);

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
    pub(crate) fn start() -> (Self, Queue) {
        let (sender, pieces) = mpsc::channel::<Vec<Piece>>();
        let thread = thread::spawn(move || {
            for piece in pieces.into_iter().flatten() {
                match piece.stream {
                    Stream::Out => write(io::stdout(), &piece.text),
                    Stream::Err => write(io::stderr(), &piece.text),
                }
            }
        });
        (Self(thread), Queue(Some(sender)))
    }

    /// Waits until everything is written.
    pub(crate) fn finish(self) {
        let _ = self.0.join();
    }
}

fn write(mut to: impl Write, text: &str) {
    // If nobody reads the output any more, the work goes on without it.
    let _ = to.write_all(text.as_bytes()).and_then(|()| to.flush());
}
