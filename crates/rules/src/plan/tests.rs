//! The plan gate, rule by rule.

use super::*;
use crate::request::{Opening, open_plan};
use protocol::{Answer, Timestamp};

fn id(text: &str) -> RequestId {
    RequestId::new(text).unwrap()
}

fn alice() -> AgentName {
    AgentName::new("alice").unwrap()
}

/// A plan of alice, made in `incarnation` at second `at`.
fn request(name: &str, incarnation: u64, at: i64) -> Request {
    let opening = Opening {
        id: id(name),
        from: alice().into(),
        from_incarnation: Some(Incarnation(incarnation)),
        to: Recipient::Lead,
        to_incarnation: None,
        now: Timestamp::from_secs(at),
    };
    open_plan(opening, None, &format!("plan {name}")).unwrap()
}

fn approved_by(by: Party, request: Request) -> Request {
    let answer = Answer {
        by,
        at: Timestamp::from_secs(99),
        words: String::new(),
    };
    Request {
        state: RequestState::Approved(answer),
        ..request
    }
}

fn rebuild(requests: &[Request]) -> PlanGate {
    PlanGate::rebuild(&RebuildFrom {
        member: &alice(),
        incarnation: Incarnation(2),
        required: true,
        requests,
    })
}

#[test]
fn the_hash_is_sha256_in_hex() {
    assert_eq!(
        plan_hash("abc"),
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    );
}

#[test]
fn a_gate_opens_only_with_the_matching_decision() {
    let mut gate = PlanGate::new(true);
    assert!(gate.may_run("bash").is_err());
    gate.submit(id("one"), plan_hash("x"));
    let decision = |name, text, approve| Decision {
        request_id: id(name),
        plan_hash: plan_hash(text),
        approve,
        feedback: "too risky".to_owned(),
    };
    for wrong in [decision("two", "x", true), decision("one", "y", true)] {
        let before = gate.clone();
        assert!(gate.decide(&wrong).is_err());
        assert_eq!(gate, before);
    }
    gate.decide(&decision("one", "x", false)).unwrap();
    let refusal = gate.may_run("edit_file").unwrap_err().to_string();
    assert!(
        refusal.contains("too risky") && refusal.contains("plan_approval"),
        "{refusal}"
    );
    gate.submit(id("two"), plan_hash("z"));
    gate.decide(&decision("two", "z", true)).unwrap();
    assert_eq!(gate.may_run("bash"), Ok(()));
    assert!(gate.decide(&decision("two", "z", false)).is_err());
}

#[test]
fn only_mutating_tools_are_held_back() {
    let gate = PlanGate::new(true);
    for tool in ["read_file", "send_message", "plan_approval", "idle"] {
        assert_eq!(gate.may_run(tool), Ok(()));
    }
    for tool in MUTATING_TOOLS {
        let refusal = gate.may_run(tool).unwrap_err().to_string();
        assert!(refusal.starts_with(tool), "{refusal}");
        assert!(refusal.contains("call plan_approval"), "{refusal}");
        assert_eq!(PlanGate::new(false).may_run(tool), Ok(()));
    }
}

#[test]
fn a_member_that_needs_no_plan_stays_free() {
    let mut gate = PlanGate::new(false);
    gate.submit(id("one"), plan_hash("x"));
    assert_eq!(gate, PlanGate::NotRequired);
}

#[test]
fn a_plan_that_expired_closes_the_gate() {
    let mut gate = PlanGate::new(true);
    gate.submit(id("one"), plan_hash("x"));
    gate.expire(&id("other"));
    assert!(matches!(gate, PlanGate::Pending { .. }));
    gate.expire(&id("one"));
    assert_eq!(gate, PlanGate::Required);
}

#[test]
fn an_approval_of_an_earlier_life_stays_until_the_next_plan() {
    let first = approved_by(Party::User, request("one", 1, 10));
    let second = request("two", 2, 20);
    let gate = rebuild(std::slice::from_ref(&first));
    assert!(matches!(gate, PlanGate::Approved { .. }));
    let gate = rebuild(&[second, first]);
    assert!(matches!(gate, PlanGate::Pending { request_id, .. } if request_id == id("two")));
}

#[test]
fn approvals_that_do_not_fit_open_nothing() {
    let of_bob = Request {
        from: Party::Member(AgentName::new("bob").unwrap()),
        ..approved_by(Party::Lead, request("one", 1, 10))
    };
    let by_itself = approved_by(alice().into(), request("one", 1, 10));
    let later_life = approved_by(Party::Lead, request("one", 3, 10));
    let mut edited = approved_by(Party::Lead, request("one", 1, 10));
    if let Subject::Plan { plan, .. } = &mut edited.subject {
        plan.push_str(" and rm -rf");
    }
    for request in [of_bob, by_itself, later_life, edited] {
        assert_eq!(rebuild(&[request]), PlanGate::Required);
    }
}
