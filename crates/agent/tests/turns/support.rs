//! A model with a queue of replies, a host that remembers everything, and a few tools.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

use agent::{
    Agent, Answered, AskedCall, Conversation, Event, Host, LlmTypes, Log, LogError, MayRun,
    Outcome, Prompt, Record, Settings, Sources,
};
use llm::{
    Block, BoxFuture, CancellationToken, EventSink, Model, ModelError, Reply, Request, StopReason,
    ToolUse, Usage,
};
use protocol::{JournalLine, JournalRecord, RequestId, UserMessage};
use tempfile::TempDir;
use tools::{
    Access, Control, Effect, OutputFolder, Registry, Tool, ToolContext, ToolError, ToolOutput,
    Workspace,
};

pub(crate) enum Answer {
    Reply(Reply),
    Error(ModelError),
    /// Nothing, until the call is dropped; it ignores its cancellation token.
    Never,
}

/// Answers from a queue, and keeps what it was asked. Every request must be valid.
#[derive(Default)]
pub(crate) struct Fake {
    answers: Mutex<VecDeque<Answer>>,
    pub(crate) asked: Mutex<Vec<Request>>,
}

impl Fake {
    pub(crate) fn asked(&self) -> Vec<Request> {
        self.asked.lock().unwrap().clone()
    }

    /// Adds an answer behind those that are left.
    pub(crate) fn answer(&self, answer: Answer) {
        self.answers.lock().unwrap().push_back(answer);
    }
}

impl Model for Fake {
    fn name(&self) -> &str {
        "fake"
    }

    fn complete<'a>(
        &'a self,
        request: &'a Request,
        events: &'a mut EventSink<'_>,
        _: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        request.validate().expect("every request is valid");
        self.asked.lock().unwrap().push(request.clone());
        let answer = self.answers.lock().unwrap().pop_front();
        Box::pin(async move {
            match answer.expect("the model is asked no more often than expected") {
                Answer::Reply(reply) => {
                    events(llm::Event::TextDelta(reply.text()));
                    Ok(reply)
                }
                Answer::Error(error) => Err(error),
                Answer::Never => std::future::pending().await,
            }
        })
    }
}

pub(crate) fn reply(blocks: Vec<Block>, stop: StopReason) -> Answer {
    Answer::Reply(Reply {
        blocks,
        stop,
        usage: Some(Usage {
            output: 1,
            ..Usage::default()
        }),
        model: "fake".into(),
    })
}

pub(crate) fn say(text: &str) -> Answer {
    reply(vec![Block::text(text)], StopReason::EndTurn)
}

/// A summary with all parts that it must have.
pub(crate) fn summary(text: &str) -> Answer {
    let parts = ["Goal", "Done", "Files", "Open points", "Next step"];
    let parts = parts.map(|part| format!("## {part}\n{text}"));
    say(&parts.join("\n"))
}

/// Whether a request asks for a summary.
pub(crate) fn is_summary(request: &Request) -> bool {
    let last = request.turns.last().and_then(|turn| turn.blocks.last());
    matches!(last, Some(Block::Text { text }) if text.contains("<summary-request>"))
}

/// A reply that uses tools, each given by its id, name and arguments.
pub(crate) fn call(uses: &[(&str, &str, &str)]) -> Answer {
    let uses = uses.iter();
    let blocks =
        uses.map(|(id, name, arguments)| Block::ToolUse(ToolUse::new(*id, *name, arguments)));
    reply(blocks.collect(), StopReason::ToolUse)
}

