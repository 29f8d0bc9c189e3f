//! What is kept of an agent: the id of its session, and the plan that it has submitted.

use crate::runtime::MemberRuntime;
use acp::EngineChoice;
use protocol::{PlanRecord, RequestKind, Subject};
use safe_open::{Links, Options};
use serde::{Deserialize, Serialize};
use std::io::{self, Write as _};
use std::path::PathBuf;
use teamdir::new_request_id;
use tracing::warn;

/// The largest file with the id of a session.
const MAX_STORED: u64 = 64 * 1024;
const STORED: &str = "engine.json";

/// What is stored about the session of an agent.
#[derive(Serialize, Deserialize)]
struct Stored {
    engine: String,
    session: String,
}

impl MemberRuntime {
    fn session_file(&self) -> PathBuf {
        let outputs = self.team().layout().member_outputs(self.owner());
        outputs.join(STORED)
    }

    /// The session of an earlier process with the same engine.
    pub(super) fn stored_session(&self, choice: &EngineChoice) -> Option<String> {
        let contents = safe_open::read(&self.session_file(), Links::Refuse, MAX_STORED).ok()?;
        let stored: Stored = serde_json::from_slice(&contents.bytes).ok()?;
        (stored.engine == choice.to_string()).then_some(stored.session)
    }

    pub(super) fn store_session(&self, choice: &EngineChoice, session: &str) {
        let stored = Stored {
            engine: choice.to_string(),
            session: session.to_owned(),
        };
        if let Err(error) = self.write_session(&stored) {
            warn!("a later process begins another session of the engine: {error}");
        }
    }

    fn write_session(&self, stored: &Stored) -> io::Result<()> {
        let path = self.session_file();
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let new = path.with_file_name(format!("{STORED}.{}", new_request_id()));
        let options = Options::write(Links::Refuse).create_new();
        let mut opened = options.open(&new)?;
        opened.file.write_all(&serde_json::to_vec(stored)?)?;
        std::fs::rename(&new, &path)
    }

    /// Takes over the plan that the agent has submitted with the team's tools.
    pub(super) fn adopt_engine_plan(&self) {
        let me = self.me();
        let all = self.team().requests().unwrap_or_default();
        let own = all.into_iter().flatten().filter(|request| {
            request.kind() == RequestKind::Plan
                && request.from == me.party
                && request.from_incarnation == me.incarnation
        });
        let Some(newest) = own.max_by_key(|request| request.created_at) else {
            return;
        };
        let Subject::Plan { plan_hash, .. } = &newest.subject else {
            return;
        };
        let plan = PlanRecord {
            request_id: newest.id.clone(),
            plan_hash: plan_hash.clone(),
        };
        if self.plan().as_ref() == Some(&plan) {
            return;
        }
        self.notify_user(&newest);
        if let Err(error) = self.record_plan(plan) {
            warn!("the plan of the engine does not count yet: {error}");
        }
    }
}
