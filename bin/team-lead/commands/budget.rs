//! `budget`: shows and changes budgets.

use crate::budget_args::BudgetArgs;
use crate::cli::Args;
use crate::failure::{Failure, Kind};
use crate::names;
use crate::output::{print, print_json};
use crate::sandboxed_caller::Needs;
use budget::Sum;
use protocol::{Budget as Stored, Caps, Recipient, RunBudget};
use serde_json::{Value, json};
use teamdir::{TeamDir, TeamFileError};

/// Show the budgets and what was spent, or raise them.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead budget
  team-lead budget raise --max-tokens 2M
  team-lead budget raise --member alice --max-cost 5
  team-lead budget raise --run --max-cost 8

When a budget is spent, no new model call begins; the members wait, and the lead is notified. They
continue about a second after a raise. Calls in flight still count, so a limit of tokens, cost or
minutes may be exceeded by these; a limit of turns is never exceeded. Everything that was spent since
the team was created counts, but for the limits of a run (`team-lead run --max-cost 5`): for those only what
was spent since that run began.

With --json: {\"team\": {\"limits\", \"spent\", \"is_spent\"}, \"run\": the same or null, \"members\": {NAME: the
same}}.")]
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
    /// The run of the lead that is going on, if it was started with limits.
    #[arg(long, conflicts_with = "member")]
    run: bool,
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
    if raise.run {
        return set_run(team, args, &limits);
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

fn set_run(team: &TeamDir, args: &Args, limits: &Caps) -> Result<(), Failure> {
    let Some(now) = budget::change_run(team, limits)? else {
        let message = "no run with limits of its own is going on";
        return Err(Failure::new(Kind::Refused, message).hint("team-lead budget"));
    };
    let budget = team.budget()?;
    let object = budget.run.as_ref().map(|run| run_object(&budget, run));
    let text = format!("Budget of this run: {}", budget::describe(&now));
    args.confirm(&json!(object), &text)
}

fn show(team: &TeamDir, args: &Args) -> Result<(), Failure> {
    let budget = team.budget()?;
    if args.json {
        let members = budget.members.keys();
        let members: serde_json::Map<String, Value> = members
            .map(|member| (member.to_string(), object(&budget, Some(member))))
            .collect();
        let run = budget.run.as_ref().map(|run| run_object(&budget, run));
        let object = json!({"team": object(&budget, None), "run": run, "members": members});
        return print_json(&object);
    }
    let mut lines = vec![line(&budget, None)];
    lines.extend(budget.run.as_ref().map(|run| {
        let sum = Sum::of(&budget, None).since(&run.before);
        format!("this run: {}", parts(&run.allowance.limits, &sum))
    }));
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
    let parts = parts(&caps, &Sum::of(budget, member));
    format!("{}: {parts}", owner(member))
}

fn parts(caps: &Caps, sum: &Sum) -> String {
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
            minutes(sum),
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
    parts
}

fn object(budget: &Stored, member: Option<&Recipient>) -> Value {
    as_json(&limits(budget, member), &Sum::of(budget, member))
}

fn run_object(budget: &Stored, run: &RunBudget) -> Value {
    let sum = Sum::of(budget, None).since(&run.before);
    as_json(&run.allowance.limits, &sum)
}

fn as_json(caps: &Caps, sum: &Sum) -> Value {
    let is_spent = caps.max_tokens.is_some_and(|max| sum.tokens >= max)
        || caps.max_cost.is_some_and(|max| sum.cost >= max)
        || caps.max_turns.is_some_and(|max| sum.calls >= max)
        || caps
            .max_minutes
            .is_some_and(|max| minutes(sum) >= max as f64);
    json!({
        "limits": caps,
        "spent": {
            "tokens": sum.tokens, "cost": sum.cost, "turns": sum.calls,
            "minutes": minutes(sum), "unpriced_turns": sum.unpriced, "in_flight": sum.in_flight,
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
