//! Follows a shutdown request until it is over.

mod all;
pub(crate) mod answers;
pub(crate) mod kill;

pub use all::{EndError, Ended, ShutdownAllOptions, shut_down_all};

use crate::mark::sweep;
use crate::process_handle::{ProcessHandle, ProcessHandleError};
use crate::reap::claims;
use crate::reap::reap_held;
use crate::repair::end_overdue;
use crate::shutdown::answers::record_unread_answers;
use crate::start::start_lock::StartGuard;
use nix::sys::signal::Signal;
use protocol::{AgentName, Incarnation, Member, MemberStatus, Recipient, Request, RequestStatus};
use rules::{
    Shutdown, ShutdownAction, ShutdownEvent, ShutdownLimits, ShutdownOutcome, StartRefusal,
};
use std::collections::VecDeque;
use std::thread;
use std::time::{Duration, Instant};
use team::BoardError;
use teamdir::{Liveness, PathError, RequestError, RosterError, TeamDir, now};

/// How often the files are polled.
const POLL_INTERVAL: Duration = Duration::from_millis(40);
/// A request older than this is delivered again by the process that follows it.
const SENT_WITHIN: Duration = Duration::from_secs(2);
/// How long to wait for another process that starts, ends or reaps the member.
const START_LOCK_WAIT: Duration = Duration::from_secs(2);
/// How long a copy of the lock in a child of the ended process is waited for, and how often it is looked at.
const LAST_COPY: Duration = Duration::from_secs(5);
const LOCK_POLL: Duration = Duration::from_millis(2);

