//! The address of a NATS cluster, whose secrets are never shown.

use async_nats::ServerAddr;
use percent_encoding::percent_decode_str;
use std::fmt;

/// Servers of one cluster: `nats://[user:password@]host[:port]`, several separated by commas, and `tls://`
/// for those that must be encrypted.
#[derive(Clone, PartialEq, Eq)]
pub struct NatsAddress {
    /// Without user and password, which the client would write to its log.
    servers: Vec<ServerAddr>,
    login: Option<Login>,
}

#[derive(Clone, PartialEq, Eq)]
pub(super) enum Login {
    Password { user: String, password: String },
    Token(String),
}

/// Why a text is no address. It does not repeat the text, which may have a password in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    #[error(
        "this is no address of a NATS server: write nats://HOST:PORT or tls://HOST:PORT, or several of them \
         separated by commas"
    )]
    Form,
    #[error(
        "the servers of one cluster have one user: give the same user and password, or only the first"
    )]
    Logins,
}

impl NatsAddress {
    /// Whether a text is meant for this transport.
    pub fn is_meant(text: &str) -> bool {
        text.starts_with("nats://") || text.starts_with("tls://")
    }

    /// Whether there is a password or a token in it.
    pub const fn has_login(&self) -> bool {
        self.login.is_some()
    }

    pub(super) fn servers(&self) -> &[ServerAddr] {
        &self.servers
    }

    pub(super) const fn login(&self) -> Option<&Login> {
        self.login.as_ref()
    }

    /// How many copies of a message a cluster of these servers keeps.
    pub(super) const fn replicas(&self) -> usize {
        if self.servers.len() >= 3 { 3 } else { 1 }
    }
}

impl std::str::FromStr for NatsAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let (mut servers, mut login) = (Vec::new(), None);
        for server in text.split(',') {
            let (scheme, place) = server.split_once("://").ok_or(AddressError::Form)?;
            if !matches!(scheme, "nats" | "tls") {
                return Err(AddressError::Form);
            }
            let place = match place.rsplit_once('@') {
                None => place,
                Some((secret, place)) => {
                    let found = Login::parse(secret)?;
                    if login.as_ref().is_some_and(|known| *known != found) {
                        return Err(AddressError::Logins);
                    }
                    login = Some(found);
                    place
                }
            };
            let parsed: Result<ServerAddr, _> = format!("{scheme}://{place}").parse();
            let server = parsed.map_err(|_| AddressError::Form)?;
            if server.host().is_empty() {
                return Err(AddressError::Form);
            }
            servers.push(server);
        }
        Ok(Self { servers, login })
    }
}

impl Login {
    fn parse(text: &str) -> Result<Self, AddressError> {
        let plain = |text: &str| {
            let decoded = percent_decode_str(text).decode_utf8();
            decoded
                .map(|text| text.into_owned())
                .map_err(|_| AddressError::Form)
        };
        Ok(match text.split_once(':') {
            Some((user, password)) => Self::Password {
                user: plain(user)?,
                password: plain(password)?,
            },
            None => Self::Token(plain(text)?),
        })
    }
}

impl fmt::Display for NatsAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, server) in self.servers.iter().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            let scheme = if server.tls_required() { "tls" } else { "nats" };
            let (host, port) = (server.host(), server.port());
            // An address of version 6 stands in brackets.
            if host.contains(':') && !host.starts_with('[') {
                write!(f, "{comma}{scheme}://[{host}]:{port}")?;
            } else {
                write!(f, "{comma}{scheme}://{host}:{port}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for NatsAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NatsAddress({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_used_and_never_shown() {
        let text = "nats://anna:p%40ss@one:4222,nats://two:4223,tls://three";
        let address: NatsAddress = text.parse().expect("an address");
        let shown = "nats://one:4222,nats://two:4223,tls://three:4222";
        assert_eq!(address.to_string(), shown);
        assert!(!format!("{address:?} {:?}", address.servers()).contains("ss@"));
        let expected = Login::Password {
            user: "anna".to_owned(),
            password: "p@ss".to_owned(),
        };
        assert!(address.login() == Some(&expected));
        assert_eq!(address.replicas(), 3);
    }

    #[test]
    fn what_is_no_address_is_refused_without_being_repeated() {
        for text in ["ssh://a/b", "nats://", "one:4222", "nats://a,ftp://b"] {
            assert_eq!(
                text.parse::<NatsAddress>(),
                Err(AddressError::Form),
                "{text}"
            );
        }
        let two = "nats://a:b@one,nats://a:c@two".parse::<NatsAddress>();
        assert_eq!(two, Err(AddressError::Logins));
    }
}
