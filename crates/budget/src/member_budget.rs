//! One agent's dealings with the team's budget on disk.

use crate::account::{Spent, all_reached, book, reached, release, reserve};
use crate::price::{Prices, normal_name};
use llm::Usage;
use protocol::{Booking, Budget, EventKind, Extra, Incarnation, Recipient, Reservation};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use teamdir::{Liveness, TeamDir, TeamFileError, now};

/// Says what models cost, as of now.
pub type PriceSource = Arc<dyn Fn() -> Prices + Send + Sync>;

/// Spends for one life of a member or of the lead.
pub struct MemberBudget {
    team: TeamDir,
    owner: Recipient,
    incarnation: Incarnation,
    prices: PriceSource,
    /// What could not be written yet.
    owed: Mutex<Owed>,
    /// The last notice that was sent.
    told: Mutex<Option<String>>,
}

#[derive(Debug, Clone, Default)]
struct Owed {
    rows: Vec<Booking>,
    slots: Vec<u64>,
}

/// Whether a call may begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Nothing is limited.
    Free,
    /// This slot is reserved for it.
    Granted(u64),
    /// There is no budget for it.
    Spent(Spent),
    /// So many ask at the same time, which are as many as may.
    Crowded(u64),
}

/// A call that is over.
#[derive(Debug, Clone)]
pub(crate) struct Call<'a> {
    pub(crate) model: &'a str,
    pub(crate) slot: Option<u64>,
    pub(crate) usage: Usage,
    /// How long the agent was at work for it.
    pub(crate) took: Duration,
    /// Whether anything was asked.
    pub(crate) was_asked: bool,
}

impl MemberBudget {
    /// The purse of this life.
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
            owed: Mutex::default(),
            told: Mutex::default(),
        }
    }

    /// Asks for leave to call a model, and reserves a slot if there is.
    pub fn ask(&self, model: &str) -> Result<Answer, TeamFileError> {
        let working = self.team.limits()?.working;
        if working.is_none() && !self.team.budget()?.is_limited() {
            let is_owing = {
                let owed = lock(&self.owed);
                !owed.rows.is_empty() || !owed.slots.is_empty()
            };
            // Nothing is limited, so a booking that still cannot be written holds nobody up.
            if is_owing {
                let _ = self.change(|_| ());
            }
            return Ok(Answer::Free);
        }
        let is_priced = (self.prices)().of(model).is_some();
        let unpriced = (!is_priced).then(|| normal_name(model));
        self.change(|budget| {
            budget.reserved.retain(|call| self.incarnations(call));
            let in_flight = budget.reserved.len() as u64;
            if working.is_some_and(|most| in_flight >= most) {
                return Answer::Crowded(in_flight);
            }
            match reached(budget, &self.owner, unpriced) {
                Some(spent) => Answer::Spent(spent),
                None => Answer::Granted(reserve(budget, self.reservation())),
            }
        })
    }

    /// Gives the slot of a call back and books what it used. What cannot be written now is written
    /// with the next change, and before the next call of this process begins.
    pub(crate) fn settle(&self, call: &Call<'_>) {
        let row = call.was_asked.then(|| self.row(call));
        {
            let mut owed = lock(&self.owed);
            owed.rows.extend(row);
            owed.slots.extend(call.slot);
            if owed.rows.is_empty() && owed.slots.is_empty() {
                return;
            }
        }
        let _ = self.change(|_| ());
    }

    /// Tells the lead that a budget is spent, once for each change of its limits.
    pub(crate) fn announce(&self, spent: &Spent) {
        let id = spent.notice_id();
        let mut told = lock(&self.told);
        if told.as_ref() == Some(&id) {
            return;
        }
        let whose = spent.member.as_ref();
        let Ok(budget) = self.team.budget() else {
            return;
        };
        let known = budget.allowance(whose).and_then(|known| known.told);
        if known != Some(spent.rev) {
            // Several may do this at once: the same words under the same id are one notice.
            let sent = team::notice(&self.team, Recipient::Lead, &id, &spent.notice());
            if sent.is_err() {
                return;
            }
            let _ = self.team.log_event(EventKind::Budget {
                member: spent.member.clone(),
                action: "spent".to_owned(),
                limits: spent.limit.to_string(),
            });
            let _ = self.change(|budget| {
                let allowance = budget.allowance_mut(whose);
                if allowance.rev == spent.rev {
                    allowance.told = Some(spent.rev);
                }
            });
        }
        *told = Some(id);
    }

    /// Changes the budget, and writes what is owed along with it.
    fn change<T>(&self, change: impl FnOnce(&mut Budget) -> T) -> Result<T, TeamFileError> {
        let mut owed = lock(&self.owed);
        let changed = self.team.update_budget(|budget| {
            for row in &owed.rows {
                book(budget, row);
            }
            for slot in &owed.slots {
                release(budget, *slot);
            }
            Ok::<_, TeamFileError>(change(budget))
        });
        if changed.is_ok() {
            *owed = Owed::default();
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

    /// Whether the process that reserved a slot still runs. In doubt it does.
    fn incarnations(&self, call: &Reservation) -> bool {
        if call.member == self.owner {
            return call.incarnation == self.incarnation;
        }
        match self.team.liveness(&call.member) {
            Ok(Liveness::Gone(_)) => false,
            Ok(Liveness::Alive(Some(holder))) => holder.incarnation <= call.incarnation,
            Ok(Liveness::Alive(None)) | Err(_) => true,
        }
    }

    fn row(&self, call: &Call<'_>) -> Booking {
        let live = self.team.live_state(&self.owner).ok().flatten();
        let task = live.and_then(|live| live.task);
        let price = (self.prices)().of(call.model);
        let usage = &call.usage;
        Booking {
            calls: 1,
            input: usage.input,
            output: usage.output,
            cache_read: usage.cache_read,
            cache_write: usage.cache_write,
            cost: price.map(|price| price.cost(usage)).unwrap_or_default(),
            unpriced: u64::from(price.is_none()),
            millis: u64::try_from(call.took.as_millis()).unwrap_or(u64::MAX),
            ..Booking::new(self.owner.clone(), normal_name(call.model), task)
        }
    }
}

/// The budgets of a team that are spent: the team's first, then those of members. A call that is on
/// its way may still come back.
pub fn spent(team: &TeamDir) -> Result<Vec<Spent>, TeamFileError> {
    Ok(all_reached(&team.budget()?))
}

fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing that is done under these locks leaves a half-done state.
    value.lock().unwrap_or_else(PoisonError::into_inner)
}
