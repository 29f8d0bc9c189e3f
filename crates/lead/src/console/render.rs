//! Decides what is printed where. Pure: from things to print to pieces of output.

use super::colour::Colour;
use super::keys::Offered;
use super::one_line::one_line;
use super::screen::{RequestBox, Status, WorkInfo};
use std::time::Duration;
use terminal_text::clean;

/// The most characters of a tool's name, which a server may have made up.
const NAME_LIMIT: usize = 64;
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

/// How much is printed besides answers and errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verbosity {
    /// Text of teammates and tools, and notices.
    #[default]
    Normal,
    /// Nothing.
    Quiet,
}

/// Something to print.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Output<'a> {
    /// More of the lead's text.
    Text(&'a str),
    /// The lead's text since the last end of a block does not count: the call is made again.
    Discard,
    /// More of the model's thinking, which only shows that it goes on.
    Thinking(&'a str),
    /// The lead's text ends here for now. A reply of its model is complete.
    BlockEnd {
        /// The tokens of the reply, if its server said how many there were.
        tokens: Option<u64>,
        /// The tokens of the request and the reply.
        context: Option<u64>,
    },
    ToolStarted {
        id: &'a str,
        name: &'a str,
        arguments: &'a str,
    },
    /// A tool of the lead has ended.
    Tool {
        id: &'a str,
        name: &'a str,
        output: &'a str,
        is_error: bool,
        took: Duration,
    },
    TurnStarted,
    TurnEnded,
    /// What was typed is in the conversation now.
    Taken(&'a str),
    Status(&'a Status),
    WorkInfo(&'a WorkInfo),
    /// The keys that answer what waits.
    Offer(&'a Option<Offered>),
    /// What waits for the person.
    Request(&'a RequestBox),
    /// Markdown that the lead said in an earlier run.
    Reply(&'a str),
    /// A message of a member.
    Member {
        name: &'a str,
        /// What the member does with the text, as in `alice reports: all tests pass`.
        verb: Option<&'a str>,
        text: &'a str,
    },
    /// A plan of a member that waits for approval.
    Plan {
        name: &'a str,
        id: &'a str,
        plan: &'a str,
    },
    Notice(&'a str),
    Problem(&'a str),
    /// What a verb that was typed said besides its output.
    Verb(&'a str),
    /// The output of a typed command.
    Data(&'a str),
    /// The final answer to the only prompt.
    Answer(&'a str),
    /// Nothing is read any more but Ctrl-C.
    Leaving,
    /// Nothing comes any more.
    End,
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

/// Turns output into pieces for the streams.
#[derive(Debug)]
pub(crate) struct Render {
    mode: Mode,
    verbosity: Verbosity,
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
    pub(crate) fn new(mode: Mode, verbosity: Verbosity, colour: Colour, width: usize) -> Self {
        Self {
            mode,
            verbosity,
            colour,
            width: width.max(NARROWEST),
            partial: String::new(),
            shown: false,
            held: None,
        }
    }

    /// The pieces to write now, in this order.
    pub(crate) fn write(&mut self, output: &Output<'_>) -> Vec<Piece> {
        match output {
            Output::Text(text) => self.text(text),
            Output::Discard => self.discard(),
            Output::BlockEnd { .. } => self.block_end(),
            Output::Tool { name, output, .. } => {
                // Text before a tool call is not the answer.
                let mut pieces = self.release();
                let name = one_line(name, NAME_LIMIT);
                let line = format!("> {name}: {}", one_line(output, TOOL_LIMIT));
                let line = self.colour.dim(&line);
                pieces.extend(self.aside(line));
                pieces
            }
            Output::Member { name, verb, text } => {
                let text = named_lines(self.colour, name, *verb, text);
                self.aside(text)
            }
            Output::Plan { name, id, plan } => {
                let text = plan_lines(self.colour, name, id, plan);
                self.aside(text)
            }
            Output::Request(request) => self.aside(request.text()),
            Output::Notice(text) => {
                let text = self.colour.dim(clean(text).trim_end());
                self.aside(text)
            }
            Output::Problem(text) => {
                let text = format!("error: {}", clean(text).trim_end());
                self.always(text)
            }
            Output::Verb(text) => self.always(clean(text).trim_end().to_owned()),
            Output::Data(text) => piece(Stream::Out, clean(text).into_owned()),
            Output::Answer(text) => self.answer(text),
            Output::End => self.finish(),
            // These are for a screen.
            Output::Thinking(_)
            | Output::ToolStarted { .. }
            | Output::TurnStarted
            | Output::TurnEnded
            | Output::Taken(_)
            | Output::Status(_)
            | Output::WorkInfo(_)
            | Output::Offer(_)
            | Output::Reply(_)
            | Output::Leaving => Vec::new(),
        }
    }

    /// What is still to be shown at the end.
    fn finish(&mut self) -> Vec<Piece> {
        let mut pieces = self.block_end();
        pieces.extend(self.release());
        pieces
    }

    fn text(&mut self, text: &str) -> Vec<Piece> {
        self.partial.push_str(&clean(text));
        if self.mode != Mode::Terminal {
            // It may be discarded, and nobody watches it grow.
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

    fn discard(&mut self) -> Vec<Piece> {
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
                let text = named_lines(self.colour, "lead", None, &text);
                self.aside(text)
            }
            None => Vec::new(),
        }
    }

    fn answer(&mut self, text: &str) -> Vec<Piece> {
        let mut pieces = self.block_end();
        let text = clean(text);
        if self.held.as_deref().map(str::trim) == Some(text.trim()) {
            self.held = None;
        }
        pieces.extend(self.release());
        pieces.extend(piece(Stream::Out, text.into_owned()));
        pieces
    }

    /// Text beside the conversation, printed after the lead's text so far.
    fn aside(&mut self, text: String) -> Vec<Piece> {
        match self.verbosity {
            Verbosity::Normal => self.always(text),
            Verbosity::Quiet => Vec::new(),
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

/// Lines with the name in front of each, and with the verb behind the first name.
pub(crate) fn named_lines(colour: Colour, name: &str, verb: Option<&str>, text: &str) -> String {
    let name = colour.name(&clean(name));
    let text = clean(text);
    let mut lines: Vec<&str> = text.trim_end().lines().collect();
    let mut shown = Vec::new();
    if let Some(verb) = verb {
        let first = (!lines.is_empty()).then(|| lines.remove(0));
        let first = first.map_or_else(|| ".".to_owned(), |first| format!(": {first}"));
        shown.push(format!("{name} {}{first}", clean(verb)));
    }
    let room = MOST_LINES - shown.len();
    let more = lines.len().saturating_sub(room);
    let rest = lines.iter().take(room);
    shown.extend(rest.map(|line| format!("{name}: {line}")));
    if more > 0 {
        shown.push(format!("{name}: (and {more} more lines)"));
    }
    shown.join("\n")
}

/// A plan, and the commands that decide about it.
pub(crate) fn plan_lines(colour: Colour, name: &str, id: &str, plan: &str) -> String {
    let verb = format!("asks for approval of plan {id}");
    let also = format!("(also: team-lead approve {id}, team-lead reject {id} --feedback TEXT)");
    named_lines(colour, name, Some(&verb), &format!("{plan}\n{also}"))
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
