mod any_order;

use super::*;
use member::{FailureCause, TurnOutcome};
use protocol::{MessageId, MessageSource};

struct Stage {
    machine: TeammateMachine,
    now: Instant,
}

impl Stage {
    /// A member that has just started, with nothing to do.
    fn idle() -> Self {
        let mut stage = Self {
            machine: TeammateMachine::new(),
            now: Instant::now(),
        };
        let actions = stage.start(Startup::default());
        let expected = [
            Action::WatchRequests(false),
            phase(Phase::Idle, None, None),
            Action::Announce,
            Action::Check,
        ];
        assert_eq!(actions, expected);
        stage
    }

    /// A member in a turn that mail started.
    fn busy() -> Self {
        let mut stage = Self::idle();
        assert_eq!(stage.checked(unread()), [Action::StartTurn(vec![])]);
        stage
    }

    fn start(&mut self, startup: Startup) -> Vec<Action> {
        self.tell(Event::Started(Box::new(startup)))
    }

    fn tell(&mut self, event: Event) -> Vec<Action> {
        self.machine.handle(event, self.now)
    }

    fn checked(&mut self, local: LocalState) -> Vec<Action> {
        self.tell(Event::Checked(local))
    }

    /// Nothing in the own files, and this in those of the team.
    fn team(&mut self, team: TeamState) -> Vec<Action> {
        assert_eq!(self.checked(LocalState::default()), [Action::CheckTeam]);
        self.tell(Event::TeamChecked(team))
    }

    fn ended(&mut self, outcome: TurnOutcome, team: TeamState) -> Vec<Action> {
        self.tell(Event::TurnEnded(Box::new(TurnEnd {
            outcome,
            was_model_asked: true,
            approved_shutdown: None,
            team,
        })))
    }

    fn failed(&mut self, cause: FailureCause) -> Vec<Action> {
        let reason = "no answer".to_owned();
        let failure = TurnFailure {
            cause,
            reason: reason.clone(),
        };
        let actions = self.ended(TurnOutcome::Failed(failure), TeamState::default());
        assert_eq!(actions, [Action::AnswerShutdowns { reason }]);
        self.tell(Event::ShutdownsAnswered(false))
    }

    /// How long the machine would wait if nothing happens.
    fn waits(&self) -> Option<Duration> {
        Some(self.machine.wake_at()? - self.now)
    }
}

fn unread() -> LocalState {
    LocalState {
        unread: true,
        ..LocalState::default()
    }
}

fn finished(text: &str) -> TurnOutcome {
    let text = text.to_owned();
    TurnOutcome::Finished { text }
}

fn report(text: &str) -> Action {
    Action::SendReport(text.to_owned())
}

fn request() -> RequestId {
    "1a2b3c4d".parse().unwrap()
}

fn with_task(task: TaskState) -> TeamState {
    TeamState {
        task,
        ..TeamState::default()
    }
}

fn with_pending_plan() -> TeamState {
    TeamState {
        pending_plan: Some(request()),
        ..TeamState::default()
    }
}

fn exits(actions: &[Action], exit: Exit) -> bool {
    actions == [Action::Exit(exit)]
}

const IDLE: Action = phase(Phase::Idle, None, None);

#[test]
fn the_prompt_starts_the_first_turn_after_the_phase_is_shown() {
    let mut stage = Stage {
        machine: TeammateMachine::new(),
        now: Instant::now(),
    };
    let input = vec![UserMessage::with_source(
        MessageSource::Prompt(MessageId::new("1").unwrap()),
        "do it",
    )];
    let actions = stage.start(Startup {
        input: input.clone(),
        ..Startup::default()
    });
    let working = phase(Phase::Working, None, None);
    assert_eq!(actions, [working, Action::Announce, Action::Check]);
    let actions = stage.checked(LocalState::default());
    assert_eq!(actions, [Action::StartTurn(input)]);
}

