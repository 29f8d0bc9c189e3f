//! Decides whether a connection is allowed, and makes it.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::Duration;

use protocol::{Endpoint, Host, HostList, Special};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;

use crate::Refusal;

/// One address of a name may take the whole limit divided by this.
const SHARE: u32 = 4;

#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectError {
    #[error("{0}")]
    Refused(Refusal),
    #[error("the name of {0} cannot be resolved: {1}")]
    Unknown(Endpoint, io::Error),
    #[error("{0} cannot be reached: {1}")]
    Unreachable(Endpoint, io::Error),
    #[error("{0} does not answer")]
    TimedOut(Endpoint),
}

/// Connects to a listed host.
pub(crate) async fn connect(
    wanted: &Endpoint,
    hosts: &HostList,
    limit: Duration,
) -> Result<TcpStream, ConnectError> {
    if !hosts.allows(wanted) {
        return Err(ConnectError::Refused(Refusal::NotListed(wanted.clone())));
    }
    let attempt = async {
        let addresses = match &wanted.host {
            // An address that is listed itself is used, whatever kind it is.
            Host::Address(address) => vec![SocketAddr::new(*address, wanted.port)],
            Host::Name(name) => {
                let found = lookup_host((name.as_str(), wanted.port)).await;
                let found = found.map_err(|error| ConnectError::Unknown(wanted.clone(), error))?;
                let found: Vec<SocketAddr> = found.collect();
                usable(wanted, &found, hosts, is_own).map_err(ConnectError::Refused)?
            }
        };
        any(wanted, &addresses, limit / SHARE).await
    };
    let timed_out = |_| ConnectError::TimedOut(wanted.clone());
    timeout(limit, attempt).await.map_err(timed_out)?
}

/// The addresses of a name that may be connected to: public ones, and those that are listed themselves,
/// which the client may reach without the name anyway.
fn usable(
    wanted: &Endpoint,
    found: &[SocketAddr],
    hosts: &HostList,
    is_own: impl Fn(SocketAddr) -> bool,
) -> Result<Vec<SocketAddr>, Refusal> {
    let mut usable = Vec::new();
    let mut refused = None;
    for address in found {
        let wanted = wanted.clone();
        let ip: IpAddr = address.ip().to_canonical();
        let itself = Endpoint {
            host: Host::Address(ip),
            port: wanted.port,
        };
        if hosts.allows(&itself) {
            usable.push(*address);
        } else if let Some(special) = Special::of(ip) {
            refused = Some(Refusal::NotPublic {
                wanted,
                address: ip,
                special,
            });
        } else if is_own(*address) {
            let address = ip;
            refused = Some(Refusal::ThisMachine { wanted, address });
        } else {
            usable.push(*address);
        }
    }
    match refused {
        Some(refusal) if usable.is_empty() => Err(refusal),
        Some(_) | None => Ok(usable),
    }
}

/// Whether an address belongs to this machine. Only then does the system choose it as the source of a
/// connection to itself. Connecting a datagram socket sends nothing.
fn is_own(address: SocketAddr) -> bool {
    let any: SocketAddr = match address {
        SocketAddr::V4(_) => ([0, 0, 0, 0], 0).into(),
        SocketAddr::V6(_) => ([0_u16; 8], 0).into(),
    };
    let source = UdpSocket::bind(any).and_then(|socket| {
        socket.connect(address)?;
        socket.local_addr()
    });
    source.is_ok_and(|source| source.ip() == address.ip())
}

/// Connects to the first of the addresses that answers.
async fn any(
    wanted: &Endpoint,
    addresses: &[SocketAddr],
    limit: Duration,
) -> Result<TcpStream, ConnectError> {
    let mut last = ConnectError::TimedOut(wanted.clone());
    for address in addresses {
        match timeout(limit, TcpStream::connect(*address)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => last = ConnectError::Unreachable(wanted.clone(), error),
            Err(_) => {}
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name() -> Endpoint {
        Endpoint::parse("example.org:443", None).unwrap()
    }

    fn listed(rules: &str) -> HostList {
        rules.parse().unwrap()
    }

    fn addresses(texts: &[&str]) -> Vec<SocketAddr> {
        let address = |text: &&str| SocketAddr::new(text.parse().unwrap(), 443);
        texts.iter().map(address).collect()
    }

    #[test]
    fn of_the_addresses_of_a_name_only_public_ones_are_used() {
        let found = addresses(&["10.0.0.1", "8.8.8.8", "::1", "2606:4700::1111"]);
        let expected = addresses(&["8.8.8.8", "2606:4700::1111"]);
        let hosts = listed("example.org");
        assert_eq!(usable(&name(), &found, &hosts, |_| false), Ok(expected));
    }

    #[test]
    fn a_name_that_leads_to_private_addresses_is_refused() {
        for address in ["127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::a00:1", "fe80::1"] {
            let hosts = listed("example.org,127.0.0.1:80,10.0.0.1:80");
            let found = usable(&name(), &addresses(&[address]), &hosts, |_| false);
            assert!(
                matches!(found, Err(Refusal::NotPublic { .. })),
                "{address}: {found:?}"
            );
        }
        let own = addresses(&["8.8.8.8"]);
        let own = usable(&name(), &own, &listed("example.org"), |_| true).unwrap_err();
        assert!(matches!(own, Refusal::ThisMachine { .. }), "{own:?}");
        assert_eq!(own.rule().unwrap().to_string(), "8.8.8.8");
    }

    /// What the advice of a refusal says helps.
    #[test]
    fn a_name_is_followed_to_an_address_that_is_listed_itself() {
        for address in ["10.0.0.1", "8.8.8.8"] {
            let found = addresses(&[address]);
            let refusal = usable(&name(), &found, &listed("example.org"), |_| true).unwrap_err();
            let more = format!("example.org,{}", refusal.rule().unwrap());
            assert_eq!(usable(&name(), &found, &listed(&more), |_| true), Ok(found));
        }
    }

    #[test]
    fn the_machine_knows_its_own_addresses() {
        assert!(is_own("127.0.0.1:9".parse().unwrap()));
        assert!(!is_own("192.0.2.1:9".parse().unwrap()));
    }
}
