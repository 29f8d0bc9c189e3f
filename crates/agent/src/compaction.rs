//! Making the conversation shorter.

use crate::context::{Carried, Fault, Plan, check};
use llm::{CancellationToken, ModelError, Reply, Usage};
use protocol::CompactionRecord;

use crate::agent::Agent;
use crate::ask::is_too_long;
use crate::host::{Event, Host, Prompt};
use crate::outcome::{Halt, Outcome};
use crate::record::Record;
use tracing::warn;

/// How often a summary is asked for before the conversation is cut instead.
const TRIES: usize = 4;

/// What a summary is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// The conversation as it was sent before, with a question behind it: the provider has all of it
    /// in its cache.
    Conversation,
    /// A transcript of so much of it as there is room for.
    Transcript,
}

/// What came of asking for a summary.
#[derive(Default)]
struct Answer {
    summary: Option<String>,
    /// What all tries together have cost, if known.
    usage: Option<Usage>,
}

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
        let asking = Asking {
            focus,
            ..Asking::new(plan)
        };
        self.compact_with(asking, host, cancel).await
    }

    /// Makes a conversation shorter that the model has just found too long.
    pub(crate) async fn compact_refused(
        &mut self,
        host: &mut dyn Host,
        cancel: &CancellationToken,
    ) -> Result<String, Halt> {
        let plan = Plan::new(&self.limits, &self.estimator);
        let asking = Asking {
            source: Source::Transcript,
            ..Asking::new(plan)
        };
        self.compact_with(asking, host, cancel).await
    }

    pub(crate) async fn compact_with(
        &mut self,
        asking: Asking<'_>,
        host: &mut dyn Host,
        cancel: &CancellationToken,
    ) -> Result<String, Halt> {
        host.event(Event::Compacting);
        let archive = host.next_archive()?;
        let plan = asking.plan;
        let answer = self.summarise(asking, host, cancel).await?;
        let summarised = answer.summary.is_some();
        let record = self.compacted(plan, answer, archive.clone(), host);
        self.commit(record, host)?;
        // A summary has the whole reminder behind it. Turns that stay may have older ones, so that it is given whole
        // behind them, with the next request.
        self.reminded =
            summarised.then(|| self.conversation.reminder().unwrap_or_default().to_owned());
        host.event(Event::Compacted {
            archive: archive.clone(),
            summarised,
        });
        Ok(archive)
    }

    /// The conversation from now on, with what is true at this moment.
    fn compacted(
        &self,
        plan: Plan,
        answer: Answer,
        archive: String,
        host: &mut dyn Host,
    ) -> Record {
        let mut kept = self.conversation.kept().clone();
        plan.fit(&mut kept);
        let reminder = host.prompt().reminder;
        let reminder = reminder.filter(|text| !text.trim().is_empty());
        let open_work = host.open_work();
        // What was left out before stands in the archive of an earlier compaction.
        let records = format!("{archive} or an earlier file beside it");
        let carried = Carried {
            kept: &kept,
            open_work: open_work.as_deref(),
            reminder: reminder.as_deref(),
            last_reminder: self.conversation.reminder(),
            records: &records,
        };
        let turns = self.conversation.turns();
        let turns = match &answer.summary {
            Some(summary) => plan.after(turns, summary, &archive, &carried),
            None => plan.cut(turns, &archive, &carried),
        };
        let reminder = match &answer.summary {
            Some(_) => reminder,
            None => self.conversation.reminder().map(str::to_owned),
        };
        Record::Compaction(CompactionRecord {
            archive,
            summarised: answer.summary.is_some(),
            turns,
            usage: answer.usage,
            kept,
            reminder,
            session: self.conversation.session().cloned(),
        })
    }

    /// A summary, or none if there is none to be had. A reply that lacks something is asked for once
    /// more: a model that fails twice would fail again, and nothing else goes on meanwhile.
    async fn summarise(
        &mut self,
        mut asking: Asking<'_>,
        host: &mut dyn Host,
        cancel: &CancellationToken,
    ) -> Result<Answer, Halt> {
        let mut answer = Answer::default();
        for _ in 0..TRIES {
            match self.ask_for_summary(&asking, host, cancel).await {
                Ok(reply) => {
                    answer.usage = sum(answer.usage, reply.usage);
                    match check(&reply) {
                        Ok(summary) => {
                            answer.summary = Some(summary);
                            return Ok(answer);
                        }
                        Err(fault) => {
                            warn!("the model's summary was not taken: {fault}");
                            if asking.fault.replace(fault).is_some() {
                                return Ok(answer);
                            }
                        }
                    }
                }
                Err(error) if is_too_long(&error) => asking.shrink(),
                Err(error) if is_hopeless(&error) => return Err(error.into()),
                Err(_) => {}
            }
        }
        Ok(answer)
    }

    async fn ask_for_summary(
        &mut self,
        asking: &Asking<'_>,
        host: &mut dyn Host,
        cancel: &CancellationToken,
    ) -> Result<Reply, ModelError> {
        let question = asking.plan.question(asking.focus, asking.fault.as_ref());
        if asking.source == Source::Conversation {
            // The same prompt, tools and settings as always: a change of one of them, even of whether
            // tools may be called, would make the cache miss.
            let prompt: Prompt = host.prompt();
            return self.call(prompt, Some(&question), host, cancel).await;
        }
        let whole = self.conversation.whole_turns();
        let request = asking.plan.request(&whole, &question);
        let mut sink = |event| match event {
            llm::Event::Waiting(waiting) => host.event(Event::Waiting(waiting)),
            llm::Event::Switched(switch) => host.event(Event::Switched(switch)),
            llm::Event::TextDelta(_)
            | llm::Event::ThinkingDelta(_)
            | llm::Event::ImagesHidden { .. }
            | llm::Event::Learned(_)
            | llm::Event::Cost { .. }
            | llm::Event::ToolUseStarted { .. } => {}
        };
        let reply = tokio::select! {
            reply = self.model.complete(&request, &mut sink, cancel) => reply?,
            () = cancel.cancelled() => return Err(ModelError::Cancelled),
        };
        host.event(Event::Replied {
            model: reply.model.clone(),
            usage: reply.usage,
        });
        Ok(reply)
    }
}

