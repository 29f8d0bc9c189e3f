//! A session with an agent as a state machine: lines and wishes go in, lines and events come out.
//!
//! ```text
//!   initialize --> session/resume, session/load or session/new --> set_mode --> free <--> prompting
//! ```

mod opening;
mod permission;
mod updates;

pub use permission::{AgentCall, Question, ToolKind, Verdict};

use crate::schema::{NewSessionResponse, PromptResponse, StopReason, Usage};
use crate::wire::{Incoming, LOGIN_NEEDED, METHOD_NOT_FOUND, RpcError};
use crate::wire::{notification, refusal, request};
use permission::Asked;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::PathBuf;

/// How many lines that are no messages are skipped before the agent counts as broken.
const MAX_GARBAGE: u32 = 100;

/// How a session is begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opening {
    /// The working folder.
    pub folder: PathBuf,
    pub team: Option<TeamServer>,
    /// The id of a session that is to be gone on with.
    pub earlier: Option<String>,
    /// The mode that is set, if the agent has it.
    pub mode: Option<String>,
    /// The version of this program.
    pub version: String,
}

/// The program with the team's tools, a server of the Model Context Protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TeamServer {
    pub program: PathBuf,
    pub args: Vec<String>,
    pub environment: Vec<(String, String)>,
}

/// What the session tells its caller.
#[derive(Debug, Clone, PartialEq)]
pub enum SessionEvent {
    /// This line is to be sent to the agent.
    Send(String),
    /// The session is open.
    Opened {
        id: String,
        /// Whether it is the earlier one, with its history.
        is_restored: bool,
        agent: String,
    },
    Text(String),
    Thought(String),
    ToolStarted(AgentCall),
    ToolEnded {
        call: AgentCall,
        text: String,
        is_error: bool,
    },
    /// What the session has cost so far, in US dollars.
    Cost(f64),
    /// The agent asks for permission.
    Asked(Box<Question>),
    /// The agent needs no answer any more.
    AskWithdrawn(u64),
    /// The prompt is over.
    Ended(PromptEnd),
    Failed(Failure),
    /// The agent sent something that is no message.
    Garbage,
}

/// How a prompt ended.
#[derive(Debug, Clone, PartialEq)]
pub enum PromptEnd {
    Finished {
        usage: Option<Usage>,
    },
    /// It was cut off at a limit of the agent.
    CutOff {
        usage: Option<Usage>,
    },
    Refused,
    /// It was cancelled from here, whatever the agent calls it.
    Cancelled,
}

/// Why a session cannot go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    #[error("the agent wants a login: {0}")]
    Login(String),
    #[error("the agent refused {method}: {message} ({code})")]
    Refused {
        method: &'static str,
        code: i64,
        message: String,
    },
    #[error("the agent speaks version {0} of the protocol, not 1")]
    Version(String),
    #[error("the agent sends no messages of the protocol")]
    Garbage,
}

/// A session with an agent.
#[derive(Debug)]
pub struct Session {
    opening: Opening,
    state: State,
    next_id: u64,
    id: String,
    agent: String,
    /// The permissions that the agent waits for.
    asked: Vec<Asked>,
    next_ask: u64,
    /// The titles of the tools that run, by their ids.
    tools: HashMap<String, updates::Running>,
    garbage: u32,
}

/// What the session waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Initialize(u64),
    /// The answer to the request to go on with the earlier session.
    Restore(u64),
    New(u64),
    Mode {
        request: u64,
        is_restored: bool,
    },
    Free,
    Prompt {
        request: u64,
        is_cancelled: bool,
    },
    Broken,
}

impl Session {
    /// A session, and the first line for the agent.
    pub fn begin(opening: Opening) -> (Self, String) {
        let params = json!({
            "protocolVersion": 1,
            "clientCapabilities": {"fs": {"readTextFile": false, "writeTextFile": false}, "terminal": false},
            "clientInfo": {"name": "team-lead", "version": opening.version},
        });
        let session = Self {
            opening,
            state: State::Initialize(1),
            next_id: 2,
            id: String::new(),
            agent: String::new(),
            asked: Vec::new(),
            next_ask: 1,
            tools: HashMap::new(),
            garbage: 0,
        };
        (session, request(1, "initialize", params))
    }

    /// The line that sends a prompt, if none runs.
    pub fn prompt(&mut self, text: &str) -> Option<String> {
        if self.state != State::Free {
            return None;
        }
        let id = self.take_id();
        self.state = State::Prompt {
            request: id,
            is_cancelled: false,
        };
        let prompt = json!([{"type": "text", "text": text}]);
        let params = json!({"sessionId": self.id, "prompt": prompt});
        Some(request(id, "session/prompt", params))
    }

    /// The lines that cancel the running prompt: agents wait for the answers to what they asked.
    pub fn cancel(&mut self) -> Vec<String> {
        let State::Prompt { is_cancelled, .. } = &mut self.state else {
            return Vec::new();
        };
        *is_cancelled = true;
        let mut lines = vec![notification(
            "session/cancel",
            json!({"sessionId": self.id}),
        )];
        let asked = std::mem::take(&mut self.asked);
        lines.extend(asked.iter().map(Asked::cancelled));
        lines
    }

