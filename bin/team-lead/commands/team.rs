//! `init`, `teams`, `down` and `rm`: a team as a whole, and who is in it.

use crate::cli::{Args, options, start};
use crate::colour::Colour;
use crate::columns::{self, Cell, Column, Fit};
use crate::commands::shutdown::{self, Shutdown};
use crate::commands::trees;
use crate::elsewhere::require_here;
use crate::failure::{Failure, Kind};
use crate::output::{print, print_json, print_painted, terminal_columns};
use crate::trusted_workspace::not_recorded;
use crate::{duration, names};
use clap::builder::styling::{AnsiColor, Style};
use nix::sys::signal::Signal;
use processes::{ProcessHandle, RemoveError};
use protocol::{AgentName, MemberStatus, Recipient, TreeMode};
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};
use teamdir::{FOLDER, Liveness, TeamDir};
use terminal_text::{below_home, one_line};

/// How long a member that has agreed to end may hold its lock.
const LAST_MOMENTS: Duration = Duration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Create a team in this folder, without members.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead init
  team-lead init --name parser
  team-lead -C ~/src/parser init

`spawn`, `up` and `run` create a team too, if there is none here or in a folder above. This creates one in
exactly this folder.

With --json: {\"team_name\", \"folder\"}.")]
pub(crate) struct Init {
    /// The name of the team, which `status` and `teams` show.
    #[arg(long, value_name = "TEXT", default_value = "default")]
    name: String,
}

/// List the teams of this user on this machine.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead teams
  team-lead teams --json | jq -r '.teams[] | select(.running > 0) | .workspace'

A team is listed once a command was used in it. The list is kept in the user's state folder, such as
~/.local/state/team-lead/teams, and mends itself.

With --json: {\"teams\": [{\"team_name\", \"workspace\", \"members\", \"running\", \"lead\"}]}; `running` counts the
members that run, and `lead` says whether a lead does.")]
pub(crate) struct Teams {}

/// End the whole team: the lead, then all members.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead down
  team-lead down --timeout 2m

A running lead is asked to leave first. Each member is asked to shut down, and ended if it has not exited in
time: SIGTERM, and 5 s later SIGKILL. Everything stays in the folder: `team-lead up` or `team-lead
restart NAME` continue.

With --json: one object per member, as with `shutdown --wait`.")]
pub(crate) struct Down {
    /// How long the lead and the members have, in seconds or as in 5m.
    #[arg(long, value_name = "S", default_value = "20", value_parser = duration::parse)]
    timeout: Duration,
}

/// Remove a member that is not running from the team.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead rm alice
  team-lead shutdown alice --wait && team-lead rm alice

Its conversation, its log and its unread mail are kept in .team/trash, in a folder named by the time. A
tree of its own is removed if nothing in it would be lost; otherwise nothing is done, and
`team-lead trees --remove alice --rescue` keeps the work in branches first. What it spent still counts.

With --json: {\"removed\", \"kept\": [PATH]}.")]
pub(crate) struct Rm {
    /// The member to remove.
    name: String,
}

pub(crate) fn init(args: &Args, command: &Init) -> Result<(), Failure> {
    let workspace = start(args)?;
    let name = command.name.trim();
    if name.is_empty() {
        return Err(Failure::usage("the name of the team is empty"));
    }
    let created = member::create_named_team(&workspace, name, options()?)?;
    let folder = workspace.join(FOLDER);
    if !created.is_new {
        let message = format!("there is a team already: {}", folder.display());
        return Err(Failure::new(Kind::Refused, message).hint("team-lead status"));
    }
    if let Some(error) = &created.not_recorded {
        args.note(&not_recorded(&error.to_string()));
    }
    member::remember_team(&workspace);
    let text = format!(
        "Created the team '{}' in {}\nnext: team-lead spawn alice coder",
        one_line(name),
        one_line(&folder.display().to_string())
    );
    let object = json!({"team_name": name, "folder": folder.display().to_string()});
    args.confirm(&object, &text)
}

/// A team in the list.
struct Listed {
    team_name: String,
    workspace: String,
    members: usize,
    running: usize,
    has_lead: bool,
}

pub(crate) fn teams(args: &Args, _command: &Teams) -> Result<(), Failure> {
    let mut listed = Vec::new();
    for workspace in member::known_teams() {
        match look_at(&workspace) {
            Ok(team) => listed.push(team),
            Err(failure) => args.note(&format!("warning: {failure}")),
        }
    }
    if args.json {
        let teams: Vec<Value> = listed.iter().map(as_json).collect();
        return print_json(&json!({ "teams": teams }));
    }
    if listed.is_empty() {
        args.note("no team is known; create one with: team-lead init");
        return Ok(());
    }
    match terminal_columns() {
        Some(columns) => print_painted(&table(&listed, columns)),
        None => print(
            &listed
                .iter()
                .map(as_text)
                .collect::<Vec<String>>()
                .join("\n"),
        ),
    }
}

const COLUMNS: [Column; 3] = [
    Column {
        heading: "TEAM",
        fit: Fit::Text,
    },
    Column {
        heading: "FOLDER",
        fit: Fit::Text,
    },
    Column {
        heading: "MEMBERS",
        fit: Fit::Text,
    },
];

