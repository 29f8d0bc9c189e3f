//! `task create`, `update`, `claim`, `release`, `complete` and `delete`.

use super::{args as typed, failure};
use crate::cli::Args;
use crate::failure::{Failure, Kind};
use crate::names;
use protocol::{Party, Recipient, Task, TaskId};
use rules::{ClaimLimit, Edit, NewTask, board};
use serde_json::json;
use team::{Actor, BoardError, Update, Worker};
use teamdir::{Liveness, TeamDir};

pub(super) fn create(team: &TeamDir, args: &Args, command: &typed::Create) -> Result<(), Failure> {
    let new = NewTask {
        subject: command.subject.clone(),
        description: command.description.clone(),
        priority: command.priority.unwrap_or_default(),
        role: command.role.clone(),
        blocked_by: command.blocked_by.clone(),
    };
    let created = team::create(team, &Actor::user(), &new);
    let task = created.map_err(|error| failure(&error, None))?;
    confirm(args, &task, &format!("Created task #{}", task.id))
}

pub(super) fn update(team: &TeamDir, args: &Args, command: &typed::Update) -> Result<(), Failure> {
    let update = Update {
        edit: Edit {
            subject: command.subject.clone(),
            description: command.description.clone(),
            priority: command.priority,
            role: command.role.clone(),
            note: command.note.clone(),
        },
        add_blocked_by: command.blocked_by.clone(),
        remove_blocked_by: command.unblock.clone(),
        status: command.status,
        result: command.result.clone(),
    };
    let updated = team::update(team, &Worker::user(), command.id, &update);
    let task = check(command.id, updated)?;
    // Only for display: the task was changed even if the board cannot be read again.
    let open = team::list(team).map(|listed| listed.board.open_blockers(&task));
    let line = board::line(&task, &open.unwrap_or_default());
    confirm(args, &task, &format!("Updated {line}"))
}

pub(super) fn claim(team: &TeamDir, args: &Args, command: &typed::Claim) -> Result<(), Failure> {
    let worker = worker(team, command.member.as_deref())?;
    require_running(team, &worker)?;
    let limit = if command.another {
        ClaimLimit::Many
    } else {
        ClaimLimit::One
    };
    let task = match command.id {
        Some(id) => check(id, team::claim(team, &worker, id, limit))?,
        None => next(team, &worker)?,
    };
    let owner = &worker.me.party;
    confirm(
        args,
        &task,
        &format!("Claimed task #{} for {owner}", task.id),
    )
}

pub(super) fn release(
    team: &TeamDir,
    args: &Args,
    command: &typed::Release,
) -> Result<(), Failure> {
    let me = worker(team, command.member.as_deref())?.me;
    let task = check(
        command.id,
        team::release(team, &me, command.id, &command.why),
    )?;
    confirm(args, &task, &format!("Released task #{}", task.id))
}

pub(super) fn complete(
    team: &TeamDir,
    args: &Args,
    command: &typed::Complete,
) -> Result<(), Failure> {
    let me = worker(team, command.member.as_deref())?.me;
    let result = command.result.as_deref();
    let task = check(command.id, team::complete(team, &me, command.id, result))?;
    let mut text = format!("Completed task #{}", task.id);
    // The completion is stored. The tasks that it unblocks are shown if the board can be read.
    if let Ok(listed) = team::list(team) {
        let ready = listed.board.unblocked_by(task.id).into_iter();
        let ready: Vec<String> = ready.map(|task| format!("#{}", task.id)).collect();
        if !ready.is_empty() {
            text.push_str(&format!("; now ready: {}", ready.join(", ")));
        }
    }
    confirm(args, &task, &text)
}

pub(super) fn delete(team: &TeamDir, args: &Args, command: &typed::Delete) -> Result<(), Failure> {
    let task = check(command.id, team::delete(team, &Actor::user(), command.id))?;
    confirm(args, &task, &format!("Deleted task #{}", task.id))
}

fn confirm(args: &Args, task: &Task, text: &str) -> Result<(), Failure> {
    args.confirm(&json!(task), text)
}

fn check<T>(id: TaskId, result: Result<T, BoardError>) -> Result<T, Failure> {
    result.map_err(|error| failure(&error, Some(id)))
}

fn next(team: &TeamDir, worker: &Worker) -> Result<Task, Failure> {
    let next = team::claim_next(team, worker);
    if let Some(task) = next.map_err(|error| failure(&error, None))? {
        return Ok(task);
    }
    let owner = &worker.me.party;
    let refused = |message: String| Failure::new(Kind::Refused, message);
    Err(match team::unfinished(team, &worker.me)?.first() {
        Some(task) => refused(format!("{owner} has task {} in progress", task.id)).hint(format!(
            "team-lead task complete {}, or team-lead task claim N --another",
            task.id
        )),
        None => refused(format!("no task is ready for {owner}")).hint("team-lead task list"),
    })
}

/// Refuses a claim for a member that is not running: it would be released at the next repair.
fn require_running(team: &TeamDir, worker: &Worker) -> Result<(), Failure> {
    let Party::Member(name) = &worker.me.party else {
        return Ok(());
    };
    match team.liveness(&Recipient::Member(name.clone()))? {
        Liveness::Alive(_) => Ok(()),
        Liveness::Gone(_) => {
            let role = &worker.role;
            let message =
                format!("{name} is not running, and a claim ends with its owner's process");
            Err(Failure::new(Kind::Refused, message).hint(format!("team-lead spawn {name} {role}")))
        }
    }
}

/// The user, or the member that the user acts as. A claim is bound to the member's current
/// incarnation.
fn worker(team: &TeamDir, member: Option<&str>) -> Result<Worker, Failure> {
    let Some(typed) = member else {
        return Ok(Worker::user());
    };
    let roster = team.roster()?;
    let name = names::member(&roster, typed)?;
    let member = roster.member(&name);
    let (role, incarnation) = member.map(|m| (m.spec.role.clone(), m.incarnation)).unzip();
    Ok(Worker {
        me: Actor {
            party: Party::Member(name),
            incarnation,
        },
        role: role.unwrap_or_default(),
    })
}