#[test]
fn an_interrupted_turn_goes_on_with_its_task() {
    let mut stage = Stage {
        machine: TeammateMachine::new(),
        now: Instant::now(),
    };
    let local = LocalState {
        is_unanswered: true,
        ..LocalState::default()
    };
    let actions = stage.start(Startup {
        local: local.clone(),
        ..Startup::default()
    });
    let working = phase(Phase::Working, None, None);
    let expected = [
        working,
        Action::ReclaimTask,
        Action::Announce,
        Action::Check,
    ];
    assert_eq!(actions, expected);
    assert_eq!(stage.checked(local), [Action::StartTurn(vec![])]);
}

#[test]
fn a_report_that_an_earlier_incarnation_owes_is_sent_first() {
    let startup = || Startup {
        unreported: Some("done".to_owned()),
        ..Startup::default()
    };
    let new = || Stage {
        machine: TeammateMachine::new(),
        now: Instant::now(),
    };
    let mut stage = new();
    assert_eq!(stage.start(startup()), [report("done")]);
    let actions = stage.tell(Event::ReportSent(true));
    let expected = [
        Action::WatchRequests(false),
        IDLE,
        Action::Announce,
        Action::Check,
    ];
    assert_eq!(actions, expected);

    // Until it is sent the member does not say that it is idle.
    let mut stage = new();
    stage.start(startup());
    let actions = stage.tell(Event::ReportSent(false));
    let working = phase(Phase::Working, None, None);
    assert_eq!(actions, [working, Action::Announce, Action::Check]);
    stage.team(TeamState::default());
    assert_eq!(stage.waits(), Some(WRITE_RETRY));
    stage.now += WRITE_RETRY;
    let actions = stage.checked(LocalState::default());
    assert_eq!(actions, [report("done"), Action::CheckTeam]);
    let actions = stage.tell(Event::ReportSent(true));
    assert_eq!(actions, [Action::WatchRequests(false), IDLE, Action::Check]);
}

#[test]
fn mail_starts_a_turn_whose_end_is_reported_before_the_member_is_idle() {
    let mut stage = Stage::busy();
    assert!(!stage.machine.watches_files());
    let actions = stage.ended(finished("done"), TeamState::default());
    assert_eq!(actions, [Action::AllowClaims(true), report("done")]);
    let actions = stage.tell(Event::ReportSent(true));
    assert_eq!(actions, [Action::WatchRequests(false), IDLE, Action::Check]);
    assert_eq!(stage.team(TeamState::default()), []);
    assert_eq!(stage.waits(), None, "an idle member sleeps");
    assert!(stage.machine.watches_files());
    let undelivered = LocalState {
        undelivered: true,
        ..LocalState::default()
    };
    assert_eq!(stage.checked(undelivered), [Action::StartTurn(vec![])]);
}

#[test]
fn mail_that_comes_while_the_team_is_checked_starts_a_turn() {
    let mut stage = Stage::idle();
    let team = TeamState {
        unread: true,
        idle_timeout: Some(Duration::ZERO),
        ..TeamState::default()
    };
    assert_eq!(stage.team(team), [Action::StartTurn(vec![])]);
}

#[test]
fn a_turn_without_a_model_call_is_not_reported() {
    let mut stage = Stage::busy();
    let actions = stage.tell(Event::TurnEnded(Box::new(TurnEnd {
        outcome: finished(""),
        was_model_asked: false,
        approved_shutdown: None,
        team: TeamState::default(),
    })));
    let expected = [
        Action::AllowClaims(true),
        Action::WatchRequests(false),
        IDLE,
        Action::Check,
    ];
    assert_eq!(actions, expected);
}

#[test]
fn mail_that_could_not_be_read_is_tried_again() {
    let mut stage = Stage::idle();
    let again = stage.now + Duration::from_millis(300);
    let local = LocalState {
        mail_retry_at: Some(again),
        ..LocalState::default()
    };
    assert_eq!(stage.checked(local), [Action::CheckTeam]);
    assert_eq!(stage.tell(Event::TeamChecked(TeamState::default())), []);
    assert_eq!(stage.waits(), Some(Duration::from_millis(300)));
}

