//! Hides quoted and bracketed texts, so that nothing inside them is read as a word or a mark.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// The characters that stand for a hidden text: private ones, which no text needs.
pub(crate) const HIDDEN: &str = "\u{e000}-\u{e3ff}";
const SIGNS: RangeInclusive<char> = '\u{e000}'..='\u{e3ff}';

/// An instruction of more bytes is not read. A hidden text counts as three, so the signs suffice.
const LONGEST: usize = 3_000;

/// An apostrophe inside a word closes nothing.
static QUOTED: LazyLock<Regex> = LazyLock::new(|| {
    let quotes = "\"[^\"]*\"|`[^`]*`|'(?:[^']|'\\w)*'|“[^”]*”|‘(?:[^’]|’\\w)*’|«[^»]*»";
    Regex::new(&format!(r"(^|[\s:,])({quotes}|\([^()]*\))")).expect("a test compiles it")
});

pub(crate) fn is_hidden(char: char) -> bool {
    SIGNS.contains(&char)
}

/// An instruction whose quoted and bracketed texts are one character each.
pub(crate) struct Hidden {
    pub(crate) text: String,
    quoted: HashMap<char, String>,
}

impl Hidden {
    /// None if the text is too long, or has characters that hide something.
    pub(crate) fn new(text: &str) -> Option<Self> {
        let (mut signs, mut quoted) = (SIGNS, HashMap::new());
        let hide = |found: &Captures<'_>| {
            let sign = signs.next().unwrap_or_default();
            quoted.insert(sign, found[2].to_owned());
            format!("{}{sign}", &found[1])
        };
        let is_clear = !text.contains(is_hidden);
        let text = QUOTED.replace_all(text, hide).into_owned();
        (is_clear && text.len() <= LONGEST).then_some(Self { text, quoted })
    }

    /// A part of the text as it was. A single quoted text comes without its quotes.
    pub(crate) fn show(&self, part: &str) -> String {
        let quoted = |char: char| self.quoted.get(&char);
        let part = part.trim();
        if let Some(text) = part.parse().ok().and_then(quoted) {
            let mut inside = text.chars();
            inside.next();
            inside.next_back();
            return inside.as_str().to_owned();
        }
        let texts = part.chars();
        let texts = texts.map(|char| quoted(char).cloned().unwrap_or_else(|| char.into()));
        texts.collect()
    }
}
