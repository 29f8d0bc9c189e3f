//! `budget`: what may be spent, and changing it.

use crate::caps::CapArgs;
use crate::cli::Args;
use crate::failure::{Failure, Kind};
use crate::names;
use crate::out::print;
use budget::Sum;
use protocol::{Budget as Stored, Caps, Recipient};
use serde_json::{Value, json};
use teamdir::{TeamDir, TeamFileError};

/// Show what may be spent on models and what was, or allow more.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead budget
  team-lead budget raise --max-tokens 2M
  team-lead budget raise --member alice --max-cost 5

When a budget is spent, no call of a model begins; its members wait, and the lead is told. They go on
within a second or so of a raise. Calls that were on their way are still paid for, so a limit of
tokens, money or minutes may be exceeded by those; a limit of turns is never exceeded. Everything
that was spent since the team began counts.

With --json: {\"team\": {\"limits\", \"spent\", \"is_spent\"}, \"members\": {NAME: the same}}.")]
pub(crate) struct Budget {
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(clap::Subcommand)]
enum What {
    /// Show the limits and what was spent.
    Show,
    /// Set new limits; those that are not named stay.
    Raise(Raise),
}

#[derive(clap::Args)]
struct Raise {
    /// Whose budget; without it that of the whole team.
    #[arg(long, value_name = "NAME")]
    member: Option<String>,
    #[command(flatten)]
    caps: CapArgs,
}

pub(crate) fn run(team: &TeamDir, args: &Args, wish: &Budget) -> Result<(), Failure> {
    match &wish.what {
        None | Some(What::Show) => show(team, args),
        Some(What::Raise(raise)) => set(team, args, raise),
    }
}

fn set(team: &TeamDir, args: &Args, raise: &Raise) -> Result<(), Failure> {
    let caps = raise.caps.caps();
    if caps.is_empty() {
        let message =
            "no limit was named: use --max-tokens, --max-cost, --max-turns or --max-minutes";
        return Err(Failure::new(Kind::Usage, message).hint("team-lead budget raise --help"));
    }
    let roster = team.roster()?;
    let member = raise.member.as_deref();
    let member = member
        .map(|typed| names::recipient(&roster, typed))
        .transpose()?;
    let now = budget::change(team, member.as_ref(), &caps)?;
    let budget = team.budget()?;
    let object = object(&budget, member.as_ref());
    let words = format!(
        "Budget of {}: {}",
        whose(member.as_ref()),
        budget::words(&now)
    );
    args.confirm(&object, &words)
}

fn show(team: &TeamDir, args: &Args) -> Result<(), Failure> {
    let budget = team.budget()?;
    if args.json {
        let members = budget.members.keys();
        let members: serde_json::Map<String, Value> = members
            .map(|member| (member.to_string(), object(&budget, Some(member))))
            .collect();
        let object = json!({"team": object(&budget, None), "members": members});
        return print(&object.to_string());
    }
    let mut lines = vec![line(&budget, None)];
    lines.extend(
        budget
            .members
            .keys()
            .map(|member| line(&budget, Some(member))),
    );
    for spent in budget::spent(team)? {
        lines.push(format!("{spent}; to go on: {}", spent.remedy()));
    }
    print(&lines.join("\n"))
}

fn whose(member: Option<&Recipient>) -> String {
    member.map_or_else(|| "the team".to_owned(), Recipient::to_string)
}

/// As in `the team: 1200 of 100000 tokens, $0.01, 3 of 20 turns, 0.7 minutes`.
fn line(budget: &Stored, member: Option<&Recipient>) -> String {
    let caps = limits(budget, member);
    let sum = Sum::of(budget, member);
    let of = |max: Option<String>| max.map(|max| format!(" of {max}")).unwrap_or_default();
    let mut parts = [
        format!(
            "{}{} tokens",
            sum.tokens,
            of(caps.max_tokens.map(|n| n.to_string()))
        ),
        format!("{}{}", sum.cost, of(caps.max_cost.map(|n| n.to_string()))),
        format!(
            "{}{} turns",
            sum.calls,
            of(caps.max_turns.map(|n| n.to_string()))
        ),
        format!(
            "{:.1}{} minutes",
            minutes(&sum),
            of(caps.max_minutes.map(|n| n.to_string()))
        ),
    ]
    .join(", ");
    if sum.unpriced > 0 {
        parts.push_str(&format!(
            " (the price of {} turns is unknown)",
            sum.unpriced
        ));
    }
    if sum.in_flight > 0 {
        parts.push_str(&format!("; {} on the way", sum.in_flight));
    }
    format!("{}: {parts}", whose(member))
}

fn object(budget: &Stored, member: Option<&Recipient>) -> Value {
    let sum = Sum::of(budget, member);
    let caps = limits(budget, member);
    let is_spent = caps.max_tokens.is_some_and(|max| sum.tokens >= max)
        || caps.max_cost.is_some_and(|max| sum.cost >= max)
        || caps.max_turns.is_some_and(|max| sum.calls >= max)
        || caps
            .max_minutes
            .is_some_and(|max| minutes(&sum) >= max as f64);
    json!({
        "limits": caps,
        "spent": {
            "tokens": sum.tokens, "cost": sum.cost, "turns": sum.calls,
            "minutes": minutes(&sum), "unpriced_turns": sum.unpriced, "in_flight": sum.in_flight,
        },
        "is_spent": is_spent,
    })
}

fn limits(budget: &Stored, member: Option<&Recipient>) -> Caps {
    let allowance = budget.allowance(member);
    allowance
        .map(|allowance| allowance.limits.clone())
        .unwrap_or_default()
}

fn minutes(sum: &Sum) -> f64 {
    sum.millis as f64 / 60_000.0
}

impl From<TeamFileError> for Failure {
    fn from(error: TeamFileError) -> Self {
        Self::failed(error.to_string())
    }
}
