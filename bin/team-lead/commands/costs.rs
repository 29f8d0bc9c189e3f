//! `costs`: spending by member, model or task.

use crate::cli::Args;
use crate::failure::Failure;
use crate::output::{print, print_json};
use budget::{GroupBy, Line, Sum};
use serde_json::{Value, json};
use teamdir::TeamDir;

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
    let mut rows = vec![[
        key.to_uppercase(),
        "CALLS".into(),
        "TOKENS".into(),
        "COST".into(),
    ]];
    rows.extend(
        costs
            .lines
            .iter()
            .map(|line| row(&name(by, line), &line.sum)),
    );
    rows.push(row("total", &costs.total));
    print(&table(&rows))
}

fn name(by: GroupBy, line: &Line) -> String {
    match (by, &line.key) {
        (GroupBy::Task, Some(task)) => format!("#{task}"),
        (GroupBy::Member | GroupBy::Model, Some(key)) => key.clone(),
        (_, None) => "no task".to_owned(),
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

/// Names to the left, numbers to the right.
fn table(rows: &[[String; 4]]) -> String {
    let width = |at: usize| {
        let widths = rows.iter().filter_map(|row| row.get(at));
        widths.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let (first, second, third) = (width(0), width(1), width(2));
    let lines = rows.iter().map(|[name, calls, tokens, cost]| {
        format!("{name:<first$}  {calls:>second$}  {tokens:>third$}  {cost}")
    });
    lines.collect::<Vec<_>>().join("\n")
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
