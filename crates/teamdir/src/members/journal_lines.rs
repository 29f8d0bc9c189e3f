//! Reads the lines of a journal, and joins a record that was written over several lines.
//!
//! Older programs wrote the line breaks of a model's pretty-printed JSON into their journals. The parts
//! of such a record are not records; worse, a nested object that has a line of its own looks like one.

use crate::files;
use protocol::{JournalLine, JsonLine, ModelTypes};
use std::collections::VecDeque;
use std::io::{self, BufRead};

/// The most bytes that a record over several lines is looked for in.
const MAX_BYTES: usize = 8 << 20;

/// The longest line. A reply of a model is on one line, and JSON may need six bytes for one of its.
const LONGEST_LINE: u64 = 256 << 20;

/// One line of a journal.
pub(crate) struct RecordLine<M: ModelTypes> {
    /// What is stored, without the newline; a joined record is on one line.
    pub(crate) bytes: Vec<u8>,
    pub(crate) line: JournalLine<M>,
    /// The lines that were joined, as they are stored; empty if it was one line.
    pub(crate) parts: Vec<u8>,
}

/// Reads a journal line by line.
pub(crate) struct JournalLines<R> {
    reader: R,
    /// Lines that were read to be joined and could not be.
    ahead: VecDeque<Vec<u8>>,
}

impl<R: BufRead> JournalLines<R> {
    pub(crate) const fn new(reader: R) -> Self {
        let ahead = VecDeque::new();
        Self { reader, ahead }
    }

    /// The next record or other line, or what stands behind the last newline, as an error value.
    pub(crate) fn next<M: ModelTypes>(
        &mut self,
    ) -> io::Result<Option<Result<RecordLine<M>, Vec<u8>>>> {
        let Some(mut bytes) = self.line()? else {
            return Ok(None);
        };
        if bytes.pop_if(|byte| *byte == b'\n').is_none() {
            return Ok(Some(Err(bytes)));
        }
        let line = JournalLine::decode_as(&bytes);
        let is_start = matches!(line, JournalLine::Corrupt { .. }) && bytes.starts_with(b"{");
        if is_start && let Some(joined) = self.join(&bytes)? {
            return Ok(Some(Ok(joined)));
        }
        let parts = Vec::new();
        Ok(Some(Ok(RecordLine { bytes, line, parts })))
    }

    fn line(&mut self) -> io::Result<Option<Vec<u8>>> {
        if let Some(line) = self.ahead.pop_front() {
            return Ok(Some(line));
        }
        files::read_line(&mut self.reader, LONGEST_LINE)
    }

    /// Reads on until the object that begins with `first` is whole. Gives the lines back if it does
    /// not become a record.
    fn join<M: ModelTypes>(&mut self, first: &[u8]) -> io::Result<Option<RecordLine<M>>> {
        let mut scan = Scan::default();
        let mut parts = [first, b"\n"].concat();
        let mut lines = Vec::new();
        let mut is_open = scan.is_open_after(&parts);
        while is_open && parts.len() < MAX_BYTES {
            let Some(line) = self.line()? else { break };
            is_open = scan.is_open_after(&line);
            parts.extend_from_slice(&line);
            lines.push(line);
        }
        let joined = (!is_open && parts.ends_with(b"\n"))
            .then(|| JsonLine::from_raw(&parts).ok())
            .flatten();
        if let Some(joined) = joined {
            let bytes = joined.trim_ascii_end().to_vec();
            let line = JournalLine::decode_as(&bytes);
            if !matches!(line, JournalLine::Corrupt { .. }) {
                return Ok(Some(RecordLine { bytes, line, parts }));
            }
        }
        for line in lines.into_iter().rev() {
            self.ahead.push_front(line);
        }
        Ok(None)
    }
}

/// Follows the brackets of a JSON text.
#[derive(Default)]
struct Scan {
    depth: usize,
    in_string: bool,
    is_escaped: bool,
}

impl Scan {
    /// Whether the text goes on after these bytes. A line break in a string ends it: no JSON has one.
    fn is_open_after(&mut self, bytes: &[u8]) -> bool {
        for byte in bytes {
            let was_escaped = std::mem::take(&mut self.is_escaped);
            match byte {
                b'\n' if self.in_string => return false,
                b'"' if !was_escaped => self.in_string = !self.in_string,
                b'\\' if self.in_string => self.is_escaped = !was_escaped,
                b'{' | b'[' if !self.in_string => self.depth += 1,
                b'}' | b']' if !self.in_string => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
        self.depth > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::Plain;

    /// The stored bytes of each line, and of how many lines it is made.
    fn read(text: &str) -> Vec<(String, usize)> {
        let mut lines = JournalLines::new(text.as_bytes());
        let mut found = Vec::new();
        while let Some(line) = lines.next::<Plain>().unwrap() {
            let (bytes, parts) = match line {
                Ok(line) => (line.bytes, line.parts),
                Err(torn) => (torn, Vec::new()),
            };
            let count = parts.iter().filter(|byte| **byte == b'\n').count();
            found.push((String::from_utf8(bytes).unwrap(), count));
        }
        found
    }

    #[test]
    fn a_record_over_several_lines_is_one_record() {
        let split = "{\"kind\":\"dance\",\"input\":{\n  \"a\": \"}\\\"\\n\",\n{\"kind\":\"user\",\"messages\":[]}\n}}\n";
        // A key is missing before the nested object, so this is no JSON: all lines stay.
        assert_eq!(read(split).len(), 4);
        let split = split.replace("\\n\",\n", "\\n\", \"b\":\n");
        let whole = split.trim_end().replace('\n', " ");
        let next = "{\"kind\":\"ended\",\"reason\":\"\"}";
        let text = format!("{next}\n{split}{next}\n");
        let next = (next.to_owned(), 0);
        assert_eq!(read(&text), [next.clone(), (whole, 4), next]);
    }

    #[test]
    fn a_torn_line_takes_nothing_with_it() {
        let next = "{\"kind\":\"ended\",\"reason\":\"\"}";
        for torn in [
            "{\"kind\":\"user\",\"messages\":[",
            "{\"kind\":\"use",
            "words",
            "",
            "{",
        ] {
            let text = format!("{torn}\n{next}\n{next}\n{torn}");
            let mut expected = vec![torn, next, next];
            expected.extend((!torn.is_empty()).then_some(torn));
            let found: Vec<String> = read(&text).into_iter().map(|(line, _)| line).collect();
            assert_eq!(found, expected);
        }
    }
}
