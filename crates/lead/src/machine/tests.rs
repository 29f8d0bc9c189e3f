use super::idle_check::BUSY_CHECK;
use super::*;
use crate::typed::Shown;
use member::{FailureCause, TurnFailure};
use protocol::exit;

struct Stage {
    machine: LeadMachine,
    now: Instant,
}

impl Stage {
    fn new(mode: Mode, prompt: Option<&str>) -> Self {
        let options = Options { mode, keep: false };
        let now = Instant::now();
        let machine = LeadMachine::new(options, prompt.map(str::to_owned), false, now);
        Self { machine, now }
    }

    fn tell(&mut self, event: Event) -> Vec<Action> {
        self.machine.handle(event, self.now)
    }

    fn typed(&mut self, line: &str) -> Vec<Action> {
        self.tell(Event::Typed(Typed::parse(line)))
    }

    /// Lets the time pass in which a burst of mail is gathered.
    fn after_the_burst(&mut self) -> Vec<Action> {
        self.now += BURST;
        self.tell(Event::Tick)
    }

    fn finished(&mut self, text: &str) -> Vec<Action> {
        let text = text.to_owned();
        self.tell(Event::TurnEnded(TurnOutcome::Finished { text }))
    }

    /// Reports an idle team until the lead leaves.
    fn idle(&mut self, has_failures: bool) -> Vec<Action> {
        let rest = Event::TeamObserved(TeamActivity::Idle { has_failures });
        let again = self.tell(rest.clone());
        assert!(
            matches!(again[..], [Action::ObserveTeam { .. }]),
            "{again:?}"
        );
        self.tell(rest)
    }
}

fn turn(words: &[&str]) -> Action {
    Action::StartTurn(words.iter().map(|word| (*word).to_owned()).collect())
}

fn failed(reason: &str) -> Event {
    Event::TurnEnded(TurnOutcome::Failed(TurnFailure {
        cause: FailureCause::Permanent,
        reason: reason.to_owned(),
    }))
}

fn is_check(actions: &[Action]) -> bool {
    matches!(actions, [Action::ObserveTeam { .. }])
}

const GRACEFUL_SHUTDOWN: Action = Action::ShutDown(ShutdownMode::Graceful);

#[test]
fn a_one_shot_works_waits_for_its_team_and_prints_its_last_text() {
    let mut stage = Stage::new(Mode::OneShot, Some("do it"));
    assert_eq!(stage.tell(Event::Tick), [turn(&["do it"])]);
    assert!(is_check(&stage.finished("Waiting for alice.")));
    assert!(is_check(
        &stage.tell(Event::TeamObserved(TeamActivity::Busy))
    ));
    // More mail is waited for, and the check that runs changes nothing.
    assert_eq!(stage.tell(Event::Mail { newest: 1 }), []);
    let rest = Event::TeamObserved(TeamActivity::Idle {
        has_failures: false,
    });
    assert_eq!(stage.tell(rest), []);
    assert_eq!(stage.after_the_burst(), [turn(&[])]);
    assert!(is_check(&stage.finished("Done.")));
    assert_eq!(stage.idle(false), [GRACEFUL_SHUTDOWN]);
    let answer = Action::Answer("Done.".to_owned());
    assert_eq!(
        stage.tell(Event::TeamEnded),
        [answer, Action::Exit(exit::DONE)]
    );
    assert_eq!(stage.tell(Event::Interrupted), []);
}

#[test]
fn a_team_has_to_be_idle_twice_in_a_row() {
    let mut stage = Stage::new(Mode::OneShot, Some("go"));
    stage.tell(Event::Tick);
    stage.finished("ok");
    for _ in 0..3 {
        let rest = Event::TeamObserved(TeamActivity::Idle {
            has_failures: false,
        });
        assert!(is_check(&stage.tell(rest)));
        assert!(is_check(
            &stage.tell(Event::TeamObserved(TeamActivity::Busy))
        ));
    }
    assert_eq!(stage.idle(false), [GRACEFUL_SHUTDOWN]);
}

#[test]
fn checks_of_a_busy_team_become_rare() {
    let mut check = IdleCheck::default();
    let mut delays = Vec::new();
    for _ in 0..40 {
        delays.push(check.delay());
        check.backoff.fail();
    }
    assert!(delays.is_sorted());
    assert_eq!((delays[0], delays[39]), BUSY_CHECK);
}

