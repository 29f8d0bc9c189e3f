//! The servers that everybody has, from their packages.

use super::{call_found, search, test_tool};
use crate::harness::{LIMIT, Workspace, call};
use serde_json::{Value, json};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use test_support::wait_until;

const PACKAGES: &str = "mcp/node_modules/@modelcontextprotocol";

/// The calls of all tools of the server, and a part of what each returns.
fn everything() -> Vec<(&'static str, Value, &'static str)> {
    let file = json!({"name": "a.gz", "data": "data:text/plain;base64,aGVsbG8=", "outputType": "resource"});
    vec![
        (
            "echo",
            json!({"message": "hello there"}),
            "Echo: hello there",
        ),
        (
            "get-annotated-message",
            json!({"messageType": "error", "includeImage": true}),
            "image/png",
        ),
        ("get-env", json!({}), "TEAM_SANDBOX_LEVEL"),
        (
            "get-resource-links",
            json!({"count": 2}),
            "Resource demo://",
        ),
        (
            "get-resource-reference",
            json!({"resourceType": "Text", "resourceId": 1}),
            "demo://",
        ),
        (
            "get-structured-content",
            json!({"location": "Chicago"}),
            "temperature",
        ),
        ("get-sum", json!({"a": 2, "b": 3}), "5"),
        ("get-tiny-image", json!({}), "image/png"),
        ("gzip-file-as-resource", file, "application/gzip"),
        ("toggle-simulated-logging", json!({}), "logging"),
        ("toggle-subscriber-updates", json!({}), "updates"),
        (
            "trigger-long-running-operation",
            json!({"duration": 0.2, "steps": 2}),
            "completed",
        ),
        // It runs only for clients that poll tasks.
        (
            "simulate-research-query",
            json!({"topic": "x"}),
            "requires task augmentation",
        ),
    ]
}

fn calls_every_tool(workspace: &Workspace, server: &str, is_local: bool) {
    let mut replies = vec![search("echo")];
    for (tool, arguments, _) in everything() {
        replies.push(call_found(&format!("mcp__{server}__{tool}"), arguments));
    }
    let requests = workspace.work("alice", replies);
    assert!(
        requests[1].last_text().contains("Message to echo"),
        "{}",
        requests[1].last_text()
    );
    for ((tool, _, expected), request) in everything().into_iter().zip(&requests[2..]) {
        let body = request.messages().last().unwrap().to_string();
        let expected = match (tool, is_local) {
            ("get-env", false) => "PATH",
            _ => expected,
        };
        assert!(body.contains(expected), "{tool}: {body}");
        assert!(!body.contains("sk-"), "{tool} has a key: {body}");
    }
    same_prefix(&requests);
}

