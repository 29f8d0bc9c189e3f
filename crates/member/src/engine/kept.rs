//! What is kept of an agent: the id of its session, what the session has cost, what the agent has asked, and the
//! plan that it has submitted.

use crate::runtime::MemberRuntime;
use acp::EngineChoice;
use protocol::{Money, PlanRecord, RequestId, RequestKind, Subject};
use serde::{Deserialize, Serialize};
use tracing::warn;

/// What is stored about the session of an agent.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Stored {
    engine: String,
    session: String,
    /// What the session had cost when that was last reported.
    #[serde(default)]
    cost: Money,
    /// What it had cost when the agent last ended in order.
    #[serde(default)]
    cost_at_end: Money,
    /// A booking of costs that may have been made or not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    charging: Option<Charging>,
    /// The requests that the agent waits for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    asked: Vec<RequestId>,
}

/// A booking of costs. It is written down before it is made, and taken away afterwards, so that a process that finds
/// one compares what is booked: so nothing is booked twice, and nothing is lost.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Charging {
    amount: Money,
    /// What the session has cost with it.
    total: Money,
    /// What was booked for the member before.
    booked: Money,
}

impl MemberRuntime {
    /// The session of an earlier process with the same engine.
    pub(super) fn stored_session(&self, choice: &EngineChoice) -> Option<String> {
        self.stored(&choice.to_string())
            .map(|stored| stored.session)
    }

    fn stored(&self, engine: &str) -> Option<Stored> {
        let bytes = self.team().engine_file(self.owner())?;
        let stored: Stored = serde_json::from_slice(&bytes).ok()?;
        (stored.engine == engine).then_some(stored)
    }

    /// Records which session is open. One that goes on has cost something already.
    pub(super) fn store_session(&self, choice: &EngineChoice, session: &str) {
        let engine = choice.to_string();
        let earlier = self.stored(&engine);
        let charging = earlier.as_ref().and_then(|stored| stored.charging.clone());
        let earlier = earlier.filter(|earlier| earlier.session == session);
        let cost_at_end = earlier.as_ref().map(|earlier| earlier.cost_at_end);
        let cost = match choice.stores_cost_at_end() {
            true => cost_at_end,
            false => earlier.as_ref().map(|earlier| earlier.cost),
        };
        let cost = cost.unwrap_or_default();
        // Such an agent, and a new session, know nothing of the costs of the open booking.
        let is_counted = earlier.is_some() && !choice.stores_cost_at_end();
        let charging = charging.map(|charging| match is_counted {
            true => charging,
            false => Charging {
                total: cost,
                ..charging
            },
        });
        self.engine.shared().session = Some(Stored {
            engine,
            session: session.to_owned(),
            cost,
            cost_at_end: cost_at_end.unwrap_or_default(),
            charging,
            asked: Vec::new(),
        });
        self.write_kept();
    }

    /// What an earlier process was about to book when it was killed, if it did not come to it.
    pub(super) fn unbooked_cost(&self) -> Option<Money> {
        let charging = self.engine.shared().session.as_ref()?.charging.clone()?;
        let is_booked = self.booked_cost()? > charging.booked;
        if is_booked {
            self.charge_ended();
        }
        (!is_booked).then_some(charging.amount)
    }

    /// Writes down that costs are about to be booked, by what the session has cost so far, and returns them. An
    /// agent that reports less than before has begun to count anew.
    pub(super) fn charge_begins(&self, dollars: f64) -> Money {
        let total = Money::from_dollars(dollars).unwrap_or(Money::from_nanos(u64::MAX));
        let booked = self.booked_cost();
        let mut shared = self.engine.shared();
        let Some(stored) = shared.session.as_mut() else {
            return total;
        };
        let amount = match stored.cost {
            before if before <= total => total.minus(before),
            _ => total,
        };
        stored.charging = Some(Charging {
            amount,
            total,
            booked: booked.unwrap_or_default(),
        });
        drop(shared);
        if amount != Money::default() {
            self.write_kept();
        }
        amount
    }

    /// Keeps what the session has cost, which is booked now.
    pub(super) fn charge_ended(&self) {
        let mut shared = self.engine.shared();
        let Some(stored) = shared.session.as_mut() else {
            return;
        };
        let Some(charging) = stored.charging.take() else {
            return;
        };
        // Agents report their costs often, and mostly the same.
        let is_news = charging.amount != Money::default() || charging.total != stored.cost;
        stored.cost = charging.total;
        drop(shared);
        if is_news {
            self.write_kept();
        }
    }

    /// Keeps that the agent ends in order.
    pub(super) fn engine_ends(&self) {
        if let Some(stored) = self.engine.shared().session.as_mut() {
            stored.cost_at_end = stored.cost;
        }
        self.write_kept();
    }

    /// What is booked for the member.
    fn booked_cost(&self) -> Option<Money> {
        let budget = self.team().budget().ok()?;
        let own = budget
            .booked
            .iter()
            .filter(|row| row.member == *self.owner());
        let costs = own.map(|row| row.cost);
        Some(costs.fold(Money::default(), Money::plus))
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
        let Ok(bytes) = serde_json::to_vec(&stored) else {
            // Texts and numbers encode.
            return;
        };
        if let Err(error) = self.team().write_engine_file(self.owner(), &bytes) {
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
