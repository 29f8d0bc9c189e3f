//! Which requests are looked at: the same rules for every path and every method.
//!
//! A page of another site can make a browser send requests here. Its name leads here by DNS rebinding at best,
//! which the list of hosts refuses; its origin is another, which is refused; and it has neither the cookie nor
//! the key of a session. Headers that would let it read a reply are never sent.

use axum::http::header::{CONTENT_TYPE, COOKIE, HOST, ORIGIN};
use axum::http::{HeaderMap, Method, StatusCode};
use std::net::{IpAddr, SocketAddr};

/// The header with the page key of a session.
pub(crate) const KEY: &str = "x-team-lead-key";
/// The header with the number that a request is given once.
const NONCE: &str = "x-team-lead-nonce";
/// What a browser says of where a request comes from.
const FETCH_SITE: &str = "sec-fetch-site";

/// The names by which this server is called.
#[derive(Debug, Clone)]
pub(crate) struct Hosts {
    address: SocketAddr,
}

/// Why a request is refused before anything looks at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("this server has another name")]
    Host,
    #[error("requests of other sites are refused")]
    Origin,
    #[error("the body must be JSON")]
    ContentType,
    #[error("the method is not known here")]
    Method,
}

impl Refusal {
    pub(crate) const fn status(self) -> StatusCode {
        match self {
            Self::Host => StatusCode::MISDIRECTED_REQUEST,
            Self::Origin => StatusCode::FORBIDDEN,
            Self::ContentType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
        }
    }
}

impl Hosts {
    pub(crate) const fn new(address: SocketAddr) -> Self {
        Self { address }
    }

    /// Whether a `Host` header means this server.
    ///
    /// Besides `localhost` only addresses do: a name of somebody else can be made to lead here, an address
    /// cannot.
    fn means_us(&self, host: &str) -> bool {
        let port = self.address.port();
        let ip = self.address.ip();
        let local = format!("localhost:{port}");
        if ip.is_loopback() && host.eq_ignore_ascii_case(&local) {
            return true;
        }
        let Ok(named) = host.parse::<SocketAddr>() else {
            return false;
        };
        let is_ours = |named: IpAddr| ip.is_unspecified() || named == ip;
        named.port() == port && is_ours(named.ip())
    }

    /// Checks what holds for every request.
    pub(crate) fn check(
        &self,
        method: &Method,
        headers: &HeaderMap,
        is_api: bool,
    ) -> Result<(), Refusal> {
        let host = only(headers, HOST.as_str()).flatten();
        let host = host.filter(|host| self.means_us(host));
        let host = host.ok_or(Refusal::Host)?;
        let origin = only(headers, ORIGIN.as_str()).ok_or(Refusal::Origin)?;
        let ours = format!("http://{host}");
        if origin.is_some_and(|origin| !origin.eq_ignore_ascii_case(&ours)) {
            return Err(Refusal::Origin);
        }
        let site = only(headers, FETCH_SITE).ok_or(Refusal::Origin)?;
        let is_own = site.is_none_or(|site| matches!(site, "same-origin" | "none"));
        if is_api && !is_own {
            return Err(Refusal::Origin);
        }
        match *method {
            Method::GET | Method::HEAD => Ok(()),
            Method::POST if is_json(headers) => Ok(()),
            Method::POST => Err(Refusal::ContentType),
            _ => Err(Refusal::Method),
        }
    }
}

/// The value of a header that may be there once: `None` if it is there twice or is no text, `Some(None)` if it
/// is not there.
fn only<'a>(headers: &'a HeaderMap, name: &str) -> Option<Option<&'a str>> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Some(None),
        (Some(value), None) => value.to_str().ok().map(Some),
        (Some(_), Some(_)) => None,
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let value = only(headers, CONTENT_TYPE.as_str()).flatten();
    let kind = value.map(|value| value.split(';').next().unwrap_or_default().trim());
    kind.is_some_and(|kind| kind.eq_ignore_ascii_case("application/json"))
}

/// The name of the cookie. Browsers keep the cookies of all ports of a host together.
pub(crate) fn cookie_name(port: u16) -> String {
    format!("team_lead_{port}")
}

