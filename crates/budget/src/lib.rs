//! The budget of a team: limits of spending, and what was spent.
//!
//! # Theory of operation
//!
//! The whole state is in one file of the team folder, `budget.json`, which all members change under
//! one lock. A [`BudgetedModel`] wraps the model of each agent. Before a call it reserves a slot;
//! after the call it books the usage. While a limit is reached no call begins: the agent waits, the
//! lead is notified once, and the call begins when the limit is raised.
//!
//! The rules are pure functions of the file's content (`account.rs`); `member_budget.rs` reads and
//! writes the file; `model.rs` has the wrapper.
//!
//! **Invariant:** a limit is exceeded by no more than the calls that were in flight when it was
//! reached, even if processes are killed. A call of a process that has ended holds no slot.
//!
//! **Invariant:** a reply is never lost because it could not be booked. Unwritten bookings are written
//! before the next call begins.
//!
//! Without limits a call costs one small file read before it and one unsynced write after it.

mod account;
mod change;
mod costs;
mod member_budget;
mod model;

pub use account::{BudgetOf, BudgetSpent, Limit, Sum};
pub use change::{adopt, begin_run, change, change_run, describe, end_run, restore};
pub use costs::{Costs, GroupBy, Line, costs};
pub use member_budget::{Admission, MemberBudget, PriceSource, spent};
pub use model::BudgetedModel;
