//! Asks the home of the board, if that is another host, for changes.
//!
//! A change crosses as an ask, whose answer is waited for with a limit. Who does not wait any more says so
//! (`end_ask`); then the bridge tells the outcome by mail, and gives a claim back that is granted too late.

use super::{BoardError, Update};
use crate::Actor;
use protocol::{
    AskEnd, BoardAsk, BoardChange, BoardOutcome, HostId, JsonLine, MAX_LINE_BYTES, RequestId, Task,
    TaskChange, TaskId,
};
use std::time::{Duration, Instant};
use teamdir::{BoardPlace, Liveness, TeamDir, new_message_id};

/// How long an answer of another host is waited for.
const PATIENCE: Duration = Duration::from_secs(10);
/// The same for a claim of a member that is between two turns: mail and shutdowns wait for it.
const CLAIM_PATIENCE: Duration = Duration::from_secs(3);
/// The first and the longest pause between two looks for the answer.
const LOOKS: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(50));

/// The home of the board, which is another host.
pub(super) struct Home(HostId);

/// The home of the board, if that is another host.
pub(super) fn home(team: &TeamDir) -> Result<Option<Home>, BoardError> {
    Ok(match team.board_place()? {
        BoardPlace::Here => None,
        BoardPlace::On(host) => Some(Home(host)),
    })
}

/// Whether the board can be changed now: it is at home here, or its home can be reached.
pub fn is_home_reachable(team: &TeamDir) -> bool {
    match home(team) {
        Ok(Some(home)) => home.unreachable(team).is_none(),
        Ok(None) => true,
        Err(_) => false,
    }
}

/// Whose board is shown here and how old that is, if it is a copy.
pub fn describe_copy(team: &TeamDir) -> Option<String> {
    let Ok(BoardPlace::On(host)) = team.board_place() else {
        return None;
    };
    let what = format!("the board is at home on the host {host}");
    let copy = team.board_copy().ok().flatten();
    let Some(copy) = copy.filter(|copy| copy.of == host) else {
        return Some(format!("{what}, which was not reached yet"));
    };
    let Some(why) = Home(host).unreachable(team) else {
        return Some(format!("{what}; this is a copy"));
    };
    let age = (teamdir::now().as_secs_f64() - copy.at.as_secs_f64()).max(0.0);
    Some(format!("{what}, {why}; this is a copy from {age:.0} s ago"))
}

/// A claim was granted when nobody waited for it any more: it goes back to the board.
pub fn give_back_late_claim(team: &TeamDir, ask: &BoardAsk, task: &Task) -> Result<(), BoardError> {
    let release = BoardAsk {
        id: new_ask_id(),
        by: ask.by.clone(),
        incarnation: ask.incarnation,
        lease: task.lease,
        change: BoardChange::GiveBack {
            task: task.id,
            why: "the claim was granted too late".to_owned(),
        },
    };
    team.end_ask(&release.id, &AskEnd::ByMail)?;
    Ok(team.put_ask(&release)?)
}

impl Home {
    /// Asks for a change of one task, and waits for the outcome.
    pub(super) fn ask_for_one(
        &self,
        team: &TeamDir,
        me: &Actor,
        change: BoardChange,
    ) -> Result<Task, BoardError> {
        let id = change.task();
        let done = self.ask(team, me, change)?;
        // The home always names the task that it has changed.
        done.ok_or(BoardError::NotFound(id.unwrap_or_default()))
    }

    /// Asks for a change and waits for the outcome, which is no task if there was nothing to do.
    pub(super) fn ask(
        &self,
        team: &TeamDir,
        me: &Actor,
        change: BoardChange,
    ) -> Result<Option<Task>, BoardError> {
        let ask = self.prepare(team, me, change)?;
        let is_claim = ask.change.is_claim();
        if let Some(why) = self.unreachable(team) {
            let home = self.0.clone();
            if is_claim {
                return Err(BoardError::Unreachable { home, why });
            }
            self.tell_ask(team, &ask)?;
            return Err(BoardError::Queued { home, why });
        }
        team.put_ask(&ask)?;
        let patience = match ask.change {
            BoardChange::ClaimNext | BoardChange::Resume => CLAIM_PATIENCE,
            _ => PATIENCE,
        };
        if let Some(end) = wait(team, &ask.id, patience)? {
            return fetched(team, &ask, end);
        }
        let end = if is_claim {
            AskEnd::Withdrawn
        } else {
            AskEnd::ByMail
        };
        if !team.end_ask(&ask.id, &end)?
            && let Some(end) = team.ask_end(&ask.id)?
        {
            // It came at the last moment.
            return fetched(team, &ask, end);
        }
        let home = self.0.clone();
        let why = "which has not answered yet".to_owned();
        if is_claim {
            return Err(BoardError::Unreachable { home, why });
        }
        drop_claim(team, &ask)?;
        Err(BoardError::Queued { home, why })
    }

