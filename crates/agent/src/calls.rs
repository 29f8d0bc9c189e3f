//! Running the tools that a reply wants.

use std::sync::Arc;
use std::time::{Duration, Instant};

use llm::{CancellationToken, Image, ToolResult, ToolUse};
use protocol::{AskedRecord, EndedRecord, RequestId, ResultRecord, StartedRecord};
use tokio::task::JoinSet;
use tools::{Access, Control, Effect, OutputImage, ToolContext, ToolError, ToolOutput};

use crate::agent::{Agent, MAX_CUTS, Next};
use crate::conversation::{INTERRUPTED, NOT_STARTED};
use crate::host::{Answered, AskedCall, EndedCall, Event, Host, MayRun};
use crate::outcome::Halt;
use crate::record::Record;
use tracing::{Instrument, debug, debug_span};

/// How long a tool may take to end after it was cancelled, before it is left alone.
const GRACE: Duration = Duration::from_millis(700);

/// What the tools of a reply want from the loop.
#[derive(Default)]
struct Wishes {
    /// The conversation should be made shorter, with this focus if there is one.
    compact: Option<Option<String>>,
    /// The turn should end.
    end: bool,
}

/// A tool call that was run, with its output.
struct Done {
    tool_use: ToolUse,
    output: ToolOutput,
    took: Duration,
}

/// How a tool call goes on.
enum Permit {
    Run {
        /// The call, perhaps with other arguments than the model's.
        tool_use: ToolUse,
        access: Access,
        /// What the model is told in front of the output.
        remark: Option<String>,
    },
    /// It is not run, and this is its result.
    NotRun(ToolOutput),
}

impl Permit {
    fn refused(error: &ToolError) -> Self {
        Self::NotRun(ToolOutput::error(error.to_string()))
    }
}

/// The calls of one group that run at the same time.
#[derive(Default)]
struct Running {
    calls: JoinSet<Done>,
    /// What the finished ones want from the loop.
    controls: Vec<Control>,
}

impl Agent {
    /// Runs all tools of the last reply, and records each result as it comes. Neighbours that only
    /// read run at the same time, others one by one. Returns what the tools want from the loop.
    async fn run_tools(
        &mut self,
        host: &mut dyn Host,
        cancel: &CancellationToken,
    ) -> Result<Wishes, Halt> {
        let mut wishes = Wishes::default();
        for group in self.open_groups() {
            for control in self.run_group(&group, host, cancel).await? {
                match control {
                    Control::Compact { focus } => wishes.compact = Some(focus),
                    Control::EndTurn => wishes.end = true,
                }
            }
        }
        Ok(wishes)
    }

    /// Runs the open tools of the last reply, whose text is `part`, and does what they ask for.
    pub(crate) async fn run_reply_tools(
        &mut self,
        part: String,
        host: &mut dyn Host,
        cancel: &CancellationToken,
    ) -> Result<Next, Halt> {
        let wishes = self.run_tools(host, cancel).await?;
        if wishes.end {
            let reason = "a tool ended the turn".to_owned();
            self.commit(Record::Ended(EndedRecord { reason }), host)?;
            return Ok(Next::End(part));
        }
        let messages = host.after_tools();
        self.inject(messages, host)?;
        if let Some(focus) = wishes.compact {
            self.compact_now(focus.as_deref(), host, cancel).await?;
        }
        Ok(match self.conversation.partial_reply().cuts >= MAX_CUTS {
            true => Next::CutOff(part),
            false => Next::AskAgain,
        })
    }

    /// Gives the model an answer for tools that a process before this one may have run. Only the
    /// first group can have been started, since each waits for the results of those before it. If a call
    /// still waits for somebody's answer, nothing was started, and there is nothing to say.
    pub(crate) fn answer_interrupted(&mut self, host: &mut dyn Host) -> Result<(), Halt> {
        if self.conversation.waits_for().is_some() {
            return Ok(());
        }
        for (place, group) in self.open_groups().iter().enumerate() {
            let text = if place == 0 { INTERRUPTED } else { NOT_STARTED };
            for tool_use in group {
                let result = ToolResult::error(&tool_use.id, text);
                self.commit(Record::Result(ResultRecord::new(result)), host)?;
            }
        }
        Ok(())
    }

