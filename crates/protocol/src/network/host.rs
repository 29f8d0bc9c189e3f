//! Hosts and ports as they stand in rules and in requests. One parser reads both, so that no
//! spelling of a host means one thing to a rule and another to a connection.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::fmt;
use std::str::FromStr;

/// A text that names no host, port or list of hosts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} {reason}")]
pub struct HostError {
    pub text: String,
    pub reason: Reason,
}

impl HostError {
    pub(super) fn new(text: &str, reason: Reason) -> Self {
        Self {
            text: text.to_owned(),
            reason,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    #[error("names no host")]
    Empty,
    #[error("is no address; write the host alone, without scheme, user or path: example.org")]
    NotAHost,
    #[error("is not ASCII; write the form that starts with xn--")]
    NotAscii,
    #[error("is no IPv4 address; write four numbers: 192.0.2.1")]
    NotAnAddress,
    #[error("has no port between 1 and 65535 after the colon")]
    Port,
    #[error("allows too much; write *.example.org, or the network is \"on\"")]
    Wildcard,
    #[error("is not public; list the address with its port: 127.0.0.1:8080")]
    NeedsPort,
    #[error("is always this machine; list the address with its port: 127.0.0.1:8080")]
    ThisMachine,
    #[error("cannot be connected to")]
    Unreachable,
    #[error("stands alone or not at all; the network is \"off\", \"on\" or a list of hosts")]
    Word,
}

/// A host name in lower case, without the final dot.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostName(String);

impl HostName {
    const LONGEST: usize = 253;
    const LONGEST_LABEL: usize = 63;

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the name ends with the labels of `suffix` and has more.
    #[must_use]
    pub fn is_below(&self, suffix: &Self) -> bool {
        let above = self.0.strip_suffix(suffix.as_str());
        above.is_some_and(|above| above.len() > 1 && above.ends_with('.'))
    }

    fn parse(text: &str) -> Result<Self, Reason> {
        let name = text.strip_suffix('.').unwrap_or(text);
        if name.is_empty() {
            return Err(Reason::Empty);
        }
        let is_label = |label: &str| {
            let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
            (1..=Self::LONGEST_LABEL).contains(&label.len()) && label.bytes().all(is_allowed)
        };
        if name.len() > Self::LONGEST || !name.split('.').all(is_label) {
            return Err(Reason::NotAHost);
        }
        Ok(Self(name.to_ascii_lowercase()))
    }

    /// Whether resolvers read the name as an IPv4 address in one of its odd spellings, such as
    /// `0x7f.1` or `2130706433`.
    fn is_number(&self) -> bool {
        let last = self.0.rsplit('.').next().unwrap_or_default();
        let is_hexadecimal = last
            .strip_prefix("0x")
            .is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        is_hexadecimal || last.bytes().all(|byte| byte.is_ascii_digit())
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A name or an address. An IPv4 address inside an IPv6 one is the IPv4 address.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Host {
    Name(HostName),
    Address(IpAddr),
}

impl Host {
    pub(super) fn parse(text: &str) -> Result<Self, Reason> {
        if !text.is_ascii() {
            return Err(Reason::NotAscii);
        }
        if let Some(inside) = text.strip_prefix('[') {
            let inside = inside.strip_suffix(']').ok_or(Reason::NotAHost)?;
            let address: Ipv6Addr = inside.parse().map_err(|_| Reason::NotAHost)?;
            return Ok(Self::Address(IpAddr::V6(address).to_canonical()));
        }
        let name = HostName::parse(text)?;
        if name.is_number() {
            let address: Result<Ipv4Addr, _> = name.as_str().parse();
            return match address {
                Ok(address) => Ok(Self::Address(address.into())),
                Err(_) => Err(Reason::NotAnAddress),
            };
        }
        Ok(Self::Name(name))
    }
}

impl FromStr for Host {
    type Err = HostError;

    fn from_str(text: &str) -> Result<Self, HostError> {
        Self::parse(text).map_err(|reason| HostError::new(text, reason))
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => name.fmt(f),
            Self::Address(IpAddr::V4(address)) => address.fmt(f),
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

/// A host and a port: where a connection goes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Endpoint {
    pub host: Host,
    pub port: u16,
}

impl Endpoint {
    /// Reads `host:port`, or `host` where there is a port that everybody means.
    pub fn parse(text: &str, default: Option<u16>) -> Result<Self, HostError> {
        let parsed = split_port(text).and_then(|(host, port)| {
            let port = port.or(default).ok_or(Reason::Port)?;
            let host = Host::parse(host)?;
            Ok(Self { host, port })
        });
        parsed.map_err(|reason| HostError::new(text, reason))
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// Separates a port from a host. The colons of an IPv6 address stand in brackets.
pub(super) fn split_port(text: &str) -> Result<(&str, Option<u16>), Reason> {
    let after_brackets = text.rfind(']').unwrap_or(0);
    let Some(colon) = text.rfind(':').filter(|colon| *colon >= after_brackets) else {
        return Ok((text, None));
    };
    let (host, port) = text.split_at(colon);
    let digits = port.strip_prefix(':').unwrap_or(port);
    // `parse` alone would take a sign.
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let port = digits.parse().ok().filter(|port| is_number && *port != 0);
    port.map(|port| (host, Some(port))).ok_or(Reason::Port)
}
