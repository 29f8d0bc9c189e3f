//! The lead's main loop: wait, tell the state machine what happened, perform what it says.

mod due;
mod job_results;
mod person;
mod turns;

use crate::console::{ConsoleWriter, Input, Output};
use crate::hooks::LeadHooks;
use crate::inspect::{count_tasks, old_failures};
use crate::jobs::{JobResult, Jobs};
use crate::machine::{Action, Event, LeadMachine, ShutdownMode};
use crate::model::ModelSwitch;
use crate::restart_queue::RestartQueue;
use crate::show::show;
use crate::signals::{Request, Signals};
use crate::steering::Steering;
use crate::waiting::Waiting;
use member::{AgentRunner, MemberRuntime};
use protocol::{AgentName, Incarnation, Phase, RequestId};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{Receiver, UnboundedReceiver};
use tools::Background;

/// How long a cancelled turn may take to end before it is dropped.
const CANCEL_GRACE: Duration = Duration::from_secs(5);

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

    /// Says what could not be written. Returns whether all is well.
    fn check_written(&mut self, written: Result<(), agent::LogError>) -> bool {
        if let Err(error) = &written {
            let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
            self.problem(format!("{error}{}", cause.unwrap_or_default()));
        }
        written.is_ok()
    }

    /// Prints a problem, once.
    fn problem(&mut self, text: String) {
        if !self.state.problems.contains(&text) {
            self.writer.write(&Output::Problem(&text));
            self.state.problems.insert(text);
        }
    }
}
