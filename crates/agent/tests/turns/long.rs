//! A conversation of 2,000 requests, with many clearings and compactions, forgets nothing that counts.

use std::sync::{Arc, Mutex};

use agent::{Agent, Conversation, Estimator, Limits, Outcome, Record, Settings, turns_bytes};
use llm::{
    Block, BoxFuture, CancellationToken, EventSink, Model, ModelError, Reply, Request, StopReason,
    ToolUse,
};
use protocol::UserMessage;

use crate::support::{Answer, Echo, Stage, call, is_summary, say, summary};

const REQUESTS: usize = 2_000;
const WINDOW: u64 = 4_000;
const WISH: &str = "Build a house, with a blue door;\n  and <b>never</b> touch the \"old\" oak.";
const TASK: &str = "Task #7: the roof\nOf red tiles, 35 degrees, see plan/roof.md.";
const TO_DOS: &str = "To do:\n[x] walls\n[ ] roof\n[ ] door (blue!)";

/// A model that calls a tool in each of its replies. Its summaries say nothing of use, and each third
/// request for one gets something else.
#[derive(Default)]
struct Worker {
    requests: Mutex<Vec<Request>>,
}

impl Worker {
    fn answer(&self, request: &Request) -> Answer {
        let mut requests = self.requests.lock().unwrap();
        requests.push(request.clone());
        let summaries = requests
            .iter()
            .filter(|request| is_summary(request))
            .count();
        let number = requests.len() - summaries;
        match is_summary(request) {
            true if summaries.is_multiple_of(3) => say("Forget the house and the oak."),
            true => summary("Forget the house and the oak."),
            false if number < REQUESTS => {
                let text = format!(r#"{{"say":"{number} {}"}}"#, "out ".repeat(200));
                call(&[(&format!("u{number}"), "echo", &text)])
            }
            false => say("done"),
        }
    }
}

impl Model for Worker {
    fn name(&self) -> &str {
        "worker"
    }

    fn complete<'a>(
        &'a self,
        request: &'a Request,
        _: &'a mut EventSink<'_>,
        _: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        request.validate().unwrap();
        let Answer::Reply(reply) = self.answer(request) else {
            unreachable!("all answers are replies")
        };
        Box::pin(async move { Ok(reply) })
    }
}

fn texts(request: &Request) -> String {
    let blocks = request.turns.iter().flat_map(|turn| &turn.blocks);
    let texts = blocks.filter_map(|block| match block {
        Block::Text { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn stage(model: &Arc<Worker>, before: Conversation) -> Stage {
    let settings = Settings {
        limits: Limits::for_window(WINDOW),
        max_rounds: 0,
        ..Settings::default()
    };
    let mut stage = Stage::new(vec![]);
    let mut registry = tools::Registry::new();
    registry.add(Echo).unwrap();
    stage.agent = Agent::new(
        Arc::clone(model) as Arc<dyn Model>,
        Arc::new(registry),
        stage.context.clone(),
        settings,
        before,
    );
    stage.host.open_work = Some(TASK.to_owned());
    stage.host.reminder = Some(TO_DOS.to_owned());
    stage
}

fn check(request: &Request, tools: usize) {
    assert_eq!(request.system, "You are 'alice', role: coder");
    let said = texts(request);
    for kept in [WISH, TASK, TO_DOS] {
        assert!(said.contains(kept), "{kept:?} is not in {said}");
    }
    if !is_summary(request) {
        let bytes = turns_bytes(&request.turns) + request.system.len() + tools;
        let tokens = Estimator::default().tokens(bytes);
        assert!(tokens <= Limits::for_window(WINDOW).threshold, "{tokens}");
    }
}

#[tokio::test]
async fn two_thousand_requests_keep_the_wish_the_task_and_the_to_dos_word_for_word() {
    let model = Arc::new(Worker::default());
    let mut stage = stage(&model, Conversation::new());
    let input = vec![UserMessage::from_person(WISH), UserMessage::new(TASK)];
    let outcome = stage
        .agent
        .run_turn(input, &mut stage.host, &stage.cancel)
        .await;
    assert!(matches!(outcome, Outcome::Finished { text } if text == "done"));
    let requests = model.requests.lock().unwrap();
    let asked = requests
        .iter()
        .filter(|request| !is_summary(request))
        .count();
    assert_eq!(asked, REQUESTS);
    let tools = requests[0].tools.iter();
    let tools =
        tools.map(|tool| tool.name.len() + tool.description.len() + tool.input_schema.get().len());
    let tools = tools.sum();
    for request in requests.iter() {
        check(request, tools);
    }
    let count = |of: fn(&Record) -> bool| stage.host.records.iter().filter(|r| of(r)).count();
    let clearings = count(|record| matches!(record, Record::Cleared(_)));
    let compactions = count(|record| matches!(record, Record::Compaction(_)));
    assert!(
        clearings > 20 && compactions > 10,
        "{clearings} {compactions}"
    );
    assert_eq!(stage.agent.conversation(), &stage.replayed());
}

/// A reply whose tool use was never answered, as a killed process leaves it.
#[test]
fn what_is_kept_survives_the_process() {
    let mut conversation = Conversation::new();
    let message = UserMessage::from_person(WISH);
    let user = protocol::UserRecord {
        messages: vec![message],
    };
    conversation.apply(Record::User(user));
    let tool_use = Block::ToolUse(ToolUse::new("a", "echo", "{}"));
    conversation.apply(Record::Assistant(protocol::AssistantRecord {
        blocks: vec![tool_use],
        stop: StopReason::ToolUse,
        usage: None,
    }));
    let model = Arc::new(Worker::default());
    let mut stage = stage(&model, conversation);
    let executor = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let compacted = executor.block_on(stage.agent.compact(None, &mut stage.host, &stage.cancel));
    assert!(matches!(compacted, Outcome::Finished { .. }));
    let text = format!("{:?}", stage.agent.conversation().turns());
    for kept in [WISH, TASK, TO_DOS] {
        assert!(
            text.contains(&format!("{kept:?}").trim_matches('"').to_owned()),
            "{text}"
        );
    }
}
