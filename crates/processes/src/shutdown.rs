//! Following a shutdown to its end.

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
use protocol::{AgentName, Incarnation, MemberStatus, Recipient, Request, RequestStatus};
use rules::{
    Shutdown, ShutdownAction, ShutdownEvent, ShutdownLimits, ShutdownOutcome, StartRefusal,
};
use std::collections::VecDeque;
use std::thread;
use std::time::Duration;
use team::BoardError;
use teamdir::{Liveness, PathError, RequestError, RosterError, TeamDir, now};

/// How often the files are looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(40);
/// A request older than this is delivered again by whoever takes it up.
const SENT_WITHIN: Duration = Duration::from_secs(2);
/// How long whoever else starts, ends or reaps the member is waited for.
const START_LOCK_WAIT: Duration = Duration::from_secs(2);

/// Why a shutdown was not carried to its end.
#[derive(Debug, thiserror::Error)]
pub enum FollowError {
    /// The request is none for a shutdown.
    #[error(transparent)]
    Refused(#[from] StartRefusal),
    /// The request could not be read or changed.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The member could not be read.
    #[error(transparent)]
    File(#[from] PathError),
    /// The process cannot be signalled.
    #[error(transparent)]
    Signal(#[from] ProcessHandleError),
    /// The process is gone, and the roster does not say so.
    #[error(transparent)]
    Roster(#[from] RosterError),
    /// The process is gone, and its tasks are not back on the board.
    #[error(transparent)]
    Tasks(#[from] BoardError),
    /// The caller stopped it.
    #[error("nobody follows the shutdown any more; see `team-lead requests` for what came of it")]
    Stopped,
}

/// Follows a shutdown that was asked for, until it is over or `stop` says so: takes in the answer,
/// minds the deadline, and ends the process if the request says that it must end.
///
/// It works with and without a running lead, and several may follow the same request.
pub fn follow_shutdown(
    team: &TeamDir,
    request: Request,
    limits: ShutdownLimits,
    stop: &dyn Fn() -> bool,
) -> Result<ShutdownOutcome, FollowError> {
    let (mut course, actions) = Shutdown::start(request, limits, now())?;
    let mut followed = Followed::new(team, course.request())?;
    let mut events = followed.carry_out(actions)?;
    loop {
        while let Some(event) = events.pop_front() {
            let actions = course.handle(event, now());
            events.extend(followed.carry_out(actions)?);
        }
        if course.request().status() == RequestStatus::Approved {
            followed.hold_start_lock(Duration::ZERO);
        }
        if let Some(outcome) = course.outcome() {
            followed.settle(outcome)?;
            return Ok(outcome.clone());
        }
        if stop() {
            return Err(FollowError::Stopped);
        }
        let fate = followed.wait(course.wake_at())?;
        events.extend(followed.events(fate, course.request())?);
    }
}

/// The incarnation that is to end.
struct Followed<'a> {
    team: &'a TeamDir,
    name: AgentName,
    owner: Recipient,
    target: Incarnation,
    process: Result<Option<ProcessHandle>, ProcessHandleError>,
    /// Held while the process ends, so that nobody takes that for a death.
    guard: Option<StartGuard>,
}

/// What can be seen of an incarnation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
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

    /// Does what the course of the shutdown asks for. Returns what that brought to light.
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
                    // Whoever asked just now has sent it. One that was found on disk may have lost
                    // its asker between the file and the mail.
                    if now().since(request.created_at) > SENT_WITHIN {
                        let _ = team::deliver_shutdown(self.team, &request);
                    }
                }
                // The loop looks at the time, and at the outcome.
                ShutdownAction::WakeAt(_) | ShutdownAction::Finished(_) => {}
            }
        }
        Ok(events)
    }

    /// Stores how the request ended, unless its file says by now how it did.
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
            // It went before it could be looked at.
            Ok(None) => Ok(()),
            Err(_) => {
                // Perhaps it has said by now who it is.
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

    /// Tries to take the start lock. If another process has it, that one ends the member.
    fn hold_start_lock(&mut self, wait: Duration) {
        if self.guard.is_none() {
            self.guard = StartGuard::hold(self.team, &self.name, wait).ok();
        }
    }

    /// Waits for the end of the process, for the next look at the files at most.
    fn wait(&self, wake_at: Option<protocol::Timestamp>) -> Result<Fate, PathError> {
        let due = wake_at.map_or(POLL_INTERVAL, |at| at.since(now()));
        let pause = due.min(POLL_INTERVAL);
        match &self.process {
            Ok(Some(process)) => Ok(match process.wait(pause) {
                true => Fate::Gone,
                false => Fate::Runs,
            }),
            Ok(None) | Err(_) => {
                thread::sleep(pause);
                self.fate_by_lock()
            }
        }
    }

    fn fate_by_lock(&self) -> Result<Fate, PathError> {
        Ok(match self.team.liveness(&self.owner)? {
            Liveness::Gone(_) => Fate::Gone,
            Liveness::Alive(Some(holder)) if holder.incarnation > self.target => {
                Fate::Replaced(holder.incarnation)
            }
            Liveness::Alive(_) => Fate::Runs,
        })
    }

    /// What happened since the last poll. The file is read after the end of the process was seen: a member
    /// that agrees records that before it ends.
    fn events(&self, fate: Fate, known: &Request) -> Result<[ShutdownEvent; 2], FollowError> {
        if known.status() == RequestStatus::Pending && self.needs_recording(fate)? {
            record_unread_answers(self.team)?;
        }
        let stored = ShutdownEvent::Stored(Box::new(self.team.request(&known.id)?));
        let fate = match fate {
            Fate::Runs => ShutdownEvent::Tick,
            Fate::Gone => ShutdownEvent::Gone {
                incarnation: self.target,
            },
            Fate::Replaced(incarnation) => ShutdownEvent::Replaced { incarnation },
        };
        Ok([stored, fate])
    }

    /// Whether an answer that was only mailed may lie unread, with no lead that records it in time.
    fn needs_recording(&self, fate: Fate) -> Result<bool, PathError> {
        match fate {
            Fate::Gone | Fate::Replaced(_) => Ok(true),
            Fate::Runs => Ok(matches!(
                self.team.liveness(&Recipient::Lead)?,
                Liveness::Gone(_)
            )),
        }
    }

    /// Leaves everything as after a good end, where the process is gone on our account.
    fn settle(&mut self, outcome: &ShutdownOutcome) -> Result<(), FollowError> {
        match outcome {
            ShutdownOutcome::Terminated | ShutdownOutcome::Killed => {
                self.note_end()?;
                self.hold_start_lock(START_LOCK_WAIT);
                if let Some(guard) = &self.guard {
                    sweep(self.team, guard);
                }
                Ok(())
            }
            ShutdownOutcome::Left => self.note_end(),
            ShutdownOutcome::Ended => {
                // It died of something else, perhaps while we kept others from reaping it.
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

    /// Says in the roster what a process that was killed could not say, and frees its tasks.
    fn note_end(&self) -> Result<(), FollowError> {
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
        // Nobody is to be asked for a decision that nobody waits for. The next repair tries again.
        let _ = end_overdue(self.team);
        Ok(())
    }
}
