//! Sessions: the conversations of a lead, one after the other.

use crate::{SessionId, Tally, Timestamp};
use serde::{Deserialize, Serialize};

/// Which session a conversation is. It stands in the record with which the session begins, and in each
/// compaction, so that the end of a journal is enough to know it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionMark {
    pub id: SessionId,
    pub started: Timestamp,
    /// The models that were chosen for it, the one in use last, and what each has used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<SessionModel>,
}

/// What a session has used of a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionModel {
    /// In the form in which it is chosen; several are between commas.
    pub model: String,
    #[serde(default)]
    pub usage: Tally,
}

/// The first line of the file of a session that was left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionHeader {
    pub session: SessionMark,
    /// When something happened in it last.
    pub last: Timestamp,
    /// What a person said first, if it was a person.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub first_words: String,
}

impl SessionMark {
    /// A session that begins with this model.
    pub fn new(id: SessionId, started: Timestamp, model: &str) -> Self {
        let mut session = Self {
            id,
            started,
            models: Vec::new(),
        };
        session.use_model(model);
        session
    }

    /// The model in use.
    pub fn model(&self) -> Option<&str> {
        self.models.last().map(|used| used.model.as_str())
    }

    /// Another model is used from now on.
    pub fn use_model(&mut self, model: &str) {
        if self.model() != Some(model) {
            self.models.push(SessionModel {
                model: model.to_owned(),
                usage: Tally::default(),
            });
        }
    }

    /// Adds what the model in use has used.
    pub fn count(&mut self, more: &Tally) {
        if let Some(used) = self.models.last_mut() {
            let usage = &mut used.usage;
            let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
            add(&mut usage.calls, more.calls);
            add(&mut usage.input, more.input);
            add(&mut usage.output, more.output);
            add(&mut usage.cache_read, more.cache_read);
            add(&mut usage.cache_write, more.cache_write);
        }
    }

    /// The tokens of all its calls.
    pub fn tokens(&self) -> u64 {
        let used = self.models.iter().map(|used| used.usage.tokens());
        used.fold(0, u64::saturating_add)
    }
}
