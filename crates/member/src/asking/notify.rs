//! Tells the user that something waits for a person.

use crate::runtime::MemberRuntime;
use hooks::{Hook, HookError, HookEvent, HookOrigin};
use llm::CancellationToken;
use protocol::{Request, RequestKind};
use rules::subject_text;
use serde_json::{Value, json};
use std::io;
use std::path::Path;
use tokio::runtime::Handle;
use tracing::warn;

/// How much of a request the user's command gets: it must fit in a pipe.
const MAX_NOTIFIED_CHARS: usize = 4_000;

impl MemberRuntime {
    /// Runs the `Notification` hooks for something that begins to wait for a person: at least once for each,
    /// and more often only if a process is killed while it does so. Nobody waits for them. Those of the user
    /// also outlive this process.
    pub fn notify_user(&self, request: &Request) {
        if request.notified_at.is_some() || !request.kind().waits_for_person() {
            return;
        }
        let kind = notification_type(request.kind());
        let hooks = self.hooks_for(HookEvent::Notification, &[kind]);
        if hooks.is_empty() {
            return;
        }
        let told = team::notify_once(self.team(), &request.id, |request| {
            let fields = waiting_fields(request, self.team().workspace());
            let input = self.hook_input(HookEvent::Notification, fields).to_string();
            for hook in hooks {
                if let Err(error) = self.start_notification(hook.clone(), input.clone()) {
                    self.hook_failed(&hook, &HookError::Pipe(error));
                }
            }
            Ok::<(), io::Error>(())
        });
        if let Err(error) = told {
            warn!("the Notification hooks may run once more: {error}");
        }
    }

    fn start_notification(&self, hook: Hook, input: String) -> io::Result<()> {
        match hook.origin {
            HookOrigin::User => {
                let folder = self.team().workspace();
                hooks::start_detached(&hook.command, folder, &input, hook.timeout)
            }
            HookOrigin::Workspace => {
                let runtime = self.clone();
                let run = async move {
                    let context = runtime.hook_context(&hook);
                    let cancel = CancellationToken::new();
                    let ran = hooks::run(&hook, format!("{input}\n"), context, &cancel).await;
                    if let Err(error) = ran {
                        runtime.hook_failed(&hook, &error);
                    }
                };
                let runtime = Handle::try_current().map_err(io::Error::other)?;
                runtime.spawn(run);
                Ok(())
            }
        }
    }
}

const fn notification_type(kind: RequestKind) -> &'static str {
    match kind {
        RequestKind::Permission => "permission_prompt",
        RequestKind::Question => "question",
        RequestKind::Plan => "plan",
        RequestKind::Shutdown => "shutdown",
    }
}

/// What the hooks read about a request.
fn waiting_fields(request: &Request, workspace: &Path) -> Value {
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
        "notification_type": notification_type(request.kind()),
        "title": format!("{} waits for you", request.from),
        "message": text,
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
}
