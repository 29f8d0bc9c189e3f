//! The prompt caches of the providers, by their published rules.

use anyhow::Context as _;
use serde_json::Value;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::ops::AddAssign;

pub(super) const BYTES_PER_TOKEN: usize = 4;
/// Nothing shorter is kept, in tokens.
const SHORTEST: usize = 1_024;
/// How many blocks before a mark are searched for an entry.
const LOOKBACK: usize = 20;
/// The steps in which an automatic cache counts, in tokens.
const STEP: usize = 128;

/// The input of requests, in tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Cost {
    full: f64,
    written: f64,
    read: f64,
    read_price: f64,
}

impl Cost {
    /// The tokens at full price that cost as much.
    pub(super) fn equivalent(&self) -> f64 {
        self.full + 1.25 * self.written + self.read_price * self.read
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        self.full += other.full;
        self.written += other.written;
        self.read += other.read;
        self.read_price = other.read_price;
    }
}

/// A provider that remembers the requests it got.
pub(super) trait Cache {
    /// What the input of the next request costs.
    fn send(&mut self, body: &[u8]) -> anyhow::Result<Cost>;
}

fn tokens(bytes: usize) -> f64 {
    bytes as f64 / BYTES_PER_TOKEN as f64
}

/// The Messages API: entries stand where a request had a mark.
#[derive(Debug, Default)]
pub(in crate::measure) struct Anthropic {
    /// The hashes of the starts that were kept.
    entries: HashSet<u64>,
}

/// The start of a request up to the end of a block.
struct Start {
    hash: u64,
    bytes: usize,
    is_marked: bool,
}

impl Anthropic {
    /// How many blocks of the next request are read from the cache: tools, then the system text, then the
    /// blocks of the messages.
    pub(in crate::measure) fn read_blocks(&mut self, body: &Value) -> usize {
        let (starts, read) = self.look_up(body);
        self.keep(&starts);
        read.map_or(0, |at| at + 1)
    }

    /// The starts of a request, and the last one that was kept before.
    fn look_up(&self, body: &Value) -> (Vec<Start>, Option<usize>) {
        let starts = starts(body);
        let found = |mark: usize| {
            let mut places = (mark.saturating_sub(LOOKBACK)..=mark).rev();
            places.find(|at| self.entries.contains(&starts[*at].hash))
        };
        let marks = (0..starts.len()).filter(|at| starts[*at].is_marked);
        let read = marks.filter_map(found).max();
        (starts, read)
    }

    /// Keeps what is marked, if it is long enough.
    fn keep(&mut self, starts: &[Start]) {
        let is_long = |start: &&Start| start.bytes >= SHORTEST * BYTES_PER_TOKEN;
        let kept = starts.iter().filter(|start| start.is_marked);
        self.entries
            .extend(kept.filter(is_long).map(|start| start.hash));
    }
}

impl Cache for Anthropic {
    fn send(&mut self, body: &[u8]) -> anyhow::Result<Cost> {
        let body: Value = serde_json::from_slice(body).context("read a body")?;
        let (starts, read) = self.look_up(&body);
        let marks = || (0..starts.len()).filter(|at| starts[*at].is_marked);
        let read = read.map_or(0, |at| starts[at].bytes);
        let written = marks().next_back().map_or(0, |at| starts[at].bytes);
        let all = starts.last().map_or(0, |start| start.bytes);
        self.keep(&starts);
        let is_written = written >= SHORTEST * BYTES_PER_TOKEN;
        let written = if is_written { written.max(read) } else { read };
        Ok(Cost {
            full: tokens(all - written),
            written: tokens(written - read),
            read: tokens(read),
            read_price: 0.1,
        })
    }
}

