//! Server-sent events, parsed from byte slices.
//!
//! The crate `sse-stream` keeps its parser private behind an async stream, ends
//! the stream at the first byte that is not UTF-8, and drops a last event that
//! has no empty line after it. Decoding here is to be synchronous and lenient in
//! both cases, hence a parser of our own.

use crate::limits::MAX_REPLY_BYTES;
use memchr::memchr2;

/// The most bytes that one event may have: those of a whole reply, with some that JSON adds.
pub(crate) const MAX_EVENT_BYTES: usize = 2 * MAX_REPLY_BYTES;

const BOM: &[u8] = b"\xef\xbb\xbf";

/// One event of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The name of the event; empty if it has none.
    pub event: &'a [u8],
    /// The data, its lines joined by line feeds.
    pub data: &'a [u8],
}

/// Why parsing ended early.
#[derive(Debug, PartialEq, Eq)]
pub enum SseError<E> {
    /// An event is larger than any sensible one.
    TooLarge,
    /// The receiver of the events refused one.
    Receiver(E),
}

/// A parser that takes the stream in pieces of any size. The events do not
/// depend on where the stream was cut.
///
/// Lines may end in LF, CR or CRLF; a byte order mark at the start, comments and
/// unknown fields are ignored.
#[derive(Debug, Default)]
pub struct SseParser {
    /// The start of a line whose end has not come yet.
    line: Vec<u8>,
    event: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    /// The last byte was a CR, so that an LF right after it ends no line.
    after_cr: bool,
    past_first_line: bool,
}

impl SseParser {
    /// A parser at the start of a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes and hands every event that they complete to
    /// `receive`.
    pub fn push<E>(
        &mut self,
        mut bytes: &[u8],
        receive: &mut dyn FnMut(Frame<'_>) -> Result<(), E>,
    ) -> Result<(), SseError<E>> {
        if self.after_cr && !bytes.is_empty() {
            self.after_cr = false;
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(end) = memchr2(b'\r', b'\n', bytes) {
            self.end_of_line(&bytes[..end], receive)?;
            let rest = &bytes[end + 1..];
            bytes = match (bytes[end], rest) {
                (b'\r', []) => {
                    self.after_cr = true;
                    rest
                }
                (b'\r', [b'\n', rest @ ..]) => rest,
                _ => rest,
            };
        }
        self.line.extend_from_slice(bytes);
        self.check_size()
    }

    /// Takes the end of the stream. An event that lacks only its line ends is
    /// handed out as well.
    pub fn finish<E>(
        mut self,
        receive: &mut dyn FnMut(Frame<'_>) -> Result<(), E>,
    ) -> Result<(), SseError<E>> {
        if !self.line.is_empty() {
            self.end_of_line(b"", receive)?;
        }
        self.dispatch(receive)
    }

    fn end_of_line<E>(
        &mut self,
        tail: &[u8],
        receive: &mut dyn FnMut(Frame<'_>) -> Result<(), E>,
    ) -> Result<(), SseError<E>> {
        if self.line.is_empty() {
            return self.take_line(tail, receive);
        }
        let mut line = std::mem::take(&mut self.line);
        line.extend_from_slice(tail);
        let result = self.take_line(&line, receive);
        // The buffer is kept, so that it is not allocated for every line.
        line.clear();
        self.line = line;
        result
    }

    fn take_line<E>(
        &mut self,
        mut line: &[u8],
        receive: &mut dyn FnMut(Frame<'_>) -> Result<(), E>,
    ) -> Result<(), SseError<E>> {
        if !self.past_first_line {
            self.past_first_line = true;
            line = line.strip_prefix(BOM).unwrap_or(line);
        }
        if line.is_empty() {
            return self.dispatch(receive);
        }
        if let Some(value) = field(line, b"data") {
            if self.has_data {
                self.data.push(b'\n');
            }
            self.has_data = true;
            self.data.extend_from_slice(value);
        } else if let Some(value) = field(line, b"event") {
            self.event.clear();
            self.event.extend_from_slice(value);
        }
        self.check_size()
    }

    fn dispatch<E>(
        &mut self,
        receive: &mut dyn FnMut(Frame<'_>) -> Result<(), E>,
    ) -> Result<(), SseError<E>> {
        let result = if self.has_data {
            let frame = Frame {
                event: &self.event,
                data: &self.data,
            };
            receive(frame).map_err(SseError::Receiver)
        } else {
            Ok(())
        };
        self.has_data = false;
        self.data.clear();
        self.event.clear();
        result
    }

    fn check_size<E>(&self) -> Result<(), SseError<E>> {
        if self.line.len() + self.data.len() + self.event.len() > MAX_EVENT_BYTES {
            return Err(SseError::TooLarge);
        }
        Ok(())
    }
}

/// The value of the line if it belongs to the field: what stands after the name
/// and a colon, without one leading space. A name alone has an empty value.
fn field<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    match line.strip_prefix(name)? {
        [] => Some(b""),
        [b':', b' ', value @ ..] | [b':', value @ ..] => Some(value),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
