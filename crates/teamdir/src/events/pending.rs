//! Changes that the event log tells of even if whoever makes them is killed in the middle.
//!
//! Tasks and requests change under a lock. Before a change the event about it is noted in the lock
//! file; when the event is in the log the note is wiped. Whoever takes the lock and finds a note
//! looks at what became of the change, and tells that. What was told already is then told twice,
//! which does no harm: both say the same.

use crate::board::TaskError;
use crate::clock::now;
use crate::error::PathError;
use crate::locks::{FileLock, LockError};
use crate::requests::RequestError;
use crate::team_dir::TeamDir;
use protocol::{Event, EventKind, EventLine, Request, RequestStatus, Task};
use std::path::PathBuf;

/// A lock whose changes are told of. Nobody else changes what it guards while this lives.
#[derive(Debug)]
pub(crate) struct PendingEvents<'a> {
    team: &'a TeamDir,
    path: PathBuf,
    lock: FileLock,
}

impl<'a> PendingEvents<'a> {
    /// Takes the lock at `path` and tells of what is noted there. `now_is` makes of a noted event
    /// those that are true.
    pub(crate) fn take(
        team: &'a TeamDir,
        path: PathBuf,
        now_is: impl Fn(EventKind) -> Vec<EventKind>,
    ) -> Result<Self, LockError> {
        let lock = FileLock::acquire(&path, team.options.lock_wait)?;
        let telling = Self { team, path, lock };
        let noted = telling.lock.noted();
        if !noted.is_empty() {
            let lines = noted.split(|byte| *byte == b'\n');
            // A note that was cut short is of a change that never began.
            let known = lines.filter_map(|line| match EventLine::decode(line) {
                EventLine::Known(event) => Some(event.kind),
                EventLine::Unknown(_) | EventLine::Corrupt { .. } => None,
            });
            telling.tell(known.flat_map(now_is).collect());
        }
        Ok(telling)
    }

    /// Notes an event that is about to be true.
    pub(crate) fn announce(&self, kind: &EventKind) -> Result<(), PathError> {
        let event = Event {
            time: now(),
            kind: kind.clone(),
        };
        let noted = self.lock.note(&event.to_line());
        noted.map_err(|error| PathError::new("write to", &self.path, error))
    }

    /// Appends events to the log and wipes the notes. If the log cannot be written, the notes stay
    /// for the next who takes the lock: that a change could not be told of is no reason to call
    /// it failed.
    pub(crate) fn tell(&self, kinds: Vec<EventKind>) {
        let time = now();
        let events: Vec<Event> = kinds.into_iter().map(|kind| Event { time, kind }).collect();
        if self.team.log_events(&events).is_ok() {
            self.lock.wipe();
        }
    }
}

impl TeamDir {
    /// Tells of the changes that the dead made and did not tell of.
    pub fn recover_events(&self) -> Result<(), LockError> {
        let is_noted = |path| std::fs::symlink_metadata(path).is_ok_and(|found| found.len() > 0);
        if is_noted(self.layout.tasks_lock()) {
            drop(self.lock_board()?);
        }
        if is_noted(self.layout.requests_lock()) {
            drop(self.lock_requests()?);
        }
        Ok(())
    }

    /// Takes the lock of all requests.
    pub(crate) fn lock_requests(&self) -> Result<PendingEvents<'_>, LockError> {
        PendingEvents::take(self, self.layout.requests_lock(), |noted| match noted {
            EventKind::Request { ref request_id, .. }
            | EventKind::Resolve { ref request_id, .. } => {
                let request = self.request(request_id);
                request.map_or_else(|_: RequestError| Vec::new(), |request| all_of(&request))
            }
            _ => Vec::new(),
        })
    }

    /// The events that are true of a task after one was noted.
    pub(crate) fn task_events_after(&self, noted: EventKind) -> Vec<EventKind> {
        let EventKind::Task { task, status, .. } = noted else {
            return Vec::new();
        };
        match self.task(task) {
            Ok(task) => about(&task, task.history.len().saturating_sub(1)),
            // It was to go, and has gone.
            Err(TaskError::Unknown(_)) if status.is_none() => vec![noted],
            // It was to be created and was not, or nobody can read it.
            Err(_) => Vec::new(),
        }
    }
}

/// What the lines of a task's history after the first `known` tell.
pub(crate) fn about(task: &Task, known: usize) -> Vec<EventKind> {
    let lines = task.history.iter().skip(known);
    let events = lines.map(|line| EventKind::Task {
        task: task.id,
        action: line.action.clone(),
        by: line.by.clone(),
        status: Some(task.status),
        owner: task.owner.0.clone(),
    });
    events.collect()
}

/// That a request was made.
pub(crate) fn made(request: &Request) -> EventKind {
    EventKind::Request {
        request_id: request.id.clone(),
        kind: request.kind(),
        from: request.from.clone(),
        to: request.to.clone(),
    }
}

/// How a request ended, if it has.
pub(crate) fn ended(request: &Request) -> Option<EventKind> {
    let status = request.status();
    (status != RequestStatus::Pending).then(|| EventKind::Resolve {
        request_id: request.id.clone(),
        status,
    })
}

/// All that a request's file tells.
fn all_of(request: &Request) -> Vec<EventKind> {
    [made(request)].into_iter().chain(ended(request)).collect()
}

#[cfg(test)]
mod tests;
