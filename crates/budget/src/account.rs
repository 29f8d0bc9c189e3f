//! The rules: what was spent, and whether a call may begin. Pure.

use protocol::{Booking, Budget, Caps, Money, Recipient, Reservation};
use std::fmt;

const MILLIS_IN_MINUTE: u64 = 60_000;

/// What was spent in all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sum {
    /// Tokens of all kinds.
    pub tokens: u64,
    /// Input tokens that were neither read from a cache nor written to it.
    pub input: u64,
    /// Output tokens.
    pub output: u64,
    /// Input tokens that were read from a cache.
    pub cache_read: u64,
    /// Input tokens that were written to a cache.
    pub cache_write: u64,
    /// Money, as far as prices were known.
    pub cost: Money,
    /// Calls of models.
    pub calls: u64,
    /// Calls without a known price.
    pub unpriced: u64,
    /// Time at work in milliseconds.
    pub millis: u64,
    /// Calls that are on their way.
    pub in_flight: u64,
}

/// A limit that is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Limit {
    /// So many tokens.
    Tokens(u64),
    /// So much money.
    Cost(Money),
    /// So many calls.
    Turns(u64),
    /// So many minutes.
    Minutes(u64),
    /// So much money, which cannot be kept to with this model, since its price is not known.
    Price(Money, String),
}

/// A budget that is spent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spent {
    /// Whose; `None` for the team's.
    pub member: Option<Recipient>,
    /// Which of its limits.
    pub limit: Limit,
    /// The revision of its limits.
    pub rev: u64,
}

impl Sum {
    /// What the team, or a member, has spent.
    pub fn of(budget: &Budget, member: Option<&Recipient>) -> Self {
        let is_meant = |whose: &Recipient| member.is_none_or(|member| member == whose);
        let rows = budget.booked.iter().filter(|row| is_meant(&row.member));
        let mut sum = rows.fold(Self::default(), Self::plus);
        let reserved = budget.reserved.iter().filter(|call| is_meant(&call.member));
        sum.in_flight = reserved.count() as u64;
        sum
    }

    /// With another row.
    #[must_use]
    pub fn plus(self, row: &Booking) -> Self {
        Self {
            tokens: self.tokens.saturating_add(row.tokens()),
            input: self.input.saturating_add(row.input),
            output: self.output.saturating_add(row.output),
            cache_read: self.cache_read.saturating_add(row.cache_read),
            cache_write: self.cache_write.saturating_add(row.cache_write),
            cost: self.cost.plus(row.cost),
            calls: self.calls.saturating_add(row.calls),
            unpriced: self.unpriced.saturating_add(row.unpriced),
            millis: self.millis.saturating_add(row.millis),
            in_flight: self.in_flight,
        }
    }
}

/// The first limit that keeps a call of `member` from beginning. `model` is named if its price is not
/// known.
pub(crate) fn reached(budget: &Budget, member: &Recipient, model: Option<&str>) -> Option<Spent> {
    [None, Some(member)].into_iter().find_map(|whose| {
        let allowance = budget.allowance(whose)?;
        let limit = first_reached(&allowance.limits, &Sum::of(budget, whose), model)?;
        Some(Spent {
            member: whose.cloned(),
            limit,
            rev: allowance.rev,
        })
    })
}

fn first_reached(caps: &Caps, sum: &Sum, unpriced_model: Option<&str>) -> Option<Limit> {
    let tokens = caps.max_tokens.filter(|max| sum.tokens >= *max);
    let cost = caps.max_cost.filter(|max| sum.cost >= *max);
    // A call on its way is counted before it is booked, so this one is never exceeded.
    let turns = caps
        .max_turns
        .filter(|max| sum.calls.saturating_add(sum.in_flight) >= *max);
    let minutes = caps
        .max_minutes
        .filter(|max| sum.millis >= max.saturating_mul(MILLIS_IN_MINUTE));
    let price = caps.max_cost.zip(unpriced_model);
    tokens
        .map(Limit::Tokens)
        .or(cost.map(Limit::Cost))
        .or(turns.map(Limit::Turns))
        .or(minutes.map(Limit::Minutes))
        .or(price.map(|(max, model)| Limit::Price(max, model.to_owned())))
}

