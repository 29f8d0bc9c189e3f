//! A model that replays recorded turns.
//!
//! # The file
//!
//! Either JSON lines, one turn a line in the order of playing, with the agent
//! that each turn is for:
//!
//! ```json
//! {"agent": "alice", "calls": [{"name": "bash", "input": {"command": "ls"}}]}
//! {"agent": "alice", "expect": "Cargo.toml", "say": "I see it."}
//! {"agent": "bob", "say": "Hello."}
//! ```
//!
//! or one JSON object with the turns of every agent:
//!
//! ```json
//! {"alice": [{"say": "Hello."}], "bob": []}
//! ```
//!
//! A turn has these fields, all optional, but it must do something:
//!
//! - `think`, `say`: a thought and a text.
//! - `calls`: tool uses, each with `name`, `input` (an object, by default empty)
//!   and `id` (by default one that occurs nowhere else).
//! - `blocks`: instead of these three, blocks in the form in which a
//!   [`Block`] is stored.
//! - `expect`: a text, or a list of texts, each of which the last turn of the
//!   user must contain, in its text, in a tool result or in the description of an
//!   image.
//! - `stop`: why the turn ends, in the form in which a [`StopReason`] is stored;
//!   by default `"tool_use"` if there are tool uses and else `"end_turn"`.
//! - `usage`: what it cost, in the form in which a [`Usage`] is stored.
//!
//! # Playing
//!
//! An agent that is asked gets its next turn. The first question of a process is
//! answered with the turn that follows as many as the model has already had in
//! the conversation, so that an agent which was restarted goes on where it was.
//! A script that has no more turns is an error that says so, and so is an
//! expectation that does not hold.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use crate::conversation::{Block, Role, ToolUse};
use crate::error::ModelError;
use crate::images::ShownImages;
use crate::json::RawJson;
use crate::model::{BoxFuture, Event, EventSink, Model, Reply, StopReason, Usage};
use crate::request::Request;

/// Why a script cannot continue.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    #[error("cannot read the script {}: {reason}", path.display())]
    Read { path: PathBuf, reason: String },
    #[error("the script {} is wrong in line {line}: {reason}", path.display())]
    Parse {
        path: PathBuf,
        /// The line, from 1 on.
        line: usize,
        reason: String,
    },
    /// All turns have been played.
    #[error(
        "the script {} has no turn {} for {agent}; it has {turns}, and turns for: {}",
        path.display(), asked + 1, agents.join(", ")
    )]
    Exhausted {
        path: PathBuf,
        agent: String,
        /// How many turns it has for the agent.
        turns: usize,
        /// How many have been played.
        asked: usize,
        /// The agents that it has turns for.
        agents: Vec<String>,
    },
    /// The user said something else than the script expects.
    #[error(
        "turn {turn} of {agent} in the script {} expects {expected:?}, but the last turn of the user is {found:?}",
        path.display()
    )]
    Unexpected {
        path: PathBuf,
        agent: String,
        /// Which of its turns, from 1 on.
        turn: usize,
        /// The text that should be there.
        expected: String,
        /// The text that is there.
        found: String,
    },
}

/// Replays the turns that a script has for one agent.
#[derive(Debug)]
pub struct ScriptModel {
    name: String,
    path: PathBuf,
    agent: String,
    turns: Vec<ScriptTurn>,
    agents: Vec<String>,
    /// The turn to play next, once anything was played.
    next: Mutex<Option<usize>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptTurn {
    agent: Option<String>,
    expect: Option<Expect>,
    think: Option<String>,
    say: Option<String>,
    #[serde(default)]
    calls: Vec<Call>,
    #[serde(default)]
    blocks: Vec<Block>,
    stop: Option<StopReason>,
    usage: Option<Usage>,
}

/// The largest script.
const MAX_BYTES: u64 = 16 << 20;

/// One text or several. An untagged type loses the text of raw JSON, but has none here.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Expect {
    One(String),
    All(Vec<String>),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    name: String,
    input: Option<RawJson>,
    id: Option<String>,
}

