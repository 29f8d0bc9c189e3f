//! The server of MCP Agent Mail.

use super::{free_port, known_port, tool};
use crate::measure::worker::{self, Job};
use anyhow::Context as _;
use std::path::Path;
use std::time::Duration;
use test_support::{Worker, try_wait_for};

/// How long it may take to start: it loads much.
const START: Duration = Duration::from_secs(120);

/// Starts the server, with its database and its repository in `dir`, and waits until it listens.
pub(in crate::measure) fn start(dir: &Path) -> anyhow::Result<Worker> {
    let python = tool::AGENT_MAIL
        .path()
        .context("mcp-agent-mail is not installed")?;
    let port = free_port(dir)?;
    let home = dir.canonicalize()?.display().to_string();
    let settings = [
        format!("HOME={home}"),
        format!("HTTP_PORT={port}"),
        format!("STORAGE_ROOT={home}/archive"),
        format!("DATABASE_URL=sqlite+aiosqlite:///{home}/mail.sqlite3"),
        // It asks no model, and prints no pictures of what it does.
        "LLM_ENABLED=false".to_owned(),
        "TOOLS_LOG_ENABLED=false".to_owned(),
        "LOG_RICH_ENABLED=false".to_owned(),
        // Or it waits for a list of prices from the network.
        "LITELLM_LOCAL_MODEL_COST_MAP=True".to_owned(),
    ];
    // `python -m mcp_agent_mail` prints its help whatever it is told.
    let run = "exec \"$0\" -c 'from mcp_agent_mail.cli import app; app()' serve-http >agent-mail.log 2>&1";
    let python = python.display().to_string();
    let arguments = std::iter::once("env".to_owned())
        .chain(settings)
        .chain(["sh", "-c", run, &python].map(str::to_owned))
        .collect();
    let dir = dir.to_path_buf();
    let server = worker::start(&Job::Exec {
        dir: dir.clone(),
        arguments,
    })?;
    let address = format!("127.0.0.1:{}", known_port(&dir)?);
    let listens = || std::net::TcpStream::connect(&address).ok();
    try_wait_for(START, listens).context("the server of mcp-agent-mail does not start")?;
    Ok(server)
}
