//! The screen of a terminal: what is printed for good, and the lines at the bottom that change.
//!
//! # Theory of operation
//!
//! [`Screen`] is a state machine without any I/O: what is to be shown, keys and the time go in, and
//! lines to print and input for the lead come out. The thread that owns the terminal prints those lines
//! above the bottom, and draws the bottom again from [`Screen::bottom`].
//!
//! The bottom has, from its top: the text of the lead that is not complete, what was typed and waits,
//! the line of what runs, what can be completed, the status, and the line that is being typed.
//!
//! **Invariant:** while nothing runs, [`Screen::wake_at`] is `None`, so that nobody is woken.
//!
//! **Invariant:** all text of others goes through `terminal-text` before it becomes a line.

mod bottom;
mod boxes;
mod completion;
mod keys;
mod line_editor;
mod markdown;
mod spinner;
mod status;
mod stream;
mod table;
mod tool_call;
mod width;

pub(crate) use bottom::Bottom;
pub(crate) use boxes::RequestBox;
pub(crate) use status::{Status, WorkInfo};

use super::colour::{Colour, Style};
use super::keys::{Offered, Pressed};
use super::render::{Output, Verbosity, named_lines, plan_lines};
use super::{Input, PROMPT};
use crossterm::event::KeyEvent;
use line_editor::LineEditor;
use spinner::Turn;
use std::time::Instant;
use stream::Stream;
use terminal_text::clean;
use tool_call::{Call, CallEnd};
use width::{Span, paint, wrap};

/// Nothing is drawn for smaller terminals than this.
const SMALLEST: (usize, usize) = (20, 4);

/// Something that happened.
#[derive(Clone, Debug)]
pub(crate) enum Event<'a> {
    Output(&'a Output<'a>),
    Key(KeyEvent),
    Paste(&'a str),
    /// The files that [`Action::ListFiles`] asked for.
    Files(Vec<String>),
    Resized {
        columns: usize,
        rows: usize,
    },
}

/// Something to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Print these lines above the bottom.
    Print(Vec<String>),
    Send(Input),
    /// Keep a line for the next time.
    Remember(String),
    /// Find files whose path begins like this, and answer with [`Event::Files`].
    ListFiles(String),
    /// Stop the process, as Ctrl-Z does.
    Suspend,
    ClearScreen,
}

/// What a screen starts with.
pub(crate) struct Setup {
    pub(crate) colour: Colour,
    pub(crate) verbosity: Verbosity,
    /// The lines typed before; nothing if nothing is typed here.
    pub(crate) history: Option<Vec<String>>,
    pub(crate) columns: usize,
    pub(crate) rows: usize,
}

pub(crate) struct Screen {
    colour: Colour,
    verbosity: Verbosity,
    width: usize,
    height: usize,
    editor: Option<LineEditor>,
    /// The request that waits for a text, and what was typed when its key was pressed.
    answering: Option<Pressed>,
    offered: Option<Offered>,
    /// The answer whose key began the line that is being typed.
    chosen: Option<Pressed>,
    stream: Stream,
    turn: Option<Turn>,
    /// Since when members work.
    members_since: Option<Instant>,
    status: Status,
    work: WorkInfo,
    /// The tokens of the last request and its reply.
    context: Option<u64>,
    /// What was typed for the lead and is in no request yet.
    queued: Vec<String>,
    last_call: Option<(Call, CallEnd)>,
    /// The last reply, to show an answer once.
    last_reply: String,
    choices: Vec<String>,
    /// Nothing is read any more but Ctrl-C.
    is_leaving: bool,
    is_over: bool,
}

impl Screen {
    pub(crate) fn new(setup: Setup) -> Self {
        Self {
            colour: setup.colour,
            verbosity: setup.verbosity,
            width: setup.columns.max(SMALLEST.0),
            height: setup.rows.max(SMALLEST.1),
            editor: setup.history.map(LineEditor::new),
            answering: None,
            offered: None,
            chosen: None,
            stream: Stream::default(),
            turn: None,
            members_since: None,
            status: Status::default(),
            work: WorkInfo::default(),
            context: None,
            queued: Vec::new(),
            last_call: None,
            last_reply: String::new(),
            choices: Vec::new(),
            is_leaving: false,
            is_over: false,
        }
    }

