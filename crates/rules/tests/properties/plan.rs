//! No tool that changes something runs without the approval of exactly the latest plan.

use proptest::prelude::*;
use protocol::{
    Effect, Incarnation, Party, Recipient, Request, RequestId, RequestKind, Subject, Timestamp,
};
use rules::{
    Addressee, AnswerSource, ExpireReason, Opening, Permission, PlanFacts, PlanFile, PlanGate,
    Response, SubmittedPlan, Verdict, answer, expire, open_plan, plan_hash,
};
use std::collections::BTreeMap;

#[derive(Debug, Clone)]
enum Step {
    Submit {
        id: u8,
        text: u8,
    },
    Decide {
        id: u8,
        by: u8,
        approve: bool,
    },
    Expire(u8),
    /// The plan's text is edited in its file, with or without its hash.
    Edit {
        id: u8,
        with_hash: bool,
    },
    Remove(u8),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0..3_u8, 0..3_u8).prop_map(|(id, text)| Step::Submit { id, text }),
        3 => (0..3_u8, 0..4_u8, any::<bool>())
            .prop_map(|(id, by, approve)| Step::Decide { id, by, approve }),
        1 => (0..3_u8).prop_map(Step::Expire),
        1 => (0..3_u8, any::<bool>()).prop_map(|(id, with_hash)| Step::Edit { id, with_hash }),
        1 => (0..3_u8).prop_map(Step::Remove),
    ]
}

fn id(number: u8) -> RequestId {
    RequestId::new(&format!("plan{number}")).expect("a valid id")
}

fn now() -> Timestamp {
    Timestamp::from_secs(20)
}

/// The lead and the user may decide; a teammate and the program may not.
fn decider(number: u8) -> Party {
    match number {
        0 => Party::Lead,
        1 => Party::User,
        2 => Party::System,
        _ => "bob".parse().expect("a valid name"),
    }
}

fn submit(number: u8, text: u8) -> Request {
    let opening = Opening {
        id: id(number),
        from: "alice".parse().expect("a valid name"),
        from_incarnation: Some(Incarnation(1)),
        to: Recipient::Lead,
        to_incarnation: None,
        now: Timestamp::from_secs(10),
    };
    open_plan(opening, None, &text.to_string()).expect("a valid plan")
}

/// The request file after a decision by any party.
fn decide(request: &Request, by: Party, approve: bool) -> Request {
    let response = Response {
        kind: RequestKind::Plan,
        request_id: request.id.clone(),
        from: Some(by.into()),
        from_incarnation: None,
        approve,
        text: String::new(),
        name: None,
        scope: None,
        source: AnswerSource::Answerer,
    };
    match answer(request, &response, Addressee::Unknown, now()) {
        Verdict::Resolved(request) | Verdict::Ignored { request, .. } => request,
    }
}

/// The plan that the model of the test expects to count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Latest {
    id: u8,
    text: u8,
    state: Expected,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    Pending,
    Approved,
    /// Rejected, expired, edited or removed.
    Closed,
}

#[derive(Debug, Default)]
struct World {
    files: BTreeMap<u8, Request>,
    latest: Option<Latest>,
}

impl World {
    fn take(&mut self, step: &Step) {
        match *step {
            Step::Submit { id, text } => {
                self.files.insert(id, submit(id, text));
                let state = Expected::Pending;
                self.latest = Some(Latest { id, text, state });
            }
            Step::Decide { id, by, approve } => {
                if let Some(request) = self.files.get_mut(&id) {
                    *request = decide(request, decider(by), approve);
                }
                if by < 2 {
                    let decided = if approve {
                        Expected::Approved
                    } else {
                        Expected::Closed
                    };
                    self.expect(id, |state| match state {
                        Expected::Pending => decided,
                        Expected::Approved | Expected::Closed => state,
                    });
                }
            }
            Step::Expire(id) => {
                if let Some(request) = self.files.get_mut(&id)
                    && let Ok(expired) = expire(request, ExpireReason::Superseded, now())
                {
                    *request = expired;
                }
                self.expect(id, |state| match state {
                    Expected::Pending | Expected::Closed => Expected::Closed,
                    Expected::Approved => Expected::Approved,
                });
            }
            Step::Edit { id, with_hash } => {
                if let Some(request) = self.files.get_mut(&id)
                    && let Subject::Plan {
                        plan,
                        plan_hash: stored,
                    } = &mut request.subject
                {
                    plan.push_str(", and more");
                    if with_hash {
                        *stored = plan_hash(plan);
                    }
                    self.expect(id, |_| Expected::Closed);
                }
            }
            Step::Remove(id) => {
                self.files.remove(&id);
                self.expect(id, |_| Expected::Closed);
            }
        }
    }

    /// Changes what is expected if `id` is the latest plan.
    fn expect(&mut self, id: u8, change: impl Fn(Expected) -> Expected) {
        if let Some(latest) = self.latest.as_mut().filter(|latest| latest.id == id) {
            latest.state = change(latest.state);
        }
    }

    fn gate(&self) -> PlanGate {
        let latest = self.latest.map(|latest| {
            (
                id(latest.id),
                plan_hash(&latest.text.to_string()),
                self.files.get(&latest.id),
            )
        });
        let submitted = latest
            .as_ref()
            .map(|(request_id, plan_hash, file)| SubmittedPlan {
                request_id,
                plan_hash,
                file: file.map_or(PlanFile::Missing, PlanFile::Found),
            });
        PlanGate::new(&PlanFacts {
            required: Some(true),
            submitted,
        })
    }
}

proptest! {
    #[test]
    fn no_change_without_the_matching_approval(
        steps in prop::collection::vec(step(), 0..40),
    ) {
        let mut world = World::default();
        for step in steps {
            world.take(&step);
            let gate = world.gate();
            let open = world.latest.is_some_and(|latest| latest.state == Expected::Approved);
            prop_assert_eq!(gate.may_run("any_tool", Effect::Mutate, false).is_ok(), open);
            prop_assert!(gate.may_run("any_tool", Effect::Read, false).is_ok());
            let confined = gate.may_run("any_tool", Effect::Execute, true);
            prop_assert_eq!(confined == Ok(Permission::Unrestricted), open);
            let is_pending = world.latest.is_some_and(|latest| latest.state == Expected::Pending);
            prop_assert_eq!(matches!(gate, PlanGate::Pending { .. }), is_pending);
        }
    }
}
