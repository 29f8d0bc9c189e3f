//! The other hosts of a team.

use crate::duration::format as duration;
use processes::{HostLink, HostView};
use serde_json::{Value, json};
use teamdir::{TeamDir, now};
use terminal_text::one_line;

pub(super) fn as_json(team: &TeamDir, view: &HostView) -> Value {
    let (since, problem) = match &view.link {
        HostLink::Unreachable { since, problem } => (*since, problem.as_deref()),
        HostLink::Linked | HostLink::NoBridge => (None, None),
    };
    json!({
        "name": view.host,
        "state": view.link.word(),
        "queued": view.queued,
        "since": since,
        "problem": problem,
        "main": team.main_problem(&view.host),
    })
}

pub(super) fn as_text(team: &TeamDir, view: &HostView) -> String {
    let link = match &view.link {
        HostLink::Linked => "linked".to_owned(),
        HostLink::NoBridge => "no bridge runs here (team-lead bridge --help)".to_owned(),
        HostLink::Unreachable { since, problem } => {
            let since = since.map(|since| format!(" for {}", duration(now().since(since))));
            let problem = problem.as_deref();
            let problem = problem.map(|problem| format!(" ({})", one_line(problem)));
            let (since, problem) = (since.unwrap_or_default(), problem.unwrap_or_default());
            format!("cannot be reached{since}{problem}")
        }
    };
    let main = team.main_problem(&view.host);
    let main = main.map(|problem| format!("; {}", one_line(&problem)));
    format!(
        "Host {}: {link}, {} queued{}",
        view.host,
        view.queued,
        main.unwrap_or_default()
    )
}
