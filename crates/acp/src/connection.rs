//! The running program of an agent, with a stream of lines in each direction.

use command::{End, Job, Spec, StartError};
use std::io::{self, BufRead as _, BufReader, PipeReader, PipeWriter, Read as _, Write as _};
use std::sync::mpsc as channel;
use std::thread;
use tokio::sync::mpsc;

/// The longest line that is read; an agent that sends a longer one is broken.
const MAX_LINE: u64 = 32 * 1024 * 1024;
/// How many lines wait to be handled before the agent has to wait.
const MOST_WAITING: usize = 256;
/// How much of the errors is shown when the program has ended.
const SHOWN_ERRORS: usize = 2_000;

/// A running agent. Dropping it ends the program with all its processes.
#[derive(Debug)]
pub struct Connection {
    job: Option<Job>,
    lines: channel::Sender<String>,
    received: mpsc::Receiver<Received>,
}

/// What comes from an agent.
#[derive(Debug)]
pub enum Received {
    Line(String),
    /// The program has ended, and none of its processes is left.
    Gone {
        how: String,
        /// The end of what it wrote to its standard error.
        errors: String,
    },
}

impl Connection {
    /// Starts the program.
    pub fn start(spec: &Spec) -> Result<Self, StartError> {
        let failed = |source: io::Error| StartError::Shell {
            shell: "the engine".into(),
            folder: spec.folder.clone(),
            source,
        };
        let (sender, received) = mpsc::channel(MOST_WAITING);
        let ended = sender.clone();
        let (job, dialogue) = command::start_dialogue(spec, move |finished| {
            let errors = &finished.output;
            let errors = [errors.head.as_slice(), &errors.tail].concat();
            let errors = String::from_utf8_lossy(&errors);
            let skipped = errors.chars().count().saturating_sub(SHOWN_ERRORS);
            let gone = Received::Gone {
                how: ended_how(&finished.end),
                errors: errors.chars().skip(skipped).collect(),
            };
            drop(ended.blocking_send(gone));
        })?;
        let (to_agent, from_agent) = (dialogue.input, dialogue.output);
        let (lines, to_send) = channel::channel();
        let write = move || write_lines(to_agent, &to_send);
        let read = move || read_lines(from_agent, &sender);
        let threads = thread::Builder::new()
            .name("engine input".to_owned())
            .spawn(write)
            .and_then(|_| {
                thread::Builder::new()
                    .name("engine output".to_owned())
                    .spawn(read)
            });
        threads.map_err(failed)?;
        Ok(Self {
            job: Some(job),
            lines,
            received,
        })
    }

    /// Sends a line. One for a program that has ended is lost, which [`Connection::receive`] says.
    pub fn send(&self, line: String) {
        let _ = self.lines.send(line);
    }

    /// The next thing that comes from the agent. Dropping the future loses nothing.
    pub async fn receive(&mut self) -> Received {
        match self.received.recv().await {
            Some(received) => received,
            None => Received::Gone {
                how: "has ended".to_owned(),
                errors: String::new(),
            },
        }
    }

    /// Begins to end the program.
    pub fn stop(&mut self) {
        self.job = None;
    }
}

fn ended_how(end: &End) -> String {
    match end {
        End::Exited(code) => format!("exited with {code}"),
        End::Signaled(signal) => format!("was killed by signal {signal}"),
        End::TimedOut | End::Cancelled => "was ended".to_owned(),
        End::Lost => "was lost".to_owned(),
    }
}

fn write_lines(mut to_agent: PipeWriter, lines: &channel::Receiver<String>) {
    while let Ok(line) = lines.recv() {
        if to_agent.write_all(format!("{line}\n").as_bytes()).is_err() {
            return;
        }
    }
}

/// Reads lines until the program closes its output. A line that is too long is garbage, and ends the reading.
fn read_lines(from_agent: PipeReader, sender: &mpsc::Sender<Received>) {
    let mut reader = BufReader::new(from_agent);
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        let read = reader.by_ref().take(MAX_LINE).read_until(b'\n', &mut bytes);
        match read {
            Ok(1..) => {}
            Ok(_) | Err(_) => return,
        }
        let line = String::from_utf8_lossy(&bytes).into_owned();
        if sender.blocking_send(Received::Line(line)).is_err() {
            return;
        }
    }
}