/// Each request begins with the bytes of the one before: its tools, its prompt and its messages.
fn same_prefix(requests: &[test_support::llm_server::CapturedRequest]) {
    for pair in requests.windows(2) {
        let fixed = |request: &test_support::llm_server::CapturedRequest| {
            let body = request.body();
            json!([body["tools"], body["system"]]).to_string()
        };
        assert_eq!(fixed(&pair[0]), fixed(&pair[1]));
        let bare = |message: &Value| {
            let mut text = message.to_string();
            text = text.replace(r#","cache_control":{"type":"ephemeral"}"#, "");
            text.replace(r#""cache_control":{"type":"ephemeral"},"#, "")
        };
        for (before, after) in pair[0].messages().iter().zip(pair[1].messages()) {
            assert_eq!(bare(before), bare(after));
        }
    }
}

#[test]
fn every_tool_of_everything_runs_over_stdio() {
    let test = "every_tool_of_everything_runs_over_stdio";
    let Some(packages) = test_tool(PACKAGES, test) else {
        return;
    };
    let workspace = Workspace::with_config("");
    let modules = packages.parent().unwrap();
    let program = packages.join("server-everything/dist/index.js");
    let server = json!({"command": "node", "args": [program], "readable": [modules]});
    workspace.write(
        ".mcp.json",
        &json!({"mcpServers": {"all": server}}).to_string(),
    );
    calls_every_tool(&workspace, "all", true);
}

/// The server, which ends with the test.
struct HttpServer {
    child: Child,
    url: String,
}

impl HttpServer {
    /// Starts a server at a free port, with a command that is told the port.
    fn start(command: impl FnOnce(u16) -> Command) -> Self {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let mut command = command(port);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().unwrap();
        wait_until("the server listens", LIMIT, || {
            std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        let url = format!("http://127.0.0.1:{port}/mcp");
        Self { child, url }
    }

    fn everything(packages: &Path) -> Self {
        Self::start(|port| {
            let mut command = Command::new("node");
            command
                .arg(packages.join("server-everything/dist/index.js"))
                .arg("streamableHttp")
                .env("PORT", port.to_string());
            command
        })
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn every_tool_of_everything_runs_over_http() {
    let test = "every_tool_of_everything_runs_over_http";
    let Some(packages) = test_tool(PACKAGES, test) else {
        return;
    };
    let server = HttpServer::everything(&packages);
    let config = format!("[mcp_servers.web]\nurl = '{}'\n", server.url);
    let workspace = Workspace::with_config(&config);
    calls_every_tool(&workspace, "web", false);
}

#[test]
fn known_tools_are_offered_by_name_if_their_schemas_fit() {
    let test = "known_tools_are_offered_by_name_if_their_schemas_fit";
    let Some(packages) = test_tool(PACKAGES, test) else {
        return;
    };
    let modules = packages.parent().unwrap().display();
    let program = packages.join("server-filesystem/dist/index.js");
    let program = program.display();
    let config = format!(
        "[mcp]\nschema_tokens = 8000\n[mcp_servers.files]\ncommand = 'node'\nargs = ['{program}', '.']\n\
         readable = ['{modules}']\n"
    );
    let workspace = Workspace::with_config(&config);
    workspace.write("note.txt", "what is in the note");
    let first = workspace.work("alice", vec![search("read")]);
    assert!(first[0].tool_names().contains(&"tool_search"));
    let path = workspace.path().join("note.txt");
    let read = call("mcp__files__read_text_file", json!({"path": path}));
    let written = workspace.path().join("new.txt");
    let write = call(
        "mcp__files__write_file",
        json!({"path": written, "content": "new"}),
    );
    let outside = call("mcp__files__read_text_file", json!({"path": "/etc/passwd"}));
    let second = workspace.work("bob", vec![read, write, outside]);
    let names = second[0].tool_names();
    assert!(names.contains(&"mcp__files__read_text_file") && !names.contains(&"tool_search"));
    assert!(second[1].last_text().contains("what is in the note"));
    assert_eq!(std::fs::read_to_string(written).unwrap(), "new");
    assert!(
        second[3].last_text().contains("denied"),
        "{}",
        second[3].last_text()
    );
    same_prefix(&second);
    let checked = workspace.json(&["mcp", "check", "--trust"]);
    assert_eq!(checked["servers"][0]["tools"].as_array().unwrap().len(), 14);
    assert_eq!(checked["servers"][0]["version"], "2025-11-25");
}

const SDK_SERVER: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/e2e/python/mcp_sdk_server.py"
);

#[test]
fn a_server_of_the_sdk_for_python_is_spoken_with_in_the_new_era() {
    let test = "a_server_of_the_sdk_for_python_is_spoken_with_in_the_new_era";
    let Some(python) = test_tool("python/bin/python", test) else {
        return;
    };
    let server = HttpServer::start(|port| {
        let mut command = Command::new(&python);
        command.arg(SDK_SERVER).arg(port.to_string());
        command
    });
    let packages = python.ancestors().nth(2).unwrap();
    let real = python.canonicalize().unwrap();
    let installed = real.ancestors().nth(2).unwrap();
    let program = json!({"command": python, "args": [SDK_SERVER], "readable": [packages, installed, SDK_SERVER]});
    let servers = json!({"sdk": program, "web": {"type": "http", "url": server.url}});
    let workspace = Workspace::with_config("");
    workspace.write(".mcp.json", &json!({ "mcpServers": servers }).to_string());
    let checked = workspace.json(&["mcp", "check", "--trust"]);
    for server in checked["servers"].as_array().unwrap() {
        assert_eq!(server["version"], "2026-07-28", "{checked}");
        assert_eq!(server["tools"].as_array().unwrap().len(), 2, "{checked}");
    }
    let sum = |server: &str| call_found(&format!("mcp__{server}__add"), json!({"a": 2, "b": 40}));
    let fails = call_found("mcp__sdk__fail", json!({}));
    let requests = workspace.work("alice", vec![search("add"), sum("sdk"), sum("web"), fails]);
    assert!(
        requests[2].last_text().contains("42"),
        "{}",
        requests[2].last_text()
    );
    assert!(
        requests[3].last_text().contains("42"),
        "{}",
        requests[3].last_text()
    );
    assert!(
        requests[4]
            .last_text()
            .contains("Error executing tool fail"),
        "{}",
        requests[4].last_text()
    );
}
