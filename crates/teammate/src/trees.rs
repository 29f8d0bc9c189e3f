//! The member's own tree: entering it, and bringing its work back.

use crate::settings;
use crate::start_options::TeammateError;
use config::Config;
use integration::{Integration, IntegrationError, Submitted, Work};
use member::{MemberRuntime, OwnTree, log_queue, open_trees};
use protocol::{
    AgentName, CommitId, Incarnation, Member, Phase, TaskId, TreeMode, UserMessage, WaitingFor,
};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use team_tools::{SubmittedWork, Submitter};
use teamdir::TeamDir;
use tools::ToolError;
use tracing::{info, warn};

/// The most names that a reminder lists.
const MOST_NAMES: usize = 20;

/// The own tree of this member, and the team's queue. Clones share their state.
#[derive(Clone, Debug)]
pub(crate) struct OwnWork {
    integration: Integration,
    incarnation: Incarnation,
    name: AgentName,
    is_busy: Arc<AtomicBool>,
    /// Whether somebody has asked for it since it was begun last.
    is_asked: Arc<AtomicBool>,
    reminded: Arc<Mutex<Option<Unfinished>>>,
}

/// Work that nobody else can see yet.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Unfinished {
    uncommitted: Vec<String>,
    /// The commit that was not submitted.
    unsubmitted: Option<CommitId>,
}

/// Lets the member work in its own tree, if it has one by its entry, its role or the configuration. The tree is
/// made if it is not there.
pub(crate) fn enter(
    runtime: &MemberRuntime,
    member: &Member,
    config: &Config,
) -> Result<Option<OwnWork>, TeammateError> {
    let name = &member.spec.name;
    match settings::tree(config, member) {
        TreeMode::Shared => return Ok(None),
        TreeMode::Own => {}
        TreeMode::Other(word) => return Err(TeammateError::UnknownTree(word)),
    }
    let own_tree = |source: IntegrationError| TeammateError::Tree {
        name: name.clone(),
        source: Box::new(source),
    };
    runtime.set_phase(Phase::Starting, Some(WaitingFor::Tree), None);
    let sandbox = settings::sandbox(config, member);
    let integration = open_trees(runtime.team(), config, &sandbox).map_err(own_tree)?;
    let tree = integration.ensure_tree(name).map_err(own_tree)?;
    match tree.is_new {
        true => info!("works in a new tree, {}", tree.path.display()),
        false => info!("works in its tree, {}", tree.path.display()),
    }
    if !tree.not_included.is_empty() {
        let names: Vec<String> = tree.not_included.into_iter().take(MOST_NAMES).collect();
        warn!(
            "the tree has not what is not committed in the workspace: {}",
            names.join(", ")
        );
    }
    runtime.enter_tree(OwnTree {
        path: tree.path,
        readable: integration.readable(),
    });
    runtime.set_phase(Phase::Starting, None, None);
    Ok(Some(OwnWork {
        integration,
        incarnation: runtime.incarnation(),
        name: name.clone(),
        is_busy: Arc::new(AtomicBool::new(false)),
        is_asked: Arc::new(AtomicBool::new(false)),
        reminded: Arc::new(Mutex::new(None)),
    }))
}

/// How a member submits its work from another process than its own, if it has a tree of its own.
pub(crate) fn outside_submitter(
    team: &TeamDir,
    config: &Config,
    member: &Member,
) -> Result<Option<Arc<dyn Submitter>>, IntegrationError> {
    if settings::tree(config, member) != TreeMode::Own {
        return Ok(None);
    }
    let sandbox = settings::sandbox(config, member);
    Ok(Some(Arc::new(OwnWork {
        integration: open_trees(team, config, &sandbox)?,
        incarnation: member.incarnation,
        name: member.spec.name.clone(),
        is_busy: Arc::new(AtomicBool::new(false)),
        is_asked: Arc::new(AtomicBool::new(false)),
        reminded: Arc::new(Mutex::new(None)),
    })))
}

