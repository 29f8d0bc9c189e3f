//! `status`: the team as the files and the operating system show it.

use crate::cli::{Args, print};
use crate::failure::Failure;
use coordination::{Facts, MemberState, member_state};
use protocol::{Holder, Member, Recipient, Timestamp};
use serde_json::{Value, json};
use std::time::Duration;
use teamdir::{Liveness, TeamDir, now};

/// How long a member at work may give no sign before it is shown as hung.
const SILENT_AFTER: Duration = Duration::from_secs(600);

struct Row<'a> {
    member: &'a Member,
    state: MemberState,
    holder: Option<Holder>,
    since: Option<Timestamp>,
    unread: usize,
}

pub(crate) fn show(team: &TeamDir, args: &Args) -> Result<(), Failure> {
    let roster = team.roster()?;
    let rows = roster.members.iter().map(|member| row(team, member));
    let rows = rows.collect::<Result<Vec<_>, Failure>>()?;
    if args.json {
        let lead = match team.liveness(&Recipient::Lead)? {
            Liveness::Alive(holder) => json!({"pid": holder.map(|holder| holder.pid)}),
            Liveness::Gone(_) => Value::Null,
        };
        let members: Vec<Value> = rows.iter().map(as_json).collect();
        let team_name = &roster.team_name;
        let status = json!({"team_name": team_name, "lead": lead, "members": members});
        return print(&status.to_string());
    }
    print(&format!("Team: {}", roster.team_name.0))?;
    if rows.is_empty() {
        return print("No teammates.");
    }
    rows.iter().try_for_each(|row| print(&as_text(row)))
}

fn row<'a>(team: &TeamDir, member: &'a Member) -> Result<Row<'a>, Failure> {
    let owner = Recipient::Member(member.name.clone());
    let (lock_held, holder) = match team.liveness(&owner)? {
        Liveness::Alive(holder) => (true, holder),
        Liveness::Gone(_) => (false, None),
    };
    let live = team.live_state(&owner)?;
    let state = member_state(&Facts {
        lock_held,
        holder: holder.as_ref(),
        live: live.as_ref(),
        roster_status: &member.status,
        roster_incarnation: member.incarnation,
        gave_up: member.gave_up.as_deref(),
        now: now(),
        silent_after: SILENT_AFTER,
    });
    Ok(Row {
        member,
        state,
        since: live.map(|live| live.since).filter(|_| lock_held),
        holder,
        unread: team.peek(&owner, |_, _| {})?,
    })
}

fn as_json(row: &Row<'_>) -> Value {
    json!({
        "name": row.member.name,
        "role": row.member.role,
        "status": row.member.status,
        "state": row.state.word(),
        "pid": row.holder.as_ref().map(|holder| holder.pid),
        "incarnation": row.member.incarnation,
        "since": row.since,
        "unread": row.unread,
    })
}

fn as_text(row: &Row<'_>) -> String {
    let Member { name, role, .. } = row.member;
    let mut text = format!("  {name} ({role}): {}", row.state.word());
    if let Some(holder) = &row.holder {
        text.push_str(&format!(", process {}", holder.pid));
    }
    text.push_str(&format!(", life {}", row.member.incarnation));
    if let Some(since) = row.since {
        text.push_str(&format!(", for {} s", now().since(since).as_secs()));
    }
    text.push_str(&format!(", {} unread", row.unread));
    text
}
