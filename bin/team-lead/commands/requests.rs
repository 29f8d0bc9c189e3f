//! `requests`, `approve` and `reject`.

mod words;

use crate::cli::Args;
use crate::failure::{Failure, Kind};
use crate::names;
use crate::out::print;
use protocol::{Party, Request, RequestFile, RequestId, RequestKind, RequestStatus};
use serde_json::json;
use team::Actor;
use teamdir::{RequestError, TeamDir};

/// List the requests, those that wait for an answer first, or show one.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead requests
  team-lead requests 1a2b3c4d

With --json: {\"requests\": [...]}, each as in its file.")]
pub(crate) struct Requests {
    /// Show this one with everything that is known about it.
    id: Option<RequestId>,
}

/// Approve a plan: its author may go ahead.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead approve 5e6f7a8b
  team-lead approve alice --feedback 'Fine, but keep the old flag.'

With --json: {\"request_id\", \"to\", \"status\"}.")]
pub(crate) struct Approve {
    /// The request, or the member whose plan waits.
    #[arg(value_name = "ID|NAME")]
    which: String,
    /// Words for its author.
    #[arg(long, default_value = "", hide_default_value = true)]
    feedback: String,
}

/// Reject a plan: its author has to submit a better one.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  team-lead reject alice --feedback 'Add a test first.'

With --json: {\"request_id\", \"to\", \"status\"}.")]
pub(crate) struct Reject {
    /// The request, or the member whose plan waits.
    #[arg(value_name = "ID|NAME")]
    which: String,
    /// What is wrong with the plan.
    #[arg(long)]
    feedback: String,
}

pub(crate) fn show(team: &TeamDir, args: &Args, wish: &Requests) -> Result<(), Failure> {
    processes::repair(team);
    let found = match &wish.id {
        Some(id) => vec![team.request(id)?],
        None => all(team, args)?,
    };
    if args.json {
        let files: Vec<RequestFile> = found.into_iter().map(RequestFile::from).collect();
        return print(&json!({"requests": files}).to_string());
    }
    if found.is_empty() {
        return print("No requests.");
    }
    let whole = wish.id.is_some();
    let now = teamdir::now();
    found
        .iter()
        .try_for_each(|request| print(&words::describe(request, now, whole)))
}

/// All requests: the pending ones first, both parts from the oldest to the newest.
fn all(team: &TeamDir, args: &Args) -> Result<Vec<Request>, Failure> {
    let mut found = Vec::new();
    for request in team.requests()? {
        match request {
            Ok(request) => found.push(request),
            // A broken file is worth a word and must not hide the others.
            Err(error) => args.note(&format!("passed over: {error}")),
        }
    }
    found.sort_by_key(|request| request.status() != RequestStatus::Pending);
    Ok(found)
}

pub(crate) fn approve(team: &TeamDir, args: &Args, wish: &Approve) -> Result<(), Failure> {
    decide(team, args, &wish.which, true, &wish.feedback)
}

pub(crate) fn reject(team: &TeamDir, args: &Args, wish: &Reject) -> Result<(), Failure> {
    if wish.feedback.trim().is_empty() {
        return Err(Failure::usage(
            "say in --feedback what is wrong with the plan",
        ));
    }
    decide(team, args, &wish.which, false, &wish.feedback)
}

fn decide(
    team: &TeamDir,
    args: &Args,
    which: &str,
    approve: bool,
    feedback: &str,
) -> Result<(), Failure> {
    let id = find(team, which)?;
    let request = team::decide_plan(team, &Actor::user(), &id, approve, feedback)?;
    let (author, status) = (&request.from, request.status());
    args.confirm(
        &json!({"request_id": request.id, "to": author, "status": status}),
        &format!("Plan {} for '{author}'", status.as_str()),
    )
}

/// The request that is meant: by its id, or by the member whose plan waits.
fn find(team: &TeamDir, which: &str) -> Result<RequestId, Failure> {
    if let Ok(id) = RequestId::new(which) {
        match team.request(&id) {
            Err(RequestError::Unknown(_)) => {}
            result => return Ok(result.map(|request| request.id)?),
        }
    }
    let unknown = || {
        Failure::new(
            Kind::UnknownRequest,
            format!("there is no request and no member called {which}"),
        )
        .hint("team-lead requests")
    };
    let name = names::member(&*team.roster()?, which).map_err(|_| unknown())?;
    let author = Party::Member(name.clone());
    let plans = team::pending(team)?.into_iter();
    // The latest one counts, should a member have several.
    let mut plans = plans.filter(|r| r.kind() == RequestKind::Plan && r.from == author);
    plans.next_back().map(|request| request.id).ok_or_else(|| {
        Failure::new(
            Kind::UnknownRequest,
            format!("no plan of {name} waits for an answer"),
        )
        .hint("team-lead requests")
    })
}
