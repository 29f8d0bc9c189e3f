//! Tells the user that something waits for a person.

use crate::runtime::MemberRuntime;
use protocol::{Request, RequestKind};
use rules::subject_text;
use serde_json::json;
use std::path::Path;
use tracing::warn;

/// How much of a request the user's command gets: it must fit in a pipe.
const MAX_NOTIFIED_CHARS: usize = 4_000;

impl MemberRuntime {
    /// Starts the user's command for something that begins to wait for a person: at least once for each,
    /// and more often only if a process is killed while it does so.
    pub fn notify_user(&self, request: &Request) {
        if request.notified_at.is_some() || !request.kind().waits_for_person() {
            return;
        }
        let asking = self.asking();
        let command = asking
            .as_ref()
            .and_then(|asking| asking.settings.notify.clone());
        drop(asking);
        let Some(command) = command else {
            return;
        };
        let folder = self.team().workspace();
        let told = team::notify_once(self.team(), &request.id, |request| {
            processes::notify(&command, folder, &waiting_json(request, folder))
        });
        match told {
            Ok(Ok(())) => {}
            Ok(Err(error)) => warn!("the notify command was not started: {error}"),
            Err(error) => warn!("the notify command may run once more: {error}"),
        }
    }
}

/// What the user's command reads about a request.
fn waiting_json(request: &Request, workspace: &Path) -> String {
    let id = &request.id;
    let answers = match request.kind() {
        RequestKind::Question => vec![format!("team-lead answer {id} TEXT")],
        RequestKind::Plan | RequestKind::Permission | RequestKind::Shutdown => vec![
            format!("team-lead approve {id}"),
            format!("team-lead reject {id} --feedback TEXT"),
        ],
    };
    let text = subject_text(&request.subject);
    let text: String = text.chars().take(MAX_NOTIFIED_CHARS).collect();
    json!({
        "event": "waiting",
        "request_id": id,
        "kind": request.kind(),
        "from": request.from,
        "text": text,
        "since": request.created_at,
        "deadline": request.deadline,
        "workspace": workspace.display().to_string(),
        "answers": answers,
    })
    .to_string()
}
