//! The trees of a team, as the configuration of its workspace says.

use crate::confine::{SandboxSettings, workspace_confinement};
use crate::inner::OwnTree;
use crate::runtime::MemberRuntime;
use config::Config;
use integration::{
    Confine, Integration, IntegrationError, Purpose, QueueOutcome, TreeCommand, TreeSettings,
};
use protocol::{NetworkSetting, SandboxMode};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use teamdir::TeamDir;
use tools::{CommandAccess, Confinement};
use tracing::{info, warn};

/// What people set about trees.
#[must_use]
pub fn tree_settings(config: &Config) -> TreeSettings {
    let usual = TreeSettings::default();
    let seconds = |value: Option<u64>, usual| value.map_or(usual, Duration::from_secs);
    TreeSettings {
        copy: config.tree_copy().value.unwrap_or_default(),
        link: config.tree_link().value.unwrap_or_default(),
        setup: config.tree_setup().value,
        setup_limit: seconds(config.tree_setup_seconds().value, usual.setup_limit),
        check: config.tree_check().value,
        check_limit: seconds(config.tree_check_seconds().value, usual.check_limit),
    }
}

/// The trees and the queue of a team. `sandbox` says how the commands that people have set run; git runs in
/// trees in the best sandbox that the machine has, whatever it says.
pub fn open_trees(
    team: &TeamDir,
    config: &Config,
    sandbox: &SandboxSettings,
) -> Result<Integration, IntegrationError> {
    let settings = tree_settings(config);
    let sandbox = sandbox.clone();
    let confine: Confine = Arc::new(move |command: TreeCommand<'_>| {
        let (network, has_sandbox, access) = match command.purpose {
            Purpose::Read => (NetworkSetting::Off, true, CommandAccess::ReadOnly),
            Purpose::Change => (NetworkSetting::Off, true, CommandAccess::Full),
            Purpose::Run => {
                let has_sandbox = sandbox.mode != SandboxMode::Off;
                (sandbox.network.clone(), has_sandbox, CommandAccess::Full)
            }
        };
        let confinement = Confinement {
            readable: command.readable.to_vec(),
            has_sandbox,
            ..workspace_confinement(command.folder, network)
        };
        confinement.surroundings(access)
    });
    Integration::open(team, settings, confine)
}

/// Logs how the work on the queue ended.
pub fn log_queue(ran: &Result<QueueOutcome, IntegrationError>) {
    match ran {
        Ok(QueueOutcome::Done(ended)) => {
            for (id, status) in ended {
                info!("submission {id} is {status}");
            }
        }
        Ok(QueueOutcome::Busy) => {}
        Ok(QueueOutcome::Blocked(folder)) => warn!(
            "submissions wait: team/main is checked out in {}; `git switch` to another branch there",
            folder.display()
        ),
        Err(error) => warn!("submissions were not integrated: {error}"),
    }
}

impl MemberRuntime {
    /// Makes the member work in a tree of its own. To be called before anything is built that works in the
    /// folder.
    pub fn enter_tree(&self, tree: OwnTree) {
        self.lock().tree = Some(tree);
    }

    /// The folder that the member works in: its own tree, or the workspace.
    pub fn folder(&self) -> PathBuf {
        let inner = self.lock();
        let tree = inner.tree.as_ref().map(|tree| tree.path.clone());
        tree.unwrap_or_else(|| inner.team.workspace().to_path_buf())
    }

    /// What the member's commands may read outside of its folder. In a tree of its own that is also its
    /// own part of the team folder, where long outputs are.
    pub(crate) fn readable(&self) -> Vec<PathBuf> {
        let inner = self.lock();
        let Some(tree) = &inner.tree else {
            return Vec::new();
        };
        let own = self.team().layout().member_dir(self.owner());
        let own = own.canonicalize().unwrap_or(own);
        tree.readable.iter().cloned().chain([own]).collect()
    }

    /// A path as the member writes it.
    pub(crate) fn shown(&self, path: &Path) -> String {
        let folder = self.folder();
        let shown = path.strip_prefix(&folder).unwrap_or(path);
        shown.display().to_string()
    }
}