    /// Asks for a change that nobody waits for.
    pub(super) fn tell(
        &self,
        team: &TeamDir,
        me: &Actor,
        change: BoardChange,
    ) -> Result<(), BoardError> {
        let ask = self.prepare(team, me, change)?;
        self.tell_ask(team, &ask)
    }

    fn tell_ask(&self, team: &TeamDir, ask: &BoardAsk) -> Result<(), BoardError> {
        team.put_ask(ask)?;
        // The end first would be an end of nothing; until it is there, an answer is kept for who does not fetch it.
        team.end_ask(&ask.id, &AskEnd::ByMail)?;
        drop_claim(team, ask)
    }

    /// An ask under the claim that the asker has.
    fn prepare(
        &self,
        team: &TeamDir,
        me: &Actor,
        change: BoardChange,
    ) -> Result<BoardAsk, BoardError> {
        let claim = match change.task() {
            Some(id) if !change.is_claim() => team.board_claim(id)?,
            Some(_) | None => None,
        };
        let claim = claim.filter(|claim| {
            claim.owner == me.party
                && (me.incarnation.is_none() || claim.owner_incarnation == me.incarnation)
        });
        let ask = BoardAsk {
            id: new_ask_id(),
            by: me.party.clone(),
            incarnation: me.incarnation,
            lease: claim.map(|claim| claim.lease),
            change,
        };
        let bytes = JsonLine::encode(&ask).map_or(0, |line| line.len());
        match bytes > MAX_LINE_BYTES {
            true => Err(BoardError::TooLong {
                bytes,
                most: MAX_LINE_BYTES,
            }),
            false => Ok(ask),
        }
    }

    /// Why the home cannot be asked now.
    fn unreachable(&self, team: &TeamDir) -> Option<String> {
        match team.bridge_liveness() {
            Ok(Liveness::Alive(_)) => {}
            Ok(Liveness::Gone(_)) | Err(_) => return Some("and no bridge runs here".to_owned()),
        }
        let peer = team.peer(&self.0).ok().flatten();
        match peer {
            Some(peer) if peer.reachable => None,
            Some(peer) => {
                let why = peer.problem.unwrap_or_default();
                Some(format!("which cannot be reached: {why}"))
            }
            None => Some("which was not reached yet".to_owned()),
        }
    }
}

/// The change as it crosses.
pub(super) fn task_change(id: TaskId, change: &Update) -> TaskChange {
    let Update {
        edit,
        add_blocked_by,
        remove_blocked_by,
        status,
        result,
    } = change.clone();
    TaskChange {
        task: id,
        status,
        subject: edit.subject,
        description: edit.description,
        priority: edit.priority,
        role: edit.role,
        note: edit.note,
        add_blocked_by,
        remove_blocked_by,
        result,
    }
}

/// Waits for the end of an ask.
fn wait(team: &TeamDir, id: &RequestId, patience: Duration) -> Result<Option<AskEnd>, BoardError> {
    let (began, mut pause) = (Instant::now(), LOOKS.0);
    loop {
        if let Some(end) = team.ask_end(id)? {
            return Ok(Some(end));
        }
        if began.elapsed() >= patience {
            return Ok(None);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(LOOKS.1);
    }
}

fn fetched(team: &TeamDir, ask: &BoardAsk, end: AskEnd) -> Result<Option<Task>, BoardError> {
    team.forget_ask(&ask.id)?;
    match end {
        AskEnd::Answered(BoardOutcome::Done { tasks }) => Ok(tasks.into_iter().next()),
        AskEnd::Answered(BoardOutcome::Refused {
            missing: Some(id), ..
        }) => Err(BoardError::NotFound(id)),
        AskEnd::Answered(BoardOutcome::Refused {
            reason,
            is_lease_over,
            missing: None,
            is_too_many: _,
        }) => Err(BoardError::RefusedThere {
            reason,
            is_lease_over,
        }),
        // Nobody else waits for it.
        AskEnd::ByMail | AskEnd::Withdrawn => Ok(None),
    }
}

/// A claim ends here at once, although its home may hear of it much later.
fn drop_claim(team: &TeamDir, ask: &BoardAsk) -> Result<(), BoardError> {
    if !ask.change.ends_claim() {
        return Ok(());
    }
    match &ask.change {
        BoardChange::ReleaseEnded { up_to, .. } => {
            for claim in team.board_claims()? {
                let is_theirs =
                    claim.owner == ask.by && claim.owner_incarnation.is_none_or(|of| of <= *up_to);
                if is_theirs {
                    team.remove_board_claim(claim.task)?;
                }
            }
        }
        change => {
            if let (Some(id), Some(_)) = (change.task(), ask.lease) {
                team.remove_board_claim(id)?;
            }
        }
    }
    Ok(())
}

fn new_ask_id() -> RequestId {
    let id = new_message_id();
    RequestId::new(id.as_str()).unwrap_or_else(|_| teamdir::new_request_id())
}