#[test]
fn failures_of_the_team_and_of_the_lead_have_their_codes() {
    let mut stage = Stage::new(Mode::OneShot, Some("go"));
    stage.tell(Event::Tick);
    stage.finished("ok");
    stage.idle(true);
    let actions = stage.tell(Event::TeamEnded);
    assert_eq!(actions.last(), Some(&Action::Exit(exit::TEAM_FAILED)));

    let mut stage = Stage::new(Mode::OneShot, Some("go"));
    stage.tell(Event::Tick);
    let actions = stage.tell(failed("the key was refused"));
    let error = "The lead cannot go on: the key was refused".to_owned();
    assert_eq!(actions, [Action::PrintError(error), GRACEFUL_SHUTDOWN]);
    assert_eq!(stage.tell(Event::TeamEnded), [Action::Exit(exit::FAILED)]);
}

#[test]
fn piped_lines_are_done_one_after_the_other_and_then_the_team_is_waited_for() {
    let mut stage = Stage::new(Mode::Piped, None);
    assert_eq!(stage.tell(Event::Tick), []);
    assert_eq!(stage.typed("one"), [turn(&["one"])]);
    assert_eq!(stage.typed("/tasks"), []);
    assert_eq!(stage.typed("two"), []);
    assert_eq!(stage.typed("q"), []);
    assert_eq!(stage.typed("three"), []);
    assert_eq!(stage.tell(Event::InputEnded), []);
    let show = Action::Show(Shown::Tasks);
    assert_eq!(stage.finished("1"), [show, turn(&["two"])]);
    assert!(is_check(&stage.finished("2")));
    assert_eq!(stage.idle(false), [GRACEFUL_SHUTDOWN]);
    // The answers were printed as they came.
    assert_eq!(stage.tell(Event::TeamEnded), [Action::Exit(exit::DONE)]);
}

#[test]
fn a_failed_line_does_not_stop_the_next_but_is_not_forgotten() {
    let mut stage = Stage::new(Mode::Piped, None);
    stage.typed("one");
    stage.typed("two");
    let limit = Event::TurnEnded(TurnOutcome::RoundLimit {
        text: "no".to_owned(),
    });
    assert_eq!(
        stage.tell(limit),
        [Action::PrintError("no".to_owned()), turn(&["two"])]
    );
    stage.tell(Event::InputEnded);
    stage.finished("2");
    stage.idle(false);
    assert_eq!(stage.tell(Event::TeamEnded), [Action::Exit(exit::FAILED)]);
}

#[test]
fn what_is_typed_during_a_turn_steers_it_and_never_overtakes() {
    let mut stage = Stage::new(Mode::Terminal, None);
    stage.typed("one");
    assert_eq!(stage.typed("two"), [Action::Steer("two".to_owned())]);
    assert_eq!(stage.typed("/clear"), []);
    assert_eq!(stage.typed("three"), []);
    // The turn has ended without the line.
    assert_eq!(stage.tell(Event::NotTaken(vec!["two".to_owned()])), []);
    assert_eq!(stage.finished("1"), [turn(&["two"])]);
    assert_eq!(stage.finished("2"), [Action::Clear, turn(&["three"])]);
    let mut stage = Stage::new(Mode::Piped, None);
    stage.typed("one");
    assert_eq!(
        stage.typed("two"),
        [],
        "the lines of a file are queries of their own"
    );
}

#[test]
fn the_first_ctrl_c_stops_the_turn_and_the_second_leaves() {
    let mut stage = Stage::new(Mode::Terminal, None);
    stage.typed("one");
    assert_eq!(stage.tell(Event::Stop), [Action::StopTurn]);
    assert_eq!(stage.tell(Event::Stop), [], "it stops already");
    let stopped = Event::TurnEnded(TurnOutcome::Interrupted);
    let told = [Action::RecordStop, Action::Print(STOPPED.to_owned())];
    assert_eq!(stage.tell(stopped.clone()), told);
    assert_eq!(stage.tell(Event::Stop), [], "nothing runs");
    stage.typed("two");
    assert_eq!(stage.tell(Event::CtrlC), [Action::StopTurn]);
    let leaving = stage.tell(Event::CtrlC);
    assert!(
        matches!(leaving[..], [Action::Print(_), Action::CancelTurn]),
        "{leaving:?}"
    );
    assert_eq!(
        stage.tell(stopped),
        [told[0].clone(), told[1].clone(), GRACEFUL_SHUTDOWN]
    );
}

