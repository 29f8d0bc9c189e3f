//! Members that one host has asked another one to start.

use crate::duration::format as duration;
use crate::failure::Failure;
use protocol::{HostSpawn, SpawnOutcome};
use serde_json::{Value, json};
use std::time::Duration;
use teamdir::{TeamDir, now};
use terminal_text::one_line;

/// How long it is shown that an ask was not fulfilled.
const SHOWN_FOR: Duration = Duration::from_secs(3600);

/// An ask, and whether it is one of this host.
pub(super) struct ShownSpawn {
    spawn: HostSpawn,
    is_ours: bool,
}

/// The asks that are open, and those of this host that were refused lately. Who was started is a member.
pub(super) fn spawns(team: &TeamDir) -> Result<Vec<ShownSpawn>, Failure> {
    let (ours, theirs) = (team.sent_spawns()?, team.taken_spawns()?);
    let ours = ours.into_iter().map(|spawn| (spawn, true));
    let theirs = theirs.into_iter().map(|spawn| (spawn, false));
    let is_shown = |(spawn, is_ours): &(HostSpawn, bool)| match &spawn.outcome {
        None => true,
        Some(SpawnOutcome::Started { .. }) => false,
        Some(SpawnOutcome::Refused { .. } | SpawnOutcome::Failed { .. }) => {
            let ended = spawn.ended_at.unwrap_or(spawn.at);
            *is_ours && now().since(ended) < SHOWN_FOR
        }
    };
    let shown = ours.chain(theirs).filter(is_shown);
    Ok(shown
        .map(|(spawn, is_ours)| ShownSpawn { spawn, is_ours })
        .collect())
}

impl ShownSpawn {
    pub(super) fn as_json(&self) -> Value {
        let HostSpawn { host, ask, at, .. } = &self.spawn;
        let (why, text) = match &self.spawn.outcome {
            Some(SpawnOutcome::Refused { why, text }) => (Some(why), Some(text)),
            Some(SpawnOutcome::Failed { text }) => (None, Some(text)),
            Some(SpawnOutcome::Started { .. }) | None => (None, None),
        };
        json!({
            "ask": ask.id, "name": ask.member.name, "role": ask.member.role, "host": host,
            "asked_by": if self.is_ours { "this host" } else { host.as_str() },
            "state": self.state(), "why": why, "text": text, "since": at,
        })
    }

    const fn state(&self) -> &'static str {
        match &self.spawn.outcome {
            None if !self.is_ours => "starting",
            None if self.spawn.told => "sent",
            None => "queued",
            Some(SpawnOutcome::Started { .. }) => "started",
            Some(SpawnOutcome::Refused { .. }) => "refused",
            Some(SpawnOutcome::Failed { .. }) => "failed",
        }
    }

    pub(super) fn as_text(&self) -> String {
        let HostSpawn { host, ask, at, .. } = &self.spawn;
        let name = one_line(&ask.member.name);
        let age = duration(now().since(*at));
        let what = match &self.spawn.outcome {
            None if !self.is_ours => "is being started".to_owned(),
            None if self.spawn.told => "sent, no answer yet".to_owned(),
            None => "queued".to_owned(),
            Some(SpawnOutcome::Started { .. }) => "started".to_owned(),
            Some(SpawnOutcome::Refused { why, text }) => {
                format!("refused ({}): {}", one_line(why.as_str()), one_line(text))
            }
            Some(SpawnOutcome::Failed { text }) => format!("not started: {}", one_line(text)),
        };
        let who = if self.is_ours { "of" } else { "by" };
        format!(
            "Asked {who} {host}: '{name}', {age} ago: {what} (ask {})",
            ask.id
        )
    }
}
