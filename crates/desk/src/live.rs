//! What the member is doing now.

use protocol::{
    Activity, Extra, Incarnation, LiveState, Phase, Tally, TaskId, Timestamp, WaitingFor,
};
use teamdir::now;

/// The live state as it was written last, and what changes it.
#[derive(Debug)]
pub(crate) struct Live {
    state: LiveState,
}

impl Live {
    pub(crate) fn new(life: Incarnation, tally: Tally) -> Self {
        let mut state = LiveState::new(life, Phase::Starting, now());
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
    pub(crate) fn act(&mut self, name: Option<&str>) {
        let now = now();
        self.state.activity = name.map(|name| Activity {
            name: name.to_owned(),
            since: now,
            extra: Extra::new(),
        });
        self.state.progress_at = Some(now);
    }

    /// Whether the world knows that the model is being asked.
    pub(crate) fn is_asking(&self) -> bool {
        let activity = self.state.activity.as_ref();
        let asks = activity.is_some_and(|activity| activity.name == "model");
        asks && self.state.phase == Phase::Working
    }

    /// Shows a sign of progress. Returns whether the last one is old enough to be worth a write.
    pub(crate) fn progress(&mut self, every: std::time::Duration) -> bool {
        let now = now();
        let last = self.state.progress_at.unwrap_or(self.state.since);
        let due = now.since(last) >= every;
        if due {
            self.state.progress_at = Some(now);
        }
        due
    }

    pub(crate) fn set_task(&mut self, task: Option<TaskId>) {
        self.state.task = task;
    }

    pub(crate) fn tally(&mut self) -> &mut Tally {
        self.state.usage.get_or_insert_default()
    }
}

/// A phase must not seem to be the one before because the clock stood still.
fn later(before: Timestamp, now: Timestamp) -> Timestamp {
    if now > before {
        now
    } else {
        Timestamp::from_micros(before.as_micros() + 1)
    }
}
