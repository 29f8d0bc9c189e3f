//! The end of a member's journal: its last checkpoint, and what the records after it say of the mail.
//!
//! It is read backwards, each time as much again as before, so that what is read is a small multiple of how far the
//! last checkpoint is from the end. Nothing outside the journal says where that is: there is nothing that could be
//! out of date.

use crate::mail::state::MailState;
use protocol::{JournalLine, JournalRecord};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// How much of the end is read first.
const FIRST_LOOK: u64 = 8 << 10;
/// How much at most is read at once of a line without an end.
const LONGEST_LOOK: u64 = 1 << 20;
/// How every line that holds a checkpoint begins.
const CHECKPOINT: &[u8] = br#"{"kind":"checkpoint""#;

/// What the end of a journal says about the member's mail.
pub(crate) struct Recovered {
    pub(crate) state: MailState,
    /// Behind the last whole line.
    pub(crate) end: u64,
    /// Where the last checkpoint begins, and where it ends.
    pub(crate) checkpoint: (u64, u64),
}

/// A file that is read from its end.
trait Source {
    fn length(&self) -> io::Result<u64>;
    fn read(&self, bytes: &mut [u8], from: u64) -> io::Result<()>;
}

impl Source for File {
    fn length(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read(&self, bytes: &mut [u8], from: u64) -> io::Result<()> {
        self.read_exact_at(bytes, from)
    }
}

/// Reads the journal backwards to its last checkpoint, and applies what follows it.
pub(crate) fn recover(file: &File) -> io::Result<Recovered> {
    recover_from(file)
}

fn recover_from(source: &impl Source) -> io::Result<Recovered> {
    let mut tail = Tail::at_end_of(source)?;
    let found = loop {
        let start = last_checkpoint(&tail.records, tail.from == 0);
        if let Some(start) = start.or((tail.from == 0).then_some(0)) {
            break start;
        }
        tail.grow()?;
    };
    let records = tail.records.get(found..).unwrap_or_default();
    let first = records.iter().position(|byte| *byte == b'\n');
    let start = tail.from + found as u64;
    Ok(Recovered {
        state: state_after(records),
        end: tail.from + tail.records.len() as u64,
        checkpoint: (start, start + first.map_or(0, |at| at as u64)),
    })
}

/// What records say that begin with a checkpoint, or with the journal.
fn state_after(records: &[u8]) -> MailState {
    let mut state = MailState::default();
    let mut rest = records;
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| *byte == b'\n');
        let (line, after) = rest.split_at(end.map_or(rest.len(), |at| at + 1));
        if !goes_on(after)
            && let JournalLine::Known(record) = JournalLine::decode(line)
        {
            state.apply(&record);
        }
        rest = after;
    }
    state
}

/// The whole lines at the end of a journal, as far as they were read.
struct Tail<'a, S> {
    source: &'a S,
    from: u64,
    /// Whole lines, but for the first.
    records: Vec<u8>,
}

impl<'a, S: Source> Tail<'a, S> {
    fn at_end_of(source: &'a S) -> io::Result<Self> {
        let mut tail = Self {
            source,
            from: source.length()?,
            records: Vec::new(),
        };
        // What a killed process left unfinished may be long. It is not kept.
        let mut look = FIRST_LOOK;
        while tail.from > 0 && tail.records.is_empty() {
            tail.read_more(look)?;
            let last_newline = tail.records.iter().rposition(|byte| *byte == b'\n');
            tail.records.truncate(last_newline.map_or(0, |at| at + 1));
            look = (2 * look).min(LONGEST_LOOK);
        }
        Ok(tail)
    }

    /// Reads as much again as before.
    fn grow(&mut self) -> io::Result<()> {
        self.read_more(FIRST_LOOK.max(self.records.len() as u64))
    }

    /// Reads so much more, as far as there is more.
    fn read_more(&mut self, most: u64) -> io::Result<()> {
        let from = self.from.saturating_sub(most);
        let more = usize::try_from(self.from - from).map_err(io::Error::other)?;
        let mut bytes = Vec::with_capacity(more + self.records.len());
        bytes.resize(more, 0);
        self.source.read(&mut bytes, from)?;
        bytes.append(&mut self.records);
        self.records = bytes;
        self.from = from;
        Ok(())
    }
}

/// Where the last line that holds a checkpoint begins. Only whole lines count: the first line of
/// a read from the middle of the file may be a part of one.
fn last_checkpoint(tail: &[u8], from_start: bool) -> Option<usize> {
    let mut line_end = tail.len();
    while line_end > 0 {
        let before = tail.get(..line_end - 1).unwrap_or_default();
        let line_start = before
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map(|at| at + 1);
        let (start, whole) = match line_start {
            Some(start) => (start, true),
            None => (0, from_start),
        };
        let line = tail.get(start..line_end)?;
        // One that was torn, and closed with a newline, is none.
        let is_checkpoint = || {
            let record = JournalLine::decode(line);
            matches!(record, JournalLine::Known(JournalRecord::Checkpoint(_)))
        };
        let after = tail.get(line_end..).unwrap_or_default();
        if whole && line.starts_with(CHECKPOINT) && !goes_on(after) && is_checkpoint() {
            return Some(start);
        }
        line_end = start;
    }
    None
}

