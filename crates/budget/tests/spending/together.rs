//! Several agents that share a budget.

use crate::support::{Asker, LIMIT, TOKENS, notices, run, tokens, turns, usual};
use budget::Sum;
use llm::WaitReason;
use protocol::TeamLimits;
use std::sync::atomic::Ordering;
use teamdir::Options;
use test_support::llm_server::{Gate, LlmServer};
use test_support::{TempTeam, wait_until};

const NAMES: [&str; 4] = ["alice", "bob", "carol", "dave"];

fn requests(server: &LlmServer) -> u64 {
    let counts = NAMES.iter().map(|name| server.requests(name).len() as u64);
    counts.sum()
}

#[test]
fn many_members_exceed_a_budget_only_by_calls_in_flight_and_continue_after_a_raise() {
    let temp = TempTeam::new(&NAMES, Options::default());
    let (team, server) = (temp.team(), LlmServer::start());
    for name in NAMES {
        server.always(name, usual());
    }
    budget::change(team, None, &tokens(10 * TOKENS)).unwrap();
    let askers = NAMES.map(|name| Asker::new(team, &server, name));
    std::thread::scope(|scope| {
        for asker in &askers {
            scope.spawn(|| asker.ask_on());
        }
        for (round, limit) in [(1, 10), (2, 25)] {
            // Once that much is booked no call begins, and the calls in flight finish.
            wait_until(
                "the budget is spent and the lead is notified",
                LIMIT,
                || {
                    let sum = Sum::of(&team.budget().unwrap(), None);
                    sum.calls >= limit && sum.in_flight == 0 && notices(team).len() == round
                },
            );
            let sum = Sum::of(&team.budget().unwrap(), None);
            let others = NAMES.len() as u64 - 1;
            assert!((limit..=limit + others).contains(&sum.calls), "{sum:?}");
            assert_eq!(sum.tokens, sum.calls * TOKENS);
            assert_eq!(requests(&server), sum.calls);
            assert_eq!(budget::spent(team).unwrap().len(), 1);
            if round == 1 {
                wait_until("all wait", LIMIT, || {
                    askers.iter().all(|asker| asker.waited() > 0)
                });
                budget::change(team, None, &tokens(25 * TOKENS)).unwrap();
            }
        }
        for asker in &askers {
            asker.cancel.cancel();
        }
    });
    let sent: Vec<String> = notices(team).into_iter().collect();
    assert_eq!(sent, ["budget//1", "budget//2"]);
    for asker in &askers {
        let waits = asker.waits.lock().unwrap();
        assert!(waits.iter().all(|reason| *reason == WaitReason::Budget));
    }
}

#[test]
fn a_limit_of_calls_is_never_exceeded() {
    let temp = TempTeam::new(&NAMES, Options::default());
    let (team, server) = (temp.team(), LlmServer::start());
    for name in NAMES {
        server.always(name, usual());
    }
    budget::change(team, None, &turns(13)).unwrap();
    let askers = NAMES.map(|name| Asker::new(team, &server, name));
    std::thread::scope(|scope| {
        for asker in &askers {
            scope.spawn(|| asker.ask_on());
        }
        wait_until("the calls are used up", LIMIT, || {
            let sum = Sum::of(&team.budget().unwrap(), None);
            sum.calls == 13 && askers.iter().all(|asker| asker.waited() > 0)
        });
        for asker in &askers {
            asker.cancel.cancel();
        }
    });
    assert_eq!(requests(&server), 13);
}

#[test]
fn no_more_members_work_at_once_than_allowed() {
    let names = ["alice", "bob", "carol"];
    let temp = TempTeam::new(&names, Options::default());
    let (team, server, gate) = (temp.team(), LlmServer::start(), Gate::new());
    for name in names {
        server.always(name, usual().gate_head(&gate));
    }
    let limits = TeamLimits {
        working: Some(2),
        ..TeamLimits::default()
    };
    team.set_limits(&limits).unwrap();
    let askers = names.map(|name| Asker::new(team, &server, name));
    std::thread::scope(|scope| {
        for asker in &askers {
            scope.spawn(|| run(asker.ask()).unwrap());
        }
        wait_until("one waits for its turn", LIMIT, || {
            let waiting = askers.iter().filter(|asker| asker.waited() > 0);
            gate.reached() == 2 && waiting.count() == 1
        });
        gate.open();
    });
    let answers = askers
        .iter()
        .map(|asker| asker.answers.load(Ordering::SeqCst));
    assert_eq!(answers.sum::<u64>(), 3);
    let waits = askers
        .iter()
        .flat_map(|asker| asker.waits.lock().unwrap().clone());
    assert_eq!(waits.collect::<Vec<_>>(), [WaitReason::Turn]);
}
