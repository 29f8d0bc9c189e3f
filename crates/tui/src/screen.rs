//! The state of the full-screen view: what is shown, what is selected, what is being typed.
//!
//! [`Screen::handle`] takes all input and returns the effects. Nothing here reads a file, a clock or a
//! key.

mod draw;
mod keys;

pub use keys::Key;

use crate::snapshot::{MemberRow, RequestRow, Snapshot};
use protocol::{AgentName, RequestId, Timestamp};
use std::collections::VecDeque;

/// The number of lines that are kept of events and logs.
const MAX_LINES: usize = 500;

/// The view of a team.
#[derive(Debug, Clone, Default)]
pub struct Screen {
    snapshot: Snapshot,
    now: Timestamp,
    events: VecDeque<String>,
    /// The lines of the followed conversation or log.
    log: VecDeque<String>,
    /// The unfinished tool calls at the end of the conversation.
    running: Vec<String>,
    pane: Pane,
    focus: Focus,
    /// The selected member, by name because rows move.
    member: Option<AgentName>,
    request: Option<RequestId>,
    mode: Mode,
    /// The result of the last command.
    notice: Option<Notice>,
    /// How many lines the lower pane is scrolled back.
    scroll: usize,
    colors: bool,
}

/// An input of the screen.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    Key(Key),
    /// The current state of the team.
    Snapshot(Box<Snapshot>),
    /// Lines of the event log, oldest first.
    Events(Vec<String>),
    /// Lines of the followed conversation or log, oldest first.
    Lines(Vec<String>),
    /// The unfinished tool calls of the followed conversation.
    Running(Vec<String>),
    /// The followed file was replaced: its lines start again.
    Reset,
    /// A command ended.
    Done {
        ok: bool,
        output: String,
    },
    /// The current time.
    Tick(Timestamp),
}

/// An action that the screen requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    Quit,
    /// Run `team-lead` with these arguments.
    Run(Vec<String>),
    /// Follow a member, starting with its last lines.
    Follow {
        member: Option<AgentName>,
        pane: Pane,
    },
}

/// What is followed of a member.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Pane {
    #[default]
    Conversation,
    Log,
}

/// Which list the arrow keys move in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Focus {
    #[default]
    Members,
    Requests,
}

/// The meaning of keys.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum Mode {
    /// Each key is a command.
    #[default]
    Command,
    /// The list of keys is shown.
    Help,
    /// Text is typed.
    Type { purpose: Purpose, text: String },
    /// A question waits for y or n.
    Confirm { question: String, run: Vec<String> },
}

/// The purpose of typed text.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Purpose {
    Message(AgentName),
    Rejection(RequestId),
    /// The answer to a question.
    Reply(RequestId),
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Notice {
    ok: bool,
    text: String,
}

impl Screen {
    pub fn new(colors: bool) -> Self {
        Self {
            colors,
            ..Self::default()
        }
    }

    /// Handles an input. Returns the resulting effects.
    pub fn handle(&mut self, input: Input) -> Vec<Effect> {
        match input {
            Input::Key(key) => self.press(key),
            Input::Snapshot(snapshot) => {
                self.snapshot = *snapshot;
                self.keep_selection()
            }
            Input::Events(lines) => {
                keep_last(&mut self.events, lines);
                Vec::new()
            }
            Input::Lines(lines) => {
                // A scrolled pane keeps showing the same lines.
                if self.scroll > 0 {
                    self.scroll += lines.len();
                }
                keep_last(&mut self.log, lines);
                self.scroll = self.scroll.min(self.log.len());
                Vec::new()
            }
            Input::Running(lines) => {
                self.running = lines;
                Vec::new()
            }
            Input::Reset => {
                self.reset();
                Vec::new()
            }
            Input::Done { ok, output } => {
                self.notice = Some(Notice { ok, text: output });
                Vec::new()
            }
            Input::Tick(now) => {
                self.now = now;
                Vec::new()
            }
        }
    }

    fn selected_member(&self) -> Option<&MemberRow> {
        let name = self.member.as_ref()?;
        self.snapshot.members.iter().find(|row| row.name == *name)
    }

    fn selected_request(&self) -> Option<&RequestRow> {
        let id = self.request.as_ref()?;
        self.snapshot.requests.iter().find(|row| row.id == *id)
    }

    /// Selects an existing member and request, if there are any.
    fn keep_selection(&mut self) -> Vec<Effect> {
        if self.selected_request().is_none() {
            self.request = self.snapshot.requests.first().map(|row| row.id.clone());
        }
        if self.snapshot.requests.is_empty() {
            self.focus = Focus::Members;
        }
        if self.selected_member().is_some() {
            return Vec::new();
        }
        let first = self.snapshot.members.first().map(|row| row.name.clone());
        self.select_member(first)
    }

    fn select_member(&mut self, member: Option<AgentName>) -> Vec<Effect> {
        if member == self.member {
            return Vec::new();
        }
        self.member.clone_from(&member);
        self.follow()
    }

    fn follow(&mut self) -> Vec<Effect> {
        self.reset();
        let member = self.member.clone();
        let pane = self.pane;
        vec![Effect::Follow { member, pane }]
    }

    fn reset(&mut self) {
        self.log.clear();
        self.running.clear();
        self.scroll = 0;
    }
}

fn keep_last(kept: &mut VecDeque<String>, lines: Vec<String>) {
    kept.extend(lines);
    let excess = kept.len().saturating_sub(MAX_LINES);
    kept.drain(..excess);
}
