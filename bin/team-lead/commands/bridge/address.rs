//! Where a bridge connects to. A text that may have a password in it is not repeated in an error.

use super::Bridge;
use crate::failure::{Failure, Kind};
use bridge::nats::{NatsAddress, Settings};
use bridge::ssh::SshAddress;

/// The variable with the address of a broker, for one that has a password in it: everybody on a machine
/// can see the arguments of a process, and only its user the environment.
pub(super) const VARIABLE: &str = "TEAM_NATS_URL";

/// What a bridge connects to.
pub(super) enum Address {
    /// Another host.
    Ssh(SshAddress),
    /// A broker that other hosts connect to as well.
    Nats {
        settings: Settings,
        /// Whether the address stands in [`VARIABLE`].
        from_variable: bool,
    },
}

impl Address {
    /// The address of a command, from its argument or else from the variable.
    pub(super) fn of(command: &Bridge) -> Result<Self, Failure> {
        let Some(text) = &command.address else {
            let text = std::env::var(VARIABLE)
                .map_err(|_| usage("a bridge needs the address of a host or of a broker"))?;
            let address = text.parse::<NatsAddress>();
            let address = address.map_err(|error| usage(&format!("{VARIABLE}: {error}")))?;
            return Ok(nats(command, address, true));
        };
        if NatsAddress::is_meant(text) {
            let address = text.parse::<NatsAddress>();
            let address = address.map_err(|error| usage(&error.to_string()))?;
            if address.has_login() {
                let message = format!(
                    "everybody on this machine can see the password in an argument: put the whole address into the \
                     variable {VARIABLE} and leave the argument out, or use --credentials FILE"
                );
                return Err(usage(&message));
            }
            return Ok(nats(command, address, false));
        }
        if !text.starts_with("ssh://") {
            return Err(usage(
                "this is no address of a host or of a broker: write ssh://HOST/PATH or nats://HOST:PORT",
            ));
        }
        let of_broker = [
            ("--lead", command.lead.is_some()),
            ("--credentials", command.credentials.is_some()),
            ("--root-certificates", command.root_certificates.is_some()),
        ];
        if let Some((option, _)) = of_broker.iter().find(|(_, is_given)| *is_given) {
            return Err(usage(&format!("{option} is only for a broker")));
        }
        let address = text.parse::<SshAddress>();
        Ok(Self::Ssh(
            address.map_err(|error| usage(&error.to_string()))?,
        ))
    }
}

fn nats(command: &Bridge, address: NatsAddress, from_variable: bool) -> Address {
    let mut settings = Settings::new(address);
    settings.credentials.clone_from(&command.credentials);
    settings
        .root_certificates
        .clone_from(&command.root_certificates);
    settings.lead.clone_from(&command.lead);
    Address::Nats {
        settings,
        from_variable,
    }
}

fn usage(message: &str) -> Failure {
    Failure::new(Kind::Usage, message.to_owned()).hint("team-lead bridge --help")
}
