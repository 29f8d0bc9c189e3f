//! What people allow and set, with real processes and a server that plays their models.

mod files;
mod limits;
mod spending;

use crate::harness::{LIMIT, Workspace, recipient};
use budget::Sum;
use protocol::{Phase, Recipient, WaitingFor};
use serde_json::json;
use std::collections::BTreeSet;
use test_support::llm_server::ServerReply;
use test_support::wait_until;

impl Workspace {
    /// Waits until a member waits for budget.
    #[track_caller]
    pub(crate) fn wait_for_budget(&self, name: &str) {
        wait_until(&format!("{name} to wait for budget"), LIMIT, || {
            self.live(name).is_some_and(|live| {
                live.phase == Phase::Waiting && live.waiting_for == Some(WaitingFor::Budget)
            })
        });
    }

    /// What the whole team has spent.
    fn spent(&self) -> Sum {
        Sum::of(&self.team().budget().unwrap(), None)
    }

    /// What one member has spent.
    fn spent_by(&self, name: &str) -> Sum {
        Sum::of(&self.team().budget().unwrap(), Some(&recipient(name)))
    }

    /// The ids of the messages in the lead's inbox.
    fn lead_mail_ids(&self) -> Vec<String> {
        let mail = self.inbox(&Recipient::Lead).into_iter();
        let ids = mail.filter_map(|message| message.id.map(|id| id.to_string()));
        ids.collect::<BTreeSet<_>>().into_iter().collect()
    }
}

/// A reply of 100 tokens that uses a tool, so that the model is asked again.
fn work() -> ServerReply {
    ServerReply::calls([("bash", json!({"command": "true"}))]).usage(60, 40, 0, 0)
}

/// A reply of 100 tokens that ends a turn.
fn done() -> ServerReply {
    ServerReply::text("Done.").usage(60, 40, 0, 0)
}
