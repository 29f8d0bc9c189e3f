//! What the person types: lines, keys, and answers to what waits for them.

use super::Lead;
use crate::console::{Input, Output, Pressed};
use crate::machine::Event;
use crate::typed::Typed;
use crate::waiting::{Said, show_all};
use rules::author_text;
use team::{Actor, PersonAnswer};

impl Lead {
    pub(super) fn typed(&mut self, input: Option<Input>) {
        match input {
            Some(Input::Line(line)) => self.handle(Event::Typed(Typed::parse(&line))),
            Some(Input::Answer { pressed, text }) => self.answer(&pressed, text),
            Some(Input::Interrupt) => self.handle(Event::CtrlC),
            Some(Input::Stop) => self.handle(Event::Stop),
            Some(Input::TerminalClosed) => self.handle(Event::TerminalClosed),
            Some(Input::End) | None => self.handle(Event::InputEnded),
        }
    }

    /// Answers a request with the key of the person. Exactly one answer counts: if another was first, the
    /// person is told whose.
    fn answer(&mut self, pressed: &Pressed, text: Option<String>) {
        let team = self.runtime.team();
        let said = text.map(|text| Said::of(pressed.key.key, text));
        match said {
            None => self.state.waiting.show_again(),
            Some(Said::ShowAll) => {
                let all = show_all(&team::waiting(team).unwrap_or_default());
                self.writer.write(&Output::Data(&all));
                self.state.waiting.show_again();
            }
            Some(Said::Answer {
                approve,
                text,
                scope,
            }) => {
                let answer = PersonAnswer {
                    approve,
                    text: &text,
                    scope,
                    name: self.person.as_deref(),
                };
                self.state.waiting.answered(&pressed.id);
                match team::answer_person(team, &Actor::user(), &pressed.id, &answer) {
                    Ok(request) => {
                        let (from, id) = (author_text(&request), &request.id);
                        let status = match &request.sent {
                            Some(_) => "sent, not yet recorded",
                            None => request.status().as_str(),
                        };
                        let text = format!("Request {id} of {from}: {status}.");
                        self.writer.notice(&text);
                    }
                    Err(error) => self.writer.write(&Output::Problem(&error.to_string())),
                }
            }
        }
        self.inspect();
    }
}
