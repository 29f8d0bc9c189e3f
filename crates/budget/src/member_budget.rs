//! The budget as one agent uses it: reserves slots, books usage, notifies the lead.

use crate::account::{
    self, BudgetOf, BudgetSpent, all_reached, is_cost_reached, reached, release, reserve,
};
use catalogue::{Catalogue, normal_name};
use llm::Usage;
use protocol::{
    Allowance, Booking, Budget, EventKind, Extra, Incarnation, Money, NoticeCause, Recipient,
    Reservation,
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use teamdir::{Liveness, TeamDir, TeamFileError, now};

/// Returns the current prices.
pub type PriceSource = Arc<dyn Fn() -> Catalogue + Send + Sync>;

/// The budget of one incarnation of a member or of the lead.
pub struct MemberBudget {
    team: TeamDir,
    owner: Recipient,
    incarnation: Incarnation,
    prices: PriceSource,
    /// Whether whoever answers reports what it has cost.
    has_reported_costs: bool,
    /// Changes that could not be written yet.
    unwritten: Mutex<Unwritten>,
    /// The id of the last notice to the lead.
    last_notice: Mutex<Option<String>>,
}

#[derive(Debug, Clone, Default)]
struct Unwritten {
    rows: Vec<Booking>,
    released_slots: Vec<u64>,
}

/// Whether a call may begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Admission {
    /// There are no limits.
    Unlimited,
    /// The reserved slot.
    Granted(u64),
    Spent(BudgetSpent),
    /// The maximum number of concurrent calls is reached.
    AllBusy,
}

/// A finished call.
#[derive(Debug, Clone)]
pub(crate) struct Call<'a> {
    pub(crate) model: &'a str,
    pub(crate) slot: Option<u64>,
    pub(crate) usage: Usage,
    /// The working time: the call and the tools before it.
    pub(crate) took: Duration,
    /// Whether the request was sent.
    pub(crate) was_sent: bool,
    /// Whether it was answered.
    pub(crate) was_answered: bool,
    /// Whether its cost was reported, and booked then.
    pub(crate) is_charged: bool,
}

impl MemberBudget {
    pub fn new(
        team: &TeamDir,
        owner: &Recipient,
        incarnation: Incarnation,
        prices: PriceSource,
    ) -> Self {
        Self {
            team: team.clone(),
            owner: owner.clone(),
            incarnation,
            prices,
            has_reported_costs: false,
            unwritten: Mutex::default(),
            last_notice: Mutex::default(),
        }
    }

    /// The same budget, for calls whose cost is reported while they run. The price of one that was answered
    /// without such a report is not known.
    #[must_use]
    pub const fn with_reported_costs(mut self) -> Self {
        self.has_reported_costs = true;
        self
    }

    /// Books what a running call of `model` has cost since the last time. Returns whether a limit of costs is
    /// reached.
    pub(crate) fn charge(&self, model: &str, cost: Money) -> bool {
        let row = Booking {
            cost,
            ..self.empty_row(model)
        };
        lock(&self.unwritten).rows.push(row);
        let reached = self.change(|budget| is_cost_reached(budget, &self.owner));
        // What could not be written counts before the next call.
        reached.unwrap_or(false)
    }

    /// Reserves a slot for a call of `model`, if the limits allow it.
    pub fn admit(&self, model: &str) -> Result<Admission, TeamFileError> {
        let working = self.team.limits()?.working;
        if working.is_none() && !self.team.budget()?.is_limited() {
            let has_unwritten = {
                let unwritten = lock(&self.unwritten);
                !unwritten.rows.is_empty() || !unwritten.released_slots.is_empty()
            };
            // Without limits a booking that still cannot be written delays nothing.
            if has_unwritten {
                let _ = self.change(|_| ());
            }
            return Ok(Admission::Unlimited);
        }
        let is_priced = (self.prices)().price(model).is_some();
        let name = normal_name(model);
        self.change(|budget| {
            let is_priced = is_priced || self.has_reported_costs && !is_unpriced(budget, name);
            let unpriced = (!is_priced).then_some(name);
            budget.reserved.retain(|call| self.is_running(call));
            let in_flight = budget.reserved.len() as u64;
            if working.is_some_and(|max| in_flight >= max) {
                return Admission::AllBusy;
            }
            match reached(budget, &self.owner, unpriced) {
                Some(spent) => Admission::Spent(spent),
                None => Admission::Granted(reserve(budget, self.reservation())),
            }
        })
    }

    /// Books the usage of a call and releases its slot. What cannot be written now is written with the
    /// next change, before the next call of this process begins.
    pub(crate) fn book(&self, call: &Call<'_>) {
        let row = call.was_sent.then(|| self.row(call));
        {
            let mut unwritten = lock(&self.unwritten);
            unwritten.rows.extend(row);
            unwritten.released_slots.extend(call.slot);
            if unwritten.rows.is_empty() && unwritten.released_slots.is_empty() {
                return;
            }
        }
        let _ = self.change(|_| ());
    }

