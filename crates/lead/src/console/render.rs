//! What is shown where: pure, from things said to pieces of output.

use super::clean::{harmless, one_line};
use super::colour::Colour;

/// How many characters of a tool's output are shown.
const TOOL_LIMIT: usize = 200;
/// Text is not broken into shorter lines than this.
const NARROWEST: usize = 20;
/// How many lines of one message are shown.
const MOST_LINES: usize = 40;

/// Where the lead is used from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// A person at a terminal, with a prompt.
    Terminal,
    /// A program or a file that gives one query a line.
    Piped,
    /// One prompt on the command line.
    OneShot,
}

/// How much is said besides answers and errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Talk {
    /// What teammates and tools say, and notices.
    #[default]
    Usual,
    /// Nothing.
    Quiet,
}

/// Something to be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Said<'a> {
    /// More of the lead's text.
    Text(&'a str),
    /// The lead's text since the last end of a block is void: the call is made again.
    Void,
    /// The lead's text is over for now.
    BlockEnd,
    /// A tool of the lead is over.
    Tool {
        /// Its name.
        name: &'a str,
        /// What it gave.
        output: &'a str,
    },
    /// A message of somebody.
    Member {
        /// Who.
        name: &'a str,
        /// What.
        text: &'a str,
    },
    /// A word of the program.
    Notice(&'a str),
    /// What went wrong.
    Problem(&'a str),
    /// What a command of the person asked for.
    Data(&'a str),
    /// The final answer to the only prompt.
    Answer(&'a str),
}

/// A stream of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    Out,
    Err,
}

/// Whole lines for a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) stream: Stream,
    pub(crate) text: String,
}

/// Turns what is said into pieces.
#[derive(Debug)]
pub(crate) struct Render {
    mode: Mode,
    talk: Talk,
    /// Of everything but the lead's text, which has none.
    colour: Colour,
    /// The columns of the terminal.
    width: usize,
    /// The lead's text that is not shown yet.
    partial: String,
    /// Whether a part of the current block was shown already.
    shown: bool,
    /// The last block of the lead's text in a one-shot: it may be the answer.
    held: Option<String>,
}

impl Render {
    pub(crate) fn new(mode: Mode, talk: Talk, colour: Colour, width: usize) -> Self {
        Self {
            mode,
            talk,
            colour,
            width: width.max(NARROWEST),
            partial: String::new(),
            shown: false,
            held: None,
        }
    }

    pub(crate) fn set_width(&mut self, columns: usize) {
        self.width = columns.max(NARROWEST);
    }

    /// The pieces to write now, in this order.
    pub(crate) fn say(&mut self, said: &Said<'_>) -> Vec<Piece> {
        match said {
            Said::Text(text) => self.text(text),
            Said::Void => self.void(),
            Said::BlockEnd => self.block_end(),
            Said::Tool { name, output } => {
                // What the lead said before it used a tool is not its last word.
                let mut pieces = self.release();
                let line = format!("> {name}: {}", one_line(output, TOOL_LIMIT));
                let line = self.colour.dim(&line);
                pieces.extend(self.aside(line));
                pieces
            }
            Said::Member { name, text } => {
                let text = self.member(name, text);
                self.aside(text)
            }
            Said::Notice(text) => {
                let text = self.colour.dim(harmless(text).trim_end());
                self.aside(text)
            }
            Said::Problem(text) => {
                let text = format!("error: {}", harmless(text).trim_end());
                self.always(text)
            }
            Said::Data(text) => piece(Stream::Out, harmless(text).into_owned()),
            Said::Answer(text) => self.answer(text),
        }
    }

    /// What is still to be shown at the end.
    pub(crate) fn finish(&mut self) -> Vec<Piece> {
        let mut pieces = self.block_end();
        pieces.extend(self.release());
        pieces
    }

    fn text(&mut self, text: &str) -> Vec<Piece> {
        self.partial.push_str(&harmless(text));
        if self.mode != Mode::Terminal {
            // It may turn out to be void, and nobody watches it grow.
            return Vec::new();
        }
        let mut ready = String::new();
        while let Some(end) = line_end(&self.partial, self.width) {
            let rest = self.partial.split_off(end);
            let line = std::mem::replace(&mut self.partial, rest);
            ready.push_str(line.trim_end_matches([' ', '\n']));
            ready.push('\n');
        }
        if ready.is_empty() {
            return Vec::new();
        }
        self.shown = true;
        piece(Stream::Out, ready)
    }

    fn void(&mut self) -> Vec<Piece> {
        self.partial.clear();
        if std::mem::take(&mut self.shown) {
            return piece(
                Stream::Out,
                self.colour.dim("[this reply was cut off and begins again]"),
            );
        }
        Vec::new()
    }

    fn block_end(&mut self) -> Vec<Piece> {
        self.shown = false;
        let text = std::mem::take(&mut self.partial);
        if text.trim().is_empty() {
            return Vec::new();
        }
        match self.mode {
            Mode::Terminal | Mode::Piped => piece(Stream::Out, text),
            Mode::OneShot => {
                let pieces = self.release();
                self.held = Some(text);
                pieces
            }
        }
    }

    /// Shows the block that turned out not to be the answer.
    fn release(&mut self) -> Vec<Piece> {
        match self.held.take() {
            Some(text) => {
                let text = self.member("lead", &text);
                self.aside(text)
            }
            None => Vec::new(),
        }
    }

    fn answer(&mut self, text: &str) -> Vec<Piece> {
        let mut pieces = self.block_end();
        let text = harmless(text);
        if self.held.as_deref().map(str::trim) == Some(text.trim()) {
            self.held = None;
        }
        pieces.extend(self.release());
        pieces.extend(piece(Stream::Out, text.into_owned()));
        pieces
    }

    /// Lines with the name in front of each.
    fn member(&self, name: &str, text: &str) -> String {
        let name = self.colour.name(&harmless(name));
        let text = harmless(text);
        let lines: Vec<&str> = text.trim_end().lines().collect();
        let more = lines.len().saturating_sub(MOST_LINES);
        let mut shown: Vec<String> = lines
            .iter()
            .take(MOST_LINES)
            .map(|line| format!("{name}: {line}"))
            .collect();
        if more > 0 {
            shown.push(format!("{name}: (and {more} more lines)"));
        }
        shown.join("\n")
    }

    /// Words beside the conversation. They come after what the lead has said so far.
    fn aside(&mut self, text: String) -> Vec<Piece> {
        match self.talk {
            Talk::Usual => self.always(text),
            Talk::Quiet => Vec::new(),
        }
    }

    fn always(&mut self, text: String) -> Vec<Piece> {
        match self.mode {
            Mode::Terminal => {
                let mut pieces = Vec::new();
                if !self.partial.trim().is_empty() {
                    let partial = std::mem::take(&mut self.partial);
                    pieces.extend(piece(Stream::Out, partial));
                    self.shown = true;
                }
                pieces.extend(piece(Stream::Out, text));
                pieces
            }
            Mode::Piped | Mode::OneShot => piece(Stream::Err, text),
        }
    }
}

/// Where the first line of a growing text ends, if that is known: behind its line end, or where a
/// terminal of this width would have to break it.
fn line_end(text: &str, width: usize) -> Option<usize> {
    if let Some(end) = text.find('\n') {
        return Some(end + 1);
    }
    let (full, _) = text.char_indices().nth(width)?;
    let space = text.get(..full)?.rfind(' ').map(|space| space + 1);
    Some(space.unwrap_or(full))
}

fn piece(stream: Stream, mut text: String) -> Vec<Piece> {
    if !text.ends_with('\n') {
        text.push('\n');
    }
    vec![Piece { stream, text }]
}

#[cfg(test)]
mod tests;
