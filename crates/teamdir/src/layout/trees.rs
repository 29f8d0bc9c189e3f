//! The paths of members' own trees, and of what was submitted from them.

use super::{Layout, number};
use protocol::{AgentName, SubmissionId};
use std::path::PathBuf;

impl Layout {
    /// The folder of all submissions.
    pub fn submissions_dir(&self) -> PathBuf {
        self.root.join("submissions")
    }

    /// The file of one submission.
    pub fn submission(&self, id: SubmissionId) -> PathBuf {
        self.submissions_dir().join(format!("{id}.json"))
    }

    /// The number in the name of a submission's file.
    pub(crate) fn submission_id(file_name: &str) -> Option<SubmissionId> {
        number(file_name.strip_suffix(".json")?).map(SubmissionId)
    }

    /// The output of the checks of one submission.
    pub fn check_output(&self, id: SubmissionId) -> PathBuf {
        self.submissions_dir().join(format!("{id}.log"))
    }

    pub(crate) fn submissions_lock(&self) -> PathBuf {
        self.submissions_dir().join(".lock")
    }

    /// Held by the process that integrates submissions.
    pub(crate) fn integration_lock(&self) -> PathBuf {
        self.submissions_dir().join(".integration.lock")
    }

    /// The folder of the members' own trees.
    pub fn trees_dir(&self) -> PathBuf {
        self.root.join("trees")
    }

    /// The own tree of `name`.
    pub fn tree(&self, name: &AgentName) -> PathBuf {
        self.trees_dir().join(name.as_str())
    }

    /// Where a submission is checked. No name of a member begins with a dot.
    pub fn check_tree(&self, id: SubmissionId) -> PathBuf {
        self.trees_dir().join(format!(".check-{id}"))
    }

    /// A git folder without settings, for work on the objects of the workspace's repository.
    pub fn neutral_git(&self) -> PathBuf {
        self.root.join("git")
    }
}
