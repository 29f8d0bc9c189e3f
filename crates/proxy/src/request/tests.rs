use proptest::prelude::*;

use super::*;

fn request(text: &str) -> Result<Request, BadRequest> {
    parse(text.as_bytes()).map(|found| found.expect("it is complete").0)
}

/// The host, the head for the server, and the length of the body.
fn forwarded(text: &str) -> (String, String, u64) {
    match request(text) {
        Ok(Request::Forward { to, head, body }) => {
            (to.to_string(), String::from_utf8(head).unwrap(), body)
        }
        other => panic!("{text:?}: {other:?}"),
    }
}

#[test]
fn a_tunnel_needs_a_host_and_a_port() {
    for (line, expected) in [
        ("CONNECT example.org:443 HTTP/1.1", "example.org:443"),
        ("CONNECT EXAMPLE.org.:443 HTTP/1.0", "example.org:443"),
        ("connect [2001:db8::1]:443 HTTP/1.1", "[2001:db8::1]:443"),
    ] {
        // The header is not looked at.
        let found = request(&format!("{line}\r\nHost: other.org\r\n\r\n"));
        let to = Endpoint::parse(expected, None).unwrap();
        assert_eq!(found, Ok(Request::Tunnel { to }), "{line}");
    }
    for line in [
        "CONNECT example.org",
        "CONNECT example.org:",
        "CONNECT user@example.org:443",
        "CONNECT example.org:443/x",
        "CONNECT example.org@evil.org:443",
        "CONNECT http://example.org:443",
        "CONNECT :443",
        "CONNECT 127.1:80",
        "CONNECT exa%6dple.org:443",
    ] {
        let found = request(&format!("{line} HTTP/1.1\r\n\r\n"));
        assert!(
            matches!(found, Err(BadRequest::Address(_))),
            "{line}: {found:?}"
        );
    }
}

#[test]
fn the_head_is_written_anew_for_the_host_of_the_address() {
    let (to, head, body) = forwarded(
        "POST http://Example.ORG:8080/a?b HTTP/1.1\r\nHost: evil.org\r\nhost: worse.org\r\n\
         Proxy-Connection: keep-alive\r\nConnection: keep-alive, X-Hop\r\nX-Hop: 1\r\n\
         Proxy-Authorization: secret\r\nUpgrade: h2c\r\nContent-Length: 3\r\nAccept: */*\r\n\r\n",
    );
    assert_eq!(to, "example.org:8080");
    assert_eq!(body, 3);
    assert_eq!(
        head,
        "POST /a?b HTTP/1.1\r\nHost: example.org:8080\r\nConnection: close\r\n\
         Content-Length: 3\r\nAccept: */*\r\n\r\n"
    );
    for (address, line) in [
        ("http://example.org", "GET / HTTP/1.0"),
        ("HTTP://example.org?q", "GET /?q HTTP/1.0"),
        (
            "http://example.org/?a=http://b/@c",
            "GET /?a=http://b/@c HTTP/1.0",
        ),
    ] {
        let (to, head, _) = forwarded(&format!("GET {address} HTTP/1.0\r\n\r\n"));
        assert_eq!(to, "example.org:80");
        assert_eq!(
            head,
            format!("{line}\r\nHost: example.org\r\nConnection: close\r\n\r\n")
        );
    }
}

#[test]
fn an_address_that_two_parsers_could_read_differently_is_refused() {
    for address in [
        "/path",
        "*",
        "https://example.org/",
        "ftp://example.org/",
        "http:/example.org/",
        "http:///example.org/",
        "http://user@example.org/",
        "http://user:pass@example.org/",
        "http://example.org:80@evil.org/",
        "http://example.org\\@evil.org/",
        "http://example.org#@evil.org/",
        "http://example.org/#fragment",
        "http://example.org:80:81/",
        "http://exämple.org/",
        "http://example.org/\u{e9}",
        "http://0x7f.1/",
        "http://[::1/",
        "http://[::ffff:127.0.0.1%25lo]/",
    ] {
        let text = format!("GET {address} HTTP/1.1\r\nHost: example.org\r\n\r\n");
        assert!(request(&text).is_err(), "{address}");
    }
    for bytes in [
        &b"GET http://example.org/\0 HTTP/1.1\r\n\r\n"[..],
        b"GET http://exam\0ple.org/ HTTP/1.1\r\n\r\n",
        b"GET http://example.org/ x HTTP/1.1\r\n\r\n",
        b"GET http://example.org/ HTTP/1.1\r\nA\0: b\r\n\r\n",
        b"GET http://example.org/ HTTP/1.1\r\nA: b\0\r\n\r\n",
        b"GET http://example.org/ HTTP/1.1\r\nA: b\r\n folded\r\n\r\n",
        b"GET http://example.org/ HTTP/1.1\r\nA : b\r\n\r\n",
        b"GET http://example.org/ HTTP/1.1\r\nA: b\rC: d\r\n\r\n",
        b"GET http://example.org/ HTTP/2.0\r\n\r\n",
    ] {
        let found = parse(bytes);
        assert!(found.is_err(), "{}: {found:?}", bytes.escape_ascii());
    }
}

