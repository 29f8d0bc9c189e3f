//! `web`: the team as a page in the browser.

use crate::cli::Args;
use crate::commands::requests::login_name;
use crate::failure::{Failure, Kind};
use crate::output::{print, print_json};
use serde_json::{Value, json};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::Path;
use std::process::{Command, Stdio};
use teamdir::TeamDir;
use web::{ServeError, ServeOptions, Server, Session, Store, StoreError, login_url};

/// Show and control the team on a page in your browser.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead web --open
  team-lead web --read-only
  team-lead web --link           # for one more browser, while the server runs
  team-lead web --sessions
  team-lead web --revoke all

It serves browsers of this machine until Ctrl-C, and prints an address with a token that counts once. The
page shows first what waits for you, then the members, the board, messages, costs, work and events; you can
do there what the commands do. docs/web.md says how it is protected.

With --json: {\"address\", \"url\"}; with --sessions {\"sessions\": [{\"id\", \"person\", \"agent\", \"created\",
\"used\"}]}; with --revoke {\"revoked\"}.")]
pub(crate) struct WebVerb {
    /// The port; without it that of the last time if it is free, or any.
    #[arg(long, value_name = "N")]
    port: Option<u16>,
    /// Open the page in your browser.
    #[arg(long)]
    open: bool,
    /// Let nobody change anything on the page.
    #[arg(long)]
    read_only: bool,
    /// Serve other machines too, at this address of yours. Nothing is encrypted.
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<IpAddr>,
    /// Print an address for one more browser. The server must be running.
    #[arg(long, conflicts_with_all = ["port", "open", "read_only", "listen"])]
    link: bool,
    /// List the browsers that are let in.
    #[arg(long, conflicts_with_all = ["port", "open", "read_only", "listen", "link"])]
    sessions: bool,
    /// Let a browser in no more: its session as in --sessions, or `all`.
    #[arg(long, value_name = "ID", conflicts_with_all = ["port", "open", "read_only", "listen", "link", "sessions"])]
    revoke: Option<String>,
}

pub(crate) fn run(team: &TeamDir, args: &Args, command: &WebVerb) -> Result<(), Failure> {
    let store = Store::new(member::state_folder(), team.workspace())?;
    if let Some(id) = &command.revoke {
        return revoke(args, &store, id);
    }
    if command.sessions {
        return show_sessions(args, &store);
    }
    if command.link {
        return show_link(args, &store);
    }
    serve(team, args, command, store)
}

fn serve(team: &TeamDir, args: &Args, command: &WebVerb, store: Store) -> Result<(), Failure> {
    let server = Server::bind(
        store.clone(),
        ServeOptions {
            port: command.port,
            listen: command.listen,
            read_only: command.read_only,
            person: login_name().unwrap_or_else(|| "user".to_owned()),
        },
    )?;
    processes::repair(team);
    let address = shown_address(server.address());
    let url = login_url(&address, &store.new_token()?);
    if !server.address().ip().is_loopback() {
        args.note(
            "warning: other machines can reach this server, and what it sends is not encrypted: \
             whoever can read the network can take over your session",
        );
    }
    if command.open {
        open(args, &store.opening_page(&url)?);
    }
    match args.json {
        true => print_json(&json!({"address": address, "url": url}))?,
        false => {
            print(&url)?;
            args.note("The address counts once, for one browser. Ctrl-C ends the server; the team goes on.");
        }
    }
    Ok(server.run(team)?)
}

/// An address that a browser can be sent to.
fn shown_address(address: SocketAddr) -> String {
    if !address.ip().is_unspecified() {
        return address.to_string();
    }
    // No packet is sent: this only asks which address of ours would be used.
    let own = UdpSocket::bind((address.ip(), 0)).and_then(|socket| {
        socket.connect(("192.0.2.1", 9))?;
        socket.local_addr()
    });
    let ip = own.map_or(address.ip(), |own| own.ip());
    SocketAddr::new(ip, address.port()).to_string()
}

/// Opens a file in the user's browser. The command line names no secret.
fn open(args: &Args, page: &Path) {
    let browser = std::env::var_os("BROWSER").filter(|browser| !browser.is_empty());
    let browser = browser.unwrap_or_else(|| "xdg-open".into());
    let mut command = Command::new(&browser);
    command.arg(page).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    match command.spawn() {
        // It is waited for, so that nothing is left of it.
        Ok(mut child) => drop(std::thread::spawn(move || child.wait())),
        Err(error) => {
            let browser = browser.to_string_lossy();
            args.note(&format!(
                "cannot start {browser}: {error}; open the address yourself"
            ));
        }
    }
}

fn show_link(args: &Args, store: &Store) -> Result<(), Failure> {
    if !store.is_served() {
        let failure = Failure::new(Kind::Refused, "no server shows this team");
        return Err(failure.hint("team-lead web"));
    }
    let address = store.read()?.address;
    let address = address
        .parse()
        .map_or_else(|_| address.clone(), shown_address);
    let url = login_url(&address, &store.new_token()?);
    match args.json {
        true => print_json(&json!({"address": address, "url": url})),
        false => print(&url),
    }
}

fn show_sessions(args: &Args, store: &Store) -> Result<(), Failure> {
    let sessions = store.read()?.sessions;
    if args.json {
        let sessions: Vec<Value> = sessions.iter().map(as_json).collect();
        return print_json(&json!({"sessions": sessions}));
    }
    if sessions.is_empty() {
        args.note("No browser is let in.");
    }
    sessions.iter().try_for_each(|session| {
        print(&format!(
            "{}  {}, last used {} UTC, {}",
            session.id,
            session.person,
            session.used.to_minute(),
            session.agent
        ))
    })
}

fn as_json(session: &Session) -> Value {
    json!({
        "id": session.id, "person": session.person, "agent": session.agent,
        "created": session.created, "used": session.used,
    })
}

fn revoke(args: &Args, store: &Store, id: &str) -> Result<(), Failure> {
    if !web::revoke(store, id)? && id != "all" {
        let message = format!("there is no session {id}");
        return Err(Failure::new(Kind::UnknownRequest, message).hint("team-lead web --sessions"));
    }
    let text = match id {
        "all" => "Ended all sessions".to_owned(),
        id => format!("Ended session {id}"),
    };
    args.confirm(&json!({"revoked": id}), &text)
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let message = error.to_string();
        match error {
            StoreError::Held(_) => Self::new(Kind::Held, message).hint("team-lead web --link"),
            StoreError::NoFolder | StoreError::File { .. } | StoreError::Foreign(_) => {
                Self::failed(message)
            }
        }
    }
}

impl From<ServeError> for Failure {
    fn from(error: ServeError) -> Self {
        let message = error.to_string();
        match error {
            ServeError::Store(error) => error.into(),
            ServeError::Listen { .. } | ServeError::Start(_) => Self::failed(message),
        }
    }
}
