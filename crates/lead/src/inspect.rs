//! Inspects the whole team and repairs what can be repaired. It waits for files and locks, so it runs
//! on a thread of its own.

use crate::console::Status;
use crate::restart_queue::Dead;
use processes::{
    IdleCheck, MemberView, ProcessHandle, Repairs, decide_restart, member_views, repair,
};
use protocol::{
    AgentName, Incarnation, Money, Recipient, Request, RequestKind, RequestStatus, RestartPolicy,
    TaskStatus, WaitingFor,
};
use rules::{Addressee, MemberState};
use std::collections::BTreeMap;
use team::addressee;
use teamdir::{TeamDir, now};

/// How many submissions are offered for completion.
const OFFERED: usize = 20;

/// What an inspection found.
#[derive(Debug, Default)]
pub(crate) struct Inspection {
    /// Living members that were not watched yet.
    pub(crate) processes: Vec<(AgentName, ProcessHandle)>,
    pub(crate) dead: Vec<Dead>,
    /// Members that have failed or are dead.
    pub(crate) failed: Vec<(AgentName, Incarnation)>,
    pub(crate) pending: Vec<Request>,
    /// What was ended because there is nobody to ask.
    pub(crate) denied: Vec<Request>,
    /// Shutdowns that the lead has to follow to their end.
    pub(crate) shutdowns: Vec<Request>,
    /// How many tasks there are, and how many of them are done.
    pub(crate) tasks: (usize, usize),
    pub(crate) repairs: Repairs,
    /// The members, for the screen.
    pub(crate) status: Status,
}

/// Inspects the team. `watched` says which incarnations are watched already.
pub(crate) fn inspect(team: &TeamDir, watched: &BTreeMap<AgentName, Incarnation>) -> Inspection {
    let mut found = Inspection {
        repairs: repair(team),
        ..Inspection::default()
    };
    match member_views(team) {
        Ok(views) => {
            let names = |is_meant: fn(&MemberView) -> bool| {
                let views = views.iter().filter(|view| is_meant(view));
                views
                    .map(|view| view.member.spec.name.to_string())
                    .collect()
            };
            found.status.members = names(|_| true);
            found.status.working = names(is_at_work);
            views
                .iter()
                .for_each(|view| found.member(team, view, watched));
        }
        Err(error) => found.repairs.problems.push(error.to_string()),
    }
    match team::all_requests(team) {
        Ok(requests) => requests
            .into_iter()
            .flatten()
            .for_each(|r| found.request(team, r)),
        Err(error) => found.repairs.problems.push(error.to_string()),
    }
    found.pending.sort_by_key(|request| request.created_at);
    found.tasks = count_tasks(team);
    let submissions = team.newest_submission_ids(OFFERED).unwrap_or_default();
    found.status.submissions = submissions.iter().map(ToString::to_string).collect();
    found
}

/// What the team has spent on models with a known price.
pub(crate) fn cost(team: &TeamDir) -> Option<String> {
    let total = budget::costs(&team.budget().ok()?, budget::GroupBy::Member).total;
    (total.cost != Money::default()).then(|| total.cost.to_string())
}

const fn is_at_work(view: &MemberView) -> bool {
    match view.state {
        MemberState::Starting { .. } | MemberState::Working { .. } => true,
        MemberState::Waiting { .. }
        | MemberState::Idle { .. }
        | MemberState::Hung { .. }
        | MemberState::Failed { .. }
        | MemberState::GaveUp { .. }
        | MemberState::Dead { .. }
        | MemberState::Shutdown => false,
    }
}

/// Members that have failed, or that died and were reaped.
pub(crate) fn old_failures(team: &TeamDir) -> Vec<(AgentName, Incarnation)> {
    let views = member_views(team).unwrap_or_default();
    let failed = views.iter().filter(|view| match view.state {
        // A death that nobody has reaped yet belongs to this run.
        MemberState::Dead { .. } => view.member.reaped >= Some(view.member.incarnation),
        MemberState::Failed { .. } | MemberState::GaveUp { .. } => true,
        MemberState::Starting { .. }
        | MemberState::Working { .. }
        | MemberState::Waiting { .. }
        | MemberState::Idle { .. }
        | MemberState::Hung { .. }
        | MemberState::Shutdown => false,
    });
    let incarnations = failed.map(|view| (view.member.spec.name.clone(), view.member.incarnation));
    incarnations.collect()
}

/// How many tasks there are, and how many of them are done.
pub(crate) fn count_tasks(team: &TeamDir) -> (usize, usize) {
    let Ok(list) = team::list(team) else {
        return (0, 0);
    };
    let is_done = |task: &&protocol::Task| task.status == TaskStatus::Completed;
    let all = list.board.tasks().count();
    (all, list.board.tasks().filter(is_done).count())
}

