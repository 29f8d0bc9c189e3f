//! `requests`, `approve`, `reject` and `answer`.

mod describe;
mod elsewhere;

use crate::cli::Args;
use crate::failure::{Failure, Kind};
use crate::input::text_or_stdin;
use crate::names;
use crate::output::{print, print_json, print_wrapped};
use clap::builder::styling::{AnsiColor, Style};
use nix::unistd::{Uid, User};
use protocol::{
    GrantScope, Party, Request, RequestFile, RequestId, RequestKind, RequestState, RequestStatus,
    Subject,
};
use rules::call_text;
use serde_json::json;
use team::{Actor, PersonAnswer};
use teamdir::{RequestError, TeamDir};
use terminal_text::clean;

/// List the requests, or show one: first what waits for a person, oldest first, and how to answer it.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead requests
  team-lead requests --waiting
  team-lead requests 1a2b3c4d

With --json: {\"requests\": [...]}, each as in its file.")]
pub(crate) struct Requests {
    /// Show all details of this request.
    id: Option<RequestId>,
    /// Only what waits for a person: plans, tool calls and questions.
    #[arg(long, conflicts_with = "id")]
    waiting: bool,
}

/// Approve a plan or a tool call: its author goes on.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead approve 5e6f7a8b
  team-lead approve 5e6f7a8b --member
  team-lead approve alice --feedback 'Fine, but keep the old flag.'

The first answer counts. Whoever answers later gets exit code 8 and is told who was first. What a member of
another host asks is recorded there: without word from there, the answer is sent and not yet recorded.

With --json: {\"request_id\", \"to\", \"status\"}, and for a tool call \"scope\".")]
pub(crate) struct Approve {
    /// The request, or the member whose plan or tool call is pending.
    #[arg(value_name = "ID|NAME")]
    which: String,
    /// A comment for the author.
    #[arg(long, default_value = "", hide_default_value = true)]
    feedback: String,
    #[command(flatten)]
    scope: ScopeArgs,
}

/// For which calls an approval counts.
#[derive(clap::Args)]
#[group(multiple = false)]
struct ScopeArgs {
    /// Allow this tool call alone (the default).
    #[arg(long)]
    once: bool,
    /// Allow such calls of this member from now on.
    #[arg(long)]
    member: bool,
    /// Allow such calls of the whole team from now on.
    #[arg(long)]
    team: bool,
}

/// Reject a plan, a tool call or a question: its author is told why.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  team-lead reject alice --feedback 'Add a test first.'

With --json: {\"request_id\", \"to\", \"status\"}.")]
pub(crate) struct Reject {
    /// The request, or the member who asks.
    #[arg(value_name = "ID|NAME")]
    which: String,
    /// What is wrong with it, or what to do instead.
    #[arg(long)]
    feedback: String,
}

/// Answer a question of a member.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead answer 7c8d9e0f 2
  team-lead answer alice 'Use port 8080.'

Where the question has choices, TEXT may be one of them or its number.

With --json: {\"request_id\", \"to\", \"status\", \"answer\"}.")]
pub(crate) struct Answer {
    /// The request, or the member who asks.
    #[arg(value_name = "ID|NAME")]
    which: String,
    /// The answer; `-` reads it from standard input.
    #[arg(allow_hyphen_values = true)]
    text: String,
}

pub(crate) fn show(team: &TeamDir, args: &Args, command: &Requests) -> Result<(), Failure> {
    processes::repair(team);
    let found = match &command.id {
        Some(id) => vec![team::find_request(team, id)?],
        None if command.waiting => team::waiting(team)?,
        None => all(team, args)?,
    };
    if args.json {
        let files: Vec<RequestFile> = found.into_iter().map(RequestFile::from).collect();
        return print_json(&json!({"requests": files}));
    }
    if found.is_empty() {
        return print(match command.waiting {
            true => "Nothing waits for you.",
            false => "No requests.",
        });
    }
    let full = command.id.is_some();
    let now = teamdir::now();
    found.iter().try_for_each(|request| {
        let style = match request.status() {
            RequestStatus::Pending => Style::new().fg_color(Some(AnsiColor::Yellow.into())),
            RequestStatus::Approved | RequestStatus::Rejected | RequestStatus::Expired => {
                Style::new()
            }
        };
        print_wrapped(&describe::describe(request, now, full), style)
    })
}

/// A pending request for people, with how to answer it.
pub(crate) fn describe(request: &Request) -> String {
    describe::describe(request, teamdir::now(), false)
}

/// All requests: what waits for a person, then what else is pending, then the decided ones; each group from
/// oldest to newest.
fn all(team: &TeamDir, args: &Args) -> Result<Vec<Request>, Failure> {
    let mut found = Vec::new();
    for request in team::all_requests(team)? {
        match request {
            Ok(request) => found.push(request),
            // An unreadable file must not hide the other requests.
            Err(error) => args.note(&format!("skipped: {error}")),
        }
    }
    found.sort_by_key(|request| {
        let is_pending = request.status() == RequestStatus::Pending;
        (!is_pending, !request.kind().waits_for_person())
    });
    Ok(found)
}

impl ScopeArgs {
    const fn scope(&self) -> Option<GrantScope> {
        match (self.once, self.member, self.team) {
            (true, _, _) => Some(GrantScope::Once),
            (_, true, _) => Some(GrantScope::Member),
            (_, _, true) => Some(GrantScope::Team),
            (false, false, false) => None,
        }
    }
}

