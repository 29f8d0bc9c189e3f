//! Submits the committed work of a member.

use crate::trees::is_tree;
use crate::{BRANCH, Integration, IntegrationError, Purpose, base_reference};
use git::{GitError, Status};
use protocol::{AgentName, CommitId, Incarnation, Submission, SubmissionId, TaskId};
use teamdir::{SubmissionError, now};

/// What is submitted, and for what.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Work {
    pub incarnation: Option<Incarnation>,
    /// The task that it is for.
    pub task: Option<TaskId>,
    /// The result of the task, which is completed when the work is merged.
    pub completes: Option<String>,
}

/// The result of submitting.
#[derive(Debug, Clone, PartialEq)]
pub struct Submitted {
    pub submission: Submission,
    /// Whether the same commit was already in the queue.
    pub was_there: bool,
    /// What is not committed, and therefore not submitted.
    pub uncommitted: Vec<String>,
}

impl Integration {
    /// The state of a member's tree, as git in the tree reports it. `None` if the member has no tree.
    pub fn tree_status(&self, name: &AgentName) -> Result<Option<Status>, IntegrationError> {
        let path = self.team.layout().tree(name);
        if !is_tree(&path) {
            return Ok(None);
        }
        Ok(Some(self.sandboxed_tree(&path, Purpose::Read).status()?))
    }

    /// Puts the last commit of a member into the queue. [`Integration::run_queue`] does the rest.
    pub fn submit(&self, name: &AgentName, work: &Work) -> Result<Submitted, IntegrationError> {
        let path = self.existing_tree(name)?;
        let tree = self.sandboxed_tree(&path, Purpose::Read);
        let status = tree.status()?;
        let commit = status.head.clone();
        let commit = commit.ok_or_else(|| IntegrationError::NoCommit(name.clone()))?;
        let uncommitted = status.uncommitted;
        if let Some(submission) = self.in_queue(name, &commit)? {
            return Ok(Submitted {
                submission,
                was_there: true,
                uncommitted,
            });
        }
        // The queue decides whether the branch follows the workspace.
        let tip = match self.repository.reference(BRANCH)? {
            Some(tip) => tip,
            None => self.team_branch()?,
        };
        let base = self.repository.reference(&base_reference(name))?;
        let known: Vec<CommitId> = std::iter::once(tip.clone()).chain(base).collect();
        self.repository.receive(&tree, &commit, &known)?;
        let subject = self.repository.subject_unless_in(Some(&tip), &commit)?;
        let Some(subject) = subject else {
            let more = match uncommitted.as_slice() {
                [] => String::new(),
                names => format!("; not committed: {}", names.join(", ")),
            };
            let name = name.clone();
            return Err(IntegrationError::NothingNew { name, more });
        };
        let submission = self.team.create_submission(|id| {
            self.keep_submitted(id, &commit)?;
            Ok::<_, IntegrationError>(Submission {
                incarnation: work.incarnation,
                subject,
                task: work.task,
                completes: work.completes.clone(),
                ..Submission::new(id, name.clone(), commit.clone(), now())
            })
        })?;
        Ok(Submitted {
            submission,
            was_there: false,
            uncommitted,
        })
    }

    /// Keeps a submitted commit for ever, under a reference. If the reference exists without a file, a
    /// killed process or an earlier team left it, and its commit is kept under another name.
    pub(crate) fn keep_submitted(
        &self,
        id: SubmissionId,
        commit: &CommitId,
    ) -> Result<(), IntegrationError> {
        let reference = submission_reference(id);
        let why = "team: submit";
        let create = self
            .repository
            .move_reference(&reference, commit, None, why);
        if !matches!(create, Err(GitError::Moved { .. })) {
            return Ok(create?);
        }
        let found = self.repository.reference(&reference)?;
        if let Some(before) = found.as_ref().filter(|before| *before != commit) {
            let kept = format!("refs/team/rescue/submissions/{id}-{}", before.short());
            if self.repository.reference(&kept)?.is_none() {
                self.repository
                    .move_reference(&kept, before, None, "team: keep")?;
            }
        }
        Ok(self
            .repository
            .move_reference(&reference, commit, found.as_ref(), why)?)
    }

    /// The submission of a commit that is still in the queue.
    fn in_queue(
        &self,
        name: &AgentName,
        commit: &CommitId,
    ) -> Result<Option<Submission>, IntegrationError> {
        let all = self.valid_submissions()?.into_iter();
        let mut same = all.filter(|found| found.member.same_as(name) && found.commit == *commit);
        Ok(same.find(|found| found.status.is_open()))
    }

    /// All submissions whose files can be read, by number.
    pub fn valid_submissions(&self) -> Result<Vec<Submission>, IntegrationError> {
        let all = self.team.submissions().map_err(SubmissionError::File)?;
        Ok(all.into_iter().flatten().collect())
    }

    /// Whether a member has committed work, up to `head`, that is neither in the team's branch nor
    /// submitted.
    pub fn is_unsubmitted(
        &self,
        name: &AgentName,
        head: &CommitId,
    ) -> Result<bool, IntegrationError> {
        let mut all = self.valid_submissions()?.into_iter();
        if all.any(|found| found.member.same_as(name) && found.commit == *head) {
            return Ok(false);
        }
        let Some(tip) = self.repository.reference(BRANCH)? else {
            return Ok(false);
        };
        // A commit that is not in the repository is new.
        Ok(!self.repository.contains(&tip, head).unwrap_or(false))
    }
}

/// The reference of a submitted commit.
pub(crate) fn submission_reference(id: SubmissionId) -> String {
    format!("refs/team/submissions/{id}")
}
