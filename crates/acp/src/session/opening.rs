//! How a session is begun, or gone on with.

use super::{Failure, Session, SessionEvent, State, decoded};
use crate::schema::InitializeResponse;
use crate::wire::{RpcError, request};
use serde_json::{Value, json};

impl Session {
    pub(super) fn initialized(&mut self, result: Result<Value, RpcError>) -> Vec<SessionEvent> {
        let value = match result {
            Ok(value) => value,
            Err(error) => return self.refused("initialize", error),
        };
        let version = value["protocolVersion"].clone();
        if version != json!(1) {
            return self.fail(Failure::Version(version.to_string()));
        }
        let Some(answer) = decoded::<InitializeResponse>(&value) else {
            return self.fail(Failure::Garbage);
        };
        self.agent = answer
            .agent_info
            .map(|info| format!("{} {}", info.name, info.version))
            .unwrap_or_default();
        let capabilities = answer.agent_capabilities;
        let restore = match capabilities.session_capabilities.resume.is_some() {
            true => Some("session/resume"),
            false => capabilities.load_session.then_some("session/load"),
        };
        match (self.opening.earlier.clone(), restore) {
            (Some(earlier), Some(method)) => {
                let id = self.take_id();
                self.state = State::Restore(id);
                let mut params = self.folder_and_servers();
                params["sessionId"] = earlier.into();
                vec![SessionEvent::Send(request(id, method, params))]
            }
            (Some(_), None) | (None, _) => self.open_new(),
        }
    }

    pub(super) fn open_new(&mut self) -> Vec<SessionEvent> {
        let id = self.take_id();
        self.state = State::New(id);
        let params = self.folder_and_servers();
        vec![SessionEvent::Send(request(id, "session/new", params))]
    }

    fn folder_and_servers(&self) -> Value {
        let servers = self.opening.team.iter().map(|team| {
            let pair = |(name, value): &(String, String)| json!({"name": name, "value": value});
            let environment: Vec<Value> = team.environment.iter().map(pair).collect();
            json!({"name": "team", "command": team.program, "args": team.args, "env": environment})
        });
        let servers: Vec<Value> = servers.collect();
        json!({"cwd": self.opening.folder, "mcpServers": servers})
    }

    pub(super) fn opened(&mut self, value: &Value, is_restored: bool) -> Vec<SessionEvent> {
        let wanted = self.opening.mode.clone();
        let modes = value["modes"]["availableModes"].as_array();
        let has = |wanted: &String| {
            let mut modes = modes.into_iter().flatten();
            modes.any(|mode| mode["id"] == wanted.as_str())
        };
        match wanted.filter(has) {
            Some(mode) => {
                let request_id = self.take_id();
                self.state = State::Mode {
                    request: request_id,
                    is_restored,
                };
                let params = json!({"sessionId": self.id, "modeId": mode});
                vec![SessionEvent::Send(request(
                    request_id,
                    "session/set_mode",
                    params,
                ))]
            }
            None => self.ready(is_restored),
        }
    }

    pub(super) fn ready(&mut self, is_restored: bool) -> Vec<SessionEvent> {
        self.state = State::Free;
        vec![SessionEvent::Opened {
            id: self.id.clone(),
            is_restored,
            agent: self.agent.clone(),
        }]
    }
}
