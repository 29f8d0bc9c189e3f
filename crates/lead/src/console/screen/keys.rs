//! What keys do.

use super::super::Input;
use super::super::keys::Pressed;
use super::completion::{Completed, Wanted, arguments, commands, complete, wanted};
use super::line_editor::Edited;
use super::width::paint;
use super::{Action, Screen};
use crate::typed::Typed;
use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

impl Screen {
    pub(super) fn key(&mut self, key: KeyEvent) -> Vec<Action> {
        if key.kind == KeyEventKind::Release || self.editor.is_none() {
            return Vec::new();
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        // A line that was typed before the terminal was set up ends with a line feed, which reads as Ctrl-J.
        let key = match key.code {
            KeyCode::Char('j') if control => KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE),
            _ => key,
        };
        match key.code {
            KeyCode::Char('c') if control => self.interrupt(),
            KeyCode::Char('z') if control => vec![Action::Suspend],
            KeyCode::Char('l') if control => vec![Action::ClearScreen],
            KeyCode::Char('o') if control => self.show_last_call(),
            KeyCode::Char(char) if !self.has_prompt() => self.press(char).unwrap_or_default(),
            _ if !self.has_prompt() => Vec::new(),
            KeyCode::Char('d') if control && self.is_line_empty() => self.end_of_input(),
            KeyCode::Esc => self.escape(),
            KeyCode::Tab => self.complete(),
            KeyCode::Char(char) if key.modifiers.is_empty() && self.is_line_empty() => {
                self.chosen = self.offered_key(char);
                self.edit(key)
            }
            _ => self.edit(key),
        }
    }

    fn is_line_empty(&self) -> bool {
        self.editor.as_ref().is_none_or(|editor| editor.is_empty())
    }

    /// Ctrl-C: takes back the answer or the line that is being typed, else asks the lead to stop.
    fn interrupt(&mut self) -> Vec<Action> {
        if self.answering.is_some() {
            return self.take_back();
        }
        match self.editor.as_mut().filter(|editor| !editor.is_empty()) {
            Some(editor) => {
                editor.clear();
                self.choices.clear();
                Vec::new()
            }
            None => {
                if let Some(turn) = &mut self.turn {
                    turn.is_stopping = true;
                }
                vec![Action::Send(Input::Interrupt)]
            }
        }
    }

    /// Esc: takes back an answer, closes a list, or interrupts the turn.
    fn escape(&mut self) -> Vec<Action> {
        if self.answering.is_some() {
            return self.take_back();
        }
        if !self.choices.is_empty() {
            self.choices.clear();
            return Vec::new();
        }
        match &mut self.turn {
            Some(turn) => {
                turn.is_stopping = true;
                vec![Action::Send(Input::Stop)]
            }
            None => Vec::new(),
        }
    }

    /// Ctrl-D: takes back an answer, else there is no more input.
    fn end_of_input(&mut self) -> Vec<Action> {
        match self.answering {
            Some(_) => self.take_back(),
            None => vec![Action::Send(Input::End)],
        }
    }

    /// The person does not answer after all.
    fn take_back(&mut self) -> Vec<Action> {
        if let Some(editor) = &mut self.editor {
            editor.clear();
        }
        let pressed = self.answering.take();
        let answer = pressed.map(|pressed| {
            Action::Send(Input::Answer {
                pressed,
                text: None,
            })
        });
        answer.into_iter().collect()
    }

    /// The answer that a key stands for, to the request that is shown.
    fn offered_key(&self, char: char) -> Option<Pressed> {
        let offered = self.offered.as_ref().filter(|_| self.answering.is_none())?;
        let key = *offered.keys.iter().find(|offered| offered.key == char)?;
        let id = offered.id.clone();
        Some(Pressed { id, key })
    }

    /// The answer whose key is all that the line holds. A line that only begins with a key is a message:
    /// somebody who writes "you could also" while a request appears does not approve it.
    pub(super) fn chosen_by(&self, line: &str) -> Option<&Pressed> {
        let is_whole = |pressed: &&Pressed| line.chars().eq([pressed.key.key]);
        self.chosen.as_ref().filter(is_whole)
    }

