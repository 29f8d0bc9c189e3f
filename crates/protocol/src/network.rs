//! Which network a member's commands reach.

mod address;
mod host;
mod rule;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use address::Special;
pub use host::{Endpoint, Host, HostError, HostName, Reason};
pub use rule::{HostList, HostRule};

/// What people write: `off`, `on`, or the hosts that may be reached. In files the hosts are a list
/// (`["example.org", "*.example.net:8443"]`), on a command line they are separated by commas.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Form", into = "Form")]
pub enum NetworkSetting {
    /// No network but a loopback interface of the command's own.
    #[default]
    Off,
    /// The network of the machine.
    On,
    /// These hosts, through a proxy.
    Hosts(HostList),
}

const OFF: &str = "off";
const ON: &str = "on";

impl FromStr for NetworkSetting {
    type Err = HostError;

    fn from_str(text: &str) -> Result<Self, HostError> {
        match text {
            OFF => Ok(Self::Off),
            ON => Ok(Self::On),
            hosts => hosts.parse().map(Self::Hosts),
        }
    }
}

impl fmt::Display for NetworkSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str(OFF),
            Self::On => f.write_str(ON),
            Self::Hosts(hosts) => hosts.fmt(f),
        }
    }
}

/// The setting as it stands in a file.
#[derive(Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "the network is \"off\", \"on\" or a list of hosts"
)]
enum Form {
    One(String),
    Several(Vec<String>),
}

impl TryFrom<Form> for NetworkSetting {
    type Error = HostError;

    fn try_from(form: Form) -> Result<Self, HostError> {
        match form {
            Form::One(text) => text.parse(),
            Form::Several(rules) => HostList::from_texts(&rules).map(Self::Hosts),
        }
    }
}

impl From<NetworkSetting> for Form {
    fn from(setting: NetworkSetting) -> Self {
        match setting {
            NetworkSetting::Hosts(hosts) => {
                Self::Several(hosts.rules().iter().map(ToString::to_string).collect())
            }
            NetworkSetting::Off | NetworkSetting::On => Self::One(setting.to_string()),
        }
    }
}

#[cfg(test)]
mod tests;
