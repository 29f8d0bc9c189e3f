//! Finds and corrects times in the future, which appear when the clock was set back or another machine's
//! clock is ahead.

use crate::finding::{Finding, Fix, Kind};
use crate::fix_error::FixError;
use protocol::{
    LiveState, Recipient, Request, RequestId, RequestState, Task, TaskHistory, TaskId, Timestamp,
};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use teamdir::{BoardPlace, JoinError, PathError, RequestError, TaskError, TeamDir, now};

/// The tolerated difference between clocks.
const TOLERANCE: Duration = Duration::from_secs(60);
/// How long a running member may take to update its live state.
const UPDATE_LIMIT: Duration = Duration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// A thing with a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dated {
    State(Recipient),
    Request(RequestId),
    Task(TaskId),
}

impl std::fmt::Display for Dated {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::State(owner) => write!(f, "the state of '{owner}'"),
            Self::Request(id) => write!(f, "request {id}"),
            Self::Task(id) => write!(f, "task #{id}"),
        }
    }
}

/// The finding for the latest time in the future.
pub(crate) fn check(team: &TeamDir, now: Timestamp) -> Option<Finding> {
    let (date, about) = ahead(team, now).pop()?;
    Some(Finding::automatic(
        Kind::Clock,
        about.to_string(),
        format!(
            "{about} is dated {} s in the future",
            date.since(now).as_secs()
        ),
        "The clock was set back, or another machine's clock is ahead: deadlines, ages and times of \
         events are wrong until then. No order depends on them.",
        Fix::Redate,
    ))
}

/// The things with a time in the future, sorted by time.
fn ahead(team: &TeamDir, now: Timestamp) -> Vec<(Timestamp, Dated)> {
    let mut dates = dates(team);
    dates.retain(|(date, _)| date.since(now) > TOLERANCE);
    dates.sort_by_key(|(date, _)| *date);
    // Of each thing, only the latest time is kept.
    let mut found: Vec<(Timestamp, Dated)> = Vec::new();
    for (date, about) in dates {
        found.retain(|(_, other)| *other != about);
        found.push((date, about));
    }
    found
}

fn owners(team: &TeamDir) -> impl Iterator<Item = Recipient> {
    let members = team.roster().map(|roster| roster.members.clone());
    let names = members.into_iter().flatten().map(|member| member.spec.name);
    names.map(Recipient::Member).chain([Recipient::Lead])
}

/// All times in the files of the team.
fn dates(team: &TeamDir) -> Vec<(Timestamp, Dated)> {
    let mut dates = Vec::new();
    for owner in owners(team) {
        if let Ok(Some(live)) = team.live_state(&owner) {
            let times = times_of(&live).into_iter().flatten();
            dates.extend(times.map(|date| (date, Dated::State(owner.clone()))));
        }
    }
    for request in team.requests().into_iter().flatten().flatten() {
        dates.push((request.created_at, Dated::Request(request.id)));
    }
    for task in own_tasks(team).into_iter().flatten().flatten() {
        let changed = [task.created_at, task.updated_at].into_iter().flatten();
        dates.extend(changed.map(|date| (date, Dated::Task(task.id))));
    }
    dates
}

/// The tasks of a board that is at home here. A copy is mended by its home, and its dates are of another clock.
fn own_tasks(team: &TeamDir) -> Result<Vec<Result<Arc<Task>, TaskError>>, PathError> {
    match team.board_place() {
        Ok(BoardPlace::Here) => team.tasks(),
        Ok(BoardPlace::On(_)) | Err(_) => Ok(Vec::new()),
    }
}

/// Files of this host's board that are no tasks.
pub(crate) fn broken_tasks(team: &TeamDir) -> Result<Vec<TaskError>, PathError> {
    let tasks = own_tasks(team)?.into_iter();
    Ok(tasks.filter_map(Result::err).collect())
}

fn times_of(live: &LiveState) -> [Option<Timestamp>; 3] {
    let activity = live.activity.as_ref().map(|activity| activity.since);
    [Some(live.since), live.progress_at, activity]
}

