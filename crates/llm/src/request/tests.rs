use serde_json::{Value, json};

use super::*;
use crate::conversation::{ToolResult, ToolUse};

fn tool_use(id: &str) -> Block {
    Block::ToolUse(ToolUse::new(id, "bash", "{}"))
}

fn result(id: &str) -> Block {
    Block::ToolResult(ToolResult::ok(id, "done"))
}

fn user(blocks: Vec<Block>) -> Turn {
    Turn {
        role: Role::User,
        blocks,
    }
}

fn request(turns: Vec<Turn>) -> Request {
    Request {
        turns,
        max_tokens: 10,
        ..Request::default()
    }
}

fn check(turns: Vec<Turn>, expected: Result<(), RequestError>) {
    assert_eq!(request(turns).validate(), expected);
}

#[test]
fn a_tool_turn_and_its_results_are_fine() {
    check(
        vec![
            Turn::user("go"),
            Turn::assistant(vec![tool_use("a"), tool_use("b")]),
            user(vec![result("b"), result("a")]),
        ],
        Ok(()),
    );
}

#[test]
fn every_use_needs_exactly_one_result() {
    let with = |results: Vec<Block>| {
        vec![
            Turn::user("go"),
            Turn::assistant(vec![tool_use("a"), tool_use("b")]),
            user(results),
        ]
    };
    check(
        with(vec![result("a"), Block::text("b?")]),
        Err(RequestError::MissingResult("b".into())),
    );
    check(
        with(vec![result("a"), result("b"), result("a")]),
        Err(RequestError::DuplicateResult("a".into())),
    );
    check(
        with(vec![result("a"), result("b"), result("c")]),
        Err(RequestError::StrayResult("c".into())),
    );
    check(
        vec![user(vec![result("a")])],
        Err(RequestError::StrayResult("a".into())),
    );
    check(
        vec![
            Turn::user("go"),
            Turn::assistant(vec![tool_use("a"), tool_use("a")]),
            user(vec![result("a")]),
        ],
        Err(RequestError::DuplicateUse("a".into())),
    );
}

#[test]
fn an_id_may_come_again_in_a_later_turn() {
    let round = || {
        [
            Turn::assistant(vec![tool_use("call_0")]),
            user(vec![result("call_0")]),
        ]
    };
    let turns = [Turn::user("go")].into_iter().chain(round()).chain(round());
    check(turns.collect(), Ok(()));
}

#[test]
fn the_user_speaks_first_and_last() {
    check(vec![], Err(RequestError::Empty));
    check(vec![Turn::user("  \n")], Err(RequestError::Empty));
    let said = Turn::assistant(vec![Block::text("hi")]);
    check(
        vec![said.clone(), Turn::user("go")],
        Err(RequestError::StartsWithAssistant),
    );
    check(
        vec![Turn::user("go"), said.clone()],
        Err(RequestError::EndsWithAssistant),
    );
    let mut paused = request(vec![Turn::user("go"), said]);
    paused.resume = true;
    assert_eq!(paused.validate(), Ok(()));
}

#[test]
fn blocks_stay_on_their_side() {
    check(
        vec![user(vec![tool_use("a")])],
        Err(RequestError::WrongRole {
            kind: "tool use",
            role: Role::User,
        }),
    );
    check(
        vec![Turn::user("go"), Turn::assistant(vec![result("a")])],
        Err(RequestError::WrongRole {
            kind: "tool result",
            role: Role::Assistant,
        }),
    );
}

#[test]
fn what_is_sent_is_merged_sorted_and_without_blanks() {
    let request = request(vec![
        Turn::user("go"),
        Turn::user(""),
        Turn::assistant(vec![Block::text(""), tool_use("a")]),
        Turn::user("mail came"),
        user(vec![result("a")]),
        Turn::assistant(vec![]),
        Turn::user("more"),
    ]);
    let view = request.view(|_| true).unwrap();
    let (go, call, mail) = (Block::text("go"), tool_use("a"), Block::text("mail came"));
    let (done, more) = (result("a"), Block::text("more"));
    let turn = |role, blocks| TurnView { role, blocks };
    assert_eq!(
        view,
        [
            turn(Role::User, vec![&go]),
            turn(Role::Assistant, vec![&call]),
            turn(Role::User, vec![&done, &mail, &more]),
        ]
    );
}

#[test]
fn a_thought_needs_something_behind_it() {
    let thought = Block::Thinking {
        text: "hm".into(),
        signature: Some("s".into()),
    };
    let said = Block::text("said");
    let mut request = request(vec![
        Turn::user("go"),
        Turn::assistant(vec![thought.clone()]),
        Turn::user("well?"),
        Turn::assistant(vec![thought.clone(), said.clone(), thought.clone()]),
    ]);
    request.resume = true;
    let (go, well) = (Block::text("go"), Block::text("well?"));
    let turn = |role, blocks| TurnView { role, blocks };
    let paused = turn(Role::Assistant, vec![&thought, &said, &thought]);
    assert_eq!(
        request.view(|_| true).unwrap(),
        [turn(Role::User, vec![&go, &well]), paused]
    );
    request.turns.push(Turn::user("and?"));
    assert_eq!(
        request.view(|_| true).unwrap()[1],
        turn(Role::Assistant, vec![&thought, &said])
    );
}

#[test]
fn tools_are_checked() {
    let with = |name: &str, schema: Value| {
        let mut request = request(vec![Turn::user("go")]);
        request.tools.push(ToolSpec {
            name: name.into(),
            description: String::new(),
            input_schema: schema.into(),
        });
        request
    };
    let object = json!({"type": "object"});
    assert_eq!(with("read_file", object.clone()).validate(), Ok(()));
    assert_eq!(
        with("read file", object.clone()).validate(),
        Err(RequestError::ToolName("read file".into()))
    );
    assert_eq!(
        with("bash", json!({"type": "string"})).validate(),
        Err(RequestError::ToolSchema("bash".into()))
    );
    assert_eq!(
        with("bash", json!({"properties": {}})).validate(),
        Err(RequestError::ToolSchema("bash".into()))
    );
    let mut twice = with("bash", object);
    twice.tools.push(twice.tools[0].clone());
    assert_eq!(twice.validate(), Err(RequestError::ToolName("bash".into())));
}

#[test]
fn a_reply_needs_tokens() {
    let mut request = request(vec![Turn::user("go")]);
    request.max_tokens = 0;
    assert_eq!(request.validate(), Err(RequestError::NoTokens));
}
