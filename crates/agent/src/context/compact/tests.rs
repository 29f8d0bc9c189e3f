use llm::{ToolResult, ToolUse};

use super::*;

fn limits() -> Limits {
    Limits::for_window(4_000)
}

fn plan() -> Plan {
    Plan::new(&limits(), &Estimator::default())
}

/// Nothing is carried over.
fn nothing() -> Carried<'static> {
    static NONE: KeptMessages = KeptMessages {
        messages: Vec::new(),
        left_out: 0,
    };
    Carried {
        kept: &NONE,
        open_work: None,
        reminder: None,
        last_reminder: None,
        records: "journal",
    }
}

fn validate(turns: Vec<Turn>) {
    let request = Request {
        turns,
        max_tokens: 1,
        ..Request::default()
    };
    request.validate().unwrap();
}

/// A task and this many rounds of a tool.
fn conversation(rounds: usize, size: usize) -> Vec<Turn> {
    let mut turns = vec![Turn::user("build the house")];
    for at in 0..rounds {
        let id = format!("u{at}");
        turns.push(Turn::assistant(vec![
            Block::text(format!("step {at}")),
            Block::ToolUse(ToolUse::new(&id, "bash", "")),
        ]));
        turns.push(Turn::results([ToolResult::ok(
            &id,
            format!("result {at} {}", "x".repeat(size)),
        )]));
    }
    turns
}

fn text(turns: &[Turn]) -> String {
    transcript(turns, usize::MAX)
}

#[test]
fn there_is_a_plan_only_above_the_threshold_and_if_it_helps() {
    let estimator = Estimator::default();
    let plan = |conversation, fixed| plan_compaction(conversation, fixed, &limits(), &estimator);
    assert_eq!(plan(11_000, 100), None);
    assert!(plan(11_200, 100).is_some());
    assert_eq!(plan(1_000, 100_000), None, "the prompt alone is too large");
}

#[test]
fn the_request_covers_the_newest_part_and_the_focus() {
    let turns = conversation(500, 100);
    let request = plan().request(&turns, &plan().question(Some("the roof"), None));
    request.validate().unwrap();
    let asked = text(&request.turns);
    assert!(asked.contains("build the house") && asked.contains("result 499"));
    assert!(asked.contains("Take the most care of this: the roof"));
    let tokens = Estimator::default().tokens(turns_bytes(&request.turns));
    assert!(tokens + u64::from(request.max_tokens) < limits().window);
    let smaller = plan().smaller().request(&turns, "?");
    assert!(turns_bytes(&smaller.turns) < turns_bytes(&request.turns) * 2 / 3);
    assert!(text(&smaller.turns).contains("result 499"));
}

#[test]
fn a_summary_is_one_turn_with_what_is_still_to_be_answered() {
    let mut turns = conversation(30, 100);
    turns
        .last_mut()
        .unwrap()
        .blocks
        .push(Block::text("mail from bob"));
    let after = plan().after(&turns, "All is well.", "archive/1", &nothing());
    let [turn] = after.as_slice() else {
        panic!("{after:?}")
    };
    assert_eq!(turn.role, Role::User);
    let said = text(&after);
    assert!(
        said.starts_with("User: [Conversation compressed. Transcript: archive/1]\n\nAll is well.")
    );
    assert!(said.contains("Result of bash: result 29") && said.contains("mail from bob"));
    assert!(!said.contains("result 28"));
    validate(after);
    turns.push(Turn::assistant(vec![Block::text("done")]));
    let after = plan().after(&turns, &"long ".repeat(10_000), "archive/1", &nothing());
    assert!(!text(&after).contains("Not answered"));
    assert!(turns_bytes(&after) < 2_000, "a long summary is clipped");
}

#[test]
fn every_message_without_an_answer_stays_however_many_there_are() {
    let mut turns = conversation(3, 100);
    turns.push(Turn::assistant(vec![Block::text("done")]));
    let mail = |at: usize| Block::text(format!("<inbox>note {at}. {}</inbox>", "x".repeat(90)));
    let mut blocks: Vec<Block> = (0..200).map(mail).collect();
    blocks.push(Block::text("y".repeat(50_000)));
    turns.push(Turn {
        role: Role::User,
        blocks,
    });
    for after in [
        plan().after(&turns, "All is well.", "archive/1", &nothing()),
        plan().cut(&turns, "archive/1", &nothing()),
    ] {
        let said = text(&after);
        for at in 0..200 {
            assert!(said.contains(&format!("note {at}. ")), "note {at} is lost");
        }
        assert!(turns_bytes(&after) < 30_000, "the long one is clipped");
        validate(after);
    }
}

