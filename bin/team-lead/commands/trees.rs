//! `trees`, `diff`, `rebase`, `land`: the members' own trees, and the way of their work to the user's branch.

use crate::cli::Args;
use crate::failure::{Failure, Kind};
use crate::names;
use crate::output::{print, print_json};
use integration::{Integration, IntegrationError, LandOptions, TreeView};
use member::{SandboxSettings, open_trees};
use protocol::AgentName;
use serde_json::{Value, json};
use teamdir::TeamDir;
use terminal_text::clean;

/// Show the members' own trees, or remove one.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead trees
  team-lead trees --remove alice

A tree is removed only if its member does not run and everything in it is in team/main, files that are
not committed included. With --rescue the rest is kept under refs/team/rescue, ignored files not.

With --json: {\"trees\": [{\"name\", \"path\", \"branch\", \"commit\", \"ahead\", \"behind\", \"uncommitted\",
\"submission\", \"status\", \"disk\"}]}; with --remove {\"removed\", \"rescued\"}.")]
pub(crate) struct Trees {
    /// Remove the tree of this member.
    #[arg(long, value_name = "NAME")]
    remove: Option<String>,
    /// Keep what is not in team/main under refs/team/rescue.
    #[arg(long, requires = "remove")]
    rescue: bool,
}

/// Show what a member has changed, or what the team has that the workspace has not, as a patch.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead diff
  team-lead diff alice

With --json: {\"patch\"}.")]
pub(crate) struct Diff {
    /// The member, committed and uncommitted; without it what team/main has and the workspace has not.
    name: Option<String>,
}

/// Rebase the branch of a member that does not work onto team/main.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  team-lead rebase alice

If there are conflicts, the branch stays as it was. With --json: {\"name\", \"onto\"}.")]
pub(crate) struct Rebase {
    name: String,
}

/// Bring the team's work, team/main, into your branch.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead land
  team-lead land --squash -m 'Add the parser'
  team-lead land --into develop

Your branch is fast-forwarded, or gets a merge commit, in a work tree without changes of yours. A branch
that does not merge is left as it was. Hooks of git are not run.

With --json: {\"branch\", \"commit\", \"landed\"}.")]
pub(crate) struct Land {
    /// As one commit.
    #[arg(long)]
    squash: bool,
    /// Into this branch instead of the one that is checked out.
    #[arg(long, value_name = "BRANCH")]
    into: Option<String>,
    /// The message, if a commit has to be made.
    #[arg(short, long, value_name = "TEXT")]
    message: Option<String>,
}

impl Trees {
    pub(crate) const fn removes(&self) -> bool {
        self.remove.is_some()
    }
}

/// The trees of a team, for commands that run nothing that the workspace names.
fn open(team: &TeamDir) -> Result<Integration, Failure> {
    let config = config::Config::default();
    Ok(open_trees(team, &config, &SandboxSettings::default())?)
}

/// Removes the tree of a member, if it has one and everything in it is kept elsewhere.
pub(crate) fn remove_if_nothing_is_lost(team: &TeamDir, name: &AgentName) -> Result<(), Failure> {
    match open(team)?.remove_tree(name, false) {
        Ok(_) | Err(IntegrationError::NoTree(_)) => Ok(()),
        Err(error @ IntegrationError::Unmerged { .. }) => {
            let hint = format!("team-lead trees --remove {name} --rescue");
            Err(Failure::new(Kind::Refused, error.to_string()).hint(hint))
        }
        Err(error) => Err(error.into()),
    }
}

pub(crate) fn trees(team: &TeamDir, args: &Args, command: &Trees) -> Result<(), Failure> {
    let trees = open(team)?;
    if let Some(typed) = &command.remove {
        // A tree may be there without its member.
        let found = team.tree_names().map_err(IntegrationError::Path)?;
        let found = found.into_iter().find(|name| name.as_str() == typed);
        let name = match found {
            Some(name) => name,
            None => names::member(&*team.roster()?, typed)?,
        };
        let removed = trees.remove_tree(&name, command.rescue)?;
        let mut text = format!("Removed the tree of {name}");
        for reference in &removed.rescued {
            text.push_str(&format!("\nkept: {reference}"));
        }
        return args.confirm(&json!({"removed": name, "rescued": removed.rescued}), &text);
    }
    let views = trees.trees()?;
    if args.json {
        let views: Vec<Value> = views.iter().map(as_json).collect();
        return print_json(&json!({"trees": views}));
    }
    if views.is_empty() {
        args.note("no member has a tree of its own: spawn one with --tree own");
        return Ok(());
    }
    let lines: Vec<String> = views.iter().map(line).collect();
    print(&lines.join("\n"))
}

