//! What people are shown about trees.

use crate::trees::is_tree;
use crate::{BRANCH, Integration, IntegrationError, Purpose};
use git::{Distance, Status};
use protocol::{AgentName, Submission};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The tree of a member.
#[derive(Debug, Clone, PartialEq)]
pub struct TreeView {
    pub name: AgentName,
    pub path: PathBuf,
    pub status: Status,
    /// How far it is from the team's branch. `None` if git cannot say it.
    pub distance: Option<Distance>,
    /// Its newest submission.
    pub last: Option<Submission>,
    /// The bytes on the disk.
    pub disk: u64,
}

impl Integration {
    /// The trees of all members, in the order of their names.
    pub fn trees(&self) -> Result<Vec<TreeView>, IntegrationError> {
        let submissions = self.valid_submissions()?;
        let mut views = Vec::new();
        for member in &self.team.roster()?.members {
            let name = member.spec.name.clone();
            let path = self.team.layout().tree(&name);
            if !is_tree(&path) {
                continue;
            }
            let status = self.sandboxed_tree(&path, Purpose::Read).status()?;
            let mut own = submissions.iter().rev();
            let last = own.find(|found| found.member.same_as(&name)).cloned();
            views.push(TreeView {
                distance: self.tree_distance(&path, &status),
                disk: size(&path),
                name,
                path,
                status,
                last,
            });
        }
        views.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(views)
    }

    /// How far a tree is from the team's branch. It is counted in the tree, which has the commits of both.
    fn tree_distance(&self, path: &Path, status: &Status) -> Option<Distance> {
        let head = status.head.as_ref()?;
        let tip = self.repository.reference(BRANCH).ok()??;
        self.sandboxed_tree(path, Purpose::Read)
            .distance(head, &tip)
            .ok()
    }

    /// What a member has changed since its tree parted from the team's branch, or what the team has that
    /// the workspace has not, as a patch.
    pub fn diff(&self, name: Option<&AgentName>) -> Result<Vec<u8>, IntegrationError> {
        let tip = self.repository.reference(BRANCH)?;
        let tip = tip.ok_or(IntegrationError::NoTeamBranch)?;
        let Some(name) = name else {
            let head = self.repository.head()?;
            return Ok(self.repository.patch(&head, &tip)?);
        };
        let path = self.existing_tree(name)?;
        let tree = self.sandboxed_tree(&path, Purpose::Read);
        let mut patch = tree.patch(&tip)?;
        patch.extend(tree.uncommitted_patch()?);
        Ok(patch)
    }

    /// What a submission has changed since it parted from what it was merged onto or, before that, from the
    /// team's branch, as a patch.
    pub fn submission_diff(&self, submission: &Submission) -> Result<Vec<u8>, IntegrationError> {
        let from = match &submission.onto {
            Some(onto) => onto.clone(),
            None => self.team_branch()?,
        };
        Ok(self.repository.patch(&from, &submission.commit)?)
    }
}

/// The bytes that a folder takes on the disk. Files that cannot be read are not counted.
fn size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.path().symlink_metadata() {
            Ok(found) if found.is_dir() => size(&entry.path()),
            Ok(found) => found.blocks().saturating_mul(512),
            Err(_) => 0,
        })
        .sum()
}