/// The budgets that are spent by what is booked, whatever is on its way.
pub(crate) fn all_reached(budget: &Budget) -> Vec<Spent> {
    let members = budget.members.keys().map(Some);
    let spent = [None].into_iter().chain(members).filter_map(|whose| {
        let allowance = budget.allowance(whose)?;
        let booked = Sum {
            in_flight: 0,
            ..Sum::of(budget, whose)
        };
        let limit = first_reached(&allowance.limits, &booked, None)?;
        Some(Spent {
            member: whose.cloned(),
            limit,
            rev: allowance.rev,
        })
    });
    spent.collect()
}

/// Adds a row to what is booked.
pub(crate) fn book(budget: &mut Budget, row: &Booking) {
    match budget.booked.iter_mut().find(|known| known.is_like(row)) {
        Some(known) => known.add(row),
        None => budget.booked.push(row.clone()),
    }
}

/// Reserves a slot.
pub(crate) fn reserve(budget: &mut Budget, mut call: Reservation) -> u64 {
    budget.last_slot += 1;
    call.slot = budget.last_slot;
    budget.reserved.push(call);
    budget.last_slot
}

/// Gives a slot back.
pub(crate) fn release(budget: &mut Budget, slot: u64) {
    budget.reserved.retain(|call| call.slot != slot);
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tokens(max) => write!(f, "max_tokens {max}"),
            Self::Cost(max) => write!(f, "max_cost {max}"),
            Self::Turns(max) => write!(f, "max_turns {max}"),
            Self::Minutes(max) => write!(f, "max_minutes {max}"),
            Self::Price(max, model) => {
                write!(f, "max_cost {max}, and the price of {model} is not known")
            }
        }
    }
}

impl Spent {
    /// The command that lets the work go on.
    pub fn remedy(&self) -> String {
        let whose = match &self.member {
            None => String::new(),
            Some(member) => format!(" --member {member}"),
        };
        let flag = match &self.limit {
            Limit::Tokens(_) => "--max-tokens N",
            Limit::Cost(_) => "--max-cost X",
            Limit::Turns(_) => "--max-turns N",
            Limit::Minutes(_) => "--max-minutes N",
            Limit::Price(_, model) => {
                return format!("a price for {model} under [prices] in team.toml");
            }
        };
        format!("`team-lead budget raise{whose} {flag}`")
    }

    /// What the lead is told. It depends on nothing that changes while the limit is the same, so
    /// that several who tell it say the same.
    pub fn notice(&self) -> String {
        let (whose, who) = match &self.member {
            None => ("The team's budget".to_owned(), "its members wait"),
            Some(member) => (format!("The budget of {member}"), "it waits"),
        };
        format!(
            "{whose} is spent ({}): {who}, nothing is lost. To let them go on: {}. What was spent: \
             `team-lead costs`.",
            self.limit,
            self.remedy()
        )
    }

    /// Under which id the lead is told, once for each change of the limits.
    pub fn notice_id(&self) -> String {
        let whose = self.member.as_ref().map_or("", Recipient::as_str);
        format!("budget/{whose}/{}", self.rev)
    }
}

