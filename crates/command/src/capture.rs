//! Keeps both ends of an output of unknown length.

use safe_open::{Links, Options};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

use crate::spec::{Save, SaveWhen};

/// The output of a command.
#[derive(Debug)]
pub struct Captured {
    /// The start, or everything if `tail` is empty.
    pub head: Vec<u8>,
    /// The end, if there is a gap after `head`.
    pub tail: Vec<u8>,
    /// The total number of bytes.
    pub total: u64,
    /// The file with the complete output.
    pub saved: Saved,
}

impl Captured {
    /// The number of bytes between `head` and `tail`.
    pub fn skipped(&self) -> u64 {
        let kept = self.head.len().saturating_add(self.tail.len());
        self.total.saturating_sub(kept as u64)
    }
}

/// The state of the file for the complete output.
#[derive(Debug)]
pub enum Saved {
    /// It was not needed.
    No,
    /// It was written.
    Yes {
        path: PathBuf,
        /// The number of bytes in the file, which is limited.
        bytes: u64,
    },
    /// It could not be written completely.
    Failed { path: PathBuf, error: io::Error },
}

/// Both ends of a stream of bytes. Its size is bounded by twice `half`.
#[derive(Debug)]
struct Ends {
    half: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

impl Ends {
    fn new(max_bytes: usize) -> Self {
        Self {
            half: max_bytes / 2,
            head: Vec::new(),
            tail: VecDeque::new(),
            total: 0,
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        self.total = self.total.saturating_add(bytes.len() as u64);
        let room = self.half.saturating_sub(self.head.len()).min(bytes.len());
        let (first, rest) = bytes.split_at(room);
        self.head.extend_from_slice(first);
        // Only the last `half` bytes of the rest are kept.
        let (_, rest) = rest.split_at(rest.len().saturating_sub(self.half));
        let surplus = (self.tail.len() + rest.len()).saturating_sub(self.half);
        self.tail.drain(..surplus);
        self.tail.extend(rest);
    }

    /// Whether `more` further bytes fit without a gap.
    fn fits(&self, more: usize) -> bool {
        self.total.saturating_add(more as u64) <= self.half as u64 * 2
    }
}

/// Keeps both ends in memory and writes the complete output to a file if requested.
#[derive(Debug)]
pub(crate) struct Capture {
    ends: Ends,
    save: Save,
    file: Sink,
}

#[derive(Debug)]
enum Sink {
    NotNeeded,
    Open { file: File, written: u64 },
    Failed(io::Error),
}

impl Capture {
    pub(crate) fn new(memory: usize, save: Save) -> Self {
        let mut capture = Self {
            ends: Ends::new(memory),
            save,
            file: Sink::NotNeeded,
        };
        if capture.save.when == SaveWhen::Always {
            capture.open();
        }
        capture
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if matches!(self.file, Sink::NotNeeded) && !self.ends.fits(bytes.len()) {
            self.open();
        }
        self.write(bytes);
        self.ends.push(bytes);
    }

    /// Creates the file and writes the earlier output.
    fn open(&mut self) {
        let options = Options::write(Links::Refuse).create_new();
        self.file = match options.open(&self.save.path) {
            Ok(opened) => Sink::Open {
                file: opened.file,
                written: 0,
            },
            Err(error) => Sink::Failed(error.into()),
        };
        let head = std::mem::take(&mut self.ends.head);
        let tail = std::mem::take(&mut self.ends.tail);
        self.write(&head);
        let (first, second) = tail.as_slices();
        self.write(first);
        self.write(second);
        self.ends.head = head;
        self.ends.tail = tail;
    }

    fn write(&mut self, bytes: &[u8]) {
        let Sink::Open { file, written } = &mut self.file else {
            return;
        };
        let room = self.save.max_bytes.saturating_sub(*written);
        let room = usize::try_from(room).unwrap_or(usize::MAX);
        let (bytes, _) = bytes.split_at(room.min(bytes.len()));
        match file.write_all(bytes) {
            Ok(()) => *written += bytes.len() as u64,
            Err(error) => self.file = Sink::Failed(error),
        }
    }

    pub(crate) fn finish(self) -> Captured {
        let complete = self.ends.fits(0);
        let Ends {
            mut head,
            tail,
            total,
            ..
        } = self.ends;
        let mut tail = Vec::from(tail);
        if complete {
            head.append(&mut tail);
        }
        let path = self.save.path;
        Captured {
            head,
            tail,
            total,
            saved: match self.file {
                Sink::NotNeeded => Saved::No,
                Sink::Open { written, .. } => Saved::Yes {
                    path,
                    bytes: written,
                },
                Sink::Failed(error) => Saved::Failed { path, error },
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fs;

    fn capture(memory: usize, when: SaveWhen, max_bytes: u64) -> (tempfile::TempDir, Capture) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        (
            folder,
            Capture::new(
                memory,
                Save {
                    path,
                    when,
                    max_bytes,
                },
            ),
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn both_ends_are_exact_and_memory_is_bounded(
            chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..12),
            memory in 0usize..64,
        ) {
            let (_folder, mut capture) = capture(memory, SaveWhen::Large, u64::MAX);
            let whole = chunks.concat();
            for chunk in &chunks {
                capture.push(chunk);
                prop_assert!(capture.ends.head.len() + capture.ends.tail.len() <= memory);
            }
            let captured = capture.finish();
            prop_assert_eq!(captured.total, whole.len() as u64);
            prop_assert!(whole.starts_with(&captured.head));
            prop_assert!(whole.ends_with(&captured.tail));
            match &captured.saved {
                Saved::No => prop_assert_eq!(&captured.head, &whole),
                Saved::Yes { path, bytes } => {
                    prop_assert_eq!(*bytes, whole.len() as u64);
                    prop_assert_eq!(fs::read(path).unwrap(), whole);
                }
                Saved::Failed { .. } => prop_assert!(false, "{captured:?}"),
            }
        }
    }

    #[test]
    fn the_file_ends_where_it_must_and_the_count_goes_on() {
        let (_folder, mut capture) = capture(4, SaveWhen::Large, 6);
        for _ in 0..5 {
            capture.push(b"abc");
        }
        let captured = capture.finish();
        assert_eq!((captured.total, captured.skipped()), (15, 11));
        assert_eq!(
            (&captured.head[..], &captured.tail[..]),
            (&b"ab"[..], &b"bc"[..])
        );
        let Saved::Yes { path, bytes } = captured.saved else {
            panic!("not saved");
        };
        assert_eq!((bytes, fs::read(path).unwrap()), (6, b"abcabc".to_vec()));
    }

    #[test]
    fn a_file_that_cannot_be_written_costs_only_the_file() {
        let save = Save::new("/nowhere/at/all", SaveWhen::Always);
        let mut capture = Capture::new(4, save);
        capture.push(b"abcdefgh");
        let captured = capture.finish();
        assert_eq!(captured.tail, b"gh");
        assert!(matches!(captured.saved, Saved::Failed { .. }));
    }
}