    /// A key that answers what waits, where no lines are typed.
    fn press(&mut self, char: char) -> Option<Vec<Action>> {
        let pressed = self.offered_key(char)?;
        Some(self.answer_request(pressed))
    }

    /// Enter after the key of an answer. A request that has ended meanwhile, or another one that is shown
    /// now, is not what the person meant.
    fn answer_chosen(&mut self, pressed: Pressed) -> Vec<Action> {
        let shown = self.offered.as_ref().map(|offered| &offered.id);
        match shown == Some(&pressed.id) {
            true => self.answer_request(pressed),
            false => vec![Action::Print(vec![self.colour.dim(&format!(
                "Request {} does not wait any more; nothing was answered or sent.",
                pressed.id
            ))])],
        }
    }

    fn answer_request(&mut self, pressed: Pressed) -> Vec<Action> {
        // A second key cannot answer the same request by accident.
        self.offered = None;
        match pressed.key.text {
            Some(_) => {
                self.answering = Some(pressed);
                Vec::new()
            }
            None => {
                let text = Some(String::new());
                vec![Action::Send(Input::Answer { pressed, text })]
            }
        }
    }

    fn edit(&mut self, key: KeyEvent) -> Vec<Action> {
        self.choices.clear();
        let edited = self.editor.as_mut().map(|editor| editor.key(key));
        match edited {
            Some(Edited::Submitted(text)) => self.submitted(text),
            Some(Edited::Changed | Edited::Ignored) | None => Vec::new(),
        }
    }

    fn submitted(&mut self, text: String) -> Vec<Action> {
        if let Some(pressed) = self.answering.take() {
            let text = Some(text).filter(|text| !text.trim().is_empty());
            return vec![Action::Send(Input::Answer { pressed, text })];
        }
        if let Some(pressed) = self.chosen_by(&text).cloned() {
            self.chosen = None;
            return self.answer_chosen(pressed);
        }
        let mut actions = Vec::new();
        match Typed::parse(&text) {
            Typed::Blank => return Vec::new(),
            // It stays visible above the prompt until the lead has taken it.
            Typed::Query(query) => self.queued.push(query),
            Typed::Leave | Typed::Command(_) | Typed::Wrong(_) => {
                actions.push(Action::Print(self.typed_lines(text.trim())));
            }
        }
        if let Some(editor) = &mut self.editor {
            editor.remember(&text);
        }
        actions.push(Action::Remember(text.clone()));
        actions.push(Action::Send(Input::Line(text)));
        actions
    }

    /// Ctrl-O: the last call, with all of its output.
    fn show_last_call(&self) -> Vec<Action> {
        let lines = match &self.last_call {
            Some((call, end)) => {
                let lines = call.lines(end, self.width, true);
                lines.iter().map(|line| paint(line, self.colour)).collect()
            }
            None => vec![self.colour.dim("No tool was called yet.")],
        };
        vec![Action::Print(lines)]
    }

    /// Tab.
    fn complete(&mut self) -> Vec<Action> {
        let before = self.editor.as_ref().map(|editor| editor.before_cursor());
        match wanted(&before.unwrap_or_default()) {
            Some(Wanted::Command(start)) => self.completed(&start, commands(&start)),
            Some(Wanted::Argument(argument, start)) => {
                self.completed(&start, arguments(argument, &self.status));
            }
            Some(Wanted::Mention(start)) => return vec![Action::ListFiles(start)],
            None => {}
        }
        Vec::new()
    }

    pub(super) fn files_found(&mut self, files: &[String]) {
        let before = self.editor.as_ref().map(|editor| editor.before_cursor());
        // Something else may have been typed meanwhile.
        if let Some(Wanted::Mention(start)) = wanted(&before.unwrap_or_default()) {
            let members = self.status.members.iter().chain(files).cloned();
            self.completed(&start, members.collect());
        }
    }

    fn completed(&mut self, start: &str, candidates: Vec<String>) {
        let Some(Completed { text, choices }) = complete(start, candidates) else {
            self.choices.clear();
            return;
        };
        if let Some(editor) = &mut self.editor {
            editor.replace_before(start.chars().count(), &text);
        }
        self.choices = choices;
    }
}
