//! What keys do.

use super::{Effect, Focus, Mode, Pane, Screen, Typed};
use protocol::RequestKind;

/// How far a page scrolls.
const PAGE: usize = 5;

/// A key, as far as keys mean something here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// A character.
    Char(char),
    /// Enter.
    Enter,
    /// Escape.
    Escape,
    /// Backspace.
    Backspace,
    /// Tab.
    Tab,
    /// The arrow up.
    Up,
    /// The arrow down.
    Down,
    /// Page up.
    PageUp,
    /// Page down.
    PageDown,
}

impl Screen {
    pub(super) fn press(&mut self, key: Key) -> Vec<Effect> {
        match std::mem::take(&mut self.mode) {
            Mode::Look => self.command(key),
            // Any key closes the list of keys.
            Mode::Help => Vec::new(),
            Mode::Type { what, text } => self.type_in(what, text, key),
            Mode::Confirm { question, run } => match key {
                Key::Char('y' | 'Y') => vec![Effect::Run(run)],
                Key::Char('n' | 'N' | 'q') | Key::Escape => Vec::new(),
                Key::Char(_)
                | Key::Enter
                | Key::Backspace
                | Key::Tab
                | Key::Up
                | Key::Down
                | Key::PageUp
                | Key::PageDown => {
                    self.mode = Mode::Confirm { question, run };
                    Vec::new()
                }
            },
        }
    }

    fn command(&mut self, key: Key) -> Vec<Effect> {
        self.notice = None;
        match key {
            Key::Char('q') | Key::Escape => return vec![Effect::Quit],
            Key::Char('?' | 'h') => self.mode = Mode::Help,
            Key::Up | Key::Char('k') => return self.step(-1),
            Key::Down | Key::Char('j') => return self.step(1),
            Key::PageUp => self.scroll(Focus::Members),
            Key::PageDown => self.scroll(Focus::Requests),
            Key::Tab => {
                self.scroll = 0;
                self.focus = match self.focus {
                    Focus::Members if !self.look.requests.is_empty() => Focus::Requests,
                    Focus::Members | Focus::Requests => Focus::Members,
                };
            }
            Key::Char('m') => self.write_to_chosen(),
            Key::Char('s') => self.confirm("shutdown", "Ask {} to shut down?"),
            Key::Char('r') => self.confirm("restart", "Restart {}?"),
            Key::Char('a') => return self.approve(),
            Key::Char('x') => self.reject(),
            Key::Char('l') => {
                self.pane = match self.pane {
                    Pane::Conversation => Pane::Log,
                    Pane::Log => Pane::Conversation,
                };
                self.focus = Focus::Members;
                return self.follow();
            }
            Key::Char(_) | Key::Enter | Key::Backspace => {}
        }
        Vec::new()
    }

    /// Marks the next line, or the one before.
    fn step(&mut self, by: isize) -> Vec<Effect> {
        match self.focus {
            Focus::Members => {
                let rows = &self.look.members;
                let at = rows
                    .iter()
                    .position(|row| Some(&row.name) == self.member.as_ref());
                let next = moved(at, by, rows.len()).and_then(|at| rows.get(at));
                let next = next.map(|row| row.name.clone());
                self.choose(next)
            }
            Focus::Requests => {
                let rows = &self.look.requests;
                let at = rows
                    .iter()
                    .position(|row| Some(&row.id) == self.request.as_ref());
                let next = moved(at, by, rows.len()).and_then(|at| rows.get(at));
                self.request = next.map(|row| row.id.clone());
                self.scroll = 0;
                Vec::new()
            }
        }
    }

    fn write_to_chosen(&mut self) {
        if let Some(row) = self.chosen() {
            let what = Typed::Message(row.name.clone());
            let text = String::new();
            self.mode = Mode::Type { what, text };
        }
    }

    fn confirm(&mut self, verb: &str, question: &str) {
        if let Some(row) = self.chosen() {
            let name = row.name.as_str();
            self.mode = Mode::Confirm {
                question: question.replace("{}", name),
                run: words(&[verb, "--", name]),
            };
        }
    }

    /// Scrolls. A conversation is read from its end upwards, a plan from its beginning downwards: a page in
    /// the direction of `away` leads away from where the reader began.
    fn scroll(&mut self, away: Focus) {
        let end = match self.focus {
            Focus::Members => self.log.len(),
            Focus::Requests => self.asked().map_or(0, |row| row.text.len()),
        };
        self.scroll = match self.focus == away {
            true => (self.scroll + PAGE).min(end),
            false => self.scroll.saturating_sub(PAGE),
        };
    }

    /// Whether the plan is in sight that is to be decided on. If not, it is now.
    fn sees_plan(&mut self) -> bool {
        if self.focus == Focus::Requests || self.look.requests.is_empty() {
            return self.focus == Focus::Requests;
        }
        self.focus = Focus::Requests;
        self.scroll = 0;
        let mut plans = self.look.requests.iter();
        if let Some(plan) = plans.find(|row| row.kind == RequestKind::Plan) {
            self.request = Some(plan.id.clone());
        }
        false
    }

    fn approve(&mut self) -> Vec<Effect> {
        if !self.sees_plan() {
            return Vec::new();
        }
        let plan = self.asked().filter(|row| row.kind == RequestKind::Plan);
        let run = plan.map(|row| Effect::Run(words(&["approve", "--", row.id.as_str()])));
        run.into_iter().collect()
    }

    fn reject(&mut self) {
        if !self.sees_plan() {
            return;
        }
        let plan = self.asked().filter(|row| row.kind == RequestKind::Plan);
        if let Some(row) = plan {
            let what = Typed::Rejection(row.id.clone());
            let text = String::new();
            self.mode = Mode::Type { what, text };
        }
    }

    fn type_in(&mut self, what: Typed, mut text: String, key: Key) -> Vec<Effect> {
        match key {
            Key::Escape => return Vec::new(),
            Key::Enter if text.trim().is_empty() => return Vec::new(),
            Key::Enter => {
                let run = match &what {
                    Typed::Message(name) => words(&["send", "--", name.as_str(), &text]),
                    Typed::Rejection(id) => {
                        let feedback = format!("--feedback={text}");
                        words(&["reject", &feedback, "--", id.as_str()])
                    }
                };
                return vec![Effect::Run(run)];
            }
            Key::Backspace => {
                text.pop();
            }
            Key::Char(c) => text.push(c),
            Key::Tab | Key::Up | Key::Down | Key::PageUp | Key::PageDown => {}
        }
        self.mode = Mode::Type { what, text };
        Vec::new()
    }
}

/// Where a step leads, within a list.
fn moved(at: Option<usize>, by: isize, length: usize) -> Option<usize> {
    let last = length.checked_sub(1)?;
    let next = at.map_or(0, |at| at.saturating_add_signed(by));
    Some(next.min(last))
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}
