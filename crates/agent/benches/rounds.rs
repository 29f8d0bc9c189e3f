//! What the loop costs per round, beside the size of the request, and what a replay costs. Run it
//! with `cargo bench -p agent`.

use std::collections::BTreeMap;
use std::error::Error;
use std::hint::black_box;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use agent::{
    Agent, Conversation, Host, Limits, LlmTypes, Log, LogError, Outcome, Prompt, Record, Settings,
    Sources,
};
use llm::{
    Block, BoxFuture, CancellationToken, EventSink, Model, ModelError, Reply, Request, StopReason,
    ToolUse,
};
use protocol::{
    AssistantRecord, JournalLine, JournalRecord, ResultRecord, UserMessage, UserRecord,
};
use tools::{Effect, OutputFolder, Registry, Tool, ToolContext, ToolError, ToolOutput, Workspace};

/// How many times everything is measured; the best one counts, since noise only adds.
const TRIES: usize = 7;
/// How many rounds are measured on top of a history.
const ROUNDS: usize = 20;
const ENTRIES: usize = 10_000;

fn main() -> Result<(), Box<dyn Error>> {
    // `cargo test --all-targets` starts benches as well, without this word.
    if !std::env::args().any(|argument| argument == "--bench") {
        return Ok(());
    }
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "one round of the loop with an instant model, beside one encoding of its request"
    )?;
    writeln!(
        out,
        "{:>8} {:>12} {:>10} {:>10} {:>9}",
        "history", "request", "round", "encoding", "per KiB"
    )?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()?;
    for history in [0, 10, 100, 1_000, 4_000] {
        runtime.block_on(rounds(&mut out, history))?;
    }
    replay(&mut out)
}

async fn rounds(out: &mut impl Write, history: usize) -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let mut best = Duration::MAX;
    let mut encoding = Duration::MAX;
    let mut bytes = 0;
    for _ in 0..TRIES {
        let mut registry = Registry::new();
        registry.add(Nothing)?;
        let workspace = Workspace::open(dir.path(), [])?;
        let context = ToolContext::new(
            workspace,
            OutputFolder::new(dir.path().join("out")),
            "bench",
        );
        let settings = Settings {
            limits: Limits::for_window(1 << 40),
            max_rounds: 0,
            ..Settings::default()
        };
        let mut conversation = Conversation::new();
        past(history)
            .into_iter()
            .for_each(|record| conversation.apply(record));
        let model = Arc::new(Instantly::default());
        let mut agent = Agent::new(model, Arc::new(registry), context, settings, conversation);
        let (mut host, cancel) = (Quiet::default(), CancellationToken::new());
        let input = vec![UserMessage::new("go")];
        let began = Instant::now();
        let outcome = agent.run_turn(input, &mut host, &cancel).await;
        best = best.min(began.elapsed());
        if !matches!(outcome, Outcome::Finished { .. }) {
            return Err(format!("{outcome:?}").into());
        }
        let began = Instant::now();
        bytes = black_box(serde_json::to_vec(agent.conversation().turns())?).len();
        encoding = encoding.min(began.elapsed());
    }
    let round = best / u32::try_from(ROUNDS)?;
    let per_kib = round.as_nanos() as f64 / (bytes as f64 / 1024.0);
    writeln!(
        out,
        "{history:>8} {bytes:>10} B {:>7.1} us {:>7.1} us {per_kib:>6.0} ns",
        micros(round),
        micros(encoding)
    )?;
    Ok(())
}

