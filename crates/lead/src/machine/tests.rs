use super::*;

struct Stage {
    incarnation: LeadMachine,
    now: Instant,
}

impl Stage {
    fn new(mode: Mode, prompt: Option<&str>) -> Self {
        let plan = Plan { mode, keep: false };
        let now = Instant::now();
        let incarnation = LeadMachine::new(plan, prompt.map(str::to_owned), false, now);
        Self { incarnation, now }
    }

    fn tell(&mut self, event: Event) -> Vec<Action> {
        self.incarnation.handle(event, self.now)
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
        self.tell(Event::TurnEnded(End::Finished { text }))
    }

    /// Looks at a team at rest until the lead leaves.
    fn rest(&mut self, trouble: bool) -> Vec<Action> {
        let rest = Event::Looked(Rest::Done { trouble });
        let again = self.tell(rest.clone());
        assert!(
            matches!(again[..], [Action::LookForRest { .. }]),
            "{again:?}"
        );
        self.tell(rest)
    }
}

fn turn(words: &[&str]) -> Action {
    Action::Turn(words.iter().map(|word| (*word).to_owned()).collect())
}

fn is_look(actions: &[Action]) -> bool {
    matches!(actions, [Action::LookForRest { .. }])
}

const GRACEFULLY: Action = Action::ShutDown(Manner::Gracefully);

#[test]
fn a_one_shot_works_rests_and_prints_its_last_words() {
    let mut stage = Stage::new(Mode::OneShot, Some("do it"));
    assert_eq!(stage.tell(Event::Tick), [turn(&["do it"])]);
    assert!(is_look(&stage.finished("Waiting for alice.")));
    assert!(is_look(&stage.tell(Event::Looked(Rest::Busy))));
    // The mail is gathered for a moment, and the look that is under way changes nothing.
    assert_eq!(stage.tell(Event::Mail { newest: 1 }), []);
    let rest = Event::Looked(Rest::Done { trouble: false });
    assert_eq!(stage.tell(rest), []);
    assert_eq!(stage.after_the_burst(), [turn(&[])]);
    assert!(is_look(&stage.finished("Done.")));
    assert_eq!(stage.rest(false), [GRACEFULLY]);
    let answer = Action::Answer("Done.".to_owned());
    assert_eq!(
        stage.tell(Event::TeamGone),
        [answer, Action::Exit(exit::DONE)]
    );
    assert_eq!(stage.tell(Event::Interrupted), []);
}

#[test]
fn rest_has_to_be_seen_twice_in_a_row() {
    let mut stage = Stage::new(Mode::OneShot, Some("go"));
    stage.tell(Event::Tick);
    stage.finished("ok");
    for _ in 0..3 {
        let rest = Event::Looked(Rest::Done { trouble: false });
        assert!(is_look(&stage.tell(rest)));
        assert!(is_look(&stage.tell(Event::Looked(Rest::Busy))));
    }
    assert_eq!(stage.rest(false), [GRACEFULLY]);
}

#[test]
fn looks_at_a_busy_team_become_rare() {
    let mut look = Look::default();
    let mut pauses = Vec::new();
    for busy in 0..40 {
        look.busy = busy;
        pauses.push(look.pause());
    }
    assert!(pauses.is_sorted());
    assert_eq!((pauses[0], pauses[39]), BUSY_LOOK);
}

#[test]
fn troubles_of_the_team_and_of_the_lead_have_their_codes() {
    let mut stage = Stage::new(Mode::OneShot, Some("go"));
    stage.tell(Event::Tick);
    stage.finished("ok");
    stage.rest(true);
    let actions = stage.tell(Event::TeamGone);
    assert_eq!(actions.last(), Some(&Action::Exit(exit::TEAM_FAILED)));

    let mut stage = Stage::new(Mode::OneShot, Some("go"));
    stage.tell(Event::Tick);
    let words = "the key was refused".to_owned();
    let actions = stage.tell(Event::TurnEnded(End::Failed {
        words: words.clone(),
    }));
    assert_eq!(actions, [Action::Complain(words), GRACEFULLY]);
    assert_eq!(stage.tell(Event::TeamGone), [Action::Exit(exit::FAILED)]);
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
    let show = Action::Show(Command::Tasks);
    assert_eq!(stage.finished("1"), [show, turn(&["two"])]);
    assert!(is_look(&stage.finished("2")));
    assert_eq!(stage.rest(false), [GRACEFULLY]);
    // The answers were printed as they came.
    assert_eq!(stage.tell(Event::TeamGone), [Action::Exit(exit::DONE)]);
}