#[test]
fn verbs_of_a_person_run_beside_the_turn_and_those_of_a_file_in_order() {
    let verb = || Action::RunVerb(vec!["logs".to_owned(), "alice".to_owned()]);
    let mut stage = Stage::new(Mode::Terminal, None);
    stage.typed("one");
    assert_eq!(stage.typed("/logs alice"), [verb()]);
    assert_eq!(stage.tell(Event::VerbEnded), []);
    assert_eq!(
        stage.tell(Event::Stop),
        [Action::StopTurn],
        "the turn still runs"
    );
    let mut stage = Stage::new(Mode::Piped, None);
    assert_eq!(stage.typed("/logs alice"), [verb()]);
    assert_eq!(stage.typed("one"), []);
    assert_eq!(stage.tell(Event::VerbEnded), [turn(&["one"])]);
}

#[test]
fn a_terminal_stays_until_it_is_told_to_leave() {
    let mut stage = Stage::new(Mode::Terminal, None);
    assert_eq!(stage.typed("/tasks"), [Action::Show(Shown::Tasks)]);
    assert_eq!(stage.typed("hello"), [turn(&["hello"])]);
    assert_eq!(stage.typed("/team"), [Action::Show(Shown::Team)]);
    assert!(matches!(stage.typed("/tema")[..], [Action::PrintError(_)]));
    assert_eq!(stage.typed("/compact"), []);
    assert_eq!(stage.typed(""), []);
    assert_eq!(stage.finished("hi"), [Action::Compact]);
    assert_eq!(stage.finished("Compacted."), []);
    assert_eq!(stage.typed("q"), [GRACEFUL_SHUTDOWN]);
    assert_eq!(stage.tell(Event::TeamEnded), [Action::Exit(exit::DONE)]);
}

#[test]
fn what_was_typed_ahead_is_done_before_leaving() {
    let mut stage = Stage::new(Mode::Terminal, None);
    stage.typed("one");
    stage.typed("two");
    assert!(matches!(
        stage.tell(Event::InputEnded)[..],
        [Action::Print(_)]
    ));
    assert_eq!(stage.typed("q"), []);
    stage.tell(Event::NotTaken(vec!["two".to_owned()]));
    assert_eq!(stage.finished("1"), [turn(&["two"])]);
    assert_eq!(stage.finished("2"), [GRACEFUL_SHUTDOWN]);
}

#[test]
fn a_burst_of_mail_is_one_turn() {
    let mut stage = Stage::new(Mode::Terminal, None);
    for newest in 1..=20 {
        assert_eq!(stage.tell(Event::Mail { newest }), []);
    }
    assert_eq!(stage.machine.wake_at(), Some(stage.now + BURST));
    assert_eq!(stage.after_the_burst(), [turn(&[])]);
    assert_eq!(stage.machine.wake_at(), None);
    assert_eq!(stage.finished("read"), []);
    assert_eq!(stage.after_the_burst(), []);
}

#[test]
fn mail_that_asks_for_nothing_waits_for_the_next_turn() {
    let mut stage = Stage::new(Mode::Terminal, None);
    assert_eq!(stage.tell(Event::Mail { newest: 0 }), []);
    assert_eq!(stage.after_the_burst(), []);
    // Also after mail that did ask for something.
    stage.tell(Event::Mail { newest: 7 });
    stage.after_the_burst();
    stage.finished("read");
    stage.tell(Event::Mail { newest: 0 });
    assert_eq!(stage.after_the_burst(), []);
}

#[test]
fn mail_that_a_turn_failed_with_does_not_start_another() {
    let mut stage = Stage::new(Mode::Terminal, None);
    stage.tell(Event::Mail { newest: 3 });
    stage.after_the_burst();
    stage.tell(failed("disk full"));
    stage.tell(Event::Mail { newest: 3 });
    assert_eq!(stage.after_the_burst(), []);
    stage.tell(Event::Mail { newest: 4 });
    assert_eq!(stage.after_the_burst(), [turn(&[])]);
}

#[test]
fn the_board_and_background_commands_wake_the_lead() {
    let mut stage = Stage::new(Mode::Terminal, None);
    stage.tell(Event::TasksDone(3));
    let note = "<board>All 3 tasks are done.</board>";
    assert_eq!(stage.after_the_burst(), [turn(&[note])]);
    stage.tell(Event::BackgroundFinished);
    assert_eq!(stage.finished("ok"), []);
    assert_eq!(stage.after_the_burst(), [turn(&[])]);
}

#[test]
fn an_unfinished_conversation_goes_on() {
    let options = Options {
        mode: Mode::Terminal,
        keep: false,
    };
    let now = Instant::now();
    let machine = LeadMachine::new(options, None, true, now);
    let mut stage = Stage { machine, now };
    assert_eq!(stage.after_the_burst(), [turn(&[])]);
}

