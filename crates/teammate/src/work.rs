//! Tasks: the one in hand, and the next one.

use agent::Message;
use member::MemberRuntime;
use protocol::{Recipient, Task, TaskId};
use team::{Actor, BoardError, Worker};

/// A teammate's dealings with the board.
pub(crate) struct Work {
    runtime: MemberRuntime,
    worker: Worker,
    background: tools::Background,
    /// The task whose outcome the model was asked for.
    asked: Option<TaskId>,
    /// Whether a task may be taken: not after a turn that failed, or tasks would go through the
    /// hands of a member that can do none.
    pub(crate) may_claim: bool,
}

impl Work {
    pub(crate) fn new(runtime: &MemberRuntime, role: &str, background: &tools::Background) -> Self {
        Self {
            background: background.clone(),
            runtime: runtime.clone(),
            worker: Worker {
                me: runtime.me(),
                role: role.to_owned(),
            },
            asked: None,
            may_claim: true,
        }
    }

    /// The task in hand.
    pub(crate) fn current(&self) -> Option<Task> {
        let own = team::unfinished(self.runtime.team(), &self.worker.me);
        own.unwrap_or_default().into_iter().next()
    }

    /// Whether this member takes tasks by itself.
    pub(crate) fn claims(&self) -> bool {
        let Recipient::Member(name) = self.runtime.owner() else {
            return false;
        };
        let roster = self.runtime.team().roster();
        let member = roster.ok().and_then(|roster| roster.member(name).cloned());
        self.may_claim && member.is_some_and(|member| member.no_claim != Some(true))
    }

    /// Whether the member waits for a decision on its plan or for a command of its own. What it has
    /// in hand stays there meanwhile, and it takes nothing else.
    pub(crate) fn is_held_up(&self) -> bool {
        let Recipient::Member(name) = self.runtime.owner() else {
            return false;
        };
        let gate = member::gate(self.runtime.team(), name, self.runtime.plan().as_ref());
        matches!(gate, rules::PlanGate::Pending { .. }) || self.background.running() > 0
    }

    /// After a turn, which may have ended on purpose or at its limit: whether the model has to be
    /// asked for the outcome of the task in hand. One that was asked for it loses the task.
    pub(crate) fn must_ask(&mut self) -> bool {
        let Some(task) = self.current().filter(|_| !self.is_held_up()) else {
            return false;
        };
        if self.asked != Some(task.id) {
            return true;
        }
        self.give_back("the turn ended without an outcome");
        self.asked = None;
        false
    }

    /// Whether the board has something for this member.
    pub(crate) fn is_waiting(&self) -> bool {
        if self.is_held_up() {
            return false;
        }
        if self.current().is_some() {
            return true;
        }
        if !self.claims() {
            return false;
        }
        let board = team::list(self.runtime.team());
        board.is_ok_and(|look| {
            let (me, role) = (&self.worker.me.party, &self.worker.role);
            look.board.next_for(me, role).is_some()
        })
    }

    /// What to say to a model that would stop: the outcome of the task in hand is missing, or there
    /// is a next one.
    pub(crate) fn next(&mut self) -> Option<Message> {
        if self.is_held_up() {
            return None;
        }
        if let Some(task) = self.current() {
            if self.asked != Some(task.id) {
                self.asked = Some(task.id);
                return Some(ask_for_outcome(&task));
            }
            self.give_back("the turn ended without an outcome");
        }
        self.asked = None;
        self.claim()
    }

    fn claim(&mut self) -> Option<Message> {
        let claimed = if self.claims() {
            team::claim_next(self.runtime.team(), &self.worker)
        } else {
            Ok(None)
        };
        match claimed {
            Ok(task) => {
                self.runtime.set_task(task.as_ref().map(|task| task.id));
                task.map(|task| {
                    self.runtime
                        .note(&format!("claimed task #{}: {}", task.id, task.subject));
                    claimed_words(&task)
                })
            }
            Err(error) => {
                self.runtime.note(&format!("no task was claimed: {error}"));
                None
            }
        }
    }

    /// Puts the task in hand back on the board.
    pub(crate) fn give_back(&self, why: &str) {
        self.put_back(why, false);
    }

    /// The same for a member that would take it again when it can.
    pub(crate) fn give_back_for_now(&self, why: &str) {
        self.put_back(why, true);
    }

    fn release_for_later(&self, why: &str) -> Result<(), BoardError> {
        let (Some(incarnation), protocol::Party::Member(name)) =
            (self.worker.me.incarnation, &self.worker.me.party)
        else {
            return Ok(());
        };
        team::release_all(self.runtime.team(), name, incarnation, why).map(|_| ())
    }

    fn put_back(&self, why: &str, kept: bool) {
        for task in team::unfinished(self.runtime.team(), &self.worker.me).unwrap_or_default() {
            let released = match kept {
                true => self.release_for_later(why),
                false => {
                    team::release(self.runtime.team(), &self.worker.me, task.id, why).map(|_| ())
                }
            };
            match released {
                Ok(()) => self
                    .runtime
                    .note(&format!("released task #{}: {why}", task.id)),
                Err(error) => self
                    .runtime
                    .note(&format!("task #{} was not released: {error}", task.id)),
            }
        }
        self.runtime.set_task(None);
    }

    /// Claims again what the death of the last life took away, unless a colleague has it by now.
    pub(crate) fn take_up_again(&self) {
        match team::take_up_again(self.runtime.team(), &self.worker) {
            Ok(Some(task)) => {
                self.runtime.set_task(Some(task.id));
                self.runtime
                    .note(&format!("goes on with task #{}: {}", task.id, task.subject));
            }
            Ok(None) => {}
            Err(error) => self
                .runtime
                .note(&format!("no task was taken up again: {error}")),
        }
    }

    /// Puts back what earlier lives had in hand. Their claims ended with them, and the board offers
    /// them to this member first.
    pub(crate) fn settle_earlier_lives(&self) -> Result<(), BoardError> {
        let Actor {
            party: protocol::Party::Member(name),
            incarnation: Some(incarnation),
        } = &self.worker.me
        else {
            return Ok(());
        };
        let before = protocol::Incarnation(incarnation.0.saturating_sub(1));
        team::release_all(
            self.runtime.team(),
            name,
            before,
            "its owner began a new life",
        )?;
        Ok(())
    }
}

fn claimed_words(task: &Task) -> Message {
    // A subject must not look like the end of the block it stands in.
    let harmless = |text: &str| text.replace("</", "< /");
    let mut text = format!("Task #{}: {}", task.id, harmless(&task.subject));
    if !task.description.is_empty() {
        text.push_str(&format!("\n{}", harmless(&task.description)));
    }
    let notes = task.history.iter().filter_map(|entry| entry.note.as_ref());
    let notes: Vec<&str> = notes.map(String::as_str).collect();
    if !notes.is_empty() {
        text.push_str(&format!("\nNotes so far: {}", harmless(&notes.join("; "))));
    }
    Message::new(format!("<auto-claimed>{text}</auto-claimed>"))
}

fn ask_for_outcome(task: &Task) -> Message {
    let id = task.id;
    Message::new(format!(
        "<task-outcome>You still hold task #{id}: {}. Say what became of it before you stop: \
         task_update with status completed and a result, or with status pending and a note if you \
         cannot go on. Otherwise it goes back to the board.</task-outcome>",
        task.subject.replace("</", "< /")
    ))
}
