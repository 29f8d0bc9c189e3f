//! The tasks of this member: the one it holds, and the next one.

use crate::machine::TaskState;
use member::MemberRuntime;
use protocol::UserMessage;
use protocol::{
    Incarnation, Party, Recipient, SubmissionStatus, Task, TaskId, TaskStatus, Timestamp,
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use team::{Actor, BoardError, Worker};
use teamdir::BoardPlace;
use tracing::{info, warn};

/// Claims and returns tasks for a teammate. Clones share their state.
#[derive(Clone)]
pub(crate) struct Claims {
    runtime: MemberRuntime,
    worker: Worker,
    background: tools::Background,
    state: Arc<Mutex<State>>,
}

struct State {
    /// The task whose outcome the model was asked for.
    outcome_requested: Option<TaskId>,
    /// Whether a task may be claimed: not after a turn that failed, or a member that can do none
    /// would claim one task after the other.
    is_allowed: bool,
    told: Told,
    /// The copy of a board on another host by which there was nothing to claim when its home was asked.
    in_vain: Option<Timestamp>,
}

/// Which task the model knows that it holds.
#[derive(Default)]
struct Told {
    /// The last task whose text this process gave the model.
    text: Option<TaskId>,
    /// Whether the state of the team has named a task of the model's.
    is_named: bool,
}

impl Told {
    /// Whether the state of the team has to name the task that is held: not if its text is the last that the model
    /// heard of it. Once it has named one it names each, since a state without this line would say that the model
    /// holds none.
    fn has_to_name(&mut self, held: TaskId) -> bool {
        self.is_named |= self.text != Some(held);
        self.is_named
    }
}

impl Claims {
    pub(crate) fn new(runtime: &MemberRuntime, role: &str, background: &tools::Background) -> Self {
        let state = State {
            outcome_requested: None,
            is_allowed: true,
            told: Told::default(),
            in_vain: None,
        };
        Self {
            background: background.clone(),
            runtime: runtime.clone(),
            worker: Worker {
                me: runtime.me(),
                role: role.to_owned(),
            },
            state: Arc::new(Mutex::new(state)),
        }
    }

    /// The task that the member holds.
    pub(crate) fn current(&self) -> Option<Task> {
        let own = team::unfinished(self.runtime.team(), &self.worker.me);
        own.unwrap_or_default().into_iter().next()
    }

    /// What the state of the team has to say of the member's task, if anything. What an earlier process told may
    /// be out of date.
    pub(crate) fn reminder(&self, held: Option<&Task>) -> Option<String> {
        let Some(task) = held else {
            let told = self.lock().told.text;
            let is_over = match told {
                Some(id) => {
                    let told = team::get(self.runtime.team(), id);
                    told.is_ok_and(|task| task.status == TaskStatus::Completed)
                }
                None => self.worker.me.incarnation == Some(Incarnation(1)),
            };
            return (!is_over).then(|| "You hold no task.".to_owned());
        };
        let subject = prompts::one_line(&task.subject);
        let has_to_name = self.lock().told.has_to_name(task.id);
        has_to_name.then(|| format!("Your task: #{}: {subject}", task.id))
    }

    pub(crate) fn allow(&self, is_allowed: bool) {
        self.lock().is_allowed = is_allowed;
    }

    /// Whether this member claims tasks by itself.
    pub(crate) fn is_enabled(&self) -> bool {
        let Recipient::Member(name) = self.runtime.owner() else {
            return false;
        };
        let roster = self.runtime.team().roster();
        let member = roster.ok().and_then(|roster| roster.member(name).cloned());
        self.lock().is_allowed && member.is_some_and(|member| member.spec.no_claim != Some(true))
    }

    /// Whether the member waits for a decision on its plan, for a command of its own, or for its work to be
    /// merged. It keeps its task meanwhile, and takes no other.
    fn is_blocked(&self) -> bool {
        let Recipient::Member(name) = self.runtime.owner() else {
            return false;
        };
        let gate = member::gate(self.runtime.team(), name, self.runtime.plan().as_ref());
        matches!(gate, rules::PlanGate::Pending { .. })
            || self.background.running() > 0
            || self.is_submitted()
    }

    /// Whether the work of the held task is in the queue, which completes the task when it is merged.
    fn is_submitted(&self) -> bool {
        let (Some(task), Party::Member(name)) = (self.current(), &self.worker.me.party) else {
            return false;
        };
        let all = self.runtime.team().submissions().unwrap_or_default();
        all.iter().flatten().any(|submission| {
            submission.task == Some(task.id)
                && submission.completes.is_some()
                && submission.member.same_as(name)
                && (submission.status.is_open()
                    || submission.status == SubmissionStatus::Merged
                        && submission.told != Some(true))
        })
    }

    /// What the board has for this member.
    pub(crate) fn state(&self) -> TaskState {
        if self.is_blocked() {
            return TaskState::Nothing;
        }
        if let Some(task) = self.current() {
            let outcome_requested = self.lock().outcome_requested == Some(task.id);
            return TaskState::Held { outcome_requested };
        }
        if !self.is_enabled() {
            return TaskState::Nothing;
        }
        if self.is_asked_in_vain() || !team::is_home_reachable(self.runtime.team()) {
            return TaskState::Nothing;
        }
        let board = team::list(self.runtime.team());
        let is_available = board.is_ok_and(|list| {
            let (me, role) = (&self.worker.me.party, &self.worker.role);
            list.board.next_for(me, role).is_some()
        });
        match is_available {
            true => TaskState::Available,
            false => TaskState::Nothing,
        }
    }

    /// What to tell a model that would stop: the outcome of its task is missing, or there is a next
    /// task, which is claimed.
    pub(crate) fn next(&self) -> Option<UserMessage> {
        if self.is_blocked() {
            return None;
        }
        if let Some(task) = self.current() {
            let requested = self.lock().outcome_requested.replace(task.id);
            if requested != Some(task.id) {
                return Some(ask_for_outcome(&task));
            }
            self.release("the turn ended without an outcome");
        }
        self.lock().outcome_requested = None;
        self.claim()
    }

    fn claim(&self) -> Option<UserMessage> {
        let copy = self.copy();
        if self.is_enabled() && !team::is_home_reachable(self.runtime.team()) {
            // It is asked when it can be, which changes the copy.
            return None;
        }
        let claimed = if self.is_enabled() && !self.is_asked_in_vain() {
            team::claim_next(self.runtime.team(), &self.worker)
        } else {
            Ok(None)
        };
        if !matches!(claimed, Ok(Some(_))) {
            self.lock().in_vain = copy;
        }
        match claimed {
            Ok(task) => {
                self.runtime.set_task(task.as_ref().map(|task| task.id));
                task.map(|task| {
                    info!("claimed task #{}: {}", task.id, task.subject);
                    self.lock().told.text = Some(task.id);
                    claimed_text(&task)
                })
            }
            Err(error) => {
                warn!("no task was claimed: {error}");
                None
            }
        }
    }

    /// The copy of the board, if it is at home on another host.
    fn copy(&self) -> Option<Timestamp> {
        let team = self.runtime.team();
        match team.board_place() {
            Ok(BoardPlace::On(_)) => team.board_copy().ok().flatten().map(|copy| copy.at),
            Ok(BoardPlace::Here) | Err(_) => None,
        }
    }

    /// Whether the home of the board was asked for a task, and has told nothing new since.
    fn is_asked_in_vain(&self) -> bool {
        let in_vain = self.lock().in_vain;
        in_vain.is_some() && in_vain == self.copy()
    }

    /// Returns the held task to the board, for anybody.
    pub(crate) fn release(&self, reason: &str) {
        self.lock().outcome_requested = None;
        self.release_with(reason, |task| {
            team::give_back(self.runtime.team(), &self.worker.me, task.id, reason)
        });
    }

    /// Returns the held task to the board, which offers it to this member first.
    pub(crate) fn suspend(&self, reason: &str) {
        let (Some(incarnation), Party::Member(name)) =
            (self.worker.me.incarnation, &self.worker.me.party)
        else {
            return;
        };
        self.release_with(reason, |_| {
            team::release_all(self.runtime.team(), name, incarnation, reason).map(|_| ())
        });
    }

    fn release_with(&self, reason: &str, release: impl Fn(&Task) -> Result<(), BoardError>) {
        for task in team::unfinished(self.runtime.team(), &self.worker.me).unwrap_or_default() {
            match release(&task) {
                Ok(()) => info!("released task #{}: {reason}", task.id),
                Err(error) => warn!("task #{} was not released: {error}", task.id),
            }
        }
        self.runtime.set_task(None);
    }

    /// Claims the task again that the death of the last incarnation returned to the board, unless
    /// another member has it by now.
    pub(crate) fn reclaim(&self) {
        match team::resume_claim(self.runtime.team(), &self.worker) {
            Ok(Some(task)) => {
                self.runtime.set_task(Some(task.id));
                info!("continues task #{}: {}", task.id, task.subject);
            }
            Ok(None) => {}
            Err(error) => warn!("no task was reclaimed: {error}"),
        }
    }

    /// Returns the tasks that earlier incarnations held: their claims ended with them, and the board
    /// offers them to this member first.
    pub(crate) fn release_earlier(&self) -> Result<(), BoardError> {
        let Actor {
            party: Party::Member(name),
            incarnation: Some(incarnation),
        } = &self.worker.me
        else {
            return Ok(());
        };
        let before = Incarnation(incarnation.0.saturating_sub(1));
        let reason = "its owner was restarted";
        team::release_all(self.runtime.team(), name, before, reason)?;
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn claimed_text(task: &Task) -> UserMessage {
    // A subject must not close the block around it.
    let escape = |text: &str| text.replace("</", "< /");
    let mut text = format!("Task #{}: {}", task.id, escape(&task.subject));
    if !task.description.is_empty() {
        text.push_str(&format!("\n{}", escape(&task.description)));
    }
    let notes = task.history.iter().filter_map(|entry| entry.note.as_ref());
    let notes: Vec<&str> = notes.map(String::as_str).collect();
    if !notes.is_empty() {
        text.push_str(&format!("\nNotes so far: {}", escape(&notes.join("; "))));
    }
    UserMessage::new(format!("<auto-claimed>{text}</auto-claimed>"))
}

fn ask_for_outcome(task: &Task) -> UserMessage {
    let id = task.id;
    UserMessage::new(format!(
        "<task-outcome>You still hold task #{id}: {}. Say what became of it before you stop: \
         task_update with status completed and a result, or with status pending and a note if you \
         cannot go on. Otherwise it goes back to the board.</task-outcome>",
        task.subject.replace("</", "< /")
    ))
}

#[cfg(test)]
mod tests {
    use super::{TaskId, Told};

    #[test]
    fn the_state_of_the_team_names_each_task_once_it_has_named_one() {
        let (first, second) = (TaskId(7), TaskId(8));
        let mut told = Told {
            text: Some(first),
            is_named: false,
        };
        assert!(!told.has_to_name(first), "its text was given");
        told.text = Some(second);
        assert!(!told.has_to_name(second), "its text was given");
        // A new process does not know what the one before told.
        let mut told = Told::default();
        assert!(told.has_to_name(first));
        told.text = Some(second);
        assert!(told.has_to_name(second), "or it would seem to be gone");
    }
}
