//! The life of a lead as a state machine: what happened goes in, what to do comes out.
//!
//! ```text
//!            query, mail, board          nothing left        team is gone
//!   free ------------------------> busy      |                    |
//!    ^  <------ turn ended -------'          v                    v
//!    `------------------------------- at rest? twice --> leaving --> over
//!                     q, end of input, Ctrl-C, time is up ---^  Ctrl-C again: now
//! ```
//!
//! It knows no clock, file or process; the loop around it does what it says and tells it what came
//! of that. **Invariant:** whatever happens, a lead that was told to leave comes to its end: every
//! way through `leaving` asks for something that is bounded and answers.

mod types;

pub(crate) use types::{Action, End, Event, Manner, Plan, Rest};

use crate::console::Mode;
use crate::typed::{self, Command, Typed};
use protocol::exit;
use std::collections::VecDeque;
use std::time::{Duration, Instant};
use types::{Leaving, Why, Wish};

/// How long mail is waited for after the first letter, so that a burst is one request.
const BURST: Duration = Duration::from_millis(50);
/// The pause before a team that seemed at rest is looked at again.
const SECOND_LOOK: Duration = Duration::from_millis(30);
/// The pause before a busy team is looked at again grows from the first to the second.
const BUSY_LOOK: (Duration, Duration) = (Duration::from_millis(50), Duration::from_millis(500));
/// How often in a row a team has to be seen at rest.
const LOOKS: u32 = 2;

/// The lead.
#[derive(Debug)]
pub(crate) struct LeadMachine {
    plan: Plan,
    seat: Seat,
    /// What was typed and not done yet.
    queue: VecDeque<Wish>,
    /// Nothing more will be typed.
    input_ended: bool,
    /// Since when something waits for the model.
    wake: Option<Instant>,
    /// What the program has to tell the model in its next turn.
    notes: Vec<String>,
    /// The newest letter that may start a turn, and the newest that a failed turn was started for.
    newest: u64,
    tried: u64,
    look: Look,
    leaving: Option<Leaving>,
    /// The last words of the model.
    answer: Option<String>,
    failed: bool,
    over: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seat {
    Free,
    /// A turn or a compaction runs.
    Busy,
}

/// Looking whether the team is at rest.
#[derive(Debug, Default)]
struct Look {
    under_way: bool,
    /// How often in a row it was at rest.
    rests: u32,
    /// How often in a row it was not.
    busy: u32,
}

impl LeadMachine {
    /// A lead that has not begun. `unfinished` says that its conversation waits for an answer.
    pub(crate) fn new(plan: Plan, prompt: Option<String>, unfinished: bool, now: Instant) -> Self {
        Self {
            input_ended: plan.mode == Mode::OneShot,
            queue: prompt.map(Wish::Query).into_iter().collect(),
            plan,
            seat: Seat::Free,
            wake: unfinished.then_some(now),
            notes: Vec::new(),
            newest: 0,
            tried: 0,
            look: Look::default(),
            leaving: None,
            answer: None,
            failed: false,
            over: false,
        }
    }

    /// Gives the program's words to the model, when it works next.
    pub(crate) fn mention(&mut self, note: String) {
        self.notes.push(note);
    }

    /// Whether more lines are wanted. A program may write them faster than they can be done.
    pub(crate) fn wants_input(&self) -> bool {
        self.plan.mode == Mode::Terminal || self.queue.len() < 16
    }

    /// Whether the lead is on its way out.
    pub(crate) const fn is_leaving(&self) -> bool {
        self.leaving.is_some()
    }

    /// When [`Event::Tick`] is wanted.
    pub(crate) fn wake_at(&self) -> Option<Instant> {
        let waits = self.seat == Seat::Free && self.leaving.is_none();
        self.wake.filter(|_| waits).map(|since| since + BURST)
    }

    /// Takes in what happened and returns what to do, in this order.
    pub(crate) fn handle(&mut self, event: Event, now: Instant) -> Vec<Action> {
        let mut actions = Vec::new();
        if self.over {
            return actions;
        }
        match event {
            Event::Tick => {}
            Event::Typed(typed) => self.typed(typed, &mut actions),
            Event::InputEnded => self.input_ended(&mut actions),
            Event::Interrupted => self.interrupted(&mut actions),
            Event::TimeIsUp => {
                if self.leaving.is_none() {
                    actions.push(Action::Say("The time is up.".to_owned()));
                    self.leave(Why::Time, &mut actions);
                }
            }
            Event::BudgetSpent => self.budget_spent(&mut actions),
            Event::Mail { newest } => self.mail(newest, now),
            Event::TasksDone(count) => {
                self.note(format!("<board>All {count} tasks are done.</board>"), now);
            }
            Event::BackgroundDone => self.wake(now),
            Event::TurnEnded(end) => self.turn_ended(end, &mut actions),
            Event::Looked(rest) => self.looked(rest, &mut actions),
            Event::TeamGone => self.team_gone(&mut actions),
        }
        self.advance(now, &mut actions);
        actions
    }

