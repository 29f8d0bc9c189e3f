//! Budgets: `budget.json`, what may be spent on models and what was.

use crate::{Extra, FormatVersion, Incarnation, Money, Recipient, TaskId, Timestamp};
use std::collections::BTreeMap;

record! {
    /// What the team and its members may spend, and what they have spent.
    pub struct Budget {
        /// The format version of the whole folder.
        def version: FormatVersion => "version",
        /// What everybody together may spend.
        def team: Allowance => "team",
        /// What everybody together may spend in the run of the lead that began last, if that is limited.
        opt run: RunBudget => "run",
        /// What single members may spend, the lead among them.
        def members: BTreeMap<Recipient, Allowance> => "members",
        /// What was spent, one row for each member, model and task.
        def booked: Vec<Booking> => "booked",
        /// The calls that are on their way.
        def reserved: Vec<Reservation> => "reserved",
        /// The number of the last reservation.
        def last_slot: u64 => "last_slot",
    }
}

record! {
    /// The limits of the team or of a member, with their history.
    pub struct Allowance {
        /// Grows by one with each change of the limits.
        def rev: u64 => "rev",
        /// The limits in force.
        def limits: Caps => "limits",
        /// The limits that the configuration had when they were last taken from it.
        opt configured: Caps => "configured",
        /// The last `rev` of which the lead was notified that it is spent.
        opt notified_rev: u64 => "notified_rev",
    }
}

record! {
    /// What everybody together may spend in one run of the lead.
    pub struct RunBudget {
        /// The lead whose run it is.
        req lead: Incarnation => "lead",
        /// The limits of the run.
        def allowance: Allowance => "allowance",
        /// What was spent when the run began.
        def before: SpentBefore => "before",
    }
}

record! {
    /// A sum of what was booked at some time.
    pub struct SpentBefore {
        /// Tokens of all kinds.
        def tokens: u64 => "tokens",
        /// What they cost, as far as prices were known.
        def cost: Money => "cost",
        /// Calls of models.
        def turns: u64 => "turns",
        /// The time at work in milliseconds.
        def millis: u64 => "millis",
    }
}

record! {
    /// Limits of spending. What is absent has none.
    pub struct Caps {
        /// The most tokens of any kind.
        opt max_tokens: u64 => "max_tokens",
        /// The most money.
        opt max_cost: Money => "max_cost",
        /// The most calls of a model.
        opt max_turns: u64 => "max_turns",
        /// The most minutes at work.
        opt max_minutes: u64 => "max_minutes",
    }
}

record! {
    /// What one member spent with one model on one task.
    pub struct Booking {
        /// Who.
        req member: Recipient => "member",
        /// The model, by the name under which it was chosen.
        req model: String => "model",
        /// The task it had in hand, if any.
        opt task: TaskId => "task",
        /// How many calls.
        def calls: u64 => "calls",
        /// Input tokens that were neither read from a cache nor written to it.
        def input: u64 => "input",
        /// Output tokens.
        def output: u64 => "output",
        /// Input tokens that were read from a cache.
        def cache_read: u64 => "cache_read",
        /// Input tokens that were written to a cache.
        def cache_write: u64 => "cache_write",
        /// Searches of the web by the provider.
        def searches: u64 => "searches",
        /// What it cost, as far as prices were known.
        def cost: Money => "cost",
        /// How many of the calls had no known price.
        def unpriced: u64 => "unpriced",
        /// How long the member was at work for it, in milliseconds.
        def millis: u64 => "millis",
    }
}

record! {
    /// A call that is on its way.
    pub struct Reservation {
        /// Its number.
        req slot: u64 => "slot",
        /// Whose call.
        req member: Recipient => "member",
        /// The call ends with this incarnation.
        req incarnation: Incarnation => "incarnation",
        /// Since when.
        req since: Timestamp => "since",
    }
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            version: FormatVersion::CURRENT,
            team: Allowance::default(),
            run: None,
            members: BTreeMap::new(),
            booked: Vec::new(),
            reserved: Vec::new(),
            last_slot: 0,
            extra: Extra::new(),
        }
    }
}

