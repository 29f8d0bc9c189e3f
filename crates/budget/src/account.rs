//! The rules as pure functions: what was spent, and whether a call may begin.

use protocol::{
    Allowance, Booking, Budget, Caps, Incarnation, Money, Recipient, Reservation, SpentBefore,
};
use std::fmt;

const MILLIS_IN_MINUTE: u64 = 60_000;

/// A sum of bookings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sum {
    /// Tokens of all kinds.
    pub tokens: u64,
    /// Input tokens that were neither read from a cache nor written to it.
    pub input: u64,
    pub output: u64,
    /// Input tokens that were read from a cache.
    pub cache_read: u64,
    /// Input tokens that were written to a cache.
    pub cache_write: u64,
    /// Searches of the web by providers.
    pub searches: u64,
    /// The cost of the calls with a known price.
    pub cost: Money,
    pub calls: u64,
    /// The number of calls without a known price.
    pub unpriced: u64,
    /// Working time in milliseconds.
    pub millis: u64,
    /// Reserved calls that are not booked yet.
    pub in_flight: u64,
}

/// A limit that is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Limit {
    Tokens(u64),
    Cost(Money),
    Turns(u64),
    Minutes(u64),
    /// A limit of cost that cannot be enforced, because the price of this model is not known.
    Price(Money, String),
}

/// Whose budget it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BudgetOf {
    Team,
    /// The run of this lead.
    Run(Incarnation),
    Member(Recipient),
}

/// A budget of which a limit is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BudgetSpent {
    pub whose: BudgetOf,
    pub limit: Limit,
    /// The revision of the limits.
    pub rev: u64,
}

impl Sum {
    /// What the team or a member has spent.
    pub fn of(budget: &Budget, member: Option<&Recipient>) -> Self {
        let is_included = |whose: &Recipient| member.is_none_or(|member| member == whose);
        let rows = budget.booked.iter().filter(|row| is_included(&row.member));
        let mut sum = rows.fold(Self::default(), Self::plus);
        let reserved = budget
            .reserved
            .iter()
            .filter(|call| is_included(&call.member));
        sum.in_flight = reserved.count() as u64;
        sum
    }

    /// What the team has spent since.
    #[must_use]
    pub fn since(self, before: &SpentBefore) -> Self {
        Self {
            tokens: self.tokens.saturating_sub(before.tokens),
            cost: self.cost.minus(before.cost),
            calls: self.calls.saturating_sub(before.turns),
            millis: self.millis.saturating_sub(before.millis),
            ..self
        }
    }

    /// The sum as it is stored.
    pub(crate) fn to_stored(self) -> SpentBefore {
        SpentBefore {
            tokens: self.tokens,
            cost: self.cost,
            turns: self.calls,
            millis: self.millis,
            ..SpentBefore::default()
        }
    }

    /// Adds a row.
    #[must_use]
    pub fn plus(self, row: &Booking) -> Self {
        Self {
            tokens: self.tokens.saturating_add(row.tokens()),
            input: self.input.saturating_add(row.input),
            output: self.output.saturating_add(row.output),
            cache_read: self.cache_read.saturating_add(row.cache_read),
            cache_write: self.cache_write.saturating_add(row.cache_write),
            searches: self.searches.saturating_add(row.searches),
            cost: self.cost.plus(row.cost),
            calls: self.calls.saturating_add(row.calls),
            unpriced: self.unpriced.saturating_add(row.unpriced),
            millis: self.millis.saturating_add(row.millis),
            in_flight: self.in_flight,
        }
    }
}

/// The first limit that prevents a call of `member`. `model` is given if its price is not known.
pub(crate) fn reached(
    budget: &Budget,
    member: &Recipient,
    model: Option<&str>,
) -> Option<BudgetSpent> {
    let all = budgets(budget);
    let all = all.into_iter();
    let mut concerned = all.filter(|(whose, ..)| concerns(whose, member));
    concerned.find_map(|(whose, allowance, sum)| {
        let limit = first_reached(&allowance.limits, &sum, model)?;
        let rev = allowance.rev;
        Some(BudgetSpent { whose, limit, rev })
    })
}

/// Whether what `member` has spent reaches a limit of costs.
pub(crate) fn is_cost_reached(budget: &Budget, member: &Recipient) -> bool {
    let mut all = budgets(budget).into_iter();
    all.any(|(whose, allowance, sum)| {
        concerns(&whose, member) && (allowance.limits.max_cost).is_some_and(|max| sum.cost >= max)
    })
}

