//! The model wrapper that enforces the budget.

use crate::member_budget::{Admission, Call, MemberBudget};
use catalogue::normal_name;
use llm::{
    Block, BoxFuture, CancellationToken, Event, EventSink, Model, ModelError, Reply, Request,
    Usage, WaitReason, Waiting,
};
use protocol::Money;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use teamdir::TeamFileError;

/// The polling interval while a budget is spent.
const BUDGET_POLL: Duration = Duration::from_secs(1);
/// The polling interval while the maximum number of members is working.
const SLOT_POLL: Duration = Duration::from_millis(200);
/// The approximate size of a token, for servers that do not report usage.
const BYTES_PER_TOKEN: usize = 4;

/// Wraps a model and enforces a budget.
///
/// While the budget is spent, a call waits, which it reports as [`Event::Waiting`]. It begins when
/// the budget is raised, and can be cancelled at any time.
pub struct BudgetedModel {
    inner: Arc<dyn Model>,
    budget: MemberBudget,
    last_end: Mutex<Option<Instant>>,
}

/// A call in flight. It is booked when this value is dropped, however the call ends.
struct InFlight<'a> {
    model: &'a BudgetedModel,
    slot: Option<u64>,
    since: Instant,
    /// The duration of the tool calls before it.
    tool_time: Duration,
    usage: Usage,
    was_sent: bool,
    was_answered: bool,
    is_charged: AtomicBool,
}

impl BudgetedModel {
    pub const fn new(inner: Arc<dyn Model>, budget: MemberBudget) -> Self {
        Self {
            inner,
            budget,
            last_end: Mutex::new(None),
        }
    }

    async fn call(
        &self,
        request: &Request,
        events: &mut EventSink<'_>,
        cancel: &CancellationToken,
    ) -> Result<Reply, ModelError> {
        loop {
            let spent = CancellationToken::new();
            let reply = self.one_call(request, events, cancel, &spent).await;
            match reply {
                // It goes on when the budget is raised.
                Err(ModelError::Cancelled) if spent.is_cancelled() && !cancel.is_cancelled() => {}
                reply => return reply,
            }
        }
    }

    /// One call, which is cancelled with `spent` when the cost that it reports reaches a limit.
    async fn one_call(
        &self,
        request: &Request,
        events: &mut EventSink<'_>,
        cancel: &CancellationToken,
        spent: &CancellationToken,
    ) -> Result<Reply, ModelError> {
        let tool_time = self.tool_time(request);
        let slot = self.slot(events, cancel).await?;
        let mut call = InFlight {
            model: self,
            slot,
            since: Instant::now(),
            tool_time,
            usage: Usage::default(),
            was_sent: true,
            was_answered: false,
            is_charged: AtomicBool::new(false),
        };
        let stop = cancel.child_token();
        let is_charged = &call.is_charged;
        let mut sink = |event: Event| match event {
            Event::Cost { nanos } => {
                is_charged.store(true, Ordering::Relaxed);
                let cost = Money::from_nanos(nanos);
                if self.budget.charge(self.inner.name(), cost) {
                    spent.cancel();
                    stop.cancel();
                }
            }
            event => events(event),
        };
        let reply = self.inner.complete(request, &mut sink, &stop).await;
        match &reply {
            Ok(reply) => {
                call.was_answered = true;
                call.usage = reply.usage.unwrap_or_else(|| self.estimate(request, reply));
            }
            Err(ModelError::Request(_) | ModelError::Withheld(_)) => call.was_sent = false,
            // It may have cost something that is not reported: at least it counts as a call.
            Err(_) => {}
        }
        reply
    }

    /// Waits until a call may begin.
    async fn slot(
        &self,
        events: &mut EventSink<'_>,
        cancel: &CancellationToken,
    ) -> Result<Option<u64>, ModelError> {
        let mut reported = None;
        let slot = loop {
            let (reason, pause) = match self.budget.admit(self.inner.name()) {
                Ok(Admission::Unlimited) => break None,
                Ok(Admission::Granted(slot)) => break Some(slot),
                // A process that holds the lock for so long has been stopped.
                Ok(Admission::AllBusy) | Err(TeamFileError::Lock(_)) => {
                    (WaitReason::Turn, SLOT_POLL)
                }
                // A full disk is temporary.
                Err(TeamFileError::File(error)) if error.is_full() => {
                    (WaitReason::Turn, BUDGET_POLL)
                }
                Ok(Admission::Spent(spent)) => {
                    self.budget.notify_lead(&spent);
                    (WaitReason::Budget, BUDGET_POLL)
                }
                Err(error @ (TeamFileError::File(_) | TeamFileError::Invalid { .. })) => {
                    return Err(ModelError::Withheld(error.to_string()));
                }
            };
            if reported != Some(reason) {
                reported = Some(reason);
                events(Event::Waiting(Waiting {
                    reason,
                    delay: pause,
                    failed_tries: 0,
                }));
            }
            tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(ModelError::Cancelled),
                () = tokio::time::sleep(pause) => {}
            }
        };
        if reported.is_some() {
            // Reports the end of the wait: the first text may take long.
            events(Event::ThinkingDelta(String::new()));
        }
        Ok(slot)
    }

    /// The time since the last call, if this request has tool results.
    fn tool_time(&self, request: &Request) -> Duration {
        let last = request.turns.last();
        let has_results = last.is_some_and(|turn| {
            let mut blocks = turn.blocks.iter();
            blocks.any(|block| matches!(block, Block::ToolResult(_)))
        });
        let ended = *self.last_end.lock().unwrap_or_else(PoisonError::into_inner);
        match ended {
            Some(ended) if has_results => ended.elapsed(),
            Some(_) | None => Duration::ZERO,
        }
    }

    /// Estimates the usage from the size of the texts, for servers that do not report it: limits must
    /// apply there too. The built-in models use nothing.
    fn estimate(&self, request: &Request, reply: &Reply) -> Usage {
        if matches!(normal_name(self.inner.name()), "offline" | "script") {
            return Usage::default();
        }
        let tokens = |bytes: usize| (bytes / BYTES_PER_TOKEN) as u64;
        let sent = serde_json::to_vec(&request.turns).map_or(0, |text| text.len());
        let answered = serde_json::to_vec(&reply.blocks).map_or(0, |text| text.len());
        Usage {
            input: tokens(sent + request.system.len()),
            output: tokens(answered),
            searches: reply.searches(),
            ..Usage::default()
        }
    }
}

impl Model for BudgetedModel {
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

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        let model = self.model;
        model.budget.book(&Call {
            model: model.inner.name(),
            slot: self.slot,
            usage: self.usage,
            took: self.tool_time.saturating_add(self.since.elapsed()),
            was_sent: self.was_sent,
            was_answered: self.was_answered,
            is_charged: self.is_charged.load(Ordering::Relaxed),
        });
        let mut ended = model
            .last_end
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *ended = Some(Instant::now());
    }
}
