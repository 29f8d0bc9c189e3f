//! Brings the team's branch into a branch of the user's.

use crate::{BRANCH, Integration, IntegrationError};
use git::{Commit, GitError, Merge};
use protocol::{CommitId, EventKind};

/// How the team's work is landed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LandOptions {
    /// As one commit that does not have the team's commits as parents.
    pub squash: bool,
    /// Into this branch; the one that is checked out if absent.
    pub into: Option<String>,
    /// The message of a commit that has to be made.
    pub message: Option<String>,
    /// The name and address of whoever lands.
    pub author: Option<(String, String)>,
}

/// What was landed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Landed {
    pub branch: String,
    pub commit: CommitId,
    /// Whether the branch had everything before.
    pub was_there: bool,
}

impl Integration {
    /// Moves a branch of the user's forward, by fast-forward or with a merge commit. Its work tree must be
    /// clean, and follows; a branch that is checked out elsewhere is left alone. Moving a branch under its
    /// work tree would stage the reverse of everything that came.
    pub fn land(&self, options: &LandOptions) -> Result<Landed, IntegrationError> {
        let tip = self.repository.reference(BRANCH)?;
        let tip = tip.ok_or(IntegrationError::NoTeamBranch)?;
        self.repository.claim(teamdir::FOLDER)?;
        let here = self.repository.work_tree()?;
        let branch = match (&options.into, here.operation) {
            (Some(name), _) => format!("refs/heads/{name}"),
            // In the middle of a rebase no branch is checked out.
            (None, Some(operation)) => return Err(IntegrationError::Operation(operation)),
            (None, None) => here.branch.clone().ok_or(IntegrationError::Detached)?,
        };
        let short = branch
            .strip_prefix("refs/heads/")
            .unwrap_or(&branch)
            .to_owned();
        if branch == BRANCH {
            return Err(IntegrationError::NoBranch(format!(
                "besides {short} itself to land in"
            )));
        }
        let is_here = here.branch.as_deref() == Some(&branch);
        if is_here {
            if let Some(operation) = here.operation {
                return Err(IntegrationError::Operation(operation));
            }
            if !here.uncommitted.is_empty() {
                let names: Vec<String> = here.uncommitted.into_iter().take(5).collect();
                return Err(IntegrationError::Dirty(names.join(", ")));
            }
        } else if let Some(folder) = self.repository.checked_out(&branch)?.into_iter().next() {
            return Err(IntegrationError::CheckedOutElsewhere {
                branch: short,
                folder,
            });
        }
        let from = self.repository.reference(&branch)?;
        let from = from.ok_or_else(|| IntegrationError::NoBranch(short.clone()))?;
        let Some(commit) = self.landed_commit(&from, &tip, &short, options)? else {
            return Ok(Landed {
                branch: short,
                commit: from,
                was_there: true,
            });
        };
        match is_here {
            true => self.repository.fast_forward(&commit)?,
            false => self
                .repository
                .move_reference(&branch, &commit, Some(&from), "team: land")?,
        }
        // The events only tell people.
        let _ = self.team.log_event(EventKind::Land {
            branch: short.clone(),
            commit: commit.clone(),
        });
        Ok(Landed {
            branch: short,
            commit,
            was_there: false,
        })
    }

    /// The descendant of the branch that has the team's work. `None` if the branch has it.
    fn landed_commit(
        &self,
        from: &CommitId,
        tip: &CommitId,
        branch: &str,
        options: &LandOptions,
    ) -> Result<Option<CommitId>, IntegrationError> {
        if self.repository.contains(from, tip)? {
            return Ok(None);
        }
        if !options.squash && self.repository.contains(tip, from)? {
            return Ok(Some(tip.clone()));
        }
        let tree = match self.repository.merge(from, tip)? {
            Merge::Clean(tree) => tree,
            Merge::Conflict(conflict) => {
                let files = conflict.files.into_iter().map(|file| file.path);
                let what = files.chain(conflict.messages).take(10).collect::<Vec<_>>();
                return Err(IntegrationError::LandConflict {
                    branch: branch.to_owned(),
                    what: what.join("; "),
                });
            }
        };
        if tree == self.repository.tree_of(from)? {
            return Ok(None);
        }
        let team = self.team.roster()?.team_name.0.clone();
        let team = team.split_whitespace().collect::<Vec<_>>().join(" ");
        let default = match options.squash {
            true => format!("Work of the team {team}"),
            false => format!("Merge the work of the team {team} into {branch}"),
        };
        let subject = options.message.as_deref().unwrap_or(&default);
        let message = format!("{subject}\n\nTeam: {team}\n");
        let person = options.author.clone().ok_or(GitError::NoIdentity)?;
        let person = (person.0.as_str(), person.1.as_str());
        let parents: &[&CommitId] = match options.squash {
            true => &[from],
            false => &[from, tip],
        };
        Ok(Some(self.repository.commit(&Commit {
            tree: &tree,
            parents,
            message: &message,
            author: person,
            committer: person,
        })?))
    }

    /// The name and address that the user commits with.
    pub fn identity(&self) -> Result<Option<(String, String)>, IntegrationError> {
        Ok(self.repository.identity()?)
    }
}
