//! The state of the full-screen view: what is shown, what is selected, what is being typed.
//!
//! [`Screen::handle`] takes all input and returns the effects. Nothing here reads a file, a clock or a
//! key.

mod areas;
mod clock;
mod draw;
mod keys;
mod mouse;
mod scroll;

pub use keys::Key;
pub use mouse::MouseInput;

use crate::text_line::TextLine;
use overview::{MemberRow, RequestRow, Snapshot};
use protocol::{AgentName, RequestId, RequestKind, Timestamp, WaitingFor};
use ratatui::layout::Rect;
use rules::MemberState;
use scroll::Scroll;
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
    log: VecDeque<TextLine>,
    /// The unfinished tool calls at the end of the conversation.
    running: Vec<TextLine>,
    pane: Pane,
    focus: Focus,
    /// Whether the lower pane shows the selected request instead of the selected member.
    shows_request: bool,
    /// The selected member, by name because rows move.
    member: Option<AgentName>,
    request: Option<RequestId>,
    /// The request that was looked at when it vanished. Keys may still be meant for it.
    gone_request: Option<LookedAt>,
    /// The request that was on the screen when it was last drawn.
    drawn_request: Option<RequestId>,
    /// The request that the person answered last.
    answered_request: Option<RequestId>,
    mode: Mode,
    /// The result of the last command.
    notice: Option<Notice>,
    scroll: Scroll,
    /// The size of the terminal, which decides how far panes can be scrolled and what is clicked.
    size: Rect,
    has_mouse: bool,
    colors: bool,
}

/// An input of the screen.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    Key(Key),
    Mouse(MouseInput),
    /// The size of the terminal.
    Resize {
        width: u16,
        height: u16,
    },
    /// The current state of the team.
    Snapshot(Box<Snapshot>),
    /// Lines of the event log, oldest first.
    Events(Vec<String>),
    /// Lines of the followed conversation or log, oldest first.
    Lines(Vec<TextLine>),
    /// The unfinished tool calls of the followed conversation.
    Running(Vec<TextLine>),
    /// The followed file was replaced: its lines start again.
    Reset,
    /// A command ended.
    Done {
        ok: bool,
        output: String,
    },
    /// The current time.
    Tick(Timestamp),
    /// The person sees what was drawn.
    Drawn,
}

/// A request that a person looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
struct LookedAt {
    id: RequestId,
    kind: RequestKind,
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
    /// Report what the mouse does, or leave it to the terminal.
    UseMouse(bool),
}

/// What is followed of a member.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Pane {
    #[default]
    Conversation,
    Log,
}

/// The pane that the arrow keys move in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Focus {
    #[default]
    Members,
    Requests,
    Board,
    Events,
    /// The conversation or the log of the selected member, or the text of the selected request.
    Detail,
}

impl Focus {
    /// In the order of the Tab key.
    const ALL: [Self; 5] = [
        Self::Members,
        Self::Requests,
        Self::Board,
        Self::Events,
        Self::Detail,
    ];

    /// Whether the pane is a table.
    const fn has_columns(self) -> bool {
        match self {
            Self::Members | Self::Requests | Self::Board => true,
            Self::Events | Self::Detail => false,
        }
    }
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
            Input::Mouse(mouse) => self.point(mouse),
            Input::Resize { width, height } => {
                self.size = Rect::new(0, 0, width, height);
                Vec::new()
            }
            Input::Snapshot(snapshot) => {
                let looked_at = self.looked_at();
                self.snapshot = sorted(*snapshot);
                self.keep_selection(looked_at)
            }
            Input::Events(lines) => {
                self.scroll_events(&lines);
                keep_last(&mut self.events, lines);
                Vec::new()
            }
            Input::Lines(lines) => {
                self.scroll_lines(&lines);
                keep_last(&mut self.log, lines);
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
            Input::Drawn => {
                self.drawn_request = self.looked_at().map(|request| request.id);
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

    /// The request that keys answer now.
    fn looked_at(&self) -> Option<LookedAt> {
        let row = self.selected_request().filter(|_| self.is_answering())?;
        let (id, kind) = (row.id.clone(), row.kind);
        Some(LookedAt { id, kind })
    }

    /// Selects an existing member and request, if there are any.
    ///
    /// A key that was meant for a request that is gone must neither answer the one that takes its place,
    /// which the person has not seen, nor act on a member.
    fn keep_selection(&mut self, looked_at: Option<LookedAt>) -> Vec<Effect> {
        if self.selected_request().is_none() {
            self.request = self.snapshot.requests.first().map(|row| row.id.clone());
            let has_next = self.request.is_some();
            let answered = self.answered_request.take();
            let is_expected = |gone: &LookedAt| answered.as_ref() == Some(&gone.id);
            let gone = looked_at.filter(|gone| has_next || !is_expected(gone));
            self.gone_request = gone.or(self.gone_request.take());
        }
        if self.snapshot.requests.is_empty() {
            self.shows_request = false;
            if self.focus == Focus::Requests {
                self.focus = Focus::Members;
            }
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
        self.scroll.detail = 0;
    }
}

/// Members that wait for a person come first, then those at work; requests that wait for a person come
/// before those that a member answers. Otherwise the order stays.
fn sorted(mut snapshot: Snapshot) -> Snapshot {
    snapshot.members.sort_by_key(|row| urgency(&row.state));
    snapshot
        .requests
        .sort_by_key(|row| !row.kind.waits_for_person());
    snapshot
}

fn urgency(state: &MemberState) -> u8 {
    match state {
        state if waits_for_person(state) => 0,
        MemberState::Working { .. }
        | MemberState::Waiting { .. }
        | MemberState::Starting { .. }
        | MemberState::Hung { .. } => 1,
        MemberState::Failed { .. } | MemberState::GaveUp { .. } | MemberState::Dead { .. } => 2,
        MemberState::Idle { .. } => 3,
        MemberState::Shutdown => 4,
    }
}

/// Whether a member waits for what a person has to decide.
const fn waits_for_person(state: &MemberState) -> bool {
    matches!(
        state,
        MemberState::Waiting {
            what: Some(WaitingFor::Plan | WaitingFor::Permission | WaitingFor::Answer),
            ..
        }
    )
}

fn keep_last<T>(kept: &mut VecDeque<T>, lines: Vec<T>) {
    kept.extend(lines);
    let excess = kept.len().saturating_sub(MAX_LINES);
    kept.drain(..excess);
}
