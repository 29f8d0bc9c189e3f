//! `clean`: removes files that are no longer needed.

use crate::cli::Args;
use crate::duration;
use crate::failure::Failure;
use crate::output::{print, print_json};
use anyhow::Context;
use serde_json::{Value, json};
use std::time::Duration;
use teamdir::{Retention, StaleFile, StaleFileKind, TeamDir};

/// Remove files of the team that are no longer needed.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead clean --dry-run
  team-lead clean
  team-lead clean --older-than 30d --dry-run

This removes temporary files of killed processes, fully read inbox files of members that are not
running, logs and tool outputs of members that are no longer in the team, and what killed processes
left of checkouts. With --older-than, or as [retention] in team.toml says, it also removes what is older: parts
of the event log to which nothing was added since, dead letters, what is in the trash, and logs, outputs of tools, left
sessions and archived conversations of members that do not run. Unread mail, journals, requests, tasks,
submissions and members' trees are never touched, in the trash neither; a tree without its member is named.

With --json: {\"dry_run\", \"bytes\", \"removed\": [{\"path\", \"kind\", \"bytes\"}]}.")]
pub(crate) struct Clean {
    /// Only list what would be removed.
    #[arg(long, short = 'n')]
    dry_run: bool,
    /// Also remove what is older than this, as in 30d, whatever `[retention]` in team.toml says.
    #[arg(long, value_name = "AGE", value_parser = duration::parse)]
    older_than: Option<Duration>,
}

pub(crate) fn run(team: &TeamDir, args: &Args, command: &Clean) -> Result<(), Failure> {
    let retention = match command.older_than {
        Some(age) => Retention::all(age),
        None => member::load_settings(team.workspace())?.config.retention(),
    };
    let mut found = team
        .stale_files()
        .context("cannot search for leftover files")?;
    let old = team.old_files(&retention);
    for old in old.context("cannot search for old files")? {
        if found.iter().all(|other| other.path != old.path) {
            found.push(old);
        }
    }
    let mut removed = Vec::new();
    for leftover in found {
        // It may have come into use since it was found.
        if command.dry_run || team.remove_stale_file(&leftover).context("cannot clean")? {
            removed.push(leftover);
        }
    }
    name_trees(team, args).context("cannot list the trees")?;
    let bytes: u64 = removed.iter().map(|leftover| leftover.bytes).sum();
    if args.json {
        let removed: Vec<Value> = removed.iter().map(as_json).collect();
        let object = json!({"dry_run": command.dry_run, "bytes": bytes, "removed": removed});
        return print_json(&object);
    }
    let mut lines: Vec<String> = removed.iter().map(as_text).collect();
    let what = match removed.len() {
        0 => "Nothing to remove".to_owned(),
        count if command.dry_run => format!("Would remove {count} ({bytes} bytes)"),
        count => format!("Removed {count} ({bytes} bytes)"),
    };
    lines.push(what);
    print(&lines.join("\n"))
}

/// Names the trees whose members are not in the team. They may have work in them.
fn name_trees(team: &TeamDir, args: &Args) -> anyhow::Result<()> {
    let roster = team.roster()?;
    for name in team.tree_names()? {
        if roster.member(&name).is_none() {
            args.note(&format!(
                "the tree of '{name}' stays, which is not in the team: `team-lead trees --remove {name}`"
            ));
        }
    }
    Ok(())
}

const fn name(kind: &StaleFileKind) -> &'static str {
    match kind {
        StaleFileKind::Temporary => "temporary_file",
        StaleFileKind::ReadMail(_) => "read_mail",
        StaleFileKind::LogOrOutput(_) => "files_of_removed_member",
        StaleFileKind::CheckTree => "check_tree",
        StaleFileKind::UnfinishedTree(_) => "unfinished_tree",
        StaleFileKind::OldEvents(_) => "old_events",
        StaleFileKind::OldDeadLetters(_) => "old_dead_letters",
        StaleFileKind::OldTrash(_) => "old_trash",
        StaleFileKind::OldLog(..) => "old_log",
        StaleFileKind::OldConversation(..) => "old_conversation",
    }
}

fn as_json(leftover: &StaleFile) -> Value {
    json!({
        "path": leftover.path.display().to_string(),
        "kind": name(&leftover.kind),
        "bytes": leftover.bytes,
    })
}

fn as_text(leftover: &StaleFile) -> String {
    let why = match &leftover.kind {
        StaleFileKind::Temporary => "left by a killed process".to_owned(),
        StaleFileKind::ReadMail(owner) => format!("read by '{owner}'"),
        StaleFileKind::LogOrOutput(name) => format!("'{name}' is no longer in the team"),
        StaleFileKind::CheckTree => "left by a check that was killed".to_owned(),
        StaleFileKind::UnfinishedTree(name) => format!("the tree of '{name}' was not finished"),
        StaleFileKind::OldEvents(age) => format!("events older than {}", duration::format(*age)),
        StaleFileKind::OldDeadLetters(age) => {
            format!("dead letters older than {}", duration::format(*age))
        }
        StaleFileKind::OldTrash(age) => format!("in the trash for {}", duration::format(*age)),
        StaleFileKind::OldLog(owner, age) => {
            format!("'{owner}' wrote it over {} ago", duration::format(*age))
        }
        StaleFileKind::OldConversation(owner, age) => {
            format!("'{owner}' left it over {} ago", duration::format(*age))
        }
    };
    let path = leftover.path.display().to_string();
    let path = terminal_text::one_line(&path);
    format!("{path} ({} bytes): {why}", leftover.bytes)
}
