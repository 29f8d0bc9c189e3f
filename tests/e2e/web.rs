//! `team-lead web`: the server against attacks and load, and the page in a real browser.

mod attacks;
mod browser;
mod client;
mod hostile;
mod keys;
mod listen;
mod load;
mod outcomes;
mod scene;
mod sessions;
mod squat;

use crate::harness::{LIMIT, Session, Workspace};
use client::Client;
use serde_json::Value;

/// A running server, and a client with a session.
struct Served {
    session: Session,
    client: Client,
    /// The address with the token, which the client has used.
    url: String,
}

/// Starts the server. Members that it starts ask their models under the name of carol.
fn start(workspace: &Workspace, args: &[&str]) -> (Session, String) {
    let all = [&["--json", "web"], args].concat();
    let mut session = workspace.start_command(&mut workspace.command_as("carol", &all));
    let line = session.line(LIMIT);
    let shown: Value = serde_json::from_str(&line).unwrap();
    (session, shown["url"].as_str().unwrap().to_owned())
}

fn serve(workspace: &Workspace, args: &[&str]) -> Served {
    let (session, url) = start(workspace, args);
    let client = Client::login(&url);
    Served {
        session,
        client,
        url,
    }
}

/// The address and the token of a link.
fn parts(url: &str) -> (&str, &str) {
    let rest = url.strip_prefix("http://").unwrap();
    rest.split_once("/#").unwrap()
}
