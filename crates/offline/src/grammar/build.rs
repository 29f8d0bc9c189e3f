//! Builds intents from clauses that fit a pattern.

use super::super::artefact;
use super::super::intent::{Intent, Who};
use super::Sentence;

pub(super) fn send(s: &Sentence<'_>) -> Option<Intent> {
    let text = s.text().or_else(|| s.rest());
    Some(Intent::Send {
        to: s.names()?,
        text,
    })
}

pub(super) fn broadcast(s: &Sentence<'_>) -> Option<Intent> {
    let text = s.text().or_else(|| s.rest())?;
    Some(Intent::Broadcast { text })
}

pub(super) fn shutdown(s: &Sentence<'_>) -> Option<Intent> {
    Some(Intent::Shutdown {
        who: Who::Names(s.names()?),
    })
}

pub(super) fn shutdown_all(_: &Sentence<'_>) -> Option<Intent> {
    Some(Intent::Shutdown { who: Who::All })
}

pub(super) fn approve(s: &Sentence<'_>) -> Option<Intent> {
    s.decide(true)
}

pub(super) fn reject(s: &Sentence<'_>) -> Option<Intent> {
    s.decide(false)
}

pub(super) fn await_plan(s: &Sentence<'_>) -> Option<Intent> {
    Some(Intent::AwaitPlan { from: s.one()? })
}

pub(super) fn submit_plan(s: &Sentence<'_>) -> Option<Intent> {
    let named = |about: &String| {
        let first = about.split_whitespace().next().unwrap_or_default();
        !matches!(first, "it" | "this" | "that" | "your" | "before" | "first")
    };
    Some(Intent::SubmitPlan {
        about: s.rest().filter(named),
    })
}

pub(super) fn append(s: &Sentence<'_>) -> Option<Intent> {
    let (text, file) = (quoted(&s.text()?), quoted(&s.file()?));
    Some(Intent::Run {
        command: format!("printf '%s\\n' {text} >> {file}"),
    })
}

pub(super) fn delete(s: &Sentence<'_>) -> Option<Intent> {
    Some(Intent::Run {
        command: format!("rm -- {}", quoted(&s.file()?)),
    })
}

pub(super) fn empty(s: &Sentence<'_>) -> Option<Intent> {
    Some(Intent::WriteFile {
        path: s.file()?,
        content: String::new(),
    })
}

/// The text as one word of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

pub(super) fn inbox(_: &Sentence<'_>) -> Option<Intent> {
    Some(Intent::CheckInbox)
}

pub(super) fn tasks(s: &Sentence<'_>) -> Option<Intent> {
    let (subjects, chained) = s.subjects()?;
    Some(Intent::CreateTasks { subjects, chained })
}

pub(super) fn chained_tasks(s: &Sentence<'_>) -> Option<Intent> {
    let (subjects, _) = s.subjects()?;
    let chained = true;
    Some(Intent::CreateTasks { subjects, chained })
}

pub(super) fn one_task(s: &Sentence<'_>) -> Option<Intent> {
    Some(Intent::CreateTasks {
        subjects: vec![s.rest()?],
        chained: false,
    })
}

pub(super) fn chain(_: &Sentence<'_>) -> Option<Intent> {
    Some(Intent::ChainTasks)
}

pub(super) fn list_tasks(_: &Sentence<'_>) -> Option<Intent> {
    Some(Intent::ListTasks)
}

pub(super) fn list_teammates(_: &Sentence<'_>) -> Option<Intent> {
    Some(Intent::ListTeammates)
}

pub(super) fn complete(s: &Sentence<'_>) -> Option<Intent> {
    Some(Intent::CompleteTask { id: s.number()? })
}

pub(super) fn write(s: &Sentence<'_>) -> Option<Intent> {
    let content = s.text().or_else(|| s.rest())?;
    Some(Intent::WriteFile {
        path: s.file()?,
        content,
    })
}

pub(super) fn create(s: &Sentence<'_>) -> Option<Intent> {
    let path = s.file()?;
    let content = artefact::content(&path);
    Some(Intent::WriteFile { path, content })
}

pub(super) fn read(s: &Sentence<'_>) -> Option<Intent> {
    Some(Intent::ReadFile { path: s.file()? })
}

pub(super) fn list_files(s: &Sentence<'_>) -> Option<Intent> {
    let dir = s.dir().unwrap_or_else(|| ".".to_owned());
    Some(Intent::Run {
        command: format!("ls -la {dir}"),
    })
}

pub(super) fn run(s: &Sentence<'_>) -> Option<Intent> {
    Some(Intent::Run { command: s.rest()? })
}

pub(super) fn background(s: &Sentence<'_>) -> Option<Intent> {
    let command = s.text().or_else(|| s.rest())?;
    Some(Intent::RunBackground { command })
}

pub(super) fn topic(s: &Sentence<'_>) -> Option<Intent> {
    Some(Intent::Topic { text: s.rest()? })
}
