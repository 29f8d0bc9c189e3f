//! The lead's main loop: wait, tell the state machine what happened, perform what it says.

mod job_results;

use crate::console::{ConsoleWriter, Input, Output, Pressed};
use crate::hooks::LeadHooks;
use crate::inspect::{count_tasks, old_failures};
use crate::jobs::{JobResult, Jobs};
use crate::machine::{Action, Event, LeadMachine, ShutdownMode};
use crate::mail_handler::wakes;
use crate::model::ModelSwitch;
use crate::opening_lines::show_work_info;
use crate::restart_queue::RestartQueue;
use crate::show::show;
use crate::signals::{Request, Signals};
use crate::steering::Steering;
use crate::typed::Typed;
use crate::waiting::{Said, Waiting, show_all};
use member::{AgentRunner, MemberRuntime, TurnFailure, TurnOutcome};
use protocol::{AgentName, Incarnation, Phase, RequestId};
use rules::author_text;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};
use team::{Actor, PersonAnswer};
use teamdir::now;
use tokio::sync::mpsc::{Receiver, UnboundedReceiver};
use tools::Background;

/// How long a cancelled turn may take to end before it is dropped.
const CANCEL_GRACE: Duration = Duration::from_secs(5);
/// How often the roster is read, and how often the whole team is inspected.
const ROSTER_EVERY: Duration = Duration::from_millis(500);
const INSPECT_EVERY: Duration = Duration::from_secs(10);
/// How long changes of files are collected before the team is inspected.
const CHANGE_DELAY: Duration = Duration::from_millis(50);

/// The state machine, and everything that its actions need.
pub(crate) struct Lead {
    pub(crate) runtime: MemberRuntime,
    pub(crate) machine: LeadMachine,
    pub(crate) agent: AgentRunner<LeadHooks>,
    pub(crate) background: Background,
    pub(crate) writer: ConsoleWriter,
    /// Whether a person is at the terminal, who answers what waits with keys.
    pub(crate) has_person: bool,
    /// What that person types while a turn runs.
    pub(crate) steering: Steering,
    /// The name of the lead's model.
    pub(crate) model: String,
    pub(crate) model_switch: ModelSwitch,
    /// The name of that person, where it is known.
    pub(crate) person: Option<String>,
    pub(crate) jobs: Jobs,
    pub(crate) job_results: UnboundedReceiver<JobResult>,
    /// How long members have to answer when the lead leaves.
    pub(crate) leave_timeout: Duration,
    /// When the run has to be over.
    pub(crate) deadline: Option<Instant>,
    pub(crate) state: State,
}

/// The state of the loop.
#[derive(Default)]
pub(crate) struct State {
    restarts: RestartQueue,
    watched: BTreeMap<AgentName, Incarnation>,
    followed: BTreeSet<RequestId>,
    /// What waits for the person at the terminal.
    waiting: Waiting,
    /// The pending requests as they were printed last.
    pending: Option<String>,
    problems: BTreeSet<String>,
    /// Who had failed before this lead started.
    old_failures: Vec<(AgentName, Incarnation)>,
    failures: Vec<(AgentName, Incarnation)>,
    /// Something was left undone because there was nobody to ask.
    has_denied: bool,
    tasks: (usize, usize),
    inspection: Inspecting,
    roster_rev: Option<u64>,
    /// When the mail is checked even if no file has changed.
    mail_wake_at: Option<Instant>,
    next_roster: Option<Instant>,
    next_inspection: Option<Instant>,
    /// When a cancelled turn is dropped.
    abandon_at: Option<Instant>,
    /// The machine knows that a background command has ended.
    is_background_handled: bool,
    is_folder_removed: bool,
    /// The screen knows that nothing is read any more.
    takes_no_lines: bool,
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
    /// Whether the team was shut down with it.
    pub(crate) has_ended_team: bool,
}

