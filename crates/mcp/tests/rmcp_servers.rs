//! Servers made with `rmcp`, of both eras of the protocol, over both transports.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use axum::Router;
use mcp::{AcceptedTools, ServerContext, ServerSpec, Servers, Transport, add_tools};
use protocol::NetworkSetting;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorCode,
    Implementation, JsonObject, ListToolsResult, PaginatedRequestParams, ProgressNotificationParam,
    ProtocolVersion, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::net::unix::pipe;
use tools::{OutputFolder, Registry, ToolContext, Workspace};

/// The variable that makes a test of this file the program of a server.
const ERA: &str = "MCP_TEST_ERA";

/// The beginning that a server knows, and the version that it speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Era {
    Initialize,
    Discovery,
}

impl Era {
    const fn version(self) -> &'static str {
        match self {
            Self::Initialize => "2025-11-25",
            Self::Discovery => "2026-07-28",
        }
    }
}

#[derive(Clone)]
struct Adder(Era);

impl ServerHandler for Adder {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        ServerConfig::new(capabilities).with_server_info(Implementation::new("adder", "1"))
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        match self.0 {
            Era::Initialize => Cow::Borrowed(&[ProtocolVersion::V_2025_11_25]),
            Era::Discovery => Cow::Borrowed(&[ProtocolVersion::V_2026_07_28]),
        }
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let schema = json!({"type": "object", "properties": {
            "a": {"type": "integer"}, "b": {"type": "integer"},
        }});
        let schema = schema.as_object().cloned().unwrap_or_else(JsonObject::new);
        let tool = |name: &'static str, about: &'static str| {
            let hints = ToolAnnotations::new().read_only(true);
            Tool::new(name, about, schema.clone()).with_annotations(hints)
        };
        let tools = [
            tool("add", "Adds two numbers"),
            tool("fail", "Always fails"),
        ];
        Ok(ListToolsResult::with_all_items(tools.to_vec()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if request.name == "fail" {
            let content = vec![ContentBlock::text("It cannot be done.")];
            return Ok(CallToolResult::error(content).into());
        }
        let arguments = request.arguments.unwrap_or_default();
        let number = |key: &str| arguments.get(key).and_then(Value::as_i64);
        let (Some(a), Some(b)) = (number("a"), number("b")) else {
            return Err(ErrorData::new(
                ErrorCode::INVALID_PARAMS,
                "no numbers",
                None,
            ));
        };
        if let Some(token) = context.meta.get_progress_token() {
            let progress = ProgressNotificationParam::new(token, 1.0).with_message("adding");
            // A client that has left gets no result either.
            let _ = context.peer.notify_progress(progress).await;
        }
        Ok(CallToolResult::structured(json!({"sum": a + b})).into())
    }
}

fn executor() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().unwrap()
}

/// Not a test, but the program of a server, if the variable says so. Its third descriptor is the output of the
/// protocol, since the runner of tests prints to the first.
#[test]
fn the_program_of_a_server() {
    let era = match std::env::var(ERA).as_deref() {
        Ok("initialize") => Era::Initialize,
        Ok("discovery") => Era::Discovery,
        Ok(_) | Err(_) => return,
    };
    executor().block_on(async {
        let input = pipe::OpenOptions::new().open_receiver("/dev/fd/0").unwrap();
        let output = pipe::OpenOptions::new().open_sender("/dev/fd/3").unwrap();
        let running = Adder(era).serve((input, output)).await.unwrap();
        running.waiting().await.unwrap();
    });
}

fn program(era: Era) -> Transport {
    let test = std::env::current_exe().unwrap();
    let script = format!(
        "exec 3>&1 >/dev/null; exec '{}' --exact the_program_of_a_server --nocapture",
        test.display()
    );
    let era = match era {
        Era::Initialize => "initialize",
        Era::Discovery => "discovery",
    };
    Transport::Stdio {
        command: "/bin/sh".to_owned(),
        args: vec!["-c".to_owned(), script],
        env: vec![(ERA.to_owned(), era.to_owned())],
        network: NetworkSetting::Off,
        readable: Vec::new(),
    }
}

/// Serves at a free port until the executor ends.
async fn serve_http(era: Era) -> SocketAddr {
    let service: StreamableHttpService<Adder, LocalSessionManager> = StreamableHttpService::new(
        move || Ok(Adder(era)),
        Arc::default(),
        StreamableHttpServerConfig::default(),
    );
    let router = Router::new().nest_service("/mcp", service);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}

/// What a member sees of a server.
async fn uses(folder: &Path, transport: Transport, era: Era) {
    let seen = Arc::new(Mutex::new(String::new()));
    let shown = Arc::clone(&seen);
    let context = ServerContext {
        folder: folder.to_path_buf(),
        confinement: None,
        mark: format!("{}.mcp-test", std::process::id()),
        output: OutputFolder::new(folder.join("outputs")),
        progress: Some(Arc::new(move |text: &str| {
            *shown.lock().unwrap() = text.to_owned();
        })),
    };
    let what = format!("{transport:?} {era:?}");
    let spec = ServerSpec {
        name: "adder".to_owned(),
        transport,
        call_limit: Duration::from_secs(120),
    };
    let accepted = AcceptedTools::new(Some(folder.join("state")), folder);
    let servers = Servers::new(vec![spec], accepted, context);
    let checked = servers.check("adder").await.unwrap();
    assert_eq!(checked.version, era.version(), "{what}");
    assert_eq!(checked.tools.len(), 2, "{what}");
    let mut registry = Registry::default();
    add_tools(&mut registry, &servers, 0).unwrap();
    let workspace = Workspace::open(folder, []).unwrap();
    let context = ToolContext::new(workspace, OutputFolder::new(folder.join("outputs")), "test");
    let search = json!({"query": "add"}).to_string();
    let found = registry.call("tool_search", &search, &context).await;
    assert!(
        found.text.contains("Adds two numbers"),
        "{what}: {}",
        found.text
    );
    let call = async |tool: &str, arguments: Value| {
        let arguments = json!({"tool": format!("mcp__adder__{tool}"), "arguments": arguments});
        registry
            .call("mcp_call", &arguments.to_string(), &context)
            .await
    };
    let sum = call("add", json!({"a": 2, "b": 40})).await;
    assert!(
        !sum.is_error && sum.text.contains("42"),
        "{what}: {}",
        sum.text
    );
    assert_eq!(*seen.lock().unwrap(), "adder 1 adding", "{what}");
    let failed = call("fail", json!({})).await;
    assert!(failed.is_error, "{what}");
    assert!(
        failed.text.contains("It cannot be done."),
        "{what}: {}",
        failed.text
    );
    let refused = call("add", json!({"a": 2})).await;
    assert!(refused.is_error, "{what}: {}", refused.text);
}

#[test]
fn servers_of_both_eras_are_used_over_stdio() {
    for era in [Era::Initialize, Era::Discovery] {
        let folder = tempfile::tempdir().unwrap();
        executor().block_on(uses(folder.path(), program(era), era));
    }
}

#[test]
fn servers_of_both_eras_are_used_over_http() {
    for era in [Era::Initialize, Era::Discovery] {
        let folder = tempfile::tempdir().unwrap();
        executor().block_on(async {
            let address = serve_http(era).await;
            let transport = Transport::Http {
                url: format!("http://{address}/mcp"),
                headers: Vec::new(),
            };
            uses(folder.path(), transport, era).await;
        });
    }
}
