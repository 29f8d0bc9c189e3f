//! The rules of a list of hosts.

use core::net::{IpAddr, Ipv6Addr};
use std::fmt;
use std::str::FromStr;

use super::address::Special;
use super::host::{Endpoint, Host, HostError, HostName, Reason, split_port};

/// The ports of a rule that names none: those of HTTP and HTTPS.
const USUAL_PORTS: [u16; 2] = [80, 443];
/// What stands for any name below another.
const ANY: &str = "*.";
/// Words that mean something else than a host.
const WORDS: [&str; 2] = [super::OFF, super::ON];
/// Names that lead to the machine itself everywhere.
const LOOPBACK_NAME: &str = "localhost";

/// A host that may be reached: `example.org`, `*.example.org` for all names below it, or an
/// address; with `:PORT` that port alone, without it ports 80 and 443. An address that is not public
/// has to be listed with its port. A name that leads to such an address is not followed there unless
/// the address is listed too.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostRule {
    pattern: Pattern,
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Pattern {
    This(Host),
    Below(HostName),
}

impl HostRule {
    /// Whether the rule allows a connection there.
    #[must_use]
    pub fn allows(&self, wanted: &Endpoint) -> bool {
        let is_port = match self.port {
            Some(port) => port == wanted.port,
            None => USUAL_PORTS.contains(&wanted.port),
        };
        let is_host = match (&self.pattern, &wanted.host) {
            (Pattern::This(listed), wanted) => listed == wanted,
            (Pattern::Below(suffix), Host::Name(wanted)) => wanted.is_below(suffix),
            (Pattern::Below(_), Host::Address(_)) => false,
        };
        is_port && is_host
    }

    /// The shortest rule that allows a connection there, or why there is none.
    pub fn for_endpoint(wanted: &Endpoint) -> Result<Self, HostError> {
        let is_special = match &wanted.host {
            Host::Name(_) => false,
            Host::Address(address) => Special::of(*address).is_some(),
        };
        let is_usual = USUAL_PORTS.contains(&wanted.port) && !is_special;
        let rule = Self {
            pattern: Pattern::This(wanted.host.clone()),
            port: (!is_usual).then_some(wanted.port),
        };
        let checked = rule.check();
        checked.map_err(|reason| HostError::new(&wanted.to_string(), reason))?;
        Ok(rule)
    }

    /// The address that the rule names, if it does.
    #[must_use]
    pub const fn address(&self) -> Option<IpAddr> {
        match &self.pattern {
            Pattern::This(Host::Address(address)) => Some(*address),
            Pattern::This(Host::Name(_)) | Pattern::Below(_) => None,
        }
    }

    fn parse(text: &str) -> Result<Self, Reason> {
        if WORDS.contains(&text) {
            return Err(Reason::Word);
        }
        // The colon of a scheme or a password would be taken for that of a port.
        if text.contains(['/', '@']) {
            return Err(Reason::NotAHost);
        }
        // An IPv6 address without a port needs no brackets.
        if let Ok(address) = text.parse::<Ipv6Addr>() {
            let host = Host::Address(IpAddr::V6(address).to_canonical());
            return Self::checked(Pattern::This(host), None);
        }
        let (host, port) = split_port(text)?;
        let pattern = match host.strip_prefix(ANY) {
            None if host.contains('*') => return Err(Reason::Wildcard),
            None => Pattern::This(Host::parse(host)?),
            Some(suffix) => match Host::parse(suffix)? {
                Host::Name(suffix) if suffix.as_str().contains('.') => Pattern::Below(suffix),
                Host::Name(_) | Host::Address(_) => return Err(Reason::Wildcard),
            },
        };
        Self::checked(pattern, port)
    }

    fn checked(pattern: Pattern, port: Option<u16>) -> Result<Self, Reason> {
        let rule = Self { pattern, port };
        rule.check().map(|()| rule)
    }

    /// A rule that could never allow anything is a mistake of whoever wrote it.
    fn check(&self) -> Result<(), Reason> {
        let name = match &self.pattern {
            Pattern::Below(name) | Pattern::This(Host::Name(name)) => name,
            Pattern::This(Host::Address(address)) => {
                return match Special::of(*address) {
                    Some(special) if special.is_unreachable() => Err(Reason::Unreachable),
                    Some(_) if self.port.is_none() => Err(Reason::NeedsPort),
                    Some(_) | None => Ok(()),
                };
            }
        };
        let top = name.as_str().rsplit('.').next();
        if top == Some(LOOPBACK_NAME) {
            return Err(Reason::ThisMachine);
        }
        Ok(())
    }
}

impl FromStr for HostRule {
    type Err = HostError;

    fn from_str(text: &str) -> Result<Self, HostError> {
        Self::parse(text).map_err(|reason| HostError::new(text, reason))
    }
}

impl fmt::Display for HostRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.pattern {
            Pattern::This(host) => host.fmt(f)?,
            Pattern::Below(suffix) => write!(f, "{ANY}{suffix}")?,
        }
        match self.port {
            Some(port) => write!(f, ":{port}"),
            None => Ok(()),
        }
    }
}

/// At least one rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostList(Vec<HostRule>);

impl HostList {
    /// The rules that each text is. Repeated ones are left out.
    pub fn from_texts<T: AsRef<str>>(texts: &[T]) -> Result<Self, HostError> {
        let mut rules: Vec<HostRule> = Vec::new();
        for text in texts {
            let rule = text.as_ref().parse()?;
            if !rules.contains(&rule) {
                rules.push(rule);
            }
        }
        if rules.is_empty() {
            return Err(HostError::new("", Reason::Empty));
        }
        Ok(Self(rules))
    }

    #[must_use]
    pub fn rules(&self) -> &[HostRule] {
        &self.0
    }

    /// Whether a rule allows a connection there.
    #[must_use]
    pub fn allows(&self, wanted: &Endpoint) -> bool {
        self.0.iter().any(|rule| rule.allows(wanted))
    }
}

/// Rules with commas between them.
impl FromStr for HostList {
    type Err = HostError;

    fn from_str(text: &str) -> Result<Self, HostError> {
        let texts: Vec<&str> = text.split(',').map(str::trim).collect();
        Self::from_texts(&texts)
    }
}

impl fmt::Display for HostList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rules: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&rules.join(","))
    }
}
