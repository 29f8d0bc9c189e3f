//! `requests`, `approve` and `reject`.

mod describe;

use crate::cli::Args;
use crate::failure::{Failure, Kind};
use crate::names;
use crate::output::{print, print_json};
use protocol::{Party, Request, RequestFile, RequestId, RequestKind, RequestStatus};
use serde_json::json;
use team::Actor;
use teamdir::{RequestError, TeamDir};

/// List the requests, pending ones first, or show one.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead requests
  team-lead requests 1a2b3c4d

With --json: {\"requests\": [...]}, each as in its file.")]
pub(crate) struct Requests {
    /// Show all details of this request.
    id: Option<RequestId>,
}

/// Approve a plan: its author may carry it out.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead approve 5e6f7a8b
  team-lead approve alice --feedback 'Fine, but keep the old flag.'

With --json: {\"request_id\", \"to\", \"status\"}.")]
pub(crate) struct Approve {
    /// The request, or the member whose plan is pending.
    #[arg(value_name = "ID|NAME")]
    which: String,
    /// A comment for the author.
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
    /// The request, or the member whose plan is pending.
    #[arg(value_name = "ID|NAME")]
    which: String,
    /// What is wrong with the plan.
    #[arg(long)]
    feedback: String,
}

pub(crate) fn show(team: &TeamDir, args: &Args, command: &Requests) -> Result<(), Failure> {
    processes::repair(team);
    let found = match &command.id {
        Some(id) => vec![team.request(id)?],
        None => all(team, args)?,
    };
    if args.json {
        let files: Vec<RequestFile> = found.into_iter().map(RequestFile::from).collect();
        return print_json(&json!({"requests": files}));
    }
    if found.is_empty() {
        return print("No requests.");
    }
    let full = command.id.is_some();
    let now = teamdir::now();
    found
        .iter()
        .try_for_each(|request| print(&describe::describe(request, now, full)))
}

/// All requests, pending ones first, each group from oldest to newest.
fn all(team: &TeamDir, args: &Args) -> Result<Vec<Request>, Failure> {
    let mut found = Vec::new();
    for request in team.requests()? {
        match request {
            Ok(request) => found.push(request),
            // An unreadable file must not hide the other requests.
            Err(error) => args.note(&format!("skipped: {error}")),
        }
    }
    found.sort_by_key(|request| request.status() != RequestStatus::Pending);
    Ok(found)
}

pub(crate) fn approve(team: &TeamDir, args: &Args, command: &Approve) -> Result<(), Failure> {
    decide(team, args, &command.which, true, &command.feedback)
}

pub(crate) fn reject(team: &TeamDir, args: &Args, command: &Reject) -> Result<(), Failure> {
    if command.feedback.trim().is_empty() {
        return Err(Failure::usage(
            "say in --feedback what is wrong with the plan",
        ));
    }
    decide(team, args, &command.which, false, &command.feedback)
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

/// Finds the request by its id, or by the member whose plan is pending.
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
    // If a member has several pending plans, the latest one is meant.
    let mut plans = plans.filter(|r| r.kind() == RequestKind::Plan && r.from == author);
    plans.next_back().map(|request| request.id).ok_or_else(|| {
        Failure::new(Kind::UnknownRequest, format!("{name} has no pending plan"))
            .hint("team-lead requests")
    })
}
