//! Those who change the roster and the board.

use super::{Args, say};
use protocol::Actor;
use protocol::{AgentName, Party, Task, TaskHistory, TaskId};
use rules::{ClaimLimit, Claimant, board};
use teamdir::{RosterError, now};

/// Changes the roster again and again.
#[derive(clap::Args)]
pub(crate) struct Roster {
    /// The member whose counter is raised.
    #[arg(long)]
    name: AgentName,
    #[arg(long)]
    count: u64,
}

/// Claims tasks until none is left.
#[derive(clap::Args)]
pub(crate) struct Claim {
    #[arg(long)]
    name: AgentName,
}

/// Creates tasks.
#[derive(clap::Args)]
pub(crate) struct Create {
    #[arg(long)]
    count: u64,
}

pub(super) fn roster(args: &Args, work: &Roster) -> anyhow::Result<()> {
    let team = args.team()?;
    for _ in 0..work.count {
        team.update_roster(|roster| {
            if let Some(member) = roster.member_mut(&work.name) {
                let count = member.extra.get("count").and_then(|n| n.as_u64());
                let count = count.unwrap_or(0) + 1;
                member.extra.insert("count".to_owned(), count.into());
                // Texts of changing length: a rewrite in place would leave remains.
                member.spec.role = "x".repeat((count % 50) as usize);
            }
            Ok::<_, RosterError>(())
        })?;
    }
    Ok(())
}

pub(super) fn claim(args: &Args, work: &Claim) -> anyhow::Result<()> {
    let team = args.team()?;
    let tasks = team.tasks()?.len() as u64;
    let claimant = Claimant {
        actor: Actor {
            party: Party::Member(work.name.clone()),
            incarnation: None,
        },
        role: String::new(),
        limit: ClaimLimit::Many,
        busy_with: None,
        is_elsewhere: false,
    };
    for id in (1..=tasks).map(TaskId) {
        let locked = team.lock_board()?;
        let task = locked.get(id)?;
        match board::claim(&task, &[], &claimant, now()) {
            Ok(claimed) => locked.put(&claimed, claimed.history.len().saturating_sub(1))?,
            Err(_) => continue,
        }
        drop(locked);
        say(&id.to_string())?;
    }
    Ok(())
}

pub(super) fn create(args: &Args, work: &Create) -> anyhow::Result<()> {
    let team = args.team()?;
    for _ in 0..work.count {
        let task = team.lock_board()?.create(|id| {
            let mut task = Task::new(id, "work");
            task.history
                .push(TaskHistory::new(now(), Party::User, "created"));
            task
        })?;
        say(&task.id.to_string())?;
    }
    Ok(())
}
