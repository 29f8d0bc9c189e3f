//! Making the conversation shorter.

use crate::context::Plan;
use llm::{CancellationToken, ModelError, Reply, StopReason};
use protocol::CompactionRecord;

use crate::agent::Agent;
use crate::ask::is_too_long;
use crate::host::{Event, Host};
use crate::outcome::{Halt, Outcome};
use crate::record::Record;

/// How often a summary is asked for before the conversation is cut instead.
const TRIES: usize = 3;

impl Agent {
    /// Makes the conversation shorter now, whatever its size, with a summary that stresses the
    /// focus if there is one. The text of the outcome says where the whole conversation is.
    pub async fn compact(
        &mut self,
        focus: Option<&str>,
        host: &mut dyn Host,
        cancel: &CancellationToken,
    ) -> Outcome {
        if self.conversation.turns().is_empty() {
            let text = "There is nothing to compact.".to_owned();
            return Outcome::Finished { text };
        }
        let outcome = match self.answer_interrupted(host) {
            Ok(()) => self.compact_now(focus, host, cancel).await,
            Err(halt) => Err(halt),
        };
        match outcome {
            Ok(archive) => Outcome::Finished {
                text: format!("Compacted. Transcript: {archive}"),
            },
            Err(halt) => halt.into(),
        }
    }

    pub(crate) async fn compact_now(
        &mut self,
        focus: Option<&str>,
        host: &mut dyn Host,
        cancel: &CancellationToken,
    ) -> Result<String, Halt> {
        let plan = Plan::new(&self.limits, &self.estimator);
        self.compact_with(plan, focus, host, cancel).await
    }

    pub(crate) async fn compact_with(
        &mut self,
        plan: Plan,
        focus: Option<&str>,
        host: &mut dyn Host,
        cancel: &CancellationToken,
    ) -> Result<String, Halt> {
        host.event(Event::Compacting);
        let archive = host.archive(&self.conversation.whole_turns())?;
        let summary = self.summarise(plan, focus, host, cancel).await?;
        let turns = self.conversation.turns();
        let summarised = summary.is_some();
        let (turns, usage) = match summary {
            Some(reply) => (plan.after(turns, &reply.text(), &archive), reply.usage),
            None => (plan.cut(turns, &archive), None),
        };
        let record = Record::Compaction(CompactionRecord {
            archive: archive.clone(),
            summarised,
            turns,
            usage,
        });
        self.commit(record, host)?;
        host.event(Event::Compacted {
            archive: archive.clone(),
            summarised,
        });
        Ok(archive)
    }

    /// A summary, or nothing if there is none to be had.
    async fn summarise(
        &self,
        mut plan: Plan,
        focus: Option<&str>,
        host: &mut dyn Host,
        cancel: &CancellationToken,
    ) -> Result<Option<Reply>, Halt> {
        let whole = self.conversation.whole_turns();
        for _ in 0..TRIES {
            let request = plan.request(&whole, focus);
            let mut sink = |event| {
                if let llm::Event::Waiting(waiting) = event {
                    host.event(Event::Waiting(waiting));
                }
            };
            let reply = tokio::select! {
                reply = self.model.complete(&request, &mut sink, cancel) => reply,
                () = cancel.cancelled() => Err(ModelError::Cancelled),
            };
            match reply {
                Ok(reply) => {
                    host.event(Event::Replied {
                        model: reply.model.clone(),
                        usage: reply.usage,
                    });
                    if is_summary(&reply) {
                        return Ok(Some(reply));
                    }
                }
                Err(error) if is_too_long(&error) => plan = plan.smaller(),
                Err(error) if is_hopeless(&error) => return Err(error.into()),
                Err(_) => {}
            }
        }
        Ok(None)
    }
}

fn is_summary(reply: &Reply) -> bool {
    let is_refused = matches!(reply.stop, StopReason::Refusal { .. });
    !is_refused && !reply.text().trim().is_empty()
}

/// Whether the model would not answer anything else either. Then nothing is gained by a cut.
fn is_hopeless(error: &ModelError) -> bool {
    match error {
        ModelError::Cancelled
        | ModelError::KeyRefused { .. }
        | ModelError::Forbidden { .. }
        | ModelError::NotFound { .. }
        | ModelError::Billing(_)
        | ModelError::Withheld(_) => true,
        ModelError::Request(_)
        | ModelError::ContextTooLong { .. }
        | ModelError::RequestTooLarge { .. }
        | ModelError::ReplyTooLarge(_)
        | ModelError::BadRequest { .. }
        | ModelError::GaveUp { .. }
        | ModelError::Script(_) => false,
    }
}
