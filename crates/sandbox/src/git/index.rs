//! The submodules in an index of git (see `gitformat-index(5)`). Pure.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

const SIGNATURE: &[u8] = b"DIRC";
/// Times, device and inode come before the mode of an entry, and owner and size between it and the
/// hash.
const MODE: usize = 24;
const HASH: usize = 40;
const KIND: u32 = 0o170_000;
const SUBMODULE: u32 = 0o160_000;
const EXTENDED: u16 = 0x4000;
/// The length of a name, or this value itself if the name is as long or longer.
const LENGTH: u16 = 0x0fff;
/// The extension that names the file with the other entries.
const SHARED: &[u8] = b"link";
/// The extension that says where blocks of entries start, for threads that read them.
const BLOCKS: &[u8] = b"IEOT";
const BLOCKS_VERSION: u32 = 1;
/// The extension that says where the entries end. Git looks for it at a fixed place before the end.
const END: &[u8] = b"EOIE";

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Index {
    pub(super) submodules: Vec<PathBuf>,
    /// The hash in the name of the file with the other entries.
    pub(super) shared: Option<String>,
}

/// Reads a whole index. `None` if any part of it could mean something else to git: a command may have
/// written it, and a submodule that only git sees would go unnoticed.
pub(super) fn parse(bytes: &[u8], hash: usize) -> Option<Index> {
    if bytes.is_empty() {
        return Some(Index::default());
    }
    Reader { bytes, at: 0 }.index(hash)
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// Where an entry starts, and whether its name needs none of the entry before.
struct Start {
    at: usize,
    is_whole: bool,
}

struct Entry {
    mode: u32,
    is_whole: bool,
}

impl<'a> Reader<'a> {
    fn index(mut self, hash: usize) -> Option<Index> {
        let mut index = Index::default();
        if self.take(SIGNATURE.len())? != SIGNATURE {
            return None;
        }
        let version = self.number()?;
        if !(2..=4).contains(&version) {
            return None;
        }
        let count = self.number()?;
        let mut name: Vec<u8> = Vec::new();
        let mut starts = Vec::new();
        for _ in 0..count {
            let (at, before) = (self.at, name.clone());
            let entry = self.entry(version, hash, &mut name)?;
            // An entry without a name replaces one of the shared index.
            if !name.is_empty() && name < before {
                return None;
            }
            if entry.mode & KIND == SUBMODULE {
                index.submodules.push(submodule(&name)?);
            }
            let is_whole = entry.is_whole;
            starts.push(Start { at, is_whole });
        }
        let end = self.at;
        if self.named_end(hash)?.is_some_and(|named| named != end) {
            return None;
        }
        // The last bytes are a checksum.
        while self.at + hash < self.bytes.len() {
            let kind = self.take(4)?;
            let length = usize::try_from(self.number()?).ok()?;
            let content = self.take(length)?;
            if kind == SHARED {
                let name = content.get(..hash)?;
                index.shared = Some(name.iter().map(|byte| format!("{byte:02x}")).collect());
            } else if kind == BLOCKS && !are_blocks(content, &starts)? {
                return None;
            }
        }
        (self.at + hash == self.bytes.len()).then_some(index)
    }

    /// Where the entries end according to the extension about it, if there is one.
    fn named_end(&self, hash: usize) -> Option<Option<usize>> {
        let length = END.len() + 2 * size_of::<u32>() + hash;
        let Some(at) = self.bytes.len().checked_sub(hash + length) else {
            return Some(None);
        };
        let mut reader = Self { at, ..*self };
        if reader.take(END.len())? != END {
            return Some(None);
        }
        reader.number()?;
        Some(Some(usize::try_from(reader.number()?).ok()?))
    }

    /// Reads an entry, and its name in place of that of the entry before.
    fn entry(&mut self, version: u32, hash: usize, name: &mut Vec<u8>) -> Option<Entry> {
        let start = self.at;
        self.take(MODE)?;
        let mode = self.number()?;
        self.take(HASH - MODE - size_of::<u32>() + hash)?;
        let flags = u16::from_be_bytes(self.take(2)?.try_into().ok()?);
        if flags & EXTENDED != 0 {
            self.take(2)?;
        }
        if version < 4 {
            name.clear();
        } else {
            let removed = self.variable()?;
            name.truncate(name.len().checked_sub(removed)?);
        }
        let is_whole = name.is_empty();
        // Git takes a short name's length from the flags, and searches the zero only after a long one.
        let rest = self.bytes.get(self.at..)?;
        let length = rest.iter().position(|byte| *byte == 0)?;
        name.extend_from_slice(self.take(length)?);
        if name.len().min(LENGTH.into()) != usize::from(flags & LENGTH) {
            return None;
        }
        if version < 4 {
            // Filled up with one to eight zeros.
            let whole = (self.at - start) / 8 * 8 + 8;
            self.take(start + whole - self.at)?;
        } else {
            self.take(1)?;
        }
        Some(Entry { mode, is_whole })
    }

    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(count)?;
        let taken = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    fn number(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    /// A number of seven bits a byte, most significant first; each further byte adds one.
    fn variable(&mut self) -> Option<usize> {
        let mut value = 0_usize;
        loop {
            let [byte] = self.take(1)? else {
                return None;
            };
            value = value.checked_mul(128)? | usize::from(byte & 0x7f);
            if byte & 0x80 == 0 {
                return Some(value);
            }
            value = value.checked_add(1)?;
        }
    }
}

/// The path of a submodule. Git uses any name as it stands, also one that leads through `..` or that
/// it takes from the shared index.
fn submodule(name: &[u8]) -> Option<PathBuf> {
    let is_plain = |part: &[u8]| !matches!(part, b"" | b"." | b"..");
    let mut parts = name.split(|byte| *byte == b'/');
    parts.all(is_plain).then(|| OsStr::from_bytes(name).into())
}

/// Whether threads that start at these blocks find the same entries.
fn are_blocks(content: &[u8], starts: &[Start]) -> Option<bool> {
    let mut reader = Reader {
        bytes: content,
        at: 0,
    };
    if reader.number()? != BLOCKS_VERSION {
        return Some(false);
    }
    let mut next = 0_usize;
    while reader.at < content.len() {
        let at = usize::try_from(reader.number()?).ok()?;
        let count = usize::try_from(reader.number()?).ok()?;
        let start = starts.get(next)?;
        if start.at != at || !start.is_whole {
            return Some(false);
        }
        next = next.checked_add(count)?;
    }
    Some(next == starts.len())
}
