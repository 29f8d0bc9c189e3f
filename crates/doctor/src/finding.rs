//! What is wrong with a team, and how to fix it.

use crate::orphan_processes::OrphanProcess;
use protocol::{AgentName, Recipient, SubmissionId};
use std::path::PathBuf;
use teamdir::{StaleFile, UnfinishedLine};

/// A problem, for people and for programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub kind: Kind,
    /// The member, file or process that has the problem.
    pub about: String,
    pub problem: String,
    /// What the problem means for the team.
    pub meaning: String,
    /// The command that a person types to fix it.
    pub command: String,
    /// The automatic fix, if there is one.
    pub fix: Option<Fix>,
}

/// The kinds of problems. Their names are stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A member died and no process has reaped it.
    UnreapedDeath,
    /// A task is in progress and nobody works on it.
    OrphanClaim,
    /// Tasks are for a role that no member has.
    MissingRole,
    /// A request waits for an answer that can no longer come.
    OverdueRequest,
    /// A command was cut off, and nobody has looked for what it created.
    UnfinishedCommand,
    /// A lock is held by a process that is not the member.
    HeldLock,
    /// Mail could not be delivered.
    DeadLetters,
    /// A file ends in the middle of a line.
    UnfinishedLine,
    /// A journal has lines that are not records.
    DamagedJournal,
    /// Records of a journal were written over several lines.
    SplitJournal,
    /// A file cannot be parsed.
    DamagedFile,
    /// A killed writer left a temporary file.
    TemporaryFile,
    /// A file cannot be read or written.
    NoAccess,
    /// Something else stands in the place of a file or folder: a link, a FIFO, a device.
    Misplaced,
    /// A file has other names (hard links).
    SeveralNames,
    /// A file belongs to another user.
    ForeignOwner,
    /// A process of this team belongs to no member.
    OrphanProcess,
    /// The own tree of a member that is not in the team.
    TreeWithoutMember,
    /// Git cannot work in a member's own tree.
    BrokenTree,
    /// Submissions wait, and nobody integrates them.
    StalledSubmissions,
    /// The user is running out of inotify instances.
    Inotify,
    /// Something is dated in the future.
    Clock,
    /// The program of a teammate is missing.
    NoTeammate,
    /// The chosen model cannot be used.
    NoModel,
    /// Instructions or a skill that people wrote for the members cannot be used.
    UnusableText,
}

/// An automatic fix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fix {
    /// The repair that every command does.
    Repair,
    /// Remove a file that is no longer needed.
    RemoveFile(StaleFile),
    /// Append the missing newline.
    CloseLine(UnfinishedLine),
    /// Grant the owner access.
    GrantAccess(PathBuf),
    EndProcess(OrphanProcess),
    /// End processes of this team that hold the lock of a member without being the member.
    ReleaseLock(Recipient),
    /// Move the dead letters to the trash.
    DeadLetters,
    /// Repair the file of a task, or move it to the trash.
    Task(PathBuf),
    /// Move the file of a request to the trash.
    Request(PathBuf),
    /// Remove lines that are not records from a journal.
    Journal(Recipient),
    /// Write the file of a submission anew.
    Submission(SubmissionId),
    /// Move the tree of a member to the trash.
    BrokenTree(AgentName),
    /// Remove a tree, and keep what is not merged under references.
    TreeWithoutMember(AgentName),
    /// Move something to the trash that is where a file or folder is expected.
    Misplaced(PathBuf),
    /// Give a file to the user who owns the team folder. Only root can.
    Chown {
        path: PathBuf,
        uid: u32,
    },
    /// Replace a file of another user, or one with several names, by a copy.
    TakeOver(PathBuf),
    /// Raise the limit of inotify instances until the system restarts.
    RaiseInotifyLimit(PathBuf),
    /// Set times in the future to now.
    Redate,
}

impl Kind {
    pub const ALL: [Self; 25] = [
        Self::UnreapedDeath,
        Self::OrphanClaim,
        Self::MissingRole,
        Self::OverdueRequest,
        Self::UnfinishedCommand,
        Self::HeldLock,
        Self::DeadLetters,
        Self::UnfinishedLine,
        Self::DamagedJournal,
        Self::SplitJournal,
        Self::DamagedFile,
        Self::TemporaryFile,
        Self::NoAccess,
        Self::Misplaced,
        Self::SeveralNames,
        Self::ForeignOwner,
        Self::OrphanProcess,
        Self::TreeWithoutMember,
        Self::BrokenTree,
        Self::StalledSubmissions,
        Self::Inotify,
        Self::Clock,
        Self::NoTeammate,
        Self::NoModel,
        Self::UnusableText,
    ];

    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::UnreapedDeath => "unreaped_death",
            Self::OrphanClaim => "orphan_claim",
            Self::MissingRole => "missing_role",
            Self::OverdueRequest => "overdue_request",
            Self::UnfinishedCommand => "unfinished_command",
            Self::HeldLock => "held_lock",
            Self::DeadLetters => "dead_letters",
            Self::UnfinishedLine => "unfinished_line",
            Self::DamagedJournal => "damaged_journal",
            Self::SplitJournal => "split_journal",
            Self::DamagedFile => "damaged_file",
            Self::TemporaryFile => "temporary_file",
            Self::NoAccess => "no_access",
            Self::Misplaced => "misplaced",
            Self::SeveralNames => "several_names",
            Self::ForeignOwner => "foreign_owner",
            Self::OrphanProcess => "orphan_process",
            Self::TreeWithoutMember => "tree_without_member",
            Self::BrokenTree => "broken_tree",
            Self::StalledSubmissions => "stalled_submissions",
            Self::Inotify => "inotify",
            Self::Clock => "clock",
            Self::NoTeammate => "no_teammate",
            Self::NoModel => "no_model",
            Self::UnusableText => "unusable_text",
        }
    }
}

/// The command that applies automatic fixes.
pub(crate) const FIX_COMMAND: &str = "team-lead doctor --fix";

impl Finding {
    /// A finding that a person has to fix, with `command`.
    pub(crate) fn manual(
        kind: Kind,
        about: impl Into<String>,
        problem: impl Into<String>,
        meaning: &str,
        command: impl Into<String>,
    ) -> Self {
        Self {
            kind,
            about: about.into(),
            problem: problem.into(),
            meaning: meaning.to_owned(),
            command: command.into(),
            fix: None,
        }
    }

    /// A finding with an automatic fix.
    pub(crate) fn automatic(
        kind: Kind,
        about: impl Into<String>,
        problem: impl Into<String>,
        meaning: &str,
        fix: Fix,
    ) -> Self {
        let fix = Some(fix);
        let finding = Self::manual(kind, about, problem, meaning, FIX_COMMAND);
        Self { fix, ..finding }
    }
}
