//! The keys.

use super::{Effect, Focus, Mode, Notice, Pane, Purpose, Screen};
use overview::RequestRow;
use protocol::RequestKind;

/// How a person chooses the request that took the place of another.
pub(super) const GO_ON: &str = "Enter goes on with it";

/// A key with a meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    Char(char),
    Enter,
    Escape,
    Backspace,
    Tab,
    BackTab,
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    End,
}

impl Screen {
    pub(super) fn press(&mut self, key: Key) -> Vec<Effect> {
        match std::mem::take(&mut self.mode) {
            Mode::Command => self.command(key),
            // Any key closes the list of keys.
            Mode::Help => Vec::new(),
            Mode::Type { purpose, text } => self.type_text(purpose, text, key),
            Mode::Confirm { question, run } => match key {
                Key::Char('y' | 'Y') => vec![Effect::Run(run)],
                Key::Char('n' | 'N' | 'q') | Key::Escape => Vec::new(),
                Key::Char(_)
                | Key::Enter
                | Key::Backspace
                | Key::Tab
                | Key::BackTab
                | Key::Up
                | Key::Down
                | Key::PageUp
                | Key::PageDown
                | Key::Home
                | Key::End => {
                    self.mode = Mode::Confirm { question, run };
                    Vec::new()
                }
            },
        }
    }

    fn command(&mut self, key: Key) -> Vec<Effect> {
        self.notice = None;
        if let Some(text) = self.refusal(key) {
            self.notice = Some(Notice { ok: false, text });
            return Vec::new();
        }
        match key {
            Key::Char('q') | Key::Escape => return vec![Effect::Quit],
            Key::Char('?' | 'h') => self.mode = Mode::Help,
            Key::Up | Key::Char('k') => return self.step(-1),
            Key::Down | Key::Char('j') => return self.step(1),
            Key::PageUp | Key::PageDown | Key::Home | Key::End => self.page_key(key),
            Key::Tab => self.next_pane(1),
            Key::BackTab => self.next_pane(Focus::ALL.len() - 1),
            Key::Char(key) if self.looked_at().is_some_and(|at| answers(at.kind, key)) => {
                return self.answer(key);
            }
            Key::Char('y' | 'a' | 't') => {
                self.show_request(|row| row.kind != RequestKind::Question)
            }
            Key::Char('n' | 'x') => self.show_request(|_| true),
            Key::Char('m') => self.compose_message(),
            Key::Char('s') => self.confirm("shutdown", "Ask {} to shut down?"),
            Key::Char('r') => self.confirm("restart", "Restart {}?"),
            Key::Char('l') => {
                self.pane = match self.pane {
                    Pane::Conversation => Pane::Log,
                    Pane::Log => Pane::Conversation,
                };
                self.set_focus(Focus::Members);
                return self.follow();
            }
            Key::Char('M') => {
                self.has_mouse = !self.has_mouse;
                return vec![Effect::UseMouse(self.has_mouse)];
            }
            Key::Char(_) | Key::Enter | Key::Backspace => {}
        }
        Vec::new()
    }

    /// Why a key must do nothing: it would answer a request that the person has not seen, or was meant for
    /// one that is gone.
    fn refusal(&mut self, key: Key) -> Option<String> {
        let looked_at = self.looked_at();
        let would_answer = match (key, &looked_at) {
            (Key::Char(key), Some(now)) => answers(now.kind, key),
            (_, _) => false,
        };
        let Some(gone) = self.gone_request.take() else {
            let seen = looked_at.map(|now| now.id) == self.drawn_request;
            let is_unseen = would_answer && !seen;
            return is_unseen.then(|| "This request was not on the screen yet.".to_owned());
        };
        let was_meant = matches!(key, Key::Char(key) if answers(gone.kind, key));
        let id = &gone.id;
        if looked_at.is_none() {
            return was_meant.then(|| format!("{id} is no longer open; nothing was done."));
        }
        let text = format!("{id} is no longer open, and this is another request. {GO_ON}.");
        if !chooses(key) {
            self.gone_request = Some(gone);
        }
        (would_answer || was_meant).then_some(text)
    }

    fn page_key(&mut self, key: Key) {
        let pane = self.scrolled_pane();
        match key {
            Key::PageUp => self.scroll_rows(pane, -self.page(pane)),
            Key::PageDown => self.scroll_rows(pane, self.page(pane)),
            Key::Home => self.scroll_to_end(pane, false),
            _ => self.scroll_to_end(pane, true),
        }
    }

    /// Moves the focus by so many panes, past those that have nothing to show.
    fn next_pane(&mut self, by: usize) {
        let at = Focus::ALL.iter().position(|pane| *pane == self.focus);
        let order = Focus::ALL.iter().cycle().skip(at.unwrap_or(0) + by);
        let mut order = order.step_by(by);
        let has_rows = |pane: &&Focus| match pane {
            Focus::Requests => !self.snapshot.requests.is_empty(),
            Focus::Members | Focus::Board | Focus::Events | Focus::Detail => true,
        };
        if let Some(pane) = order.find(has_rows) {
            self.set_focus(*pane);
        }
    }

    pub(super) fn set_focus(&mut self, pane: Focus) {
        let shows_request = match pane {
            Focus::Members => false,
            Focus::Requests => true,
            Focus::Board | Focus::Events | Focus::Detail => self.shows_request,
        };
        if self.shows_request != shows_request {
            self.scroll.detail = 0;
        }
        self.shows_request = shows_request;
        self.focus = pane;
    }