/// Keeps everything it is called with, and returns the prepared messages.
#[derive(Default)]
pub(crate) struct Recovered {
    pub(crate) records: Vec<Record>,
    /// The records before each compaction.
    pub(crate) archives: Vec<Vec<Record>>,
    pub(crate) events: Vec<Event>,
    pub(crate) after_tools: VecDeque<Vec<UserMessage>>,
    pub(crate) when_stopping: VecDeque<Vec<UserMessage>>,
    pub(crate) forbidden: Option<&'static str>,
    /// The tool whose calls somebody is asked about, how often that was, and under which ids.
    pub(crate) asks: Option<&'static str>,
    pub(crate) requests: usize,
    pub(crate) asked: Vec<(String, String)>,
    /// What is answered; then nothing.
    pub(crate) answers: VecDeque<Answered>,
    pub(crate) reminder: Option<String>,
    /// What the reminder says in the next requests, one by one.
    pub(crate) next_reminders: VecDeque<&'static str>,
    pub(crate) open_work: Option<String>,
    pub(crate) prompts: usize,
    /// After how many records the log fails.
    pub(crate) room: Option<usize>,
}

impl Log for Recovered {
    fn append(&mut self, record: &Record) -> Result<(), LogError> {
        if self.room.is_some_and(|room| self.records.len() >= room) {
            return Err(LogError::new("the disk is full"));
        }
        if let Record::Compaction(_) = record {
            self.archives.push(self.records.clone());
        }
        self.records.push(record.clone());
        Ok(())
    }

    fn next_archive(&self) -> Result<String, LogError> {
        Ok(format!("archive-{}", self.archives.len() + 1))
    }

    fn records_path(&self) -> String {
        "records".to_owned()
    }
}

impl Sources for Recovered {
    fn after_tools(&mut self) -> Vec<UserMessage> {
        self.after_tools.pop_front().unwrap_or_default()
    }

    fn when_stopping(&mut self) -> Vec<UserMessage> {
        self.when_stopping.pop_front().unwrap_or_default()
    }
}

impl Host for Recovered {
    fn prompt(&mut self) -> Prompt {
        self.prompts += 1;
        if let Some(next) = self.next_reminders.pop_front() {
            self.reminder = Some(next.to_owned());
        }
        Prompt {
            system: "You are 'alice', role: coder".into(),
            shared_system: 0,
            reminder: self.reminder.clone(),
        }
    }

    fn open_work(&mut self) -> Option<String> {
        self.open_work.clone()
    }

    fn may_run(&mut self, tool_use: &ToolUse, _: Option<Effect>) -> MayRun {
        let name = tool_use.name.as_str();
        if self.forbidden == Some(name) {
            let text = format!("{name} needs an approved plan");
            return MayRun::No(ToolError::new(text));
        }
        if self.asks == Some(name) {
            self.requests += 1;
            return MayRun::Ask(RequestId::new(&format!("r{}", self.requests)).unwrap());
        }
        MayRun::Yes(Access::default())
    }

    fn ask<'a>(
        &'a mut self,
        call: AskedCall<'a>,
        _: &'a CancellationToken,
    ) -> BoxFuture<'a, Answered> {
        let asked = (call.tool_use.id.clone(), call.request_id.to_string());
        self.asked.push(asked);
        let answer = self.answers.pop_front();
        Box::pin(std::future::ready(answer.unwrap_or(Answered::StillWaiting)))
    }

    fn event(&mut self, event: Event) {
        self.events.push(event);
    }
}

type Arguments = BTreeMap<String, String>;

/// Returns its argument.
pub(crate) struct Echo;

impl Tool for Echo {
    const NAME: &'static str = "echo";
    const DESCRIPTION: &'static str = "Says it again.";
    const EFFECT: Effect = Effect::Mutate;
    type Args = Arguments;

    async fn call(&self, args: Arguments, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        match args.get("say") {
            Some(text) => Ok(ToolOutput::ok(text)),
            None => panic!("nothing to say"),
        }
    }
}

/// Returns when as many calls as `parties` says are there at the same time.
pub(crate) struct Meet(pub(crate) Arc<tokio::sync::Barrier>);

impl Tool for Meet {
    const NAME: &'static str = "meet";
    const DESCRIPTION: &'static str = "Waits for the others.";
    const EFFECT: Effect = Effect::Read;
    type Args = Arguments;

    async fn call(&self, _: Arguments, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        self.0.wait().await;
        Ok(ToolOutput::ok("met"))
    }
}

/// Ends the turn.
pub(crate) struct Goodbye;