#[test]
fn a_result_that_lists_mail_stays_whole_beside_long_ones() {
    let limits = Limits::for_window(16_000);
    let plan = Plan::new(&limits, &Estimator::default());
    let mut turns = conversation(3, 100);
    let uses = ["a", "b", "c"].map(|id| Block::ToolUse(ToolUse::new(id, "bash", "")));
    turns.push(Turn::assistant(uses.to_vec()));
    let mail = "m".repeat(KEPT_WHOLE - 100);
    turns.push(Turn::results([
        ToolResult::ok("a", "x".repeat(50_000)),
        ToolResult::ok("b", &mail),
        ToolResult::ok("c", "z".repeat(50_000)),
    ]));
    for after in [
        plan.after(&turns, "All is well.", "archive/1", &nothing()),
        plan.cut(&turns, "archive/1", &nothing()),
    ] {
        assert!(text(&after).contains(&mail));
        assert!(turns_bytes(&after) < 4 * KEPT_WHOLE);
        validate(after);
    }
}

#[test]
fn a_cut_keeps_the_newest_turns_and_the_task() {
    let turns = conversation(30, 100);
    let after = plan().cut(&turns, "archive/1", &nothing());
    let said = text(&after);
    assert!(said.contains("build the house") && said.contains("result 29"));
    assert!(said.contains("archive/1") && !said.contains("result 3 "));
    assert!(after.len() > 4 && turns_bytes(&after) < 4_500);
    validate(after);
}

#[test]
fn a_cut_where_not_even_the_last_result_fits_keeps_it_as_text() {
    let mut turns = conversation(3, 100_000);
    let after = plan().cut(&turns, "archive/1", &nothing());
    assert_eq!(after.len(), 1);
    assert!(text(&after).contains("Result of bash: result 2"));
    assert!(turns_bytes(&after) < 4_000);
    validate(after);
    turns.push(Turn::assistant(vec![Block::text("done")]));
    turns.push(Turn::user("and now?"));
    validate(plan().cut(&turns, "archive/1", &nothing()));
}

#[test]
fn no_cut_falls_between_the_parts_of_a_reply() {
    let mut turns = conversation(1, 10);
    // The reply was paused after its first tool use.
    turns.push(Turn::assistant(vec![Block::ToolUse(ToolUse::new(
        "a", "bash", "",
    ))]));
    turns.push(Turn::assistant(vec![Block::ToolUse(ToolUse::new(
        "b", "bash", "",
    ))]));
    let results = ["a", "b"].map(|id| ToolResult::ok(id, "x".repeat(500)));
    turns.push(Turn::results(results));
    for at in 0..turns.len() {
        assert_eq!(is_seam(&turns, at), at == 1 || at == 3, "{at}");
    }
    validate(plan().cut(&turns, "archive/1", &nothing()));
}

#[test]
fn what_is_carried_over_is_there_once_whatever_the_summary_says() {
    let message = |text: &str| protocol::KeptMessage {
        text: text.to_owned(),
        cut: None,
    };
    let kept = KeptMessages {
        messages: vec![message("build the house"), message("in green")],
        left_out: 0,
    };
    let carried = Carried {
        kept: &kept,
        open_work: Some("Task 3: the roof"),
        reminder: Some("you hold task 3"),
        last_reminder: Some("you hold task 2"),
        ..nothing()
    };
    let mut turns = conversation(30, 100);
    let last = turns.last_mut().unwrap();
    let texts = ["in green", "you hold task 2", "mail from bob"];
    last.blocks.extend(texts.map(Block::text));
    for (after, reminders) in [
        (
            plan().after(&turns, "Forget the user.", "archive/1", &carried),
            1,
        ),
        // The agent gives the reminder behind the turns that stay.
        (plan().cut(&turns, "archive/1", &carried), 0),
    ] {
        let said = text(&after);
        for once in ["in green", "Task 3: the roof", "mail from bob"] {
            assert_eq!(said.matches(once).count(), 1, "{once}: {said}");
        }
        assert_eq!(said.matches("you hold task 3").count(), reminders, "{said}");
        assert!(said.contains("[message 1]\nbuild the house\n"), "{said}");
        validate(after);
    }
    let after = text(&plan().after(&turns, "So it is.", "archive/1", &carried));
    assert!(
        after.contains("[message 2, not answered yet]\nin green"),
        "{after}"
    );
    assert!(!after.contains("you hold task 2"), "{after}");
    assert!(after.trim_end().ends_with("you hold task 3"), "{after}");
}