#[test]
fn the_first_interrupt_is_graceful_and_the_second_is_not() {
    let mut stage = Stage::new(Mode::Terminal, None);
    stage.typed("work");
    let actions = stage.tell(Event::Interrupted);
    assert!(
        matches!(actions[..], [Action::Print(_), Action::CancelTurn]),
        "{actions:?}"
    );
    assert_eq!(
        stage.tell(Event::TurnEnded(TurnOutcome::Interrupted)),
        [GRACEFUL_SHUTDOWN]
    );
    assert_eq!(
        stage.tell(Event::Interrupted),
        [Action::ShutDown(ShutdownMode::Immediate)]
    );
    assert_eq!(
        stage.tell(Event::TeamEnded),
        [Action::Exit(exit::INTERRUPTED)]
    );
}

#[test]
fn an_immediate_shutdown_does_not_wait_for_the_turn() {
    let mut stage = Stage::new(Mode::Terminal, None);
    stage.typed("work");
    stage.tell(Event::Interrupted);
    assert_eq!(
        stage.tell(Event::Interrupted),
        [Action::ShutDown(ShutdownMode::Immediate)]
    );
    // The team is gone first; the lead goes when its own turn has ended.
    assert_eq!(stage.tell(Event::TeamEnded), []);
    assert_eq!(
        stage.tell(Event::TurnEnded(TurnOutcome::Interrupted)),
        [Action::Exit(exit::INTERRUPTED)]
    );
}

#[test]
fn a_third_interrupt_waits_for_nothing() {
    let mut stage = Stage::new(Mode::Piped, None);
    for _ in 0..2 {
        stage.tell(Event::Interrupted);
    }
    assert_eq!(
        stage.tell(Event::Interrupted),
        [Action::Exit(exit::INTERRUPTED)]
    );
}

#[test]
fn the_team_may_be_kept() {
    let options = Options {
        mode: Mode::Terminal,
        keep: true,
    };
    let now = Instant::now();
    let machine = LeadMachine::new(options, None, false, now);
    let mut stage = Stage { machine, now };
    assert_eq!(stage.typed("exit"), [Action::Exit(exit::DONE)]);
}

#[test]
fn a_closed_terminal_ends_the_lead_and_asks_nobody_to_shut_down() {
    let mut stage = Stage::new(Mode::Terminal, None);
    assert_eq!(
        stage.tell(Event::TerminalClosed),
        [Action::Exit(exit::INTERRUPTED)]
    );
    // A running turn is cancelled first.
    let mut stage = Stage::new(Mode::Terminal, None);
    stage.typed("go");
    assert_eq!(stage.tell(Event::TerminalClosed), [Action::CancelTurn]);
    // The input of a closed terminal ends too.
    assert_eq!(stage.tell(Event::TerminalClosed), []);
    stage.tell(Event::InputEnded);
    assert_eq!(
        stage.tell(Event::TurnEnded(TurnOutcome::Interrupted)),
        [Action::Exit(exit::INTERRUPTED)]
    );
}

#[test]
fn a_timeout_ends_the_turn_and_the_run() {
    let mut stage = Stage::new(Mode::OneShot, Some("go"));
    stage.tell(Event::Tick);
    let actions = stage.tell(Event::TimedOut);
    assert!(
        matches!(actions[..], [Action::Print(_), Action::CancelTurn]),
        "{actions:?}"
    );
    assert_eq!(stage.tell(Event::TimedOut), []);
    assert_eq!(
        stage.tell(Event::TurnEnded(TurnOutcome::Interrupted)),
        [GRACEFUL_SHUTDOWN]
    );
    assert_eq!(
        stage.tell(Event::TeamEnded),
        [Action::Exit(exit::TIMED_OUT)]
    );
}

#[test]
fn a_lead_whose_folder_is_gone_ends_at_once() {
    for typed in [None, Some("work")] {
        let mut stage = Stage::new(Mode::Terminal, None);
        typed.map(|line| stage.typed(line));
        let actions = stage.tell(Event::FolderRemoved);
        assert!(
            matches!(
                actions[..],
                [Action::PrintError(_), Action::Exit(exit::NOT_FOUND)]
            ),
            "{actions:?}"
        );
        assert_eq!(stage.tell(Event::Interrupted), []);
    }
}

