//! `notes`: what the whole team should know.

use crate::cli::Args;
use crate::failure::Failure;
use crate::input::text_or_stdin;
use crate::output::{print, print_json};
use crate::sandboxed_caller::Needs;
use anyhow::Context;
use protocol::{Note, TaskId};
use serde_json::json;
use team::{Actor, NewNote, NoteQuery, add_note, find_notes, note_line};
use teamdir::TeamDir;

/// Show the notes that members and people share, or add one.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead notes
  team-lead notes parser
  team-lead notes --add 'Run make check before you report.' --tag build

Members write notes with their tool `note`, and are shown the newest. The notes are the lines of
.team/notes.jsonl; a line by hand needs only a \"text\".

With --json: {\"notes\": [...]}, each as it was written; with --add {\"id\"}.")]
pub(crate) struct Notes {
    /// Only notes with these words.
    #[arg(conflicts_with = "add")]
    words: Option<String>,
    /// Add a note; `-` reads it from standard input.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    add: Option<String>,
    /// A tag: of the new note, or that the notes must have.
    #[arg(long, value_name = "WORD")]
    tag: Option<String>,
    /// The task that it is, or they are, about.
    #[arg(long, value_name = "N")]
    task: Option<u64>,
    /// How many of the newest to show.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50)]
    lines: usize,
}

impl Notes {
    pub(crate) const fn needs(&self) -> Needs {
        match self.add {
            Some(_) => Needs::Team(Some("note")),
            None => Needs::Nothing,
        }
    }
}

pub(crate) fn run(team: &TeamDir, args: &Args, command: &Notes) -> Result<(), Failure> {
    let task = command.task.map(TaskId);
    if let Some(text) = &command.add {
        let new = NewNote {
            text: text_or_stdin(text, "the note")?,
            tags: command.tag.iter().cloned().collect(),
            task,
        };
        let note = add_note(team, &Actor::user(), new)?;
        return args.confirm(&json!({"id": note.id}), "Noted");
    }
    let query = NoteQuery {
        words: command.words.clone(),
        tag: command.tag.clone(),
        task,
    };
    let read = find_notes(team, &query).context("cannot read the notes")?;
    let older = read.notes.len().saturating_sub(command.lines);
    let notes: Vec<&Note> = read.notes.iter().skip(older).collect();
    if args.json {
        return print_json(&json!({"notes": notes}));
    }
    if notes.is_empty() {
        args.note("no notes");
        return Ok(());
    }
    let lines: Vec<String> = notes.iter().map(|note| note_line(note)).collect();
    print(&lines.join("\n"))
}
