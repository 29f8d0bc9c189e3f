//! Running the tools that a reply wants.

use std::sync::Arc;
use std::time::{Duration, Instant};

use llm::{CancellationToken, Image, ToolResult, ToolUse};
use protocol::ResultRecord;
use tokio::task::JoinSet;
use tools::{Access, Control, Effect, OutputImage, ToolContext, ToolError, ToolOutput};

use crate::agent::Agent;
use crate::conversation::{INTERRUPTED, NOT_STARTED};
use crate::host::{Event, Host};
use crate::outcome::Halt;
use crate::record::Record;
use tracing::{Instrument, debug, debug_span};

/// How long a tool may take to end after it was cancelled, before it is left alone.
const GRACE: Duration = Duration::from_millis(700);

/// What the tools of a reply want from the loop.
#[derive(Default)]
pub(crate) struct Wishes {
    /// The conversation should be made shorter, with this focus if there is one.
    pub(crate) compact: Option<Option<String>>,
    /// The turn should end.
    pub(crate) end: bool,
}

/// A tool call that was run, with its output.
struct Done {
    tool_use: ToolUse,
    output: ToolOutput,
    took: Duration,
}

impl Agent {
    /// Runs all tools of the last reply, and records each result as it comes. Neighbours that only
    /// read run at the same time, others one by one. Returns what the tools want from the loop.
    pub(crate) async fn run_tools(
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

    /// Gives the model an answer for tools that a process before this one may have run. Only the
    /// first group can have been started, since each waits for the results of those before it.
    pub(crate) fn answer_interrupted(&mut self, host: &mut dyn Host) -> Result<(), Halt> {
        for (place, group) in self.open_groups().iter().enumerate() {
            let text = if place == 0 { INTERRUPTED } else { NOT_STARTED };
            for tool_use in group {
                let result = ToolResult::error(&tool_use.id, text);
                self.commit(Record::Result(ResultRecord::new(result)), host)?;
            }
        }
        Ok(())
    }

    /// The tool uses without results, grouped by what may run at the same time.
    fn open_groups(&self) -> Vec<Vec<ToolUse>> {
        let only_reads = |tool_use: &ToolUse| {
            let effect = self.registry.effect(&tool_use.name);
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
        let mut running = JoinSet::new();
        for tool_use in group {
            match self.permission(tool_use, host, cancel) {
                Ok(access) => {
                    let context = ToolContext {
                        cancel: cancel.child_token(),
                        access,
                        ..self.context.clone()
                    };
                    self.start(tool_use, context, &mut running, host);
                }
                Err(error) => self.record_result(refused(tool_use, error.to_string()), host)?,
            }
        }
        let given_up = async {
            cancel.cancelled().await;
            tokio::time::sleep(GRACE).await;
        };
        tokio::pin!(given_up);
        let mut controls = Vec::new();
        loop {
            let joined = tokio::select! {
                biased;
                joined = running.join_next() => joined,
                () = &mut given_up => None,
            };
            match joined {
                Some(Ok(mut done)) => {
                    controls.extend(done.output.control.take());
                    self.record_result(done, host)?;
                }
                // The registry catches panics, so the task itself failed; its use is answered below.
                Some(Err(_)) => {}
                None => break,
            }
        }
        for tool_use in group {
            if self
                .conversation
                .open_uses()
                .any(|open| open.id == tool_use.id)
            {
                self.record_result(refused(tool_use, INTERRUPTED.to_owned()), host)?;
            }
        }
        Ok(controls)
    }

    /// What a tool call may do, or the reason for the model why it is not run.
    fn permission(
        &self,
        tool_use: &ToolUse,
        host: &mut dyn Host,
        cancel: &CancellationToken,
    ) -> Result<Access, ToolError> {
        if cancel.is_cancelled() {
            return Err(ToolError::new(NOT_STARTED));
        }
        if let Err(flaw) = tool_use.arguments() {
            return Err(ToolError::from_error(&flaw));
        }
        let effect = self.registry.effect(&tool_use.name);
        host.may_run(tool_use, effect)
    }

    fn start(
        &self,
        tool_use: &ToolUse,
        context: ToolContext,
        running: &mut JoinSet<Done>,
        host: &mut dyn Host,
    ) {
        host.event(Event::ToolStarted {
            id: tool_use.id.clone(),
            name: tool_use.name.clone(),
            arguments: tool_use.replayed_input().get().to_owned(),
        });
        let registry = Arc::clone(&self.registry);
        let tool_use = tool_use.clone();
        let span = debug_span!("tool_call", tool = tool_use.name, id = tool_use.id);
        let call = async move {
            debug!("running the tool");
            let began = Instant::now();
            let arguments = tool_use.replayed_input().get();
            let output = registry.call(&tool_use.name, arguments, &context).await;
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
