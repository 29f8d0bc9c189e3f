//! What people are shown of other hosts.

use super::Core;
use protocol::{HostId, Peer};
use teamdir::now;
use tracing::warn;

impl Core {
    /// Shows people how it stands with a host.
    pub fn show_peer(&self, host: &HostId, peer: &Peer) {
        if let Err(error) = self.team.put_peer(&self.guard, host, peer) {
            warn!("the state of '{host}' cannot be shown: {error}");
        }
        let roster = self.team.roster();
        if roster.is_ok_and(|roster| roster.lead_host.as_ref() == Some(host)) {
            self.note_copy(host, peer.reachable);
        }
    }

    /// Shows people that the host at this address cannot be reached, if it is known who that is.
    pub fn show_unreachable(&self, address: &str, problem: &str) {
        for host in self.outboxes.keys() {
            let known = self.team.peer(host).ok().flatten();
            let Some(known) = known.filter(|peer| peer.address.as_deref() == Some(address)) else {
                continue;
            };
            let since = match known.reachable {
                true => Some(now()),
                false => known.since,
            };
            let said = Peer {
                reachable: false,
                since,
                problem: Some(problem.to_owned()),
                ..known
            };
            self.show_peer(host, &said);
        }
    }
}