impl Lead {
    /// Runs until the lead exits.
    pub(crate) async fn run(mut self, mut input: Receiver<Input>, mut signals: Signals) -> Finish {
        self.state.old_failures = old_failures(self.runtime.team());
        self.state.tasks = count_tasks(self.runtime.team());
        self.inspect();
        self.handle_pending_mail();
        self.handle(Event::Tick);
        let mut open = true;
        loop {
            self.check_due();
            if let Some(code) = self.state.code {
                self.jobs.stop();
                let answer = self.state.answer.take();
                let has_ended_team = !self.machine.keeps_team();
                return Finish {
                    code,
                    answer,
                    has_ended_team,
                };
            }
            let wake_at = self.wake_at();
            let free = self.agent.is_free() && !self.state.is_background_handled;
            tokio::select! {
                biased;
                request = signals.next() => match request {
                    Request::Interrupt => self.handle(Event::Interrupted),
                    Request::Hangup => self.handle(Event::TerminalClosed),
                    Request::Resized => self.writer.resized(),
                },
                outcome = self.agent.ended() => self.turn_ended(outcome),
                Some(result) = self.job_results.recv() => self.job_ended(result),
                typed = input.recv(), if open && self.machine.wants_input() => {
                    open = typed.is_some();
                    self.typed(typed);
                }
                () = self.runtime.team_gone(), if !self.state.is_folder_removed => {
                    self.state.is_folder_removed = true;
                    self.handle(Event::FolderRemoved);
                }
                () = self.runtime.changed() => self.inspect_soon(),
                () = self.background.finished(), if free => {
                    self.state.is_background_handled = true;
                    self.handle(Event::BackgroundFinished);
                }
                () = tokio::time::sleep_until(wake_at.into()) => {}
            }
        }
    }

    /// Tells the state machine what happened, and performs its actions.
    fn handle(&mut self, event: Event) {
        for action in self.machine.handle(event, Instant::now()) {
            self.perform(action);
        }
        if self.machine.takes_no_lines() && !std::mem::replace(&mut self.state.takes_no_lines, true)
        {
            self.writer.write(&Output::Leaving);
        }
    }

    fn perform(&mut self, action: Action) {
        match action {
            Action::StartTurn(input) => self.start_turn(input),
            Action::Compact => {
                self.runtime.set_phase(Phase::Working, None, None);
                self.writer.write(&Output::TurnStarted);
                self.agent.start_compaction();
            }
            Action::StopTurn => {
                // A turn that ends takes nothing any more: what waits for it starts the next one.
                self.handle_not_taken();
                self.agent.cancel();
            }
            Action::RecordStop => {
                let recorded = self.agent.record_stop();
                self.check_written(recorded);
            }
            Action::Clear => {
                let begun = self.agent.start_over(&self.model);
                if self.check_written(begun) {
                    self.writer.notice("A new conversation begins.");
                }
            }
            Action::UseModel(name) => self.use_model(&name),
            Action::Steer(line) => self.steering.add(line),
            Action::CancelTurn => {
                self.agent.cancel();
                self.state.abandon_at = Some(Instant::now() + CANCEL_GRACE);
            }
            Action::RunVerb(words) => self.jobs.run_verb(words),
            Action::Show(shown) => {
                let text = show(shown, &self.runtime, &self.model);
                self.writer.write(&Output::Data(&text));
            }
            Action::Print(text) => self.writer.notice(&text),
            Action::PrintError(text) => self.writer.write(&Output::Problem(&text)),
            Action::ObserveTeam { after } => self.jobs.observe_team(after),
            Action::ShutDown(mode) => {
                self.state.hurried |= mode == ShutdownMode::Immediate;
                self.jobs.shut_down(mode, self.leave_timeout);
            }
            Action::Answer(text) => self.state.answer = Some(text),
            Action::Exit(code) => self.state.code = Some(code),
        }
    }

    /// Asks another model from the next request on.
    fn use_model(&mut self, name: &str) {
        let built = match self.model_switch.choose(name, &self.runtime) {
            Ok(built) => built,
            Err(error) => {
                let model = &self.model;
                let text = format!("{error}. The lead's model is still {model}.");
                return self.writer.write(&Output::Problem(&text));
            }
        };
        let window = built.models.settings.limits.window;
        let used = self.agent.use_models(&built.names, built.models);
        if !self.check_written(used) {
            return;
        }
        self.model = built.names;
        let workspace = self.runtime.team().workspace().to_path_buf();
        show_work_info(&workspace, &self.model, window, &self.writer);
        for remark in &built.remarks {
            self.writer.notice(remark);
        }
        let text = format!("The lead's model is {} from now on.", self.model);
        self.writer.notice(&text);
    }