fn concerns(whose: &BudgetOf, member: &Recipient) -> bool {
    match whose {
        BudgetOf::Team | BudgetOf::Run(_) => true,
        BudgetOf::Member(other) => other == member,
    }
}

/// The budget of the team, that of the run and those of members, each with what counts for it.
fn budgets(budget: &Budget) -> Vec<(BudgetOf, &Allowance, Sum)> {
    let team = Sum::of(budget, None);
    let mut all = vec![(BudgetOf::Team, &budget.team, team)];
    all.extend(budget.run.iter().map(|run| {
        let whose = BudgetOf::Run(run.lead);
        (whose, &run.allowance, team.since(&run.before))
    }));
    all.extend(budget.members.iter().map(|(member, allowance)| {
        let sum = Sum::of(budget, Some(member));
        (BudgetOf::Member(member.clone()), allowance, sum)
    }));
    all
}

fn first_reached(caps: &Caps, sum: &Sum, unpriced_model: Option<&str>) -> Option<Limit> {
    let tokens = caps.max_tokens.filter(|max| sum.tokens >= *max);
    let cost = caps.max_cost.filter(|max| sum.cost >= *max);
    // Calls in flight count too, so this limit is never exceeded.
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

/// The budgets that are spent by the bookings alone, without calls in flight.
pub(crate) fn all_reached(budget: &Budget) -> Vec<BudgetSpent> {
    let all = budgets(budget).into_iter();
    let spent = all.filter_map(|(whose, allowance, sum)| {
        let booked = Sum {
            in_flight: 0,
            ..sum
        };
        let limit = first_reached(&allowance.limits, &booked, None)?;
        let rev = allowance.rev;
        Some(BudgetSpent { whose, limit, rev })
    });
    spent.collect()
}

/// Adds a booking.
pub(crate) fn book(budget: &mut Budget, row: &Booking) {
    match budget.booked.iter_mut().find(|known| known.is_like(row)) {
        Some(known) => known.add(row),
        None => budget.booked.push(row.clone()),
    }
}

/// Reserves a slot.
pub(crate) fn reserve(budget: &mut Budget, mut call: Reservation) -> u64 {
    budget.last_slot = budget.last_slot.wrapping_add(1);
    call.slot = budget.last_slot;
    budget.reserved.push(call);
    budget.last_slot
}

/// Releases a slot.
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

impl BudgetSpent {
    /// The command or setting that lets the work continue.
    pub fn remedy(&self) -> String {
        let whose = match &self.whose {
            BudgetOf::Team => String::new(),
            BudgetOf::Run(_) => " --run".to_owned(),
            BudgetOf::Member(member) => format!(" --member {member}"),
        };
        let flag = match &self.limit {
            Limit::Tokens(_) => "--max-tokens N",
            Limit::Cost(_) => "--max-cost X",
            Limit::Turns(_) => "--max-turns N",
            Limit::Minutes(_) => "--max-minutes N",
            Limit::Price(_, model) => {
                return format!("a price for {model} under [models] in team.toml");
            }
        };
        format!("`team-lead budget raise{whose} {flag}`")
    }

    /// The text of the notice to the lead. It depends only on the limits, so that all members that
    /// send it send the same text.
    pub fn notice(&self) -> String {
        let (whose, who) = match &self.whose {
            BudgetOf::Team => ("The team's budget".to_owned(), "its members wait"),
            BudgetOf::Run(_) => ("The budget of this run".to_owned(), "the team waits"),
            BudgetOf::Member(member) => (format!("The budget of {member}"), "it waits"),
        };
        format!(
            "{whose} is spent ({}): {who}. To continue: {}. To see what was spent: \
             `team-lead costs`.",
            self.limit,
            self.remedy()
        )
    }

    /// The id of the notice: one for each revision of the limits.
    pub fn notice_id(&self) -> String {
        let rev = self.rev;
        match &self.whose {
            BudgetOf::Team => format!("budget//{rev}"),
            // No member has such a name.
            BudgetOf::Run(lead) => format!("budget/run {lead}/{rev}"),
            BudgetOf::Member(member) => format!("budget/{member}/{rev}"),
        }
    }
}

impl fmt::Display for BudgetSpent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limit = &self.limit;
        match &self.whose {
            BudgetOf::Team => write!(f, "the team's budget is spent: {limit}"),
            BudgetOf::Run(_) => write!(f, "the budget of this run is spent: {limit}"),
            BudgetOf::Member(member) => write!(f, "the budget of {member} is spent: {limit}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::{Extra, RunBudget, Timestamp};

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

    fn reached_text(budget: &Budget, name: &str) -> Option<String> {
        reached(budget, &who(name), None).map(|spent| spent.to_string())
    }

    #[test]
    fn without_limits_no_limit_is_reached() {
        let mut budget = Budget::default();
        book(&mut budget, &row("alice", u64::MAX / 1000, u64::MAX));
        assert_eq!(reached(&budget, &who("alice"), Some("m")), None);
    }

    #[test]
    fn a_team_budget_covers_all_members_and_a_member_budget_only_one() {
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
        assert_eq!(reached_text(&budget, "bob"), None);
        book(&mut budget, &row("bob", 1, 70));
        assert_eq!(
            reached_text(&budget, "bob").unwrap(),
            "the team's budget is spent: max_tokens 100"
        );
        assert_eq!(all_reached(&budget).len(), 2);
    }

    #[test]
    fn calls_in_flight_count_only_as_turns() {
        let mut budget = Budget::default();
        budget.team.limits.max_turns = Some(3);
        budget.team.limits.max_tokens = Some(10);
        book(&mut budget, &row("alice", 1, 9));
        let first = reserve(&mut budget, call("alice"));
        assert_eq!(reached_text(&budget, "bob"), None);
        let second = reserve(&mut budget, call("bob"));
        assert_ne!(first, second);
        assert!(
            reached_text(&budget, "carol")
                .unwrap()
                .ends_with("max_turns 3")
        );
        assert_eq!(all_reached(&budget), []);
        release(&mut budget, first);
        assert_eq!(reached_text(&budget, "carol"), None);
    }

    #[test]
    fn minutes_and_cost_are_limited() {
        let mut budget = Budget::default();
        book(&mut budget, &row("alice", 60, 500));
        budget.team.limits.max_minutes = Some(1);
        assert!(
            reached_text(&budget, "alice")
                .unwrap()
                .contains("max_minutes 1")
        );
        budget.team.limits.max_minutes = Some(2);
        assert_eq!(reached_text(&budget, "alice"), None);
        budget.team.limits.max_cost = Some(Money::from_nanos(500));
        assert!(reached_text(&budget, "alice").unwrap().contains("max_cost"));
    }

    #[test]
    fn what_was_spent_before_a_run_does_not_count_for_it() {
        let mut budget = Budget::default();
        budget.team.limits.max_turns = Some(10);
        book(&mut budget, &row("bob", 6, 600));
        let mut run = RunBudget {
            lead: Incarnation(2),
            allowance: Allowance::default(),
            before: Sum::of(&budget, None).to_stored(),
            extra: Extra::new(),
        };
        run.allowance.limits.max_turns = Some(2);
        run.allowance.limits.max_cost = Some(Money::from_nanos(50));
        budget.run = Some(run);
        assert_eq!(reached_text(&budget, "bob"), None);
        book(&mut budget, &row("bob", 1, 0));
        reserve(&mut budget, call("alice"));
        let spent = reached(&budget, &who("lead"), None).unwrap();
        assert_eq!(
            spent.to_string(),
            "the budget of this run is spent: max_turns 2"
        );
        assert_eq!(spent.notice_id(), "budget/run 2/0");
        assert!(
            spent.remedy().contains("raise --run --max-turns"),
            "{spent:?}"
        );
        book(&mut budget, &row("carol", 0, 50));
        assert_eq!(
            all_reached(&budget)[0].limit,
            Limit::Cost(Money::from_nanos(50))
        );
        // The team's budget counts everything, and comes first.
        book(&mut budget, &row("bob", 3, 0));
        assert!(reached_text(&budget, "bob").unwrap().contains("team"));
    }

    #[test]
    fn a_cost_limit_needs_a_price() {
        let mut budget = Budget::default();
        budget.team.limits.max_cost = Some(Money::from_dollars(2.0).unwrap());
        let spent = reached(&budget, &who("alice"), Some("openai:llama")).unwrap();
        assert!(
            spent
                .notice()
                .contains("price of openai:llama is not known")
        );
        assert!(spent.remedy().contains("[models] in team.toml"));
        assert_eq!(reached(&budget, &who("alice"), None), None);
    }

    #[test]
    fn rows_of_the_same_kind_are_merged() {
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
