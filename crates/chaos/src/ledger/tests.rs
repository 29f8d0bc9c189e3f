use super::*;

fn mark(verb: Verb, id: &str) -> Mark {
    Mark::new(verb, id)
}

fn note(number: usize) -> Mark {
    mark(Verb::Note, &format!("A-{number:06}"))
}

fn note_attempt(number: usize, outcome: Outcome) -> Attempt {
    Attempt {
        mark: note(number),
        to: "m01".to_owned(),
        outcome,
    }
}

const ONCE: Found = Found {
    recorded: 1,
    said: 1,
    shown: 1,
    dead_lettered: 0,
};

fn done(name: &str) -> TaskFact {
    TaskFact {
        name: name.to_owned(),
        completed: 1,
        is_done: true,
        by_owner: true,
        worked: 1,
        held_by: None,
    }
}

/// Ten notes and two tasks, all correct.
fn good() -> Facts {
    let mut facts = Facts::default();
    for number in 0..10 {
        facts.attempts.push(note_attempt(number, Outcome::Done));
        facts.found.insert(("m01".to_owned(), note(number)), ONCE);
    }
    facts.tasks = vec![done("1"), done("2")];
    facts
}

fn balance(change: impl FnOnce(&mut Facts)) -> Ledger {
    let mut facts = good();
    change(&mut facts);
    Ledger::of(&facts)
}

fn found(facts: &mut Facts, number: usize) -> &mut Found {
    let key = ("m01".to_owned(), note(number));
    facts.found.get_mut(&key).expect("planted before")
}

#[test]
fn a_correct_run_is_balanced() {
    let ledger = balance(|_| {});
    assert!(ledger.is_balanced(), "{ledger}");
    assert_eq!((ledger.messages.sent, ledger.messages.injected), (10, 10));
    assert_eq!(ledger.tasks.once, 2);
    assert_eq!(ledger.problems, [""; 0]);
}

#[test]
fn a_message_that_is_nowhere_is_lost_and_so_is_one_that_was_never_said() {
    let gone = balance(|facts| {
        facts.found.remove(&("m01".to_owned(), note(3)));
    });
    assert_eq!(gone.messages.lost, 1);
    assert!(!gone.is_balanced());
    let unsaid = balance(|facts| found(facts, 3).said = 0);
    assert_eq!(unsaid.messages.lost, 1);
    let unshown = balance(|facts| found(facts, 3).shown = 0);
    assert_eq!(unshown.messages.lost, 1);
    assert!(!unshown.is_balanced());
}

#[test]
fn a_message_among_the_dead_letters_is_lost() {
    let ledger = balance(|facts| {
        *found(facts, 3) = Found {
            dead_lettered: 1,
            ..Found::default()
        };
        facts.dead_letters = 1;
    });
    assert_eq!(
        (ledger.messages.lost, ledger.messages.dead_lettered),
        (1, 1)
    );
}

#[test]
fn a_message_that_is_there_twice_is_duplicated_wherever_it_is() {
    for change in [
        |found: &mut Found| found.recorded = 2,
        |found: &mut Found| found.said = 2,
        |found: &mut Found| found.shown = 2,
    ] {
        let ledger = balance(|facts| change(found(facts, 4)));
        assert_eq!(ledger.messages.duplicated, 1);
        assert!(!ledger.is_balanced());
    }
    let other = balance(|facts| facts.repeated.push("report 7 of m02 twice".to_owned()));
    assert_eq!(other.messages.duplicated, 1);
    assert!(!other.is_balanced());
}

#[test]
fn a_message_of_unknown_outcome_may_arrive_or_not_but_not_twice() {
    let nowhere = balance(|facts| facts.attempts.push(note_attempt(77, Outcome::Unknown)));
    assert!(nowhere.is_balanced());
    assert_eq!(
        (nowhere.messages.unknown, nowhere.messages.unknown_arrived),
        (1, 0)
    );
    let key = || ("m01".to_owned(), note(77));
    let arrived = balance(|facts| {
        facts.attempts.push(note_attempt(77, Outcome::Unknown));
        facts.found.insert(key(), ONCE);
    });
    assert!(arrived.is_balanced());
    assert_eq!(arrived.messages.unknown_arrived, 1);
    let twice = balance(|facts| {
        facts.attempts.push(note_attempt(77, Outcome::Unknown));
        facts.found.insert(
            key(),
            Found {
                recorded: 2,
                ..ONCE
            },
        );
    });
    assert!(!twice.is_balanced());
}

#[test]
fn a_failed_send_need_not_be_repeated_and_must_not_arrive() {
    let again = balance(|facts| facts.attempts.push(note_attempt(3, Outcome::Failed)));
    assert!(again.is_balanced());
    assert_eq!(again.messages.sent, 10);
    let ghost = balance(|facts| {
        facts.attempts.push(note_attempt(77, Outcome::Failed));
        facts.found.insert(("m01".to_owned(), note(77)), ONCE);
    });
    assert_eq!(ghost.messages.astray, 1);
    assert!(!ghost.is_balanced());
}

#[test]
fn a_message_at_the_wrong_place_is_astray() {
    let ledger = balance(|facts| {
        facts.found.insert(("m02".to_owned(), note(1)), ONCE);
    });
    assert_eq!(ledger.messages.astray, 1);
    assert!(!ledger.is_balanced());
}

#[test]
fn tasks_are_done_once_by_their_last_owner() {
    let change = |change: fn(&mut TaskFact)| balance(|facts| change(&mut facts.tasks[0])).tasks;
    assert_eq!(change(|task| task.is_done = false).never, 1);
    assert_eq!(change(|task| task.completed = 2).twice, 1);
    assert_eq!(change(|task| task.by_owner = false).twice, 1);
    assert_eq!(change(|task| task.worked = 0).twice, 1);
    let again = balance(|facts| facts.tasks[0].worked = 2);
    assert_eq!(again.tasks.reworked, 1);
    assert!(again.is_balanced());
    let held = balance(|facts| facts.tasks[0].held_by = Some("m03".to_owned()));
    assert_eq!(held.stranded, 1);
}

#[test]
fn everything_unfinished_is_reported() {
    let order = || ("m01".to_owned(), mark(Verb::Order, "A-000001"));
    let forgotten = balance(|facts| {
        facts.orders.insert(order());
    });
    assert_eq!(forgotten.stranded, 1);
    assert!(!forgotten.is_balanced());
    let carried_out = balance(|facts| {
        facts.orders.insert(order());
        facts.carried_out.insert(order());
    });
    assert!(carried_out.is_balanced());
    let open = balance(|facts| facts.stranded.push("request 1a2b3c4d".to_owned()));
    assert!(!open.is_balanced());
    let orphan = balance(|facts| facts.orphans.push("4711 sleep".to_owned()));
    assert_eq!(orphan.orphans, 1);
    assert!(!orphan.is_balanced());
    let pending_events = balance(|facts| facts.history.push("files only: m01".to_owned()));
    assert!(!pending_events.is_balanced());
    assert!(orphan.to_string().contains("NOT BALANCED"), "{orphan}");
    assert!(orphan.to_string().contains("4711 sleep"), "{orphan}");
}
