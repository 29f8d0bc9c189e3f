//! Reading many files, and what compaction leaves of the conversation.

use llm::{ToolResult, Turn};
use serde_json::{Value, json};

use crate::harness::{Agent, Reply, message};

const ORDER: &str = "Read every Rust file in crates/ one by one";

fn files(count: usize) -> Vec<String> {
    (0..count)
        .map(|number| format!("crates/part{number:03}/src/lib_with_a_long_name.rs"))
        .collect()
}

/// Lets the agent read; `after` may change the conversation after each result.
fn read(
    agent: &mut Agent,
    files: &[String],
    after: impl Fn(&mut Agent, usize),
) -> (Vec<String>, usize, String) {
    let (mut read, mut lists) = (Vec::new(), 0);
    for round in 0.. {
        assert!(round < 10 * files.len(), "endless");
        match agent.step() {
            Reply::Text(text) => return (read, lists, text),
            Reply::Call { id, tool, input } if tool == "bash" => {
                assert!(
                    input["command"]
                        .as_str()
                        .expect("a text")
                        .starts_with("find 'crates/' -type f -name '*.rs'")
                );
                lists += 1;
                agent.answer(ToolResult::ok(id, files.join("\n")));
            }
            Reply::Call { id, tool, input } => {
                assert_eq!(tool, "read_file");
                read.push(input["path"].as_str().expect("a text").to_owned());
                agent.answer(ToolResult::ok(id, "fn main() {}\n".repeat(50)));
            }
        }
        after(agent, round);
    }
    unreachable!()
}

#[test]
fn each_file_is_read_once() {
    let files = files(60);
    let mut lead = Agent::lead();
    lead.user_says(ORDER);
    let (read, lists, text) = read(&mut lead, &files, |_, _| {});
    assert_eq!((read, lists), (files, 1));
    assert_eq!(text, "I read 60 files in crates/, one by one.");
}

#[test]
fn a_list_that_was_cleared_is_made_again() {
    let files = files(20);
    let mut lead = Agent::lead();
    lead.user_says(ORDER);
    let (read, lists, text) = read(&mut lead, &files, |agent, _| agent.clear_old_results(3));
    assert_eq!(read, files);
    assert!(lists > 1 && lists < 10, "{lists}");
    assert!(text.contains("I read 20 files"), "{text}");
}

#[test]
fn a_kind_of_files_is_a_language_or_an_ending() {
    for (kind, pattern) in [
        ("the Python", "'*.py'"),
        ("toml", "'*.toml'"),
        ("the", "'*'"),
    ] {
        let mut lead = Agent::lead();
        lead.user_says(&format!("Read all {kind} files under src"));
        let (calls, _) = lead.turn();
        let command = calls[0].1["command"].as_str().expect("a text");
        let expected = format!("find 'src' -type f -name {pattern} -not");
        assert!(command.starts_with(&expected), "{command}");
    }
}

/// The summary that the model itself gives of a conversation, asked for behind it.
fn summary(agent: &Agent) -> String {
    let mut request = agent.request.clone();
    let question = llm::Block::text("<summary-request>\nSummarise.\n</summary-request>");
    match request.turns.last_mut() {
        Some(turn) if turn.role == llm::Role::User => turn.blocks.push(question),
        _ => request.turns.push(Turn {
            role: llm::Role::User,
            blocks: vec![question],
        }),
    }
    offline::OfflineModel.reply(&request).text()
}

#[test]
fn a_summary_of_its_own_lets_it_go_on() {
    let files = files(20);
    let mut lead = Agent::lead();
    lead.user_says(ORDER);
    let (read, lists, text) = read(&mut lead, &files, |agent, round| {
        if round % 6 == 5 {
            let text = format!(
                "[Conversation compressed. Transcript: t.jsonl]\n\n{}",
                summary(agent)
            );
            agent.request.turns = vec![Turn::user(text)];
        }
    });
    assert_eq!((read, lists), (files, 1));
    assert!(text.contains("I read 20 files"), "{text}");
}

#[test]
fn an_unanswered_instruction_is_taken_up_once() {
    let mut lead = Agent::lead();
    lead.user_says("Run ls");
    let text = summary(&lead);
    lead.request.turns = vec![Turn::user(format!(
        "[Conversation compressed. Transcript: t]\n\n{text}"
    ))];
    lead.user_says("Not answered yet:\n\nUser: Run ls\n\n");
    let again = summary(&lead);
    assert_eq!(again, text);
    assert_eq!(lead.turn().0.len(), 1);
    let mut lead = Agent::lead();
    lead.user_says("[Conversation compressed. Transcript: t]\n\nAll is well.");
    lead.user_says("Not answered yet:\n\nUser: Run ls\n\n");
    assert_eq!(lead.turn().0.len(), 1);
}

#[test]
fn a_summary_of_its_own_keeps_mail_and_waits() {
    let mut lead = Agent::lead();
    lead.user_says("Ask alice to run ls, then read a.txt");
    lead.turn();
    let text = summary(&lead);
    lead.request.turns = vec![Turn::user(format!("[Conversation compressed.]\n{text}"))];
    lead.mail(json!([message("idle_notification", "alice", "ok")]));
    let (calls, _) = lead.turn();
    assert_eq!(calls, [("read_file".to_owned(), json!({"path": "a.txt"}))]);
}

#[test]
fn a_summary_of_another_model_starts_nothing() {
    for order in [ORDER, "Spawn alice"] {
        let mut lead = Agent::lead();
        lead.user_says(&format!(
            "[Conversation compressed. Transcript: t]\n\nThe user asked: {order}"
        ));
        assert!(lead.turn().0.is_empty());
    }
}

#[test]
fn a_list_that_stays_lost_ends_the_reading() {
    let mut lead = Agent::lead();
    lead.user_says(ORDER);
    let lost = |_: &str, _: &Value| Some(Ok("[Previous: used bash]".to_owned()));
    let (calls, text) = lead.turn_with(lost);
    assert_eq!(calls.len(), 2);
    assert!(text.contains("lost twice"), "{text}");
}