/// Whether the lines that follow begin inside a JSON text: then the line before them is a nested object
/// of a record that an older program wrote over several lines, and no record. Reading such a journal from
/// its start joins the lines; here it would have to be read from far back.
fn goes_on(after: &[u8]) -> bool {
    let next = after.trim_ascii_start().first();
    next.is_some_and(|byte| matches!(byte, b'}' | b']' | b','))
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::{Incarnation, JsonLine, MailRecord, SegmentPosition};
    use std::cell::Cell;
    use std::io::Write as _;

    fn line(record: &JournalRecord) -> String {
        String::from_utf8(JsonLine::encode(record).unwrap().to_vec()).unwrap()
    }

    fn checkpoint(sealed: u64) -> String {
        let state = MailState {
            sealed,
            ..MailState::default()
        };
        line(&JournalRecord::Checkpoint(state.to_checkpoint()))
    }

    fn mail(segment: u64) -> String {
        line(&JournalRecord::Mail(MailRecord {
            incarnation: Incarnation(1),
            time: crate::clock::now(),
            position: SegmentPosition {
                segment,
                end: 0,
                inode: 0,
                born: 0,
                check: 0,
            },
            mail: Vec::new(),
            bad: Vec::new(),
            notes: Vec::new(),
        }))
    }

    /// The highest sealed segment, and the segments with a position.
    fn recover_text(text: &str) -> (u64, Vec<u64>) {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let recovered = recover(&file).unwrap();
        assert_eq!(recovered.end, text.len() as u64);
        let positions = recovered.state.positions.keys().copied();
        (recovered.state.sealed, positions.collect())
    }

    /// A journal in memory, and how much of it was read.
    struct Counted<'a>(&'a [u8], Cell<usize>);

    impl Source for Counted<'_> {
        fn length(&self) -> io::Result<u64> {
            Ok(self.0.len() as u64)
        }

        fn read(&self, bytes: &mut [u8], from: u64) -> io::Result<()> {
            let from = usize::try_from(from).unwrap();
            bytes.copy_from_slice(&self.0[from..from + bytes.len()]);
            self.1.set(self.1.get() + bytes.len());
            Ok(())
        }
    }

    /// How many bytes are read of a journal.
    fn read_of(text: &str) -> usize {
        let source = Counted(text.as_bytes(), Cell::new(0));
        recover_from(&source).unwrap();
        source.1.get()
    }

    #[test]
    fn what_is_read_follows_the_distance_to_the_last_checkpoint_and_not_the_journal() {
        let first_look = usize::try_from(FIRST_LOOK).unwrap();
        let little = [checkpoint(1), mail(2).repeat(10)].concat();
        assert_eq!(read_of(&little), little.len());
        for before in [0, 1_000, 100_000] {
            let before = mail(1).repeat(before);
            for after in [0, 10, 100, 1_000, 5_000] {
                let after = [checkpoint(1), mail(2).repeat(after)].concat();
                let text = [before.as_str(), &after].concat();
                let most = first_look.max(2 * after.len()).min(text.len());
                assert!(
                    read_of(&text) <= most,
                    "{} for {}",
                    read_of(&text),
                    after.len()
                );
                let (sealed, positions) = recover_text(&text);
                assert_eq!(sealed, 1);
                assert!(positions.iter().all(|segment| *segment == 2));
            }
        }
    }

    #[test]
    fn a_line_that_was_not_finished_does_not_count_however_long_it_is() {
        for torn in [1, 100, 8 << 10, 8 << 10 | 1, 100 << 10, 1 << 20] {
            let whole = [checkpoint(3), mail(4)].concat();
            let torn = "x".repeat(torn);
            for (before, state) in [(whole.as_str(), (3, vec![4])), ("", (0, Vec::new()))] {
                let text = [before, &torn].concat();
                let source = Counted(text.as_bytes(), Cell::new(0));
                let recovered = recover_from(&source).unwrap();
                assert_eq!(recovered.end, before.len() as u64);
                let positions = recovered.state.positions.keys().copied();
                assert_eq!((recovered.state.sealed, positions.collect()), state);
                assert!(source.1.get() <= text.len());
            }
        }
    }

    #[test]
    fn parts_of_a_split_record_do_not_change_the_state_of_the_mail() {
        let long = "x".repeat(2 * usize::try_from(FIRST_LOOK).unwrap());
        let long = format!("{{\"kind\":\"dance\",\"pad\":\"{long}\"}}\n");
        for nested in [mail(9), checkpoint(9)] {
            let split = format!("{{\"kind\":\"dance\",\"input\":\n{nested}}}\n");
            for between in ["", &long] {
                let start = [&checkpoint(1), &mail(2), between, &split].concat();
                assert_eq!(recover_text(&start), (1, vec![2]));
                let text = [&start, &mail(3), between].concat();
                assert_eq!(recover_text(&text), (1, vec![2, 3]));
                // A checkpoint right behind the split record counts.
                let text = [&start, &checkpoint(4), between, &mail(5)].concat();
                assert_eq!(recover_text(&text), (4, vec![5]));
            }
        }
    }
}
