//! The live state: what the member is doing now.

use crate::logging::excerpt;
use protocol::{
    Activity, Extra, Incarnation, LiveState, Phase, SandboxLevel, Tally, TaskId, Timestamp,
    WaitingFor,
};
use rules::main_argument;
use std::time::Duration;
use teamdir::now;

/// How far a date may lie ahead of the clock before it counts as wrong.
const AHEAD: Duration = Duration::from_secs(60);

/// How often the progress of a call is written.
const CALL_PROGRESS_EVERY: Duration = Duration::from_millis(500);

/// The live state as it was written last, and what changes it.
#[derive(Debug)]
pub(crate) struct Live {
    state: LiveState,
}

impl Live {
    pub(crate) fn new(incarnation: Incarnation, tally: Tally) -> Self {
        let mut state = LiveState::new(incarnation, Phase::Starting, now());
        state.usage = Some(tally);
        Self { state }
    }

    pub(crate) const fn state(&self) -> &LiveState {
        &self.state
    }

    /// Enters a phase. Returns whether that is another one than before.
    pub(crate) fn enter(
        &mut self,
        phase: Phase,
        waiting_for: Option<WaitingFor>,
        reason: Option<String>,
    ) -> bool {
        let now = now();
        let same = self.state.phase == phase && self.state.waiting_for == waiting_for;
        if !same {
            self.state.since = later(self.state.since, now);
        }
        self.state.phase = phase;
        self.state.waiting_for = waiting_for;
        self.state.reason = reason;
        self.state.activity = None;
        self.state.progress_at = Some(now);
        !same
    }

    /// Begins or ends a tool or model call.
    pub(crate) fn set_activity(&mut self, name: Option<&str>) {
        let now = now();
        self.state.activity = name.map(|name| Activity {
            name: name.to_owned(),
            argument: None,
            since: now,
            extra: Extra::new(),
        });
        self.state.progress_at = Some(now);
    }

    /// Begins a tool call, with its arguments as JSON.
    pub(crate) fn begin_tool(&mut self, name: &str, arguments: &str) {
        self.set_activity(Some(name));
        let arguments = serde_json::from_str(arguments).unwrap_or_default();
        let argument = main_argument(&arguments).map(|(_, text)| excerpt(&text).into());
        if let Some(activity) = &mut self.state.activity {
            activity.argument = argument;
        }
    }

    /// Shows how far the running call is. Returns whether the last time is long enough ago to be worth a
    /// write: a server may report progress as often as it likes.
    pub(crate) fn show_call_progress(&mut self, text: &str) -> bool {
        let Some(activity) = &mut self.state.activity else {
            return false;
        };
        activity.argument = Some(excerpt(text).into());
        self.progress(CALL_PROGRESS_EVERY)
    }

    /// Whether the live state says that the model is being asked.
    pub(crate) fn is_asking(&self) -> bool {
        let activity = self.state.activity.as_ref();
        let asks = activity.is_some_and(|activity| activity.name == "model");
        asks && self.state.phase == Phase::Working
    }

    /// Sets the time of the last progress, if it is old enough to be worth a write.
    pub(crate) fn progress(&mut self, every: Duration) -> bool {
        let now = now();
        let last = self.state.progress_at.unwrap_or(self.state.since);
        let due = now.since(last) >= every;
        if due {
            self.state.progress_at = Some(now);
        }
        due
    }

    /// Dates the state as of now if it is dated far in the future: the clock was set back. Returns
    /// whether it was.
    pub(crate) fn correct_dates(&mut self, now: Timestamp) -> bool {
        let state = &mut self.state;
        let activity = state.activity.as_ref().map(|activity| activity.since);
        let dates = [Some(state.since), state.progress_at, activity];
        let is_ahead = |date: &Timestamp| date.since(now) > AHEAD;
        if !dates.iter().flatten().any(is_ahead) {
            return false;
        }
        state.since = state.since.min(now);
        state.progress_at = state.progress_at.map(|at| at.min(now));
        if let Some(activity) = &mut state.activity {
            activity.since = activity.since.min(now);
        }
        true
    }

    pub(crate) fn set_task(&mut self, task: Option<TaskId>) {
        self.state.task = task;
    }

    pub(crate) fn set_model(&mut self, model: Option<String>) {
        self.state.model = model;
    }

    pub(crate) fn set_sandbox(&mut self, level: SandboxLevel) {
        self.state.sandbox = Some(level);
    }

    pub(crate) fn tally(&mut self) -> &mut Tally {
        self.state.usage.get_or_insert_default()
    }
}

/// A phase must not seem to be the one before because the clock stood still. One that was set back
/// shows another time anyway, and the right one.
fn later(before: Timestamp, now: Timestamp) -> Timestamp {
    if now != before {
        now
    } else {
        Timestamp::from_micros(before.as_micros() + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_call_is_shown_with_what_it_acts_on() {
        let mut live = Live::new(Incarnation(1), Tally::default());
        live.begin_tool("bash", r#"{"command":"cargo\ntest"}"#);
        let activity = live.state().activity.as_ref().unwrap();
        assert_eq!(activity.argument.as_deref(), Some("cargo test"));
        live.begin_tool("bash", "torn {");
        assert_eq!(live.state().activity.as_ref().unwrap().argument, None);
    }

    #[test]
    fn dates_in_the_future_are_corrected_when_the_clock_was_set_back() {
        let (early, late) = (Timestamp::from_secs(1_000), Timestamp::from_secs(9_000));
        assert_eq!(later(late, early), early);
        assert_eq!(later(early, late), late);
        assert_ne!(later(early, early), early);
        let mut live = Live::new(Incarnation(1), Tally::default());
        assert!(!live.correct_dates(now()), "nothing is wrong");
        live.enter(Phase::Idle, None, None);
        let since = live.state().since;
        assert!(!live.correct_dates(Timestamp::from_micros(since.as_micros() - 1_000_000)));
        assert!(live.correct_dates(early));
        assert_eq!(live.state().since, early);
        assert_eq!(live.state().progress_at, Some(early));
        assert!(!live.correct_dates(early), "once is enough");
    }
}