    /// When the bottom changes by itself.
    pub(crate) fn wake_at(&self, now: Instant) -> Option<Instant> {
        match (&self.turn, self.members_since) {
            (Some(_), _) => Some(now + spinner::FRAME),
            (None, Some(_)) => Some(now + spinner::SLOW_FRAME),
            (None, None) => None,
        }
    }

    pub(crate) fn handle(&mut self, event: Event<'_>, now: Instant) -> Vec<Action> {
        match event {
            Event::Output(output) => {
                let lines = self.output(output, now);
                match lines.is_empty() {
                    true => Vec::new(),
                    false => vec![Action::Print(lines)],
                }
            }
            Event::Key(key) => self.key(key),
            Event::Paste(text) => {
                self.choices.clear();
                let has_prompt = self.has_prompt();
                if let Some(editor) = self.editor.as_mut().filter(|_| has_prompt) {
                    editor.insert(text);
                }
                Vec::new()
            }
            Event::Files(files) => {
                self.files_found(&files);
                Vec::new()
            }
            Event::Resized { columns, rows } => {
                self.width = columns.max(SMALLEST.0);
                self.height = rows.max(SMALLEST.1);
                Vec::new()
            }
        }
    }

    /// The lines to print for something.
    fn output(&mut self, output: &Output<'_>, now: Instant) -> Vec<String> {
        match output {
            Output::Text(text) => self.text(text),
            Output::Thinking(text) => self.heard(text),
            Output::Discard => self.discard(),
            Output::BlockEnd { tokens, context } => self.replied(*tokens, *context),
            Output::ToolStarted {
                id,
                name,
                arguments,
            } => self.call_started(id, Call::new(name, arguments)),
            Output::Tool {
                id,
                name,
                output,
                is_error,
                took,
            } => self.call_ended(id, name, CallEnd::new(output, *is_error, *took)),
            Output::TurnStarted => self.turn_started(now),
            Output::TurnEnded => {
                self.turn = None;
                self.stream.end(self.width, self.colour)
            }
            Output::Taken(text) => self.taken(text),
            Output::Status(status) => self.set_status(status, now),
            Output::WorkInfo(work) => {
                self.work = (*work).clone();
                Vec::new()
            }
            Output::Offer(offered) => {
                self.offered.clone_from(offered);
                Vec::new()
            }
            Output::Member { name, verb, text } => self.member(name, *verb, text),
            Output::Plan { name, id, plan } => self.plan(name, id, plan),
            Output::Request(request) => request.lines(self.width, self.colour),
            Output::Notice(text) => self.aside(|screen| screen.prose(Style::Dim, text)),
            Output::Problem(text) => self.prose(Style::Removed, &format!("error: {text}")),
            Output::Verb(text) | Output::Data(text) => {
                let text = clean(text);
                text.trim_end().lines().map(str::to_owned).collect()
            }
            Output::Reply(text) => self.whole(text),
            Output::Answer(text) => self.answer(text),
            Output::Leaving => self.leave(),
            Output::End => self.end(),
        }
    }

    fn text(&mut self, text: &str) -> Vec<String> {
        self.last_reply.push_str(text);
        self.heard(text);
        self.stream.push(text, self.width, self.colour)
    }

    /// The model goes on.
    fn heard(&mut self, text: &str) -> Vec<String> {
        if let Some(turn) = &mut self.turn {
            turn.heard(text.len());
        }
        Vec::new()
    }

    fn replied(&mut self, tokens: Option<u64>, context: Option<u64>) -> Vec<String> {
        if let Some(turn) = &mut self.turn {
            turn.replied(tokens);
        }
        self.context = context.or(self.context);
        self.stream.end(self.width, self.colour)
    }

    fn turn_started(&mut self, now: Instant) -> Vec<String> {
        self.turn = Some(Turn::new(now));
        self.last_reply.clear();
        Vec::new()
    }

    fn call_started(&mut self, id: &str, call: Call) -> Vec<String> {
        self.last_reply.clear();
        if let Some(turn) = &mut self.turn {
            turn.started(id, call);
        }
        Vec::new()
    }