impl OwnWork {
    /// Works through the queue, compares the member's work with that of others, and tells its tree where the
    /// team's branch is; in a thread of its own, one at a time.
    pub(crate) fn integrate(&self) {
        // Before it is seen to be busy: whoever is busy then looks at this afterwards.
        self.is_asked.store(true, Ordering::SeqCst);
        if self.is_busy.swap(true, Ordering::SeqCst) {
            return;
        }
        let own = self.clone();
        let started = thread::Builder::new()
            .name("integration".to_owned())
            .spawn(move || own.integrate_as_asked());
        if let Err(error) = started {
            self.is_busy.store(false, Ordering::SeqCst);
            warn!("the queue is left to others: {error}");
        }
    }

    /// Does it once more if somebody asked meanwhile, and found it busy. What cannot be done now is not tried again
    /// before somebody asks.
    fn integrate_as_asked(&self) {
        loop {
            self.is_asked.store(false, Ordering::SeqCst);
            self.integrate_now();
            self.is_busy.store(false, Ordering::SeqCst);
            let is_asked = self.is_asked.load(Ordering::SeqCst);
            if !is_asked || self.is_busy.swap(true, Ordering::SeqCst) {
                return;
            }
        }
    }

    fn integrate_now(&self) {
        let ran = self.integration.run_queue();
        log_queue(&ran);
        if let Err(error) = self.integration.warn_of_conflicts(&self.name) {
            warn!("the work was not compared with that of others: {error}");
        }
        if let Err(error) = self.integration.refresh(&self.name) {
            warn!("the tree does not know where team/main is: {error}");
        }
    }

    /// What the model should be told before it stops: work that is not committed or not submitted, once.
    pub(crate) fn remind(&self) -> Option<UserMessage> {
        let status = self.integration.tree_status(&self.name).ok()??;
        let is_unsubmitted = |head: &CommitId| {
            let asked = self.integration.is_unsubmitted(&self.name, head);
            asked.unwrap_or(false)
        };
        let unfinished = Unfinished {
            unsubmitted: status.head.filter(is_unsubmitted),
            uncommitted: status.uncommitted,
        };
        let mut reminded = self.reminded.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = reminded.as_ref() == Some(&unfinished);
        let is_nothing = unfinished.uncommitted.is_empty() && unfinished.unsubmitted.is_none();
        *reminded = Some(unfinished.clone());
        if is_known || is_nothing {
            return None;
        }
        let mut text = String::new();
        if !unfinished.uncommitted.is_empty() {
            let names = unfinished.uncommitted.iter().take(MOST_NAMES).cloned();
            let names: Vec<String> = names.collect();
            let names = names.join(", ").replace("</", "< /");
            text.push_str(&format!(
                "Not committed in your tree: {names}. Nobody else sees it. "
            ));
        }
        if let Some(commit) = &unfinished.unsubmitted {
            text.push_str(&format!(
                "Committed and not submitted: {}. ",
                commit.short()
            ));
        }
        text.push_str(
            "Commit what belongs to your work and call submit, or say that it is not finished.",
        );
        Some(UserMessage::new(format!("<own-tree>{text}</own-tree>")))
    }
}

impl Submitter for OwnWork {
    fn submit(
        &self,
        task: Option<TaskId>,
        completes: Option<String>,
    ) -> Result<SubmittedWork, ToolError> {
        let work = Work {
            incarnation: Some(self.incarnation),
            task,
            completes,
        };
        let submitted = self.integration.submit(&self.name, &work);
        let Submitted {
            submission,
            was_there,
            uncommitted,
        } = match submitted {
            Ok(submitted) => submitted,
            Err(IntegrationError::NothingNew { more, .. }) => {
                return Ok(SubmittedWork::Nothing(more));
            }
            Err(error) => return Err(ToolError::from_error(&error)),
        };
        self.integrate();
        Ok(SubmittedWork::Queued {
            id: submission.id,
            commit: submission.commit,
            was_there,
            uncommitted,
        })
    }
}