    /// Notifies the lead that a budget is spent, once for each revision of its limits.
    pub(crate) fn notify_lead(&self, spent: &BudgetSpent) {
        let id = spent.notice_id();
        let mut last_notice = lock(&self.last_notice);
        if last_notice.as_ref() == Some(&id) {
            return;
        }
        let Ok(budget) = self.team.budget() else {
            return;
        };
        let known = allowance(&budget, &spent.whose).and_then(|known| known.notified_rev);
        if known != Some(spent.rev) {
            // Several members may send it at once: the same text under the same id is one notice.
            let (to, text) = (Recipient::Lead, spent.notice());
            let sent = team::notice(&self.team, to, NoticeCause::Budget, &id, &text);
            if sent.is_err() {
                return;
            }
            let _ = self.team.log_event(EventKind::Budget {
                member: match &spent.whose {
                    BudgetOf::Team | BudgetOf::Run(_) => None,
                    BudgetOf::Member(member) => Some(member.clone()),
                },
                action: "spent".to_owned(),
                limits: spent.limit.to_string(),
            });
            let _ = self.change(|budget| {
                let known = allowance_mut(budget, &spent.whose);
                if let Some(known) = known.filter(|known| known.rev == spent.rev) {
                    known.notified_rev = Some(spent.rev);
                }
            });
        }
        *last_notice = Some(id);
    }

    /// Changes the budget, and writes the unwritten changes along with it.
    fn change<T>(&self, change: impl FnOnce(&mut Budget) -> T) -> Result<T, TeamFileError> {
        let mut unwritten = lock(&self.unwritten);
        let changed = self.team.update_budget(|budget| {
            for row in &unwritten.rows {
                account::book(budget, row);
            }
            for slot in &unwritten.released_slots {
                release(budget, *slot);
            }
            Ok::<_, TeamFileError>(change(budget))
        });
        if changed.is_ok() {
            *unwritten = Unwritten::default();
        }
        changed
    }

    fn reservation(&self) -> Reservation {
        Reservation {
            slot: 0,
            member: self.owner.clone(),
            incarnation: self.incarnation,
            since: now(),
            extra: Extra::new(),
        }
    }

    /// Whether the process that reserved a slot still runs. True if that cannot be determined.
    fn is_running(&self, call: &Reservation) -> bool {
        if call.member == self.owner {
            return call.incarnation == self.incarnation;
        }
        match self.team.liveness(&call.member) {
            Ok(Liveness::Gone(_)) => false,
            Ok(Liveness::Alive(Some(holder))) => holder.incarnation <= call.incarnation,
            Ok(Liveness::Alive(None)) | Err(_) => true,
        }
    }

    fn empty_row(&self, model: &str) -> Booking {
        let live = self.team.live_state(&self.owner).ok().flatten();
        let task = live.and_then(|live| live.task);
        Booking::new(self.owner.clone(), normal_name(model), task)
    }

    fn row(&self, call: &Call<'_>) -> Booking {
        let price = (self.prices)().price(call.model);
        let price = price.filter(|_| !call.is_charged);
        let is_charged = call.is_charged || self.has_reported_costs && !call.was_answered;
        let usage = &call.usage;
        Booking {
            calls: 1,
            input: usage.input,
            output: usage.output,
            cache_read: usage.cache_read,
            cache_write: usage.cache_write,
            searches: usage.searches,
            cost: price.map(|price| price.cost(usage)).unwrap_or_default(),
            unpriced: u64::from(price.is_none() && !is_charged),
            millis: u64::try_from(call.took.as_millis()).unwrap_or(u64::MAX),
            ..self.empty_row(call.model)
        }
    }
}

/// Whether calls of a model were booked whose cost is not known.
fn is_unpriced(budget: &Budget, model: &str) -> bool {
    let mut rows = budget.booked.iter();
    rows.any(|row| row.model == model && row.unpriced > 0)
}

fn allowance<'a>(budget: &'a Budget, whose: &BudgetOf) -> Option<&'a Allowance> {
    match whose {
        BudgetOf::Team => Some(&budget.team),
        BudgetOf::Run(lead) => {
            let run = budget.run.as_ref().filter(|run| run.lead == *lead);
            run.map(|run| &run.allowance)
        }
        BudgetOf::Member(member) => budget.allowance(Some(member)),
    }
}

fn allowance_mut<'a>(budget: &'a mut Budget, whose: &BudgetOf) -> Option<&'a mut Allowance> {
    match whose {
        BudgetOf::Team => Some(&mut budget.team),
        BudgetOf::Run(lead) => {
            let run = budget.run.as_mut().filter(|run| run.lead == *lead);
            run.map(|run| &mut run.allowance)
        }
        BudgetOf::Member(member) => Some(budget.allowance_mut(Some(member))),
    }
}

/// The spent budgets of a team: its own first, then those of members. Calls may still be in flight.
pub fn spent(team: &TeamDir) -> Result<Vec<BudgetSpent>, TeamFileError> {
    Ok(all_reached(&team.budget()?))
}

fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    // No panic under these locks leaves an inconsistent state.
    value.lock().unwrap_or_else(PoisonError::into_inner)
}
