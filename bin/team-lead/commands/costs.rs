//! `costs`: spending by member, model or task.

use crate::cli::Args;
use crate::colour::Colour;
use crate::columns::{self, Cell, Column, Fit};
use crate::failure::Failure;
use crate::output::{print, print_json, print_painted, terminal_columns};
use budget::{Costs as Spending, GroupBy, Line, Sum};
use clap::builder::styling::Style;
use serde_json::{Value, json};
use teamdir::TeamDir;
use terminal_text::one_line;

/// Show what was spent on models.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead costs
  team-lead costs --by task
  team-lead costs --by model --json

Prices come from [models] in team.toml, or from a built-in table. For a model that is in neither, the
tokens are shown and the price is unknown. A change of prices does not affect earlier calls.

With --json: {\"by\", \"costs\": [{\"member\", \"model\" or \"task\", \"calls\", \"tokens\", \"input\",
\"output\", \"cache_read\", \"cache_write\", \"searches\" of the web, \"cost\" or null,
\"unpriced_calls\", \"minutes\"}], \"total\": the same}.")]
pub(crate) struct Costs {
    /// How to group the costs.
    #[arg(long, value_enum, default_value_t = Key::Member)]
    by: Key,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Key {
    Member,
    Model,
    Task,
}

pub(crate) fn run(team: &TeamDir, args: &Args, command: &Costs) -> Result<(), Failure> {
    let (by, key) = match command.by {
        Key::Member => (GroupBy::Member, "member"),
        Key::Model => (GroupBy::Model, "model"),
        Key::Task => (GroupBy::Task, "task"),
    };
    let costs = budget::costs(&team.budget()?, by);
    if args.json {
        let lines: Vec<Value> = costs.lines.iter().map(|line| object(key, line)).collect();
        let object = json!({"by": key, "costs": lines, "total": sum_object(&costs.total)});
        return print_json(&object);
    }
    if costs.lines.is_empty() {
        args.note("Nothing was spent yet.");
        return Ok(());
    }
    match terminal_columns() {
        Some(columns) => print_painted(&table(&costs, by, columns)),
        None => print(&costs.table(by)),
    }
}

/// The costs in columns that fit the terminal, the total in bold.
fn table(costs: &Spending, by: GroupBy, columns: usize) -> String {
    let fits = [Fit::Text, Fit::Number, Fit::Number, Fit::Text];
    let headings = by.headings();
    let headings = std::array::from_fn(|at| Column {
        heading: headings[at],
        fit: fits[at],
    });
    let rows = costs.rows(by);
    let last = rows.len() - 1;
    let rows = rows.into_iter().enumerate().map(|(at, row)| {
        let style = match at == last {
            true => Style::new().bold(),
            false => Style::new(),
        };
        row.map(|text| Cell::new(one_line(&text), style))
    });
    let rows: Vec<[Cell; 4]> = rows.collect();
    columns::table(&headings, &rows, columns, Colour::of_environment()).join("\n")
}

fn object(by: &str, line: &Line) -> Value {
    let key = match (by, &line.key) {
        ("task", Some(task)) => json!(task.parse::<u64>().ok()),
        (_, key) => json!(key),
    };
    let mut object = sum_object(&line.sum);
    if let Value::Object(fields) = &mut object {
        fields.insert(by.to_owned(), key);
    }
    object
}

fn sum_object(sum: &Sum) -> Value {
    let is_known = sum.unpriced < sum.calls || sum.calls == 0;
    json!({
        "calls": sum.calls, "tokens": sum.tokens, "input": sum.input, "output": sum.output,
        "cache_read": sum.cache_read, "cache_write": sum.cache_write, "searches": sum.searches,
        "cost": is_known.then_some(sum.cost), "unpriced_calls": sum.unpriced,
        "minutes": sum.millis as f64 / 60_000.0,
    })
}
