//! Parses the head of a request, and writes the head that goes to the server. Pure.

use std::fmt::Write;

use httparse::{EMPTY_HEADER, Header, Status};
use protocol::{Endpoint, HostError};

const MOST_HEADERS: usize = 100;
/// The port of `http://`.
const HTTP: u16 = 80;
const SCHEME: &str = "http://";

/// Headers that are for the proxy alone, or that would keep the connection.
const DROPPED: [&str; 9] = [
    "connection",
    "host",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "upgrade",
];

/// What a client wants.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// Bytes are copied both ways.
    Tunnel { to: Endpoint },
    /// One request is passed on.
    Forward {
        to: Endpoint,
        /// The head for the server.
        head: Vec<u8>,
        /// How many bytes follow it.
        body: u64,
    },
}

/// Why a request is not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadRequest {
    #[error("the request is malformed: {0}")]
    Malformed(#[from] httparse::Error),
    #[error("the address {0}")]
    Address(#[from] HostError),
    #[error(
        "this is a proxy: a request names its whole address (http://HOST/PATH) or is CONNECT HOST:PORT"
    )]
    NoAddress,
    #[error("the address has characters that no address has")]
    Characters,
    #[error("the length of the body is not clear")]
    Length,
    #[error("the length of the body is not given: send Content-Length, not Transfer-Encoding")]
    NoLength,
    #[error("the head of the request is too long")]
    TooLong,
}

/// The request at the start of `bytes` and the length of its head, or `None` if there is more to
/// come.
pub(crate) fn parse(bytes: &[u8]) -> Result<Option<(Request, usize)>, BadRequest> {
    let mut headers = [EMPTY_HEADER; MOST_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    let length = match parsed.parse(bytes)? {
        Status::Complete(length) => length,
        Status::Partial => return Ok(None),
    };
    let method = parsed.method.unwrap_or_default();
    let address = parsed.path.unwrap_or_default();
    // The parser accepts more bytes than this, and servers differ in how they read them.
    if !address.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(BadRequest::Characters);
    }
    if method.eq_ignore_ascii_case("CONNECT") {
        let to = Endpoint::parse(address, None)?;
        return Ok(Some((Request::Tunnel { to }, length)));
    }
    let (to, path) = split(address)?;
    let body = body(parsed.headers)?;
    let version = parsed.version.unwrap_or(0);
    let head = head(method, &to, &path, version, parsed.headers);
    Ok(Some((Request::Forward { to, head, body }, length)))
}

/// Separates host and port of an address from its path. The host is all up to the path: a user, a
/// backslash or a fragment in it is an error and never skipped.
fn split(address: &str) -> Result<(Endpoint, String), BadRequest> {
    let (scheme, rest) = address
        .split_at_checked(SCHEME.len())
        .ok_or(BadRequest::NoAddress)?;
    if !scheme.eq_ignore_ascii_case(SCHEME) {
        return Err(BadRequest::NoAddress);
    }
    if rest.contains('#') {
        return Err(BadRequest::Characters);
    }
    let (host, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let to = Endpoint::parse(host, Some(HTTP))?;
    let slash = if path.starts_with('/') { "" } else { "/" };
    Ok((to, format!("{slash}{path}")))
}

/// The length of the body. Two lengths are an error, because the proxy and the server could each use
/// another one.
fn body(headers: &[Header<'_>]) -> Result<u64, BadRequest> {
    let named = |name: &'static str| {
        let is_named = move |header: &&Header<'_>| header.name.eq_ignore_ascii_case(name);
        headers.iter().filter(is_named)
    };
    if named("transfer-encoding").next().is_some() {
        return Err(BadRequest::NoLength);
    }
    let mut lengths = named("content-length");
    let Some(length) = lengths.next() else {
        return Ok(0);
    };
    let digits = std::str::from_utf8(length.value).ok();
    let digits = digits.filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    let length = digits.and_then(|digits| digits.parse().ok());
    match (length, lengths.next()) {
        (Some(length), None) => Ok(length),
        (_, _) => Err(BadRequest::Length),
    }
}

/// The head for the server: the host is that of the address, whatever the client's header says.
fn head(method: &str, to: &Endpoint, path: &str, version: u8, headers: &[Header<'_>]) -> Vec<u8> {
    let mut start = format!("{method} {path} HTTP/1.{version}\r\nHost: {}", to.host);
    if to.port != HTTP {
        // Writing to a text cannot fail.
        let _ = write!(start, ":{}", to.port);
    }
    start.push_str("\r\nConnection: close\r\n");
    let mut head = start.into_bytes();
    let named = named_by_connection(headers);
    for header in headers {
        let name = header.name.to_ascii_lowercase();
        if DROPPED.contains(&name.as_str()) || named.contains(&name) {
            continue;
        }
        head.extend_from_slice(header.name.as_bytes());
        head.extend_from_slice(b": ");
        head.extend_from_slice(header.value);
        head.extend_from_slice(b"\r\n");
    }
    head.extend_from_slice(b"\r\n");
    head
}

/// The headers that the client names as meant for this connection only. The length of the body is always
/// passed on.
fn named_by_connection(headers: &[Header<'_>]) -> Vec<String> {
    let is_connection = |header: &&Header<'_>| header.name.eq_ignore_ascii_case("connection");
    let values = headers.iter().filter(is_connection);
    let texts = values.filter_map(|header| std::str::from_utf8(header.value).ok());
    let names = texts.flat_map(|text| text.split(','));
    let names = names.map(|name| name.trim().to_ascii_lowercase());
    names.filter(|name| name != "content-length").collect()
}

#[cfg(test)]
mod tests;
