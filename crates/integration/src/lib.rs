//! Own trees of members, and the queue that brings their work back.
//!
//! # Theory of operation
//!
//! A member with an own tree commits there, and submits. A **submission** is a commit whose objects are in
//! the repository of the workspace, under `refs/team/submissions/<id>`, and a file. The file is written last,
//! so that what it names is always there.
//!
//! Whichever process of the team is at hand integrates: [`Integration::run_queue`] takes a lock that the
//! kernel frees with the process, works through the queue, gives the lock up, and looks once more. A process
//! that submits and finds the lock taken therefore relies on its holder.
//!
//! A submission is merged onto the team's branch, `refs/heads/team/main`, without a checkout. The merge is
//! written to the file, then checked in a tree of its own inside a sandbox, and then the branch is moved to
//! it **from the very commit it was merged onto**. If the process is killed after any of these steps, the next
//! one finds out from the branch itself whether it has the commit. Several submissions form a batch: each is
//! merged onto the one before, all are checked at the same time, and the branch moves in their order. Hence
//! each commit that the branch is ever at has passed the check as it is.
//!
//! What does not merge or pass goes back to its author as mail whose id depends on the submission alone, so
//! that a repeated notice is read once.
//!
//! **Invariants:** submitted = open + merged + returned ([`rules::SubmissionCount`]); the team's branch moves only
//! forward; no tree is removed unless the repository has everything that was in it; git runs in a tree only
//! inside a sandbox.

mod arrivals;
mod bundles;
mod check;
mod crossing;
mod error;
mod following;
mod land;
mod queue;
mod removal;
mod repair;
mod returned;
mod setup;
mod submit;
mod trees;
mod tries;
mod view;
mod warning;

pub use bundles::BundleRefusal;
pub use error::IntegrationError;
pub use land::{LandOptions, Landed};
pub use queue::QueueOutcome;
pub use removal::Removed;
pub use repair::StalledQueue;
pub use submit::{Submitted, Work};
pub use trees::EnsuredTree;
pub use view::TreeView;

use command::Surroundings;
use git::{Repository, SandboxedTree};
use protocol::AgentName;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use teamdir::TeamDir;

/// The branch that collects the team's work.
pub const BRANCH: &str = "refs/heads/team/main";
/// On another host than that of the queue: what the team's branch there was at when this host heard of it last.
const HOME_MAIN: &str = "refs/team/home/main";
/// The same in the tree of a member, where it is short for `team/main`.
const UPSTREAM: &str = "refs/remotes/team/main";

/// What a command in a tree may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Read the tree.
    Read,
    /// Change it, without a network.
    Change,
    /// Run a command that people have set, with the network that members have.
    Run,
}

/// A command that is to be confined: where it runs, and what for.
#[derive(Debug, Clone, Copy)]
pub struct TreeCommand<'a> {
    /// A tree.
    pub folder: &'a Path,
    /// What must be readable outside of it: the objects that it borrows, and what its links lead to.
    pub readable: &'a [PathBuf],
    pub purpose: Purpose,
}

/// What a command in a tree runs in.
pub type Confine = Arc<dyn Fn(TreeCommand<'_>) -> Surroundings + Send + Sync>;

/// What people set about trees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeSettings {
    /// Files and folders of the workspace that are copied into a new tree.
    pub copy: Vec<String>,
    /// Files and folders of the workspace that a new tree has links to.
    pub link: Vec<String>,
    /// A command that is run in a new tree.
    pub setup: Option<String>,
    pub setup_limit: Duration,
    /// A command that must succeed in the merged tree before the team's branch is moved.
    pub check: Option<String>,
    pub check_limit: Duration,
}

impl Default for TreeSettings {
    fn default() -> Self {
        Self {
            copy: Vec::new(),
            link: Vec::new(),
            setup: None,
            setup_limit: Duration::from_secs(600),
            check: None,
            check_limit: Duration::from_secs(600),
        }
    }
}

/// The trees and the queue of a team. Cheap to clone.
#[derive(Clone)]
pub struct Integration {
    team: TeamDir,
    repository: Repository,
    objects: Vec<PathBuf>,
    settings: TreeSettings,
    confine: Confine,
}

impl Integration {
    /// The trees of the team. An error says why it can have none.
    pub fn open(
        team: &TeamDir,
        settings: TreeSettings,
        confine: Confine,
    ) -> Result<Self, IntegrationError> {
        let repository = Repository::open(team.workspace(), &team.layout().neutral_git())?;
        Ok(Self {
            team: team.clone(),
            objects: repository.object_folders(),
            repository,
            settings,
            confine,
        })
    }

    /// What the commands of a member in its own tree may read outside of it.
    pub fn readable(&self) -> Vec<PathBuf> {
        let links = self.settings.link.iter();
        let links = links.map(|name| self.team.workspace().join(name));
        let links = links.filter_map(|path| path.canonicalize().ok());
        self.objects.iter().cloned().chain(links).collect()
    }

    fn surroundings(&self, folder: &Path, purpose: Purpose) -> Surroundings {
        (self.confine)(TreeCommand {
            folder,
            readable: &self.readable(),
            purpose,
        })
    }

    fn sandboxed_tree(&self, folder: &Path, purpose: Purpose) -> SandboxedTree {
        SandboxedTree::new(folder, self.surroundings(folder, purpose))
    }
}

impl std::fmt::Debug for Integration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Integration")
            .field("repository", &self.repository)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

/// The name and address of a member in commits. The address can belong to nobody.
fn author(name: &AgentName) -> (String, String) {
    (name.to_string(), format!("{name}@team-lead.invalid"))
}

/// The reference that keeps what a member's tree borrows.
fn base_reference(name: &AgentName) -> String {
    format!("refs/team/base/{name}")
}