pub(crate) fn approve(team: &TeamDir, args: &Args, command: &Approve) -> Result<(), Failure> {
    let kinds = [RequestKind::Plan, RequestKind::Permission];
    let request = find(team, &command.which, &kinds)?;
    let scope = command.scope.scope();
    match request.kind() {
        RequestKind::Plan if scope.is_some() => {
            let message = "--once, --member and --team are for tool calls, and this is a plan";
            return Err(Failure::usage(message));
        }
        RequestKind::Question => {
            let (id, message) = (&request.id, "a question needs an answer, not an approval");
            let hint = format!("team-lead answer {id} TEXT");
            return Err(Failure::new(Kind::Usage, message).hint(hint));
        }
        RequestKind::Plan | RequestKind::Permission | RequestKind::Shutdown => {}
    }
    let answer = PersonAnswer {
        approve: true,
        text: &command.feedback,
        scope,
        name: None,
    };
    decide(team, args, &request.id, &answer)
}

pub(crate) fn reject(team: &TeamDir, args: &Args, command: &Reject) -> Result<(), Failure> {
    if command.feedback.trim().is_empty() {
        return Err(Failure::usage("say in --feedback what is wrong with it"));
    }
    let kinds = [
        RequestKind::Plan,
        RequestKind::Permission,
        RequestKind::Question,
    ];
    let request = find(team, &command.which, &kinds)?;
    let answer = PersonAnswer {
        approve: false,
        text: &command.feedback,
        scope: None,
        name: None,
    };
    decide(team, args, &request.id, &answer)
}

pub(crate) fn answer(team: &TeamDir, args: &Args, command: &Answer) -> Result<(), Failure> {
    let text = text_or_stdin(&command.text, "the answer")?;
    let request = find(team, &command.which, &[RequestKind::Question])?;
    if request.kind() != RequestKind::Question {
        let (id, kind) = (&request.id, request.kind().as_str());
        let message = format!("request {id} is a {kind} request, not a question");
        let hint = format!("team-lead requests {id}");
        return Err(Failure::new(Kind::Refused, message).hint(hint));
    }
    let answer = PersonAnswer {
        approve: true,
        text: &text,
        scope: None,
        name: None,
    };
    decide(team, args, &request.id, &answer)
}

fn decide(
    team: &TeamDir,
    args: &Args,
    id: &RequestId,
    answer: &PersonAnswer<'_>,
) -> Result<(), Failure> {
    let name = login_name();
    let answer = PersonAnswer {
        name: name.as_deref(),
        ..*answer
    };
    let request = team::answer_person(team, &Actor::user(), id, &answer)?;
    let request = match request.host.clone() {
        Some(host) => match elsewhere::wait_for_record(team, request, &host)? {
            Some(recorded) => recorded,
            None => return elsewhere::confirm_sent(team, args, id, &host),
        },
        None => request,
    };
    let (author, status) = (&request.from, request.status());
    let mut shown = json!({"request_id": request.id, "to": author, "status": status});
    if let RequestState::Approved(answer) = &request.state {
        if let Some(scope) = answer.scope {
            shown["scope"] = json!(scope);
        }
        if request.kind() == RequestKind::Question {
            shown["answer"] = json!(answer.text);
        }
    }
    args.confirm(&shown, &confirmation(&request))
}

/// What an answer has done, in a line.
fn confirmation(request: &Request) -> String {
    let (author, status) = (&request.from, request.status());
    match (&request.subject, &request.state) {
        (Subject::Permission(ask), RequestState::Approved(answer)) => {
            let call = call_text(ask);
            let call = clean(call.lines().next().unwrap_or_default()).into_owned();
            match (answer.scope, &ask.grants) {
                (Some(GrantScope::Member), Some(rule)) => {
                    format!("Allowed '{author}' from now on: {}", clean(rule))
                }
                (Some(GrantScope::Team), Some(rule)) => {
                    format!("Allowed the team from now on: {}", clean(rule))
                }
                _ => format!("Allowed '{author}' once: {call}"),
            }
        }
        (Subject::Permission(_), _) => format!("Refused '{author}' the tool call"),
        (Subject::Question(_), RequestState::Approved(answer)) => {
            format!("Answered '{author}': {}", clean(&answer.text))
        }
        (Subject::Question(_), _) => format!("Refused '{author}' an answer"),
        (Subject::Plan { .. } | Subject::Shutdown { .. }, _) => {
            format!("Plan {} for '{author}'", status.as_str())
        }
    }
}

/// The name of the user of this process, who answers.
pub(crate) fn login_name() -> Option<String> {
    let user = User::from_uid(Uid::current()).ok().flatten()?;
    Some(user.name)
}

/// Finds the request by its id, or by the member who waits for such an answer.
fn find(team: &TeamDir, which: &str, kinds: &[RequestKind]) -> Result<Request, Failure> {
    if let Ok(id) = RequestId::new(which) {
        match team::find_request(team, &id) {
            Err(RequestError::Unknown(_)) => {}
            result => return Ok(result?),
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
    let waiting = team::waiting(team)?.into_iter();
    // If a member has several pending plans, the latest one is meant.
    let mut own = waiting.filter(|r| kinds.contains(&r.kind()) && r.from == author);
    own.next_back().ok_or_else(|| {
        let kinds: Vec<&str> = kinds.iter().map(|kind| kind.as_str()).collect();
        let message = format!("{name} has no pending {}", kinds.join(" or "));
        Failure::new(Kind::UnknownRequest, message).hint("team-lead requests")
    })
}
