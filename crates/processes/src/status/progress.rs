//! How far a team is with its work, for those who wait for it.

use crate::status::idle_check::{IdleCheck, check_idle};
use crate::status::member_view::{ViewError, member_views};
use protocol::{AgentName, TaskStatus};
use rules::MemberState;
use teamdir::TeamDir;

/// How far a team is on its way to what somebody waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress<T> {
    Reached(T),
    /// No member works any more, and these cannot continue without help.
    Stuck {
        reached: T,
        what: String,
        broken: Vec<BrokenMember>,
    },
    /// Not yet, for this reason.
    NotYet(String),
}

/// A member that failed or died.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenMember {
    pub name: AgentName,
    /// What has happened to it.
    pub text: String,
}

/// A team that has nothing left to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quiet {
    /// Members waiting for a decision on their plan.
    pub waiting_plan: Vec<AgentName>,
}

/// How many tasks the board has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskCount {
    pub all: usize,
    pub completed: usize,
}

/// Whether the team is quiet.
pub fn quiet(team: &TeamDir) -> Result<Progress<Quiet>, ViewError> {
    let waiting_plan = match check_idle(team)? {
        IdleCheck::Busy { why } => return Ok(Progress::NotYet(why)),
        IdleCheck::Idle { waiting_plan, .. } => waiting_plan,
    };
    let reached = Quiet { waiting_plan };
    let broken = broken(team)?;
    Ok(match broken.is_empty() {
        true => Progress::Reached(reached),
        false => Progress::Stuck {
            reached,
            what: "the team is quiet".to_owned(),
            broken,
        },
    })
}

/// Whether all tasks are completed.
pub fn all_tasks_completed(team: &TeamDir) -> Result<Progress<TaskCount>, ViewError> {
    let listed = team::list(team)?;
    if let Some(error) = listed.broken.first() {
        // An unreadable task file may be a task that nobody can complete.
        return Ok(Progress::NotYet(error.to_string()));
    }
    let tasks = listed.board.tasks();
    let open = tasks.filter(|task| task.status != TaskStatus::Completed);
    let open: Vec<String> = open.map(|task| format!("#{}", task.id)).collect();
    let all = listed.board.tasks().count();
    let reached = TaskCount {
        all,
        completed: all - open.len(),
    };
    if open.is_empty() {
        return Ok(Progress::Reached(reached));
    }
    let what = format!("not completed: {}", open.join(", "));
    // No member works, and a failed one cannot continue without help.
    if let IdleCheck::Idle { .. } = check_idle(team)? {
        let broken = broken(team)?;
        if !broken.is_empty() {
            return Ok(Progress::Stuck {
                reached,
                what,
                broken,
            });
        }
    }
    Ok(Progress::NotYet(what))
}

/// The text about a team that is stuck.
pub fn stuck_text(what: &str, broken: &[BrokenMember]) -> String {
    let texts: Vec<&str> = broken.iter().map(|broken| broken.text.as_str()).collect();
    format!("{what}, but {}", texts.join("; "))
}

fn broken(team: &TeamDir) -> Result<Vec<BrokenMember>, ViewError> {
    let views = member_views(team)?.into_iter();
    let broken = views.filter_map(|view| {
        let name = view.member.spec.name;
        let text = match view.state {
            MemberState::Failed { reason, .. } if reason.is_empty() => format!("{name} failed"),
            MemberState::Failed { reason, .. } | MemberState::GaveUp { reason } => {
                format!("{name} failed: {reason}")
            }
            MemberState::Dead { .. } => {
                format!("{name} is dead")
            }
            MemberState::Starting { .. }
            | MemberState::Working { .. }
            | MemberState::Waiting { .. }
            | MemberState::Idle { .. }
            | MemberState::Hung { .. }
            | MemberState::Shutdown => return None,
        };
        Some(BrokenMember { name, text })
    });
    Ok(broken.collect())
}
