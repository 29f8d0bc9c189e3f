//! Responses of the proxy itself.

use crate::Refusal;
use crate::connect::ConnectError;
use crate::request::BadRequest;

/// What a tunnel's client gets before the bytes of the server.
pub(crate) const ESTABLISHED: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";

/// The text of the status line. Some programs show nothing else of a response to `CONNECT`.
const fn refused(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::NotListed(_) => "403 Refused, the host is not in the list of allowed hosts",
        Refusal::NotPublic { .. } => "403 Refused, the name leads to an address that is not public",
        Refusal::ThisMachine { .. } => "403 Refused, the name leads to this machine",
    }
}

pub(crate) const fn bad_request(error: &BadRequest) -> &'static str {
    match error {
        BadRequest::Malformed(_)
        | BadRequest::Address(_)
        | BadRequest::NoAddress
        | BadRequest::Characters
        | BadRequest::Length => "400 Bad Request",
        BadRequest::NoLength => "411 Length Required",
        BadRequest::TooLong => "431 Request Header Fields Too Large",
    }
}

pub(crate) const fn no_connection(error: &ConnectError) -> &'static str {
    match error {
        ConnectError::Refused(refusal) => refused(refusal),
        ConnectError::Unknown(..) | ConnectError::Unreachable(..) => "502 Bad Gateway",
        ConnectError::TimedOut(_) => "504 Gateway Timeout",
    }
}

/// A whole response.
pub(crate) fn response(status: &str, text: &str) -> Vec<u8> {
    let length = text.len() + 1;
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{text}\n"
    )
    .into_bytes()
}
