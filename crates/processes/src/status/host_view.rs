//! How it stands with the other hosts of a team. Changes nothing.

use crate::status::unread::UnreadCounts;
use protocol::{HostId, Recipient, Roster, Timestamp};
use teamdir::{Liveness, TeamDir, TeamFileError};

/// Another host, as this one knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostView {
    pub host: HostId,
    pub link: HostLink,
    /// How much waits for it: frames in its outbox, and mail that no bridge has moved there yet.
    pub queued: u64,
}

/// Whether what is for a host gets there now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostLink {
    /// The bridge has a connection.
    Linked,
    /// The bridge has none, for this reason.
    Unreachable {
        since: Option<Timestamp>,
        problem: Option<String>,
    },
    /// No bridge runs on this host.
    NoBridge,
}

impl HostLink {
    /// One word for programs.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Linked => "linked",
            Self::Unreachable { .. } => "unreachable",
            Self::NoBridge => "no_bridge",
        }
    }
}

/// The other hosts of a team, by name.
pub fn host_views(team: &TeamDir) -> Result<Vec<HostView>, TeamFileError> {
    let peers = team.peers()?;
    if peers.is_empty() {
        return Ok(Vec::new());
    }
    let unread = UnreadCounts::read(team);
    // An unreadable roster is reported by whoever shows the members.
    let roster = team.roster().ok();
    let mut views = Vec::new();
    for host in peers {
        let known = roster.as_ref();
        let unsent = known.map_or(0, |roster| unsent(team, (roster, &unread), &host));
        views.push(HostView {
            link: host_link(team, &host),
            queued: team.frames_waiting(&host)? + unsent,
            host,
        });
    }
    Ok(views)
}

/// Whether what is for a host gets there now. A bridge that was killed leaves its last word of the host
/// behind, so that the word counts only while a bridge runs.
pub fn host_link(team: &TeamDir, host: &HostId) -> HostLink {
    match team.bridge_liveness() {
        Ok(Liveness::Gone(_)) => return HostLink::NoBridge,
        Ok(Liveness::Alive(_)) | Err(_) => {}
    }
    match team.peer(host) {
        Ok(Some(peer)) if peer.reachable => HostLink::Linked,
        Ok(Some(peer)) => HostLink::Unreachable {
            since: peer.since,
            problem: peer.problem,
        },
        Ok(None) | Err(_) => HostLink::Unreachable {
            since: None,
            problem: None,
        },
    }
}

/// The mail for those at home on a host that is not in its outbox yet.
fn unsent(team: &TeamDir, (roster, unread): (&Roster, &UnreadCounts), host: &HostId) -> u64 {
    let members = roster.members.iter().map(|member| &member.spec.name);
    let owners = members.map(|name| Recipient::Member(name.clone()));
    let owners = owners.chain([Recipient::Lead]);
    let there = owners.filter(|owner| roster.host_of(owner) == Some(host));
    let counts = there.map(|owner| unread.unread(team, &owner).unwrap_or(0) as u64);
    counts.sum()
}
