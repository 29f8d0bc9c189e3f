//! `budget`: shows and changes budgets.

use crate::budget_args::BudgetArgs;
use crate::cli::Args;
use crate::failure::{Failure, Kind};
use crate::names;
use crate::output::{print, print_json};
use crate::sandboxed_caller::Needs;
use budget::Sum;
use protocol::{Budget as Stored, Caps, Recipient};
use serde_json::{Value, json};
use teamdir::{TeamDir, TeamFileError};

/// Show the budgets and what was spent, or raise them.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead budget
  team-lead budget raise --max-tokens 2M
  team-lead budget raise --member alice --max-cost 5

When a budget is spent, no new model call begins; the members wait, and the lead is notified. They
continue about a second after a raise. Calls in flight still count, so a limit of tokens, cost or
minutes may be exceeded by these; a limit of turns is never exceeded. Everything that was spent since
the team was created counts.

With --json: {\"team\": {\"limits\", \"spent\", \"is_spent\"}, \"members\": {NAME: the same}}.")]
pub(crate) struct Budget {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(clap::Subcommand)]
enum Action {
    /// Show limits and spending.
    Show,
    /// Set new limits; those not given stay.
    Raise(Raise),
}

#[derive(clap::Args)]
struct Raise {
    /// The member; without it the whole team.
    #[arg(long, value_name = "NAME")]
    member: Option<String>,
    #[command(flatten)]
    budget: BudgetArgs,
}

impl Budget {
    pub(crate) const fn needs(&self) -> Needs {
        match self.action {
            None | Some(Action::Show) => Needs::Nothing,
            Some(Action::Raise(_)) => Needs::Team(None),
        }
    }
}

pub(crate) fn run(team: &TeamDir, args: &Args, command: &Budget) -> Result<(), Failure> {
    match &command.action {
        None | Some(Action::Show) => show(team, args),
        Some(Action::Raise(raise)) => set(team, args, raise),
    }
}

fn set(team: &TeamDir, args: &Args, raise: &Raise) -> Result<(), Failure> {
    let limits = raise.budget.limits();
    if limits.is_empty() {
        let message =
            "no limit was given: use --max-tokens, --max-cost, --max-turns or --max-minutes";
        return Err(Failure::new(Kind::Usage, message).hint("team-lead budget raise --help"));
    }
    let roster = team.roster()?;
    let member = raise.member.as_deref();
    let member = member
        .map(|typed| names::recipient(&roster, typed))
        .transpose()?;
    let now = budget::change(team, member.as_ref(), &limits)?;
    let budget = team.budget()?;
    let object = object(&budget, member.as_ref());
    let text = format!(
        "Budget of {}: {}",
        owner(member.as_ref()),
        budget::describe(&now)
    );
    args.confirm(&object, &text)
}

fn show(team: &TeamDir, args: &Args) -> Result<(), Failure> {
    let budget = team.budget()?;
    if args.json {
        let members = budget.members.keys();
        let members: serde_json::Map<String, Value> = members
            .map(|member| (member.to_string(), object(&budget, Some(member))))
            .collect();
        let object = json!({"team": object(&budget, None), "members": members});
        return print_json(&object);
    }
    let mut lines = vec![line(&budget, None)];
    lines.extend(
        budget
            .members
            .keys()
            .map(|member| line(&budget, Some(member))),
    );
    for spent in budget::spent(team)? {
        lines.push(format!("{spent}; to continue: {}", spent.remedy()));
    }
    print(&lines.join("\n"))
}

fn owner(member: Option<&Recipient>) -> String {
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
        parts.push_str(&format!("; {} in flight", sum.in_flight));
    }
    format!("{}: {parts}", owner(member))
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
