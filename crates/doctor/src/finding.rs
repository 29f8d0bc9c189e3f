//! One thing that is wrong.

use crate::processes::Stray;
use protocol::Recipient;
use std::path::PathBuf;
use teamdir::{StaleFile, UnfinishedLine};

/// Something that is wrong, for people and for programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What kind of thing it is.
    pub kind: Kind,
    /// The member, file or process it is about.
    pub about: String,
    /// What was found.
    pub problem: String,
    /// What that means.
    pub meaning: String,
    /// What to type.
    pub fix: String,
    /// What the program can do about it by itself.
    pub cure: Option<Cure>,
}

/// The kinds of things that can be wrong. Their words are stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A member died and nobody has dealt with it.
    UnreapedDeath,
    /// A task is in progress and nobody works on it.
    OrphanClaim,
    /// A request waits for an answer that cannot come any more.
    OverdueRequest,
    /// A lock is held by a process that is not the member.
    HeldLock,
    /// Mail could not be delivered.
    DeadLetters,
    /// A file ends in the middle of a line.
    UnfinishedLine,
    /// A journal has lines that are no records.
    DamagedJournal,
    /// A file cannot be understood.
    DamagedFile,
    /// A killed writer left a temporary file.
    TemporaryFile,
    /// A file of ours cannot be read or written.
    NoAccess,
    /// A file belongs to another user.
    ForeignOwner,
    /// A process of this team belongs to no member of it.
    StrayProcess,
    /// The system is about to run out of notifications.
    Inotify,
    /// Something is dated in the future.
    Clock,
    /// The program of a teammate is missing.
    NoTeammate,
    /// The chosen model cannot be used.
    NoModel,
}

/// What the program can do by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cure {
    /// What everybody does who looks at a team.
    Repair,
    /// Removing what nobody needs.
    Remove(StaleFile),
    /// Ending a line.
    Close(UnfinishedLine),
    /// Giving ourselves the right to read and write what is ours.
    Allow(PathBuf),
    /// Ending a process.
    End(Stray),
    /// Ending the processes of this team that hold the lock of a member without being it.
    Release(Recipient),
    /// Putting the dead letters into the trash.
    DeadLetters,
    /// Mending a task's file, or putting it into the trash.
    Task(PathBuf),
    /// Putting a request's file into the trash.
    Request(PathBuf),
    /// Taking out of a journal what is no record.
    Journal(Recipient),
    /// Putting a folder into the trash that stands where a file should be.
    Folder(PathBuf),
    /// Giving a file to the user whose team it is. Only root can.
    Give {
        /// The file.
        path: PathBuf,
        /// The user.
        uid: u32,
    },
    /// Putting a copy of ours in the place of another user's file.
    TakeOver(PathBuf),
    /// Allowing more notification instances until the next start of the system.
    Raise(PathBuf),
    /// Dating what is dated in the future as of now.
    Redate,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 16] = [
        Self::UnreapedDeath,
        Self::OrphanClaim,
        Self::OverdueRequest,
        Self::HeldLock,
        Self::DeadLetters,
        Self::UnfinishedLine,
        Self::DamagedJournal,
        Self::DamagedFile,
        Self::TemporaryFile,
        Self::NoAccess,
        Self::ForeignOwner,
        Self::StrayProcess,
        Self::Inotify,
        Self::Clock,
        Self::NoTeammate,
        Self::NoModel,
    ];

    /// The word for programs.
    pub const fn word(self) -> &'static str {
        match self {
            Self::UnreapedDeath => "unreaped_death",
            Self::OrphanClaim => "orphan_claim",
            Self::OverdueRequest => "overdue_request",
            Self::HeldLock => "held_lock",
            Self::DeadLetters => "dead_letters",
            Self::UnfinishedLine => "open_line",
            Self::DamagedJournal => "damaged_journal",
            Self::DamagedFile => "damaged_file",
            Self::TemporaryFile => "temporary_file",
            Self::NoAccess => "no_access",
            Self::ForeignOwner => "foreign_owner",
            Self::StrayProcess => "stray_process",
            Self::Inotify => "inotify",
            Self::Clock => "clock",
            Self::NoTeammate => "no_teammate",
            Self::NoModel => "no_model",
        }
    }
}

/// What to type where the program has a cure.
pub(crate) const FIX: &str = "team-lead doctor --fix";

impl Finding {
    /// A finding that only a person can do something about, by typing `fix`.
    pub(crate) fn for_a_person(
        kind: Kind,
        about: impl Into<String>,
        problem: impl Into<String>,
        meaning: &str,
        fix: impl Into<String>,
    ) -> Self {
        Self {
            kind,
            about: about.into(),
            problem: problem.into(),
            meaning: meaning.to_owned(),
            fix: fix.into(),
            cure: None,
        }
    }

    /// A finding with a cure.
    pub(crate) fn with_cure(
        kind: Kind,
        about: impl Into<String>,
        problem: impl Into<String>,
        meaning: &str,
        cure: Cure,
    ) -> Self {
        let cure = Some(cure);
        let finding = Self::for_a_person(kind, about, problem, meaning, FIX);
        Self { cure, ..finding }
    }
}
