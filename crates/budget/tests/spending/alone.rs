//! The calls of one agent.

use crate::support::who;
use crate::support::{Asker, LIMIT, TOKENS, notices, question, reserve, run, tokens, turns, usual};
use budget::Sum;
use catalogue::{Catalogue, ModelEntry, Price};
use llm::{Event, Model, ModelError, WaitReason};
use protocol::{Caps, Incarnation, LiveState, Money, Phase, TaskId};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use teamdir::{Options, TeamDir};
use test_support::llm_server::{Gate, LlmServer, ServerReply};
use test_support::{TempTeam, wait_until};

fn sum(team: &TeamDir) -> Sum {
    Sum::of(&team.budget().unwrap(), None)
}

#[test]
fn without_limits_everything_is_booked_by_member_model_and_task() {
    let temp = TempTeam::new(&["alice"], Options::default());
    let (team, server) = (temp.team(), LlmServer::start());
    server.always("alice", usual());
    let alice = Asker::new(team, &server, "alice");
    run(alice.ask()).unwrap();
    let guard = team.lock_dead_member(&who("alice"));
    assert!(guard.is_err(), "alice is running");
    let budget = team.budget().unwrap();
    let row = &budget.booked[0];
    assert_eq!(
        (row.member.as_str(), row.model.as_str()),
        ("alice", "anthropic:some-model")
    );
    assert_eq!(
        (row.input, row.output, row.cache_read, row.cache_write),
        (50, 20, 20, 10)
    );
    assert_eq!(
        (row.calls, row.unpriced, row.cost),
        (1, 1, Money::default())
    );
    assert_eq!((row.task, budget.last_slot), (None, 0));
}

#[test]
fn usage_is_booked_on_the_current_task() {
    let temp = TempTeam::new(&["alice"], Options::default());
    let (team, server) = (temp.team(), LlmServer::start());
    server.always("alice", usual());
    let mut state = LiveState::new(Incarnation(1), Phase::Working, teamdir::now());
    state.task = Some(TaskId(7));
    let path = team.layout().live_state(&who("alice"));
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, serde_json::to_vec(&state).unwrap()).unwrap();
    let alice = Asker::new(team, &server, "alice");
    run(alice.ask()).unwrap();
    assert_eq!(team.budget().unwrap().booked[0].task, Some(TaskId(7)));
}

#[test]
fn spending_counts_after_a_restart() {
    let temp = TempTeam::new(&["alice"], Options::default());
    let (team, server) = (temp.team(), LlmServer::start());
    server.always("alice", usual());
    budget::change(team, Some(&who("alice")), &turns(2)).unwrap();
    for _ in 0..2 {
        // Each of them is a new incarnation.
        run(Asker::new(team, &server, "alice").ask()).unwrap();
    }
    let third = Asker::new(team, &server, "alice");
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| run(third.ask()));
        wait_until("it waits", LIMIT, || third.waited() == 1);
        assert_eq!(server.requests("alice").len(), 2);
        budget::change(team, Some(&who("alice")), &turns(3)).unwrap();
        asked.join().unwrap().unwrap();
    });
    assert_eq!(
        notices(team).into_iter().collect::<Vec<_>>(),
        ["budget/alice/1"]
    );
}

#[test]
fn a_wait_can_be_cancelled_and_nothing_is_sent() {
    let temp = TempTeam::new(&["alice"], Options::default());
    let (team, server) = (temp.team(), LlmServer::start());
    budget::change(team, None, &turns(0)).unwrap();
    let alice = Asker::new(team, &server, "alice");
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| run(alice.ask()));
        wait_until("it waits", LIMIT, || alice.waited() == 1);
        alice.cancel.cancel();
        assert_eq!(asked.join().unwrap().unwrap_err(), ModelError::Cancelled);
    });
    assert!(server.requests("alice").is_empty());
    assert_eq!(sum(team), Sum::default());
}