#[test]
fn a_task_on_the_board_starts_a_turn() {
    let mut stage = Stage::idle();
    let actions = stage.team(with_task(TaskState::Available));
    assert_eq!(actions, [Action::StartTurn(vec![])]);
}

#[test]
fn the_outcome_of_a_held_task_is_asked_for_once_then_the_task_is_released() {
    let mut stage = Stage::busy();
    let held = |outcome_requested| with_task(TaskState::Held { outcome_requested });
    let actions = stage.ended(finished("done"), held(false));
    assert_eq!(actions, [Action::AllowClaims(true), Action::Check]);
    assert_eq!(stage.team(held(false)), [Action::StartTurn(vec![])]);
    let actions = stage.ended(finished("done"), held(true));
    let expected = [
        Action::AllowClaims(true),
        Action::ReleaseTask {
            reason: "the turn ended without an outcome".to_owned(),
        },
        report("done"),
    ];
    assert_eq!(actions, expected);
}

#[test]
fn a_dead_owner_of_a_task_is_checked_again_soon() {
    let mut stage = Stage::idle();
    let team = TeamState {
        has_dead_owner: true,
        ..TeamState::default()
    };
    assert_eq!(stage.team(team), []);
    assert_eq!(stage.waits(), Some(WRITE_RETRY));
}

#[test]
fn a_pending_plan_is_waited_for_and_not_reported() {
    let mut stage = Stage::busy();
    let actions = stage.ended(finished("my plan"), with_pending_plan());
    let reason = Some("request 1a2b3c4d".to_owned());
    let waiting = phase(Phase::Waiting, Some(WaitingFor::Plan), reason);
    let expected = [
        Action::AllowClaims(true),
        Action::SkipReport,
        Action::WatchRequests(true),
        waiting,
        Action::Check,
    ];
    assert_eq!(actions, expected);
    assert_eq!(stage.team(with_pending_plan()), []);
    assert_eq!(stage.waits(), None);
    // The idle timeout does not run meanwhile.
    stage.now += Duration::from_secs(1_000);
    let team = TeamState {
        idle_timeout: Some(Duration::from_secs(1)),
        ..with_pending_plan()
    };
    assert_eq!(stage.team(team), []);
}

#[test]
fn a_decided_plan_starts_a_turn_also_if_its_mail_does_not_come() {
    let mut stage = Stage::busy();
    stage.ended(finished("my plan"), with_pending_plan());
    assert_eq!(stage.team(TeamState::default()), []);
    assert_eq!(stage.waits(), Some(DECISION_MAIL));
    stage.now += DECISION_MAIL;
    let actions = stage.team(TeamState::default());
    let input = UserMessage::new("<plan-decided>Your plan 1a2b3c4d was decided.</plan-decided>");
    assert_eq!(actions, [Action::StartTurn(vec![input])]);
}

#[test]
fn background_commands_are_waited_for_and_their_results_start_a_turn() {
    let mut stage = Stage::busy();
    let running = TeamState {
        background_running: 1,
        ..TeamState::default()
    };
    stage.ended(finished("started it"), running);
    let actions = stage.tell(Event::ReportSent(true));
    let waiting = phase(Phase::Waiting, Some(WaitingFor::Background), None);
    assert_eq!(
        actions,
        [Action::WatchRequests(false), waiting, Action::Check]
    );
    assert!(stage.machine.watches_background());
    assert_eq!(stage.tell(Event::BackgroundFinished), [Action::Check]);
    let actions = stage.checked(LocalState::default());
    assert_eq!(actions, [Action::StartTurn(vec![])]);

    // One that ended during the turn starts the next without an idle phase between them.
    let over = TeamState {
        background_finished: true,
        ..TeamState::default()
    };
    stage.ended(finished("ok"), over);
    assert_eq!(stage.tell(Event::ReportSent(true)), [Action::Check]);
    let actions = stage.checked(LocalState::default());
    assert_eq!(actions, [Action::StartTurn(vec![])]);
}

