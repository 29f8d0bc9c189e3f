//! Decides what another host asks of the board, which is at home here.

use super::locked::{Asked, Locked};
use super::{BoardError, Update, Worker, claim, create, update};
use crate::Actor;
use crate::mail::notice;
use protocol::{
    BoardAnswer, BoardAsk, BoardChange, BoardOutcome, HostId, JsonLine, MAX_LINE_BYTES,
    NoticeCause, Party, Recipient, Task, TaskChange,
};
use rules::{Board, ClaimLimit, Edit, NewTask};
use teamdir::{SendError, TeamDir};

/// Does what a member or the person of another host asks for, unless that was done already. An error means that
/// nothing is decided yet.
pub fn decide(team: &TeamDir, from: &HostId, ask: &BoardAsk) -> Result<BoardAnswer, BoardError> {
    let decided = whole(ask).and_then(|()| worker(team, from, ask));
    let decided = decided.and_then(|worker| apply(team, from, ask, &worker));
    let outcome = match decided {
        Ok(tasks) => BoardOutcome::Done { tasks },
        // A broken file stays so: whoever asks must not wait for it.
        Err(error) if error.is_refusal() || matches!(error, BoardError::Task(_)) => {
            let is_lease_over = matches!(error, BoardError::Lease(_));
            if is_lease_over {
                // What a refused member has written is not lost.
                match keep_words(team, from, ask) {
                    Err(error) if !error.is_refusal() => return Err(BoardError::Words(error)),
                    Ok(()) | Err(_) => {}
                }
            }
            BoardOutcome::Refused {
                reason: error.to_string(),
                missing: match error {
                    BoardError::NotFound(id) => Some(id),
                    _ => None,
                },
                is_lease_over,
                is_too_many: false,
            }
        }
        Err(error) => return Err(error),
    };
    let id = ask.id.clone();
    Ok(BoardAnswer { id, outcome })
}

/// Refuses what does not fit into the frames that would tell others of it.
fn whole(ask: &BoardAsk) -> Result<(), BoardError> {
    let bytes = JsonLine::encode(ask).map_or(usize::MAX, |line| line.len());
    let most = MAX_LINE_BYTES;
    match bytes > most {
        true => Err(BoardError::TooLong { bytes, most }),
        false => Ok(()),
    }
}

/// Who asks, as the rules need it. Another host speaks for those at home there, and for its person.
fn worker(team: &TeamDir, from: &HostId, ask: &BoardAsk) -> Result<Worker, BoardError> {
    let me = Actor {
        party: ask.by.clone(),
        incarnation: ask.incarnation,
    };
    let host = from.clone();
    let role = match &ask.by {
        Party::User => String::new(),
        Party::Member(name) => {
            let roster = team.roster()?;
            let known = roster.member(name);
            match known.filter(|member| member.host.as_ref() == Some(from)) {
                Some(member) => member.spec.role.clone(),
                None => {
                    let name = name.clone();
                    return Err(BoardError::NotAtHome { name, host });
                }
            }
        }
        Party::Lead | Party::System => {
            let party = ask.by.clone();
            return Err(BoardError::NotSpokenFor { host, party });
        }
    };
    Ok(Worker { me, role })
}

/// Makes the change under the lock of the board. Returns the tasks that it changed.
fn apply(
    team: &TeamDir,
    from: &HostId,
    ask: &BoardAsk,
    worker: &Worker,
) -> Result<Vec<Task>, BoardError> {
    let asked = Asked {
        id: ask.id.clone(),
        host: from.clone(),
        lease: ask.lease,
    };
    let locked = Locked::for_asked(team, asked)?;
    let done = done_before(&locked.whole()?, ask);
    if !done.is_empty() {
        return Ok(done);
    }
    let me = &worker.me;
    let task = match &ask.change {
        BoardChange::Create { .. } => Some(create::create_in(&locked, me, &new_task(&ask.change))?),
        BoardChange::Update(change) => {
            let update = into_update(change);
            Some(update::update_in(&locked, worker, change.task, &update)?)
        }
        BoardChange::Claim { task, another } => {
            let limit = if *another {
                ClaimLimit::Many
            } else {
                ClaimLimit::One
            };
            Some(claim::claim_in(&locked, worker, *task, limit)?)
        }
        BoardChange::ClaimNext => claim::claim_next_in(&locked, worker)?,
        BoardChange::Resume => claim::resume_claim_in(&locked, worker)?,
        BoardChange::Release { task, why } => Some(update::release_in(&locked, me, *task, why)?),
        BoardChange::GiveBack { task, why } => {
            Some(update::give_back_in(&locked, &me.party, *task, why)?)
        }
        BoardChange::Complete { task, result } => {
            let result = result.as_deref();
            Some(update::complete_in(&locked, me, *task, result)?)
        }
        BoardChange::Delete { task } => Some(create::delete_in(&locked, me, *task)?),
        BoardChange::ReleaseEnded { up_to, why } => {
            return claim::release_all_in(&locked, &me.party, *up_to, why);
        }
    };
    Ok(task.into_iter().collect())
}

/// The tasks that were changed by what is asked, if it was all done before.
fn done_before(board: &Board, ask: &BoardAsk) -> Vec<Task> {
    match ask.change {
        // These change several files, maybe only some of them; doing it again does the rest.
        BoardChange::Delete { .. } | BoardChange::ReleaseEnded { .. } => return Vec::new(),
        BoardChange::Create { .. }
        | BoardChange::Update(_)
        | BoardChange::Claim { .. }
        | BoardChange::ClaimNext
        | BoardChange::Resume
        | BoardChange::Release { .. }
        | BoardChange::GiveBack { .. }
        | BoardChange::Complete { .. } => {}
    }
    // A claim may have ended since, and somebody else may have the task.
    let holds = |task: &Task| {
        let mut mine = board.in_progress_of(&ask.by);
        mine.any(|mine| mine.id == task.id)
    };
    let is_claim = ask.change.is_claim();
    let done = board.changed_by(&ask.id);
    done.filter(|task| !is_claim || holds(task))
        .cloned()
        .collect()
}

fn new_task(change: &BoardChange) -> NewTask {
    match change.clone() {
        BoardChange::Create {
            subject,
            description,
            priority,
            role,
            blocked_by,
        } => NewTask {
            subject,
            description,
            priority,
            role,
            blocked_by,
        },
        _ => NewTask::default(),
    }
}

fn into_update(change: &TaskChange) -> Update {
    let change = change.clone();
    Update {
        edit: Edit {
            subject: change.subject,
            description: change.description,
            priority: change.priority,
            role: change.role,
            note: change.note,
        },
        add_blocked_by: change.add_blocked_by,
        remove_blocked_by: change.remove_blocked_by,
        status: change.status,
        result: change.result,
    }
}

/// Sends the lead what was written under a claim that had ended.
fn keep_words(team: &TeamDir, from: &HostId, ask: &BoardAsk) -> Result<(), SendError> {
    let (Some(words), Some(id)) = (ask.change.words(), ask.change.task()) else {
        return Ok(());
    };
    let by = &ask.by;
    let text = format!(
        "{by}, on the host {from}, wrote this about task #{id} when its claim had ended, so that it is not on the \
         board: {words}"
    );
    let message = format!("late/{from}/{}", ask.id);
    notice(team, Recipient::Lead, NoticeCause::Board, &message, &text).map(|_| ())
}