impl Tool for Goodbye {
    const NAME: &'static str = "goodbye";
    const DESCRIPTION: &'static str = "Ends the turn.";
    const EFFECT: Effect = Effect::State;
    type Args = Arguments;

    async fn call(&self, _: Arguments, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput {
            control: Some(Control::EndTurn),
            ..ToolOutput::ok("bye")
        })
    }
}

/// Never ends, even if it is cancelled.
pub(crate) struct Stubborn;

impl Tool for Stubborn {
    const NAME: &'static str = "stubborn";
    const DESCRIPTION: &'static str = "Never ends.";
    const EFFECT: Effect = Effect::Mutate;
    type Args = Arguments;

    async fn call(&self, _: Arguments, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        std::fs::create_dir(context.workspace.root().join("began")).unwrap();
        std::future::pending().await
    }
}

/// An agent with its model and its host.
pub(crate) struct Stage {
    pub(crate) agent: Agent,
    pub(crate) model: Arc<Fake>,
    pub(crate) host: Recovered,
    pub(crate) cancel: CancellationToken,
    pub(crate) context: ToolContext,
    _dir: TempDir,
}

impl Stage {
    pub(crate) fn new(answers: Vec<Answer>) -> Self {
        Self::with(answers, Settings::default(), Conversation::new())
    }

    pub(crate) fn with(answers: Vec<Answer>, settings: Settings, before: Conversation) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut registry = Registry::new();
        registry.add(Echo).unwrap();
        registry.add(Goodbye).unwrap();
        registry.add(Stubborn).unwrap();
        registry.add(tools::Compact).unwrap();
        registry.add(tools::Bash).unwrap();
        registry.add(tools::ReadFile).unwrap();
        let barrier = Arc::new(tokio::sync::Barrier::new(2));
        registry.add(Meet(barrier)).unwrap();
        let workspace = Workspace::open(dir.path(), []).unwrap();
        let context =
            ToolContext::new(workspace, OutputFolder::new(dir.path().join("out")), "test");
        let model = Arc::new(Fake::default());
        model.answers.lock().unwrap().extend(answers);
        let agent = Agent::new(
            Arc::clone(&model) as Arc<dyn Model>,
            Arc::new(registry),
            context.clone(),
            settings,
            before,
        );
        Self {
            agent,
            model,
            host: Recovered::default(),
            cancel: CancellationToken::new(),
            context,
            _dir: dir,
        }
    }

    pub(crate) async fn turn(&mut self, input: &str) -> Outcome {
        let input = vec![UserMessage::from_person(input)];
        self.agent
            .run_turn(input, &mut self.host, &self.cancel)
            .await
    }

    /// The text of a turn that must finish.
    pub(crate) async fn finish(&mut self, input: &str) -> String {
        match self.turn(input).await {
            Outcome::Finished { text } => text,
            other => panic!("{other:?}"),
        }
    }

    /// The same conversation, as a later process reads it.
    pub(crate) fn replayed(&self) -> Conversation {
        replay(&self.host.records)
    }
}

/// Writes the records down, reads them again and applies them, as a later process does.
pub(crate) fn replay(records: &[Record]) -> Conversation {
    let mut conversation = Conversation::new();
    for record in records {
        let line = serde_json::to_vec(record).unwrap();
        match JournalLine::<LlmTypes>::decode_as(&line) {
            JournalLine::Known(JournalRecord::Conversation(record)) => conversation.apply(record),
            other => panic!("{other:?}"),
        }
    }
    conversation
}

/// All that was said in the last turn of a request, block by block.
pub(crate) fn last_blocks(request: &Request) -> Vec<String> {
    let blocks = &request.turns.last().unwrap().blocks;
    let show = |block: &Block| match block {
        Block::Text { text } => text.clone(),
        Block::ToolResult(result) if result.is_error => format!("error: {}", result.content),
        Block::ToolResult(result) => format!("result: {}", result.content),
        other => panic!("{other:?}"),
    };
    blocks.iter().map(show).collect()
}
