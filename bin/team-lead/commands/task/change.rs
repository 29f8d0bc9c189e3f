//! Creating and changing tasks.

use super::{args as typed, explain};
use crate::cli::Args;
use crate::failure::{Failure, Kind};
use crate::names;
use protocol::{Party, Recipient, Task, TaskId};
use rules::{ClaimLimit, Edit, NewTask, board};
use serde_json::json;
use team::{Actor, BoardError, Update, Worker};
use teamdir::{Liveness, TeamDir};

pub(super) fn create(team: &TeamDir, args: &Args, wish: &typed::Create) -> Result<(), Failure> {
    let new = NewTask {
        subject: wish.subject.clone(),
        description: wish.description.clone(),
        priority: wish.priority.unwrap_or_default(),
        role: wish.role.clone(),
        blocked_by: wish.blocked_by.clone(),
    };
    let created = team::create(team, &Actor::user(), &new);
    let task = created.map_err(|error| explain(&error, None))?;
    confirm(args, &task, &format!("Created task #{}", task.id))
}

pub(super) fn update(team: &TeamDir, args: &Args, wish: &typed::Update) -> Result<(), Failure> {
    let update = Update {
        edit: Edit {
            subject: wish.subject.clone(),
            description: wish.description.clone(),
            priority: wish.priority,
            role: wish.role.clone(),
            note: wish.note.clone(),
        },
        add_blocked_by: wish.blocked_by.clone(),
        remove_blocked_by: wish.unblock.clone(),
        status: wish.status,
        result: wish.result.clone(),
    };
    let updated = team::update(team, &Worker::user(), wish.id, &update);
    let task = about(wish.id, updated)?;
    // Only for the look of it: the task was changed whether or not the board can be read again.
    let open = team::list(team).map(|look| look.board.open_blockers(&task));
    let line = board::line(&task, &open.unwrap_or_default());
    confirm(args, &task, &format!("Updated {line}"))
}

pub(super) fn claim(team: &TeamDir, args: &Args, wish: &typed::Claim) -> Result<(), Failure> {
    let worker = worker(team, wish.member.as_deref())?;
    must_live(team, &worker)?;
    let limit = if wish.another {
        ClaimLimit::Many
    } else {
        ClaimLimit::One
    };
    let task = match wish.id {
        Some(id) => about(id, team::claim(team, &worker, id, limit))?,
        None => next(team, &worker)?,
    };
    let owner = &worker.me.party;
    confirm(
        args,
        &task,
        &format!("Claimed task #{} for {owner}", task.id),
    )
}

pub(super) fn release(team: &TeamDir, args: &Args, wish: &typed::Release) -> Result<(), Failure> {
    let me = worker(team, wish.member.as_deref())?.me;
    let task = about(wish.id, team::release(team, &me, wish.id, &wish.why))?;
    confirm(args, &task, &format!("Released task #{}", task.id))
}

pub(super) fn complete(team: &TeamDir, args: &Args, wish: &typed::Complete) -> Result<(), Failure> {
    let me = worker(team, wish.member.as_deref())?.me;
    let result = wish.result.as_deref();
    let task = about(wish.id, team::complete(team, &me, wish.id, result))?;
    let mut words = format!("Completed task #{}", task.id);
    // The completion is stored: what it leads to is only told if it can be seen.
    if let Ok(look) = team::list(team) {
        let ready = look.board.unblocked_by(task.id).into_iter();
        let ready: Vec<String> = ready.map(|task| format!("#{}", task.id)).collect();
        if !ready.is_empty() {
            words.push_str(&format!("; now ready: {}", ready.join(", ")));
        }
    }
    confirm(args, &task, &words)
}

pub(super) fn delete(team: &TeamDir, args: &Args, wish: &typed::Delete) -> Result<(), Failure> {
    let task = about(wish.id, team::delete(team, &Actor::user(), wish.id))?;
    confirm(args, &task, &format!("Deleted task #{}", task.id))
}

fn confirm(args: &Args, task: &Task, words: &str) -> Result<(), Failure> {
    args.confirm(&json!(task), words)
}

fn about<T>(id: TaskId, result: Result<T, BoardError>) -> Result<T, Failure> {
    result.map_err(|error| explain(&error, Some(id)))
}

fn next(team: &TeamDir, worker: &Worker) -> Result<Task, Failure> {
    let next = team::claim_next(team, worker);
    if let Some(task) = next.map_err(|error| explain(&error, None))? {
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

/// A claim for a member that does not live would be taken back by the next one who looks.
fn must_live(team: &TeamDir, worker: &Worker) -> Result<(), Failure> {
    let Party::Member(name) = &worker.me.party else {
        return Ok(());
    };
    match team.liveness(&Recipient::Member(name.clone()))? {
        Liveness::Alive(_) => Ok(()),
        Liveness::Gone(_) => {
            let role = &worker.role;
            let message = format!("{name} does not run, and a claim ends with its owner's process");
            Err(Failure::new(Kind::Refused, message).hint(format!("team-lead spawn {name} {role}")))
        }
    }
}

/// Who acts: the person, or a member whose part the person plays. A claim is bound to the life
/// that the member is in.
fn worker(team: &TeamDir, member: Option<&str>) -> Result<Worker, Failure> {
    let Some(typed) = member else {
        return Ok(Worker::user());
    };
    let roster = team.roster()?;
    let name = names::member(&roster, typed)?;
    let member = roster.member(&name);
    let (role, incarnation) = member.map(|m| (m.role.clone(), m.incarnation)).unzip();
    Ok(Worker {
        me: Actor {
            party: Party::Member(name),
            incarnation,
        },
        role: role.unwrap_or_default(),
    })
}