    fn typed(&mut self, typed: Typed, actions: &mut Vec<Action>) {
        if self.input_ended {
            // Whoever has said goodbye has said everything.
            return;
        }
        match typed {
            Typed::Blank => {}
            Typed::Unknown(line) => actions.push(Action::Complain(typed::unknown(&line))),
            Typed::Command(Command::Compact) => self.queue.push_back(Wish::Compact),
            // A person looks while the lead works; a file of lines means one after the other.
            Typed::Command(command) if self.plan.mode == Mode::Terminal => {
                actions.push(Action::Show(command));
            }
            Typed::Command(command) => self.queue.push_back(Wish::Show(command)),
            Typed::Query(text) => self.queue.push_back(Wish::Query(text)),
            Typed::Leave => self.input_ended(actions),
        }
    }

    /// At a terminal the end of input is the wish to leave. From a pipe it only says that nothing
    /// follows: the work that was asked for is still done.
    fn input_ended(&mut self, actions: &mut Vec<Action>) {
        if std::mem::replace(&mut self.input_ended, true) {
            return;
        }
        if self.plan.mode == Mode::Terminal {
            if self.seat == Seat::Busy || !self.queue.is_empty() {
                let words = "Leaving when the lead is done with this; Ctrl-C leaves at once.";
                actions.push(Action::Say(words.to_owned()));
            }
            self.queue.push_back(Wish::Leave);
        }
    }

    fn interrupted(&mut self, actions: &mut Vec<Action>) {
        let Some(leaving) = &mut self.leaving else {
            let words = "Leaving; Ctrl-C again ends everything at once.";
            actions.push(Action::Say(words.to_owned()));
            self.leave(Why::Interrupt, actions);
            return;
        };
        leaving.why = Why::Interrupt;
        let hurried = std::mem::replace(&mut leaving.hurried, true);
        // Whoever asks a third time does not want to wait for the kernel either.
        if hurried || self.plan.keep {
            self.exit(actions);
        } else {
            leaving.asked = true;
            actions.push(Action::ShutDown(Manner::Now));
        }
    }

    fn mail(&mut self, newest: u64, now: Instant) {
        self.look.rests = 0;
        self.newest = self.newest.max(newest);
        if newest > self.tried {
            self.wake(now);
        }
    }

    fn note(&mut self, note: String, now: Instant) {
        self.notes.push(note);
        self.wake(now);
    }

    fn wake(&mut self, now: Instant) {
        self.look.rests = 0;
        self.wake.get_or_insert(now);
    }

    fn turn_ended(&mut self, end: End, actions: &mut Vec<Action>) {
        self.seat = Seat::Free;
        self.look = Look {
            under_way: self.look.under_way,
            ..Look::default()
        };
        match end {
            End::Finished { text } => {
                if !text.trim().is_empty() {
                    self.answer = Some(text);
                }
            }
            End::Interrupted => {}
            End::Failed { words } => {
                actions.push(Action::Complain(words));
                self.failed = true;
                // The same letters must not start the same failure for ever.
                self.tried = self.newest;
                if self.plan.mode == Mode::OneShot {
                    self.leave(Why::Failed, actions);
                }
            }
        }
    }

    fn looked(&mut self, rest: Rest, actions: &mut Vec<Action>) {
        self.look.under_way = false;
        if !self.waits_for_rest() {
            self.look.rests = 0;
            return;
        }
        match rest {
            Rest::Busy => {
                self.look.rests = 0;
                self.look.busy = self.look.busy.saturating_add(1);
            }
            Rest::Done { trouble } => {
                if self.look.rested() {
                    self.leave(Why::Done { trouble }, actions);
                }
            }
            Rest::Broke => {
                if self.look.rested() {
                    self.budget_spent(actions);
                }
            }
        }
    }

    /// A person can raise the budget; without one there is nothing to wait for.
    fn budget_spent(&mut self, actions: &mut Vec<Action>) {
        if self.plan.mode != Mode::Terminal && self.leaving.is_none() {
            let words = "The budget is reached; raise it with `team-lead budget raise`, then go on \
                         with `team-lead run --resume`.";
            actions.push(Action::Complain(words.to_owned()));
            self.leave(Why::Budget, actions);
        }
    }