/// Reads a regular file of a sensible size. A pipe is not opened, because that would wait.
fn read(path: &Path) -> io::Result<String> {
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() || metadata.len() > MAX_BYTES {
        return Err(io::Error::other("it is not a file of at most 16 MiB"));
    }
    let mut text = String::new();
    let file = fs::File::open(path)?;
    file.take(MAX_BYTES).read_to_string(&mut text)?;
    Ok(text)
}

impl ScriptModel {
    /// Reads the turns of an agent from a file.
    pub fn load(path: impl Into<PathBuf>, agent: &str) -> Result<Self, ScriptError> {
        let path = path.into();
        match read(&path) {
            Ok(text) => Self::parse(path, &text, agent),
            Err(error) => Err(ScriptError::Read {
                reason: error.to_string(),
                path,
            }),
        }
    }

    /// Takes the turns of an agent from a text; the path is for the text of
    /// errors.
    pub fn parse(path: PathBuf, text: &str, agent: &str) -> Result<Self, ScriptError> {
        let mut all = turns(&path, text)?;
        let agents = all.keys().cloned().collect();
        Ok(Self {
            name: format!("script:{}", path.display()),
            turns: all.remove(agent).unwrap_or_default(),
            agent: agent.to_owned(),
            agents,
            path,
            next: Mutex::new(None),
        })
    }

    /// Returns the next turn as a reply, and moves on to the turn after it.
    fn play(&self, request: &Request) -> Result<Reply, ModelError> {
        request.validate()?;
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let place = next.unwrap_or_else(|| {
            let had = |turn: &&crate::Turn| turn.role == Role::Assistant;
            request.turns.iter().filter(had).count()
        });
        let Some(turn) = self.turns.get(place) else {
            return Err(ModelError::from(ScriptError::Exhausted {
                path: self.path.clone(),
                agent: self.agent.clone(),
                turns: self.turns.len(),
                asked: place,
                agents: self.agents.clone(),
            }));
        };
        self.check(turn, place, request)?;
        *next = Some(place + 1);
        Ok(self.reply(turn, place))
    }

    fn check(&self, turn: &ScriptTurn, place: usize, request: &Request) -> Result<(), ScriptError> {
        let found = last_user_text(request);
        let expected = match &turn.expect {
            None => &[],
            Some(Expect::One(text)) => std::slice::from_ref(text),
            Some(Expect::All(texts)) => texts.as_slice(),
        };
        match expected.iter().find(|text| !found.contains(text.as_str())) {
            None => Ok(()),
            Some(missing) => Err(ScriptError::Unexpected {
                path: self.path.clone(),
                agent: self.agent.clone(),
                turn: place + 1,
                expected: missing.clone(),
                found,
            }),
        }
    }

    fn reply(&self, turn: &ScriptTurn, place: usize) -> Reply {
        let mut blocks = turn.blocks.clone();
        blocks.extend(turn.think.clone().map(|text| Block::Thinking {
            text,
            signature: None,
        }));
        blocks.extend(turn.say.clone().map(Block::text));
        for (number, call) in turn.calls.iter().enumerate() {
            let id = call.id.clone().unwrap_or_else(|| {
                // Names may hold characters that ids must not.
                format!("script_{}_{}", place + 1, number + 1)
            });
            let input = call.input.as_ref().map_or("", RawJson::get);
            blocks.push(Block::ToolUse(ToolUse::new(id, &call.name, input)));
        }
        let uses_tools = blocks
            .iter()
            .any(|block| matches!(block, Block::ToolUse(_)));
        let stop = turn.stop.clone().unwrap_or(if uses_tools {
            StopReason::ToolUse
        } else {
            StopReason::EndTurn
        });
        Reply {
            blocks,
            stop,
            usage: turn.usage,
            model: self.name.clone(),
        }
    }
}

