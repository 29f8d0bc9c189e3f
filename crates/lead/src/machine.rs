//! The lead as a state machine: events go in, actions come out.
//!
//! ```text
//!            query, mail, board          nothing left        team is gone
//!   free ------------------------> busy      |                    |
//!    ^  <------ turn ended -------'          v                    v
//!    `--------------------------- team idle? twice --> leaving --> over
//!                     q, end of input, Ctrl-C, timeout ---^  Ctrl-C again: at once
//! ```
//!
//! It has no clock, file or process: the loop around it performs the actions and answers with
//! events. **Invariant:** whatever happens, a lead that was asked to leave comes to its end: every
//! path through `leaving` asks for something that is bounded and answered.

mod idle_check;
mod leaving;
mod types;

pub(crate) use types::{Action, Event, Options, ShutdownMode, TeamActivity};

use crate::console::Mode;
use crate::typed::{Command, Typed};
use idle_check::IdleCheck;
use member::TurnOutcome;
use std::collections::VecDeque;
use std::time::{Duration, Instant};
use types::{LeaveReason, Leaving, Queued};

/// How long more mail is waited for after the first message, so that a burst is one request.
const BURST: Duration = Duration::from_millis(50);
/// What a person reads about an answer without an end.
const CUT_OFF: &str = "The lead's answer is not complete: its model was cut off at its limit of tokens \
    again and again. Ask for less at once, or raise max_output.";
/// What a person reads when a turn was stopped.
const STOPPED: &str = "Interrupted. Say what the lead should do instead; Ctrl-C leaves.";

/// Decides what the lead does next.
#[derive(Debug)]
pub(crate) struct LeadMachine {
    options: Options,
    /// A turn or a compaction runs, or a verb whose output the next line waits for.
    is_busy: bool,
    /// The person has stopped the turn that runs.
    is_stopping: bool,
    /// What was typed and not done yet.
    queue: VecDeque<Queued>,
    /// Nothing more will be typed.
    input_ended: bool,
    /// Since when something waits for the model.
    wake: Option<Instant>,
    /// Input of the program for the model's next turn.
    notes: Vec<String>,
    /// The newest message that may start a turn, and the newest that a failed turn was started for.
    newest: u64,
    tried: u64,
    idle_check: IdleCheck,
    leaving: Option<Leaving>,
    /// The last text of the model.
    answer: Option<String>,
    /// The model could not bring that text to its end.
    is_answer_cut: bool,
    failed: bool,
    is_over: bool,
}

impl LeadMachine {
    /// A lead that has not started. `unfinished` says that its conversation ends with input that has
    /// no answer.
    pub(crate) fn new(
        options: Options,
        prompt: Option<String>,
        unfinished: bool,
        now: Instant,
    ) -> Self {
        Self {
            input_ended: options.mode == Mode::OneShot,
            queue: prompt.map(Queued::Query).into_iter().collect(),
            options,
            is_busy: false,
            is_stopping: false,
            wake: unfinished.then_some(now),
            notes: Vec::new(),
            newest: 0,
            tried: 0,
            idle_check: IdleCheck::default(),
            leaving: None,
            answer: None,
            is_answer_cut: false,
            failed: false,
            is_over: false,
        }
    }

    /// Whether more lines are wanted. A program may write them faster than the lead works.
    pub(crate) fn wants_input(&self) -> bool {
        self.options.mode == Mode::Terminal || self.queue.len() < 16
    }

    pub(crate) const fn is_leaving(&self) -> bool {
        self.leaving.is_some()
    }

    /// Whether the team goes on when the lead leaves.
    pub(crate) const fn keeps_team(&self) -> bool {
        self.options.keep
    }

    /// Whether nothing that is typed is done any more, but for Ctrl-C.
    pub(crate) const fn takes_no_lines(&self) -> bool {
        self.input_ended || self.leaving.is_some()
    }

    /// When [`Event::Tick`] is wanted.
    pub(crate) fn wake_at(&self) -> Option<Instant> {
        let waits = !self.is_busy && self.leaving.is_none();
        self.wake.filter(|_| waits).map(|since| since + BURST)
    }