/// The teams in columns, with `~` for the user's home and the running ones in colour.
fn table(listed: &[Listed], columns: usize) -> String {
    let home = std::env::home_dir();
    let row = |team: &Listed| {
        let folder = below_home(Path::new(&team.workspace), home.as_deref());
        let style = match team.running > 0 || team.has_lead {
            true => Style::new().fg_color(Some(AnsiColor::Green.into())),
            false => Style::new(),
        };
        [
            Cell::plain(&team.team_name),
            Cell::plain(folder),
            Cell::new(members_text(team), style),
        ]
    };
    let rows: Vec<[Cell; 3]> = listed.iter().map(row).collect();
    columns::table(&COLUMNS, &rows, columns, Colour::of_environment()).join("\n")
}

fn as_text(team: &Listed) -> String {
    let Listed {
        team_name,
        workspace,
        ..
    } = team;
    format!("{team_name}  {workspace}  {}", members_text(team))
}

fn members_text(team: &Listed) -> String {
    let lead = if team.has_lead { ", a lead" } else { "" };
    format!("{} of {} running{lead}", team.running, team.members)
}

fn look_at(workspace: &Path) -> Result<Listed, Failure> {
    let team = member::open_team(workspace, options()?)?;
    let roster = team.roster()?;
    // The bridge holds the locks of those at home on other hosts.
    let is_alive = |owner: &Recipient| {
        roster.host_of(owner).is_none() && matches!(team.liveness(owner), Ok(Liveness::Alive(_)))
    };
    let names = roster.members.iter().map(|member| &member.spec.name);
    let running = names.filter(|name| is_alive(&Recipient::Member((*name).clone())));
    Ok(Listed {
        team_name: one_line(&roster.team_name.0).into_owned(),
        workspace: one_line(&workspace.display().to_string()).into_owned(),
        members: roster.members.len(),
        running: running.count(),
        has_lead: is_alive(&Recipient::Lead),
    })
}

fn as_json(team: &Listed) -> Value {
    json!({
        "team_name": team.team_name, "workspace": team.workspace, "members": team.members,
        "running": team.running, "lead": team.has_lead,
    })
}

pub(crate) fn down(team: &TeamDir, args: &Args, command: &Down) -> Result<(), Failure> {
    let lead = ProcessHandle::of(team, &Recipient::Lead).map_err(|error| {
        Failure::new(Kind::StillRunning, error.to_string()).hint("team-lead doctor")
    })?;
    if let Some(lead) = lead {
        end_lead(args, &lead, command.timeout)?;
    }
    shutdown::run(team, args, &Shutdown::of_all(command.timeout))
}

/// Asks the lead to leave, which may end members itself, and ends it if it does not.
fn end_lead(args: &Args, lead: &ProcessHandle, timeout: Duration) -> Result<(), Failure> {
    for signal in [Signal::SIGTERM, Signal::SIGKILL] {
        // One that has ended by itself is as good.
        let _ = lead.signal(signal);
        if lead.wait(timeout) {
            args.note("the lead has left");
            return Ok(());
        }
    }
    Err(Failure::new(Kind::StillRunning, "the lead does not end").hint("team-lead status"))
}

pub(crate) fn rm(team: &TeamDir, args: &Args, command: &Rm) -> Result<(), Failure> {
    let roster = team.roster()?;
    let name = names::member(&roster, &command.name)?;
    let owner = Recipient::Member(name.clone());
    require_here(team, &owner, &format!("team-lead rm {name}"))?;
    let has_tree = roster
        .member(&name)
        .and_then(|member| member.spec.tree.clone());
    if !has_ended(team, &name)? {
        return Err(running(&name));
    }
    if has_tree == Some(TreeMode::Own) {
        trees::remove_if_nothing_is_lost(team, &name)?;
    }
    let kept = processes::remove(team, &name)?;
    let kept: Vec<String> = kept.iter().map(|path| path.display().to_string()).collect();
    let mut text = format!("Removed '{name}'");
    for path in &kept {
        text.push_str(&format!("\nkept: {}", one_line(path)));
    }
    args.confirm(&json!({"removed": name, "kept": kept}), &text)
}

/// Whether the member does not run. One that has agreed to end may still be letting go of its lock.
fn has_ended(team: &TeamDir, name: &AgentName) -> Result<bool, Failure> {
    let deadline = Instant::now() + LAST_MOMENTS;
    loop {
        let view = processes::member_view(team, name)?;
        let is_leaving = view.member.status == MemberStatus::Shutdown && Instant::now() < deadline;
        if !view.is_alive() || !is_leaving {
            return Ok(!view.is_alive());
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

fn running(name: &AgentName) -> Failure {
    let message = format!("'{name}' is running");
    Failure::new(Kind::Refused, message).hint(format!("team-lead shutdown {name} --wait"))
}

impl From<RemoveError> for Failure {
    fn from(error: RemoveError) -> Self {
        let message = error.to_string();
        match error {
            RemoveError::Running { name } => running(&name),
            RemoveError::StartGuard(_) | RemoveError::Elsewhere { .. } => {
                Self::new(Kind::Refused, message)
            }
            RemoveError::Reap(_)
            | RemoveError::Join(_)
            | RemoveError::Roster(_)
            | RemoveError::Trash(_) => Self::failed(message),
        }
    }
}