#[test]
fn a_model_that_cannot_be_reached_is_tried_again_with_growing_delays() {
    let mut stage = Stage::busy();
    let mut delays = Vec::new();
    for _ in 0..6 {
        let actions = stage.failed(FailureCause::ModelUnavailable);
        let reason = Some("no answer".to_owned());
        let waiting = phase(Phase::Waiting, Some(WaitingFor::Server), reason);
        assert_eq!(actions, [waiting, Action::Check]);
        assert!(!stage.machine.watches_background());
        assert_eq!(stage.checked(LocalState::default()), []);
        let delay = stage.waits().unwrap();
        delays.push(delay.as_secs());
        stage.now += delay;
        let actions = stage.checked(LocalState::default());
        assert_eq!(actions, [Action::StartTurn(vec![])]);
    }
    assert_eq!(delays, [30, 60, 120, 240, 300, 300]);
    // Success starts from the beginning, and mail does not wait.
    stage.ended(finished("ok"), TeamState::default());
    stage.tell(Event::ReportSent(true));
    stage.checked(unread());
    stage.failed(FailureCause::ModelUnavailable);
    stage.checked(LocalState::default());
    assert_eq!(stage.waits(), Some(Duration::from_secs(30)));
    assert_eq!(stage.checked(unread()), [Action::StartTurn(vec![])]);
}

#[test]
fn input_that_was_not_recorded_is_given_again() {
    let mut stage = Stage::idle();
    let input = vec![UserMessage::new("do it")];
    stage.machine.input.clone_from(&input);
    let turn = [Action::StartTurn(input)];
    assert_eq!(stage.checked(LocalState::default()), turn);
    stage.failed(FailureCause::JournalUnwritable);
    assert_eq!(stage.checked(LocalState::default()), []);
    assert_eq!(stage.waits(), Some(Duration::from_secs(2)));
    stage.now += Duration::from_secs(2);
    assert_eq!(stage.checked(LocalState::default()), turn);
}

#[test]
fn a_permanent_failure_returns_the_task_notifies_the_lead_and_waits_for_mail() {
    let mut stage = Stage::busy();
    let actions = stage.failed(FailureCause::Permanent);
    let suspend = Action::SuspendTask {
        reason: "its owner's turn failed: no answer".to_owned(),
    };
    let reason = "no answer".to_owned();
    let expected = [
        Action::AllowClaims(false),
        suspend.clone(),
        Action::ReportFailure {
            number: 1,
            reason: reason.clone(),
        },
        phase(Phase::Failed, None, Some(reason)),
        Action::Check,
    ];
    assert_eq!(actions, expected);
    // The disk is full: the task is returned later.
    assert_eq!(stage.tell(Event::TaskSuspended(false)), []);
    assert_eq!(stage.checked(LocalState::default()), []);
    assert_eq!(stage.waits(), Some(WRITE_RETRY));
    stage.now += WRITE_RETRY;
    assert_eq!(stage.checked(LocalState::default()), [suspend]);
    stage.tell(Event::TaskSuspended(true));
    assert_eq!(stage.checked(LocalState::default()), []);
    assert_eq!(stage.waits(), None);
    assert_eq!(stage.checked(unread()), [Action::StartTurn(vec![])]);
}

#[test]
fn an_idle_member_ends_after_its_timeout() {
    let mut stage = Stage::idle();
    let team = || TeamState {
        idle_timeout: Some(Duration::from_secs(10)),
        ..TeamState::default()
    };
    assert_eq!(stage.team(team()), []);
    assert_eq!(stage.waits(), Some(Duration::from_secs(10)));
    stage.now += Duration::from_secs(10);
    assert!(exits(&stage.team(team()), Exit::IdleTimeout));
    assert_eq!(stage.checked(unread()), [], "the end is final");
}

