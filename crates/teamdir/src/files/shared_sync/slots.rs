//! Lines that senders hand over to whoever leads, which appends them all with one `write`.
//!
//! Behind the numbers of the mark is a row of slots. A sender in a crowd claims one for as long as it has the
//! mark open: it locks a byte far behind the end of the file, which stands for the slot. The kernel frees that
//! lock when the sender is killed. A line in a slot has a *ticket*, a number that was never used before. The
//! leader writes the tickets of the lines that it has appended and synced into the mark, and a sender is done
//! when it finds its own.

use super::PATIENCE;
use nix::fcntl::{FcntlArg, fcntl};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::time::{Duration, SystemTime};
use uuid::Uuid;

/// How many senders can hand over at the same time. The others append by themselves.
pub(super) const SLOTS: usize = 64;
/// Where the first slot begins.
const FIRST: u64 = 4 << 10;
/// The length of a slot.
const SLOT: usize = 1 << 10;
/// Before the line are the hash of all that follows, the ticket, the time after which nobody may append the
/// line any more, and its length.
const HEADER: usize = 4 * size_of::<u64>();
/// The longest line that fits a slot.
pub(crate) const MOST: usize = SLOT - HEADER;
/// Whose last line is not older than this is expected to hand over another.
const RECENT: Duration = Duration::from_millis(5);
/// The byte whose lock claims the first slot.
const CLAIMS: i64 = 1 << 40;

/// The slot of one sender.
#[derive(Debug)]
pub(super) struct Slot {
    number: usize,
    last_ticket: u64,
}

/// What a sender has handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ticket {
    pub(super) slot: usize,
    pub(super) number: u64,
}

impl Slot {
    /// Claims a free slot, if there is one.
    pub(super) fn claim(mark: &File) -> Option<Self> {
        let number = (0..SLOTS).find(|number| {
            let claim = libc::flock {
                l_type: libc::F_WRLCK as _,
                l_whence: libc::SEEK_SET as _,
                l_start: CLAIMS + i64::try_from(*number).unwrap_or(0),
                l_len: 1,
                l_pid: 0,
            };
            fcntl(mark, FcntlArg::F_OFD_SETLK(&claim)).is_ok()
        })?;
        // Whoever had the slot before had other tickets.
        let last_ticket = Uuid::new_v4().as_u64_pair().0;
        Some(Self {
            number,
            last_ticket,
        })
    }

    /// Puts a line into the slot.
    pub(super) fn offer(&mut self, mark: &File, line: &[u8]) -> io::Result<Ticket> {
        self.last_ticket = self.last_ticket.wrapping_add(1).max(1);
        let ticket = Ticket {
            slot: self.number,
            number: self.last_ticket,
        };
        let until = now() + PATIENCE.as_nanos() as u64;
        mark.write_all_at(&encode(ticket.number, until, line), place(self.number))?;
        Ok(ticket)
    }

    /// Takes back what is in the slot. A leader may have seen it before.
    pub(super) fn withdraw(&self, mark: &File) {
        // If this fails the time of the line is over soon.
        let _ = mark.write_all_at(&[0; HEADER], place(self.number));
    }
}

fn place(number: usize) -> u64 {
    FIRST + (number * SLOT) as u64
}

fn encode(ticket: u64, until: u64, line: &[u8]) -> Vec<u8> {
    let check = check([ticket, until, line.len() as u64], line);
    let mut bytes = Vec::with_capacity(HEADER + line.len());
    for value in [check, ticket, until, line.len() as u64] {
        bytes.extend(value.to_ne_bytes());
    }
    bytes.extend(line);
    bytes
}

/// FNV-1a over numbers of eight bytes instead of single bytes, because each line of a crowd is hashed twice. The
/// last bytes of the line are filled up with zeros.
fn check(header: [u64; 3], line: &[u8]) -> u64 {
    let step = |hash: u64, value: u64| (hash ^ value).wrapping_mul(0x0100_0000_01b3);
    let hash = header.into_iter().fold(0xcbf2_9ce4_8422_2325, step);
    let (words, rest) = line.as_chunks::<8>();
    let hash = words
        .iter()
        .map(|word| u64::from_ne_bytes(*word))
        .fold(hash, step);
    let mut last = [0; 8];
    for (place, byte) in last.iter_mut().zip(rest) {
        *place = *byte;
    }
    step(hash, u64::from_ne_bytes(last))
}

