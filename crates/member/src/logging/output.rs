//! Where log lines go.

use std::fs::File;
use std::io::{self, Write};
use tracing_subscriber::fmt::MakeWriter;

#[derive(Debug)]
pub(super) enum LogOutput {
    File {
        /// Nothing if it could not be opened: the lines are lost.
        file: Option<File>,
        /// Whether the lines go to standard output too.
        echo: bool,
    },
    Stderr,
}

impl LogOutput {
    pub(super) const fn file(file: Option<File>, echo: bool) -> Self {
        Self::File { file, echo }
    }
}

/// Writes one event, which comes in one piece.
pub(super) struct EventWriter<'a>(&'a LogOutput);

impl<'a> MakeWriter<'a> for LogOutput {
    type Writer = EventWriter<'a>;

    fn make_writer(&'a self) -> EventWriter<'a> {
        EventWriter(self)
    }
}

impl Write for EventWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0 {
            LogOutput::File { file, echo } => {
                if let Some(mut file) = file.as_ref() {
                    let _ = file.write_all(bytes);
                }
                if *echo {
                    let mut out = io::stdout();
                    let _ = out.write_all(bytes).and_then(|()| out.flush());
                }
            }
            LogOutput::Stderr => {
                let _ = io::stderr().write_all(bytes);
            }
        }
        // A lost line must not be tried again, nor reported.
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
