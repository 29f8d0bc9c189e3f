//! A model with settings of its own.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use tokio_util::sync::CancellationToken;
use tracing::info;

use crate::error::ModelError;
use crate::images::{has_images, hide_images};
use crate::learned_settings::{LearnedSettings, MAX_REFUSALS};
use crate::model::{BoxFuture, Event, EventSink, Model, Reply};
use crate::output_limit::OutputLimit;
use crate::request::{Request, Thinking, Tuning};

/// The smallest thinking budget that servers accept. A smaller one is not sent.
const LEAST_THINKING: u32 = 1_024;

/// What is set for one model, however it is asked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelSettings {
    /// The most tokens of a reply. A request that asks for less gets less.
    pub max_output: Option<u32>,
    pub tuning: Tuning,
    /// The most tokens of output that the server named earlier when it refused more.
    pub known_limit: Option<u32>,
    /// Whether the model is known to accept no images. Each image is then replaced by a text.
    pub hides_images: bool,
}

/// Sends every request with the settings of one model. If a server refuses the number of output tokens and
/// names its limit, the call is repeated with that limit.
pub struct TunedModel {
    inner: Arc<dyn Model>,
    settings: ModelSettings,
    /// The output limit that the server named; `u32::MAX` until it does.
    learned: AtomicU32,
    /// Whether [`Event::ImagesHidden`] was sent.
    has_hidden: AtomicBool,
}

impl TunedModel {
    pub fn new(inner: Arc<dyn Model>, settings: ModelSettings) -> Self {
        let learned = settings.known_limit.unwrap_or(u32::MAX);
        Self {
            inner,
            settings,
            learned: AtomicU32::new(learned),
            has_hidden: AtomicBool::new(false),
        }
    }

    async fn call(
        &self,
        request: &Request,
        events: &mut EventSink<'_>,
        cancel: &CancellationToken,
    ) -> Result<Reply, ModelError> {
        let hides = self.settings.hides_images && has_images(request);
        if hides && !self.has_hidden.swap(true, Ordering::Relaxed) {
            let model = self.name().to_owned();
            events(Event::ImagesHidden { model });
        }
        let wanted = self.settings.max_output.unwrap_or(u32::MAX);
        let mut limit = request.max_tokens.min(wanted);
        let mut refusals = 0;
        let mut learned = None;
        loop {
            limit = limit.min(self.learned.load(Ordering::Relaxed));
            let sent = self.with_settings(request, limit, hides);
            let outcome = self.inner.complete(&sent, events, cancel).await;
            let named = match &outcome {
                Err(error) if refusals < MAX_REFUSALS => OutputLimit::in_error(error, limit),
                Ok(_) | Err(_) => None,
            };
            let Some(named) = named else {
                if let (Ok(_), Some(most)) = (&outcome, learned) {
                    events(Event::Learned(Box::new(LearnedSettings {
                        max_output: Some(most),
                        ..LearnedSettings::default()
                    })));
                }
                return outcome;
            };
            info!(
                "{} takes no {limit} tokens of output, asking for {}",
                self.name(),
                named.tokens()
            );
            if let OutputLimit::OfModel(most) = named {
                self.learned.fetch_min(most, Ordering::Relaxed);
                learned = Some(most);
            }
            limit = named.tokens();
            refusals += 1;
        }
    }

    /// The request with this model's settings. It is copied only if it differs.
    fn with_settings<'a>(
        &self,
        request: &'a Request,
        max_tokens: u32,
        hides_images: bool,
    ) -> Cow<'a, Request> {
        let tuning = Tuning {
            thinking: self
                .settings
                .tuning
                .thinking
                .and_then(|mode| fitting(mode, max_tokens)),
            ..self.settings.tuning.clone()
        };
        let is_same = request.max_tokens == max_tokens && request.tuning == tuning;
        if is_same && !hides_images {
            return Cow::Borrowed(request);
        }
        let mut changed = request.clone();
        (changed.max_tokens, changed.tuning) = (max_tokens, tuning);
        if hides_images {
            hide_images(&mut changed);
        }
        Cow::Owned(changed)
    }
}

/// A thinking budget that leaves room for the reply, because thinking counts as output.
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
