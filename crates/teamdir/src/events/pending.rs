//! Pending events: a change is in the event log even if its process is killed in the middle.
//!
//! Tasks and requests change under a lock. Before a change its event is written to the lock file;
//! when the event is in the log, the lock file is emptied. A process that takes the lock and finds a
//! pending event reads what became of the change and logs that. An event that was logged already is
//! then logged twice, which is harmless: both are the same.

use crate::board::TaskError;
use crate::clock::now;
use crate::error::PathError;
use crate::locks::{FileLock, LockError};
use crate::requests::RequestError;
use crate::team_dir::TeamDir;
use protocol::{Event, EventKind, EventLine, Request, RequestStatus, Task};
use std::path::PathBuf;

/// A lock whose changes are logged. No other process changes what it guards until this is dropped.
#[derive(Debug)]
pub(crate) struct PendingEvents<'a> {
    team: &'a TeamDir,
    path: PathBuf,
    lock: FileLock,
}

impl<'a> PendingEvents<'a> {
    /// Takes the lock at `path` and logs the events that are pending there. `current` returns the
    /// events that became true after a pending one.
    pub(crate) fn acquire(
        team: &'a TeamDir,
        path: PathBuf,
        current: impl Fn(EventKind) -> Vec<EventKind>,
    ) -> Result<Self, LockError> {
        let lock = FileLock::acquire(&path, team.options.lock_wait)?;
        let pending = Self { team, path, lock };
        let noted = pending.lock.noted();
        if !noted.is_empty() {
            let lines = noted.split(|byte| *byte == b'\n');
            // A truncated event is one of a change that never began.
            let known = lines.filter_map(|line| match EventLine::decode(line) {
                EventLine::Known(event) => Some(event.kind),
                EventLine::Unknown(_) | EventLine::Corrupt { .. } => None,
            });
            pending.publish(known.flat_map(current).collect());
        }
        Ok(pending)
    }

    /// Records an event that is about to become true.
    pub(crate) fn prepare(&self, kind: &EventKind) -> Result<(), PathError> {
        let event = Event::new(now(), kind.clone());
        let noted = self.lock.note(&event.to_line());
        noted.map_err(|error| PathError::new("write to", &self.path, error))
    }

    /// Appends events to the log and empties the lock file. If the log cannot be written, the pending
    /// events stay for the next process that takes the lock; the change itself has succeeded.
    pub(crate) fn publish(&self, kinds: Vec<EventKind>) {
        let time = now();
        let events: Vec<Event> = kinds
            .into_iter()
            .map(|kind| Event::new(time, kind))
            .collect();
        if self.team.log_events(&events).is_ok() {
            self.lock.wipe();
        }
    }
}

impl TeamDir {
    /// Logs the pending events of processes that were killed.
    pub fn recover_events(&self) -> Result<(), LockError> {
        let is_noted = |path| std::fs::symlink_metadata(path).is_ok_and(|found| found.len() > 0);
        if is_noted(self.layout.tasks_lock()) {
            drop(self.lock_board()?);
        }
        if is_noted(self.layout.requests_lock()) {
            drop(self.lock_requests()?);
        }
        if is_noted(self.layout.submissions_lock()) {
            drop(self.lock_submissions()?);
        }
        Ok(())
    }

    /// Takes the lock of all requests.
    pub(crate) fn lock_requests(&self) -> Result<PendingEvents<'_>, LockError> {
        PendingEvents::acquire(self, self.layout.requests_lock(), |noted| match noted {
            EventKind::Request { ref request_id, .. }
            | EventKind::Resolve { ref request_id, .. } => {
                let request = self.request(request_id);
                request.map_or_else(
                    |_: RequestError| Vec::new(),
                    |request| request_events(&request),
                )
            }
            _ => Vec::new(),
        })
    }

    /// The events that are true of a task after one was noted.
    pub(crate) fn task_events_after(&self, noted: EventKind) -> Vec<EventKind> {
        let EventKind::Task { task, status, .. } = noted else {
            return Vec::new();
        };
        match self.own_task(task) {
            Ok(task) => task_events(&task, task.history.len().saturating_sub(1)),
            // It was to go, and has gone.
            Err(TaskError::Unknown(_)) if status.is_none() => vec![noted],
            // It was to be created and was not, or nobody can read it.
            Err(_) => Vec::new(),
        }
    }
}

/// The events of the lines of a task's history after the first `known`.
pub(crate) fn task_events(task: &Task, known: usize) -> Vec<EventKind> {
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

/// The event of a new request.
pub(crate) fn request_event(request: &Request) -> EventKind {
    EventKind::Request {
        request_id: request.id.clone(),
        kind: request.kind(),
        from: request.from.clone(),
        to: request.to.clone(),
    }
}

/// The event of the end of a request, if it has ended.
pub(crate) fn resolve_event(request: &Request) -> Option<EventKind> {
    let status = request.status();
    (status != RequestStatus::Pending).then(|| EventKind::Resolve {
        request_id: request.id.clone(),
        status,
    })
}

/// All events of a request.
fn request_events(request: &Request) -> Vec<EventKind> {
    [request_event(request)]
        .into_iter()
        .chain(resolve_event(request))
        .collect()
}

#[cfg(test)]
mod tests;