    fn start_turn(&mut self, input: Vec<String>) {
        self.runtime.set_phase(Phase::Working, None, None);
        self.state.is_background_handled = false;
        // Mail goes first, unless a new query starts the turn: the query may ask for the mail.
        let mut messages = match input.is_empty() || self.agent.is_unanswered() {
            true => self.runtime.mail_for_model(),
            false => Vec::new(),
        };
        self.writer.write(&Output::TurnStarted);
        for text in &input {
            self.writer.write(&Output::Taken(text));
        }
        let said = input.into_iter();
        messages.extend(said.map(|text| self.runtime.said_by_person(text)));
        self.agent.start_turn(messages);
    }

    fn typed(&mut self, input: Option<Input>) {
        match input {
            Some(Input::Line(line)) => self.handle(Event::Typed(Typed::parse(&line))),
            Some(Input::Answer { pressed, text }) => self.answer(&pressed, text),
            Some(Input::Interrupt) => self.handle(Event::CtrlC),
            Some(Input::Stop) => self.handle(Event::Stop),
            Some(Input::TerminalClosed) => self.handle(Event::TerminalClosed),
            Some(Input::End) | None => self.handle(Event::InputEnded),
        }
    }

    /// Answers a request with the key of the person. Exactly one answer counts: if another was first, the
    /// person is told whose.
    fn answer(&mut self, pressed: &Pressed, text: Option<String>) {
        let team = self.runtime.team();
        let said = text.map(|text| Said::of(pressed.key.key, text));
        match said {
            None => self.state.waiting.show_again(),
            Some(Said::ShowAll) => {
                let all = show_all(&team::waiting(team).unwrap_or_default());
                self.writer.write(&Output::Data(&all));
                self.state.waiting.show_again();
            }
            Some(Said::Answer {
                approve,
                text,
                scope,
            }) => {
                let answer = PersonAnswer {
                    approve,
                    text: &text,
                    scope,
                    name: self.person.as_deref(),
                };
                self.state.waiting.answered(&pressed.id);
                match team::answer_person(team, &Actor::user(), &pressed.id, &answer) {
                    Ok(request) => {
                        let (from, id) = (author_text(&request), &request.id);
                        let status = match &request.sent {
                            Some(_) => "sent, not yet recorded",
                            None => request.status().as_str(),
                        };
                        let text = format!("Request {id} of {from}: {status}.");
                        self.writer.notice(&text);
                    }
                    Err(error) => self.writer.write(&Output::Problem(&error.to_string())),
                }
            }
        }
        self.inspect();
    }

    fn turn_ended(&mut self, outcome: TurnOutcome) {
        self.state.abandon_at = None;
        self.writer.write(&Output::TurnEnded);
        self.handle_not_taken();
        // The lead knows what its own turn has completed.
        self.state.tasks = count_tasks(self.runtime.team());
        match &outcome {
            TurnOutcome::RoundLimit { text: reason }
            | TurnOutcome::Failed(TurnFailure { reason, .. }) => {
                let reason = Some(reason.clone());
                self.runtime.set_phase(Phase::Failed, None, reason);
            }
            TurnOutcome::Finished { .. }
            | TurnOutcome::CutOff { .. }
            | TurnOutcome::Interrupted => {}
        }
        self.handle(Event::TurnEnded(outcome));
        self.handle_pending_mail();
        self.inspect();
    }

    /// What the turn did not take any more is done next.
    fn handle_not_taken(&mut self) {
        let lines = self.steering.take();
        if !lines.is_empty() {
            self.handle(Event::NotTaken(lines));
        }
    }

    /// Says what could not be written. Returns whether all is well.
    fn check_written(&mut self, written: Result<(), agent::LogError>) -> bool {
        if let Err(error) = &written {
            let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
            self.problem(format!("{error}{}", cause.unwrap_or_default()));
        }
        written.is_ok()
    }

