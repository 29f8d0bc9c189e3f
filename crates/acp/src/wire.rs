//! The lines of the protocol: JSON-RPC 2.0, one object a line.

use serde_json::{Value, json};

/// A line of the agent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Incoming {
    Response {
        id: u64,
        result: Result<Value, RpcError>,
    },
    Request {
        id: Value,
        method: String,
        params: Value,
    },
    Notification {
        method: String,
        params: Value,
    },
    /// Something else.
    Garbage,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RpcError {
    pub(crate) code: i64,
    pub(crate) message: String,
}

/// The code for a request that nobody here answers.
pub(crate) const METHOD_NOT_FOUND: i64 = -32601;
/// The code of an agent that wants its user to log in first.
pub(crate) const LOGIN_NEEDED: i64 = -32000;

impl Incoming {
    pub(crate) fn decode(line: &str) -> Self {
        let Ok(Value::Object(mut fields)) = serde_json::from_str(line) else {
            return Self::Garbage;
        };
        let id = fields.remove("id");
        let method = fields.get("method").and_then(Value::as_str);
        let params = fields.get("params").cloned().unwrap_or_default();
        match (method.map(str::to_owned), id) {
            (Some(method), Some(id)) if !id.is_null() => Self::Request { id, method, params },
            (Some(method), _) => Self::Notification { method, params },
            (None, Some(id)) => match (id.as_u64(), fields.remove("error")) {
                (Some(id), Some(error)) => Self::Response {
                    id,
                    result: Err(rpc_error(&error)),
                },
                (Some(id), None) => Self::Response {
                    id,
                    result: Ok(fields.remove("result").unwrap_or_default()),
                },
                (None, _) => Self::Garbage,
            },
            (None, None) => Self::Garbage,
        }
    }
}

fn rpc_error(error: &Value) -> RpcError {
    let message = error["message"].as_str().unwrap_or("no message");
    let details = error["data"]["details"].as_str().or(error["data"].as_str());
    RpcError {
        code: error["code"].as_i64().unwrap_or_default(),
        message: match details {
            Some(details) if !message.contains(details) => format!("{message}: {details}"),
            _ => message.to_owned(),
        },
    }
}

pub(crate) fn request(id: u64, method: &str, params: Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

pub(crate) fn notification(method: &str, params: Value) -> String {
    json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string()
}

pub(crate) fn response(id: &Value, result: Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string()
}

pub(crate) fn refusal(id: &Value, code: i64, message: &str) -> String {
    let error = json!({"code": code, "message": message});
    json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string()
}
