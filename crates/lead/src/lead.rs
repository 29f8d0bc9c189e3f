//! The loop around the lead's life: it waits, tells the state machine what happened, and does what
//! that says.

mod news;

use crate::console::{Input, Said, Speaker};
use crate::inspect::{count_tasks, old_failures};
use crate::jobs::{Jobs, Report};
use crate::machine::{Action, End, Event, LeadMachine, Manner};
use crate::mail_handler::wakes;
use crate::restarts::Restarts;
use crate::show::show;
use crate::signals::Signals;
use crate::turn::Seat;
use crate::typed::Typed;
use agent::Message;
use member::MemberRuntime;
use protocol::{AgentName, Incarnation, Phase, RequestId};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};
use teamdir::now;
use tokio::sync::mpsc::{Receiver, UnboundedReceiver};
use tools::Background;

/// How long a turn may take to end after it was cancelled, before it is left.
const CANCEL_GRACE: Duration = Duration::from_secs(5);
/// How often the roster is looked at for new members, and the team as a whole.
const ROSTER_EVERY: Duration = Duration::from_millis(500);
const INSPECT_EVERY: Duration = Duration::from_secs(10);
/// How long news of files are gathered before the team is looked at.
const NEWS_GATHER: Duration = Duration::from_millis(50);

/// What the loop is made of.
pub(crate) struct Lead {
    pub(crate) runtime: MemberRuntime,
    pub(crate) incarnation: LeadMachine,
    pub(crate) seat: Seat,
    pub(crate) background: Background,
    pub(crate) speaker: Speaker,
    pub(crate) jobs: Jobs,
    pub(crate) reports: UnboundedReceiver<Report>,
    /// How long members have to answer when the lead leaves.
    pub(crate) patience: Duration,
    /// When the run has to be over.
    pub(crate) deadline: Option<Instant>,
    pub(crate) state: State,
}

/// What the loop remembers.
#[derive(Default)]
pub(crate) struct State {
    care: Restarts,
    watched: BTreeMap<AgentName, Incarnation>,
    followed: BTreeSet<RequestId>,
    /// What the person was told of pending requests.
    pending: Option<String>,
    problems: BTreeSet<String>,
    /// Who had failed before this lead began.
    old_failures: Vec<(AgentName, Incarnation)>,
    failures: Vec<(AgentName, Incarnation)>,
    tasks: (usize, usize),
    inspection: Inspecting,
    roster_rev: Option<u64>,
    /// When the mail is checked even if no file has changed.
    mail_wake_at: Option<Instant>,
    next_roster: Option<Instant>,
    next_inspection: Option<Instant>,
    /// When a turn that was cancelled is left.
    abandon_at: Option<Instant>,
    /// The lead was told that a background command is over.
    background_told: bool,
    hurried: bool,
    answer: Option<String>,
    code: Option<u8>,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Inspecting {
    #[default]
    No,
    Yes,
    /// Once more, when this one is done.
    Again,
}

/// How the run ended.
pub(crate) struct Finish {
    pub(crate) code: u8,
    pub(crate) answer: Option<String>,
}

impl Lead {
    /// Lives until the end.
    pub(crate) async fn live(mut self, mut input: Receiver<Input>, mut signals: Signals) -> Finish {
        self.state.old_failures = old_failures(self.runtime.team());
        self.state.tasks = count_tasks(self.runtime.team());
        self.inspect();
        self.tell_of_mail();
        self.tell(Event::Tick);
        let mut open = true;
        loop {
            self.look_around();
            if let Some(code) = self.state.code {
                self.jobs.stop();
                let answer = self.state.answer.take();
                return Finish { code, answer };
            }
            let wake_at = self.wake_at();
            let free = self.seat.is_free() && !self.state.background_told;
            tokio::select! {
                biased;
                () = signals.next() => self.tell(Event::Interrupted),
                end = self.seat.ended() => self.turn_ended(end),
                Some(report) = self.reports.recv() => self.report(report),
                typed = input.recv(), if open && self.incarnation.wants_input() => {
                    open = typed.is_some();
                    self.typed(typed);
                }
                () = self.runtime.changed() => self.inspect_soon(),
                () = self.background.finished(), if free => {
                    self.state.background_told = true;
                    self.tell(Event::BackgroundDone);
                }
                () = tokio::time::sleep_until(wake_at.into()) => {}
            }
        }
    }

