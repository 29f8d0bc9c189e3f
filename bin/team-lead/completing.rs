//! What a shell completes: verbs and options by themselves, and values that are read from the team.
//!
//! A shell's script, which `completions` prints, runs the program with a variable and the words that were
//! typed so far. The values stand in the table [`VALUES`], apart from the arguments themselves. Errors are silent: a team that cannot be
//! read has nothing to offer.

use crate::cli::{self, options};
use clap::Command;
use clap_complete::CompleteEnv;
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use protocol::{RequestStatus, TaskStatus};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use teamdir::TeamDir;
use terminal_text::one_line;

/// The variable with the name of the shell that asks.
pub(crate) const VARIABLE: &str = "TEAM_LEAD_COMPLETE";

/// How long a description beside a value may be, in characters.
const MAX_DESCRIPTION: usize = 60;

/// What of the team an argument names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Value {
    Members,
    /// The members and the lead.
    Recipients,
    /// The members, the lead and the person.
    Readers,
    /// The pending requests, and the members that made them.
    Pending,
    Requests,
    Tasks,
    /// The tasks that are not completed.
    OpenTasks,
    Submissions,
    Roles,
    Statuses,
}

/// The arguments that name something of the team: the verb, the argument, and what it names.
const VALUES: &[(&[&str], &str, Value)] = &[
    (&["spawn"], "name", Value::Members),
    (&["spawn"], "role", Value::Roles),
    (&["status"], "pid", Value::Recipients),
    (&["send"], "to", Value::Recipients),
    (&["inbox"], "name", Value::Readers),
    (&["shutdown"], "names", Value::Members),
    (&["requests"], "id", Value::Requests),
    (&["approve"], "which", Value::Pending),
    (&["reject"], "which", Value::Pending),
    (&["answer"], "which", Value::Pending),
    (&["attach"], "name", Value::Members),
    (&["rm"], "name", Value::Members),
    (&["kill"], "name", Value::Members),
    (&["restart"], "name", Value::Members),
    (&["logs"], "names", Value::Recipients),
    (&["task", "create"], "role", Value::Roles),
    (&["task", "create"], "blocked_by", Value::OpenTasks),
    (&["task", "list"], "status", Value::Statuses),
    (&["task", "show"], "id", Value::Tasks),
    (&["task", "update"], "id", Value::Tasks),
    (&["task", "update"], "role", Value::Roles),
    (&["task", "update"], "status", Value::Statuses),
    (&["task", "update"], "blocked_by", Value::OpenTasks),
    (&["task", "update"], "unblock", Value::Tasks),
    (&["task", "claim"], "id", Value::OpenTasks),
    (&["task", "claim"], "member", Value::Members),
    (&["task", "release"], "id", Value::OpenTasks),
    (&["task", "release"], "member", Value::Members),
    (&["task", "complete"], "id", Value::OpenTasks),
    (&["task", "complete"], "member", Value::Members),
    (&["task", "delete"], "id", Value::Tasks),
    (&["notes"], "task", Value::Tasks),
    (&["submit"], "name", Value::Members),
    (&["submit"], "task", Value::OpenTasks),
    (&["submissions"], "id", Value::Submissions),
    (&["trees"], "remove", Value::Members),
    (&["diff"], "name", Value::Members),
    (&["rebase"], "name", Value::Members),
    (&["events"], "member", Value::Recipients),
    (&["budget", "raise"], "member", Value::Members),
    (&["permissions", "list"], "member", Value::Members),
    (&["permissions", "check"], "member", Value::Members),
    (&["prompt", "show"], "name", Value::Members),
    (&["mcp", "serve"], "member", Value::Members),
];

/// Answers a shell that asks for completions, and ends the process then. Otherwise this does nothing.
pub(crate) fn answer_shell() {
    CompleteEnv::with_factory(command).var(VARIABLE).complete();
}

/// The command line with the values that can be completed.
fn command() -> Command {
    let values = VALUES.iter();
    values.fold(cli::command(), |command, (verbs, argument, value)| {
        with_value(command, verbs, argument, *value)
    })
}

fn with_value(
    command: Command,
    verbs: &'static [&'static str],
    argument: &'static str,
    value: Value,
) -> Command {
    match verbs {
        [verb, rest @ ..] => {
            command.mut_subcommand(verb, |inner| with_value(inner, rest, argument, value))
        }
        // Unlike `mut_arg`, this leaves positional arguments in their order.
        [] => command.mut_args(|arg| match arg.get_id() == argument {
            true => arg.add(ArgValueCandidates::new(move || candidates(value))),
            false => arg,
        }),
    }
}

