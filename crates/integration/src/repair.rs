//! Finds and mends what is wrong with trees and submissions. Nothing is destroyed: a tree that git cannot
//! read goes to the trash, and what a lost file said is taken from the events and from the references.

use crate::submit::submission_reference;
use crate::trees::is_tree;
use crate::{BRANCH, Integration, IntegrationError, Purpose};
use protocol::{
    AgentName, CommitId, Event, EventKind, EventLine, Recipient, Submission, SubmissionId,
    SubmissionStatus,
};
use rules::is_due;
use std::path::PathBuf;
use teamdir::Repaired;

/// Submissions that wait although nobody integrates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StalledQueue {
    /// The number of submissions that somebody has to do something about.
    pub due: usize,
    /// The folder that has the team's branch checked out, while which nothing is merged.
    pub blocked_by: Option<PathBuf>,
}

impl Integration {
    /// The trees whose member is not in the roster.
    pub fn trees_without_member(&self) -> Result<Vec<AgentName>, IntegrationError> {
        let roster = self.team.roster()?;
        let names = self.team.tree_names()?.into_iter();
        Ok(names.filter(|name| roster.member(name).is_none()).collect())
    }

    /// Why git cannot work in what is in the place of a member's tree. `None` if it can.
    pub fn tree_fault(&self, name: &AgentName) -> Option<String> {
        let path = self.team.layout().tree(name);
        if !is_tree(&path) {
            return Some("it has no folder .git".to_owned());
        }
        match self.sandboxed_tree(&path, Purpose::Read).status() {
            Ok(status) if status.head.is_some() => None,
            Ok(_) => Some("it has no commit".to_owned()),
            Err(error) => Some(error.to_string()),
        }
    }

    /// Moves a tree that git cannot read to the trash, so that its member gets a new one. `None` if it can
    /// be read by now.
    pub fn set_tree_aside(&self, name: &AgentName) -> Result<Option<Repaired>, IntegrationError> {
        let owner = Recipient::Member(name.clone());
        let guard = self.team.lock_absent_member(&owner)?;
        let guard = guard.ok_or_else(|| IntegrationError::Running(name.clone()))?;
        if self.tree_fault(name).is_none() {
            return Ok(None);
        }
        let kept = self.team.trash_tree(name)?;
        drop(guard);
        Ok(kept)
    }

    /// Submissions that wait although no process integrates them.
    pub fn stalled_queue(&self) -> Result<Option<StalledQueue>, IntegrationError> {
        let due = self
            .valid_submissions()?
            .iter()
            .filter(|s| is_due(s))
            .count();
        if due == 0 || self.team.is_integrating() {
            return Ok(None);
        }
        let blocked_by = self.repository.checked_out(BRANCH)?.into_iter().next();
        Ok(Some(StalledQueue { due, blocked_by }))
    }

    /// Writes the file of a submission anew that cannot be read. Its commit is under its reference, and the
    /// events say whose it is and how it ended. One that had not ended is in the queue again, where
    /// nothing happens twice. `None` if the file can be read by now.
    pub fn restore_submission(
        &self,
        id: SubmissionId,
    ) -> Result<Option<Repaired>, IntegrationError> {
        let commit = self.repository.reference(&submission_reference(id))?;
        let commit = commit.ok_or(IntegrationError::NothingKnown(id))?;
        let known = self.known_from_events(id, &commit)?;
        let known = known.ok_or(IntegrationError::NothingKnown(id))?;
        let subject = self.repository.subject_unless_in(None, &commit)?;
        let subject = subject.unwrap_or_default();
        Ok(self
            .team
            .replace_submission(&Submission { subject, ..known })?)
    }

    fn known_from_events(
        &self,
        id: SubmissionId,
        submitted: &CommitId,
    ) -> Result<Option<Submission>, IntegrationError> {
        let mut known: Option<Submission> = None;
        self.team.read_events(|line| {
            let EventLine::Known(Event { time, kind, .. }) = EventLine::decode(line) else {
                return;
            };
            let EventKind::Submission {
                submission,
                member,
                status,
                commit,
                task,
                host,
                origin,
            } = kind
            else {
                return;
            };
            if submission != id {
                return;
            }
            let first = || Submission::new(id, member, submitted.clone(), time);
            let known = known.get_or_insert_with(first);
            known.task = task;
            // By these its own host knows what it is told of.
            (known.host, known.origin) = (host, origin);
            known.merge = (status == SubmissionStatus::Merged).then_some(commit);
            known.ended_at = (!status.is_open()).then_some(time);
            // Merged again for the check, if it had not ended.
            known.status = match status {
                SubmissionStatus::Checking => SubmissionStatus::Submitted,
                other => other,
            };
            if matches!(
                status,
                SubmissionStatus::Conflict | SubmissionStatus::Failed
            ) {
                let reason =
                    "why it was returned is not known any more, because its file was damaged";
                known.reason = Some(reason.to_owned());
            }
        })?;
        Ok(known)
    }
}
