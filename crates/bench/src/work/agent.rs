//! An agent that works through numbered steps, each of which leaves a line in a file.
//!
//! Its conversation is in its member's journal. Whenever it is killed, the next process goes on.

use super::{Args, say};
use agent::Limits;
use agent::{Agent, Event, Host, Log, LogError, Outcome, Prompt, Record, Settings, Sources};
use llm::{
    Block, BoxFuture, CancellationToken, EventSink, Model, ModelError, Reply, Request, StopReason,
    ToolUse,
};
use member::Recovered;
use protocol::{MessageId, MessageSource, Recipient, UserMessage};
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::sync::Arc;
use teamdir::{MemberSession, TeamDir, WatchChoice};
use test_support::faults::{mark_begin, mark_end};
use test_support::llm_server::summary_text;
use tools::{Effect, OutputFolder, Registry, Tool, ToolContext, ToolError, ToolOutput, Workspace};

/// Where the steps leave their lines.
const TRACES: &str = "traces";

/// Works through numbered steps as an agent.
#[derive(clap::Args)]
pub(crate) struct RunAgent {
    #[arg(long)]
    name: Recipient,
    /// How many steps there are.
    #[arg(long)]
    steps: usize,
    /// How many messages come in meanwhile.
    #[arg(long, default_value_t = 0)]
    mail: usize,
    /// The size of the model's window, in tokens.
    #[arg(long, default_value_t = 200_000)]
    window: u64,
    /// Leave the lines by a shell command.
    #[arg(long)]
    bash: bool,
}

