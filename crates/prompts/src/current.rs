//! The system prompt of a running member.

use crate::spec::PromptSpec;
use protocol::Timestamp;

/// The system prompt of a running member: the same bytes in every request, for as long as possible.
///
/// It is made for the first request, and again on another day and after a compaction, when the provider
/// has nothing in its cache that it could reuse.
pub struct CurrentPrompt {
    spec: PromptSpec,
    made: Option<Made>,
}

struct Made {
    text: String,
    date: String,
}

impl CurrentPrompt {
    pub const fn new(spec: PromptSpec) -> Self {
        Self { spec, made: None }
    }

    /// The text for a request that is made now.
    pub fn text(&mut self, now: Timestamp) -> &str {
        let date = now.date();
        let made = self.made.take().filter(|made| made.date == date);
        let made = made.unwrap_or_else(|| Made {
            text: self.spec.build(now).to_string(),
            date,
        });
        &self.made.insert(made).text
    }

    /// Notes that the conversation was made shorter: the next request has nothing in common with those
    /// before but the prompt.
    pub fn compacted(&mut self) {
        self.made = None;
    }
}