/// Sets all times in the future to now. The old files are kept in the trash, because this machine's
/// clock may be the wrong one.
pub(crate) fn redate(team: &TeamDir) -> Result<String, FixError> {
    let found = ahead(team, now());
    let count = found.len();
    let mut problems = Vec::new();
    for (at, (_, about)) in found.into_iter().enumerate() {
        // Microseconds apart, so that their order is kept.
        let behind = Duration::from_micros(u64::try_from(count - at).unwrap_or(0));
        let done = match &about {
            Dated::State(owner) => redate_state(team, owner),
            Dated::Request(id) => redate_request(team, id, behind),
            Dated::Task(id) => redate_task(team, *id, behind),
        };
        problems.extend(done.err().map(|error| (about, error)));
    }
    match problems.is_empty() {
        true => Ok("set to now; the old files are kept in the trash".to_owned()),
        false => Err(FixError::StillAhead(problems)),
    }
}

fn redate_state(team: &TeamDir, owner: &Recipient) -> Result<(), FixError> {
    let guard = match team.lock_dead_member(owner) {
        Ok(guard) => guard,
        Err(JoinError::Held { .. }) => return wait_for_member(team, owner),
        Err(error) => return Err(error.into()),
    };
    let Some(mut live) = team.live_state(owner)? else {
        return Ok(());
    };
    team.keep_copy(&team.layout().live_state(owner))?;
    let now = now();
    live.since = live.since.min(now);
    live.progress_at = live.progress_at.map(|at| at.min(now));
    if let Some(activity) = &mut live.activity {
        activity.since = activity.since.min(now);
    }
    Ok(team.write_live_state(&guard, &live)?)
}

/// A running member corrects its own live state whenever it wakes up.
fn wait_for_member(team: &TeamDir, owner: &Recipient) -> Result<(), FixError> {
    team.wake_member(owner)?;
    let deadline = Instant::now() + UPDATE_LIMIT;
    while Instant::now() < deadline {
        let state = Dated::State(owner.clone());
        if ahead(team, now()).iter().all(|(_, about)| *about != state) {
            return Ok(());
        }
        thread::sleep(POLL_INTERVAL);
    }
    Err(FixError::Busy(owner.clone()))
}

fn redate_request(team: &TeamDir, id: &RequestId, behind: Duration) -> Result<(), FixError> {
    team.keep_copy(&team.layout().request(id))?;
    let now = now();
    team.update_request(id, |request| {
        Ok::<_, RequestError>((earlier(request, now, behind), ()))
    })?;
    Ok(())
}

/// The request as if it had been created now, with the same time to answer.
fn earlier(mut request: Request, now: Timestamp, behind: Duration) -> Request {
    if request.created_at <= now {
        return request;
    }
    let term = request.deadline.map(|end| end.since(request.created_at));
    request.created_at = before(now, behind);
    request.deadline = term.map(|term| request.created_at.plus(term));
    match &mut request.state {
        RequestState::Pending => {}
        RequestState::Approved(answer) | RequestState::Rejected(answer) => {
            answer.at = answer.at.min(now);
        }
        RequestState::Expired { at, .. } => *at = (*at).min(now),
    }
    request
}

fn redate_task(team: &TeamDir, id: TaskId, behind: Duration) -> Result<(), FixError> {
    let board = team.lock_board()?;
    let task = board.get(id)?;
    team.keep_copy(&team.layout().task(id))?;
    let latest = before(now(), behind);
    let history = task.history.iter().map(|entry| TaskHistory {
        at: entry.at.min(latest),
        ..entry.clone()
    });
    let changed = Task {
        created_at: task.created_at.map(|at| at.min(latest)),
        updated_at: task.updated_at.map(|at| at.min(latest)),
        history: history.collect(),
        ..Task::clone(&task)
    };
    Ok(board.put(&changed, changed.history.len())?)
}

fn before(time: Timestamp, by: Duration) -> Timestamp {
    let by = i64::try_from(by.as_micros()).unwrap_or(0);
    Timestamp::from_micros(time.as_micros().saturating_sub(by))
}