fn as_json(view: &TreeView) -> Value {
    json!({
        "name": view.name,
        "path": view.path.display().to_string(),
        "branch": view.status.branch,
        "commit": view.status.head,
        "ahead": view.distance.map(|distance| distance.ahead),
        "behind": view.distance.map(|distance| distance.behind),
        "uncommitted": view.status.uncommitted,
        "submission": view.last.as_ref().map(|last| last.id),
        "status": view.last.as_ref().map(|last| last.status),
        "disk": view.disk,
    })
}

/// One line for a tree.
fn line(view: &TreeView) -> String {
    let branch = view.status.branch.as_deref().unwrap_or("no branch");
    let distance = view.distance.map_or_else(
        || "?".to_owned(),
        |distance| format!("{} ahead, {} behind", distance.ahead, distance.behind),
    );
    let changes = match view.status.uncommitted.len() {
        0 => "clean".to_owned(),
        count => format!("{count} not committed"),
    };
    let last = view.last.as_ref();
    let last = last.map(|last| format!(", submission {} {}", last.id, last.status));
    let text = format!(
        "{}: {branch}, {distance}, {changes}{}, {:.1} MB",
        view.name,
        last.unwrap_or_default(),
        view.disk as f64 / 1e6
    );
    clean(&text).into_owned()
}

pub(crate) fn diff(team: &TeamDir, args: &Args, command: &Diff) -> Result<(), Failure> {
    let name = match &command.name {
        Some(typed) => Some(names::member(&*team.roster()?, typed)?),
        None => None,
    };
    let patch = open(team)?.diff(name.as_ref())?;
    let patch = String::from_utf8_lossy(&patch);
    match args.json {
        true => print_json(&json!({"patch": patch})),
        false if patch.is_empty() => {
            args.note("no difference");
            Ok(())
        }
        false => print(clean(patch.trim_end()).as_ref()),
    }
}

pub(crate) fn rebase(team: &TeamDir, args: &Args, command: &Rebase) -> Result<(), Failure> {
    let name = names::member(&*team.roster()?, &command.name)?;
    let view = processes::member_view(team, &name)?;
    if matches!(view.state, rules::MemberState::Working { .. }) {
        let message =
            format!("'{name}' is working, and a rebase would change files under its hands");
        return Err(Failure::new(Kind::Refused, message).hint("team-lead wait"));
    }
    let onto = open(team)?.rebase(&name)?;
    let text = format!("Rebased team/{name} onto {}", onto.short());
    args.confirm(&json!({"name": name, "onto": onto}), &text)
}

pub(crate) fn land(team: &TeamDir, args: &Args, command: &Land) -> Result<(), Failure> {
    let trees = open(team)?;
    let landed = trees.land(&LandOptions {
        squash: command.squash,
        into: command.into.clone(),
        message: command.message.clone(),
        author: trees.identity()?,
    })?;
    let text = match landed.was_there {
        true => format!("{} has everything of team/main already", landed.branch),
        false => format!("{} is at {}", landed.branch, landed.commit.short()),
    };
    let object = json!({
        "branch": landed.branch, "commit": landed.commit, "landed": !landed.was_there,
    });
    args.confirm(&object, &text)
}

impl From<IntegrationError> for Failure {
    fn from(error: IntegrationError) -> Self {
        let message = error.to_string();
        match error {
            IntegrationError::UnknownMember(_) => Self::unknown_member(message),
            IntegrationError::NoTree(_) | IntegrationError::NoTeamBranch => {
                Self::new(Kind::Refused, message).hint("team-lead spawn NAME ROLE --tree own")
            }
            IntegrationError::NothingNew { name, .. } => {
                Self::new(Kind::Refused, message).hint(format!("team-lead diff {name}"))
            }
            IntegrationError::Dirty(_) => Self::new(Kind::Refused, message).hint("git stash"),
            IntegrationError::LandConflict { .. } => {
                Self::new(Kind::Refused, message).hint("git merge team/main")
            }
            IntegrationError::ReservedName(_)
            | IntegrationError::BranchInTheWay(_)
            | IntegrationError::Operation(_)
            | IntegrationError::NoCommit(_)
            | IntegrationError::Running(_)
            | IntegrationError::Unmerged { .. }
            | IntegrationError::NoBranch(_)
            | IntegrationError::Detached
            | IntegrationError::CheckedOutElsewhere { .. } => {
                Self::new(Kind::Refused, message).hint("team-lead trees")
            }
            IntegrationError::Git(_)
            | IntegrationError::Setup { .. }
            | IntegrationError::SetupPath { .. }
            | IntegrationError::NothingKnown(_)
            | IntegrationError::Submission(_)
            | IntegrationError::Repair(_)
            | IntegrationError::Stale(_)
            | IntegrationError::Step(_)
            | IntegrationError::Lock(_)
            | IntegrationError::Roster(_)
            | IntegrationError::Path(_)
            | IntegrationError::Send(_)
            | IntegrationError::TeamFile(_)
            | IntegrationError::File { .. } => Self::failed(message),
        }
    }
}
