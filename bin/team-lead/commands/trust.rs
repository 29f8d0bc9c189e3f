//! `trust`: what the workspace says that needs the user's trust.

use crate::cli::Args;
use crate::failure::{Failure, Kind};
use crate::output::{print, print_json};
use crate::trusted_workspace::{UncheckedWorkspace, ask, can_ask};
use member::{TrustCheck, Untrusted};
use serde_json::{Value, json};
use terminal_text::one_line;
use trust::RiskySetting;

/// Trust what the workspace says, show it, or take the trust back.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead trust --show
  team-lead trust
  team-lead trust --yes
  team-lead trust --revoke

A workspace may come from a stranger. Some of what its team.toml, its .env and its team folder say runs
code, moves a key, or says what members may do: programs of members (exec), recorded turns (script:
models), addresses of model servers, sandbox and network, the tools of roles, and a team folder that
your programs did not make. `run`, `spawn`, `restart` and `up` ask before they obey any of these, once;
without a terminal they stop with exit code 1. Any change of these settings asks again and shows the
difference.

`team-lead trust` lists the settings that need your trust and asks; --yes does not ask. Long values are
shortened; `--show --json` has all of them. What you trust is kept in ~/.local/state/team-lead/trust (or
below XDG_STATE_HOME), one file for each workspace. `run --trust` and the like trust a workspace for one
run and keep nothing.

With --json: {\"workspace\", \"trusted\", \"settings\": [{\"risk\", \"key\", \"value\", \"origin\", \"trusted\"}],
\"removed\": [the same]}.")]
pub(crate) struct Trust {
    /// Only show the settings that need your trust, and which of them are trusted.
    #[arg(long, conflicts_with_all = ["revoke", "yes"])]
    show: bool,
    /// Forget what was trusted here.
    #[arg(long, conflicts_with = "yes")]
    revoke: bool,
    /// Trust without a question.
    #[arg(long)]
    yes: bool,
}

pub(crate) fn run(args: &Args, command: &Trust) -> Result<(), Failure> {
    let unchecked = UncheckedWorkspace::find(args)?;
    let check = unchecked.check()?;
    let workspace = unchecked.workspace();
    if command.show {
        return show(args, &unchecked, &check);
    }
    if command.revoke {
        let text = match check.revoke()? {
            true => format!("Forgot what you trusted in {workspace}"),
            false => format!("Nothing was trusted in {workspace}"),
        };
        return args.confirm(&json!({"workspace": workspace, "trusted": false}), &text);
    }
    if let Err(untrusted) = check.require_trust() {
        accept(args, command, &untrusted)?;
        check.trust()?;
    }
    let text = match check.risky_settings().is_empty() && check.verdict().is_trusted() {
        true => format!("Nothing in {workspace} needs your trust"),
        false => format!("Trusted {workspace}"),
    };
    args.confirm(&json!({"workspace": workspace, "trusted": true}), &text)
}

fn accept(args: &Args, command: &Trust, untrusted: &Untrusted) -> Result<(), Failure> {
    if command.yes {
        return Ok(());
    }
    if !can_ask(args) {
        let failure = Failure::new(Kind::Untrusted, untrusted.to_string());
        return Err(failure.hint("team-lead trust --yes"));
    }
    if ask(untrusted)? {
        return Ok(());
    }
    let message = "the workspace is not trusted";
    Err(Failure::new(Kind::Untrusted, message).hint("team-lead trust --show"))
}

fn show(args: &Args, unchecked: &UncheckedWorkspace, check: &TrustCheck) -> Result<(), Failure> {
    let workspace = unchecked.workspace();
    let verdict = check.verdict();
    let folder = verdict.added.iter();
    let folder = folder.filter(|setting| !check.risky_settings().contains(setting));
    let settings: Vec<&RiskySetting> = folder.chain(check.risky_settings()).collect();
    let is_trusted = |setting: &RiskySetting| !verdict.added.contains(setting);
    if args.json {
        let object = |setting: &RiskySetting, is_trusted: bool| {
            json!({
                "risk": setting.risk, "key": setting.key, "value": setting.value,
                "origin": setting.origin,
                "trusted": is_trusted,
            })
        };
        let removed = verdict.removed.iter().map(|setting| object(setting, true));
        let removed: Vec<Value> = removed.collect();
        let settings = settings
            .iter()
            .map(|setting| object(setting, is_trusted(setting)));
        let settings: Vec<Value> = settings.collect();
        let trusted = verdict.is_trusted();
        let shown = json!({"workspace": workspace, "trusted": trusted, "settings": settings, "removed": removed});
        return print_json(&shown);
    }
    let workspace = one_line(&workspace);
    let mut lines = vec![match (settings.is_empty(), verdict.is_trusted()) {
        (true, true) => format!("Nothing in {workspace} needs your trust"),
        (_, true) => format!("{workspace} is trusted:"),
        (_, false) => format!("{workspace} is not trusted:"),
    }];
    lines.extend(settings.iter().map(|setting| match is_trusted(setting) {
        true => format!("  trusted    {setting}"),
        false => format!("  untrusted  {setting}"),
    }));
    let removed = verdict.removed.iter();
    lines.extend(removed.map(|setting| format!("  removed    {setting}")));
    print(&lines.join("\n"))
}
