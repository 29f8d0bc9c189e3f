//! Removes trees, but only if nothing is lost with them.

use crate::{BRANCH, Integration, IntegrationError, Purpose, UPSTREAM, base_reference};
use git::{SandboxedTree, Status};
use protocol::{AgentName, CommitId, EventKind, Recipient};

/// What became of a tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Removed {
    /// The references that keep what was not in the team's branch.
    pub rescued: Vec<String>,
}

impl Integration {
    /// Removes the tree of a member that does not run, if everything in it is in the team's branch. With
    /// `rescue` the rest is kept under `refs/team/rescue/`; ignored files are not.
    pub fn remove_tree(&self, name: &AgentName, rescue: bool) -> Result<Removed, IntegrationError> {
        let path = self.existing_tree(name)?;
        let owner = Recipient::Member(name.clone());
        // While the member's lock is held, no process can become the member.
        let guard = self.team.lock_absent_member(&owner)?;
        let guard = guard.ok_or_else(|| IntegrationError::Running(name.clone()))?;
        let tree = self.sandboxed_tree(&path, Purpose::Read);
        let status = tree.status()?;
        let tip = self.repository.reference(BRANCH)?;
        let tip = tip.ok_or(IntegrationError::NoTeamBranch)?;
        let mut kept = self.unmerged(&tree, &status, &tip)?;
        if let Some(head) = &status.head
            && rescue
            && !status.uncommitted.is_empty()
        {
            let writable = self.sandboxed_tree(&path, Purpose::Change);
            let snapshot = writable.snapshot(head, "Uncommitted work")?;
            self.repository
                .receive(&tree, &snapshot, std::slice::from_ref(&tip))?;
            kept.push(("uncommitted".to_owned(), snapshot));
        }
        let has_more = !kept.is_empty() || !status.uncommitted.is_empty();
        if !rescue && has_more {
            let commits = kept.iter().map(|(reference, _)| reference.clone());
            let files = status.uncommitted.iter().cloned();
            let what: Vec<String> = commits.chain(files).take(10).collect();
            let (name, what) = (name.clone(), what.join(", "));
            return Err(IntegrationError::Unmerged { name, what });
        }
        let removed = self.rescue(name, &kept)?;
        std::fs::remove_dir_all(&path)
            .map_err(|error| IntegrationError::file("remove", &path, error))?;
        if let Some(base) = self.repository.reference(&base_reference(name))? {
            self.repository
                .delete_reference(&base_reference(name), &base)?;
        }
        let action = match removed.rescued.is_empty() {
            true => "removed",
            false => "kept",
        };
        // Events are only for observers.
        let _ = self.team.log_event(EventKind::Tree {
            member: name.clone(),
            action: action.to_owned(),
            commit: status.head.unwrap_or(tip),
        });
        drop(guard);
        Ok(removed)
    }

    /// What references and the head of a tree name and the team's branch has not. The repository has all of
    /// it when this returns.
    fn unmerged(
        &self,
        tree: &SandboxedTree,
        status: &Status,
        tip: &CommitId,
    ) -> Result<Vec<(String, CommitId)>, IntegrationError> {
        let tips = tree.tips()?.into_iter();
        let mut tips: Vec<_> = tips
            .filter(|(reference, _)| reference != UPSTREAM)
            .collect();
        if let Some(head) = &status.head
            && !tips.iter().any(|(_, commit)| commit == head)
        {
            tips.push(("HEAD".to_owned(), head.clone()));
        }
        let mut unmerged = Vec::new();
        for (reference, commit) in tips {
            self.repository
                .receive(tree, &commit, std::slice::from_ref(tip))?;
            if !self.repository.contains(tip, &commit)? {
                unmerged.push((reference, commit));
            }
        }
        Ok(unmerged)
    }

    fn rescue(
        &self,
        name: &AgentName,
        kept: &[(String, CommitId)],
    ) -> Result<Removed, IntegrationError> {
        let mut removed = Removed::default();
        for (reference, commit) in kept {
            let short = reference.rsplit('/').next().unwrap_or(reference);
            let kept = format!("refs/team/rescue/{name}/{short}-{}", commit.short());
            let found = self.repository.reference(&kept)?;
            self.repository
                .move_reference(&kept, commit, found.as_ref(), "team: rescue")?;
            removed.rescued.push(kept);
        }
        Ok(removed)
    }
}
