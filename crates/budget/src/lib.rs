//! What a team may spend on models: limits, what was spent, and prices.
//!
//! # Theory of operation
//!
//! Everything is in one file of the team's folder, `budget.json`, which all members change under one
//! lock. A [`BudgetedModel`] stands in front of each agent's model. Before a call it reserves a slot,
//! after it it books what the call used. While a limit is reached no call begins: the agent waits,
//! the lead is told once, and the call goes on when somebody raises the limit. Nothing is lost
//! meanwhile.
//!
//! The rules are pure functions of the file (`account.rs`); the file is read and written in
//! `member_budget.rs`; the model in front of the model is in `model.rs`.
//!
//! **Invariant:** a limit is exceeded by no more than the calls that were on their way when it was
//! reached, whoever is killed whenever. A call of a process that is gone holds no slot.
//!
//! **Invariant:** a reply is never lost because it could not be booked. What is owed is booked before
//! the next call begins.
//!
//! Where nothing is limited a call pays one small file read before and one unsynced write after.

mod account;
mod change;
mod costs;
mod member_budget;
mod model;
mod price;

pub use account::{Limit, Spent, Sum};
pub use change::{adopt, change, put_back, words};
pub use costs::{By, Costs, Line, costs};
pub use member_budget::{Answer, MemberBudget, PriceSource, spent};
pub use model::BudgetedModel;
pub use price::{Price, Prices, normal_name};
