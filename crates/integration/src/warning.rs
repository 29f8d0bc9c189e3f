//! Warns members early whose committed work would be in conflict.

use crate::trees::is_tree;
use crate::{BRANCH, Integration, IntegrationError, Purpose, base_reference};
use git::Merge;
use protocol::{AgentName, CommitId, NoticeCause, Recipient};
use team::notice;

/// The most members that one is compared with.
const MOST_OTHERS: usize = 32;

impl Integration {
    /// Compares what a member has committed with what others have committed, and tells both of a conflict,
    /// once for each pair of commits. Returns the names of the others.
    pub fn warn_of_conflicts(&self, name: &AgentName) -> Result<Vec<AgentName>, IntegrationError> {
        let Some(own) = self.publish_work(name)? else {
            return Ok(Vec::new());
        };
        let mut warned = Vec::new();
        let roster = self.team.roster()?;
        let others = roster.members.iter().map(|member| member.spec.name.clone());
        let others = others.filter(|other| !other.same_as(name));
        for other in others.take(MOST_OTHERS) {
            let Some(theirs) = self.repository.reference(&work_reference(&other))? else {
                continue;
            };
            if self.repository.contains(&own, &theirs)?
                || self.repository.contains(&theirs, &own)?
            {
                continue;
            }
            let Merge::Conflict(conflict) = self.repository.merge(&theirs, &own)? else {
                continue;
            };
            let files: Vec<String> = conflict.files.into_iter().map(|file| file.path).collect();
            let files = files.join(", ");
            // The pair is sorted, so that it has one id whoever is compared first.
            let mut pair = [(name, &own), (&other, &theirs)];
            pair.sort_by_key(|(name, _)| name.as_str());
            let [(first, one), (second, two)] = pair;
            let id = format!("conflict/{first}/{}/{second}/{}", one.short(), two.short());
            for (to, whose) in [(name, &other), (&other, name)] {
                let text = format!(
                    "What you have committed will be in conflict with what {whose} has committed and \
                     not merged yet, in: {files}. Agree with {whose} on who changes what."
                );
                let to = Recipient::Member(to.clone());
                notice(&self.team, to, NoticeCause::Submission, &id, &text)?;
            }
            warned.push(other);
        }
        Ok(warned)
    }

    /// Puts a member's committed and unmerged work under a reference, so that others can be compared with
    /// it. `None` if there is no such work.
    fn publish_work(&self, name: &AgentName) -> Result<Option<CommitId>, IntegrationError> {
        let path = self.team.layout().tree(name);
        let (true, Some(tip)) = (is_tree(&path), self.repository.reference(BRANCH)?) else {
            return Ok(None);
        };
        let tree = self.sandboxed_tree(&path, Purpose::Read);
        let reference = work_reference(name);
        let before = self.repository.reference(&reference)?;
        let Some(head) = tree.status()?.head else {
            return Ok(None);
        };
        if before.as_ref() != Some(&head) {
            let base = self.repository.reference(&base_reference(name))?;
            let known: Vec<CommitId> = std::iter::once(tip.clone()).chain(base).collect();
            self.repository.receive(&tree, &head, &known)?;
        }
        if self.repository.contains(&tip, &head)? {
            if let Some(before) = before {
                self.repository.delete_reference(&reference, &before)?;
            }
            return Ok(None);
        }
        if before.as_ref() != Some(&head) {
            self.repository
                .move_reference(&reference, &head, before.as_ref(), "team: work")?;
        }
        Ok(Some(head))
    }
}

/// The reference of what a member has committed and not merged.
fn work_reference(name: &AgentName) -> String {
    format!("refs/team/work/{name}")
}
