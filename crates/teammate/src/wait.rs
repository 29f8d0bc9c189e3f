//! Waiting until a file changes or a process ends.

use member::MemberRuntime;
use processes::ProcessHandle;
use protocol::{Party, Recipient};
use std::future::poll_fn;
use std::task::Poll;
use std::time::{Duration, Instant};
use teamdir::MAX_SLEEP;
use tracing::warn;

/// How long an idle teammate sleeps at most. Where notifications can be had at all, the system says when it
/// drops some, so this is for what nobody knows of. The executor's timer wakes the process a few times for one
/// long sleep.
const LONGEST: Duration = Duration::from_secs(60 * MAX_SLEEP.as_secs());

/// Waits until a file of this member changes, one of the other owners ends, or `until`.
pub(crate) async fn wait(runtime: &MemberRuntime, owners: &Owners, until: Option<Instant>) {
    let plan = match runtime.prepare_to_wait() {
        Ok(plan) if plan.check_again => return,
        Ok(plan) => plan.wake_at,
        Err(error) => {
            warn!("the mailbox could not be tidied up: {error}");
            Some(Instant::now() + Duration::from_secs(1))
        }
    };
    let longest = match owners.has_unwatched {
        true => MAX_SLEEP,
        false => LONGEST,
    };
    let limit = Instant::now() + longest;
    let until = [plan, until]
        .into_iter()
        .flatten()
        .fold(limit, Instant::min);
    tokio::select! {
        () = runtime.changed() => {}
        () = one_ended(&owners.alive) => {}
        () = tokio::time::sleep_until(until.into()) => {}
    }
}

/// Returns when one of the processes has ended.
async fn one_ended(processes: &[ProcessHandle]) {
    let mut ends: Vec<_> = processes
        .iter()
        .map(|process| Box::pin(process.ended()))
        .collect();
    poll_fn(|context| {
        let is_over = ends
            .iter_mut()
            .any(|end| end.as_mut().poll(context).is_ready());
        match is_over {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    })
    .await;
}

/// The owners of tasks in progress, other than this member.
#[derive(Default)]
pub(crate) struct Owners {
    /// Their end would free a task that this member could claim.
    pub(crate) alive: Vec<ProcessHandle>,
    /// One of them is gone and still has its task.
    pub(crate) has_dead: bool,
    /// One of them runs and cannot be watched, so that its end is found by looking again.
    has_unwatched: bool,
}

pub(crate) fn owners(runtime: &MemberRuntime) -> Owners {
    let mut owners = Owners::default();
    let Ok(list) = team::list(runtime.team()) else {
        return owners;
    };
    let Ok(roster) = runtime.team().roster() else {
        return owners;
    };
    let mut known: Vec<Recipient> = Vec::new();
    for task in list.board.tasks() {
        let Some(Party::Member(name)) = &task.owner.0 else {
            continue;
        };
        if roster
            .member(name)
            .is_some_and(|member| member.host.is_some())
        {
            // The lease of a claim on another host is up to the bridge.
            continue;
        }
        let owner = Recipient::Member(name.clone());
        let in_progress = task.status == protocol::TaskStatus::InProgress;
        if !in_progress || owner == *runtime.owner() || known.contains(&owner) {
            continue;
        }
        match ProcessHandle::of(runtime.team(), &owner) {
            Ok(Some(process)) => owners.alive.push(process),
            Ok(None) => owners.has_dead = true,
            Err(_) => owners.has_unwatched = true,
        }
        known.push(owner);
    }
    owners
}