    fn team_gone(&mut self, actions: &mut Vec<Action>) {
        match &mut self.leaving {
            // Those who were asked are gone. If a second wish was for haste, its answer comes too,
            // but nobody needs to wait for it.
            Some(leaving) if leaving.asked => leaving.gone = true,
            Some(_) | None => return,
        }
        if self.seat == Seat::Free {
            self.exit(actions);
        }
    }

    /// Begins to leave. A turn that runs is ended.
    fn leave(&mut self, why: Why, actions: &mut Vec<Action>) {
        self.leaving = Some(Leaving::new(why));
        if self.seat == Seat::Busy {
            actions.push(Action::CancelTurn);
        }
    }

    /// Does the next thing, if the seat is free for it.
    fn advance(&mut self, now: Instant, actions: &mut Vec<Action>) {
        if self.over || self.seat == Seat::Busy {
            return;
        }
        if self.leaving.is_none() {
            self.next_work(now, actions);
        }
        if let Some(leaving) = &mut self.leaving
            && self.seat == Seat::Free
        {
            if self.plan.keep || leaving.gone {
                self.exit(actions);
            } else if !std::mem::replace(&mut leaving.asked, true) {
                actions.push(Action::ShutDown(Manner::Gracefully));
            }
        }
    }

    fn next_work(&mut self, now: Instant, actions: &mut Vec<Action>) {
        match self.queue.pop_front() {
            Some(Wish::Query(text)) => self.turn(Some(text), actions),
            Some(Wish::Compact) => {
                self.seat = Seat::Busy;
                actions.push(Action::Compact);
            }
            Some(Wish::Show(command)) => {
                actions.push(Action::Show(command));
                self.next_work(now, actions);
            }
            Some(Wish::Leave) => self.leave(Why::Person, actions),
            None if self.wake.is_some_and(|since| since + BURST <= now) => self.turn(None, actions),
            None if self.waits_for_rest() && !self.look.under_way => {
                self.look.under_way = true;
                let after = self.look.pause();
                actions.push(Action::LookForRest { after });
            }
            None => {}
        }
    }

    fn turn(&mut self, query: Option<String>, actions: &mut Vec<Action>) {
        self.seat = Seat::Busy;
        // Whatever waits is said in this turn as well.
        self.wake = None;
        let mut said = std::mem::take(&mut self.notes);
        said.extend(query);
        actions.push(Action::Turn(said));
    }

    /// Whether nothing is left but to see whether the team has something left.
    fn waits_for_rest(&self) -> bool {
        self.plan.mode != Mode::Terminal
            && self.input_ended
            && self.seat == Seat::Free
            && self.queue.is_empty()
            && self.wake.is_none()
            && self.leaving.is_none()
    }

    fn exit(&mut self, actions: &mut Vec<Action>) {
        self.over = true;
        let why = self.leaving.as_ref().map(|leaving| leaving.why);
        if let (Mode::OneShot, Some(Why::Done { .. })) = (self.plan.mode, why)
            && let Some(answer) = self.answer.take()
        {
            actions.push(Action::Answer(answer));
        }
        actions.push(Action::Exit(self.code(why)));
    }

    const fn code(&self, why: Option<Why>) -> u8 {
        match why {
            Some(Why::Interrupt) => exit::INTERRUPTED,
            Some(Why::Time) => exit::TIMED_OUT,
            Some(Why::Budget) => exit::BUDGET,
            Some(Why::Failed) => exit::FAILED,
            Some(Why::Done { .. }) if self.failed => exit::FAILED,
            Some(Why::Done { trouble: true }) => exit::TEAM_FAILED,
            Some(Why::Done { trouble: false } | Why::Person) | None => exit::DONE,
        }
    }
}

impl Look {
    /// Takes note of rest. Returns whether it was seen often enough.
    const fn rested(&mut self) -> bool {
        self.busy = 0;
        self.rests += 1;
        self.rests >= LOOKS
    }

    fn pause(&self) -> Duration {
        if self.rests > 0 {
            return SECOND_LOOK;
        }
        let (first, longest) = BUSY_LOOK;
        let factor = 1_u32.checked_shl(self.busy.min(8)).unwrap_or(u32::MAX);
        first.saturating_mul(factor).min(longest)
    }
}

#[cfg(test)]
mod tests;
