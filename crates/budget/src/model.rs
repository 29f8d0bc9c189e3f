//! A model that is asked only while there is budget for it.

use crate::member_budget::{Answer, Call, MemberBudget};
use crate::price::normal_name;
use llm::{
    Block, BoxFuture, CancellationToken, Event, EventSink, Model, ModelError, Reply, Request,
    Usage, WaitReason, Waiting,
};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use teamdir::TeamFileError;

/// How often a spent budget is looked at.
const LOOK_FOR_BUDGET: Duration = Duration::from_secs(1);
/// How often it is looked whether others have ended their calls.
const LOOK_FOR_TURN: Duration = Duration::from_millis(200);
/// About how many bytes of text are a token, where a server does not tell.
const BYTES_PER_TOKEN: usize = 4;

/// A model in front of another one, which keeps to a budget.
///
/// While the budget is spent a call does not begin but waits, which is told as
/// [`Event::Waiting`], and goes on when there is more. It can be cancelled at any time.
pub struct BudgetedModel {
    inner: Arc<dyn Model>,
    budget: MemberBudget,
    /// When the last call ended.
    last_end: Mutex<Option<Instant>>,
}

/// A call that has begun. However it ends, and also if its future is dropped, it is booked.
struct Begun<'a> {
    model: &'a BudgetedModel,
    slot: Option<u64>,
    since: Instant,
    /// How long the tools before it took.
    before: Duration,
    usage: Usage,
    was_asked: bool,
}

impl BudgetedModel {
    /// Puts a purse before a model.
    pub const fn new(inner: Arc<dyn Model>, budget: MemberBudget) -> Self {
        Self {
            inner,
            budget,
            last_end: Mutex::new(None),
        }
    }

    async fn ask(
        &self,
        request: &Request,
        events: &mut EventSink<'_>,
        cancel: &CancellationToken,
    ) -> Result<Reply, ModelError> {
        let before = self.tools_took(request);
        let slot = self.slot(events, cancel).await?;
        let mut call = Begun {
            model: self,
            slot,
            since: Instant::now(),
            before,
            usage: Usage::default(),
            was_asked: true,
        };
        let reply = self.inner.complete(request, events, cancel).await;
        match &reply {
            Ok(reply) => {
                call.usage = reply.usage.unwrap_or_else(|| self.estimate(request, reply));
            }
            Err(ModelError::Request(_) | ModelError::Withheld(_)) => call.was_asked = false,
            // It may have cost something that nobody tells: at least it was a call.
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
        let mut told = None;
        let slot = loop {
            let (reason, pause) = match self.budget.ask(self.inner.name()) {
                Ok(Answer::Free) => break None,
                Ok(Answer::Granted(slot)) => break Some(slot),
                // Somebody who holds the lock for so long was stopped in its middle.
                Ok(Answer::Crowded(_)) | Err(TeamFileError::Lock(_)) => {
                    (WaitReason::Turn, LOOK_FOR_TURN)
                }
                // A full disk passes.
                Err(TeamFileError::File(error)) if error.is_full() => {
                    (WaitReason::Turn, LOOK_FOR_BUDGET)
                }
                Ok(Answer::Spent(spent)) => {
                    self.budget.announce(&spent);
                    (WaitReason::Budget, LOOK_FOR_BUDGET)
                }
                Err(error @ (TeamFileError::File(_) | TeamFileError::Invalid { .. })) => {
                    return Err(ModelError::Withheld(error.to_string()));
                }
            };
            if told != Some(reason) {
                told = Some(reason);
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
        if told.is_some() {
            // Says that the wait is over: the first word may take long.
            events(Event::ThinkingDelta(String::new()));
        }
        Ok(slot)
    }

    /// How long the agent was at work since the last call, if this one brings results of tools.
    fn tools_took(&self, request: &Request) -> Duration {
        let last = request.turns.last();
        let brings_results = last.is_some_and(|turn| {
            let mut blocks = turn.blocks.iter();
            blocks.any(|block| matches!(block, Block::ToolResult(_)))
        });
        let ended = *self.last_end.lock().unwrap_or_else(PoisonError::into_inner);
        match ended {
            Some(ended) if brings_results => ended.elapsed(),
            Some(_) | None => Duration::ZERO,
        }
    }

    /// What a call used, by the size of its texts, where the server does not tell: a limit must hold
    /// there too. Stand-ins use nothing.
    fn estimate(&self, request: &Request, reply: &Reply) -> Usage {
        if matches!(normal_name(self.inner.name()), "offline" | "script") {
            return Usage::default();
        }
        let tokens = |bytes: usize| (bytes / BYTES_PER_TOKEN) as u64;
        let said = serde_json::to_vec(&request.turns).map_or(0, |text| text.len());
        let answered = serde_json::to_vec(&reply.blocks).map_or(0, |text| text.len());
        Usage {
            input: tokens(said + request.system.len()),
            output: tokens(answered),
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
        Box::pin(self.ask(request, events, cancel))
    }
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        let model = self.model;
        model.budget.settle(&Call {
            model: model.inner.name(),
            slot: self.slot,
            usage: self.usage,
            took: self.before.saturating_add(self.since.elapsed()),
            was_asked: self.was_asked,
        });
        let mut ended = model
            .last_end
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *ended = Some(Instant::now());
    }
}
