//! Several models, of which the first that can be reached answers.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::error::ModelError;
use crate::model::{BoxFuture, Event, EventSink, Model, Reply, Switch, WaitReason};
use crate::request::Request;

/// How long a model that could not be reached is passed over, unless its server names a time.
const USUAL_PAUSE: Duration = Duration::from_secs(5 * 60);
/// The bounds of a time that a server names.
const SHORTEST_PAUSE: Duration = Duration::from_secs(30);
const LONGEST_PAUSE: Duration = Duration::from_secs(30 * 60);

/// Asks the first of several models, and the next one if the first is overloaded or cannot be reached. Only
/// [`ModelError::GaveUp`] leads to the next model: a wrong key or an unknown model is a mistake that
/// somebody has to correct.
///
/// A model that failed is passed over for a while and then tried again, so that the first one answers
/// whenever it can.
pub struct FallbackModel {
    first: Arc<dyn Model>,
    others: Vec<Arc<dyn Model>>,
    preference: Mutex<Preference>,
}

impl FallbackModel {
    pub fn new(first: Arc<dyn Model>, others: Vec<Arc<dyn Model>>) -> Self {
        let preference = Mutex::new(Preference::new(1 + others.len()));
        Self {
            first,
            others,
            preference,
        }
    }

    fn model(&self, at: usize) -> &Arc<dyn Model> {
        let other = at.checked_sub(1).and_then(|at| self.others.get(at));
        other.unwrap_or(&self.first)
    }

    fn with_preference<T>(&self, change: impl FnOnce(&mut Preference) -> T) -> T {
        let mut preference = self
            .preference
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        change(&mut preference)
    }

    async fn call(
        &self,
        request: &Request,
        events: &mut EventSink<'_>,
        cancel: &CancellationToken,
    ) -> Result<Reply, ModelError> {
        let order = self.with_preference(|preference| preference.order(Instant::now()));
        let mut failed = None;
        for at in order {
            let model = self.model(at);
            if let Some(before) = self.with_preference(|preference| preference.switch_to(at)) {
                events(Event::Switched(Switch {
                    from: self.model(before).name().to_owned(),
                    to: model.name().to_owned(),
                    reason: failed.as_ref().and_then(reason),
                }));
            }
            match model.complete(request, events, cancel).await {
                Err(error @ ModelError::GaveUp { asked_to_wait, .. }) => {
                    let now = Instant::now();
                    self.with_preference(|preference| preference.failed(at, asked_to_wait, now));
                    failed = Some(error);
                }
                outcome => return outcome,
            }
        }
        // There is at least one model, so an error was recorded.
        Err(failed.unwrap_or(ModelError::Cancelled))
    }
}

impl Model for FallbackModel {
    fn name(&self) -> &str {
        self.first.name()
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

const fn reason(error: &ModelError) -> Option<WaitReason> {
    match error {
        ModelError::GaveUp { reason, .. } => Some(*reason),
        _ => None,
    }
}

/// Decides which model is asked next. It is pure: the time is an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Preference {
    /// Until when each model is passed over.
    paused: Vec<Option<Instant>>,
    /// The model that was asked last.
    current: usize,
}

impl Preference {
    fn new(models: usize) -> Self {
        Self {
            paused: vec![None; models],
            current: 0,
        }
    }

    /// The models in the order in which they are asked: those that are not passed over, as they were
    /// listed, and then the others, the one whose time comes soonest first.
    fn order(&self, now: Instant) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.paused.len()).collect();
        order.sort_by_key(|at| self.paused[*at].filter(|until| *until > now));
        order
    }

    /// Notes which model is asked. Returns the one before it, if that was another.
    fn switch_to(&mut self, at: usize) -> Option<usize> {
        let before = std::mem::replace(&mut self.current, at);
        (before != at).then_some(before)
    }

    fn failed(&mut self, at: usize, asked_to_wait: Option<Duration>, now: Instant) {
        let pause = asked_to_wait.unwrap_or(USUAL_PAUSE);
        let pause = pause.clamp(SHORTEST_PAUSE, LONGEST_PAUSE);
        if let Some(paused) = self.paused.get_mut(at) {
            *paused = now.checked_add(pause);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_asked_again_when_its_time_has_come() {
        let start = Instant::now();
        let mut preference = Preference::new(3);
        assert_eq!(preference.order(start), [0, 1, 2]);
        preference.failed(0, None, start);
        assert_eq!(preference.order(start), [1, 2, 0]);
        preference.failed(1, Some(Duration::from_secs(60)), start);
        assert_eq!(preference.order(start), [2, 1, 0]);
        let later = start + Duration::from_secs(61);
        assert_eq!(preference.order(later), [1, 2, 0]);
        assert_eq!(preference.order(start + USUAL_PAUSE), [0, 1, 2]);
    }

    #[test]
    fn a_server_cannot_ask_for_any_pause() {
        let start = Instant::now();
        for (asked, least, most) in [
            (Duration::ZERO, SHORTEST_PAUSE, SHORTEST_PAUSE),
            (Duration::MAX, LONGEST_PAUSE, LONGEST_PAUSE),
        ] {
            let mut preference = Preference::new(2);
            preference.failed(0, Some(asked), start);
            assert_eq!(preference.order(start + least / 2), [1, 0]);
            assert_eq!(preference.order(start + most), [0, 1]);
        }
    }

    #[test]
    fn a_change_of_the_model_is_noticed_once() {
        let mut preference = Preference::new(2);
        assert_eq!(preference.switch_to(0), None);
        assert_eq!(preference.switch_to(1), Some(0));
        assert_eq!(preference.switch_to(1), None);
        assert_eq!(preference.switch_to(0), Some(1));
    }
}