/// How a summary is asked for.
pub(crate) struct Asking<'a> {
    plan: Plan,
    source: Source,
    focus: Option<&'a str>,
    /// What was wrong with the last reply.
    fault: Option<Fault>,
}

impl Asking<'_> {
    /// A summary of the conversation as it was sent before.
    pub(crate) const fn new(plan: Plan) -> Self {
        Self {
            plan,
            source: Source::Conversation,
            focus: None,
            fault: None,
        }
    }

    /// Asks for a summary of less, because the model found this too long.
    fn shrink(&mut self) {
        match self.source {
            Source::Conversation => self.source = Source::Transcript,
            Source::Transcript => self.plan = self.plan.smaller(),
        }
    }
}

fn sum(before: Option<Usage>, new: Option<Usage>) -> Option<Usage> {
    let (Some(before), Some(new)) = (before, new) else {
        return before.or(new);
    };
    let reasoning = match (before.reasoning, new.reasoning) {
        (Some(before), Some(new)) => Some(before + new),
        (before, new) => before.or(new),
    };
    Some(Usage {
        input: before.input + new.input,
        output: before.output + new.output,
        cache_read: before.cache_read + new.cache_read,
        cache_write: before.cache_write + new.cache_write,
        reasoning,
        searches: before.searches + new.searches,
    })
}

/// Whether the model would not answer anything else either. Then nothing is gained by a cut.
fn is_hopeless(error: &ModelError) -> bool {
    match error {
        ModelError::Cancelled
        | ModelError::KeyRefused { .. }
        | ModelError::Forbidden { .. }
        | ModelError::NotFound { .. }
        | ModelError::Billing(_)
        | ModelError::Withheld(_)
        | ModelError::Engine { .. } => true,
        ModelError::Request(_)
        | ModelError::ContextTooLong { .. }
        | ModelError::RequestTooLarge { .. }
        | ModelError::ReplyTooLarge(_)
        | ModelError::BadRequest { .. }
        | ModelError::GaveUp { .. }
        | ModelError::Script(_) => false,
    }
}
