//! The tool that runs a shell command and waits for it.

use std::time::{Duration, SystemTime};

use command::{Captured, End, Finished, Save, SaveWhen, Saved, Spec, StartError};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::context::{ToolContext, random_id};
use crate::tool::{Effect, Tool, ToolError, ToolOutput};
use crate::truncate::{Pieces, truncate};

/// The default limit in seconds.
const SECONDS: u64 = 120;
/// The maximum number of characters that a model is shown of an output. More of it is rarely read, and
/// fills the conversation.
const SHOWN: usize = 20_000;

/// The most renamed files that are listed one by one. A command can create any number.
const MOST_RENAMED: usize = 10;

/// Runs a command in the workspace.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bash;

/// The arguments of [`Bash`].
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BashArgs {
    /// The command, for bash.
    command: String,
    /// The limit in seconds, 120 if absent.
    timeout: Option<u64>,
    /// True if the command needs the network and yours is off: a person is asked first.
    #[expect(
        dead_code,
        reason = "whoever allows the call reads it and sets the access"
    )]
    needs_network: Option<bool>,
}

impl Tool for Bash {
    const NAME: &'static str = "bash";
    const DESCRIPTION: &'static str = "Run a shell command and return its output (standard output and \
         standard error in order). Every command starts in the workspace folder: `cd` and variables do \
         not last until the next one. Of a long output both ends are shown, 20,000 characters in all, \
         with the path of a file that has the whole. Processes it leaves in the background are killed \
         when it ends: use background_run for those.";
    const EFFECT: Effect = Effect::Execute;
    type Args = BashArgs;

    async fn call(&self, args: BashArgs, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        check(&args.command)?;
        let seconds = args.timeout.unwrap_or(SECONDS).max(1);
        let id = random_id();
        let save = context.output.file(&format!("bash-{id}.txt"))?;
        let save = Save::new(save, SaveWhen::Large);
        let spec = spec(&args.command, &id, save, context)?.with_limit(limit(seconds));
        let started = SystemTime::now();
        let finished = command::run(spec, &context.cancel).await;
        context.seen.ran(&args.command, started);
        let finished = finished.map_err(|error| cannot_start(&error, context))?;
        let mut output = report(&finished, seconds, context);
        if ends_with_cd(&args.command) {
            let folder = context.workspace.root().display();
            let remark = format!("\n[cd does not last: the next command starts in {folder} again]");
            output.text.push_str(&remark);
        }
        Ok(output)
    }
}

/// Whether a command changes its folder and does nothing there.
fn ends_with_cd(command: &str) -> bool {
    let last = command.trim_end_matches([';', ' ', '\n']);
    let last = last.rsplit([';', '&', '|', '\n']).next();
    let word = last.and_then(|last| last.split_whitespace().next());
    matches!(word, Some("cd" | "pushd" | "popd"))
}

pub(crate) fn check(command: &str) -> Result<(), ToolError> {
    if command.trim().is_empty() {
        return Err(ToolError::new("the command is empty"));
    }
    if command.contains('\0') {
        return Err(ToolError::new(
            "the command contains a NUL character, which no shell accepts; write it as an escape, \
             such as printf '\\0'",
        ));
    }
    Ok(())
}

/// Why a command was not started. A sandbox that cannot be made is no matter of the model's.
pub(crate) fn cannot_start(error: &StartError, context: &ToolContext) -> ToolError {
    let why = ToolError::from_error(error);
    match (error, &context.confinement) {
        (StartError::Prepare(_) | StartError::Sandbox(_), Some(confinement)) => {
            let remedy = &confinement.remedy;
            ToolError::new(format!("{why}. A person can allow more: {remedy}"))
        }
        (_, _) => why,
    }
}

pub(crate) fn spec(
    command: &str,
    id: &str,
    save: Save,
    context: &ToolContext,
) -> Result<Spec, ToolError> {
    let mark = format!("{}.{id}", context.owner);
    let mut spec = Spec::new(command, context.workspace.root(), &mark, save);
    spec.surroundings = context.surroundings()?;
    Ok(spec)
}

/// Limits are capped at a day, which also prevents overflow of times.
pub(crate) fn limit(seconds: u64) -> Duration {
    Duration::from_secs(seconds.min(24 * 60 * 60))
}