    fn effect_of(&self, tool_use: &ToolUse) -> Option<Effect> {
        let arguments = tool_use.replayed_input().get();
        self.registry.effect(&tool_use.name, arguments)
    }

    /// The tool uses without results, grouped by what may run at the same time.
    fn open_groups(&self) -> Vec<Vec<ToolUse>> {
        let only_reads = |tool_use: &ToolUse| {
            let effect = self.effect_of(tool_use);
            effect.is_some_and(Effect::is_concurrent)
        };
        let open: Vec<ToolUse> = self.conversation.open_uses().cloned().collect();
        let groups = open.chunk_by(|one, next| only_reads(one) && only_reads(next));
        groups.map(<[ToolUse]>::to_vec).collect()
    }

    async fn run_group(
        &mut self,
        group: &[ToolUse],
        host: &mut dyn Host,
        cancel: &CancellationToken,
    ) -> Result<Vec<Control>, Halt> {
        let mut running = Running::default();
        for tool_use in group {
            match self.permit(tool_use, &mut running, host, cancel).await? {
                Permit::Run {
                    tool_use,
                    access,
                    remark,
                } => {
                    let context = ToolContext {
                        cancel: cancel.child_token(),
                        access,
                        ..self.context.clone()
                    };
                    self.start(tool_use, (context, remark), &mut running.calls, host);
                }
                Permit::NotRun(output) => {
                    let (tool_use, took) = (tool_use.clone(), Duration::ZERO);
                    self.record_result(
                        Done {
                            tool_use,
                            output,
                            took,
                        },
                        host,
                    )?;
                }
            }
        }
        self.finish(&mut running, host, cancel).await?;
        for tool_use in group {
            if self
                .conversation
                .open_uses()
                .any(|open| open.id == tool_use.id)
            {
                self.record_result(refused(tool_use, INTERRUPTED.to_owned()), host)?;
            }
        }
        Ok(running.controls)
    }

    /// Waits for the running calls, and records their results.
    async fn finish(
        &mut self,
        running: &mut Running,
        host: &mut dyn Host,
        cancel: &CancellationToken,
    ) -> Result<(), Halt> {
        let given_up = async {
            cancel.cancelled().await;
            tokio::time::sleep(GRACE).await;
        };
        tokio::pin!(given_up);
        loop {
            let joined = tokio::select! {
                biased;
                joined = running.calls.join_next() => joined,
                () = &mut given_up => None,
            };
            match joined {
                Some(Ok(mut done)) => {
                    running.controls.extend(done.output.control.take());
                    let ended = (done.tool_use.clone(), done.output.text.clone());
                    let is_error = done.output.is_error;
                    self.record_result(done, host)?;
                    let call = EndedCall {
                        tool_use: &ended.0,
                        text: &ended.1,
                        is_error,
                    };
                    host.after_call(call, cancel).await;
                }
                // The registry catches panics, so the task itself failed; its use is answered below.
                Some(Err(_)) => {}
                None => return Ok(()),
            }
        }
    }