impl Budget {
    /// Whether there is any limit.
    pub fn is_limited(&self) -> bool {
        self.allowances()
            .any(|allowance| !allowance.limits.is_empty())
    }

    /// All limits: those of the team, of the run and of members.
    pub fn allowances(&self) -> impl Iterator<Item = &Allowance> {
        let run = self.run.iter().map(|run| &run.allowance);
        [&self.team]
            .into_iter()
            .chain(run)
            .chain(self.members.values())
    }

    /// What the team, or a member, may spend.
    pub fn allowance(&self, member: Option<&Recipient>) -> Option<&Allowance> {
        match member {
            None => Some(&self.team),
            Some(member) => self.members.get(member),
        }
    }

    /// The same, to be changed.
    pub fn allowance_mut(&mut self, member: Option<&Recipient>) -> &mut Allowance {
        match member {
            None => &mut self.team,
            Some(member) => self.members.entry(member.clone()).or_default(),
        }
    }
}

impl Default for SpentBefore {
    fn default() -> Self {
        Self {
            tokens: 0,
            cost: Money::default(),
            turns: 0,
            millis: 0,
            extra: Extra::new(),
        }
    }
}

impl Default for Allowance {
    fn default() -> Self {
        Self {
            rev: 0,
            limits: Caps::default(),
            configured: None,
            notified_rev: None,
            extra: Extra::new(),
        }
    }
}

impl Default for Caps {
    fn default() -> Self {
        Self {
            max_tokens: None,
            max_cost: None,
            max_turns: None,
            max_minutes: None,
            extra: Extra::new(),
        }
    }
}

impl Caps {
    /// Whether nothing is limited.
    pub const fn is_empty(&self) -> bool {
        self.max_tokens.is_none()
            && self.max_cost.is_none()
            && self.max_turns.is_none()
            && self.max_minutes.is_none()
    }

    /// Takes over every limit that `other` has.
    pub fn take_over(&mut self, other: &Self) {
        self.max_tokens = other.max_tokens.or(self.max_tokens);
        self.max_cost = other.max_cost.or(self.max_cost);
        self.max_turns = other.max_turns.or(self.max_turns);
        self.max_minutes = other.max_minutes.or(self.max_minutes);
    }
}

impl Booking {
    /// A row with nothing in it.
    pub fn new(member: Recipient, model: &str, task: Option<TaskId>) -> Self {
        Self {
            member,
            model: model.to_owned(),
            task,
            calls: 0,
            input: 0,
            output: 0,
            cache_read: 0,
            cache_write: 0,
            searches: 0,
            cost: Money::default(),
            unpriced: 0,
            millis: 0,
            extra: Extra::new(),
        }
    }

    /// All tokens together.
    pub const fn tokens(&self) -> u64 {
        self.input
            .saturating_add(self.output)
            .saturating_add(self.cache_read)
            .saturating_add(self.cache_write)
    }

    /// Whether another row is about the same.
    pub fn is_like(&self, other: &Self) -> bool {
        self.member == other.member && self.model == other.model && self.task == other.task
    }

    /// Adds what another row has.
    pub fn add(&mut self, other: &Self) {
        let sum = |a: &mut u64, b: u64| *a = a.saturating_add(b);
        sum(&mut self.calls, other.calls);
        sum(&mut self.input, other.input);
        sum(&mut self.output, other.output);
        sum(&mut self.cache_read, other.cache_read);
        sum(&mut self.cache_write, other.cache_write);
        sum(&mut self.searches, other.searches);
        sum(&mut self.unpriced, other.unpriced);
        sum(&mut self.millis, other.millis);
        self.cost = self.cost.plus(other.cost);
    }
}