/// Why a shutdown was not followed until it was over.
#[derive(Debug, thiserror::Error)]
pub enum FollowError {
    /// The request is not for a shutdown, or is incomplete.
    #[error(transparent)]
    Refused(#[from] StartRefusal),
    #[error(transparent)]
    Request(#[from] RequestError),
    #[error(transparent)]
    File(#[from] PathError),
    #[error(transparent)]
    Signal(#[from] ProcessHandleError),
    /// The process has ended, but the roster could not be updated.
    #[error(transparent)]
    Roster(#[from] RosterError),
    /// The process has ended, but its tasks could not be released.
    #[error(transparent)]
    Tasks(#[from] BoardError),
    #[error("the shutdown is not followed any more; see its outcome with `team-lead requests`")]
    Stopped,
}

/// Follows a shutdown request until it is over or `stop` returns true: records the answer, watches the
/// deadline, and ends the process if the request is forced.
///
/// It works with and without a running lead, and several processes may follow the same request.
pub fn follow_shutdown(
    team: &TeamDir,
    request: Request,
    limits: ShutdownLimits,
    stop: &dyn Fn() -> bool,
) -> Result<ShutdownOutcome, FollowError> {
    let (mut shutdown, actions) = Shutdown::start(request, limits, now())?;
    let mut followed = Followed::new(team, shutdown.request())?;
    let mut events = followed.carry_out(actions)?;
    loop {
        while let Some(event) = events.pop_front() {
            let actions = shutdown.handle(event, now());
            events.extend(followed.carry_out(actions)?);
        }
        if shutdown.request().status() == RequestStatus::Approved {
            followed.hold_start_lock(Duration::ZERO);
        }
        if let Some(outcome) = shutdown.outcome() {
            followed.finish(outcome)?;
            return Ok(outcome.clone());
        }
        if stop() {
            return Err(FollowError::Stopped);
        }
        let state = followed.wait(shutdown.wake_at())?;
        events.extend(followed.events(state, shutdown.request())?);
    }
}

/// The incarnation that is to end.
struct Followed<'a> {
    team: &'a TeamDir,
    name: AgentName,
    owner: Recipient,
    target: Incarnation,
    process: Result<Option<ProcessHandle>, ProcessHandleError>,
    /// Held while the process ends, so that no other process reaps it as a death.
    guard: Option<StartGuard>,
}

/// The observed state of the followed incarnation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TargetState {
    Runs,
    Gone,
    Replaced(Incarnation),
}

impl<'a> Followed<'a> {
    fn new(team: &'a TeamDir, request: &Request) -> Result<Self, FollowError> {
        let incomplete = || StartRefusal::Incomplete {
            id: request.id.clone(),
        };
        let Recipient::Member(name) = &request.to else {
            return Err(incomplete().into());
        };
        let target = request.to_incarnation.ok_or_else(incomplete)?;
        let owner = request.to.clone();
        let process = ProcessHandle::of(team, &owner);
        Ok(Self {
            team,
            name: name.clone(),
            // Another incarnation must never be signalled.
            process: process.map(|found| found.filter(|found| found.incarnation() == target)),
            owner,
            target,
            guard: None,
        })
    }

    /// Does what the state machine asks for. Returns what that brought to light.
    fn carry_out(
        &mut self,
        actions: Vec<ShutdownAction>,
    ) -> Result<VecDeque<ShutdownEvent>, FollowError> {
        let mut events = VecDeque::new();
        for action in actions {
            match action {
                ShutdownAction::Record(request) => {
                    if let Some(stored) = self.record(&request)? {
                        events.push_back(ShutdownEvent::Stored(Box::new(stored)));
                    }
                }
                ShutdownAction::Terminate => self.signal(Signal::SIGTERM)?,
                ShutdownAction::Kill => self.signal(Signal::SIGKILL)?,
                ShutdownAction::Deliver(request) => {
                    // A new request was sent by its author. The author of an older one may have been killed
                    // between writing the file and the mail.
                    if now().since(request.created_at) > SENT_WITHIN {
                        let _ = team::deliver_unsent_shutdown(self.team, &request);
                    }
                }
                // The loop checks the time and the outcome.
                ShutdownAction::WakeAt(_) | ShutdownAction::Finished(_) => {}
            }
        }
        Ok(events)
    }

    /// Stores the outcome of the request, unless its file already has one.
    fn record(&self, request: &Request) -> Result<Option<Request>, FollowError> {
        if request.status() == RequestStatus::Pending {
            return Ok(None);
        }
        let stored = self.team.update_request(&request.id, |found| {
            if found.status() != RequestStatus::Pending {
                return Ok::<_, RequestError>((found.clone(), Some(found)));
            }
            let state = request.state.clone();
            Ok((Request { state, ..found }, None))
        })?;
        Ok(stored)
    }

    fn signal(&mut self, signal: Signal) -> Result<(), FollowError> {
        self.hold_start_lock(START_LOCK_WAIT);
        match &self.process {
            Ok(Some(process)) => Ok(process.signal(signal)?),
            // It ended before a handle was opened.
            Ok(None) => Ok(()),
            Err(_) => {
                // It may have written its identity by now.
                let found = ProcessHandle::of(self.team, &self.owner)?;
                let found = found.filter(|found| found.incarnation() == self.target);
                if let Some(process) = &found {
                    process.signal(signal)?;
                }
                self.process = Ok(found);
                Ok(())
            }
        }
    }

    /// Tries to take the start lock. If another process holds it, that process is ending the member.
    fn hold_start_lock(&mut self, wait: Duration) {
        if self.guard.is_none() && self.elsewhere().is_none() {
            self.guard = StartGuard::hold(self.team, &self.name, wait).ok();
        }
    }

    /// Waits until the process ends, at most until the next poll of the files.
    fn wait(&self, wake_at: Option<protocol::Timestamp>) -> Result<TargetState, PathError> {
        let due = wake_at.map_or(POLL_INTERVAL, |at| at.since(now()));
        let pause = due.min(POLL_INTERVAL);
        match &self.process {
            Ok(Some(process)) => Ok(match process.wait(pause) {
                true => {
                    self.wait_for_lock()?;
                    TargetState::Gone
                }
                false => TargetState::Runs,
            }),
            Ok(None) | Err(_) => {
                thread::sleep(pause);
                self.state_by_lock()
            }
        }
    }

    /// Waits until the lock of the ended process is free: a child that it was just starting may have a copy.
    fn wait_for_lock(&self) -> Result<(), PathError> {
        let started = Instant::now();
        while self.state_by_lock()? == TargetState::Runs && started.elapsed() < LAST_COPY {
            thread::sleep(LOCK_POLL);
        }
        Ok(())
    }

    fn state_by_lock(&self) -> Result<TargetState, PathError> {
        if let Some(member) = self.elsewhere() {
            return Ok(match member.incarnation {
                later if later > self.target => TargetState::Replaced(later),
                _ if member.status == MemberStatus::Shutdown => TargetState::Gone,
                _ => TargetState::Runs,
            });
        }
        Ok(match self.team.liveness(&self.owner)? {
            Liveness::Gone(_) => TargetState::Gone,
            Liveness::Alive(Some(holder)) if holder.incarnation > self.target => {
                TargetState::Replaced(holder.incarnation)
            }
            Liveness::Alive(_) => TargetState::Runs,
        })
    }

    /// The member as its host last reported it, if that is another host. Its lock is held here by the bridge.
    fn elsewhere(&self) -> Option<Member> {
        let member = self.team.roster().ok()?.member(&self.name).cloned()?;
        member.host.is_some().then_some(member)
    }

    /// The events since the last poll. The request file is read after the end of the process was seen,
    /// because a member records its approval before it ends.
    fn events(
        &self,
        state: TargetState,
        known: &Request,
    ) -> Result<[ShutdownEvent; 2], FollowError> {
        if known.status() == RequestStatus::Pending && self.needs_recording(state)? {
            record_unread_answers(self.team)?;
        }
        let stored = ShutdownEvent::Stored(Box::new(self.team.request(&known.id)?));
        let state = match state {
            TargetState::Runs => ShutdownEvent::Tick,
            TargetState::Gone => ShutdownEvent::Gone {
                incarnation: self.target,
            },
            TargetState::Replaced(incarnation) => ShutdownEvent::Replaced { incarnation },
        };
        Ok([stored, state])
    }

    /// Whether a mailed answer may be unread with no lead to record it in time.
    fn needs_recording(&self, state: TargetState) -> Result<bool, PathError> {
        match state {
            TargetState::Gone | TargetState::Replaced(_) => Ok(true),
            TargetState::Runs => Ok(matches!(
                self.team.liveness(&Recipient::Lead)?,
                Liveness::Gone(_)
            )),
        }
    }

    /// Completes the bookkeeping when the process ended because of this shutdown.
    fn finish(&mut self, outcome: &ShutdownOutcome) -> Result<(), FollowError> {
        if self.elsewhere().is_some() {
            // Its own host keeps its books.
            return Ok(());
        }
        match outcome {
            ShutdownOutcome::Terminated | ShutdownOutcome::Killed => {
                self.record_end()?;
                self.hold_start_lock(START_LOCK_WAIT);
                if let Some(guard) = &self.guard {
                    sweep(self.team, guard);
                }
                Ok(())
            }
            ShutdownOutcome::Left => self.record_end(),
            ShutdownOutcome::Ended => {
                // It died of another cause, perhaps while the start lock kept other processes from reaping
                // it.
                if let Some(guard) = &self.guard {
                    let _ = reap_held(self.team, guard);
                }
                Ok(())
            }
            ShutdownOutcome::Vetoed { .. }
            | ShutdownOutcome::NoAnswer
            | ShutdownOutcome::StillRunning
            | ShutdownOutcome::Unkillable
            | ShutdownOutcome::Replaced { .. } => Ok(()),
        }
    }

    /// Records the end in the roster if the process did not, and releases its tasks.
    fn record_end(&self) -> Result<(), FollowError> {
        let roster = self.team.roster()?;
        let open = roster.member(&self.name).is_some_and(|member| {
            member.incarnation == self.target && member.status != MemberStatus::Shutdown
        });
        if open {
            self.team.update_roster(|roster| {
                let member = roster.member_mut(&self.name);
                if let Some(member) = member.filter(|m| m.incarnation == self.target) {
                    member.status = MemberStatus::Shutdown;
                }
                Ok::<_, RosterError>(())
            })?;
        }
        let why = format!(
            "'{}' was shut down (incarnation {})",
            self.name, self.target
        );
        claims::release(self.team, &self.name, self.target, &why)?;
        // Requests of the ended member need no decision any more. The next repair tries again.
        let _ = end_overdue(self.team);
        Ok(())
    }
}
