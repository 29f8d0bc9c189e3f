//! The end of a background command is reported once.

use std::collections::BTreeMap;
use std::sync::Arc;

use agent::{Agent, Conversation, Outcome, Record, Settings};
use llm::Model;
use protocol::MessageSource;
use tools::{Background, Effect, Registry, Tool, ToolContext, ToolError, ToolOutput};

use crate::support::{Stage, call, last_blocks, say};

impl Stage {
    fn with_background(mut self, background: &Background) -> Self {
        self.agent = self.agent.with_background(background.clone());
        self
    }
}

#[tokio::test]
async fn a_finished_command_wakes_an_idle_agent_once() {
    let background = Background::new();
    let mut stage = Stage::new(vec![say("noted")]).with_background(&background);
    let id = background.start("echo built", 10, &stage.context).unwrap();
    background.finished().await;
    let run = stage
        .agent
        .run_turn(vec![], &mut stage.host, &stage.cancel)
        .await;
    assert!(matches!(run, Outcome::Finished { text } if text == "noted"));
    let told = last_blocks(&stage.model.asked()[0]);
    let expected =
        format!("<background-results>\n[bg:{id}] completed: built\n</background-results>");
    assert_eq!(told, [expected]);
    let run = stage
        .agent
        .run_turn(vec![], &mut stage.host, &stage.cancel)
        .await;
    assert!(matches!(run, Outcome::Finished { text } if text.is_empty()));
}

#[tokio::test]
async fn a_command_that_was_lost_waits_for_the_next_turn() {
    let mut stage = Stage::new(vec![say("noted"), say("yes")]);
    let lost = ["00c0ffee".to_owned()];
    stage.agent = stage.agent.with_lost_commands(&lost);
    assert!(stage.model.asked().is_empty());
    assert_eq!(stage.finish("hello").await, "noted");
    let text = "[bg:00c0ffee] stopped: it ended with the process that ran it";
    let expected = format!("<background-results>\n{text}\n</background-results>");
    assert_eq!(last_blocks(&stage.model.asked()[0]), ["hello", &expected]);
    let Record::User(given) = &stage.host.records[0] else {
        panic!("{:?}", stage.host.records);
    };
    let source = MessageSource::Commands(lost.to_vec());
    assert_eq!(given.messages[1].source, Some(source));
    // It is reported once.
    stage.finish("again").await;
    assert_eq!(last_blocks(&stage.model.asked()[1]), ["again"]);
}

/// Lets a background command end, and waits until it has.
struct Await(Background);

impl Tool for Await {
    const NAME: &'static str = "await";
    const DESCRIPTION: &'static str = "Waits for the background.";
    const EFFECT: Effect = Effect::State;
    type Args = BTreeMap<String, String>;

    async fn call(&self, _: Self::Args, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        std::fs::create_dir(context.workspace.root().join("go")).unwrap();
        self.0.finished().await;
        Ok(ToolOutput::ok("waited"))
    }
}

#[tokio::test]
async fn a_command_that_ends_while_the_model_is_busy_is_reported_behind_the_results() {
    let background = Background::new();
    let mut stage = Stage::new(vec![call(&[("a", "await", "")]), say("done")]);
    let mut registry = Registry::new();
    registry.add(Await(background.clone())).unwrap();
    stage.agent = Agent::new(
        Arc::clone(&stage.model) as Arc<dyn Model>,
        Arc::new(registry),
        stage.context.clone(),
        Settings::default(),
        Conversation::new(),
    );
    let mut stage = stage.with_background(&background);
    let command = "until [ -e go ]; do sleep 0.01; done";
    background.start(command, 10, &stage.context).unwrap();
    stage.finish("go").await;
    let told = last_blocks(&stage.model.asked()[1]);
    assert_eq!(told.len(), 2);
    assert_eq!(told[0], "result: waited");
    assert!(told[1].starts_with("<background-results>"), "{told:?}");
}

#[tokio::test]
async fn a_completion_that_could_not_be_recorded_is_reported_later() {
    let background = Background::new();
    let mut stage = Stage::new(vec![say("noted")]).with_background(&background);
    background.start("true", 10, &stage.context).unwrap();
    background.finished().await;
    stage.host.room = Some(0);
    let run = stage
        .agent
        .run_turn(vec![], &mut stage.host, &stage.cancel)
        .await;
    assert!(matches!(run, Outcome::Failed { .. }));
    stage.host.room = None;
    let run = stage
        .agent
        .run_turn(vec![], &mut stage.host, &stage.cancel)
        .await;
    assert!(matches!(run, Outcome::Finished { text } if text == "noted"));
}