fn candidates(value: Value) -> Vec<CompletionCandidate> {
    let Some(team) = selected_team(std::env::args_os()) else {
        return Vec::new();
    };
    match value {
        Value::Members => members(&team),
        Value::Recipients => {
            let lead = candidate("lead", "the lead");
            members(&team).into_iter().chain([lead]).collect()
        }
        Value::Readers => {
            let others = [candidate("lead", "the lead"), candidate("user", "you")];
            members(&team).into_iter().chain(others).collect()
        }
        Value::Pending => requests(&team, true),
        Value::Requests => requests(&team, false),
        Value::Tasks => tasks(&team, |_| true),
        Value::OpenTasks => tasks(&team, |status| status != TaskStatus::Completed),
        Value::Submissions => submissions(&team),
        Value::Roles => roles(&team),
        Value::Statuses => {
            let all = [
                TaskStatus::Pending,
                TaskStatus::InProgress,
                TaskStatus::Completed,
            ];
            all.iter()
                .map(|status| CompletionCandidate::new(status.as_str()))
                .collect()
        }
    }
}

/// The team that the words on the command line select. What the shell asks about follows a `--`.
fn selected_team(words: impl Iterator<Item = OsString>) -> Option<TeamDir> {
    let mut words = words.skip_while(|word| word != "--").skip(1);
    let mut folder = PathBuf::from(".");
    while let Some(word) = words.next() {
        let text = word.to_string_lossy();
        if text == "-C" || text == "--dir" {
            folder = words.next()?.into();
        } else if let Some(dir) = text.strip_prefix("--dir=").or(text.strip_prefix("-C")) {
            folder = dir.into();
        }
    }
    let folder = std::path::absolute(folder).ok()?;
    member::find_team(&folder, options().ok()?).ok()
}

fn candidate(value: &str, description: &str) -> CompletionCandidate {
    let description: String = one_line(description)
        .chars()
        .take(MAX_DESCRIPTION)
        .collect();
    CompletionCandidate::new(value).help(Some(description.into()))
}

fn members(team: &TeamDir) -> Vec<CompletionCandidate> {
    let Ok(roster) = team.roster() else {
        return Vec::new();
    };
    let specs = roster.members.iter().map(|member| &member.spec);
    specs
        .map(|spec| candidate(spec.name.as_str(), &spec.role))
        .collect()
}

fn roles(team: &TeamDir) -> Vec<CompletionCandidate> {
    let Ok(roster) = team.roster() else {
        return Vec::new();
    };
    let roles = roster.members.iter().map(|member| &member.spec.role);
    // A role with spaces would be several words to the shell.
    let roles: BTreeSet<&String> = roles.filter(|role| is_one_word(role)).collect();
    roles.into_iter().map(CompletionCandidate::new).collect()
}

/// Whether every shell takes a text as one word without quotes.
fn is_one_word(text: &str) -> bool {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "-_.".contains(char);
    !text.is_empty() && text.chars().all(is_plain)
}

/// The requests, with their authors if only the pending ones count: those may be named by either.
fn requests(team: &TeamDir, pending: bool) -> Vec<CompletionCandidate> {
    let found = team::all_requests(team).unwrap_or_default();
    let found = found.into_iter().flatten();
    let found = found.filter(|request| !pending || request.status() == RequestStatus::Pending);
    let mut candidates = Vec::new();
    let mut authors = Vec::new();
    for request in found {
        let from = request.from.to_string();
        let description = format!("{} of {from}", request.kind().as_str());
        candidates.push(candidate(request.id.as_str(), &description));
        if pending && !authors.contains(&from) {
            authors.push(from);
        }
    }
    let authors = authors.iter().map(|name| candidate(name, "asks"));
    candidates.into_iter().chain(authors).collect()
}

fn tasks(team: &TeamDir, is_wanted: impl Fn(TaskStatus) -> bool) -> Vec<CompletionCandidate> {
    let Ok(listed) = team::list(team) else {
        return Vec::new();
    };
    let tasks = listed.board.tasks().filter(|task| is_wanted(task.status));
    tasks
        .map(|task| candidate(&task.id.to_string(), &task.subject))
        .collect()
}

fn submissions(team: &TeamDir) -> Vec<CompletionCandidate> {
    let found = team.submissions().unwrap_or_default().into_iter().flatten();
    found
        .map(|submission| candidate(&submission.id.to_string(), submission.member.as_str()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_argument_of_the_table_exists_and_every_name_is_completed() {
        let all = command();
        assert_completed(&all, &mut Vec::new());
        for (verbs, argument, _) in VALUES {
            let inner = verbs.iter().fold(&all, |command, verb| {
                command.find_subcommand(verb).expect("a verb of the table")
            });
            let mut arguments = inner.get_arguments();
            let is_there = arguments.any(|arg| arg.get_id() == argument);
            assert!(is_there, "{verbs:?} has no {argument}");
        }
    }

    /// Arguments that name a member say so in their value name.
    fn assert_completed(command: &Command, verbs: &mut Vec<String>) {
        for argument in command.get_arguments() {
            let names = argument.get_value_names().unwrap_or_default();
            let is_name = names.iter().any(|name| name.as_str().contains("NAME"));
            let has_values = argument.get::<ArgValueCandidates>().is_some();
            assert!(!is_name || has_values, "{verbs:?} {}", argument.get_id());
        }
        for inner in command.get_subcommands() {
            verbs.push(inner.get_name().to_owned());
            assert_completed(inner, verbs);
            verbs.pop();
        }
    }
}
