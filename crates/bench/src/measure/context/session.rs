//! A session of an agent that reads, searches, edits and tests, as a good model does it.

use agent::{
    Agent, Conversation, Host, Limits, Log, LogError, Outcome, Prompt, Record, Settings, Sources,
};
use anyhow::bail;
use llm::{CancellationToken, Model, ToolSpec};
use protocol::{MessageSource, UserMessage};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use test_support::llm_server::{CapturedRequest, ServerReply};
use tools::{Effect, OutputFolder, Registry, Tool, ToolContext, ToolError, ToolOutput, Workspace};

/// The size of the model's window in tokens.
pub(super) const WINDOW: u64 = 200_000;
/// After so many requests the model ends its turn, and a person or a colleague says something new.
const TURN: usize = 20;
/// The sizes of the results, in bytes: two of three are files, the others commands and searches.
const SIZES: [usize; 12] = [
    6_400, 2_400, 8_000, 9_600, 1_200, 4_800, 5_600, 3_200, 7_200, 12_000, 600, 4_000,
];

/// What happened, for those who replay it.
pub(super) struct Recorded {
    pub(super) system: String,
    pub(super) tools: Vec<ToolSpec>,
    pub(super) records: Vec<Record>,
    /// The reminders, in the order in which they were made.
    pub(super) reminders: Vec<String>,
}

/// The model.
pub(super) struct Script {
    requests: usize,
    asked: AtomicUsize,
}

impl Script {
    pub(super) const fn new(requests: usize) -> Self {
        Self {
            requests,
            asked: AtomicUsize::new(0),
        }
    }

    pub(super) fn answer(&self, request: &CapturedRequest) -> ServerReply {
        if request.asks_for_summary() {
            return ServerReply::summary(&"The parser is mended, its tests pass. ".repeat(40));
        }
        let number = self.asked.fetch_add(1, Ordering::SeqCst) + 1;
        if number.is_multiple_of(TURN) || number == self.requests {
            return ServerReply::text(&"This part is done: the tests pass. ".repeat(10));
        }
        let name = match number % 3 {
            0 => "bash",
            _ => "read_file",
        };
        let path = format!("crates/parser/src/part_{number}.rs");
        let bytes = SIZES[number % SIZES.len()];
        ServerReply::text("Next I look at what depends on it.")
            .call(name, json!({"path": path, "bytes": bytes}))
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    path: String,
    bytes: usize,
}

/// A text of this length that no other call gives.
fn text(args: &Args) -> ToolOutput {
    let line = format!("let value = compute(&{}, input)?;\n", args.path);
    let mut text = line.repeat(args.bytes / line.len() + 1);
    text.truncate(args.bytes);
    ToolOutput::ok(text)
}

struct Read;

impl Tool for Read {
    const NAME: &'static str = "read_file";
    const DESCRIPTION: &'static str = "Reads a file.";
    const EFFECT: Effect = Effect::Read;
    type Args = Args;

    async fn call(&self, args: Args, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        Ok(text(&args))
    }
}

struct Shell;

impl Tool for Shell {
    const NAME: &'static str = "bash";
    const DESCRIPTION: &'static str = "Runs a command.";
    const EFFECT: Effect = Effect::Mutate;
    type Args = Args;

    async fn call(&self, args: Args, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        Ok(text(&args))
    }
}

/// The program around the agent.
struct Member {
    system: String,
    records: Vec<Record>,
    reminders: Vec<String>,
}

impl Log for Member {
    fn append(&mut self, record: &Record) -> Result<(), LogError> {
        self.records.push(record.clone());
        Ok(())
    }

    fn next_archive(&self) -> Result<String, LogError> {
        Ok(".team/members/alice/archives/1-1.jsonl".to_owned())
    }

    fn records_path(&self) -> String {
        ".team/members/alice/transcript.jsonl".to_owned()
    }
}

impl Sources for Member {
    /// A colleague writes in the middle of each turn.
    fn after_tools(&mut self) -> Vec<UserMessage> {
        let results = self
            .records
            .iter()
            .filter(|record| matches!(record, Record::Result(_)));
        let results = results.count();
        let is_time = results % TURN == TURN / 2;
        let source = MessageSource::Mail(results as u64);
        let text =
            format!("<mail from=\"bob\" type=\"message\">\npart {results} is merged.\n</mail>");
        is_time
            .then(|| UserMessage::with_source(source, text))
            .into_iter()
            .collect()
    }

    fn when_stopping(&mut self) -> Vec<UserMessage> {
        Vec::new()
    }
}

impl Host for Member {
    /// Something of the team changes every five requests.
    fn prompt(&mut self) -> Prompt {
        let results = self
            .records
            .iter()
            .filter(|record| matches!(record, Record::Result(_)));
        let changed = results.count() / 5;
        let reminder = format!(
            "<team-state>\nTeam default: lead, you, bob (tester), carol (reviewer)\nYour task: #7: \
             mend the parser\n{changed} of 60 tasks are done.\n</team-state>"
        );
        self.reminders.push(reminder.clone());
        Prompt {
            system: self.system.clone(),
            shared_system: 0,
            reminder: Some(reminder),
        }
    }
}

fn registry() -> anyhow::Result<Registry> {
    let mut registry = Registry::new();
    registry.add(Read)?;
    registry.add(Shell)?;
    registry.add(tools::EditFile)?;
    registry.add(tools::WriteFile)?;
    registry.add(tools::Grep)?;
    registry.add(tools::Glob)?;
    registry.add(tools::ListDir)?;
    registry.add(tools::Compact)?;
    Ok(registry)
}

/// Lets an agent do the session.
pub(super) async fn run(
    model: Arc<dyn Model>,
    folder: &Path,
    requests: usize,
) -> anyhow::Result<Recorded> {
    let registry = registry()?;
    let tools = registry.definitions().map(|tool| ToolSpec {
        name: tool.name.to_string(),
        description: tool.description.to_string(),
        input_schema: tool.schema.raw().into(),
    });
    let tools = tools.collect();
    let workspace = Workspace::open(folder, [])?;
    let context = ToolContext::new(
        workspace,
        OutputFolder::new(folder.join("outputs")),
        "bench",
    );
    let settings = Settings {
        limits: Limits::for_window(WINDOW),
        max_rounds: 0,
        ..Settings::default()
    };
    let mut member = Member {
        // As long as the prompt of a member.
        system: "You are 'alice', role: coder. You work in a team of agents. ".repeat(90),
        records: Vec::new(),
        reminders: Vec::new(),
    };
    let registry = Arc::new(registry);
    let mut agent = Agent::new(model, registry, context, settings, Conversation::new());
    for turn in 0..requests.div_ceil(TURN) {
        let text = format!("Mend part {turn} of the parser, and run its tests.");
        let input = vec![UserMessage::from_person(text)];
        let cancel = CancellationToken::new();
        match agent.run_turn(input, &mut member, &cancel).await {
            Outcome::Finished { .. } => {}
            other => bail!("turn {turn}: {other:?}"),
        }
    }
    Ok(Recorded {
        system: member.system,
        tools,
        records: member.records,
        reminders: member.reminders,
    })
}
