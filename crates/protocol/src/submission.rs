//! Submissions: committed work of a member on its way into the team's branch.

use crate::{AgentName, CommitId, HostId, Incarnation, SubmissionId, TaskId, Timestamp};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

record! {
    /// One submission, as stored in `submissions/<id>.json`.
    pub struct Submission {
        /// Its number, also in its file's name. The queue is in the order of the numbers.
        req id: SubmissionId => "id",
        /// Whose work it is.
        req member: AgentName => "member",
        opt incarnation: Incarnation => "incarnation",
        /// The last commit of the work.
        req commit: CommitId => "commit",
        /// What it is, in a line.
        def subject: String => "subject",
        /// The task that it is for.
        opt task: TaskId => "task",
        /// The result of the task, which is completed when this is merged. Absent if it is not.
        opt completes: String => "completes",
        def status: SubmissionStatus => "status",
        req created_at: Timestamp => "created_at",
        opt ended_at: Timestamp => "ended_at",
        /// What the team's branch was at when the work was merged for the check.
        opt onto: CommitId => "onto",
        /// The commit that the team's branch is moved to, or was.
        opt merge: CommitId => "merge",
        opt conflict: MergeConflict => "conflict",
        opt check: CheckReport => "check",
        /// Why it failed, where it was not the check.
        opt reason: String => "reason",
        /// Whether its author was told how it ended.
        opt told: bool => "told",
        /// The host whose queue it is on its way to, or in. Absent at that host.
        opt sent_to: HostId => "sent_to",
        /// Its number in the queue of that host, once it is there.
        opt taken_as: SubmissionId => "taken_as",
        /// The host that it came from. Absent if it was made here.
        opt host: HostId => "host",
        /// Its number at that host.
        opt origin: SubmissionId => "origin",
    }
}

record! {
    /// Why work could not be merged.
    pub struct MergeConflict {
        def files: Vec<ConflictPart> => "files",
        /// What git says about it.
        def messages: Vec<String> => "messages",
    }
}

record! {
    /// A file in conflict.
    pub struct ConflictPart {
        req path: String => "path",
        /// The lines on which the two sides differ.
        def hunks: String => "hunks",
        /// Who changed it on the team's branch.
        def authors: Vec<String> => "authors",
    }
}

record! {
    /// How a check ended.
    pub struct CheckReport {
        req command: String => "command",
        /// Such as `exit code 1`.
        req end: String => "end",
        def passed: bool => "passed",
        def seconds: u64 => "seconds",
        /// The end of its output.
        def output: String => "output",
        /// The file with the whole output.
        opt file: String => "file",
    }
}

/// How far a submission has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SubmissionStatus {
    /// It waits in the queue.
    #[default]
    Submitted,
    /// It is merged onto the team's branch as it was, and is being checked.
    Checking,
    /// It is in the team's branch.
    Merged,
    /// It cannot be merged, and is its author's again.
    Conflict,
    /// The check failed, or it cannot be used, and it is its author's again.
    Failed,
}

impl SubmissionStatus {
    /// The word as stored.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Submitted => "submitted",
            Self::Checking => "checking",
            Self::Merged => "merged",
            Self::Conflict => "conflict",
            Self::Failed => "failed",
        }
    }

    /// Whether it is still in the queue.
    pub const fn is_open(self) -> bool {
        match self {
            Self::Submitted | Self::Checking => true,
            Self::Merged | Self::Conflict | Self::Failed => false,
        }
    }
}

impl fmt::Display for SubmissionStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Where a member works.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum TreeMode {
    /// In the workspace, with everybody else.
    #[default]
    Shared,
    /// In a tree of its own, whose commits it submits.
    Own,
    /// A word of another program. Who does not know it does not start the member.
    Other(String),
}

/// The branch of a member's own tree.
pub fn tree_branch(member: &AgentName) -> String {
    format!("team/{member}")
}

/// The words that a person may write for a [`TreeMode`].
pub const TREE_WORDS: [&str; 2] = ["own", "shared"];

/// A text is no [`TreeMode`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is neither own nor shared")]
pub struct UnknownTreeMode(String);

impl TreeMode {
    /// The word as stored.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Shared => "shared",
            Self::Own => "own",
            Self::Other(word) => word,
        }
    }
}

impl From<String> for TreeMode {
    fn from(word: String) -> Self {
        match word.as_str() {
            "shared" => Self::Shared,
            "own" => Self::Own,
            _ => Self::Other(word),
        }
    }
}

impl From<TreeMode> for String {
    fn from(mode: TreeMode) -> Self {
        mode.as_str().to_owned()
    }
}

impl FromStr for TreeMode {
    type Err = UnknownTreeMode;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match Self::from(text.to_owned()) {
            Self::Other(word) => Err(UnknownTreeMode(word)),
            known => Ok(known),
        }
    }
}

impl fmt::Display for TreeMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Submission {
    /// New work of a member.
    pub fn new(
        id: SubmissionId,
        member: AgentName,
        commit: CommitId,
        created_at: Timestamp,
    ) -> Self {
        Self {
            id,
            member,
            incarnation: None,
            commit,
            subject: String::new(),
            task: None,
            completes: None,
            status: SubmissionStatus::Submitted,
            created_at,
            ended_at: None,
            onto: None,
            merge: None,
            conflict: None,
            check: None,
            reason: None,
            told: None,
            sent_to: None,
            taken_as: None,
            host: None,
            origin: None,
            extra: crate::Extra::new(),
        }
    }
}