#[test]
fn a_spent_budget_ends_a_run_that_nobody_watches() {
    let mut stage = Stage::new(Mode::OneShot, Some("go"));
    stage.tell(Event::Tick);
    let actions = stage.tell(Event::BudgetSpent);
    assert!(
        matches!(actions[..], [Action::PrintError(_), Action::CancelTurn]),
        "{actions:?}"
    );
    stage.tell(Event::TurnEnded(TurnOutcome::Interrupted));
    assert_eq!(stage.tell(Event::TeamEnded), [Action::Exit(exit::BUDGET)]);

    let mut stage = Stage::new(Mode::Piped, None);
    stage.tell(Event::InputEnded);
    assert!(is_check(
        &stage.tell(Event::TeamObserved(TeamActivity::OutOfBudget))
    ));
    let actions = stage.tell(Event::TeamObserved(TeamActivity::OutOfBudget));
    assert_eq!(actions.last(), Some(&GRACEFUL_SHUTDOWN));
    assert_eq!(stage.tell(Event::TeamEnded), [Action::Exit(exit::BUDGET)]);

    let mut stage = Stage::new(Mode::Terminal, None);
    stage.typed("go");
    assert_eq!(stage.tell(Event::BudgetSpent), []);
}

/// Whatever happens and in whatever order: at most one turn runs at a time, and a lead that is asked
/// to leave and whose actions are answered comes to its end.
#[test]
fn every_order_of_events_comes_to_an_end() {
    let mut rng = test_support::Rng::new(7);
    for round in 0..2_000 {
        let mode = [Mode::Terminal, Mode::Piped, Mode::OneShot][round % 3];
        let keep = round % 5 == 0;
        let now = Instant::now();
        let prompt = (mode == Mode::OneShot).then(|| "go".to_owned());
        let machine = LeadMachine::new(Options { mode, keep }, prompt, false, now);
        let mut stage = Stage { machine, now };
        let mut world = World::default();
        for _ in 0..60 {
            stage.now += Duration::from_millis(rng.below(40));
            let Some(event) = world.event(rng.below(18)) else {
                continue;
            };
            world.act(stage.tell(event));
        }
        world.act(stage.tell(Event::Interrupted));
        for _ in 0..10 {
            for event in world.due() {
                world.act(stage.tell(event));
            }
        }
        assert!(world.exited, "{mode:?} keep {keep}: {:?}", stage.machine);
    }
}

/// Performs the actions, later.
#[derive(Default)]
struct World {
    busy: bool,
    checking: bool,
    shutting_down: bool,
    exited: bool,
}

impl World {
    fn event(&mut self, kind: u64) -> Option<Event> {
        let end = |end| Event::TurnEnded(end);
        Some(match kind {
            0 => Event::Tick,
            1 => Event::Typed(Typed::parse("work")),
            2 => Event::Typed(Typed::parse("/compact")),
            17 => Event::Typed(Typed::parse("/model offline")),
            3 => Event::InputEnded,
            4 => Event::Interrupted,
            5 => Event::TimedOut,
            6 => Event::Mail { newest: 1 },
            7 => Event::BackgroundFinished,
            8 if std::mem::take(&mut self.busy) => end(TurnOutcome::Finished { text: "x".into() }),
            9 if std::mem::take(&mut self.busy) => failed("x"),
            10 if std::mem::take(&mut self.checking) => Event::TeamObserved(TeamActivity::Idle {
                has_failures: false,
            }),
            11 if std::mem::take(&mut self.shutting_down) => Event::TeamEnded,
            12 if self.busy => Event::BudgetSpent,
            13 if std::mem::take(&mut self.checking) => {
                Event::TeamObserved(TeamActivity::OutOfBudget)
            }
            14 => Event::CtrlC,
            15 => Event::Stop,
            16 if std::mem::take(&mut self.busy) => end(TurnOutcome::Interrupted),
            _ => return None,
        })
    }

    /// Everything that the lead waits for.
    fn due(&mut self) -> Vec<Event> {
        [8, 10, 11]
            .into_iter()
            .filter_map(|kind| self.event(kind))
            .collect()
    }

    fn act(&mut self, actions: Vec<Action>) {
        for action in actions {
            assert!(!self.exited, "after the end: {action:?}");
            match action {
                Action::StartTurn(_) | Action::Compact => {
                    assert!(!std::mem::replace(&mut self.busy, true), "two turns");
                }
                Action::CancelTurn => assert!(self.busy, "nothing to cancel"),
                Action::ObserveTeam { .. } => {
                    assert!(!std::mem::replace(&mut self.checking, true), "two checks");
                }
                Action::ShutDown(_) => self.shutting_down = true,
                Action::Exit(_) => self.exited = true,
                Action::StopTurn => assert!(self.busy, "nothing to stop"),
                Action::Steer(_) => assert!(self.busy, "no turn to steer"),
                Action::RunVerb(_) => {}
                Action::RecordStop | Action::Clear | Action::UseModel(_) => {
                    assert!(!self.busy, "the agent works")
                }
                Action::Show(_) | Action::Print(_) | Action::PrintError(_) | Action::Answer(_) => {}
            }
        }
    }
}
