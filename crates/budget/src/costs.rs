//! Spending by member, model or task.

use crate::account::Sum;
use protocol::{Booking, Budget};

/// How spending is grouped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupBy {
    Member,
    Model,
    /// The task that the member was working on.
    Task,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Costs {
    /// One line for each member, model or task, sorted.
    pub lines: Vec<Line>,
    pub total: Sum,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The member, the model or the number of the task; `None` for no task.
    pub key: Option<String>,
    pub sum: Sum,
}

/// Sums up the bookings.
pub fn costs(budget: &Budget, by: GroupBy) -> Costs {
    let mut rows: Vec<&Booking> = budget.booked.iter().collect();
    match by {
        GroupBy::Member => rows.sort_by_key(|row| row.member.clone()),
        GroupBy::Model => rows.sort_by_key(|row| row.model.clone()),
        // Work without a task comes last.
        GroupBy::Task => rows.sort_by_key(|row| (row.task.is_none(), row.task)),
    }
    let mut lines: Vec<Line> = Vec::new();
    for row in rows {
        let key = match by {
            GroupBy::Member => Some(row.member.to_string()),
            GroupBy::Model => Some(row.model.clone()),
            GroupBy::Task => row.task.map(|task| task.to_string()),
        };
        match lines.iter_mut().find(|line| line.key == key) {
            Some(line) => line.sum = line.sum.plus(row),
            None => lines.push(Line {
                key,
                sum: Sum::default().plus(row),
            }),
        }
    }
    let total = budget.booked.iter().fold(Sum::default(), Sum::plus);
    Costs { lines, total }
}

impl Costs {
    /// The costs in columns: names to the left, numbers to the right.
    pub fn table(&self, by: GroupBy) -> String {
        let mut rows = vec![by.headings().map(str::to_owned)];
        rows.extend(self.rows(by));
        let width = |at: usize| {
            let cells = rows.iter().filter_map(|row| row.get(at));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let (first, second, third) = (width(0), width(1), width(2));
        let lines = rows.iter().map(|[name, calls, tokens, cost]| {
            format!("{name:<first$}  {calls:>second$}  {tokens:>third$}  {cost}")
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// The cells of the table: a row for each line, and the total.
    pub fn rows(&self, by: GroupBy) -> Vec<[String; 4]> {
        let rows = self.lines.iter();
        let mut rows: Vec<_> = rows.map(|line| row(&line.name(by), &line.sum)).collect();
        rows.push(row("total", &self.total));
        rows
    }
}

impl GroupBy {
    /// The headings of the table.
    pub const fn headings(self) -> [&'static str; 4] {
        let heading = match self {
            Self::Member => "MEMBER",
            Self::Model => "MODEL",
            Self::Task => "TASK",
        };
        [heading, "CALLS", "TOKENS", "COST"]
    }
}

impl Line {
    fn name(&self, by: GroupBy) -> String {
        match (by, &self.key) {
            (GroupBy::Task, Some(task)) => format!("#{task}"),
            (GroupBy::Member | GroupBy::Model, Some(key)) => key.clone(),
            (_, None) => "no task".to_owned(),
        }
    }
}

fn row(name: &str, sum: &Sum) -> [String; 4] {
    let cost = match (sum.unpriced, sum.calls - sum.unpriced.min(sum.calls)) {
        (0, _) => sum.cost.to_string(),
        (_, 0) => "price unknown".to_owned(),
        (unpriced, _) => format!("{} and {unpriced} calls of unknown price", sum.cost),
    };
    [
        name.to_owned(),
        sum.calls.to_string(),
        sum.tokens.to_string(),
        cost,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::TaskId;

    #[test]
    fn spending_is_told_apart_in_three_ways() {
        let row = |name: &str, model: &str, task: Option<u64>, tokens| Booking {
            calls: 1,
            output: tokens,
            ..Booking::new(name.parse().unwrap(), model, task.map(TaskId))
        };
        let budget = Budget {
            booked: vec![
                row("bob", "m1", Some(10), 1),
                row("alice", "m1", None, 2),
                row("alice", "m2", Some(9), 4),
                row("lead", "m2", Some(10), 8),
            ],
            ..Budget::default()
        };
        let shown = |by| -> Vec<(String, u64)> {
            let lines = costs(&budget, by).lines.into_iter();
            let key = |line: &Line| line.key.clone().unwrap_or_default();
            lines.map(|line| (key(&line), line.sum.tokens)).collect()
        };
        let list = |pairs: &[(&str, u64)]| -> Vec<(String, u64)> {
            pairs
                .iter()
                .map(|(key, n)| ((*key).to_owned(), *n))
                .collect()
        };
        assert_eq!(
            shown(GroupBy::Member),
            list(&[("lead", 8), ("alice", 6), ("bob", 1)])
        );
        assert_eq!(shown(GroupBy::Model), list(&[("m1", 3), ("m2", 12)]));
        assert_eq!(shown(GroupBy::Task), list(&[("9", 4), ("10", 9), ("", 2)]));
        assert_eq!(costs(&budget, GroupBy::Task).total.tokens, 15);
    }
}