fn replay(out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let lines: Vec<Vec<u8>> = past(ENTRIES / 2)
        .iter()
        .map(serde_json::to_vec)
        .collect::<Result<_, _>>()?;
    let bytes: usize = lines.iter().map(Vec::len).sum();
    let (mut replay, mut plain) = (Duration::MAX, Duration::MAX);
    for _ in 0..TRIES {
        let began = Instant::now();
        let mut conversation = Conversation::new();
        for line in &lines {
            match JournalLine::<LlmTypes>::decode_as(line) {
                JournalLine::Known(JournalRecord::Conversation(record)) => {
                    conversation.apply(record)
                }
                other => return Err(format!("{other:?}").into()),
            }
        }
        black_box(conversation);
        replay = replay.min(began.elapsed());
        let began = Instant::now();
        for line in &lines {
            black_box(serde_json::from_slice::<serde_json::Value>(line)?);
        }
        plain = plain.min(began.elapsed());
    }
    writeln!(
        out,
        "replay of {} entries, {bytes} B: {:.1} ms, beside {:.1} ms for serde_json::Value of the same lines",
        lines.len(),
        micros(replay) / 1e3,
        micros(plain) / 1e3
    )?;
    Ok(())
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

/// This many rounds, as records: a question, and then replies and results.
fn past(rounds: usize) -> Vec<Record> {
    let user = UserRecord {
        messages: vec![UserMessage::new("begin")],
    };
    let mut records = vec![Record::User(user)];
    for round in 0..rounds {
        records.push(Record::Assistant(AssistantRecord {
            blocks: wish(round),
            stop: StopReason::ToolUse,
            usage: None,
        }));
        records.push(Record::Result(ResultRecord {
            millis: 1,
            ..ResultRecord::new(llm::ToolResult::ok(format!("u{round}"), RESULT))
        }));
    }
    records
}

const RESULT: &str =
    "total 48\n-rw-r--r-- 1 user user 1213 Cargo.toml\n-rw-r--r-- 1 user user 901 README.md";

fn wish(round: usize) -> Vec<Block> {
    let input = r#"{"command": "ls -l crates/agent/src crates/context/src | head -20"}"#;
    vec![
        Block::text(format!("In round {round} I look at the files once more.")),
        Block::ToolUse(ToolUse::new(format!("u{round}"), Nothing::NAME, input)),
    ]
}

/// Uses a tool for some rounds and stops.
#[derive(Default)]
struct Instantly {
    asked: AtomicUsize,
}

impl Model for Instantly {
    fn name(&self) -> &str {
        "instantly"
    }

    fn complete<'a>(
        &'a self,
        request: &'a Request,
        _: &'a mut EventSink<'_>,
        _: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        black_box(request);
        let round = self.asked.fetch_add(1, Ordering::Relaxed);
        let blocks = if round + 1 < ROUNDS {
            wish(round)
        } else {
            vec![Block::text("done")]
        };
        let reply = Reply {
            blocks,
            stop: StopReason::EndTurn,
            usage: None,
            model: String::new(),
        };
        Box::pin(async move { Ok(reply) })
    }
}

/// Encodes records, as a journal does, and keeps none.
#[derive(Default)]
struct Quiet {
    line: Vec<u8>,
}

impl Log for Quiet {
    fn append(&mut self, record: &Record) -> Result<(), LogError> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, record).map_err(LogError::new)
    }

    fn next_archive(&self) -> Result<String, LogError> {
        Err(LogError::new("nothing is long enough here"))
    }

    fn records_path(&self) -> String {
        String::new()
    }
}

impl Sources for Quiet {
    fn after_tools(&mut self) -> Vec<UserMessage> {
        Vec::new()
    }

    fn when_stopping(&mut self) -> Vec<UserMessage> {
        Vec::new()
    }
}

impl Host for Quiet {
    fn prompt(&mut self) -> Prompt {
        Prompt {
            system: "You are 'alice', role: coder".to_owned(),
            shared_system: 0,
            reminder: None,
        }
    }
}

/// A tool that costs nothing.
struct Nothing;

impl Tool for Nothing {
    const NAME: &'static str = "nothing";
    const DESCRIPTION: &'static str = "Does nothing.";
    const EFFECT: Effect = Effect::Mutate;
    type Args = BTreeMap<String, String>;

    async fn call(&self, _: Self::Args, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::ok(RESULT))
    }
}
