//! Text of others in a block that it cannot leave.
//!
//! A model is shown what somebody wrote as a block with a tag, such as
//!
//! ```text
//! <mail from="bob" type="message">
//! The tests pass.
//! </mail>
//! ```
//!
//! Whatever the text is, it ends where the block ends: each `<` in it that could begin such a tag is
//! followed by a backslash, and nothing else is changed. So the opening line is always the program's,
//! and a text can neither speak for somebody else nor add a message.

use std::borrow::Cow;
use std::fmt::Write;

/// What looks like `<`, to a model too.
const OPENING: [char; 3] = ['<', '\u{ff1c}', '\u{fe64}'];

/// A block: what the program says about a text, and the text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextBlock {
    /// Names and values, in the order of the opening line.
    pub attributes: Vec<(String, String)>,
    pub text: String,
}

impl TextBlock {
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            attributes: Vec::new(),
            text: text.into(),
        }
    }

    /// The same with one more attribute, unless its name could not be read again.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        if is_name(name) {
            self.attributes.push((name.to_owned(), value.into()));
        }
        self
    }

    /// The value of an attribute.
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The block as a model reads it.
    pub fn render(&self, tag: &str) -> String {
        let mut block = format!("<{tag}");
        for (name, value) in &self.attributes {
            let _ = write!(block, " {name}=\"{}\"", quote(value));
        }
        let text = escape(&self.text, tag);
        let _ = write!(block, ">\n{text}\n</{tag}>");
        block
    }

    /// All blocks with this tag in a text, which was rendered by the program itself.
    pub fn read_all(text: &str, tag: &str) -> Vec<Self> {
        let (begin, end) = (format!("<{tag}"), format!("\n</{tag}>"));
        let mut blocks = Vec::new();
        let mut rest = text;
        while let Some((_, after)) = rest.split_once(&begin) {
            rest = after;
            let block = after.split_once(">\n").and_then(|(head, after)| {
                // An empty text leaves one line break for both ends.
                let (body, after) = after.split_once(&end)?;
                let attributes = read_attributes(head)?;
                let text = unescape(body, tag).into_owned();
                Some((Self { attributes, text }, after))
            });
            if let Some((block, after)) = block {
                blocks.push(block);
                rest = after;
            }
        }
        blocks
    }
}

/// A text that holds nothing that could begin or end a block with this tag.
fn escape<'a>(text: &'a str, tag: &str) -> Cow<'a, str> {
    edit(text, tag, |rest| Some(("\\", rest)))
}

fn unescape<'a>(text: &'a str, tag: &str) -> Cow<'a, str> {
    edit(text, tag, |rest| Some(("", rest.strip_prefix('\\')?)))
}

/// Rewrites what follows each `<` that is near the tag. `change` gets the rest of the text, and returns
/// what is to be inserted and what of the rest remains.
fn edit<'a>(
    text: &'a str,
    tag: &str,
    change: impl Fn(&'a str) -> Option<(&'static str, &'a str)>,
) -> Cow<'a, str> {
    let mut edited = String::new();
    let mut done = text;
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(OPENING) {
        rest = after;
        if !begins(after, tag) {
            continue;
        }
        if let Some((inserted, remaining)) = change(after) {
            let kept = done.len() - after.len();
            edited.push_str(done.get(..kept).unwrap_or(before));
            edited.push_str(inserted);
            (done, rest) = (remaining, remaining);
        }
    }
    if edited.is_empty() {
        return Cow::Borrowed(text);
    }
    edited.push_str(done);
    Cow::Owned(edited)
}

/// Whether the tag comes next, after anything that is no word: a careless reader takes `< / mail >` for
/// the end of a block.
fn begins(text: &str, tag: &str) -> bool {
    let is_filler = |c: char| !c.is_alphanumeric() && !OPENING.contains(&c);
    let word = text.trim_start_matches(is_filler);
    let Some((found, after)) = word.split_at_checked(tag.len()) else {
        return false;
    };
    found.eq_ignore_ascii_case(tag) && !after.starts_with(char::is_alphanumeric)
}

/// Whether a text can be the name of an attribute.
fn is_name(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.chars().all(is_plain)
}

/// A value that stays on its line and between its quotation marks.
fn quote(value: &str) -> String {
    let mut quoted = String::new();
    for c in value.chars() {
        match c {
            '&' => quoted.push_str("&amp;"),
            '"' => quoted.push_str("&quot;"),
            '<' => quoted.push_str("&lt;"),
            '>' => quoted.push_str("&gt;"),
            c if c.is_control() || OPENING.contains(&c) || matches!(c, '\u{2028}' | '\u{2029}') => {
                let _ = write!(quoted, "&#{};", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted
}

fn unquote(value: &str) -> Option<String> {
    let mut text = String::new();
    let mut rest = value;
    while let Some((before, after)) = rest.split_once('&') {
        let (name, after) = after.split_once(';')?;
        text.push_str(before);
        text.push(match name {
            "amp" => '&',
            "quot" => '"',
            "lt" => '<',
            "gt" => '>',
            number => char::from_u32(number.strip_prefix('#')?.parse().ok()?)?,
        });
        rest = after;
    }
    text.push_str(rest);
    Some(text)
}

/// The attributes of an opening line, from the tag to its end.
fn read_attributes(head: &str) -> Option<Vec<(String, String)>> {
    let mut attributes = Vec::new();
    let mut rest = head;
    while !rest.is_empty() {
        let (name, after) = rest.strip_prefix(' ')?.split_once("=\"")?;
        let (value, after) = after.split_once('"')?;
        if !is_name(name) {
            return None;
        }
        attributes.push((name.to_owned(), unquote(value)?));
        rest = after;
    }
    Some(attributes)
}

#[cfg(test)]
mod tests;