/// The starts of a request in the order in which the provider reads it: tools, system, messages.
fn starts(body: &Value) -> Vec<Start> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut blocks = list(&body["tools"]);
    blocks.extend(list(&body["system"]));
    for message in list(&body["messages"]) {
        for mut block in list(&message["content"]) {
            // Whose turn it is belongs to the block.
            block["role"] = message["role"].clone();
            blocks.push(block);
        }
    }
    let mut hasher = DefaultHasher::new();
    let mut bytes = 0;
    let start = |mut block: Value| {
        let mark = block
            .as_object_mut()
            .and_then(|block| block.remove("cache_control"));
        let text = block.to_string();
        text.hash(&mut hasher);
        bytes += text.len();
        Start {
            hash: hasher.finish(),
            bytes,
            is_marked: mark.is_some(),
        }
    };
    blocks.into_iter().map(start).collect()
}

/// Chat Completions: the longest start that an earlier request had.
#[derive(Debug)]
pub(super) struct OpenAi {
    before: Vec<Vec<u8>>,
    read_price: f64,
}

impl OpenAi {
    pub(super) const fn new(read_price: f64) -> Self {
        Self {
            before: Vec::new(),
            read_price,
        }
    }
}

impl Cache for OpenAi {
    fn send(&mut self, body: &[u8]) -> anyhow::Result<Cost> {
        let same = self.before.iter().map(|before| common(before, body));
        let same = same.max().unwrap_or(0) / BYTES_PER_TOKEN;
        let read = if same < SHORTEST {
            0
        } else {
            same / STEP * STEP
        };
        self.before.push(body.to_vec());
        Ok(Cost {
            full: tokens(body.len()) - read as f64,
            written: 0.0,
            read: read as f64,
            read_price: self.read_price,
        })
    }
}

/// How many bytes two requests begin with alike. Whole pieces are compared first, which is fast.
fn common(one: &[u8], other: &[u8]) -> usize {
    const PIECE: usize = 4_096;
    let pieces = one.chunks_exact(PIECE).zip(other.chunks_exact(PIECE));
    let same = PIECE * pieces.take_while(|(one, other)| one == other).count();
    let (_, one) = one.split_at(same);
    let (_, other) = other.split_at(same);
    let rest = one
        .iter()
        .zip(other)
        .take_while(|(one, other)| one == other);
    same + rest.count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A request of so many blocks of 1,250 tokens, with marks behind these.
    fn body(blocks: usize, marks: &[usize]) -> Vec<u8> {
        let block = |at: usize| {
            let mut block = json!({"type": "text", "text": format!("{at} {}", "x".repeat(4_950))});
            if marks.contains(&at) {
                block["cache_control"] = json!({"type": "ephemeral"});
            }
            block
        };
        let content: Vec<Value> = (0..blocks).map(block).collect();
        let messages = json!([{"role": "user", "content": content}]);
        json!({"messages": messages}).to_string().into_bytes()
    }

    fn near(value: f64, blocks: usize) -> bool {
        (value / 1_250.0 - blocks as f64).abs() < 0.1
    }

    #[test]
    fn a_mark_finds_an_entry_within_twenty_blocks() {
        let mut cache = Anthropic::default();
        let first = cache.send(&body(10, &[9])).unwrap();
        assert!(near(first.written, 10) && first.read == 0.0, "{first:?}");
        let near_by = cache.send(&body(30, &[29])).unwrap();
        assert!(
            near(near_by.read, 10) && near(near_by.written, 20),
            "{near_by:?}"
        );
        let far = cache.send(&body(60, &[58])).unwrap();
        assert!(far.read == 0.0 && near(far.full, 1), "{far:?}");
        let other_place = Anthropic::default().send(&body(3, &[])).unwrap();
        assert!(near(other_place.full, 3), "{other_place:?}");
    }

    #[test]
    fn an_automatic_cache_counts_in_steps() {
        let mut cache = OpenAi::new(0.5);
        let request = body(4, &[]);
        assert!(cache.send(&request).unwrap().read == 0.0);
        let again = cache.send(&request).unwrap();
        assert!(again.read % 128.0 == 0.0 && again.full < 128.0, "{again:?}");
        assert!(again.equivalent() < 0.55 * tokens(request.len()));
    }
}
