//! One look at the whole team, with everything set right that can be. It waits for files and locks,
//! so it runs on a thread of its own.

use crate::restarts::Dead;
use processes::{MemberView, ProcessHandle, Quiet, Repairs, decide_restart, repair, views};
use protocol::{
    AgentName, Incarnation, Recipient, Request, RequestKind, RequestStatus, RestartPolicy,
    TaskStatus, WaitingFor,
};
use rules::{Addressee, MemberState};
use std::collections::BTreeMap;
use team::addressee;
use teamdir::{TeamDir, now};

/// What a look brought to light.
#[derive(Debug, Default)]
pub(crate) struct Inspection {
    /// Living members that were not watched yet.
    pub(crate) processes: Vec<(AgentName, ProcessHandle)>,
    pub(crate) dead: Vec<Dead>,
    /// Who has failed or is dead, in which life.
    pub(crate) failed: Vec<(AgentName, Incarnation)>,
    /// Requests that wait for an answer.
    pub(crate) pending: Vec<Request>,
    /// Shutdowns that somebody has to carry to their end.
    pub(crate) shutdowns: Vec<Request>,
    /// How many tasks there are, and how many of them are done.
    pub(crate) tasks: (usize, usize),
    pub(crate) repairs: Repairs,
}

/// Looks at everything. `watched` says which lives are watched already.
pub(crate) fn inspect(team: &TeamDir, watched: &BTreeMap<AgentName, Incarnation>) -> Inspection {
    let mut found = Inspection {
        repairs: repair(team),
        ..Inspection::default()
    };
    match views(team) {
        Ok(views) => views
            .iter()
            .for_each(|view| found.member(team, view, watched)),
        Err(error) => found.repairs.problems.push(error.to_string()),
    }
    match team.requests() {
        Ok(requests) => requests
            .into_iter()
            .flatten()
            .for_each(|r| found.request(team, r)),
        Err(error) => found.repairs.problems.push(error.to_string()),
    }
    found.pending.sort_by_key(|request| request.created_at);
    found.tasks = count_tasks(team);
    found
}

/// Who has failed, or died and was reaped, in which life.
pub(crate) fn old_failures(team: &TeamDir) -> Vec<(AgentName, Incarnation)> {
    let views = views(team).unwrap_or_default();
    let failed = views.iter().filter(|view| match view.state {
        // A death that nobody has dealt with yet is news.
        MemberState::Dead { .. } => view.member.reaped >= Some(view.member.incarnation),
        MemberState::Failed { .. } => true,
        MemberState::Starting { .. }
        | MemberState::Working { .. }
        | MemberState::Waiting { .. }
        | MemberState::Idle { .. }
        | MemberState::Hung { .. }
        | MemberState::Shutdown => false,
    });
    let incarnations = failed.map(|view| (view.member.name.clone(), view.member.incarnation));
    incarnations.collect()
}

/// How many tasks there are, and how many of them are done.
pub(crate) fn count_tasks(team: &TeamDir) -> (usize, usize) {
    let Ok(look) = team::list(team) else {
        return (0, 0);
    };
    let is_done = |task: &&protocol::Task| task.status == TaskStatus::Completed;
    let all = look.board.tasks().count();
    (all, look.board.tasks().filter(is_done).count())
}

impl Inspection {
    fn member(
        &mut self,
        team: &TeamDir,
        view: &MemberView,
        watched: &BTreeMap<AgentName, Incarnation>,
    ) {
        let member = &view.member;
        let (name, current) = (&member.name, member.incarnation);
        match &view.state {
            MemberState::Dead { incarnation } => {
                self.failed.push((name.clone(), current));
                self.dead.push(Dead {
                    name: name.clone(),
                    incarnation: *incarnation,
                    decision: decide_restart(member, "its process died", now()),
                });
            }
            MemberState::Failed { .. } => self.failed.push((name.clone(), current)),
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
                // It went meanwhile; the next look finds it dead.
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

/// Whether nothing happens any more by itself, and who failed.
pub(crate) enum Calm {
    No,
    /// Nobody may go on: the budget is spent.
    Broke,
    Yes {
        /// Who failed or is dead.
        failed: Vec<AgentName>,
    },
}

/// Looks whether the team is at rest. A dead member that its policy will bring back is not.
pub(crate) fn calm(team: &TeamDir) -> Calm {
    let failed = match processes::quiet(team) {
        Ok(Quiet::Yes { failed, .. }) => failed,
        Ok(Quiet::No { .. }) if is_broke(team) => return Calm::Broke,
        Ok(Quiet::No { .. }) | Err(_) => return Calm::No,
    };
    let comes_back = |view: &MemberView| {
        matches!(view.state, MemberState::Dead { .. })
            && view.member.restart == Some(RestartPolicy::OnFailure)
    };
    match views(team) {
        Ok(views) if !views.iter().any(comes_back) => Calm::Yes { failed },
        Ok(_) | Err(_) => Calm::No,
    }
}

/// Whether somebody waits for budget, and nobody works.
fn is_broke(team: &TeamDir) -> bool {
    let waits = |view: &MemberView| {
        let what = match &view.state {
            MemberState::Waiting { what, .. } => *what,
            MemberState::Starting { .. }
            | MemberState::Working { .. }
            | MemberState::Idle { .. }
            | MemberState::Hung { .. }
            | MemberState::Failed { .. }
            | MemberState::Dead { .. }
            | MemberState::Shutdown => None,
        };
        what == Some(WaitingFor::Budget)
    };
    let rests = |view: &MemberView| match view.state {
        MemberState::Starting { .. } | MemberState::Working { .. } | MemberState::Hung { .. } => {
            false
        }
        MemberState::Waiting { .. } => waits(view),
        MemberState::Idle { .. }
        | MemberState::Failed { .. }
        | MemberState::Dead { .. }
        | MemberState::Shutdown => true,
    };
    let unread = team.unread_mail(&Recipient::Lead, |_, _| {});
    let views = views(team).unwrap_or_default();
    views.iter().any(waits) && views.iter().all(rests) && unread.is_ok_and(|unread| unread == 0)
}
