//! The plan gate, rule by rule.

use super::*;
use crate::request::{ExpireReason, Opening, expire, open_plan};
use protocol::{AgentName, Answer, Incarnation, Recipient, Timestamp};

fn id(text: &str) -> RequestId {
    RequestId::new(text).unwrap()
}

fn alice() -> AgentName {
    AgentName::new("alice").unwrap()
}

/// A pending plan of alice.
fn request(name: &str, plan: &str) -> Request {
    let opening = Opening {
        id: id(name),
        from: alice().into(),
        from_incarnation: Some(Incarnation(1)),
        to: Recipient::Lead,
        to_incarnation: None,
        now: Timestamp::from_secs(10),
    };
    open_plan(opening, None, plan).unwrap()
}

fn answer(by: Party, feedback: &str) -> Answer {
    Answer::new(by, Timestamp::from_secs(99), feedback.to_owned())
}

fn approved(by: Party, request: Request) -> Request {
    Request {
        state: RequestState::Approved(answer(by, "")),
        ..request
    }
}

/// The gate of alice, who submitted `text` under the id `name` last.
fn gate(name: &str, text: &str, file: PlanFile<'_>) -> PlanGate {
    PlanGate::new(&PlanFacts {
        required: Some(true),
        submitted: Some(SubmittedPlan {
            request_id: &id(name),
            plan_hash: &plan_hash(text),
            file,
        }),
    })
}

fn without_plan(required: Option<bool>) -> PlanGate {
    PlanGate::new(&PlanFacts {
        required,
        submitted: None,
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
    assert!(
        without_plan(Some(true))
            .may_run("bash", Effect::Mutate, false)
            .is_err()
    );
    let pending = request("one", "x");
    let file = approved(Party::Lead, pending.clone());
    assert_eq!(
        gate("one", "x", PlanFile::Found(&pending)),
        PlanGate::Pending {
            request_id: id("one")
        }
    );
    // The file of another plan, and the approval of another text.
    assert_eq!(gate("two", "x", PlanFile::Found(&file)), PlanGate::Required);
    assert_eq!(gate("one", "y", PlanFile::Found(&file)), PlanGate::Required);
    let rejected = Request {
        state: RequestState::Rejected(answer(Party::Lead, "too risky")),
        ..pending
    };
    let gate_of_rejected = gate("one", "x", PlanFile::Found(&rejected));
    let refusal = gate_of_rejected.may_run("edit_file", Effect::Mutate, false);
    let refusal = refusal.unwrap_err().to_string();
    assert!(
        refusal.contains("too risky") && refusal.contains("plan_approval"),
        "{refusal}"
    );
    let open = gate("one", "x", PlanFile::Found(&file));
    assert_eq!(
        open,
        PlanGate::Approved {
            request_id: id("one")
        }
    );
    assert_eq!(
        open.may_run("bash", Effect::Mutate, false),
        Ok(Permission::Unrestricted)
    );
}

#[test]
fn what_can_be_confined_runs_read_only_until_the_plan_is_approved() {
    let pending = request("one", "x");
    let file = approved(Party::Lead, pending.clone());
    let permission = |gate: PlanGate| gate.may_run("bash", Effect::Execute, true);
    for closed in [
        without_plan(Some(true)),
        without_plan(None),
        gate("one", "x", PlanFile::Found(&pending)),
        gate("one", "y", PlanFile::Found(&file)),
    ] {
        assert_eq!(permission(closed), Ok(Permission::ReadOnly));
    }
    for open in [
        without_plan(Some(false)),
        gate("one", "x", PlanFile::Found(&file)),
    ] {
        assert_eq!(permission(open), Ok(Permission::Unrestricted));
    }
}

#[test]
fn the_effect_of_a_tool_decides_and_not_its_name() {
    let closed = without_plan(Some(true));
    for tool in ["read_file", "send_message", "bash"] {
        assert_eq!(
            closed.may_run(tool, Effect::Read, false),
            Ok(Permission::Unrestricted)
        );
    }
    for tool in ["bash", "a_tool_of_tomorrow", "read_file"] {
        let refusal = closed.may_run(tool, Effect::Mutate, false);
        let refusal = refusal.unwrap_err().to_string();
        assert!(refusal.starts_with(tool), "{refusal}");
        assert!(refusal.contains("call plan_approval"), "{refusal}");
        let free = without_plan(Some(false));
        assert_eq!(
            free.may_run(tool, Effect::Mutate, false),
            Ok(Permission::Unrestricted)
        );
    }
}

#[test]
fn a_member_that_needs_no_plan_may_submit_one_and_is_not_gated() {
    let pending = request("one", "x");
    let gate = PlanGate::new(&PlanFacts {
        required: Some(false),
        submitted: Some(SubmittedPlan {
            request_id: &pending.id,
            plan_hash: &plan_hash("x"),
            file: PlanFile::Found(&pending),
        }),
    });
    assert_eq!(gate, PlanGate::NotRequired);
}

#[test]
fn a_member_that_cannot_read_the_roster_needs_a_plan() {
    assert_eq!(without_plan(None), PlanGate::Required);
}

#[test]
fn an_expired_or_missing_plan_closes_the_gate() {
    let pending = request("one", "x");
    let expired = expire(&pending, ExpireReason::Superseded, Timestamp::from_secs(11)).unwrap();
    assert_eq!(
        gate("one", "x", PlanFile::Found(&expired)),
        PlanGate::Required
    );
    assert_eq!(gate("one", "x", PlanFile::Missing), PlanGate::Required);
    // One that cannot be read now may still be decided.
    let unreadable = gate("one", "x", PlanFile::Unreadable);
    assert_eq!(
        unreadable,
        PlanGate::Pending {
            request_id: id("one")
        }
    );
}

#[test]
fn approvals_that_do_not_match_open_nothing() {
    let by_itself = approved(alice().into(), request("one", "x"));
    let by_the_program = approved(Party::System, request("one", "x"));
    let mut edited = approved(Party::Lead, request("one", "x"));
    if let Subject::Plan { plan, .. } = &mut edited.subject {
        plan.push_str(" and rm -rf");
    }
    let mut edited_with_its_hash = approved(Party::Lead, request("one", "x and rm -rf"));
    edited_with_its_hash.created_at = Timestamp::from_secs(10);
    let no_plan = Request {
        subject: Subject::Shutdown {
            reason: String::new(),
            force: false,
            lead_leaves: false,
        },
        ..approved(Party::Lead, request("one", "x"))
    };
    for request in [
        by_itself,
        by_the_program,
        edited,
        edited_with_its_hash,
        no_plan,
    ] {
        assert_eq!(
            gate("one", "x", PlanFile::Found(&request)),
            PlanGate::Required
        );
    }
    let by_user = approved(Party::User, request("one", "x"));
    assert!(matches!(
        gate("one", "x", PlanFile::Found(&by_user)),
        PlanGate::Approved { .. }
    ));
}
