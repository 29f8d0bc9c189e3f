//! Times in the future: the clock was set back, or another machine's clock is ahead.

use crate::finding::{Cure, Finding, Kind};
use protocol::{
    LiveState, Recipient, Request, RequestId, RequestState, Task, TaskHistory, TaskId, Timestamp,
};
use std::thread;
use std::time::{Duration, Instant};
use teamdir::{JoinError, RequestError, TeamDir, now};

/// How far clocks of machines that share a folder may be apart.
const TOLERANCE: Duration = Duration::from_secs(60);
/// How long a member that was woken may take to say its state anew.
const PATIENCE: Duration = Duration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// What bears a date.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Dated {
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

/// What is dated in the future: the newest date of all.
pub(crate) fn check(team: &TeamDir, now: Timestamp) -> Option<Finding> {
    let (date, about) = ahead(team, now).pop()?;
    Some(Finding::with_cure(
        Kind::Clock,
        about.to_string(),
        format!(
            "{about} is dated {} s in the future",
            date.since(now).as_secs()
        ),
        "The clock was set back, or another machine's clock is ahead: deadlines, ages and times of \
         events are wrong until then. Nothing is lost, as no order depends on it.",
        Cure::Redate,
    ))
}

/// What is dated in the future, the newest last.
fn ahead(team: &TeamDir, now: Timestamp) -> Vec<(Timestamp, Dated)> {
    let mut dates = dates(team);
    dates.retain(|(date, _)| date.since(now) > TOLERANCE);
    dates.sort_by_key(|(date, _)| *date);
    // Several dates of one thing are one.
    let mut found: Vec<(Timestamp, Dated)> = Vec::new();
    for (date, about) in dates {
        found.retain(|(_, other)| *other != about);
        found.push((date, about));
    }
    found
}

fn owners(team: &TeamDir) -> impl Iterator<Item = Recipient> {
    let members = team.roster().map(|roster| roster.members.clone());
    let names = members.into_iter().flatten().map(|member| member.name);
    names.map(Recipient::Member).chain([Recipient::Lead])
}

/// The dates in the files, each with the thing that bears it.
fn dates(team: &TeamDir) -> Vec<(Timestamp, Dated)> {
    let mut dates = Vec::new();
    for owner in owners(team) {
        if let Ok(Some(live)) = team.live_state(&owner) {
            let signs = signs(&live).into_iter().flatten();
            dates.extend(signs.map(|date| (date, Dated::State(owner.clone()))));
        }
    }
    for request in team.requests().into_iter().flatten().flatten() {
        dates.push((request.created_at, Dated::Request(request.id)));
    }
    for task in team.tasks().into_iter().flatten().flatten() {
        let changed = [task.created_at, task.updated_at].into_iter().flatten();
        dates.extend(changed.map(|date| (date, Dated::Task(task.id))));
    }
    dates
}

fn signs(live: &LiveState) -> [Option<Timestamp>; 3] {
    let activity = live.activity.as_ref().map(|activity| activity.since);
    [Some(live.since), live.progress_at, activity]
}

/// Dates everything as of now that is dated in the future. What the files said before is kept in the
/// trash: perhaps it is our clock that is wrong.
pub(crate) fn redate(team: &TeamDir) -> Result<String, String> {
    let found = ahead(team, now());
    let count = found.len();
    let mut problems = Vec::new();
    for (at, (_, about)) in found.into_iter().enumerate() {
        // They keep their order.
        let behind = Duration::from_micros(u64::try_from(count - at).unwrap_or(0));
        let done = match &about {
            Dated::State(owner) => redate_state(team, owner),
            Dated::Request(id) => redate_request(team, id, behind),
            Dated::Task(id) => redate_task(team, *id, behind),
        };
        problems.extend(done.err().map(|error| format!("{about}: {error}")));
    }
    match problems.is_empty() {
        true => Ok("dated as of now; what the files said is kept in the trash".to_owned()),
        false => Err(problems.join("; ")),
    }
}

fn redate_state(team: &TeamDir, owner: &Recipient) -> Result<(), String> {
    let seat = match team.lock_dead_member(owner) {
        Ok(seat) => seat,
        Err(JoinError::Held { .. }) => return wake(team, owner),
        Err(error) => return Err(error.to_string()),
    };
    let Some(mut live) = team.live_state(owner).map_err(words)? else {
        return Ok(());
    };
    team.keep_copy(&team.layout().live_state(owner))
        .map_err(words)?;
    let now = now();
    live.since = live.since.min(now);
    live.progress_at = live.progress_at.map(|at| at.min(now));
    if let Some(activity) = &mut live.activity {
        activity.since = activity.since.min(now);
    }
    team.write_live_state(&seat, &live).map_err(words)
}

/// A living member says its state itself. It looks at the clock whenever it wakes.
fn wake(team: &TeamDir, owner: &Recipient) -> Result<(), String> {
    team.wake_member(owner).map_err(words)?;
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        let state = Dated::State(owner.clone());
        if ahead(team, now()).iter().all(|(_, about)| *about != state) {
            return Ok(());
        }
        thread::sleep(POLL_INTERVAL);
    }
    Err(format!(
        "'{owner}' is busy; it looks at the clock when it has done what it is at"
    ))
}

fn redate_request(team: &TeamDir, id: &RequestId, behind: Duration) -> Result<(), String> {
    team.keep_copy(&team.layout().request(id)).map_err(words)?;
    let now = now();
    team.update_request(id, |request| {
        Ok::<_, RequestError>((earlier(request, now, behind), ()))
    })
    .map_err(words)
}

/// The request as if it had been made now, with as much time for an answer as it had.
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

fn redate_task(team: &TeamDir, id: TaskId, behind: Duration) -> Result<(), String> {
    let board = team.lock_board().map_err(words)?;
    let task = board.get(id).map_err(words)?;
    team.keep_copy(&team.layout().task(id)).map_err(words)?;
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
    board.put(&changed, changed.history.len()).map_err(words)
}

fn before(time: Timestamp, by: Duration) -> Timestamp {
    let by = i64::try_from(by.as_micros()).unwrap_or(0);
    Timestamp::from_micros(time.as_micros().saturating_sub(by))
}

fn words(error: impl std::fmt::Display) -> String {
    error.to_string()
}
