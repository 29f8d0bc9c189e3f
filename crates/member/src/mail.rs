//! Mail on its way from the journal to the model.

use agent::Record;
use protocol::{Line, MAIL_TAG, Message, MessageSource, Party, Sender, UserMessage};
use serde_json::Value;

/// A message that was received and not yet given to the model.
#[derive(Debug, Clone, PartialEq)]
pub struct MailItem {
    /// Its place among all mail of the journal, from 1 on.
    pub number: u64,
    /// What it is.
    pub line: Line,
    /// Whether the model is to see it.
    pub shown: bool,
    /// A remark of the program for the model.
    pub remark: Option<String>,
}

impl MailItem {
    pub(crate) fn new(number: u64, line: Line) -> Self {
        Self {
            number,
            line,
            shown: true,
            remark: None,
        }
    }

    /// The message, if it is one.
    pub const fn message(&self) -> Option<&Message> {
        match &self.line {
            Line::Message(message) => Some(message),
            Line::Unknown(_) | Line::Text(_) | Line::Corrupt { .. } | Line::Blank => None,
        }
    }

    /// The message as it is given to the model. One that is not shown is only recorded.
    pub(crate) fn for_model(&self) -> UserMessage {
        let text = self.listed().unwrap_or_default();
        UserMessage {
            is_from_person: self.is_from_person(),
            ..UserMessage::with_source(MessageSource::Mail(self.number), text)
        }
    }

    /// Whether a person wrote it, with `team-lead send`.
    fn is_from_person(&self) -> bool {
        let from = self.message().and_then(|message| message.from.as_ref());
        matches!(from, Some(Sender::Party(Party::User)))
    }

    /// The message as the model reads it; nothing if it is not shown.
    pub(crate) fn listed(&self) -> Option<String> {
        let block = self.line.mail_block().filter(|_| self.shown)?;
        let block = match &self.remark {
            Some(remark) => block.with("remark", remark),
            None => block,
        };
        Some(block.render(MAIL_TAG))
    }

    /// Who it is from and what it says, for people.
    pub fn summary(&self) -> String {
        match &self.line {
            Line::Message(message) => {
                let from = message
                    .from
                    .as_ref()
                    .map_or("an unknown sender", Sender::as_str);
                format!("{from} ({}): {}", message.body.kind(), message.body.text())
            }
            Line::Unknown(unknown) => format!("unknown: {}", Value::Object(unknown.object.clone())),
            Line::Text(text) => format!("unsigned: {text}"),
            Line::Corrupt { reason } => format!("broken: {reason}"),
            Line::Blank => String::new(),
        }
    }
}

/// The mail that a record gives to the model: as messages, or in the result of a tool.
pub(crate) fn given_by(record: &Record) -> Vec<u64> {
    match record {
        Record::User(user) => {
            let sources = user
                .messages
                .iter()
                .filter_map(|given| given.source.as_ref());
            let numbers = sources.filter_map(|source| match source {
                MessageSource::Mail(number) => Some(*number),
                MessageSource::Prompt(_)
                | MessageSource::Commands(_)
                | MessageSource::Reminder
                | MessageSource::Continuation => None,
            });
            numbers.collect()
        }
        Record::Result(record) => record.mail.clone(),
        Record::Assistant(_)
        | Record::Asked(_)
        | Record::Started(_)
        | Record::Cleared(_)
        | Record::Compaction(_)
        | Record::Ended(_)
        | Record::Session(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::{MessageId, ResultRecord, UserRecord, decode_line};

    fn item(line: &str) -> MailItem {
        MailItem::new(7, decode_line(line.as_bytes()))
    }

    #[test]
    fn a_message_is_given_as_text_with_the_remark_of_the_program() {
        let mut mail = item(r#"{"type":"message","from":"bob","content":"hi","remark":"mine"}"#);
        mail.remark = Some("too late".to_owned());
        let given = mail.for_model();
        assert_eq!(given.source, Some(MessageSource::Mail(7)));
        assert_eq!(
            given.text,
            "<mail from=\"bob\" type=\"message\" x-remark=\"mine\" remark=\"too late\">\nhi\n</mail>"
        );
    }

    #[test]
    fn what_a_person_sends_is_marked_as_said_by_a_person() {
        let given = |from: &str| {
            let line = format!(r#"{{"type":"message","from":"{from}","content":"hi"}}"#);
            item(&line).for_model().is_from_person
        };
        assert!(given("user"));
        assert!(!given("bob") && !given("lead"));
    }

    #[test]
    fn mail_that_is_not_shown_is_given_without_a_text() {
        let hidden = MailItem {
            shown: false,
            ..item("hello")
        };
        assert_eq!(hidden.for_model().text, "");
    }

    #[test]
    fn a_result_gives_the_mail_that_it_names() {
        let result = llm::ToolResult::ok("a_2", "[]");
        let record = Record::Result(ResultRecord {
            mail: vec![3, 5],
            ..ResultRecord::new(result)
        });
        assert_eq!(given_by(&record), [3, 5]);
    }

    #[test]
    fn a_user_record_gives_the_mail_among_its_sources() {
        let message = |source| UserMessage::with_source(source, "");
        let record = Record::User(UserRecord {
            messages: vec![
                UserMessage::new("hi"),
                message(MessageSource::Mail(12)),
                message(MessageSource::Prompt(MessageId::new("12").unwrap())),
                message(MessageSource::Commands(vec!["12".to_owned()])),
            ],
        });
        assert_eq!(given_by(&record), [12]);
    }
}
