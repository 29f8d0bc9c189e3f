//! Makes the tree of a member, and keeps it informed about the team's branch.

use crate::{
    BRANCH, HOME_MAIN, Integration, IntegrationError, Purpose, UPSTREAM, author, base_reference,
};
use git::{GitError, NewTree};
use protocol::{AgentName, CommitId, EventKind, tree_branch};
use std::path::{Path, PathBuf};

/// The tree of a member that starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnsuredTree {
    pub path: PathBuf,
    /// Whether it was made just now.
    pub is_new: bool,
    /// What the person has not committed, which a new tree does not have.
    pub not_included: Vec<String>,
}

impl Integration {
    /// The tree of a member, as its last process has left it, or a new one. Only the process that is the
    /// member may call this.
    pub fn ensure_tree(&self, name: &AgentName) -> Result<EnsuredTree, IntegrationError> {
        let path = self.team.layout().tree(name);
        if is_tree(&path) {
            // It can work without the newest state of the team's branch.
            let _ = self.refresh(name);
            return Ok(EnsuredTree {
                path,
                is_new: false,
                not_included: Vec::new(),
            });
        }
        if name.as_str().eq_ignore_ascii_case("main") {
            return Err(IntegrationError::ReservedName(name.clone()));
        }
        self.team.trees_folder()?;
        let base = self.team_branch()?;
        self.keep(name, &base)?;
        let (author_name, address) = author(name);
        self.repository.create_tree(&NewTree {
            path: &path,
            branch: &tree_branch(name),
            base: &base,
            author: (&author_name, &address),
            upstream: UPSTREAM,
        })?;
        if let Err(error) = self.set_up(&path) {
            // Nobody has worked in it.
            let _ = std::fs::remove_dir_all(&path);
            return Err(error);
        }
        // The events only tell people.
        let _ = self.team.log_event(EventKind::Tree {
            member: name.clone(),
            action: "created".to_owned(),
            commit: base,
        });
        let not_included = self.repository.work_tree().map(|tree| tree.uncommitted);
        Ok(EnsuredTree {
            path,
            is_new: true,
            not_included: not_included.unwrap_or_default(),
        })
    }

    /// The commit that the team's branch is at. The branch is made where the workspace is, and follows it
    /// as long as nothing was merged that the workspace does not have.
    pub fn team_branch(&self) -> Result<CommitId, IntegrationError> {
        self.repository.claim(teamdir::FOLDER)?;
        let is_home = self.team.roster()?.lead_host.is_none();
        loop {
            let tip = self.repository.reference(BRANCH)?;
            let moved = match &tip {
                // It follows that of the home of the queue, and nothing else.
                Some(tip) if !is_home => return Ok(tip.clone()),
                None => {
                    if let Some(operation) = self.repository.operation() {
                        return Err(IntegrationError::Operation(operation));
                    }
                    if let Some(name) = self.repository.in_the_way_of(BRANCH)? {
                        let name = name.strip_prefix("refs/heads/").unwrap_or(&name);
                        return Err(IntegrationError::BranchInTheWay(name.to_owned()));
                    }
                    let there = match is_home {
                        true => None,
                        false => self.repository.reference(HOME_MAIN)?,
                    };
                    let head = match there {
                        Some(there) => there,
                        None => self.repository.head()?,
                    };
                    self.repository
                        .move_reference(BRANCH, &head, None, "team: begin")
                        .map(|()| head)
                }
                Some(tip) => match self.newer_head(tip)? {
                    None => return Ok(tip.clone()),
                    Some(head) => self
                        .repository
                        .move_reference(BRANCH, &head, Some(tip), "team: follow the workspace")
                        .map(|()| head),
                },
            };
            match moved {
                Ok(head) => return Ok(head),
                Err(GitError::Moved { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The commit of the workspace, if it is a true descendant of the team's branch and nobody has that
    /// branch checked out.
    fn newer_head(&self, tip: &CommitId) -> Result<Option<CommitId>, IntegrationError> {
        if self.repository.operation().is_some() {
            return Ok(None);
        }
        let head = self.repository.head()?;
        let is_newer = head != *tip
            && self.repository.contains(&head, tip)?
            && self.repository.checked_out(BRANCH)?.is_empty();
        Ok(is_newer.then_some(head))
    }

    /// Tells a member's tree where the team's branch is.
    pub fn refresh(&self, name: &AgentName) -> Result<(), IntegrationError> {
        let path = self.team.layout().tree(name);
        let Some(tip) = self.repository.reference(BRANCH)? else {
            return Ok(());
        };
        self.keep(name, &tip)?;
        let tree = self.sandboxed_tree(&path, Purpose::Change);
        Ok(tree.set_reference(UPSTREAM, &tip)?)
    }

    /// Protects what a tree borrows from being pruned. If the branch was moved back, what was protected
    /// before stays so under another name.
    fn keep(&self, name: &AgentName, base: &CommitId) -> Result<(), IntegrationError> {
        let reference = base_reference(name);
        let before = self.repository.reference(&reference)?;
        if before.as_ref() == Some(base) {
            return Ok(());
        }
        if let Some(before) = &before
            && !self.repository.contains(base, before)?
        {
            let kept = format!("refs/team/rescue/{name}/base-{}", before.short());
            let found = self.repository.reference(&kept)?;
            self.repository
                .move_reference(&kept, before, found.as_ref(), "team: keep")?;
        }
        self.repository
            .move_reference(&reference, base, before.as_ref(), "team: base")?;
        Ok(())
    }

    /// Rebases the branch of a member that does not run onto the team's branch.
    pub fn rebase(&self, name: &AgentName) -> Result<CommitId, IntegrationError> {
        let path = self.existing_tree(name)?;
        self.refresh(name)?;
        let tip = self.repository.reference(BRANCH)?;
        let tip = tip.ok_or(IntegrationError::NoTeamBranch)?;
        self.sandboxed_tree(&path, Purpose::Change).rebase(&tip)?;
        Ok(tip)
    }

    /// The tree of a member that has one.
    pub(crate) fn existing_tree(&self, name: &AgentName) -> Result<PathBuf, IntegrationError> {
        let path = self.team.layout().tree(name);
        match is_tree(&path) {
            true => Ok(path),
            false => Err(IntegrationError::NoTree(name.clone())),
        }
    }
}

/// Whether there is a tree at this path; links are none.
pub(crate) fn is_tree(path: &Path) -> bool {
    let is_folder = |path: &Path| path.symlink_metadata().is_ok_and(|found| found.is_dir());
    is_folder(path) && is_folder(&path.join(".git"))
}