    /// Whether keys answer the selected request: only while it is looked at.
    pub(super) const fn is_answering(&self) -> bool {
        self.shows_request && matches!(self.focus, Focus::Requests | Focus::Detail)
    }

    /// Selects the next or the previous row, or scrolls by a row where none is selected.
    pub(super) fn step(&mut self, by: isize) -> Vec<Effect> {
        match self.focus {
            Focus::Members => {
                let rows = &self.snapshot.members;
                let at = rows
                    .iter()
                    .position(|row| Some(&row.name) == self.member.as_ref());
                let next = moved(at, by, rows.len()).and_then(|at| rows.get(at));
                let next = next.map(|row| row.name.clone());
                self.select_member(next)
            }
            Focus::Requests => {
                let rows = &self.snapshot.requests;
                let at = rows
                    .iter()
                    .position(|row| Some(&row.id) == self.request.as_ref());
                let next = moved(at, by, rows.len()).and_then(|at| rows.get(at));
                self.request = next.map(|row| row.id.clone());
                self.scroll.detail = 0;
                Vec::new()
            }
            pane @ (Focus::Board | Focus::Events | Focus::Detail) => {
                self.scroll_rows(pane, by);
                Vec::new()
            }
        }
    }

    fn compose_message(&mut self) {
        if let Some(row) = self.selected_member() {
            let purpose = Purpose::Message(row.name.clone());
            let text = String::new();
            self.mode = Mode::Type { purpose, text };
        }
    }

    fn confirm(&mut self, verb: &str, question: &str) {
        if let Some(row) = self.selected_member() {
            let name = row.name.as_str();
            self.mode = Mode::Confirm {
                question: question.replace("{}", name),
                run: args(&[verb, "--", name]),
            };
        }
    }

    /// Shows the first request that waits for such an answer, so that nobody answers what they do not see.
    fn show_request(&mut self, is_meant: impl Fn(&RequestRow) -> bool) {
        let mut rows = self.snapshot.requests.iter();
        let row = rows.find(|row| row.kind.waits_for_person() && is_meant(row));
        let id = row.map(|row| row.id.clone());
        if let (Some(id), false) = (id, self.is_answering()) {
            self.request = Some(id);
            self.set_focus(Focus::Requests);
            self.scroll.detail = 0;
        }
    }

    /// Answers the selected request. The command says whether the answer counts, or who was first.
    fn answer(&mut self, key: char) -> Vec<Effect> {
        let Some(id) = self.selected_request().map(|row| row.id.clone()) else {
            return Vec::new();
        };
        self.answered_request = Some(id.clone());
        let purpose = match key {
            'm' => {
                return vec![Effect::Run(args(&[
                    "approve",
                    "--member",
                    "--",
                    id.as_str(),
                ]))];
            }
            't' => return vec![Effect::Run(args(&["approve", "--team", "--", id.as_str()]))],
            '1'..='9' => {
                let choice = key.to_string();
                return vec![Effect::Run(args(&["answer", "--", id.as_str(), &choice]))];
            }
            'r' => Purpose::Reply(id),
            'n' | 'x' => Purpose::Rejection(id),
            _ => return vec![Effect::Run(args(&["approve", "--", id.as_str()]))],
        };
        let text = String::new();
        self.mode = Mode::Type { purpose, text };
        Vec::new()
    }

    fn type_text(&mut self, purpose: Purpose, mut text: String, key: Key) -> Vec<Effect> {
        match key {
            Key::Escape => return Vec::new(),
            Key::Enter if text.trim().is_empty() => return Vec::new(),
            Key::Enter => {
                let run = match &purpose {
                    Purpose::Message(name) => args(&["send", "--", name.as_str(), &text]),
                    Purpose::Reply(id) => args(&["answer", "--", id.as_str(), &text]),
                    Purpose::Rejection(id) => {
                        let feedback = format!("--feedback={text}");
                        args(&["reject", &feedback, "--", id.as_str()])
                    }
                };
                return vec![Effect::Run(run)];
            }
            Key::Backspace => {
                text.pop();
            }
            Key::Char(c) => text.push(c),
            Key::Tab
            | Key::BackTab
            | Key::Up
            | Key::Down
            | Key::PageUp
            | Key::PageDown
            | Key::Home
            | Key::End => {}
        }
        self.mode = Mode::Type { purpose, text };
        Vec::new()
    }
}

/// Whether a key answers a request of this kind.
const fn answers(kind: RequestKind, key: char) -> bool {
    match kind {
        RequestKind::Plan => matches!(key, 'y' | 'a' | 'n' | 'x'),
        RequestKind::Permission => matches!(key, 'y' | 'a' | 'm' | 't' | 'n' | 'x'),
        RequestKind::Question => matches!(key, 'r' | 'n' | 'x' | '1'..='9'),
        RequestKind::Shutdown => false,
    }
}

/// Whether a key says which request is meant.
const fn chooses(key: Key) -> bool {
    match key {
        Key::Enter | Key::Up | Key::Down | Key::Tab | Key::BackTab | Key::Char('j' | 'k') => true,
        Key::Char(_)
        | Key::Escape
        | Key::Backspace
        | Key::PageUp
        | Key::PageDown
        | Key::Home
        | Key::End => false,
    }
}

/// The index after a step, within a list.
fn moved(at: Option<usize>, by: isize, length: usize) -> Option<usize> {
    let last = length.checked_sub(1)?;
    let next = at.map_or(0, |at| at.saturating_add_signed(by));
    Some(next.min(last))
}

fn args(args: &[&str]) -> Vec<String> {
    args.iter().map(|arg| (*arg).to_owned()).collect()
}