/// The output of a command for a model, with how it ended unless that is exit status 0.
pub(crate) fn report(finished: &Finished, seconds: u64, context: &ToolContext) -> ToolOutput {
    let mut text = output_text(&finished.output, SHOWN, context);
    let confinement = context.confinement.as_ref();
    let remark = confinement.and_then(|all| all.remark(finished, &text, context.access.commands));
    let mut line = |end: String| {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&end);
    };
    match finished.end {
        End::Exited(0) => {}
        End::Exited(code) => line(format!("[exit status {code}]")),
        End::Signaled(signal) => line(format!("[killed by signal {signal}]")),
        End::TimedOut => line(format!("[timed out after {seconds} s]")),
        End::Cancelled => line("[interrupted]".to_owned()),
        End::Lost => line("[killed together with its reaper; outcome unknown]".to_owned()),
    }
    if finished.left_behind > 0 {
        let count = finished.left_behind;
        line(format!("[{count} of its processes could not be killed]"));
    }
    for renamed in finished.renamed.iter().take(MOST_RENAMED) {
        line(format!("[{renamed}]"));
    }
    if finished.renamed.len() > MOST_RENAMED {
        let more = finished.renamed.len() - MOST_RENAMED;
        line(format!("[and {more} more like these]"));
    }
    remark.into_iter().for_each(line);
    if text.is_empty() {
        "(no output)".clone_into(&mut text);
    }
    ToolOutput {
        text,
        is_error: finished.end != End::Exited(0),
        ..ToolOutput::default()
    }
}

/// The output as text of at most `limit` characters, trimmed.
pub(crate) fn output_text(output: &Captured, limit: usize, context: &ToolContext) -> String {
    let head = String::from_utf8_lossy(whole_end(&output.head, output));
    let tail = String::from_utf8_lossy(whole_start(&output.tail));
    let (head, tail) = if tail.is_empty() {
        (head.trim_end(), "")
    } else {
        (&*head, tail.trim_end())
    };
    let pieces = Pieces {
        head,
        tail,
        skipped: output.skipped(),
    };
    match &output.saved {
        Saved::Yes { path, bytes } => {
            let mut saved = context.show_path(path);
            if *bytes < output.total {
                saved = format!("{saved} (its first {bytes} bytes)");
            }
            truncate(&pieces, limit, Some(&saved))
        }
        Saved::No | Saved::Failed { .. } => save_or_truncate(&pieces, limit, &output.head, context),
    }
}

/// An output that fits in memory can still be too long for a model.
fn save_or_truncate(
    pieces: &Pieces<'_>,
    limit: usize,
    whole: &[u8],
    context: &ToolContext,
) -> String {
    let fits = pieces.skipped == 0 && pieces.head.chars().nth(limit).is_none();
    if fits {
        return pieces.head.to_owned();
    }
    let saved = (pieces.skipped == 0).then(|| context.output.save("output", whole).ok());
    let saved = saved.flatten();
    let saved = saved.map(|path| context.show_path(&path));
    truncate(pieces, limit, saved.as_deref())
}

/// The start of an output, without an incomplete character at its end.
fn whole_end<'a>(head: &'a [u8], output: &Captured) -> &'a [u8] {
    if output.tail.is_empty() {
        return head;
    }
    let cut = incomplete(head).unwrap_or(0);
    head.get(..head.len() - cut).unwrap_or(head)
}

/// The number of bytes at the end that are the start of an incomplete character.
fn incomplete(bytes: &[u8]) -> Option<usize> {
    (1..=3).find(|count| {
        let end = last(bytes, *count);
        let starts = end.first().is_some_and(|byte| *byte >= 0xc0);
        let error = std::str::from_utf8(end).err();
        starts && error.is_some_and(|error| error.error_len().is_none())
    })
}

/// The end of an output, without the rest of a character at its start.
fn whole_start(tail: &[u8]) -> &[u8] {
    let rest = tail.iter().take(3);
    let rest = rest.take_while(|byte| **byte & 0xc0 == 0x80).count();
    tail.get(rest..).unwrap_or(tail)
}

fn last(bytes: &[u8], count: usize) -> &[u8] {
    let start = bytes.len().saturating_sub(count);
    bytes.get(start..).unwrap_or(bytes)
}
