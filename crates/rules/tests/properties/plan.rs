//! No tool that changes something runs without the approval of exactly the latest plan.

use proptest::prelude::*;
use protocol::RequestId;
use rules::{Decision, MUTATING_TOOLS, PlanGate, plan_hash};

#[derive(Debug, Clone)]
enum Step {
    Submit(u8, u8),
    Decide(u8, u8, bool),
    Expire(u8),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0..3_u8, 0..3_u8).prop_map(|(id, text)| Step::Submit(id, text)),
        (0..3_u8, 0..3_u8, any::<bool>()).prop_map(|(id, text, yes)| Step::Decide(id, text, yes)),
        (0..3_u8).prop_map(Step::Expire),
    ]
}

fn id(number: u8) -> RequestId {
    RequestId::new(&format!("plan{number}")).expect("a valid id")
}

proptest! {
    #[test]
    fn no_change_without_the_matching_approval(
        steps in prop::collection::vec(step(), 0..40),
    ) {
        let mut gate = PlanGate::new(true);
        // The latest submission, and whether it was approved, or `None` if it came to nothing.
        let mut latest: Option<(u8, u8, bool)> = None;
        for step in steps {
            match step {
                Step::Submit(number, text) => {
                    gate.submit(id(number), plan_hash(&text.to_string()));
                    latest = Some((number, text, false));
                }
                Step::Decide(number, text, approve) => {
                    let fits = latest == Some((number, text, false));
                    let decided = gate.decide(&Decision {
                        request_id: id(number),
                        plan_hash: plan_hash(&text.to_string()),
                        approve,
                        feedback: String::new(),
                    });
                    prop_assert_eq!(decided.is_ok(), fits);
                    if fits {
                        latest = approve.then_some((number, text, true));
                    }
                }
                Step::Expire(number) => {
                    gate.expire(&id(number));
                    latest = latest.filter(|(id, _, approved)| *approved || *id != number);
                }
            }
            let open = matches!(latest, Some((_, _, true)));
            for tool in MUTATING_TOOLS {
                prop_assert_eq!(gate.may_run(tool).is_ok(), open);
            }
            prop_assert!(gate.may_run("read_file").is_ok());
        }
    }
}