/// The time as all processes see it. If somebody changes the clock, lines that wait are appended by their
/// senders.
fn now() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    u64::try_from(now.unwrap_or_default().as_nanos()).unwrap_or(0)
}

/// A line in a slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Offered {
    pub(super) ticket: Ticket,
    line: Range<usize>,
}

impl Offered {
    pub(crate) fn is_of(&self, ticket: Ticket) -> bool {
        self.ticket == ticket
    }
}

/// What a slot says of its line.
struct Header<'a> {
    number: usize,
    ticket: u64,
    until: u64,
    bytes: &'a [u8],
}

impl Header<'_> {
    fn is_in(&self, accepted: &[u64; SLOTS]) -> bool {
        accepted.get(self.number) == Some(&self.ticket)
    }
}

/// How many senders have handed over a line a moment ago, and how many of those lines wait.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Crowd {
    pub(super) active: usize,
    pub(super) waiting: usize,
}

/// All slots as they were when they were read.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    bytes: Vec<u8>,
    length: usize,
    read_at: u64,
}

impl Slots {
    pub(super) fn read(&mut self, mark: &File) -> io::Result<()> {
        self.bytes.resize(SLOTS * SLOT, 0);
        self.read_at = now();
        // The file ends behind the highest slot that was ever used.
        self.length = mark.read_at(&mut self.bytes, FIRST)?;
        Ok(())
    }

    /// Who sends at this moment.
    pub(super) fn crowd(&self, accepted: &[u64; SLOTS]) -> Crowd {
        let since = self.read_at + (PATIENCE - RECENT).as_nanos() as u64;
        let recent = self.due().filter(|slot| slot.until > since);
        recent.fold(Crowd::default(), |crowd, slot| Crowd {
            active: crowd.active + 1,
            waiting: crowd.waiting + usize::from(!slot.is_in(accepted)),
        })
    }

    /// The lines that wait: not accepted before, and not too old.
    pub(super) fn offered(&self, accepted: &[u64; SLOTS]) -> Vec<Offered> {
        let waiting = self.due().filter(|slot| !slot.is_in(accepted));
        waiting.filter_map(|slot| self.offered_in(&slot)).collect()
    }

    /// The bytes of a line.
    pub(crate) fn line(&self, offered: &Offered) -> &[u8] {
        self.bytes.get(offered.line.clone()).unwrap_or_default()
    }

    /// The slots that were written to so lately that their lines may still be appended.
    fn due(&self) -> impl Iterator<Item = Header<'_>> {
        let known = self.bytes.get(..self.length).unwrap_or_default();
        let limit = self.read_at + PATIENCE.as_nanos() as u64;
        let slots = known.chunks(SLOT).enumerate();
        let headers = slots.filter_map(|(number, bytes)| {
            Some(Header {
                number,
                ticket: value(bytes, 1)?,
                until: value(bytes, 2)?,
                bytes,
            })
        });
        headers.filter(move |slot| self.read_at < slot.until && slot.until <= limit)
    }

    /// The line of a slot, unless its sender was writing it while it was read.
    fn offered_in(&self, slot: &Header<'_>) -> Option<Offered> {
        let (number, bytes) = (slot.number, slot.bytes);
        let header = [slot.ticket, slot.until, value(bytes, 3)?];
        let length = usize::try_from(header[2]).ok()?;
        let end = HEADER.checked_add(length)?;
        let line = bytes.get(HEADER..end)?;
        let is_whole = check(header, line) == value(bytes, 0)?;
        // Anybody may write into the file, but each slot adds one line at most.
        let line_end = line.iter().position(|byte| *byte == b'\n');
        let is_line = line_end.is_some_and(|at| at + 1 == length);
        let start = number * SLOT + HEADER;
        (is_whole && is_line).then_some(Offered {
            ticket: Ticket {
                slot: number,
                number: slot.ticket,
            },
            line: start..start + length,
        })
    }
}

/// The number at a place of the header.
fn value(bytes: &[u8], place: usize) -> Option<u64> {
    let bytes = bytes.get(place * 8..place * 8 + 8)?;
    bytes.try_into().ok().map(u64::from_ne_bytes)
}