    /// Tells the state machine, and does what it says.
    fn tell(&mut self, event: Event) {
        for action in self.incarnation.handle(event, Instant::now()) {
            self.act(action);
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Turn(said) => {
                self.runtime.set_phase(Phase::Working, None, None);
                self.state.background_told = false;
                // Mail comes first where the conversation waits for an answer, or for nothing else. A
                // new query comes before it: it may ask for the mail.
                let mut input = match said.is_empty() || self.seat.is_unanswered() {
                    true => self.runtime.letters(),
                    false => Vec::new(),
                };
                input.extend(said.into_iter().map(Message::new));
                self.seat.begin_turn(input);
            }
            Action::Compact => {
                self.runtime.set_phase(Phase::Working, None, None);
                self.seat.begin_compaction();
            }
            Action::CancelTurn => {
                self.seat.cancel();
                self.state.abandon_at = Some(Instant::now() + CANCEL_GRACE);
            }
            Action::Show(command) => {
                let text = show(command, &self.runtime);
                self.speaker.say(&Said::Data(&text));
            }
            Action::Say(words) => self.speaker.notice(&words),
            Action::Complain(words) => self.speaker.say(&Said::Problem(&words)),
            Action::LookForRest { after } => self.jobs.look(after),
            Action::ShutDown(manner) => {
                self.state.hurried |= manner == Manner::Now;
                self.jobs.leave(manner, self.patience);
            }
            Action::Answer(text) => self.state.answer = Some(text),
            Action::Exit(code) => self.state.code = Some(code),
        }
    }

    fn typed(&mut self, input: Option<Input>) {
        match input {
            Some(Input::Line(line)) => self.tell(Event::Typed(Typed::parse(&line))),
            Some(Input::Interrupt) => self.tell(Event::Interrupted),
            Some(Input::End) | None => self.tell(Event::InputEnded),
        }
    }

    fn turn_ended(&mut self, end: End) {
        self.state.abandon_at = None;
        // What became done in the lead's own turn is no news to it.
        self.state.tasks = count_tasks(self.runtime.team());
        match &end {
            End::Failed { words } => {
                let words = Some(words.clone());
                self.runtime.set_phase(Phase::Failed, None, words);
            }
            End::Finished { .. } | End::Interrupted => {}
        }
        self.tell(Event::TurnEnded(end));
        self.tell_of_mail();
        self.inspect();
    }

    /// Does what is due: mail, times that have come, and the phase that others see.
    fn look_around(&mut self) {
        if self.seat.is_free() || self.incarnation.is_leaving() {
            self.take_mail();
        }
        let at = Instant::now();
        if self.incarnation.wake_at().is_some_and(|due| due <= at) {
            self.tell(Event::Tick);
        }
        if self.deadline.is_some_and(|due| due <= at) {
            self.deadline = None;
            self.tell(Event::TimeIsUp);
        }
        if self.state.abandon_at.is_some_and(|due| due <= at) {
            self.seat.abandon();
            self.turn_ended(End::Interrupted);
        }
        if !self.incarnation.is_leaving() {
            for name in self.state.care.due(now()) {
                self.speaker.notice(&format!("{name} is restarted."));
                self.jobs.restart(name);
            }
        }
        self.look_at_roster(at);
        let rests = self.seat.is_free() && self.incarnation.wake_at().is_none();
        if rests && self.runtime.phase() != Phase::Idle && self.runtime.phase() != Phase::Failed {
            self.runtime.set_phase(Phase::Idle, None, None);
        }
    }