#[test]
fn a_call_dropped_in_flight_releases_its_slot_and_counts() {
    let temp = TempTeam::new(&["alice"], Options::default());
    let (team, server, gate) = (temp.team(), LlmServer::start(), Gate::new());
    server.always("alice", usual().gate_head(&gate));
    budget::change(team, None, &turns(5)).unwrap();
    let alice = Asker::new(team, &server, "alice");
    run(async {
        let request = question();
        let mut ignore = |_: Event| {};
        let call = alice.model.complete(&request, &mut ignore, &alice.cancel);
        let arrived = async {
            while gate.reached() == 0 {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            reply = call => panic!("the gate is closed: {reply:?}"),
            () = arrived => {}
        }
    });
    assert_eq!(sum(team).in_flight, 0);
    assert_eq!((sum(team).calls, sum(team).tokens), (1, 0));
    gate.open();
}

#[test]
fn a_call_of_a_dead_process_holds_no_slot_and_one_of_a_running_process_does() {
    let temp = TempTeam::new(&["alice", "bob"], Options::default());
    let (team, server) = (temp.team(), LlmServer::start());
    server.always("alice", usual());
    budget::change(team, None, &turns(2)).unwrap();
    let alice = Asker::new(team, &server, "alice");
    // bob is not running, and alice's earlier incarnation has ended.
    reserve(team, "bob", Incarnation(4));
    reserve(team, "alice", Incarnation(0));
    run(alice.ask()).unwrap();
    assert_eq!(sum(team).in_flight, 0);
    let bob = team.join(&who("bob")).unwrap();
    reserve(team, "bob", bob.incarnation());
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| run(alice.ask()));
        wait_until("it waits for bob's call", LIMIT, || alice.waited() == 1);
        assert_eq!(sum(team).in_flight, 1);
        // As if bob were killed in the middle of it.
        drop(bob);
        asked.join().unwrap().unwrap();
    });
    assert_eq!(sum(team).calls, 2);
}

#[test]
fn a_held_lock_makes_a_call_wait_and_not_fail() {
    let options = Options {
        lock_wait: Duration::from_millis(20),
        ..Options::default()
    };
    let temp = TempTeam::new(&["alice"], options);
    let (team, server) = (temp.team(), LlmServer::start());
    server.always("alice", usual());
    budget::change(team, None, &turns(1)).unwrap();
    let alice = Asker::new(team, &server, "alice");
    let lock = std::fs::File::open(team.layout().root().join(".budget.lock")).unwrap();
    lock.lock().unwrap();
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| run(alice.ask()));
        wait_until("it waits for the lock", LIMIT, || alice.waited() == 1);
        drop(lock);
        asked.join().unwrap().unwrap();
    });
    assert_eq!(*alice.waits.lock().unwrap(), [WaitReason::Turn]);
    assert_eq!((sum(team).calls, sum(team).in_flight), (1, 0));
}

#[test]
fn with_a_cost_limit_a_model_without_a_price_waits_for_one() {
    let temp = TempTeam::new(&["alice"], Options::default());
    let (team, server) = (temp.team(), LlmServer::start());
    server.always("alice", usual());
    let caps = Caps {
        max_cost: Some(Money::from_dollars(1.0).unwrap()),
        ..Caps::default()
    };
    budget::change(team, None, &caps).unwrap();
    let is_known = Arc::new(AtomicBool::new(false));
    let prices = {
        let is_known = Arc::clone(&is_known);
        move || {
            let price = Price {
                output: Money::from_dollars(2.0).unwrap(),
                ..Price::FREE
            };
            let known = is_known.load(Ordering::SeqCst);
            let entry = ModelEntry {
                price: Some(price),
                ..ModelEntry::default()
            };
            let user = known.then(|| ("some-model".to_owned(), entry));
            Catalogue::new(user.into_iter().collect(), BTreeMap::new())
        }
    };
    let alice = Asker::with(team, &server, "alice", Arc::new(prices));
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| run(alice.ask()));
        wait_until("it waits", LIMIT, || alice.waited() == 1);
        is_known.store(true, Ordering::SeqCst);
        asked.join().unwrap().unwrap();
    });
    assert_eq!(sum(team).cost, Money::from_dollars(0.00004).unwrap());
    assert_eq!(sum(team).unpriced, 0);
    assert_eq!(*alice.waits.lock().unwrap(), [WaitReason::Budget]);
}

#[test]
fn a_refused_call_counts_as_a_call_and_an_unreadable_budget_lets_none_begin() {
    let temp = TempTeam::new(&["alice"], Options::default());
    let (team, server) = (temp.team(), LlmServer::start());
    server.enqueue(
        "alice",
        ServerReply::error(401, "authentication_error", "no"),
    );
    budget::change(team, None, &tokens(TOKENS)).unwrap();
    let alice = Asker::new(team, &server, "alice");
    assert!(matches!(
        run(alice.ask()),
        Err(ModelError::KeyRefused { .. })
    ));
    assert_eq!(
        (sum(team).calls, sum(team).tokens, sum(team).in_flight),
        (1, 0, 0)
    );
    std::fs::write(team.layout().budget(), "{broken").unwrap();
    let error = run(alice.ask()).unwrap_err();
    assert!(error.to_string().contains("budget.json"), "{error}");
    assert_eq!(server.requests("alice").len(), 1);
}