    fn member(&self, name: &str, verb: Option<&str>, text: &str) -> Vec<String> {
        self.aside(|screen| {
            let lines = named_lines(screen.colour, name, verb, text);
            lines.lines().map(str::to_owned).collect()
        })
    }

    /// Where a person types, a box shows the plan itself.
    fn plan(&self, name: &str, id: &str, plan: &str) -> Vec<String> {
        if self.has_prompt() {
            let verb = format!("asks for approval of plan {id}");
            return self.member(name, Some(&verb), "");
        }
        self.aside(|screen| {
            let lines = plan_lines(screen.colour, name, id, plan);
            lines.lines().map(str::to_owned).collect()
        })
    }

    /// A text that came at once.
    fn whole(&mut self, text: &str) -> Vec<String> {
        let mut lines = self.stream.push(text, self.width, self.colour);
        lines.extend(self.stream.end(self.width, self.colour));
        lines
    }

    /// A prompt that nobody reads would mislead. What waits for an answer can still be answered: the
    /// work that is being finished may need it.
    fn leave(&mut self) -> Vec<String> {
        self.is_leaving = true;
        self.choices.clear();
        if let (Some(editor), None) = (&mut self.editor, &self.answering) {
            editor.clear();
        }
        Vec::new()
    }

    /// Whether lines are typed.
    pub(super) const fn has_prompt(&self) -> bool {
        self.editor.is_some() && (!self.is_leaving || self.answering.is_some())
    }

    fn end(&mut self) -> Vec<String> {
        self.is_over = true;
        self.turn = None;
        self.members_since = None;
        self.stream.end(self.width, self.colour)
    }

    fn discard(&mut self) -> Vec<String> {
        self.last_reply.clear();
        match self.stream.discard() {
            true => vec![self.colour.dim("[this reply was cut off and begins again]")],
            false => Vec::new(),
        }
    }

    fn call_ended(&mut self, id: &str, name: &str, end: CallEnd) -> Vec<String> {
        let started = self.turn.as_mut().and_then(|turn| turn.ended(id));
        let call = started.unwrap_or_else(|| Call::new(name, ""));
        let lines = self.aside(|screen| {
            let lines = call.lines(&end, screen.width, false);
            lines
                .iter()
                .map(|line| paint(line, screen.colour))
                .collect()
        });
        self.last_call = Some((call, end));
        lines
    }

    /// Moves a typed text from what waits to what was said.
    fn taken(&mut self, text: &str) -> Vec<String> {
        let place = self.queued.iter().position(|queued| queued == text);
        match place {
            Some(place) => {
                self.queued.remove(place);
                self.typed_lines(text)
            }
            None => Vec::new(),
        }
    }

    /// What was typed, as it stays on the screen.
    fn typed_lines(&self, text: &str) -> Vec<String> {
        let text = clean(text);
        let mut prompt = PROMPT.to_owned();
        let lines = text.lines().map(|line| {
            let indent = " ".repeat(PROMPT.len());
            let lead = std::mem::replace(&mut prompt, indent);
            format!("{}{line}", self.colour.dim(&lead))
        });
        lines.collect()
    }

    fn set_status(&mut self, status: &Status, now: Instant) -> Vec<String> {
        self.members_since = match status.working.is_empty() {
            true => None,
            false => self.members_since.or(Some(now)),
        };
        self.status = status.clone();
        Vec::new()
    }

    /// The final answer, unless it is what was said last.
    fn answer(&mut self, text: &str) -> Vec<String> {
        let mut lines = self.stream.end(self.width, self.colour);
        if self.last_reply.trim() != text.trim() {
            lines.extend(self.whole(text));
        }
        lines
    }

    /// Sentences of the program, in lines that fit.
    fn prose(&self, style: Style, text: &str) -> Vec<String> {
        let text = clean(text).replace('\t', "    ");
        let lines = text.trim_end().lines();
        let lines = lines.flat_map(|line| wrap(&[Span::new(style, line)], self.width - 1));
        lines.map(|line| paint(&line, self.colour)).collect()
    }

    /// Lines beside the conversation, which quiet people do not want.
    fn aside(&self, lines: impl FnOnce(&Self) -> Vec<String>) -> Vec<String> {
        match self.verbosity {
            Verbosity::Normal => lines(self),
            Verbosity::Quiet => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests;
