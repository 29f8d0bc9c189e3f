//! What the runtime notes about replies and tools: live state, events, log and tally.

use super::PROGRESS_EVERY;
use crate::inner::Inner;
use crate::logging::excerpt;
use crate::recovered::add;
use crate::runtime::MemberRuntime;
use llm::{Switch, Usage};
use protocol::{EventKind, Money, Phase};
use std::time::Duration;
use tracing::{info, warn};

impl MemberRuntime {
    /// Counts a reply to a helper of this member. `asked` is its model, if that is not the member's.
    pub(crate) fn helper_replied(
        &self,
        asked: Option<&str>,
        model: String,
        usage: Option<Usage>,
        took: Duration,
    ) {
        let mut inner = self.lock();
        let cost = inner.cost_of(asked, usage);
        inner.count_reply(model, usage, took, (0, cost));
    }

    /// Shows which tool a helper of this member runs.
    pub(crate) fn helper_runs(&self, tool: &str) {
        let mut inner = self.lock();
        inner.live.set_activity(Some(&format!("explore: {tool}")));
        inner.write_state();
    }
}

impl Inner {
    /// Shows from time to time that a reply goes on.
    pub(super) fn show_progress(&mut self) {
        if self.live.state().phase == Phase::Waiting {
            self.set_phase(Phase::Working, None, None);
            self.live.set_activity(Some("model"));
            self.write_state();
        } else if self.live.progress(PROGRESS_EVERY) {
            self.write_state();
        }
    }

    fn end_activity(&mut self) {
        if self.live.state().phase == Phase::Waiting {
            self.set_phase(Phase::Working, None, None);
        }
        self.live.set_activity(None);
        self.write_state();
    }

    pub(super) fn replied(
        &mut self,
        model: String,
        usage: Option<Usage>,
        took: Duration,
        retries: u32,
    ) {
        let cost = self.cost_of(None, usage);
        self.count_reply(model, usage, took, (retries, cost));
        self.end_activity();
    }

    /// What a call costs of the model that was asked, or of the member's.
    fn cost_of(&self, asked: Option<&str>, usage: Option<Usage>) -> Option<Money> {
        let models = self.models.as_ref()?;
        let asked = asked.unwrap_or(&models.current);
        (models.price)(asked, &usage.unwrap_or_default())
    }

    fn count_reply(
        &mut self,
        model: String,
        usage: Option<Usage>,
        took: Duration,
        (retries, cost): (u32, Option<Money>),
    ) {
        add(self.live.tally(), usage);
        let usage = usage.unwrap_or_default();
        let (member, incarnation) = self.who();
        self.event(EventKind::Model {
            member,
            incarnation,
            model,
            input: usage.input,
            output: usage.output,
            cache_read: usage.cache_read,
            cache_write: usage.cache_write,
            millis: millis(took),
            retries,
            cost,
        });
    }

    /// Another model is asked: its calls have its own price, and people can see which one it is.
    pub(crate) fn switched(&mut self, switch: Switch) {
        warn!("{switch}");
        let Switch { from, to, reason } = switch;
        if let Some(models) = &mut self.models {
            models.current.clone_from(&to);
            let is_first = models.first == to;
            self.live.set_model((!is_first).then(|| to.clone()));
        }
        let (member, incarnation) = self.who();
        self.event(EventKind::ModelSwitched {
            member,
            incarnation,
            from,
            to,
            reason: reason.map(|reason| reason.to_string()),
        });
        self.set_phase_with(Phase::Working, None, None, Some("model"));
    }

    pub(super) fn compacted(&mut self, archive: String, summarised: bool) {
        info!("the whole conversation is in {archive}");
        let (member, incarnation) = self.who();
        self.event(EventKind::Compaction {
            member,
            incarnation,
            archive,
            summarised,
        });
    }

    pub(crate) fn tool_finished(
        &mut self,
        name: String,
        text: &str,
        is_error: bool,
        took: Duration,
    ) {
        let head = if is_error { "  failed: " } else { "  " };
        info!("{head}{}", excerpt(text));
        let (member, incarnation) = self.who();
        self.event(EventKind::Tool {
            member,
            incarnation,
            name,
            millis: millis(took),
            ok: !is_error,
        });
        self.end_activity();
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