impl Model for ScriptModel {
    fn name(&self) -> &str {
        &self.name
    }

    fn complete<'a>(
        &'a self,
        request: &'a Request,
        events: &'a mut EventSink<'_>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            if cancel.is_cancelled() {
                return Err(ModelError::Cancelled);
            }
            let reply = self.play(request)?;
            for block in &reply.blocks {
                tell(block, events);
            }
            Ok(reply)
        })
    }
}

fn tell(block: &Block, events: &mut EventSink<'_>) {
    match block {
        Block::Text { text } => events(Event::TextDelta(text.clone())),
        Block::Thinking { text, .. } => events(Event::ThinkingDelta(text.clone())),
        Block::ToolUse(tool_use) => events(Event::ToolUseStarted {
            id: tool_use.id.clone(),
            name: tool_use.name.clone(),
        }),
        Block::RedactedThinking { .. }
        | Block::ToolResult(_)
        | Block::Image(_)
        | Block::Opaque { .. } => {}
    }
}

/// All text of the user's last turn, tool results included.
fn last_user_text(request: &Request) -> String {
    let last = request
        .turns
        .iter()
        .rposition(|turn| turn.role == Role::Assistant)
        .map_or(0, |place| place + 1);
    // A script sees no images, only that they are there.
    let nothing = ShownImages::default();
    let texts: Vec<_> = request.turns[last..]
        .iter()
        .flat_map(|turn| &turn.blocks)
        .filter_map(|block| match block {
            Block::Text { text } => Some(Cow::Borrowed(text.as_str())),
            Block::ToolResult(result) => Some(nothing.text_of(result)),
            Block::Image(image) => Some(Cow::Owned(image.placeholder())),
            _ => None,
        })
        .collect();
    texts.join("\n")
}

/// The turns of all agents.
fn turns(path: &Path, text: &str) -> Result<BTreeMap<String, Vec<ScriptTurn>>, ScriptError> {
    let wrong = |line: usize, reason: &str| ScriptError::Parse {
        path: path.to_owned(),
        line,
        reason: reason.to_owned(),
    };
    let mut all: BTreeMap<String, Vec<ScriptTurn>> = BTreeMap::new();
    if is_lines(text) {
        for (place, line) in text.lines().enumerate() {
            if line.trim().is_empty() {
                continue;
            }
            let mut turn: ScriptTurn =
                serde_json::from_str(line).map_err(|error| wrong(place + 1, &error.to_string()))?;
            let agent = turn
                .agent
                .take()
                .ok_or_else(|| wrong(place + 1, "the turn lacks its \"agent\""))?;
            check_turn(&turn).map_err(|reason| wrong(place + 1, reason))?;
            all.entry(agent).or_default().push(turn);
        }
    } else {
        all = serde_json::from_str(text)
            .map_err(|error| wrong(error.line().max(1), &error.to_string()))?;
        for turn in all.values().flatten() {
            check_turn(turn).map_err(|reason| wrong(1, reason))?;
        }
    }
    Ok(all)
}

/// Whether the file has one turn per line, judged by its first line.
fn is_lines(text: &str) -> bool {
    #[derive(Deserialize)]
    struct Line {
        #[serde(rename = "agent")]
        _agent: String,
    }
    let first = text.lines().find(|line| !line.trim().is_empty());
    first.is_none_or(|line| serde_json::from_str::<Line>(line).is_ok())
}

fn check_turn(turn: &ScriptTurn) -> Result<(), &'static str> {
    let parts = turn.think.is_some() || turn.say.is_some() || !turn.calls.is_empty();
    match (parts, turn.blocks.is_empty()) {
        (true, false) => Err("a turn has either \"blocks\" or \"think\", \"say\" and \"calls\""),
        (false, true) if turn.stop.is_none() => {
            Err("a turn needs \"say\", \"calls\", \"think\", \"blocks\" or \"stop\"")
        }
        _ => Ok(()),
    }
}