pub(super) fn run(args: &Args, work: &RunAgent) -> anyhow::Result<()> {
    let team = args.team()?;
    let session = MemberSession::open(&team, &work.name, WatchChoice::Poll)?;
    let recovered = Recovered::read(&team, &work.name)?;
    if let Some(reason) = recovered.damage.first() {
        anyhow::bail!("the journal is damaged: {reason}");
    }
    let conversation = recovered.conversation;
    let is_new = conversation.turns().is_empty();
    let mut registry = Registry::new();
    registry.add(Leave)?;
    registry.add(tools::Bash)?;
    registry.add(tools::ReadFile)?;
    let workspace = Workspace::open(&args.dir, [])?;
    let output = OutputFolder::new(team.layout().member_dir(&work.name).join("output"));
    let settings = Settings {
        limits: Limits::for_window(work.window),
        max_rounds: 0,
        ..Settings::default()
    };
    let mut agent = Agent::new(
        Arc::new(Stepper {
            steps: work.steps,
            bash: work.bash,
        }),
        Arc::new(registry),
        ToolContext::new(workspace, output, "bench"),
        settings,
        conversation,
    );
    let mut member = Member {
        session,
        team,
        name: work.name.clone(),
        mail: work.mail,
        arrived: 0,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()?;
    let source = MessageSource::Prompt(MessageId::new("task")?);
    let input = is_new.then(|| UserMessage::with_source(source, "take all steps"));
    let input = input.into_iter().collect();
    let cancel = CancellationToken::new();
    match runtime.block_on(agent.run_turn(input, &mut member, &cancel)) {
        Outcome::Finished { text } => say(&format!("finished {text}")),
        outcome => anyhow::bail!("{outcome:?}"),
    }
}

/// A member of a team as an agent sees it.
struct Member {
    session: MemberSession,
    team: TeamDir,
    name: Recipient,
    mail: usize,
    /// How many messages have come since this process began.
    arrived: usize,
}

impl Member {
    fn keep(&mut self, record: &Record) -> anyhow::Result<()> {
        if !matches!(record, Record::Compaction(_)) {
            return Ok(self.session.journal().append(record)?);
        }
        let archive = self.team.next_archive(self.session.guard());
        let cut = Recovered::read(&self.team, &self.name)?.into_cut(archive);
        Ok(self.session.cut_journal(&self.team, cut, record)?)
    }

    /// All messages so far: the agent knows which ones it has seen.
    fn offered(&self) -> Vec<UserMessage> {
        let numbers = 1..=self.arrived.min(self.mail);
        let message = |number| {
            UserMessage::with_source(
                MessageSource::Mail(number as u64),
                format!("<mail {number}>"),
            )
        };
        numbers.map(message).collect()
    }
}

impl Log for Member {
    fn append(&mut self, record: &Record) -> Result<(), LogError> {
        mark_begin();
        let kept = self.keep(record);
        mark_end();
        kept.map_err(LogError::new)
    }

    fn next_archive(&self) -> Result<String, LogError> {
        Ok(self.team.next_archive(self.session.guard()).to_string())
    }

    fn records_path(&self) -> String {
        "records".to_owned()
    }
}

impl Sources for Member {
    fn after_tools(&mut self) -> Vec<UserMessage> {
        self.arrived += 1;
        self.offered()
    }

    fn when_stopping(&mut self) -> Vec<UserMessage> {
        self.arrived = self.mail;
        self.offered()
    }
}

impl Host for Member {
    fn prompt(&mut self) -> Prompt {
        Prompt {
            system: format!("You are '{}', role: tester", self.name),
            shared_system: 0,
            reminder: None,
        }
    }

    fn event(&mut self, event: Event) {
        if let Event::ToolStarted { id, .. } = event {
            // A test that no longer listens is no reason to stop.
            let _ = say(&format!("started {id}"));
        }
    }
}

/// Takes the step after the last one that its conversation speaks of.
struct Stepper {
    steps: usize,
    bash: bool,
}

impl Stepper {
    fn answer(&self, request: &Request) -> Reply {
        let text = format!("{:?}", request.turns);
        let taken = text.split("step-").filter_map(|rest| {
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            digits.parse::<usize>().ok()
        });
        let taken = taken.max().unwrap_or(0);
        if text.contains("<summary-request>") {
            return reply(vec![Block::text(summary_text(&format!(
                "All up to step-{taken} is done."
            )))]);
        }
        if taken >= self.steps {
            return reply(vec![Block::text("all steps")]);
        }
        let step = taken + 1;
        let leave = if self.bash {
            let input = format!(r#"{{"command": "echo step-{step} >> {TRACES}"}}"#);
            ToolUse::new(format!("leave-{step}"), "bash", &input)
        } else {
            let input = format!(r#"{{"text": "step-{step}"}}"#);
            ToolUse::new(format!("leave-{step}"), "leave", &input)
        };
        let read = format!(r#"{{"path": "{TRACES}", "limit": 1}}"#);
        let read = ToolUse::new(format!("read-{step}"), "read_file", &read);
        let mut uses = vec![Block::ToolUse(leave), Block::ToolUse(read)];
        if step.is_multiple_of(2) {
            uses.reverse();
        }
        reply(uses)
    }
}

fn reply(blocks: Vec<Block>) -> Reply {
    Reply {
        blocks,
        stop: StopReason::EndTurn,
        usage: None,
        model: "stepper".to_owned(),
    }
}

impl Model for Stepper {
    fn name(&self) -> &str {
        "stepper"
    }

    fn complete<'a>(
        &'a self,
        request: &'a Request,
        _: &'a mut EventSink<'_>,
        _: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        let answer = request.validate().map(|()| self.answer(request));
        Box::pin(async move { Ok(answer?) })
    }
}

/// Leaves a line.
struct Leave;

impl Tool for Leave {
    const NAME: &'static str = "leave";
    const DESCRIPTION: &'static str = "Leaves a line in a file.";
    const EFFECT: Effect = Effect::Mutate;
    type Args = BTreeMap<String, String>;

    async fn call(&self, args: Self::Args, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let path = context.workspace.root().join(TRACES);
        let text = args.get("text").map_or("", String::as_str);
        let file = OpenOptions::new().append(true).create(true).open(path);
        let left = file.and_then(|mut file| file.write_all(format!("{text}\n").as_bytes()));
        match left {
            Ok(()) => Ok(ToolOutput::ok(format!("left {text}"))),
            Err(error) => Err(ToolError::from_error(&error)),
        }
    }
}