    /// What a tool call may do, or the reason for the model why it is not run. If somebody has to be asked,
    /// the calls before it come to their end first, so that a later process knows that none of them runs.
    async fn permit(
        &mut self,
        tool_use: &ToolUse,
        running: &mut Running,
        host: &mut dyn Host,
        cancel: &CancellationToken,
    ) -> Result<Permit, Halt> {
        let effect = self.effect_of(tool_use);
        let asked = self.conversation.request_of(tool_use).cloned();
        let changed = match asked.is_none() && cancel.is_cancelled() {
            true => None,
            false => host.before_call(tool_use, cancel).await,
        };
        let tool_use = match changed {
            Some(arguments) => &ToolUse::new(&tool_use.id, &tool_use.name, &arguments),
            None => tool_use,
        };
        let request_id = match asked {
            Some(request_id) => request_id,
            None if cancel.is_cancelled() => {
                return Ok(Permit::refused(&ToolError::new(NOT_STARTED)));
            }
            None => match self.first_decision(tool_use, effect, host) {
                MayRun::Yes(access) => {
                    return Ok(Permit::Run {
                        tool_use: tool_use.clone(),
                        access,
                        remark: None,
                    });
                }
                MayRun::No(error) => return Ok(Permit::refused(&error)),
                MayRun::Ask(request_id) => {
                    self.finish(running, host, cancel).await?;
                    if cancel.is_cancelled() {
                        return Ok(Permit::refused(&ToolError::new(NOT_STARTED)));
                    }
                    self.record_asked(tool_use, &request_id, host)?;
                    request_id
                }
            },
        };
        let call = AskedCall {
            tool_use,
            effect,
            request_id: &request_id,
        };
        match host.ask(call, cancel).await {
            Answered::Run { access, remark } => {
                let tool_use_id = tool_use.id.clone();
                self.commit(Record::Started(StartedRecord { tool_use_id }), host)?;
                Ok(Permit::Run {
                    tool_use: tool_use.clone(),
                    access,
                    remark,
                })
            }
            Answered::NotRun(output) => Ok(Permit::NotRun(output)),
            Answered::StillWaiting => Err(Halt::Interrupted),
        }
    }

    fn first_decision(
        &self,
        tool_use: &ToolUse,
        effect: Option<Effect>,
        host: &mut dyn Host,
    ) -> MayRun {
        match tool_use.arguments() {
            Ok(_) => host.may_run(tool_use, effect),
            Err(flaw) => MayRun::No(ToolError::from_error(&flaw)),
        }
    }

    fn record_asked(
        &mut self,
        tool_use: &ToolUse,
        request_id: &RequestId,
        host: &mut dyn Host,
    ) -> Result<(), Halt> {
        let record = AskedRecord {
            tool_use_id: tool_use.id.clone(),
            request_id: request_id.clone(),
        };
        self.commit(Record::Asked(record), host)
    }

    fn start(
        &self,
        tool_use: ToolUse,
        (context, remark): (ToolContext, Option<String>),
        running: &mut JoinSet<Done>,
        host: &mut dyn Host,
    ) {
        host.event(Event::ToolStarted {
            id: tool_use.id.clone(),
            name: tool_use.name.clone(),
            arguments: tool_use.replayed_input().get().to_owned(),
        });
        let registry = Arc::clone(&self.registry);
        let span = debug_span!("tool_call", tool = tool_use.name, id = tool_use.id);
        let call = async move {
            debug!("running the tool");
            let began = Instant::now();
            let arguments = tool_use.replayed_input().get();
            let mut output = registry.call(&tool_use.name, arguments, &context).await;
            if let Some(remark) = remark {
                output.text.insert_str(0, &format!("{remark}\n"));
            }
            let took = began.elapsed();
            debug!(?took, "the tool has ended");
            Done {
                tool_use,
                output,
                took,
            }
        };
        running.spawn(call.instrument(span));
    }

    fn record_result(&mut self, done: Done, host: &mut dyn Host) -> Result<(), Halt> {
        let Done {
            tool_use,
            output,
            took,
        } = done;
        let result = ToolResult {
            tool_use_id: tool_use.id.clone(),
            content: output.text.clone(),
            is_error: output.is_error,
            images: output.images.iter().map(image).collect(),
        };
        let millis = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        let record = ResultRecord {
            result,
            millis,
            command: output.command,
            mail: output.mail,
        };
        self.commit(Record::Result(record), host)?;
        host.event(Event::ToolFinished {
            id: tool_use.id,
            name: tool_use.name,
            text: output.text,
            is_error: output.is_error,
            took,
        });
        Ok(())
    }
}

fn image(image: &OutputImage) -> Image {
    Image::new(image.media_type, &image.bytes)
}

/// The outcome of a tool that was not run, or not to its end.
fn refused(tool_use: &ToolUse, text: String) -> Done {
    Done {
        tool_use: tool_use.clone(),
        output: ToolOutput::error(text),
        took: Duration::ZERO,
    }
}