    /// Takes mail while no turn does.
    fn take_mail(&mut self) {
        // A second look is needed after notifications were asked for; more are a matter of luck.
        for _ in 0..3 {
            if self.runtime.has_unread() {
                self.runtime.set_phase(Phase::Working, None, None);
                if let Err(error) = self.runtime.take_mail() {
                    self.problem(format!("The lead's mail cannot be taken: {error}"));
                }
                self.tell_of_mail();
            }
            match self.runtime.settle() {
                Ok(settled) => {
                    self.state.mail_wake_at = settled.wake_at;
                    if !settled.look_again {
                        return;
                    }
                }
                Err(error) => {
                    self.state.mail_wake_at = Some(Instant::now() + ROSTER_EVERY);
                    self.problem(format!("The lead's mail cannot be looked at: {error}"));
                    return;
                }
            }
        }
        self.state.mail_wake_at = Some(Instant::now());
    }

    fn tell_of_mail(&mut self) {
        let letters = self.runtime.waiting_letters();
        let waking = letters.iter().filter(|letter| wakes(letter));
        let newest = waking.map(|letter| letter.number).max();
        if !letters.is_empty() {
            self.tell(Event::Mail {
                newest: newest.unwrap_or(0),
            });
        }
    }

    fn look_at_roster(&mut self, at: Instant) {
        if self.state.next_roster.is_none_or(|due| due <= at) {
            self.state.next_roster = Some(at + ROSTER_EVERY);
            let rev = self.runtime.team().roster().ok().map(|roster| roster.rev);
            if rev != self.state.roster_rev {
                self.state.roster_rev = rev;
                self.inspect();
            }
        }
        if self.state.next_inspection.is_none_or(|due| due <= at) {
            self.inspect();
        }
    }

    fn wake_at(&self) -> Instant {
        let restart = self.state.care.next();
        let restart = restart.map(|at| Instant::now() + at.since(now()));
        let times = [
            self.incarnation.wake_at(),
            self.deadline,
            self.state.abandon_at,
            self.state.next_roster,
            self.state.next_inspection,
            self.state.mail_wake_at.filter(|_| self.seat.is_free()),
            restart.filter(|_| !self.incarnation.is_leaving()),
        ];
        let soonest = times.into_iter().flatten().min();
        soonest.unwrap_or_else(|| Instant::now() + ROSTER_EVERY)
    }

    /// Looks at the team in a moment: news of files come in swarms.
    fn inspect_soon(&mut self) {
        let soon = Instant::now() + NEWS_GATHER;
        let planned = self.state.next_inspection.unwrap_or(soon);
        self.state.next_inspection = Some(planned.min(soon));
    }

    fn inspect(&mut self) {
        self.state.next_inspection = Some(Instant::now() + INSPECT_EVERY);
        self.state.inspection = match self.state.inspection {
            Inspecting::No => {
                self.jobs.inspect(self.state.watched.clone());
                Inspecting::Yes
            }
            Inspecting::Yes | Inspecting::Again => Inspecting::Again,
        };
    }

    fn report(&mut self, report: Report) {
        match report {
            Report::Gone => self.inspect(),
            Report::Inspected(found) => self.inspected(*found),
            Report::Looked(calm) => self.looked(calm),
            Report::Restarted { name, problem } => {
                self.state.care.ended(&name);
                if let Some(words) = problem {
                    self.speaker.notice(&words);
                }
                self.inspect();
            }
            Report::Followed(id) => {
                self.state.followed.remove(&id);
                self.inspect();
            }
            Report::Left { manner, words } => {
                let outdated = manner == Manner::Gracefully && self.state.hurried;
                if !outdated {
                    words.iter().for_each(|words| self.speaker.notice(words));
                    self.tell(Event::TeamGone);
                }
            }
            Report::BudgetSpent => self.tell(Event::BudgetSpent),
            Report::Problem(words) => self.problem(words),
        }
    }

    /// Says something that went wrong, once.
    fn problem(&mut self, words: String) {
        if !self.state.problems.contains(&words) {
            self.speaker.say(&Said::Problem(&words));
            self.state.problems.insert(words);
        }
    }
}
