//! The sizes of the files of a team, by kind.

use serde::Serialize;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// Bytes by kind of file.
pub(super) type Sizes = BTreeMap<Kind, u64>;

/// Kinds of files that grow, or do not, for the same reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    /// The lead's inbox gets a report for each turn. Without a pause in its mail it is set aside only
    /// when it is large.
    LeadInbox,
    Inboxes,
    SetAside,
    LiveStates,
    Locks,
    Roster,
    Traffic,
    Limits,
    Board,
    DeadLetters,
    Temporary,
    Outputs,
    Journals,
    Logs,
    Archives,
    Events,
    Others,
}

impl Kind {
    pub(super) const ALL: [Self; 17] = [
        Self::LeadInbox,
        Self::Inboxes,
        Self::SetAside,
        Self::LiveStates,
        Self::Locks,
        Self::Roster,
        Self::Traffic,
        Self::Limits,
        Self::Board,
        Self::DeadLetters,
        Self::Temporary,
        Self::Outputs,
        Self::Journals,
        Self::Logs,
        Self::Archives,
        Self::Events,
        Self::Others,
    ];

    /// The kind of the file at a path below the team folder.
    fn of(path: &str) -> Self {
        let name = path.rsplit('/').next().unwrap_or(path);
        if name.ends_with(".tmp") {
            return Self::Temporary;
        }
        if name == "lock" || name.ends_with(".lock") {
            return Self::Locks;
        }
        let mut folders = path.split('/');
        match (folders.next(), folders.nth(1)) {
            (Some("inbox"), _) if name == "lead.jsonl" || name.starts_with(".lead.") => {
                Self::LeadInbox
            }
            (Some("inbox"), _) if name.starts_with('.') => Self::SetAside,
            (Some("inbox"), _) => Self::Inboxes,
            (Some("members"), Some("transcript.jsonl")) => Self::Journals,
            (Some("members"), Some("state.json" | ".state.json.spare")) => Self::LiveStates,
            (Some("members"), Some("archives")) => Self::Archives,
            (Some("members"), Some("outputs")) => Self::Outputs,
            (Some("members"), Some(log)) if log.starts_with("log") => Self::Logs,
            (Some("tasks" | "requests"), _) => Self::Board,
            (Some("config.json"), _) => Self::Roster,
            (Some("traffic.json"), _) => Self::Traffic,
            (Some("limits.json" | "budget.json"), _) => Self::Limits,
            (Some("dead_letters.jsonl"), _) => Self::DeadLetters,
            (Some(events), None) if events.starts_with("events.") => Self::Events,
            _ => Self::Others,
        }
    }

    /// Whether it grows with each message by design.
    pub(super) const fn grows(self) -> bool {
        match self {
            Self::Journals | Self::Logs | Self::Archives | Self::Events => true,
            Self::LeadInbox
            | Self::Inboxes
            | Self::SetAside
            | Self::LiveStates
            | Self::Locks
            | Self::Roster
            | Self::Traffic
            | Self::Limits
            | Self::Board
            | Self::DeadLetters
            | Self::Temporary
            | Self::Outputs
            | Self::Others => false,
        }
    }

    pub(super) const fn label(self) -> &'static str {
        match self {
            Self::LeadInbox => "the lead's inbox",
            Self::Inboxes => "inboxes",
            Self::SetAside => "inboxes set aside",
            Self::LiveStates => "live states",
            Self::Locks => "locks",
            Self::Roster => "roster",
            Self::Traffic => "traffic",
            Self::Limits => "limits and budget",
            Self::Board => "tasks and requests",
            Self::DeadLetters => "dead letters",
            Self::Temporary => "temporary files",
            Self::Outputs => "outputs of tools",
            Self::Journals => "journals",
            Self::Logs => "logs for people",
            Self::Archives => "archives of compacted conversations",
            Self::Events => "event log, all parts",
            Self::Others => "other files",
        }
    }
}

/// The sizes of all files below a folder.
pub(super) fn sizes(root: &Path) -> io::Result<Sizes> {
    let mut sizes = Sizes::new();
    add(root, "", &mut sizes)?;
    Ok(sizes)
}

fn add(folder: &Path, prefix: &str, sizes: &mut Sizes) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{prefix}{name}");
        // A file may be gone by now: that is how temporary ones end.
        let Ok(metadata) = entry.metadata() else {
            continue;
        };
        if metadata.is_dir() {
            add(&entry.path(), &format!("{path}/"), sizes)?;
        } else {
            *sizes.entry(Kind::of(&path)).or_default() += metadata.len();
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_layout_has_a_kind() {
        for (path, kind) in [
            ("config.json", Kind::Roster),
            (".config.json.x1.tmp", Kind::Temporary),
            (".config.lock", Kind::Locks),
            ("inbox/alice.jsonl", Kind::Inboxes),
            ("inbox/lead.jsonl", Kind::LeadInbox),
            ("inbox/.lead.17.jsonl", Kind::LeadInbox),
            ("inbox/.alice.lock", Kind::Locks),
            ("inbox/.alice.17.jsonl", Kind::SetAside),
            ("members/alice/lock", Kind::Locks),
            ("members/.alice.lock", Kind::Locks),
            ("members/alice/transcript.jsonl", Kind::Journals),
            ("members/alice/state.json", Kind::LiveStates),
            ("members/alice/.state.json.spare", Kind::LiveStates),
            ("members/alice/log", Kind::Logs),
            ("members/alice/archives/1.jsonl", Kind::Archives),
            ("members/alice/outputs/1.txt", Kind::Outputs),
            ("tasks/task_7.json", Kind::Board),
            ("requests/1a2b3c4d.json", Kind::Board),
            ("budget.json", Kind::Limits),
            ("traffic.json", Kind::Traffic),
            ("events.jsonl", Kind::Events),
            ("events.3.jsonl", Kind::Events),
            ("dead_letters.jsonl", Kind::DeadLetters),
            ("surprise", Kind::Others),
        ] {
            assert_eq!(Kind::of(path), kind, "{path}");
        }
    }
}
