//! How much waits in an outbox, for whoever is not its bridge.

use crate::files;
use protocol::{MAX_FRAME_BYTES, SentMark, StreamEpoch};
use std::fs::File;
use std::io::{self, BufReader};
use std::os::unix::fs::FileExt;

/// How much of the end of an outbox is read first to find its last frame.
const FIRST_WINDOW: u64 = 64 << 10;

/// What is counted of a frame.
#[derive(serde::Deserialize)]
struct Numbered {
    epoch: StreamEpoch,
    seq: u64,
    payload: Kind,
}

#[derive(serde::Deserialize)]
struct Kind {
    kind: String,
    #[serde(default)]
    what: Option<String>,
}

impl Kind {
    /// Whether it only tells how things are on this host, which nobody misses.
    fn is_news(&self) -> bool {
        match self.kind.as_str() {
            "members" | "request" => true,
            "board" => matches!(self.what.as_deref(), Some("tasks" | "want")),
            "tree" => matches!(self.what.as_deref(), Some("main" | "have")),
            _ => false,
        }
    }
}

/// How many frames behind the mark are more than news of this host.
pub(super) fn count_waiting(file: &File, mark: &SentMark) -> io::Result<u64> {
    let is_waiting = |frame: &Numbered| frame.epoch == mark.epoch && frame.seq > mark.accepted;
    if !last_frame(file)?.is_some_and(|last| is_waiting(&last)) {
        return Ok(0);
    }
    let mut reader = BufReader::new(file);
    let mut count = 0;
    while let Some(line) = files::read_line(&mut reader, MAX_FRAME_BYTES as u64)? {
        let frame = serde_json::from_slice::<Numbered>(&line).ok();
        let frame = frame.filter(|frame| is_waiting(frame) && !frame.payload.is_news());
        count += u64::from(frame.is_some());
    }
    Ok(count)
}

/// The last whole frame of a file.
fn last_frame(file: &File) -> io::Result<Option<Numbered>> {
    let length = file.metadata()?.len();
    let mut window = length.min(FIRST_WINDOW);
    loop {
        let mut end = vec![0; usize::try_from(window).unwrap_or(usize::MAX)];
        file.read_exact_at(&mut end, length - window)?;
        let mut lines = end.rsplit(|byte| *byte == b'\n');
        // What follows the last newline is what a killed append left.
        lines.next();
        let mut frames = lines.filter_map(|line| serde_json::from_slice(line).ok());
        if let Some(frame) = frames.next() {
            return Ok(Some(frame));
        }
        if window == length {
            return Ok(None);
        }
        window = length.min(window * 4);
    }
}