#[test]
fn a_failed_line_does_not_stop_the_next_but_is_not_forgotten() {
    let mut stage = Stage::new(Mode::Piped, None);
    stage.typed("one");
    stage.typed("two");
    let words = "no".to_owned();
    let failed = Event::TurnEnded(End::Failed {
        words: words.clone(),
    });
    assert_eq!(
        stage.tell(failed),
        [Action::Complain(words), turn(&["two"])]
    );
    stage.tell(Event::InputEnded);
    stage.finished("2");
    stage.rest(false);
    assert_eq!(stage.tell(Event::TeamGone), [Action::Exit(exit::FAILED)]);
}

#[test]
fn a_terminal_stays_until_it_is_told_to_leave() {
    let mut stage = Stage::new(Mode::Terminal, None);
    assert_eq!(stage.typed("/tasks"), [Action::Show(Command::Tasks)]);
    assert_eq!(stage.typed("hello"), [turn(&["hello"])]);
    assert_eq!(stage.typed("/team"), [Action::Show(Command::Team)]);
    assert!(matches!(stage.typed("/tema")[..], [Action::Complain(_)]));
    assert_eq!(stage.typed("/compact"), []);
    assert_eq!(stage.typed(""), []);
    assert_eq!(stage.finished("hi"), [Action::Compact]);
    assert_eq!(stage.finished("Compacted."), []);
    assert_eq!(stage.typed("q"), [GRACEFULLY]);
    assert_eq!(stage.tell(Event::TeamGone), [Action::Exit(exit::DONE)]);
}

#[test]
fn what_was_typed_ahead_is_done_before_leaving() {
    let mut stage = Stage::new(Mode::Terminal, None);
    stage.typed("one");
    stage.typed("two");
    assert!(matches!(
        stage.tell(Event::InputEnded)[..],
        [Action::Say(_)]
    ));
    assert_eq!(stage.typed("q"), []);
    assert_eq!(stage.finished("1"), [turn(&["two"])]);
    assert_eq!(stage.finished("2"), [GRACEFULLY]);
}

