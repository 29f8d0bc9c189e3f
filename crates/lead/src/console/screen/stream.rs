//! The lead's text while it comes: what is complete is rendered, the rest is shown as it is.

use super::super::colour::Colour;
use super::markdown::render;
use super::width::{Span, paint, wrap};
use terminal_text::clean;

/// The text of one reply.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    /// The block of markdown that is not complete yet.
    partial: String,
    /// Whether a block of this reply was shown.
    has_shown: bool,
}

impl Stream {
    /// Takes in more text, and returns the lines of the blocks that are complete now.
    pub(crate) fn push(&mut self, text: &str, width: usize, colour: Colour) -> Vec<String> {
        self.partial.push_str(&clean(text));
        let mut lines = Vec::new();
        while let Some(end) = block_end(&self.partial) {
            let rest = self.partial.split_off(end);
            let block = std::mem::replace(&mut self.partial, rest);
            lines.extend(self.block(&block, width, colour));
        }
        lines
    }

    /// Ends the reply: what is left is complete.
    pub(crate) fn end(&mut self, width: usize, colour: Colour) -> Vec<String> {
        let block = std::mem::take(&mut self.partial);
        let lines = self.block(&block, width, colour);
        self.has_shown = false;
        lines
    }

    /// Forgets the reply. Returns whether a part of it was shown for good.
    pub(crate) fn discard(&mut self) -> bool {
        self.partial.clear();
        std::mem::take(&mut self.has_shown)
    }

    /// The text that is not complete, in lines; of many the last ones.
    pub(crate) fn partial(&self, width: usize, most: usize) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for line in self.partial.trim_end().lines() {
            let line = wrap(&[Span::plain(line.replace('\t', "    "))], width);
            lines.extend(line.iter().map(|spans| paint(spans, Colour::Off)));
        }
        let more = lines.len().saturating_sub(most);
        lines.split_off(more)
    }

    fn block(&mut self, block: &str, width: usize, colour: Colour) -> Vec<String> {
        if block.trim().is_empty() {
            return Vec::new();
        }
        let mut lines = render(block, width, colour);
        if std::mem::replace(&mut self.has_shown, true) {
            lines.insert(0, String::new());
        }
        lines
    }
}

/// Where the first block of a growing text ends, if that is known: behind an empty line, a heading or
/// the end of fenced code.
fn block_end(text: &str) -> Option<usize> {
    let mut fence: Option<String> = None;
    let mut end = 0;
    let mut is_begun = false;
    for line in text.split_inclusive('\n') {
        if !line.ends_with('\n') {
            return None;
        }
        end += line.len();
        let bare = line.trim();
        match &fence {
            Some(open) => {
                if bare.starts_with(open.as_str()) && bare.trim_matches(['`', '~']).is_empty() {
                    return Some(end);
                }
            }
            None => match fence_of(bare) {
                Some(open) => fence = Some(open),
                None if bare.is_empty() && is_begun => return Some(end),
                None if !is_begun && bare.starts_with('#') => return Some(end),
                None => {}
            },
        }
        is_begun |= !bare.is_empty();
    }
    None
}

/// The marks that a line of fenced code begins with.
fn fence_of(line: &str) -> Option<String> {
    let mark = line
        .chars()
        .next()
        .filter(|mark| matches!(mark, '`' | '~'))?;
    let marks: String = line.chars().take_while(|char| *char == mark).collect();
    (marks.len() >= 3).then_some(marks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_rendered_when_they_are_complete_and_shown_plainly_until_then() {
        let mut stream = Stream::default();
        let mut push = |text: &str| stream.push(text, 40, Colour::Off);
        assert_eq!(push("# Tit"), [""; 0]);
        assert_eq!(push("le\nSome **bo"), ["Title"]);
        assert_eq!(push("ld** text"), [""; 0]);
        assert_eq!(push("\n\n```rust\nfn a() {}\n\n"), ["", "Some bold text"]);
        assert_eq!(
            push("// more\n```\nend"),
            ["", "  fn a() {}", "  ", "  // more"]
        );
        assert_eq!(stream.partial(40, 5), ["end"]);
        assert_eq!(stream.end(40, Colour::Off), ["", "end"]);
        assert_eq!(stream.partial(40, 5), [""; 0]);
    }

    #[test]
    fn whatever_the_pieces_are_the_result_is_the_same() {
        let text = "Intro\n\n- one\n- two\n  more\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nend";
        let mut whole = Stream::default();
        let mut expected = whole.push(text, 30, Colour::On);
        expected.extend(whole.end(30, Colour::On));
        let mut stream = Stream::default();
        let mut lines = Vec::new();
        for char in text.chars() {
            lines.extend(stream.push(&char.to_string(), 30, Colour::On));
        }
        lines.extend(stream.end(30, Colour::On));
        assert_eq!(lines, expected);
    }

    #[test]
    fn a_reply_that_begins_again_says_whether_something_stays() {
        let mut stream = Stream::default();
        stream.push("never comp", 40, Colour::Off);
        assert!(!stream.discard());
        stream.push("one\n\ntwo", 40, Colour::Off);
        assert!(stream.discard());
        assert!(!stream.discard());
        assert_eq!(stream.end(40, Colour::Off), [""; 0]);
    }
}
