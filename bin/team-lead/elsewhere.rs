//! Refuses what only the home host of a member can do, with the command to type.

use crate::failure::{Failure, Kind};
use bridge::ssh::SshAddress;
use protocol::{HostId, Recipient};
use teamdir::TeamDir;

/// Refuses `command` for somebody at home on another host.
pub(crate) fn require_here(
    team: &TeamDir,
    owner: &Recipient,
    command: &str,
) -> Result<(), Failure> {
    match team.roster()?.host_of(owner) {
        None => Ok(()),
        Some(host) => Err(refusal(team, owner, host, command)),
    }
}

/// Says that `command` is for another host, and how it is run there.
pub(crate) fn refusal(team: &TeamDir, owner: &Recipient, host: &HostId, command: &str) -> Failure {
    let peer = team.peer(host).ok().flatten();
    let address = peer.and_then(|peer| peer.address?.parse::<SshAddress>().ok());
    let message = format!("'{owner}' is at home on the host '{host}'");
    match address {
        Some(address) => Failure::new(Kind::Refused, message).hint(address.command_line(command)),
        None => {
            let message = format!("{message}: run the command there");
            Failure::new(Kind::Refused, message).hint(command)
        }
    }
}
