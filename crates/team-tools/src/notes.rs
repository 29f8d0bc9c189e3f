//! The shared notes: `note` and `notes`.

use crate::TeamContext;
use crate::tasks::args;
use protocol::TaskId;
use schemars::JsonSchema;
use serde::Deserialize;
use team::{NewNote, NoteQuery, add_note, find_notes, note_line};
use tools::{Effect, Tool, ToolContext, ToolError, ToolOutput};

/// How many notes are shown by default.
const SHOWN: usize = 20;

/// Writes a note for the team.
#[derive(Clone, Debug)]
pub struct WriteNote(TeamContext);

impl WriteNote {
    pub const fn new(context: TeamContext) -> Self {
        Self(context)
    }
}

/// The arguments of [`WriteNote`].
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteNoteArgs {
    text: String,
    // These are not offered: words of the text find a note as well.
    #[serde(default)]
    #[schemars(skip)]
    tags: Vec<String>,
    #[serde(default, deserialize_with = "args::optional_number")]
    #[schemars(skip)]
    task_id: Option<u64>,
}

impl Tool for WriteNote {
    const NAME: &'static str = "note";
    const DESCRIPTION: &'static str = "Write a note for the team.";
    // It changes no file of the workspace, so a member may use it before its plan is approved: what it
    // finds out while it plans is worth keeping.
    const EFFECT: Effect = Effect::State;
    type Args = WriteNoteArgs;

    async fn call(&self, args: WriteNoteArgs, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        let new = NewNote {
            text: args.text,
            tags: args.tags,
            task: args.task_id.map(TaskId),
        };
        let written = self.0.blocking(move |context| {
            let written = add_note(&context.team, &context.me, new);
            written.map_err(|error| ToolError::from_error(&error))
        });
        let id = written.await?.id.unwrap_or_default();
        Ok(ToolOutput::ok(format!("Noted ({id})")))
    }
}

/// Shows notes of the team.
#[derive(Clone, Debug)]
pub struct ReadNotes(TeamContext);

impl ReadNotes {
    pub const fn new(context: TeamContext) -> Self {
        Self(context)
    }
}

/// The arguments of [`ReadNotes`].
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadNotesArgs {
    query: Option<String>,
    #[schemars(skip)]
    tag: Option<String>,
    #[serde(default, deserialize_with = "args::optional_number")]
    #[schemars(skip)]
    task_id: Option<u64>,
    #[schemars(skip)]
    limit: Option<usize>,
}

impl Tool for ReadNotes {
    const NAME: &'static str = "notes";
    const DESCRIPTION: &'static str = "Show the notes.";
    const EFFECT: Effect = Effect::Read;
    type Args = ReadNotesArgs;

    async fn call(&self, args: ReadNotesArgs, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        let limit = args.limit.unwrap_or(SHOWN).max(1);
        let query = NoteQuery {
            words: args.query,
            tag: args.tag,
            task: args.task_id.map(TaskId),
        };
        let shown = self.0.blocking(move |context| {
            let read = find_notes(&context.team, &query);
            let notes = read.map_err(|error| ToolError::from_error(&error))?.notes;
            let older = notes.len().saturating_sub(limit);
            let mut lines: Vec<String> = Vec::new();
            if older > 0 {
                lines.push(format!("({older} older notes; raise `limit` to see them)"));
            }
            lines.extend(
                notes
                    .iter()
                    .skip(older)
                    .map(|note| format!("- {}", note_line(note))),
            );
            Ok(lines)
        });
        let lines = shown.await?;
        Ok(ToolOutput::ok(match lines.is_empty() {
            true => "No notes.".to_owned(),
            false => lines.join("\n"),
        }))
    }
}