#[test]
fn an_approved_shutdown_ends_the_process_without_a_report() {
    let mut stage = Stage::busy();
    let actions = stage.tell(Event::TurnEnded(Box::new(TurnEnd {
        outcome: finished("goodbye"),
        was_model_asked: true,
        approved_shutdown: Some(request()),
        team: TeamState::default(),
    })));
    let expected = [Action::AllowClaims(true), Action::SkipReport, Action::Check];
    assert_eq!(actions, expected);
    let local = LocalState {
        approved_shutdown: Some(request()),
        unread: true,
        ..LocalState::default()
    };
    assert!(exits(
        &stage.checked(local),
        Exit::ShutdownApproved(request())
    ));
}

#[test]
fn the_program_answers_a_shutdown_after_a_failed_turn() {
    let mut stage = Stage::busy();
    let failure = TurnFailure {
        cause: FailureCause::Permanent,
        reason: "no answer".to_owned(),
    };
    stage.ended(TurnOutcome::Failed(failure), TeamState::default());
    let actions = stage.tell(Event::ShutdownsAnswered(true));
    assert_eq!(actions, [Action::SkipReport, Action::Check]);
}

#[test]
fn the_program_answers_a_shutdown_while_the_model_is_waited_for() {
    let mut stage = Stage::busy();
    let poll = [Action::AnswerOverdueShutdowns];
    assert_eq!(stage.tell(Event::TurnWaits), poll);
    assert_eq!(stage.tell(Event::ShutdownsAnswered(false)), []);
    assert!(stage.machine.watches_files());
    assert_eq!(stage.waits(), Some(Duration::from_secs(1)));
    let waiting = LocalState {
        is_turn_waiting: true,
        ..LocalState::default()
    };
    assert_eq!(stage.checked(waiting.clone()), poll);
    // The model answers again: nothing is polled.
    assert_eq!(stage.checked(LocalState::default()), []);
    assert!(!stage.machine.watches_files());
    assert_eq!(stage.waits(), None);

    stage.tell(Event::TurnWaits);
    let actions = stage.tell(Event::ShutdownsAnswered(true));
    assert_eq!(actions, [Action::CancelTurn]);
    let actions = stage.ended(TurnOutcome::Interrupted, TeamState::default());
    assert_eq!(actions, [Action::Check]);
}

#[test]
fn sigterm_ends_an_idle_member_at_once_and_a_busy_one_after_its_turn() {
    let mut stage = Stage::idle();
    assert!(exits(
        &stage.tell(Event::TerminationRequested),
        Exit::Terminated
    ));

    let mut stage = Stage::busy();
    let actions = stage.tell(Event::TerminationRequested);
    assert_eq!(actions, [Action::CancelTurn]);
    stage.ended(TurnOutcome::Interrupted, TeamState::default());
    assert!(exits(&stage.checked(unread()), Exit::Terminated));

    // What the turn said at the last moment is still reported.
    let mut stage = Stage::busy();
    stage.tell(Event::TerminationRequested);
    let actions = stage.ended(finished("done"), TeamState::default());
    assert_eq!(actions.last(), Some(&report("done")));
    stage.tell(Event::ReportSent(true));
    assert!(exits(&stage.checked(unread()), Exit::Terminated));
}

#[test]
fn a_turn_that_does_not_end_does_not_hold_up_sigterm() {
    let mut stage = Stage::busy();
    stage.tell(Event::TerminationRequested);
    assert_eq!(stage.waits(), Some(CANCEL_GRACE));
    assert_eq!(stage.checked(LocalState::default()), []);
    stage.now += CANCEL_GRACE;
    assert!(exits(
        &stage.checked(LocalState::default()),
        Exit::Terminated
    ));
}

#[test]
fn a_replaced_member_ends_in_any_state() {
    for mut stage in [Stage::idle(), Stage::busy()] {
        assert!(exits(&stage.tell(Event::Replaced), Exit::Replaced));
    }
}

#[test]
fn a_member_whose_folder_is_gone_ends_in_any_state() {
    for mut stage in [Stage::idle(), Stage::busy()] {
        assert!(exits(
            &stage.tell(Event::FolderRemoved),
            Exit::FolderRemoved
        ));
    }
}
