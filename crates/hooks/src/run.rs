//! Runs a hook and waits for its end.

use crate::hook::Hook;
use crate::reply::{Reply, ReplyError};
use command::{Captured, End, Finished, Save, SaveWhen, Spec, StartError, Surroundings};
use std::io::{self, PipeReader, Read as _, Write as _};
use std::path::PathBuf;
use std::thread;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// How much of the output is read. A hook that prints more has failed.
const MAX_OUTPUT: usize = 256 * 1024;
/// How much of the errors is kept.
const MAX_ERRORS: usize = 64 * 1024;
/// How long the rest of the output may take once no process is left.
const LAST_OUTPUT: Duration = Duration::from_secs(1);

/// Where and in what a hook runs.
#[derive(Debug, Clone)]
pub struct HookContext {
    /// The working directory.
    pub folder: PathBuf,
    /// The folder that the hook finds as `CLAUDE_PROJECT_DIR`.
    pub project: PathBuf,
    pub surroundings: Surroundings,
    /// Unique on the machine, see [`command::MARK`].
    pub mark: String,
    /// The path of a file that does not exist, for errors that are too long. It is removed.
    pub scratch: PathBuf,
}

/// A hook has failed. What it was run for goes on.
#[derive(Debug, thiserror::Error)]
pub enum HookError {
    #[error("it was not started: {0}")]
    Start(#[from] StartError),
    #[error("it was not started: {0}")]
    Pipe(#[from] io::Error),
    #[error("it did not end within {0} s")]
    TimedOut(u64),
    #[error("it exited with code {code}: {errors}")]
    Failed { code: i32, errors: String },
    #[error("it was killed by signal {0}")]
    Signaled(i32),
    #[error("it was ended with the turn")]
    Cancelled,
    #[error("it printed more than {MAX_OUTPUT} bytes")]
    TooLong,
    #[error(transparent)]
    Reply(#[from] ReplyError),
}

/// What a hook of the user's runs in: the user's own environment, with all rights.
pub const fn outside() -> Surroundings {
    Surroundings::Inherited
}

/// Runs a hook with `input` on its standard input.
pub async fn run(
    hook: &Hook,
    input: String,
    context: HookContext,
    cancel: &CancellationToken,
) -> Result<Reply, HookError> {
    let project = context.project.display().to_string();
    let project = project.replace('\'', r"'\''");
    let command = format!("export CLAUDE_PROJECT_DIR='{project}'\n{}", hook.command);
    let save = Save {
        max_bytes: 0,
        ..Save::new(&context.scratch, SaveWhen::Large)
    };
    let mut spec = Spec::new(&command, &context.folder, &context.mark, save);
    spec.limit = hook.timeout;
    spec.memory = MAX_ERRORS;
    spec.surroundings = context.surroundings;
    let (sender, mut ended) = oneshot::channel();
    let started = command::start_dialogue(&spec, move |finished| drop(sender.send(finished)));
    let (job, dialogue) = started?;
    let mut to_stdin = dialogue.input;
    thread::Builder::new()
        .name("hook input".to_owned())
        .spawn(move || {
            // A hook that reads nothing closes its end.
            let _ = to_stdin.write_all(input.as_bytes());
        })?;
    let output = read_output(dialogue.output)?;
    let finished: Option<Finished> = tokio::select! {
        biased;
        finished = &mut ended => finished.ok(),
        () = cancel.cancelled() => {
            drop(job);
            let _ = ended.await;
            return Err(HookError::Cancelled);
        }
    };
    let output = tokio::time::timeout(LAST_OUTPUT, output).await;
    let output = output.ok().and_then(Result::ok).unwrap_or_default();
    let _ = std::fs::remove_file(&context.scratch);
    let finished = finished.ok_or(HookError::Cancelled)?;
    let errors = text(&finished.output);
    match finished.end {
        End::Exited(0) if output.len() > MAX_OUTPUT => Err(HookError::TooLong),
        End::Exited(0) => {
            let output = String::from_utf8_lossy(&output);
            Ok(Reply::read(hook.event, &output)?)
        }
        End::Exited(2) => Ok(Reply::blocking(hook.event, &errors)?),
        End::Exited(code) => Err(HookError::Failed {
            code,
            errors: errors.trim().chars().take(500).collect(),
        }),
        End::Signaled(signal) => Err(HookError::Signaled(signal)),
        End::TimedOut => Err(HookError::TimedOut(hook.timeout.as_secs())),
        End::Cancelled | End::Lost => Err(HookError::Cancelled),
    }
}

/// Reads everything and keeps a little more than is allowed.
fn read_output(mut from: PipeReader) -> io::Result<oneshot::Receiver<Vec<u8>>> {
    let (sender, receiver) = oneshot::channel();
    let read = move || {
        let mut kept = Vec::new();
        let mut chunk = vec![0; 64 * 1024];
        while let Ok(count @ 1..) = from.read(&mut chunk) {
            let room = (MAX_OUTPUT + 1).saturating_sub(kept.len()).min(count);
            kept.extend_from_slice(chunk.get(..room).unwrap_or_default());
        }
        drop(sender.send(kept));
    };
    thread::Builder::new()
        .name("hook output".to_owned())
        .spawn(read)?;
    Ok(receiver)
}

fn text(errors: &Captured) -> String {
    let mut text = String::from_utf8_lossy(&errors.head).into_owned();
    text.push_str(&String::from_utf8_lossy(&errors.tail));
    text
}
