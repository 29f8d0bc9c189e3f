//! What the commands of the person show.

use crate::typed::{self, Shown};
use budget::GroupBy;
use member::MemberRuntime;
use processes::{MemberView, member_views};
use protocol::{RequestKind, RequestStatus};
use rules::{request_line, restarts_text};
use team_tools::member_line;
use teamdir::TeamDir;

/// How many requests that are over are shown.
const OLD_REQUESTS: usize = 5;

/// The text for a command. `model` is the lead's.
pub(crate) fn show(shown: Shown, runtime: &MemberRuntime, model: &str) -> String {
    let team = runtime.team();
    match shown {
        Shown::Team => members(team),
        Shown::Inbox => inbox(runtime),
        Shown::Tasks => match team::list(team) {
            Ok(list) => list.board.to_string(),
            Err(error) => error.to_string(),
        },
        Shown::Requests => requests(team),
        Shown::Costs => costs(team),
        Shown::Model => {
            format!("{model}\nAnother one can take over: /model NAME")
        }
        Shown::Help => typed::help(),
    }
}

fn members(team: &TeamDir) -> String {
    match member_views(team) {
        Ok(views) if views.is_empty() => "No teammates.".to_owned(),
        Ok(views) => {
            let lines: Vec<String> = views.iter().map(member).collect();
            lines.join("\n")
        }
        Err(error) => error.to_string(),
    }
}

fn member(view: &MemberView) -> String {
    let mut line = member_line(view);
    if let Some(holder) = &view.holder {
        line.push_str(&format!(", process {}", holder.pid));
    }
    if let Some(restarts) = restarts_text(view.member.incarnation) {
        line.push_str(&format!(", {restarts}"));
    }
    if let Some(task) = view.task {
        line.push_str(&format!(", task #{task}"));
    }
    if view.unread > 0 {
        line.push_str(&format!(", {} unread", view.unread));
    }
    line
}

fn inbox(runtime: &MemberRuntime) -> String {
    let items = runtime.pending_mail();
    let shown = items.iter().filter(|item| item.shown);
    let lines: Vec<String> = shown.map(member::MailItem::summary).collect();
    match lines.is_empty() {
        true => "The lead has read all its mail.".to_owned(),
        false => lines.join("\n"),
    }
}

fn requests(team: &TeamDir) -> String {
    let all = match team::all_requests(team) {
        Ok(all) => all,
        Err(error) => return error.to_string(),
    };
    let mut all: Vec<_> = all.into_iter().flatten().collect();
    all.sort_by_key(|request| request.created_at);
    let (pending, old): (Vec<_>, Vec<_>) = all
        .iter()
        .partition(|request| request.status() == RequestStatus::Pending);
    let mut lines: Vec<String> = pending.into_iter().map(request_line).collect();
    for request in old.iter().rev().take(OLD_REQUESTS) {
        let (id, status) = (&request.id, request.status().as_str());
        lines.push(match request.kind() {
            RequestKind::Plan => format!("plan {id} of {}: {status}", request.from),
            RequestKind::Shutdown => format!("shutdown {id} of {}: {status}", request.to),
            RequestKind::Permission => format!("permission {id} of {}: {status}", request.from),
            RequestKind::Question => format!("question {id} of {}: {status}", request.from),
        });
    }
    match lines.is_empty() {
        true => "No requests.".to_owned(),
        false => lines.join("\n"),
    }
}

fn costs(team: &TeamDir) -> String {
    let budget = match team.budget() {
        Ok(budget) => budget,
        Err(error) => return error.to_string(),
    };
    let costs = budget::costs(&budget, GroupBy::Member);
    match costs.lines.is_empty() {
        true => "Nothing was spent yet.".to_owned(),
        false => costs.table(GroupBy::Member),
    }
}