#[test]
fn a_burst_of_mail_is_one_turn() {
    let mut stage = Stage::new(Mode::Terminal, None);
    for newest in 1..=20 {
        assert_eq!(stage.tell(Event::Mail { newest }), []);
    }
    assert_eq!(stage.incarnation.wake_at(), Some(stage.now + BURST));
    assert_eq!(stage.after_the_burst(), [turn(&[])]);
    assert_eq!(stage.incarnation.wake_at(), None);
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
fn what_is_mentioned_waits_for_the_next_turn() {
    let mut stage = Stage::new(Mode::Terminal, None);
    stage.incarnation.mention("by the way".to_owned());
    assert_eq!(stage.after_the_burst(), []);
    assert_eq!(stage.typed("hello"), [turn(&["by the way", "hello"])]);
}

#[test]
fn letters_that_a_turn_failed_with_do_not_start_another() {
    let mut stage = Stage::new(Mode::Terminal, None);
    stage.tell(Event::Mail { newest: 3 });
    stage.after_the_burst();
    let words = "disk full".to_owned();
    stage.tell(Event::TurnEnded(End::Failed { words }));
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
    stage.tell(Event::BackgroundDone);
    assert_eq!(stage.finished("ok"), []);
    assert_eq!(stage.after_the_burst(), [turn(&[])]);
}

#[test]
fn an_unfinished_conversation_goes_on() {
    let plan = Plan {
        mode: Mode::Terminal,
        keep: false,
    };
    let now = Instant::now();
    let incarnation = LeadMachine::new(plan, None, true, now);
    let mut stage = Stage { incarnation, now };
    assert_eq!(stage.after_the_burst(), [turn(&[])]);
}

#[test]
fn the_first_interrupt_is_graceful_and_the_second_is_not() {
    let mut stage = Stage::new(Mode::Terminal, None);
    stage.typed("work");
    let actions = stage.tell(Event::Interrupted);
    assert!(
        matches!(actions[..], [Action::Say(_), Action::CancelTurn]),
        "{actions:?}"
    );
    assert_eq!(stage.tell(Event::TurnEnded(End::Interrupted)), [GRACEFULLY]);
    assert_eq!(
        stage.tell(Event::Interrupted),
        [Action::ShutDown(Manner::Now)]
    );
    assert_eq!(
        stage.tell(Event::TeamGone),
        [Action::Exit(exit::INTERRUPTED)]
    );
}

#[test]
fn haste_does_not_wait_for_the_turn_to_be_asked_for() {
    let mut stage = Stage::new(Mode::Terminal, None);
    stage.typed("work");
    stage.tell(Event::Interrupted);
    assert_eq!(
        stage.tell(Event::Interrupted),
        [Action::ShutDown(Manner::Now)]
    );
    // The team is gone first; the lead goes when its own turn has ended.
    assert_eq!(stage.tell(Event::TeamGone), []);
    assert_eq!(
        stage.tell(Event::TurnEnded(End::Interrupted)),
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
    let plan = Plan {
        mode: Mode::Terminal,
        keep: true,
    };
    let now = Instant::now();
    let incarnation = LeadMachine::new(plan, None, false, now);
    let mut stage = Stage { incarnation, now };
    assert_eq!(stage.typed("exit"), [Action::Exit(exit::DONE)]);
}

#[test]
fn time_that_is_up_ends_the_turn_and_the_run() {
    let mut stage = Stage::new(Mode::OneShot, Some("go"));
    stage.tell(Event::Tick);
    let actions = stage.tell(Event::TimeIsUp);
    assert!(
        matches!(actions[..], [Action::Say(_), Action::CancelTurn]),
        "{actions:?}"
    );
    assert_eq!(stage.tell(Event::TimeIsUp), []);
    assert_eq!(stage.tell(Event::TurnEnded(End::Interrupted)), [GRACEFULLY]);
    assert_eq!(stage.tell(Event::TeamGone), [Action::Exit(exit::TIMED_OUT)]);
}

#[test]
fn a_spent_budget_ends_what_nobody_watches() {
    let mut stage = Stage::new(Mode::OneShot, Some("go"));
    stage.tell(Event::Tick);
    let actions = stage.tell(Event::BudgetSpent);
    assert!(
        matches!(actions[..], [Action::Complain(_), Action::CancelTurn]),
        "{actions:?}"
    );
    stage.tell(Event::TurnEnded(End::Interrupted));
    assert_eq!(stage.tell(Event::TeamGone), [Action::Exit(exit::BUDGET)]);

    let mut stage = Stage::new(Mode::Piped, None);
    stage.tell(Event::InputEnded);
    assert!(is_look(&stage.tell(Event::Looked(Rest::Broke))));
    let actions = stage.tell(Event::Looked(Rest::Broke));
    assert_eq!(actions.last(), Some(&GRACEFULLY));
    assert_eq!(stage.tell(Event::TeamGone), [Action::Exit(exit::BUDGET)]);

    let mut stage = Stage::new(Mode::Terminal, None);
    stage.typed("go");
    assert_eq!(stage.tell(Event::BudgetSpent), []);
}

/// Whatever happens and in whatever order: at most one thing runs at a time, and a lead that is
/// told to leave and whose wishes are answered comes to its end.
#[test]
fn every_order_of_events_comes_to_an_end() {
    let mut rng = test_support::Rng::new(7);
    for round in 0..2_000 {
        let mode = [Mode::Terminal, Mode::Piped, Mode::OneShot][round % 3];
        let keep = round % 5 == 0;
        let now = Instant::now();
        let prompt = (mode == Mode::OneShot).then(|| "go".to_owned());
        let incarnation = LeadMachine::new(Plan { mode, keep }, prompt, false, now);
        let mut stage = Stage { incarnation, now };
        let mut world = World::default();
        for _ in 0..60 {
            stage.now += Duration::from_millis(rng.below(40));
            let Some(event) = world.event(rng.below(14)) else {
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
        assert!(
            world.exited,
            "{mode:?} keep {keep}: {:?}",
            stage.incarnation
        );
    }
}

/// Does what the lead says, later.
#[derive(Default)]
struct World {
    busy: bool,
    looking: bool,
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
            3 => Event::InputEnded,
            4 => Event::Interrupted,
            5 => Event::TimeIsUp,
            6 => Event::Mail { newest: 1 },
            7 => Event::BackgroundDone,
            8 if std::mem::take(&mut self.busy) => end(End::Finished { text: "x".into() }),
            9 if std::mem::take(&mut self.busy) => end(End::Failed { words: "x".into() }),
            10 if std::mem::take(&mut self.looking) => Event::Looked(Rest::Done { trouble: false }),
            11 if std::mem::take(&mut self.shutting_down) => Event::TeamGone,
            12 if self.busy => Event::BudgetSpent,
            13 if std::mem::take(&mut self.looking) => Event::Looked(Rest::Broke),
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
                Action::Turn(_) | Action::Compact => {
                    assert!(!std::mem::replace(&mut self.busy, true), "two turns");
                }
                Action::CancelTurn => assert!(self.busy, "nothing to cancel"),
                Action::LookForRest { .. } => {
                    assert!(!std::mem::replace(&mut self.looking, true), "two looks");
                }
                Action::ShutDown(_) => self.shutting_down = true,
                Action::Exit(_) => self.exited = true,
                Action::Show(_) | Action::Say(_) | Action::Complain(_) | Action::Answer(_) => {}
            }
        }
    }
}
