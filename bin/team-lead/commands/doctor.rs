//! `doctor`: what is wrong with the team, what it means, and the cure.

mod facts;

use crate::cli::{Args, options, start};
use crate::failure::Failure;
use crate::out::{plain, print};
use doctor::{Checked, Cured, Finding, examine, examine_door, mend, open_door};
use facts::Facts;
use protocol::exit;
use serde_json::{Value, json};
use teamdir::{OpenError, TeamDir};

/// How many things can keep us out at once: a folder, and a file in it.
const DOORS: usize = 2;

/// Say what is wrong with the team and how to mend it.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead doctor
  team-lead doctor --fix
  team-lead doctor --json | jq -r '.findings[].kind'

Looked for: deaths that nobody has dealt with, tasks and requests that nobody can finish, locks that
nobody answers for, processes of this team without a member, mail that could not be delivered, torn
and damaged files, temporary files of killed processes, files of other users, times in the future,
inotify limits, a missing `teammate` program, and models that cannot be used. Keys are never shown.

Without --fix nothing is changed. With it nothing is destroyed: what is in the way is kept in
.team/trash, in a folder that bears the time. It ends with 0 if nothing is wrong or everything was mended, and
with 1 if something is left.

With --json: {\"findings\": [{\"kind\", \"about\", \"problem\", \"meaning\", \"fix\", \"curable\"}],
\"cured\": [the same with \"done\" and \"error\"], \"folder\", \"members\", \"teammate\", \"model\", \"keys\", \"inotify\"}.")]
pub(crate) struct Doctor {
    /// Mend what can be mended without asking a person.
    #[arg(long)]
    fix: bool,
}

/// Looks, and mends if that is asked for. Returns the exit code.
pub(crate) fn run(args: &Args, wish: &Doctor) -> Result<u8, Failure> {
    let mut opened = Vec::new();
    loop {
        match TeamDir::find(&start(args)?, options()?) {
            Ok(team) => return check(&team, args, wish, opened),
            Err(OpenError::Roster(error)) => {
                let Some(finding) = examine_door(&error) else {
                    return Err(OpenError::Roster(error).into());
                };
                // Once for each lock on the way, of which there are few.
                let cured = open_door(&finding).filter(|_| wish.fix && opened.len() < DOORS);
                match cured {
                    Some(cured) if cured.outcome.is_ok() => opened.push(cured),
                    Some(_) | None => return closed(args, &finding),
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Says why the team cannot be opened.
fn closed(args: &Args, finding: &Finding) -> Result<u8, Failure> {
    let left = std::slice::from_ref(finding);
    if args.json {
        let found = json!({"findings": [finding_as_json(finding)], "cured": []});
        print(&found.to_string())?;
    } else {
        print(&lines_of(left).join("\n"))?;
    }
    Ok(exit::FAILED)
}

fn check(team: &TeamDir, args: &Args, wish: &Doctor, mut cured: Vec<Cured>) -> Result<u8, Failure> {
    let checked = match wish.fix {
        true => mend(team, || Facts::gather(team).surroundings),
        false => Checked {
            cured: Vec::new(),
            left: examine(team, &Facts::gather(team).surroundings),
        },
    };
    let facts = Facts::gather(team);
    let left = checked.left;
    cured.extend(checked.cured);
    if args.json {
        print(&as_json(&facts, &cured, &left).to_string())?;
    } else {
        print(&as_text(&facts, &cured, &left))?;
    }
    Ok(match left.is_empty() {
        true => exit::DONE,
        false => exit::FAILED,
    })
}

fn as_json(facts: &Facts, cured: &[Cured], left: &[Finding]) -> Value {
    let left: Vec<Value> = left.iter().map(finding_as_json).collect();
    let cured: Vec<Value> = cured
        .iter()
        .map(|cured| {
            let mut object = finding_as_json(&cured.finding);
            object["done"] = json!(cured.outcome.as_ref().ok());
            object["error"] = json!(cured.outcome.as_ref().err());
            object
        })
        .collect();
    let mut object = facts.as_json();
    object["findings"] = Value::Array(left);
    object["cured"] = Value::Array(cured);
    object
}

fn finding_as_json(finding: &Finding) -> Value {
    json!({
        "kind": finding.kind.word(),
        "about": finding.about,
        "problem": finding.problem,
        "meaning": finding.meaning,
        "fix": finding.fix,
        "curable": finding.cure.is_some(),
    })
}

fn as_text(facts: &Facts, cured: &[Cured], left: &[Finding]) -> String {
    let mut lines = facts.as_text();
    lines.extend(cured.iter().map(|cured| {
        let problem = plain(&cured.finding.problem);
        match &cured.outcome {
            Ok(done) => format!("Repaired: {problem}: {}", plain(done)),
            Err(error) => format!("Not mended: {problem}: {}", plain(error)),
        }
    }));
    lines.extend(lines_of(left));
    lines.join("\n")
}

fn lines_of(left: &[Finding]) -> Vec<String> {
    let mut lines = vec![match left.len() {
        0 => "Nothing is wrong.".to_owned(),
        1 => "1 thing is wrong:".to_owned(),
        count => format!("{count} things are wrong:"),
    }];
    for (at, finding) in left.iter().enumerate() {
        lines.push(format!("{:>3}. {}", at + 1, plain(&finding.problem)));
        lines.push(format!("     {}", plain(&finding.meaning)));
        lines.push(format!("     Fix: {}", plain(&finding.fix)));
    }
    lines
}