    /// Takes mail, handles the times that have come, and sets the phase.
    fn check_due(&mut self) {
        if self.agent.is_free() || self.machine.is_leaving() {
            self.take_mail();
        }
        let at = Instant::now();
        if self.machine.wake_at().is_some_and(|due| due <= at) {
            self.handle(Event::Tick);
        }
        if self.deadline.is_some_and(|due| due <= at) {
            self.deadline = None;
            self.handle(Event::TimedOut);
        }
        if self.state.abandon_at.is_some_and(|due| due <= at) {
            self.agent.abandon();
            self.turn_ended(TurnOutcome::Interrupted);
        }
        if !self.machine.is_leaving() {
            for name in self.state.restarts.due(now()) {
                self.writer.notice(&format!("{name} is restarted."));
                self.jobs.restart(name);
            }
        }
        self.check_roster(at);
        let is_idle = self.agent.is_free() && self.machine.wake_at().is_none();
        if is_idle && self.runtime.phase() != Phase::Idle && self.runtime.phase() != Phase::Failed {
            self.runtime.set_phase(Phase::Idle, None, None);
        }
    }

    /// Takes mail while no turn does.
    fn take_mail(&mut self) {
        // Mail may come while notifications are being asked for.
        for _ in 0..3 {
            if self.runtime.has_unread() {
                self.runtime.set_phase(Phase::Working, None, None);
                if let Err(error) = self.runtime.receive_mail() {
                    self.problem(format!("The lead's mail cannot be read: {error}"));
                }
                self.handle_pending_mail();
            }
            match self.runtime.prepare_to_wait() {
                Ok(plan) => {
                    self.state.mail_wake_at = plan.wake_at;
                    if !plan.check_again {
                        return;
                    }
                }
                Err(error) => {
                    self.state.mail_wake_at = Some(Instant::now() + ROSTER_EVERY);
                    self.problem(format!("The lead's mail cannot be watched: {error}"));
                    return;
                }
            }
        }
        self.state.mail_wake_at = Some(Instant::now());
    }

    fn handle_pending_mail(&mut self) {
        let pending = self.runtime.pending_mail();
        let waking = pending.iter().filter(|item| wakes(item));
        let newest = waking.map(|item| item.number).max();
        if !pending.is_empty() {
            self.handle(Event::Mail {
                newest: newest.unwrap_or(0),
            });
        }
    }

    fn check_roster(&mut self, at: Instant) {
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
        let restart = self.state.restarts.next();
        let restart = restart.map(|at| Instant::now() + at.since(now()));
        let times = [
            self.machine.wake_at(),
            self.deadline,
            self.state.abandon_at,
            self.state.next_roster,
            self.state.next_inspection,
            self.state.mail_wake_at.filter(|_| self.agent.is_free()),
            restart.filter(|_| !self.machine.is_leaving()),
        ];
        let soonest = times.into_iter().flatten().min();
        soonest.unwrap_or_else(|| Instant::now() + ROSTER_EVERY)
    }

    /// Inspects the team in a moment: changes of files come in bursts.
    fn inspect_soon(&mut self) {
        let soon = Instant::now() + CHANGE_DELAY;
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

    fn job_ended(&mut self, result: JobResult) {
        match result {
            JobResult::TeamChanged => self.inspect(),
            JobResult::Inspected(found) => self.inspected(*found),
            JobResult::TeamObserved(observation) => self.team_observed(observation),
            JobResult::Restarted { name, problem } => {
                self.state.restarts.ended(&name);
                if let Some(problem) = problem {
                    self.writer.notice(&problem);
                }
                self.inspect();
            }
            JobResult::Followed(id) => {
                self.state.followed.remove(&id);
                self.inspect();
            }
            JobResult::TeamEnded { mode, notices } => {
                let outdated = mode == ShutdownMode::Graceful && self.state.hurried;
                if !outdated {
                    notices.iter().for_each(|notice| self.writer.notice(notice));
                    self.handle(Event::TeamEnded);
                }
            }
            JobResult::VerbEnded { output, problem } => {
                if !output.trim().is_empty() {
                    self.writer.write(&Output::Data(&output));
                }
                if let Some(problem) = problem {
                    self.writer.write(&Output::Verb(&problem));
                }
                self.handle(Event::VerbEnded);
            }
            JobResult::BudgetSpent => self.handle(Event::BudgetSpent),
            JobResult::Problem(text) => self.problem(text),
        }
    }

    /// Prints a problem, once.
    fn problem(&mut self, text: String) {
        if !self.state.problems.contains(&text) {
            self.writer.write(&Output::Problem(&text));
            self.state.problems.insert(text);
        }
    }
}