#[test]
fn a_body_has_one_clear_length() {
    for (headers, expected) in [
        ("Transfer-Encoding: chunked", BadRequest::NoLength),
        ("transfer-encoding: identity", BadRequest::NoLength),
        (
            "Content-Length: 3\r\nTransfer-Encoding: chunked",
            BadRequest::NoLength,
        ),
        ("Content-Length: 3\r\nContent-Length: 3", BadRequest::Length),
        ("Content-Length: 3\r\nContent-Length: 5", BadRequest::Length),
        ("Content-Length: 3, 3", BadRequest::Length),
        ("Content-Length: +3", BadRequest::Length),
        ("Content-Length: -1", BadRequest::Length),
        ("Content-Length: 0x3", BadRequest::Length),
        ("Content-Length:", BadRequest::Length),
        ("Content-Length: 99999999999999999999", BadRequest::Length),
    ] {
        let text = format!("POST http://example.org/ HTTP/1.1\r\n{headers}\r\n\r\n");
        assert_eq!(request(&text), Err(expected), "{headers}");
    }
    // Naming it as a header of the connection does not take it away.
    let (_, head, body) = forwarded(
        "POST http://example.org/ HTTP/1.1\r\nConnection: Content-Length\r\nContent-Length: 3\r\n\r\n",
    );
    assert_eq!(body, 3);
    assert!(head.contains("Content-Length: 3\r\n"), "{head}");
}

#[test]
fn more_is_awaited_until_the_head_is_complete() {
    let whole = b"CONNECT example.org:443 HTTP/1.1\r\nA: b\r\n\r\nrest";
    let end = whole.len() - 4;
    for length in 0..end {
        assert_eq!(parse(&whole[..length]), Ok(None), "{length}");
    }
    let (_, length) = parse(whole).unwrap().unwrap();
    assert_eq!(length, end);
}

proptest! {
    /// Whatever arrives, what goes on is one request for the host that was checked.
    #[test]
    fn a_forwarded_head_is_one_request_for_the_checked_host(
        method in "[A-Z]{3,7}",
        address in "http://[a-z.:@\\[\\]0-9]{1,12}[/?#\\\\]?[!-~]{0,12}",
        headers in prop::collection::vec(("[!-~]{1,12}", "[ -~\\r\\n\\t]{0,16}"), 0..5),
    ) {
        let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let text = format!("{method} {address} HTTP/1.1\r\n{headers}\r\n");
        if let Ok(Some((Request::Forward { to, head, .. }, _))) = parse(text.as_bytes()) {
            let mut headers = [EMPTY_HEADER; MOST_HEADERS];
            let mut parsed = httparse::Request::new(&mut headers);
            let status = parsed.parse(&head).unwrap();
            prop_assert_eq!(status, Status::Complete(head.len()));
            let all = |name: &str| parsed.headers.iter()
                .filter(|header| header.name.eq_ignore_ascii_case(name))
                .map(|header| String::from_utf8_lossy(header.value).into_owned())
                .collect::<Vec<_>>();
            prop_assert_eq!(all("connection"), ["close"]);
            let hosts = all("host");
            prop_assert_eq!(hosts.len(), 1);
            prop_assert_eq!(Endpoint::parse(&hosts[0], Some(HTTP)).unwrap(), to);
            prop_assert!(parsed.path.unwrap().starts_with('/'));
        }
    }

    /// No bytes make the parser panic.
    #[test]
    fn any_bytes_are_a_request_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse(&bytes);
    }
}
