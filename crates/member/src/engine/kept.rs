//! What is kept of an agent: the id of its session, what the session has cost, what the agent has asked, and the
//! plan that it has submitted.

use crate::runtime::MemberRuntime;
use acp::EngineChoice;
use protocol::{Money, PlanRecord, RequestId, RequestKind, Subject};
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
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Stored {
    engine: String,
    session: String,
    /// What the session had cost when that was last reported.
    #[serde(default)]
    cost: Money,
    /// The requests that the agent waits for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    asked: Vec<RequestId>,
}

impl MemberRuntime {
    fn session_file(&self) -> PathBuf {
        let outputs = self.team().layout().member_outputs(self.owner());
        outputs.join(STORED)
    }

    /// The session of an earlier process with the same engine.
    pub(super) fn stored_session(&self, choice: &EngineChoice) -> Option<String> {
        self.stored(&choice.to_string())
            .map(|stored| stored.session)
    }

    fn stored(&self, engine: &str) -> Option<Stored> {
        let contents = safe_open::read(&self.session_file(), Links::Refuse, MAX_STORED).ok()?;
        let stored: Stored = serde_json::from_slice(&contents.bytes).ok()?;
        (stored.engine == engine).then_some(stored)
    }

    /// Records which session is open. One that goes on has cost something already.
    pub(super) fn store_session(&self, choice: &EngineChoice, session: &str) {
        let engine = choice.to_string();
        let earlier = self.stored(&engine);
        let earlier = earlier.filter(|earlier| earlier.session == session);
        let cost = earlier.map(|earlier| earlier.cost).unwrap_or_default();
        self.engine.shared().session = Some(Stored {
            engine,
            session: session.to_owned(),
            cost,
            asked: Vec::new(),
        });
        self.write_kept();
    }

    /// What was spent since the last time, by what the session has cost so far. An agent that reports less than
    /// before has begun to count anew.
    pub(super) fn spent_since(&self, dollars: f64) -> Money {
        let total = Money::from_dollars(dollars).unwrap_or(Money::from_nanos(u64::MAX));
        let shared = self.engine.shared();
        let before = shared.session.as_ref().map(|stored| stored.cost);
        match before.unwrap_or_default() {
            before if before <= total => total.minus(before),
            _ => total,
        }
    }

    /// Keeps what the session has cost, which is booked.
    pub(super) fn store_cost(&self, dollars: f64) {
        if let (Some(stored), Ok(total)) = (
            self.engine.shared().session.as_mut(),
            Money::from_dollars(dollars),
        ) {
            stored.cost = total;
        }
        self.write_kept();
    }

    /// Writes down what is known of the session. Without one there is nothing that a later process could go on
    /// with.
    pub(super) fn write_kept(&self) {
        let stored = {
            let shared = self.engine.shared();
            let Some(stored) = &shared.session else {
                return;
            };
            Stored {
                asked: shared.asked.clone(),
                ..stored.clone()
            }
        };
        if let Err(error) = self.write_session(&stored) {
            warn!("a later process begins another session of the engine: {error}");
        }
    }

    /// Lets what the engine asked in an earlier process wait on. To be called only if that process had not ended
    /// its turn: then the agent may come back to it.
    pub fn keep_engine_asks(&self, engine: &str) {
        if let Some(stored) = self.stored(engine) {
            self.engine.shared().asked = stored.asked;
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
