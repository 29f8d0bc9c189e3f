//! Agents that only call their models.

use budget::{BudgetedModel, MemberBudget, PriceSource};
use catalogue::Catalogue;
use llm::{
    Block, CancellationToken, ClientOptions, Event, Model, ModelChoice, ModelError, Reply, Request,
    Role, Turn, Variables, WaitReason,
};
use protocol::{Caps, Incarnation, Line, Recipient, decode_line};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use teamdir::{MemberGuard, TeamDir};
use test_support::llm_server::{LlmServer, ServerReply};

/// How long anything may take on a machine that is busy with other tests.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);

/// The tokens of each reply of [`usual`].
pub(crate) const TOKENS: u64 = 100;

/// A reply that used [`TOKENS`].
pub(crate) fn usual() -> ServerReply {
    ServerReply::text("Yes.").usage(50, 20, 20, 10)
}

pub(crate) fn who(name: &str) -> Recipient {
    name.parse().unwrap()
}

/// An agent that runs as long as this value exists.
pub(crate) struct Asker {
    pub(crate) model: BudgetedModel,
    pub(crate) cancel: CancellationToken,
    pub(crate) waits: Mutex<Vec<WaitReason>>,
    pub(crate) answers: AtomicU64,
    _guard: MemberGuard,
}

impl Asker {
    pub(crate) fn new(team: &TeamDir, server: &LlmServer, name: &str) -> Self {
        Self::with(team, server, name, Arc::new(Catalogue::default))
    }

    pub(crate) fn with(
        team: &TeamDir,
        server: &LlmServer,
        name: &str,
        prices: PriceSource,
    ) -> Self {
        let guard = team.join(&who(name)).unwrap();
        let budget = MemberBudget::new(team, &who(name), guard.incarnation(), prices);
        Self {
            model: BudgetedModel::new(client(server, name), budget),
            cancel: CancellationToken::new(),
            waits: Mutex::default(),
            answers: AtomicU64::new(0),
            _guard: guard,
        }
    }

    /// Calls the model once.
    pub(crate) async fn ask(&self) -> Result<Reply, ModelError> {
        let request = question();
        let mut record = |event| {
            if let Event::Waiting(waiting) = event {
                self.waits.lock().unwrap().push(waiting.reason);
            }
        };
        let reply = self
            .model
            .complete(&request, &mut record, &self.cancel)
            .await;
        if reply.is_ok() {
            self.answers.fetch_add(1, Ordering::SeqCst);
        }
        reply
    }

    /// Calls the model repeatedly until it is cancelled.
    pub(crate) fn ask_on(&self) {
        run(async {
            loop {
                match self.ask().await {
                    Ok(_) => {}
                    Err(ModelError::Cancelled) => return,
                    Err(error) => panic!("{error}"),
                }
            }
        });
    }

    /// How often it began to wait.
    pub(crate) fn waited(&self) -> usize {
        self.waits.lock().unwrap().len()
    }
}

pub(crate) fn run<T>(future: impl Future<Output = T>) -> T {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().unwrap().block_on(future)
}

fn client(server: &LlmServer, name: &str) -> Arc<dyn Model> {
    let variables: Variables = [("ANTHROPIC_BASE_URL", server.base_url(name))]
        .into_iter()
        .collect();
    let choice = ModelChoice::parse("anthropic:some-model", &variables).unwrap();
    let built = choice.build(
        &variables,
        name,
        ClientOptions::default(),
        llm::LearnedSettings::default(),
    );
    built.unwrap().unwrap()
}

pub(crate) fn question() -> Request {
    Request {
        turns: vec![Turn {
            role: Role::User,
            blocks: vec![Block::text("Well?")],
        }],
        max_tokens: 100,
        ..Request::default()
    }
}

pub(crate) fn tokens(max: u64) -> Caps {
    Caps {
        max_tokens: Some(max),
        ..Caps::default()
    }
}

pub(crate) fn turns(max: u64) -> Caps {
    Caps {
        max_turns: Some(max),
        ..Caps::default()
    }
}

/// The ids of the notices in the lead's inbox.
pub(crate) fn notices(team: &TeamDir) -> BTreeSet<String> {
    let text = std::fs::read(team.layout().inbox(&Recipient::Lead)).unwrap_or_default();
    let lines = text.split(|byte| *byte == b'\n');
    let ids = lines.filter_map(|line| match decode_line(line) {
        Line::Message(message) => message.id.map(|id| id.to_string()),
        _ => None,
    });
    ids.collect()
}

/// Reserves a slot for a call of another process.
pub(crate) fn reserve(team: &TeamDir, name: &str, incarnation: Incarnation) {
    let change = |budget: &mut protocol::Budget| {
        budget.last_slot += 1;
        budget.reserved.push(protocol::Reservation {
            slot: budget.last_slot,
            member: who(name),
            incarnation,
            since: teamdir::now(),
            extra: protocol::Extra::new(),
        });
        Ok::<_, teamdir::TeamFileError>(())
    };
    team.update_budget(change).unwrap();
}
