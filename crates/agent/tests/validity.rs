//! Whatever is done to a valid conversation, it stays one.

use agent::{
    Carried, ClearingRules, Estimator, Limits, Plan, clear_results, plan_clearing, plan_compaction,
    turns_bytes,
};
use llm::{Block, Request, ToolResult, ToolUse, Turn};
use proptest::prelude::*;
use protocol::{KeptMessage, KeptMessages};

/// One step of a conversation.
#[derive(Clone, Debug)]
enum Step {
    /// A reply with this many tool uses, their results, and perhaps an injection.
    Tools {
        uses: usize,
        size: usize,
        read: bool,
        injected: bool,
    },
    /// A reply without tools, and the user's next message.
    Talk(usize),
    Clear,
    Summarise,
    Cut,
}

fn step() -> impl Strategy<Value = Step> {
    let tools = (1_usize..4, 0_usize..3_000, any::<bool>(), any::<bool>());
    prop_oneof![
        6 => tools.prop_map(|(uses, size, read, injected)| Step::Tools { uses, size, read, injected }),
        2 => (0_usize..2_000).prop_map(Step::Talk),
        2 => Just(Step::Clear),
        1 => Just(Step::Summarise),
        1 => Just(Step::Cut),
    ]
}

fn take(step: &Step, number: usize, turns: &mut Vec<Turn>, plan: &Plan, limits: &Limits) {
    match step {
        Step::Tools {
            uses,
            size,
            read,
            injected,
        } => {
            let name = if *read { "read_file" } else { "bash" };
            let ids: Vec<String> = (0..*uses).map(|at| format!("u{number}_{at}")).collect();
            let uses = ids
                .iter()
                .map(|id| Block::ToolUse(ToolUse::new(id, name, "")));
            turns.push(Turn::assistant(uses.collect()));
            let results = ids.iter().map(|id| ToolResult::ok(id, "ö".repeat(*size)));
            let mut answer = Turn::results(results);
            answer
                .blocks
                .extend(injected.then(|| Block::text(format!("mail {number}"))));
            turns.push(answer);
        }
        Step::Talk(size) => {
            turns.push(Turn::assistant(vec![Block::text("so it is".repeat(*size))]));
            turns.push(Turn::user(format!("question {number}")));
        }
        Step::Clear => {
            let rules = ClearingRules {
                limits,
                estimator: &Estimator::default(),
                is_kept: &|tool| tool == "read_file",
                records: "records",
            };
            let planned = plan_clearing(turns, turns_bytes(turns), &rules);
            let count = planned.len();
            assert_eq!(clear_results(turns, planned).len(), count);
        }
        Step::Summarise | Step::Cut => {
            let kept = kept(plan);
            let carried = Carried {
                kept: &kept,
                open_work: Some("task 7"),
                reminder: Some("all is well"),
                last_reminder: None,
                records: "records",
            };
            *turns = match step {
                Step::Summarise => plan.after(turns, "a summary", "archive", &carried),
                _ => plan.cut(turns, "archive", &carried),
            };
        }
    }
}

/// More words of the user than there is room for.
fn kept(plan: &Plan) -> KeptMessages {
    let message = |at: usize| KeptMessage {
        text: format!("{at} {}", "ö".repeat(900)),
        cut: None,
    };
    let mut kept = KeptMessages {
        messages: (0..20).map(message).collect(),
        left_out: 0,
    };
    plan.fit(&mut kept);
    kept
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn any_sequence_of_turns_cuts_and_injections_is_a_valid_request(
        steps in prop::collection::vec(step(), 1..40),
    ) {
        let limits = Limits { clear_at_least: 100, ..Limits::for_window(8_000) };
        let plan = Plan::new(&limits, &Estimator::default());
        let mut turns = vec![Turn::user("begin")];
        for (number, step) in steps.iter().enumerate() {
            take(step, number, &mut turns, &plan, &limits);
            let request = Request { turns: turns.clone(), max_tokens: 1, ..Request::default() };
            prop_assert_eq!(request.validate(), Ok(()), "after {:?}", step);
            let newest = turns.last().and_then(|turn| turn.blocks.last());
            prop_assert!(newest.is_some(), "the last turn says something");
            prop_assert!(plan.request(&turns, "?").validate().is_ok());
            if matches!(step, Step::Summarise | Step::Cut) {
                let due = plan_compaction(turns_bytes(&turns), 0, &limits, &Estimator::default());
                prop_assert!(due.is_none(), "a compacted conversation is short");
            }
        }
    }
}