impl Inspection {
    fn member(
        &mut self,
        team: &TeamDir,
        view: &MemberView,
        watched: &BTreeMap<AgentName, Incarnation>,
    ) {
        let member = &view.member;
        let (name, current) = (&member.spec.name, member.incarnation);
        match &view.state {
            MemberState::Dead { incarnation } => {
                self.failed.push((name.clone(), current));
                self.dead.push(Dead {
                    name: name.clone(),
                    incarnation: *incarnation,
                    decision: decide_restart(team, member, now()),
                });
            }
            MemberState::Failed { .. } | MemberState::GaveUp { .. } => {
                self.failed.push((name.clone(), current));
            }
            MemberState::Starting { .. }
            | MemberState::Working { .. }
            | MemberState::Waiting { .. }
            | MemberState::Idle { .. }
            | MemberState::Hung { .. }
            | MemberState::Shutdown => {}
        }
        let held = view.holder.as_ref().map(|holder| holder.incarnation);
        if view.state.is_alive() && (held.is_none() || watched.get(name) != held.as_ref()) {
            match ProcessHandle::of(team, &Recipient::Member(name.clone())) {
                Ok(Some(process)) => self.processes.push((name.clone(), process)),
                // It ended meanwhile; the next inspection finds it dead.
                Ok(None) => {}
                Err(error) => self.repairs.problems.push(error.to_string()),
            }
        }
    }

    fn request(&mut self, team: &TeamDir, request: Request) {
        let runs = || match (addressee(team, &request.to), request.to_incarnation) {
            (Addressee::Alive(incarnation), Some(asked)) => incarnation == asked,
            (Addressee::Alive(_) | Addressee::Gone | Addressee::Unknown, _) => false,
        };
        let is_shutdown = request.kind() == RequestKind::Shutdown;
        match request.status() {
            RequestStatus::Pending => {
                if is_shutdown {
                    self.shutdowns.push(request.clone());
                }
                self.pending.push(request);
            }
            RequestStatus::Approved if is_shutdown && runs() => self.shutdowns.push(request),
            RequestStatus::Approved | RequestStatus::Rejected | RequestStatus::Expired => {}
        }
    }
}

/// What the team is doing.
pub(crate) enum Observation {
    Busy,
    /// Members have work left, and the budget does not allow it.
    OutOfBudget,
    Idle {
        /// Members that failed or are dead.
        failed: Vec<AgentName>,
    },
}

/// Checks whether the team is idle. It is not while a dead member waits for its restart.
pub(crate) fn observe(team: &TeamDir) -> Observation {
    let failed = match processes::check_idle(team) {
        Ok(IdleCheck::Idle { failed, .. }) => failed,
        Ok(IdleCheck::Busy { .. }) if is_out_of_budget(team) => return Observation::OutOfBudget,
        Ok(IdleCheck::Busy { .. }) | Err(_) => return Observation::Busy,
    };
    let will_restart = |view: &MemberView| {
        matches!(view.state, MemberState::Dead { .. })
            && view.member.spec.restart == Some(RestartPolicy::OnFailure)
    };
    match member_views(team) {
        Ok(views) if !views.iter().any(will_restart) => Observation::Idle { failed },
        Ok(_) | Err(_) => Observation::Busy,
    }
}

/// Whether a member waits for budget, and none works.
fn is_out_of_budget(team: &TeamDir) -> bool {
    let waits = |view: &MemberView| {
        let what = match &view.state {
            MemberState::Waiting { what, .. } => *what,
            MemberState::Starting { .. }
            | MemberState::Working { .. }
            | MemberState::Idle { .. }
            | MemberState::Hung { .. }
            | MemberState::Failed { .. }
            | MemberState::GaveUp { .. }
            | MemberState::Dead { .. }
            | MemberState::Shutdown => None,
        };
        what == Some(WaitingFor::Budget)
    };
    let is_stopped = |view: &MemberView| match view.state {
        MemberState::Starting { .. } | MemberState::Working { .. } | MemberState::Hung { .. } => {
            false
        }
        MemberState::Waiting { .. } => waits(view),
        MemberState::Idle { .. }
        | MemberState::Failed { .. }
        | MemberState::GaveUp { .. }
        | MemberState::Dead { .. }
        | MemberState::Shutdown => true,
    };
    let unread = team.unread_mail(&Recipient::Lead, |_, _| {});
    let views = member_views(team).unwrap_or_default();
    views.iter().any(waits)
        && views.iter().all(is_stopped)
        && unread.is_ok_and(|unread| unread == 0)
}
