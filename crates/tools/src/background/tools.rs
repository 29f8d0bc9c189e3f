//! The two tools for background commands.

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use safe_open::{Links, Options};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Background, Phase, Task};
use crate::context::ToolContext;
use crate::registry::blocking;
use crate::shell;
use crate::tool::{Effect, Tool, ToolError, ToolOutput};
use crate::truncate::first_chars;

/// The default limit in seconds.
const SECONDS: u64 = 300;
/// The number of bytes that are shown of the output of a running command.
const SO_FAR: u64 = 2_000;

/// Starts a command in the background.
#[derive(Clone, Debug)]
pub struct BackgroundRun(Background);

impl BackgroundRun {
    pub fn new(background: Background) -> Self {
        Self(background)
    }
}

/// The arguments of [`BackgroundRun`].
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BackgroundRunArgs {
    /// The command, for bash.
    command: String,
    /// The limit in seconds, 300 if absent.
    timeout: Option<u64>,
    /// True if the command needs the network and yours is off: a person is asked first.
    #[expect(
        dead_code,
        reason = "whoever allows the call reads it and sets the access"
    )]
    needs_network: Option<bool>,
}

impl Tool for BackgroundRun {
    const NAME: &'static str = "background_run";
    const DESCRIPTION: &'static str = "Start a shell command in the background and continue. You are \
         notified when it has finished; check_background shows it meanwhile.";
    const EFFECT: Effect = Effect::Mutate;
    type Args = BackgroundRunArgs;

    async fn call(
        &self,
        args: BackgroundRunArgs,
        context: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        shell::check(&args.command)?;
        let seconds = args.timeout.unwrap_or(SECONDS).max(1);
        let id = self.0.start(&args.command, seconds, context)?;
        let command = first_chars(&args.command, 80);
        Ok(ToolOutput {
            text: format!("Background task {id} started: {command}"),
            command: Some(id),
            ..ToolOutput::default()
        })
    }
}

/// Shows background commands.
#[derive(Clone, Debug)]
pub struct CheckBackground(Background);

impl CheckBackground {
    pub fn new(background: Background) -> Self {
        Self(background)
    }
}

/// The arguments of [`CheckBackground`].
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckBackgroundArgs {
    /// The id of one task; all if absent.
    task_id: Option<String>,
}

impl Tool for CheckBackground {
    const NAME: &'static str = "check_background";
    const DESCRIPTION: &'static str =
        "Show one background task with its output, or all of them in a line each.";
    const EFFECT: Effect = Effect::Read;
    type Args = CheckBackgroundArgs;

    async fn call(
        &self,
        args: CheckBackgroundArgs,
        _: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let background = self.0.clone();
        match args.task_id {
            Some(id) => blocking(move || background.show(id.trim())).await,
            None => Ok(ToolOutput::ok(background.list())),
        }
    }
}

impl Background {
    fn list(&self) -> String {
        let state = self.lock();
        if state.tasks.is_empty() {
            return "No background tasks.".to_owned();
        }
        let line = |task: &Task| format!("{}: {}", task.id, headline(task));
        let lines: Vec<String> = state.tasks.iter().map(line).collect();
        lines.join("\n")
    }

    fn show(&self, id: &str) -> Result<ToolOutput, ToolError> {
        let mut state = self.lock();
        let Some(task) = state.task(id) else {
            let known: Vec<&str> = state.tasks.iter().map(|task| task.id.as_str()).collect();
            let known = if known.is_empty() {
                "there are none".to_owned()
            } else {
                format!("known: {}", known.join(", "))
            };
            return Err(ToolError::new(format!(
                "Unknown background task {id}; {known}"
            )));
        };
        let headline = headline(task);
        match &task.phase {
            Phase::Over { result, .. } => Ok(ToolOutput::ok(format!("{headline}\n{result}"))),
            Phase::Running(_) => {
                let output = task.output.clone();
                drop(state);
                let text = match output_tail(&output) {
                    Some(text) => format!("{headline}\n(running) its output ends with:\n{text}"),
                    None => format!("{headline}\n(running)"),
                };
                Ok(ToolOutput::ok(text))
            }
        }
    }
}

fn headline(task: &Task) -> String {
    format!("[{}] {}", task.state(), first_chars(&task.command, 60))
}

/// The end of the output of a running command, if there is any.
fn output_tail(path: &Path) -> Option<String> {
    let opened = Options::read(Links::Refuse).open(path).ok()?;
    let (mut file, size) = (opened.file, opened.metadata.len());
    file.seek(SeekFrom::Start(size.saturating_sub(SO_FAR)))
        .ok()?;
    let mut bytes = Vec::new();
    file.take(SO_FAR).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes).trim_end().to_owned();
    (!text.is_empty()).then_some(text)
}