    /// The line that answers a question of the agent. It may need none any more.
    pub fn decide(&mut self, ask: u64, verdict: Verdict) -> Option<String> {
        let place = self.asked.iter().position(|asked| asked.number == ask)?;
        Some(self.asked.swap_remove(place).answer(verdict))
    }

    /// Takes in a line of the agent.
    pub fn line(&mut self, line: &str) -> Vec<SessionEvent> {
        if line.trim().is_empty() {
            return Vec::new();
        }
        match Incoming::decode(line) {
            Incoming::Response { id, result } => self.answered(id, result),
            Incoming::Request { id, method, params } => self.requested(&id, &method, params),
            Incoming::Notification { method, params } => match method.as_str() {
                "session/update" => self.updated(&params),
                "$/cancel_request" => self.withdrawn(&params),
                _ => Vec::new(),
            },
            Incoming::Garbage => {
                self.garbage += 1;
                match self.garbage > MAX_GARBAGE {
                    true => self.fail(Failure::Garbage),
                    false => vec![SessionEvent::Garbage],
                }
            }
        }
    }

    fn answered(&mut self, id: u64, result: Result<Value, RpcError>) -> Vec<SessionEvent> {
        match self.state {
            State::Initialize(expected) if id == expected => self.initialized(result),
            State::Restore(expected) if id == expected => match result {
                Ok(value) => {
                    self.id = self.opening.earlier.clone().unwrap_or_default();
                    self.opened(&value, true)
                }
                // The agent has lost it. What it was told is told again.
                Err(_) => self.open_new(),
            },
            State::New(expected) if id == expected => match result {
                Ok(value) => match decoded::<NewSessionResponse>(&value) {
                    Some(new) => {
                        self.id = new.session_id;
                        self.opened(&value, false)
                    }
                    None => self.fail(Failure::Garbage),
                },
                Err(error) => self.refused("session/new", error),
            },
            State::Mode {
                request,
                is_restored,
            } if id == request => self.ready(is_restored),
            State::Prompt {
                request,
                is_cancelled,
            } if id == request => self.prompt_ended(result, is_cancelled),
            State::Initialize(_)
            | State::Restore(_)
            | State::New(_)
            | State::Mode { .. }
            | State::Free
            | State::Prompt { .. }
            | State::Broken => Vec::new(),
        }
    }

    fn prompt_ended(
        &mut self,
        result: Result<Value, RpcError>,
        is_cancelled: bool,
    ) -> Vec<SessionEvent> {
        self.state = State::Free;
        self.asked.clear();
        self.tools.clear();
        let end = match result {
            _ if is_cancelled => PromptEnd::Cancelled,
            Err(error) => return self.refused("session/prompt", error),
            Ok(value) => match decoded::<PromptResponse>(&value) {
                Some(PromptResponse { stop_reason, usage }) => match stop_reason {
                    StopReason::MaxTokens | StopReason::MaxTurnRequests => {
                        PromptEnd::CutOff { usage }
                    }
                    StopReason::Refusal => PromptEnd::Refused,
                    // Some agents end a turn with `cancelled` when a permission was refused.
                    StopReason::Cancelled | StopReason::EndTurn => PromptEnd::Finished { usage },
                },
                None => PromptEnd::Finished { usage: None },
            },
        };
        vec![SessionEvent::Ended(end)]
    }

    fn requested(&mut self, id: &Value, method: &str, params: Value) -> Vec<SessionEvent> {
        if method != "session/request_permission" {
            let message = format!("{method} is not offered");
            return vec![SessionEvent::Send(refusal(id, METHOD_NOT_FOUND, &message))];
        }
        let number = self.next_ask;
        self.next_ask += 1;
        let asked = Asked::read(number, id.clone(), params);
        let is_prompting = matches!(
            self.state,
            State::Prompt {
                is_cancelled: false,
                ..
            }
        );
        match asked {
            Some((asked, mut question)) if is_prompting => {
                self.complete(&mut question.call);
                self.asked.push(asked);
                vec![SessionEvent::Asked(Box::new(question))]
            }
            Some((asked, _)) => vec![SessionEvent::Send(asked.cancelled())],
            None => vec![SessionEvent::Send(refusal(id, -32602, "it cannot be read"))],
        }
    }

    fn withdrawn(&mut self, params: &Value) -> Vec<SessionEvent> {
        let id = [&params["id"], &params["requestId"]];
        let place = self.asked.iter().position(|asked| id.contains(&&asked.id));
        let withdrawn = place.map(|place| self.asked.swap_remove(place));
        let withdrawn = withdrawn.map(|asked| SessionEvent::AskWithdrawn(asked.number));
        withdrawn.into_iter().collect()
    }

    fn refused(&mut self, method: &'static str, error: RpcError) -> Vec<SessionEvent> {
        let RpcError { code, message } = error;
        self.fail(match code {
            LOGIN_NEEDED if method != "session/prompt" => Failure::Login(message),
            _ => Failure::Refused {
                method,
                code,
                message,
            },
        })
    }

    fn fail(&mut self, failure: Failure) -> Vec<SessionEvent> {
        self.state = State::Broken;
        vec![SessionEvent::Failed(failure)]
    }

    fn take_id(&mut self) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        id
    }
}

fn decoded<T: DeserializeOwned>(value: &Value) -> Option<T> {
    serde_json::from_value(value.clone()).ok()
}

#[cfg(test)]
mod tests;
