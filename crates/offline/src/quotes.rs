//! Hides quoted and bracketed texts, so that nothing inside them is read as a word or a mark.

use std::sync::LazyLock;

use regex::{Captures, Regex};

/// The characters that stand for a hidden text: private ones, which no text needs.
pub(crate) const HIDDEN: &str = "\u{e000}-\u{e3ff}";
const FIRST: u32 = 0xe000;
const MOST: usize = 0x400;

/// An apostrophe inside a word closes nothing.
static QUOTED: LazyLock<Regex> = LazyLock::new(|| {
    let quotes = "\"[^\"]*\"|`[^`]*`|'(?:[^']|'\\w)*'|“[^”]*”|‘(?:[^’]|’\\w)*’|«[^»]*»";
    Regex::new(&format!(r"(^|[\s:,])({quotes}|\([^()]*\))")).expect("a test compiles it")
});

pub(crate) fn is_hidden(char: char) -> bool {
    ('\u{e000}'..='\u{e3ff}').contains(&char)
}

/// An instruction whose quoted and bracketed texts are one character each.
pub(crate) struct Hidden {
    pub(crate) text: String,
    quoted: Vec<String>,
}

impl Hidden {
    /// None if there is too much to hide, or if the text has characters that hide something.
    pub(crate) fn new(text: &str) -> Option<Self> {
        let mut quoted = Vec::new();
        let hide = |found: &Captures<'_>| {
            let sign = (FIRST..).nth(quoted.len()).and_then(char::from_u32);
            quoted.push(found[2].to_owned());
            format!("{}{}", &found[1], sign.unwrap_or_default())
        };
        if text.contains(is_hidden) {
            return None;
        }
        let text = QUOTED.replace_all(text, hide).into_owned();
        (quoted.len() <= MOST).then_some(Self { text, quoted })
    }

    /// A part of the text as it was. A single quoted text comes without its quotes.
    pub(crate) fn show(&self, part: &str) -> String {
        let quoted = |sign: char| {
            let at = u32::from(sign)
                .checked_sub(FIRST)
                .filter(|_| is_hidden(sign))?;
            self.quoted.get(usize::try_from(at).ok()?)
        };
        let part = part.trim();
        if let Some(text) = part.parse().ok().and_then(quoted) {
            let mut inside = text.chars();
            inside.next();
            inside.next_back();
            return inside.as_str().to_owned();
        }
        let texts = part
            .chars()
            .map(|char| quoted(char).cloned().unwrap_or_else(|| char.into()));
        texts.collect()
    }
}