/// The cookie of a request.
pub(crate) fn cookie(headers: &HeaderMap, port: u16) -> Option<&str> {
    let name = cookie_name(port);
    let cookies = headers.get_all(COOKIE).iter();
    let cookies = cookies.filter_map(|value| value.to_str().ok());
    let mut pairs = cookies
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(found, _)| *found == name).map(|pair| pair.1)
}

/// The cookie and the page key of a request.
pub(crate) fn credentials(headers: &HeaderMap, port: u16) -> Option<(&str, &str)> {
    Some((cookie(headers, port)?, only(headers, KEY).flatten()?))
}

/// The cookie and the number of a request whose reply needs a proof.
pub(crate) fn challenge(headers: &HeaderMap, port: u16) -> Option<(&str, &str)> {
    Some((cookie(headers, port)?, only(headers, NONCE).flatten()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(address: &str) -> Hosts {
        Hosts::new(address.parse().unwrap())
    }

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn only_our_own_names_are_hosts() {
        let local = hosts("127.0.0.1:4000");
        for host in ["127.0.0.1:4000", "localhost:4000", "LOCALHOST:4000"] {
            assert!(local.means_us(host), "{host}");
        }
        for host in [
            "evil.example:4000",
            "127.0.0.1",
            "localhost",
            "127.0.0.1:4001",
            "localhost:4000.evil.example",
            "evil.localhost:4000",
            "[::1]:4000",
            "192.168.0.2:4000",
            "",
        ] {
            assert!(!local.means_us(host), "{host}");
        }
        let open = hosts("0.0.0.0:4000");
        assert!(open.means_us("192.168.0.2:4000"));
        for host in ["localhost:4000", "laptop:4000", "192.168.0.2:80"] {
            assert!(!open.means_us(host), "{host}");
        }
    }

    #[test]
    fn a_request_of_another_site_is_refused_whatever_its_method() {
        let hosts = hosts("127.0.0.1:4000");
        let json = ("content-type", "application/json");
        let host = ("host", "127.0.0.1:4000");
        let check = |method: &Method, pairs: &[(&'static str, &str)]| {
            hosts.check(method, &headers(pairs), true)
        };
        for method in [Method::GET, Method::POST] {
            let ours = [host, json, ("origin", "http://127.0.0.1:4000")];
            assert_eq!(check(&method, &ours), Ok(()));
            assert_eq!(check(&method, &[host, json]), Ok(()));
            for origin in ["http://evil.example", "null", "http://127.0.0.1:4001", ""] {
                let foreign = [host, json, ("origin", origin)];
                assert_eq!(check(&method, &foreign), Err(Refusal::Origin), "{origin}");
            }
            for site in ["cross-site", "same-site", "what"] {
                let foreign = [host, json, (FETCH_SITE, site)];
                assert_eq!(check(&method, &foreign), Err(Refusal::Origin), "{site}");
            }
            let rebound = [("host", "evil.example:4000"), json];
            assert_eq!(check(&method, &rebound), Err(Refusal::Host));
            assert_eq!(check(&method, &[host, host, json]), Err(Refusal::Host));
            assert_eq!(check(&method, &[json]), Err(Refusal::Host));
        }
        for kind in ["text/plain", "application/x-www-form-urlencoded", ""] {
            let form = [host, ("content-type", kind)];
            assert_eq!(check(&Method::POST, &form), Err(Refusal::ContentType));
        }
        for method in [Method::OPTIONS, Method::PUT, Method::DELETE, Method::TRACE] {
            assert_eq!(check(&method, &[host, json]), Err(Refusal::Method));
        }
    }

    #[test]
    fn a_session_needs_its_cookie_and_its_key() {
        let cookie = ("cookie", "other=1; team_lead_4000=abc; x=y");
        let both = headers(&[cookie, (KEY, "def")]);
        let found = credentials(&both, 4000);
        assert_eq!(found, Some(("abc", "def")));
        assert_eq!(credentials(&both, 4001), None);
        assert_eq!(credentials(&headers(&[cookie]), 4000), None);
        assert_eq!(credentials(&headers(&[(KEY, "def")]), 4000), None);
    }
}