    /// Takes in what happened, and returns what to do, in this order.
    pub(crate) fn handle(&mut self, event: Event, now: Instant) -> Vec<Action> {
        let mut actions = Vec::new();
        if self.is_over {
            return actions;
        }
        match event {
            Event::Tick => {}
            Event::Typed(typed) => self.typed(typed, &mut actions),
            Event::InputEnded => self.input_ended(&mut actions),
            Event::Interrupted => self.interrupted(&mut actions),
            Event::CtrlC => {
                if !self.stop(&mut actions) {
                    self.interrupted(&mut actions);
                }
            }
            Event::Stop => {
                self.stop(&mut actions);
            }
            Event::TerminalClosed => self.terminal_closed(&mut actions),
            Event::TimedOut => {
                if self.leaving.is_none() {
                    actions.push(Action::Print("The timeout is reached.".to_owned()));
                    self.leave(LeaveReason::Time, &mut actions);
                }
            }
            Event::BudgetSpent => self.budget_spent(&mut actions),
            Event::Mail { newest } => self.mail(newest, now),
            Event::TasksDone(count) => {
                self.note(format!("<board>All {count} tasks are done.</board>"), now);
            }
            Event::BackgroundFinished => self.wake(now),
            Event::TurnEnded(outcome) => self.turn_ended(outcome, &mut actions),
            Event::NotTaken(lines) => {
                for line in lines.into_iter().rev() {
                    self.queue.push_front(Queued::Query(line));
                }
            }
            Event::VerbEnded => self.is_busy &= self.options.mode == Mode::Terminal,
            Event::TeamObserved(activity) => self.team_observed(activity, &mut actions),
            Event::TeamEnded => self.team_ended(&mut actions),
            Event::FolderRemoved => self.folder_removed(&mut actions),
        }
        self.advance(now, &mut actions);
        actions
    }

    fn typed(&mut self, typed: Typed, actions: &mut Vec<Action>) {
        if self.input_ended {
            return;
        }
        match typed {
            Typed::Blank => {}
            Typed::Wrong(text) => actions.push(Action::PrintError(text)),
            Typed::Command(command) => self.command(command, actions),
            Typed::Query(text) if self.can_steer() => actions.push(Action::Steer(text)),
            Typed::Query(text) => self.queue.push_back(Queued::Query(text)),
            Typed::Leave => self.input_ended(actions),
        }
    }

    fn command(&mut self, command: Command, actions: &mut Vec<Action>) {
        // A person sees the result while the lead works; the lines of a file are done in order.
        let is_now = self.options.mode == Mode::Terminal;
        match command {
            Command::Compact => self.queue.push_back(Queued::Compact),
            Command::Clear => self.queue.push_back(Queued::Clear),
            Command::UseModel(name) => {
                if is_now && self.is_busy {
                    let text = format!("The model becomes {name} when this turn has ended.");
                    actions.push(Action::Print(text));
                }
                self.queue.push_back(Queued::UseModel(name));
            }
            Command::Show(shown) if is_now => actions.push(Action::Show(shown)),
            Command::Show(shown) => self.queue.push_back(Queued::Show(shown)),
            Command::Verb(words) if is_now => actions.push(Action::RunVerb(words)),
            Command::Verb(words) => self.queue.push_back(Queued::Verb(words)),
        }
    }

    /// Whether a line joins the turn that runs. It never overtakes what was typed before it.
    fn can_steer(&self) -> bool {
        self.options.mode == Mode::Terminal
            && self.is_busy
            && !self.is_stopping
            && self.queue.is_empty()
            && self.leaving.is_none()
    }

    /// The person wants the turn to end. Returns whether one does.
    fn stop(&mut self, actions: &mut Vec<Action>) -> bool {
        let stops = self.options.mode == Mode::Terminal
            && self.is_busy
            && !self.is_stopping
            && self.leaving.is_none();
        if stops {
            self.is_stopping = true;
            actions.push(Action::StopTurn);
        }
        stops
    }

    fn mail(&mut self, newest: u64, now: Instant) {
        self.idle_check.idle_count = 0;
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
        self.idle_check.idle_count = 0;
        self.wake.get_or_insert(now);
    }

