//! `status`: the state of the team, from its files and the operating system.

mod hosts;
mod spawns;
mod table;

use crate::cli::Args;
use crate::colour::Colour;
use crate::columns::wrapped;
use crate::duration::format as duration;
use crate::elsewhere::require_here;
use crate::failure::{Failure, Kind};
use crate::names;
use crate::output::{print, print_json, print_painted, terminal_columns};
use budget::Sum;
use processes::MemberView;
use protocol::{
    Activity, Budget, Holder, HostId, LiveState, MemberSpec, Money, Phase, Recipient, Tally,
    WaitingFor,
};
use rules::{MemberState, restarts_text};
use serde_json::{Value, json};
use teamdir::{Liveness, TeamDir, now};
use terminal_text::{below_home, fit_name, one_line};

/// Show the team: who runs, in which state, with how much unread mail.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead status
  kill -9 $(team-lead status --pid alice)
  team-lead status --json | jq -r '.members[] | select(.state == \"dead\") | .name'

States: starting, working, waiting (for a plan, a background command, its model's server or a budget),
idle, hung (working without activity for ten minutes), failed, dead (its process is gone and did
not end cleanly), shutdown. The command also repairs: the lead is notified of deaths that no process
has handled yet, and the tasks of dead members return to the board.

On a terminal the members are shown in columns, and their states in colours (NO_COLOR is honoured); into a
pipe or a file goes one line for each member.

Members at home on other hosts are shown as those hosts last reported them, with the host; each other host
with how it stands with it and how much is queued for it. Members that another host was asked to start
(`spawn --host`) are shown until they are started, and for an hour if they were not.

With --json: {\"team_name\", \"folder\", \"lead\": {\"pid\", ...} or null, \"host\", \"hosts\": [{\"name\",
\"state\": linked, unreachable or no_bridge, \"queued\", ...}], \"spawns\": [{\"ask\", \"name\", \"host\",
\"state\": queued, sent, starting, refused or failed, \"why\", ...}], \"members\": [{\"name\", \"role\",
\"status\", \"state\", \"pid\", \"incarnation\", \"since\", \"unread\", \"task\", \"todo\", \"sandbox\", \"tokens\", \"cost\", ...}]}.
A member that asks another model of its list than the first shows which, as \"asked_model\".
The sandbox is the level in force for the member's commands: full, landlock or none (docs/security.md).")]
pub(crate) struct Status {
    /// Print only the process id of this member.
    #[arg(long, value_name = "NAME", conflicts_with = "json")]
    pid: Option<String>,
}

/// Where the lead is.
enum LeadPlace {
    /// On this host, if it runs.
    Here(Option<Box<Lead>>),
    Elsewhere(HostId),
}

impl LeadPlace {
    fn as_json(&self) -> Option<Value> {
        match self {
            Self::Elsewhere(host) => Some(json!({"host": host, "pid": null})),
            Self::Here(lead) => lead.as_deref().map(lead_as_json),
        }
    }

    fn as_text(&self) -> String {
        match self {
            Self::Elsewhere(host) => format!("Lead: at home on the host {host}"),
            Self::Here(None) => "Lead: not running".to_owned(),
            Self::Here(Some(lead)) => lead_as_text(lead),
        }
    }
}

/// The process of the lead and its live state.
struct Lead {
    holder: Option<Holder>,
    live: Option<LiveState>,
    unread: usize,
}

pub(crate) fn run(team: &TeamDir, args: &Args, command: &Status) -> Result<(), Failure> {
    let repairs = processes::repair(team);
    for problem in &repairs.problems {
        args.note(&format!("warning: {problem}"));
    }
    let views = processes::member_views(team)?;
    if let Some(name) = &command.pid {
        return print(&pid(team, &views, name)?.to_string());
    }
    let roster = team.roster()?;
    let team_name = &roster.team_name;
    let lead = match &roster.lead_host {
        Some(host) => LeadPlace::Elsewhere(host.clone()),
        None => LeadPlace::Here(running_lead(team)?.map(Box::new)),
    };
    let hosts = processes::host_views(team)?;
    let spawns = spawns::spawns(team)?;
    // `budget` and `costs` report an unreadable budget.
    let budget = team.budget().unwrap_or_default();
    if args.json {
        let members: Vec<Value> = views.iter().map(|view| as_json(view, &budget)).collect();
        let folder = team.layout().root().display().to_string();
        let hosts: Vec<Value> = hosts
            .iter()
            .map(|host| hosts::as_json(team, host))
            .collect();
        let spawns: Vec<Value> = spawns.iter().map(spawns::ShownSpawn::as_json).collect();
        let status = json!({
            "team_name": team_name, "folder": folder, "lead": lead.as_json(), "members": members,
            "host": roster.host, "hosts": hosts, "spawns": spawns,
        });
        return print_json(&status);
    }
    let columns = terminal_columns();
    let mut lines = vec![fitted(
        &format!("Team: {}", one_line(&team_name.0)),
        columns,
    )];
    if views.is_empty() {
        lines.push("  no teammates yet; start one with `team-lead spawn NAME ROLE`".to_owned());
    } else if let Some(columns) = columns {
        let colour = Colour::of_environment();
        lines.extend(table::table(&views, &budget, columns, colour));
    } else {
        lines.extend(views.iter().map(|view| as_text(view, &budget)));
    }
    let others =
        std::iter::once(lead.as_text()).chain(hosts.iter().map(|host| hosts::as_text(team, host)));
    let others = others.chain(spawns.iter().map(spawns::ShownSpawn::as_text));
    lines.extend(others.map(|line| match columns {
        Some(columns) => wrapped("", &line, columns),
        None => line,
    }));
    let home = std::env::home_dir().filter(|_| columns.is_some());
    let folder = below_home(team.layout().root(), home.as_deref());
    lines.push(fitted(&format!("Folder: {folder}"), columns));
    let text = lines.join("\n");
    match columns {
        Some(_) => print_painted(&text),
        None => print(&text),
    }
}

/// A line that fits the terminal. A name or a folder in it is shortened in its middle.
fn fitted(line: &str, columns: Option<usize>) -> String {
    let fitted = columns.map(|columns| fit_name(line, columns).trim_end().to_owned());
    fitted.unwrap_or_else(|| line.to_owned())
}

/// The process id of a member or of the lead.
fn pid(team: &TeamDir, views: &[MemberView], name: &str) -> Result<u32, Failure> {
    let owner = names::recipient(&*team.roster()?, name)?;
    require_here(team, &owner, &format!("team-lead status --pid {owner}"))?;
    let holder = match &owner {
        Recipient::Lead => running_lead(team)?.and_then(|lead| lead.holder),
        Recipient::Member(name) => {
            let view = views.iter().find(|view| view.member.spec.name == *name);
            view.and_then(|view| view.holder.clone())
        }
    };
    holder.map(|holder| holder.pid).ok_or_else(|| {
        Failure::new(Kind::Refused, format!("'{owner}' is not running")).hint("team-lead status")
    })
}

fn running_lead(team: &TeamDir) -> Result<Option<Lead>, Failure> {
    let Liveness::Alive(holder) = team.liveness(&Recipient::Lead)? else {
        return Ok(None);
    };
    let live = team.live_state(&Recipient::Lead)?;
    Ok(Some(Lead {
        // An earlier lead may have left its live state behind.
        live: live.filter(|live| {
            let incarnation = holder.as_ref().map(|holder| holder.incarnation);
            incarnation.is_none_or(|incarnation| live.incarnation == incarnation)
        }),
        holder,
        unread: processes::unread(team, &Recipient::Lead)?,
    }))
}

fn as_json(view: &MemberView, budget: &Budget) -> Value {
    let MemberSpec { name, role, .. } = &view.member.spec;
    let live = view.live.as_ref();
    let present = live.filter(|_| view.is_alive());
    json!({
        "name": name,
        "role": role,
        "host": view.member.host,
        "status": view.member.status,
        "state": view.state.word(),
        "pid": view.holder.as_ref().map(|holder| holder.pid),
        "incarnation": view.member.incarnation,
        "restarts": view.member.incarnation.0.saturating_sub(1),
        "since": present.map(|live| live.since),
        "unread": view.unread,
        "task": view.task,
        "todo": view.todo,
        "tree": view.member.spec.tree.clone().unwrap_or_default(),
        "branch": view.branch(),
        "submission": view.submission.map(|(id, status)| json!({"id": id, "status": status})),
        "tokens": tokens(live),
        "cost": cost(view, budget),
        "reason": view.reason(),
        "waiting_for": present.and_then(|live| live.waiting_for),
        "activity": present.and_then(|live| live.activity.as_ref()),
        "usage": live.and_then(|live| live.usage.as_ref()),
        "sandbox": present.and_then(|live| live.sandbox),
        "model": view.member.spec.model,
        "asked_model": present.and_then(|live| live.model.as_ref()),
        "restart": view.member.spec.restart,
    })
}

fn lead_as_json(lead: &Lead) -> Value {
    let live = lead.live.as_ref();
    json!({
        "pid": lead.holder.as_ref().map(|holder| holder.pid),
        "incarnation": lead.holder.as_ref().map(|holder| holder.incarnation),
        "state": live.map_or(Phase::Starting, |live| live.phase),
        "since": live.map(|live| live.since),
        "unread": lead.unread,
        "sandbox": live.and_then(|live| live.sandbox),
        "asked_model": live.and_then(|live| live.model.as_ref()),
        "tokens": tokens(live),
    })
}

fn tokens(live: Option<&LiveState>) -> u64 {
    let usage = live.and_then(|live| live.usage.as_ref());
    usage.map_or(0, Tally::tokens)
}

/// The cost of a member, if the price of any of its calls is known.
fn cost(view: &MemberView, budget: &Budget) -> Option<Money> {
    let member = Recipient::Member(view.member.spec.name.clone());
    let sum = Sum::of(budget, Some(&member));
    (sum.unpriced < sum.calls).then_some(sum.cost)
}

fn as_text(view: &MemberView, budget: &Budget) -> String {
    let MemberSpec { name, role, .. } = &view.member.spec;
    let mut parts = vec![state_text(view)];
    if let Some(holder) = &view.holder {
        parts.push(format!("process {}", holder.pid));
    }
    parts.extend(restarts_text(view.member.incarnation));
    if let MemberState::Idle { since } = view.state {
        parts.push(format!("for {}", duration(now().since(since))));
    }
    // What is in the inbox of one elsewhere is shown as queued for its host.
    if view.member.host.is_none() {
        parts.push(format!("{} unread", view.unread));
    }
    if let Some(task) = view.task {
        parts.push(format!("task #{task}"));
    }
    if let Some(todo) = &view.todo {
        parts.push(format!("to-do {}", one_line(&todo.to_string())));
    }
    parts.extend(view.branch().map(|branch| format!("branch {branch}")));
    if let Some((id, status)) = view.submission {
        parts.push(format!("submission {id} {status}"));
    }
    let present = view.live.as_ref().filter(|_| view.is_alive());
    parts.extend(asked_model_text(present));
    parts.extend(sandbox_text(present));
    parts.extend(token_text(tokens(view.live.as_ref())));
    let cost = cost(view, budget).filter(|cost| *cost > Money::default());
    parts.extend(cost.map(|cost| cost.to_string()));
    let host = view.member.host.as_ref();
    let host = host.map_or_else(String::new, |host| format!(" on {host}"));
    format!("  {name} ({}){host}: {}", one_line(role), parts.join(", "))
}

fn lead_as_text(lead: &Lead) -> String {
    let phase = lead
        .live
        .as_ref()
        .map_or(Phase::Starting, |live| live.phase);
    let word = match phase {
        Phase::Starting => "starting",
        Phase::Working => "working",
        Phase::Waiting => "waiting",
        Phase::Idle => "idle",
        Phase::Failed => "failed",
        Phase::Shutdown => "ending",
    };
    let mut parts = vec![word.to_owned()];
    if let Some(holder) = &lead.holder {
        parts.push(format!("process {}", holder.pid));
    }
    parts.push(format!("{} unread", lead.unread));
    parts.extend(sandbox_text(lead.live.as_ref()));
    parts.extend(token_text(tokens(lead.live.as_ref())));
    format!("Lead: {}", parts.join(", "))
}

/// The state with its activity, reason and duration.
fn state_text(view: &MemberView) -> String {
    let word = view.state.word();
    match &view.state {
        MemberState::Working { activity, since } => match activity {
            Some(activity) => format!("{word}, {}", activity_text(activity)),
            None => format!("{word} for {}", duration(now().since(*since))),
        },
        MemberState::Waiting { what, since } => {
            let what = what.map_or("", |what| match what {
                WaitingFor::Plan => " for a decision on its plan",
                WaitingFor::Permission => " for permission to run a tool",
                WaitingFor::Answer => " for the answer to its question",
                WaitingFor::Background => " for a background command",
                WaitingFor::RateLimit => " for its model's rate limit",
                WaitingFor::Server => " for its model's server",
                WaitingFor::Disk => " for the disk",
                WaitingFor::Budget => " for more budget",
                WaitingFor::Turn => " for its turn",
                WaitingFor::Tree => " for its tree",
            });
            let reason = view
                .reason()
                .map(|reason| format!(" ({})", one_line(reason)));
            let reason = reason.unwrap_or_default();
            format!("{word}{what}{reason} for {}", duration(now().since(*since)))
        }
        MemberState::Hung {
            silent_for,
            activity,
        } => {
            let place = activity
                .as_ref()
                .map(|a| format!(" in {}", one_line(&a.name)));
            let place = place.unwrap_or_default();
            format!("{word}{place}, no activity for {}", duration(*silent_for))
        }
        MemberState::Failed { reason, .. } | MemberState::GaveUp { reason }
            if !reason.is_empty() =>
        {
            format!("{word} ({})", one_line(reason))
        }
        MemberState::Starting { .. }
        | MemberState::Idle { .. }
        | MemberState::Failed { .. }
        | MemberState::GaveUp { .. }
        | MemberState::Dead { .. }
        | MemberState::Shutdown => word.to_owned(),
    }
}

fn activity_text(activity: &Activity) -> String {
    let for_how_long = duration(now().since(activity.since));
    format!("{} for {for_how_long}", one_line(&activity.name))
}

/// The model that is asked now, if it is not the first of the member's list.
fn asked_model_text(live: Option<&LiveState>) -> Option<String> {
    let model = live?.model.as_ref()?;
    Some(format!("asks {}", one_line(model)))
}

/// The level of the sandbox, once it is known.
fn sandbox_text(live: Option<&LiveState>) -> Option<String> {
    let level = live?.sandbox?;
    Some(format!("sandbox {}", level.as_str()))
}

/// A rounded number of tokens, if there are any.
fn token_text(tokens: u64) -> Option<String> {
    Some(match tokens {
        0 => return None,
        1..1_000 => format!("{tokens} tokens"),
        1_000..1_000_000 => format!("{:.1}k tokens", tokens as f64 / 1e3),
        _ => format!("{:.1}M tokens", tokens as f64 / 1e6),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::{AgentName, Incarnation, Member, TaskId, Timestamp};
    use std::time::Duration;

    fn view(state: MemberState) -> MemberView {
        let mut member = Member::new(AgentName::new("alice").unwrap(), "coder");
        member.incarnation = Incarnation(2);
        MemberView {
            member,
            state,
            holder: None,
            live: None,
            unread: 0,
            task: None,
            todo: None,
            submission: None,
        }
    }

    fn shown(view: &MemberView) -> String {
        as_text(view, &Budget::default())
    }

    #[test]
    fn a_line_shows_the_activity_of_a_member_and_its_duration() {
        let activity = Activity {
            name: "bash".into(),
            argument: None,
            since: now(),
            extra: protocol::Extra::new(),
        };
        let mut working = view(MemberState::Working {
            activity: Some(activity),
            since: now(),
        });
        working.task = Some(TaskId(3));
        let mut live = LiveState::new(Incarnation(2), Phase::Working, now());
        let usage: Tally = serde_json::from_value(json!({"input": 1200, "output": 34})).unwrap();
        live.usage = Some(usage);
        working.live = Some(live);
        let text = shown(&working);
        assert!(
            text.starts_with("  alice (coder): working, bash for "),
            "{text}"
        );
        assert!(
            text.ends_with(", restarted 1x, 0 unread, task #3, 1.2k tokens"),
            "{text}"
        );
    }

    #[test]
    fn hung_failed_and_dead_are_different_lines() {
        let hung = shown(&view(MemberState::Hung {
            silent_for: Duration::from_secs(700),
            activity: None,
        }));
        assert!(hung.contains("hung, no activity for"), "{hung}");
        let failed = shown(&view(MemberState::Failed {
            reason: "no key\x1b[2J".into(),
            since: Timestamp::from_secs(1),
        }));
        assert!(failed.contains("failed (no key\u{fffd}[2J)"), "{failed}");
        let incarnation = Incarnation(2);
        let dead = shown(&view(MemberState::Dead { incarnation }));
        assert_eq!(dead, "  alice (coder): dead, restarted 1x, 0 unread");
    }

    #[test]
    fn tokens_are_rounded() {
        assert_eq!(token_text(0), None);
        assert_eq!(token_text(999).unwrap(), "999 tokens");
        assert_eq!(token_text(2_500_000).unwrap(), "2.5M tokens");
    }
}
