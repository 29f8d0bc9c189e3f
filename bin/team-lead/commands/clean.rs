//! `clean`: removing what nobody needs any more.

use crate::cli::Args;
use crate::failure::Failure;
use crate::out::print;
use anyhow::Context;
use serde_json::{Value, json};
use teamdir::{StaleFile, StaleFileKind, TeamDir};

/// Remove files of the team that nobody needs any more.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead clean --dry-run
  team-lead clean

Removed are temporary files of killed processes, inbox files that were read to their end by members
that do not run, and logs and tool outputs of members that are not in the team any more. Unread mail,
journals, requests, tasks and the event log are never touched.

With --json: {\"dry_run\", \"bytes\", \"removed\": [{\"path\", \"kind\", \"bytes\"}]}.")]
pub(crate) struct Clean {
    /// Only list what would be removed.
    #[arg(long, short = 'n')]
    dry_run: bool,
}

pub(crate) fn run(team: &TeamDir, args: &Args, wish: &Clean) -> Result<(), Failure> {
    let found = team.stale_files().context("cannot look for leftovers")?;
    let mut removed = Vec::new();
    for leftover in found {
        // It may be needed again since it was found.
        if wish.dry_run || team.remove_stale_file(&leftover).context("cannot clean")? {
            removed.push(leftover);
        }
    }
    let bytes: u64 = removed.iter().map(|leftover| leftover.bytes).sum();
    if args.json {
        let removed: Vec<Value> = removed.iter().map(as_json).collect();
        let object = json!({"dry_run": wish.dry_run, "bytes": bytes, "removed": removed});
        return print(&object.to_string());
    }
    let mut lines: Vec<String> = removed.iter().map(as_text).collect();
    let what = match removed.len() {
        0 => "Nothing to remove".to_owned(),
        count if wish.dry_run => format!("Would remove {count} ({bytes} bytes)"),
        count => format!("Removed {count} ({bytes} bytes)"),
    };
    lines.push(what);
    print(&lines.join("\n"))
}

const fn word(kind: &StaleFileKind) -> &'static str {
    match kind {
        StaleFileKind::Temporary => "temporary_file",
        StaleFileKind::ReadMail(_) => "read_mail",
        StaleFileKind::Words(_) => "words_of_the_gone",
    }
}

fn as_json(leftover: &StaleFile) -> Value {
    json!({
        "path": leftover.path.display().to_string(),
        "kind": word(&leftover.kind),
        "bytes": leftover.bytes,
    })
}

fn as_text(leftover: &StaleFile) -> String {
    let why = match &leftover.kind {
        StaleFileKind::Temporary => "left by a killed process".to_owned(),
        StaleFileKind::ReadMail(owner) => format!("read by '{owner}'"),
        StaleFileKind::Words(name) => format!("'{name}' is not in the team any more"),
    };
    let path = crate::out::plain(&leftover.path.display().to_string());
    format!("{path} ({} bytes): {why}", leftover.bytes)
}
