//! `doctor`: reports problems of the team, and fixes them.

mod facts;

use crate::cli::{Args, options, start};
use crate::failure::Failure;
use crate::output::{print, print_json};
use crate::sandboxed_caller::Needs;
use doctor::{
    Finding, FixReport, Fixed, examine, examine_unreadable_roster, fix_all, fix_unreadable_roster,
};
use facts::Facts;
use member::FindError;
use protocol::exit;
use serde_json::{Value, json};
use teamdir::{OpenError, TeamDir};
use terminal_text::one_line;

/// The number of permissions that can block access to the roster: a folder, and the file in it.
const MAX_OBSTACLES: usize = 2;

/// Report problems of the team and how to fix them.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead doctor
  team-lead doctor --fix
  team-lead doctor --json | jq -r '.findings[].kind'

It finds dead members that no process has reaped, tasks and requests that nobody can finish, locks
without a known holder, processes of this team without a member, undeliverable mail, torn and damaged
files, temporary files of killed processes, files of other users, members' own trees that are broken or
have no member, submissions that nobody integrates, times in the future, exhausted inotify limits, a missing `teammate` program, and models that cannot be used. Keys are never shown. It
also says which promises about the sandbox of commands do not hold on this machine.

Without --fix nothing is changed. With --fix nothing is destroyed: what has to be moved away is kept in
.team/trash, in a folder named by the time, and work of members under refs/team/rescue of git. The exit code is 0 if there is no problem or all are fixed,
and 1 if any is left.

With --json: {\"findings\": [{\"kind\", \"about\", \"problem\", \"meaning\", \"fix\", \"fixable\"}],
\"fixed\": [the same with \"done\" and \"error\"], \"folder\", \"members\", \"teammate\", \"model\", \"keys\", \"inotify\",
\"sandbox\": {\"level\", \"weakness\"}}.")]
pub(crate) struct Doctor {
    /// Fix what can be fixed without a decision of a person.
    #[arg(long)]
    fix: bool,
}

impl Doctor {
    pub(crate) const fn needs(&self) -> Needs {
        match self.fix {
            true => Needs::Team(None),
            false => Needs::Nothing,
        }
    }
}

/// Returns the exit code.
pub(crate) fn run(args: &Args, command: &Doctor) -> Result<u8, Failure> {
    let mut fixed = Vec::new();
    loop {
        match member::find_team(&start(args)?, options()?) {
            Ok(team) => return check(&team, args, command, fixed),
            Err(FindError::Open(OpenError::Roster(error))) => {
                let Some(finding) = examine_unreadable_roster(&error) else {
                    return Err(OpenError::Roster(error).into());
                };
                // Once for each obstacle.
                let attempt = fix_unreadable_roster(&finding)
                    .filter(|_| command.fix && fixed.len() < MAX_OBSTACLES);
                match attempt {
                    Some(attempt) if attempt.outcome.is_ok() => fixed.push(attempt),
                    Some(_) | None => return report_unreadable(args, &finding),
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Reports why the team cannot be opened.
fn report_unreadable(args: &Args, finding: &Finding) -> Result<u8, Failure> {
    let left = std::slice::from_ref(finding);
    if args.json {
        let found = json!({"findings": [finding_as_json(finding)], "fixed": []});
        print_json(&found)?;
    } else {
        print(&lines_of(left).join("\n"))?;
    }
    Ok(exit::FAILED)
}

fn check(
    team: &TeamDir,
    args: &Args,
    command: &Doctor,
    mut fixed: Vec<Fixed>,
) -> Result<u8, Failure> {
    let report = match command.fix {
        true => fix_all(team, || Facts::gather(team).environment),
        false => FixReport {
            fixed: Vec::new(),
            left: examine(team, &Facts::gather(team).environment),
        },
    };
    let facts = Facts::gather(team);
    let left = report.left;
    fixed.extend(report.fixed);
    if args.json {
        print_json(&as_json(&facts, &fixed, &left))?;
    } else {
        print(&as_text(&facts, &fixed, &left))?;
    }
    Ok(match left.is_empty() {
        true => exit::DONE,
        false => exit::FAILED,
    })
}

fn as_json(facts: &Facts, fixed: &[Fixed], left: &[Finding]) -> Value {
    let left: Vec<Value> = left.iter().map(finding_as_json).collect();
    let fixed: Vec<Value> = fixed
        .iter()
        .map(|fixed| {
            let mut object = finding_as_json(&fixed.finding);
            object["done"] = json!(fixed.outcome.as_ref().ok());
            object["error"] = json!(fixed.outcome.as_ref().err().map(ToString::to_string));
            object
        })
        .collect();
    let mut object = facts.as_json();
    object["findings"] = Value::Array(left);
    object["fixed"] = Value::Array(fixed);
    object
}

fn finding_as_json(finding: &Finding) -> Value {
    json!({
        "kind": finding.kind.name(),
        "about": finding.about,
        "problem": finding.problem,
        "meaning": finding.meaning,
        "fix": finding.command,
        "fixable": finding.fix.is_some(),
    })
}

fn as_text(facts: &Facts, fixed: &[Fixed], left: &[Finding]) -> String {
    let mut lines = facts.as_text();
    lines.extend(fixed.iter().map(|fixed| {
        let problem = one_line(&fixed.finding.problem);
        match &fixed.outcome {
            Ok(done) => format!("Fixed: {problem}: {}", one_line(done)),
            Err(error) => format!("Not fixed: {problem}: {}", one_line(&error.to_string())),
        }
    }));
    lines.extend(lines_of(left));
    lines.join("\n")
}

fn lines_of(left: &[Finding]) -> Vec<String> {
    let mut lines = vec![match left.len() {
        0 => "No problems found.".to_owned(),
        1 => "1 problem:".to_owned(),
        count => format!("{count} problems:"),
    }];
    for (at, finding) in left.iter().enumerate() {
        lines.push(format!("{:>3}. {}", at + 1, one_line(&finding.problem)));
        lines.push(format!("     {}", one_line(&finding.meaning)));
        lines.push(format!("     Fix: {}", one_line(&finding.command)));
    }
    lines
}
