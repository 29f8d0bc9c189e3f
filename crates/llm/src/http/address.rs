//! Addresses and keys as a request needs them.

use std::net::IpAddr;

use reqwest::Url;
use reqwest::header::{HeaderName, HeaderValue};

use crate::secret::Secret;

/// Why a client cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClientError {
    /// The address cannot be used. It is not repeated, since it may hold what
    /// should not be seen.
    #[error("{variable} is not an address that can be used: {reason}")]
    Address {
        /// The variable that has the address.
        variable: &'static str,
        reason: String,
    },
    /// The key has characters that cannot be sent.
    #[error("{variable} has characters that cannot be sent; copy the key again")]
    Key {
        /// The variable that has the key.
        variable: &'static str,
    },
    /// A setting has characters that cannot be sent.
    #[error("the setting {name} has characters that cannot be sent")]
    Setting {
        /// The name of the setting.
        name: &'static str,
    },
    #[error("the HTTP client cannot be made: {0}")]
    Http(String),
}

/// Reads the address of a server, without the slash at its end.
pub(crate) fn parse_address(base: &str, variable: &'static str) -> Result<Url, ClientError> {
    let wrong = |reason: &str| ClientError::Address {
        variable,
        reason: reason.to_owned(),
    };
    let base = base.trim().trim_end_matches('/');
    let url = Url::parse(base).map_err(|error| wrong(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong("it must start with http:// or https://"));
    }
    let has_login = !url.username().is_empty() || url.password().is_some();
    if has_login || url.query().is_some() || url.fragment().is_some() {
        return Err(wrong("it must have no user, password, query or fragment"));
    }
    Ok(url)
}

/// The address with more path at its end.
pub(crate) fn join(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    let joined = format!("{}{path}", base.path().trim_end_matches('/'));
    url.set_path(&joined);
    url
}

/// A header that holds a key.
pub(crate) fn secret_header(
    text: &str,
    variable: &'static str,
) -> Result<HeaderValue, ClientError> {
    let mut value = HeaderValue::from_str(text).map_err(|_| ClientError::Key { variable })?;
    value.set_sensitive(true);
    Ok(value)
}

/// The header of a key as most servers want it.
pub(crate) fn bearer(
    key: &Secret,
    variable: &'static str,
) -> Result<(HeaderName, HeaderValue), ClientError> {
    let value = secret_header(&format!("Bearer {}", key.expose()), variable)?;
    Ok((reqwest::header::AUTHORIZATION, value))
}

/// Whether the address is on this machine, where no proxy belongs between.
pub(super) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or("");
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || address
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}