impl fmt::Display for Spent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.member {
            None => write!(f, "the team's budget is spent: {}", self.limit),
            Some(member) => write!(f, "the budget of {member} is spent: {}", self.limit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::{Extra, Incarnation, Timestamp};

    fn who(name: &str) -> Recipient {
        name.parse().unwrap()
    }

    fn row(name: &str, calls: u64, tokens: u64) -> Booking {
        Booking {
            calls,
            input: tokens,
            millis: calls * 1000,
            cost: Money::from_nanos(tokens),
            ..Booking::new(who(name), "m", None)
        }
    }

    fn call(name: &str) -> Reservation {
        Reservation {
            slot: 0,
            member: who(name),
            incarnation: Incarnation(1),
            since: Timestamp::from_secs(1),
            extra: Extra::new(),
        }
    }

    fn words(budget: &Budget, name: &str) -> Option<String> {
        reached(budget, &who(name), None).map(|spent| spent.to_string())
    }

    #[test]
    fn without_limits_nothing_is_ever_reached() {
        let mut budget = Budget::default();
        book(&mut budget, &row("alice", u64::MAX / 1000, u64::MAX));
        assert_eq!(reached(&budget, &who("alice"), Some("m")), None);
    }

    #[test]
    fn the_team_pays_for_all_and_a_member_for_itself() {
        let mut budget = Budget::default();
        budget.team.limits.max_tokens = Some(100);
        let alice = budget.allowance_mut(Some(&who("alice")));
        (alice.limits.max_tokens, alice.rev) = (Some(30), 4);
        book(&mut budget, &row("alice", 1, 30));
        let spent = reached(&budget, &who("alice"), None).unwrap();
        assert_eq!(
            spent.to_string(),
            "the budget of alice is spent: max_tokens 30"
        );
        assert_eq!(spent.notice_id(), "budget/alice/4");
        assert_eq!(words(&budget, "bob"), None);
        book(&mut budget, &row("bob", 1, 70));
        assert_eq!(
            words(&budget, "bob").unwrap(),
            "the team's budget is spent: max_tokens 100"
        );
        assert_eq!(all_reached(&budget).len(), 2);
    }

    #[test]
    fn calls_on_their_way_count_as_turns_and_only_as_turns() {
        let mut budget = Budget::default();
        budget.team.limits.max_turns = Some(3);
        budget.team.limits.max_tokens = Some(10);
        book(&mut budget, &row("alice", 1, 9));
        let first = reserve(&mut budget, call("alice"));
        assert_eq!(words(&budget, "bob"), None);
        let second = reserve(&mut budget, call("bob"));
        assert_ne!(first, second);
        assert!(words(&budget, "carol").unwrap().ends_with("max_turns 3"));
        assert_eq!(all_reached(&budget), []);
        release(&mut budget, first);
        assert_eq!(words(&budget, "carol"), None);
    }

    #[test]
    fn minutes_and_money_are_limits_too() {
        let mut budget = Budget::default();
        book(&mut budget, &row("alice", 60, 500));
        budget.team.limits.max_minutes = Some(1);
        assert!(words(&budget, "alice").unwrap().contains("max_minutes 1"));
        budget.team.limits.max_minutes = Some(2);
        assert_eq!(words(&budget, "alice"), None);
        budget.team.limits.max_cost = Some(Money::from_nanos(500));
        assert!(words(&budget, "alice").unwrap().contains("max_cost"));
    }

    #[test]
    fn a_limit_of_money_needs_a_price() {
        let mut budget = Budget::default();
        budget.team.limits.max_cost = Some(Money::from_dollars(2.0).unwrap());
        let spent = reached(&budget, &who("alice"), Some("openai:llama")).unwrap();
        assert!(
            spent
                .notice()
                .contains("price of openai:llama is not known")
        );
        assert!(spent.remedy().contains("[prices] in team.toml"));
        assert_eq!(reached(&budget, &who("alice"), None), None);
    }

    #[test]
    fn rows_of_the_same_kind_are_one() {
        let mut budget = Budget::default();
        book(&mut budget, &row("alice", 1, 10));
        book(&mut budget, &row("alice", 2, 5));
        book(&mut budget, &row("bob", 1, 1));
        assert_eq!(budget.booked.len(), 2);
        let sum = Sum::of(&budget, Some(&who("alice")));
        assert_eq!((sum.calls, sum.tokens, sum.millis), (3, 15, 3000));
        assert_eq!(Sum::of(&budget, None).tokens, 16);
    }
}