    fn turn_ended(&mut self, outcome: TurnOutcome, actions: &mut Vec<Action>) {
        self.is_busy = false;
        let is_stopped = std::mem::take(&mut self.is_stopping);
        self.idle_check = IdleCheck {
            is_running: self.idle_check.is_running,
            ..IdleCheck::default()
        };
        let error = match outcome {
            TurnOutcome::Finished { text } => {
                if !text.trim().is_empty() {
                    self.answer = Some(text);
                    self.is_answer_cut = false;
                }
                return;
            }
            TurnOutcome::CutOff { text } => {
                actions.push(Action::PrintError(CUT_OFF.to_owned()));
                self.answer = Some(text).filter(|text| !text.trim().is_empty());
                self.is_answer_cut = true;
                return;
            }
            TurnOutcome::Interrupted => {
                if is_stopped {
                    actions.push(Action::RecordStop);
                    actions.push(Action::Print(STOPPED.to_owned()));
                }
                return;
            }
            TurnOutcome::RoundLimit { text } => text,
            TurnOutcome::Failed(failure) => format!("The lead cannot go on: {}", failure.reason),
        };
        actions.push(Action::PrintError(error));
        self.failed = true;
        // The same mail must not start the same failure again and again.
        self.tried = self.newest;
        if self.options.mode == Mode::OneShot {
            self.leave(LeaveReason::Failed, actions);
        }
    }

    fn team_observed(&mut self, activity: TeamActivity, actions: &mut Vec<Action>) {
        self.idle_check.is_running = false;
        if !self.waits_for_team() {
            self.idle_check.idle_count = 0;
            return;
        }
        match activity {
            TeamActivity::Busy => {
                self.idle_check.idle_count = 0;
                self.idle_check.backoff.fail();
            }
            TeamActivity::Idle { has_failures } => {
                if self.idle_check.count_idle() {
                    self.leave(LeaveReason::Done { has_failures }, actions);
                }
            }
            TeamActivity::OutOfBudget => {
                if self.idle_check.count_idle() {
                    self.budget_spent(actions);
                }
            }
        }
    }

    /// Starts what comes next, unless a turn runs.
    fn advance(&mut self, now: Instant, actions: &mut Vec<Action>) {
        if self.is_over || self.is_busy {
            return;
        }
        if self.leaving.is_none() {
            self.next_work(now, actions);
        }
        if let Some(leaving) = &mut self.leaving
            && !self.is_busy
        {
            if self.options.keep || leaving.team_ended {
                self.exit(actions);
            } else if !std::mem::replace(&mut leaving.asked, true) {
                actions.push(Action::ShutDown(ShutdownMode::Graceful));
            }
        }
    }

    fn next_work(&mut self, now: Instant, actions: &mut Vec<Action>) {
        match self.queue.pop_front() {
            Some(Queued::Query(text)) => self.turn(Some(text), actions),
            Some(Queued::Compact) => {
                self.is_busy = true;
                actions.push(Action::Compact);
            }
            Some(Queued::Clear) => {
                actions.push(Action::Clear);
                self.next_work(now, actions);
            }
            Some(Queued::UseModel(name)) => {
                actions.push(Action::UseModel(name));
                self.next_work(now, actions);
            }
            Some(Queued::Show(shown)) => {
                actions.push(Action::Show(shown));
                self.next_work(now, actions);
            }
            Some(Queued::Verb(words)) => {
                self.is_busy = true;
                actions.push(Action::RunVerb(words));
            }
            Some(Queued::Leave) => self.leave(LeaveReason::Person, actions),
            None if self.wake.is_some_and(|since| since + BURST <= now) => self.turn(None, actions),
            None if self.waits_for_team() && !self.idle_check.is_running => {
                self.idle_check.is_running = true;
                let after = self.idle_check.delay();
                actions.push(Action::ObserveTeam { after });
            }
            None => {}
        }
    }

    fn turn(&mut self, query: Option<String>, actions: &mut Vec<Action>) {
        self.is_busy = true;
        // This turn takes everything that waits.
        self.wake = None;
        let mut input = std::mem::take(&mut self.notes);
        input.extend(query);
        actions.push(Action::StartTurn(input));
    }

    /// Whether the lead has nothing left to do but to wait for its team.
    fn waits_for_team(&self) -> bool {
        self.options.mode != Mode::Terminal
            && self.input_ended
            && !self.is_busy
            && self.queue.is_empty()
            && self.wake.is_none()
            && self.leaving.is_none()
    }
}

#[cfg(test)]
mod tests;
