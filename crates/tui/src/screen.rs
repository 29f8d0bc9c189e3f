//! The state of the full-screen view: what is shown, what is selected, what is being typed.
//!
//! Everything that happens comes in through [`Screen::handle`], which answers with what is to be
//! done about it. Nothing here reads a file, a clock or a key.

mod draw;
mod keys;

pub use keys::Key;

use crate::look::{Look, MemberRow, RequestRow};
use protocol::{AgentName, RequestId, Timestamp};
use std::collections::VecDeque;

/// How many lines of history are kept.
const KEPT: usize = 500;

/// The view of a team.
#[derive(Debug, Clone, Default)]
pub struct Screen {
    look: Look,
    now: Timestamp,
    flow: VecDeque<String>,
    /// The lines of the lower pane: of the conversation or the log that is followed.
    log: VecDeque<String>,
    /// What goes on at the end of the conversation.
    running: Vec<String>,
    pane: Pane,
    focus: Focus,
    /// Whose line is marked, by name: rows move.
    member: Option<AgentName>,
    request: Option<RequestId>,
    mode: Mode,
    /// What came of the last command.
    notice: Option<Notice>,
    /// How many lines the lower pane is scrolled back.
    scroll: usize,
    /// Whether words may be coloured.
    colors: bool,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// A key was pressed.
    Key(Key),
    /// The team looks like this now.
    Look(Box<Look>),
    /// Lines of history, oldest first.
    Flow(Vec<String>),
    /// Lines of the conversation or the log that is followed, oldest first.
    Log(Vec<String>),
    /// What goes on at the end of the conversation that is followed.
    Running(Vec<String>),
    /// What is followed begins anew.
    Anew,
    /// A command ended.
    Done {
        /// Whether it did what was asked.
        ok: bool,
        /// What it said.
        words: String,
    },
    /// Time has passed.
    Tick(Timestamp),
}

/// Something to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Leave.
    Quit,
    /// Run `team-lead` with these words.
    Run(Vec<String>),
    /// Follow this member, from its last lines on.
    Follow {
        /// Who is followed, if anybody.
        member: Option<AgentName>,
        /// What of it.
        pane: Pane,
    },
}

/// What is followed of a member.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Pane {
    /// What is said to its model, what the model says and does.
    #[default]
    Conversation,
    /// What its process says to people.
    Log,
}

/// Which list the arrow keys move in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Focus {
    #[default]
    Members,
    Requests,
}

/// What keys mean.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum Mode {
    /// Each key is a command.
    #[default]
    Look,
    /// The keys are shown.
    Help,
    /// Words are typed.
    Type { what: Typed, text: String },
    /// A question waits for y or n.
    Confirm { question: String, run: Vec<String> },
}

/// What words are typed for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Typed {
    Message(AgentName),
    Rejection(RequestId),
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Notice {
    ok: bool,
    words: String,
}

impl Screen {
    /// A view of nothing yet, in colours or without.
    pub fn new(colors: bool) -> Self {
        Self {
            colors,
            ..Self::default()
        }
    }

    /// Takes in what happened. Returns what is to be done about it.
    pub fn handle(&mut self, input: Input) -> Vec<Effect> {
        match input {
            Input::Key(key) => self.press(key),
            Input::Look(look) => {
                self.look = *look;
                self.keep_selection()
            }
            Input::Flow(lines) => {
                keep_last(&mut self.flow, lines);
                Vec::new()
            }
            Input::Log(lines) => {
                // Whoever has scrolled back keeps reading the same lines.
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
            Input::Anew => {
                self.begin_anew();
                Vec::new()
            }
            Input::Done { ok, words } => {
                self.notice = Some(Notice { ok, words });
                Vec::new()
            }
            Input::Tick(now) => {
                self.now = now;
                Vec::new()
            }
        }
    }

    /// The marked member.
    fn chosen(&self) -> Option<&MemberRow> {
        let name = self.member.as_ref()?;
        self.look.members.iter().find(|row| row.name == *name)
    }

    /// The marked request.
    fn asked(&self) -> Option<&RequestRow> {
        let id = self.request.as_ref()?;
        self.look.requests.iter().find(|row| row.id == *id)
    }

    /// Marks something that exists, where there is anything.
    fn keep_selection(&mut self) -> Vec<Effect> {
        if self.asked().is_none() {
            self.request = self.look.requests.first().map(|row| row.id.clone());
        }
        if self.look.requests.is_empty() {
            self.focus = Focus::Members;
        }
        if self.chosen().is_some() {
            return Vec::new();
        }
        let first = self.look.members.first().map(|row| row.name.clone());
        self.choose(first)
    }

    fn choose(&mut self, member: Option<AgentName>) -> Vec<Effect> {
        if member == self.member {
            return Vec::new();
        }
        self.member.clone_from(&member);
        self.follow()
    }

    fn follow(&mut self) -> Vec<Effect> {
        self.begin_anew();
        let member = self.member.clone();
        let pane = self.pane;
        vec![Effect::Follow { member, pane }]
    }

    fn begin_anew(&mut self) {
        self.log.clear();
        self.running.clear();
        self.scroll = 0;
    }
}

fn keep_last(kept: &mut VecDeque<String>, lines: Vec<String>) {
    kept.extend(lines);
    let too_many = kept.len().saturating_sub(KEPT);
    kept.drain(..too_many);
}
