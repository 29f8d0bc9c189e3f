//! A model with settings of its own.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tokio_util::sync::CancellationToken;
use tracing::info;

use crate::error::ModelError;
use crate::model::{BoxFuture, EventSink, Model, Reply};
use crate::output_limit::OutputLimit;
use crate::request::{Request, Thinking, Tuning};

/// The least budget of thoughts that servers accept, and with it the least that is worth sending.
const LEAST_THINKING: u32 = 1_024;
/// How often one call is sent with a lower limit of output before its error counts.
const MAX_LESSONS: u32 = 8;

/// What is set for one model, however it is asked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelSettings {
    /// The most tokens of a reply. A request that asks for less gets less.
    pub max_output: Option<u32>,
    pub tuning: Tuning,
}

/// Sends every request with the settings of one model. A server that refuses the number of output
/// tokens teaches how many its model has, and the call goes on with that.
pub struct TunedModel {
    inner: Arc<dyn Model>,
    settings: ModelSettings,
    /// The most that the server lets its model say; `u32::MAX` until it says so.
    learned: AtomicU32,
}

impl TunedModel {
    pub const fn new(inner: Arc<dyn Model>, settings: ModelSettings) -> Self {
        Self {
            inner,
            settings,
            learned: AtomicU32::new(u32::MAX),
        }
    }

    async fn call(
        &self,
        request: &Request,
        events: &mut EventSink<'_>,
        cancel: &CancellationToken,
    ) -> Result<Reply, ModelError> {
        let wanted = self.settings.max_output.unwrap_or(u32::MAX);
        let mut limit = request.max_tokens.min(wanted);
        let mut lessons = 0;
        loop {
            limit = limit.min(self.learned.load(Ordering::Relaxed));
            let sent = self.with_settings(request, limit);
            let outcome = self.inner.complete(&sent, events, cancel).await;
            let lesson = match &outcome {
                Err(error) if lessons < MAX_LESSONS => OutputLimit::in_error(error, limit),
                Ok(_) | Err(_) => None,
            };
            let Some(lesson) = lesson else {
                return outcome;
            };
            info!(
                "{} takes no {limit} tokens of output, asking for {}",
                self.name(),
                lesson.tokens()
            );
            if let OutputLimit::OfModel(most) = lesson {
                self.learned.fetch_min(most, Ordering::Relaxed);
            }
            limit = lesson.tokens();
            lessons += 1;
        }
    }

    /// The request with this model's settings. It is copied only if it differs.
    fn with_settings<'a>(&self, request: &'a Request, max_tokens: u32) -> Cow<'a, Request> {
        let tuning = Tuning {
            thinking: self
                .settings
                .tuning
                .thinking
                .and_then(|mode| fitting(mode, max_tokens)),
            ..self.settings.tuning.clone()
        };
        if request.max_tokens == max_tokens && request.tuning == tuning {
            return Cow::Borrowed(request);
        }
        Cow::Owned(Request {
            max_tokens,
            tuning,
            ..request.clone()
        })
    }
}

/// A budget of thoughts that leaves room for words: the thoughts count as output.
fn fitting(mode: Thinking, max_tokens: u32) -> Option<Thinking> {
    match mode {
        Thinking::Budget(tokens) => {
            let tokens = tokens.max(LEAST_THINKING).min(max_tokens / 4 * 3);
            (tokens >= LEAST_THINKING).then_some(Thinking::Budget(tokens))
        }
        Thinking::Adaptive | Thinking::Disabled => Some(mode),
    }
}

impl Model for TunedModel {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn complete<'a>(
        &'a self,
        request: &'a Request,
        events: &'a mut EventSink<'_>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(self.call(request, events, cancel))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thoughts_leave_room_for_words() {
        let budget = |tokens, max| fitting(Thinking::Budget(tokens), max);
        assert_eq!(budget(8_000, 32_000), Some(Thinking::Budget(8_000)));
        assert_eq!(budget(8_000, 8_000), Some(Thinking::Budget(6_000)));
        assert_eq!(budget(10, 8_000), Some(Thinking::Budget(1_024)));
        assert_eq!(budget(8_000, 1_000), None);
        assert_eq!(fitting(Thinking::Adaptive, 1), Some(Thinking::Adaptive));
    }
}
