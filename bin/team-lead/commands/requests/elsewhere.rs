//! Answers to requests that are at home on another host, which records them.

use crate::cli::Args;
use crate::failure::{Failure, Kind};
use protocol::{HostId, Request, RequestId, RequestState, RequestStatus};
use rules::decider;
use serde_json::json;
use std::time::{Duration, Instant};
use teamdir::{TeamDir, WatchChoice, Watcher};
use terminal_text::clean;

/// How long a command waits for the home of a request to record an answer.
const LIMIT: Duration = Duration::from_secs(5);

/// Waits until the home of a request says what became of the answer that was sent there. Returns the request as
/// it is recorded, or nothing if there is no word of it yet.
pub(super) fn wait_for_record(
    team: &TeamDir,
    sent: Request,
    host: &HostId,
) -> Result<Option<Request>, Failure> {
    let Some(me) = team.roster()?.host.clone() else {
        return Ok(None);
    };
    let mut watcher = Watcher::new(&team.layout().requests_dir(), WatchChoice::Auto);
    watcher.watch_folder(&team.layout().requests_dir());
    let until = Instant::now() + LIMIT;
    loop {
        // Nobody takes it there as long as no bridge runs.
        let is_hopeless = !processes::host_views(team)?
            .iter()
            .any(|view| view.host == *host && view.link == processes::HostLink::Linked);
        let Some(copy) = team.request_copy_of(host, &sent.id) else {
            return Ok(None);
        };
        if copy.status() != RequestStatus::Pending {
            return match team::was_recorded(&copy, &me) {
                true => Ok(Some(copy)),
                false => Err(too_late(&copy)),
            };
        }
        if let (None, Some(why)) = (&copy.sent, &copy.refused) {
            let message = format!(
                "the host '{host}' has not recorded the answer: {}",
                clean(why)
            );
            let hint = format!("team-lead requests {}", sent.id);
            return Err(Failure::new(Kind::Refused, message).hint(hint));
        }
        if is_hopeless || Instant::now() >= until {
            return Ok(None);
        }
        watcher.wait(Some(until));
    }
}

/// Another answer was first, or nobody waits for one any more.
fn too_late(copy: &Request) -> Failure {
    let id = &copy.id;
    let why = match &copy.state {
        RequestState::Approved(answer) | RequestState::Rejected(answer) => {
            let (status, by) = (copy.status().as_str(), decider(answer));
            format!("the request is already {status} by {}", clean(&by))
        }
        RequestState::Expired { reason, .. } => format!("it has expired: {}", clean(reason)),
        RequestState::Pending => "it is pending".to_owned(),
    };
    let message = format!("the answer to request {id} has no effect: {why}");
    Failure::new(Kind::AlreadyAnswered, message).hint(format!("team-lead requests {id}"))
}

/// The answer is on its way.
pub(super) fn confirm_sent(
    team: &TeamDir,
    args: &Args,
    id: &RequestId,
    host: &HostId,
) -> Result<(), Failure> {
    let copy = team::find_request(team, id)?;
    let author = &copy.from;
    args.note(&format!(
        "queued for the host {host}; team-lead requests {id} shows what it says"
    ));
    args.confirm(
        &json!({"request_id": id, "to": author, "status": "sent", "host": host}),
        &format!("Answer for '{author}' sent to the host '{host}', not yet recorded"),
    )
}
