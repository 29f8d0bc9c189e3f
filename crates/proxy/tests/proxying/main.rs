//! Clients, the proxy and servers on real sockets.

mod clients;
mod servers;

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use proxy::{Limits, Policy, Proxy, Refusal};
use servers::{Server, echo, http};

/// Longer than anything here takes, even on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// A proxy for the given rules, and its address.
fn proxy_with(rules: &str, limits: Limits) -> (Proxy, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("it works");
    let address = listener.local_addr().expect("it works");
    let advice = |refusal: &Refusal| match refusal.rule() {
        Some(rule) => format!("type {rule}"),
        None => "nothing to type".to_owned(),
    };
    let mut policy = Policy::new(rules.parse().expect("it works"), advice);
    policy.limits = limits;
    (proxy::start(listener, policy).expect("it works"), address)
}

fn proxy(rules: &str) -> (Proxy, SocketAddr) {
    proxy_with(rules, Limits::default())
}

fn connect(proxy: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(proxy).expect("it works");
    stream.set_read_timeout(Some(PATIENCE)).expect("it works");
    stream
}

/// Sends a request and reads everything up to the end of the connection.
fn ask(proxy: SocketAddr, request: &str) -> String {
    let mut stream = connect(proxy);
    stream.write_all(request.as_bytes()).expect("it works");
    rest(&mut stream)
}

fn rest(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).expect("it works");
    String::from_utf8(bytes).expect("it works")
}

/// Opens a tunnel.
fn tunnel(proxy: SocketAddr, to: &Server) -> TcpStream {
    let mut stream = connect(proxy);
    let request = format!("CONNECT {} HTTP/1.1\r\n\r\n", to.address());
    stream.write_all(request.as_bytes()).expect("it works");
    let expected = "HTTP/1.1 200 Connection established\r\n\r\n";
    let mut head = vec![0; expected.len()];
    stream.read_exact(&mut head).expect("it works");
    assert_eq!(String::from_utf8(head).expect("it works"), expected);
    stream
}

/// Whether a read finds the end of a connection, or a reset.
fn is_closed(stream: &mut TcpStream) -> bool {
    match stream.read(&mut [0]) {
        Ok(count) => count == 0,
        Err(error) => {
            let kind = error.kind();
            assert_ne!(kind, std::io::ErrorKind::WouldBlock, "still open");
            true
        }
    }
}

#[test]
fn a_request_reaches_a_listed_server_as_it_was_checked() {
    let server = http();
    let address = server.address();
    let (proxy, at) = proxy(&address.to_string());
    let request = format!(
        "POST http://{address}/path?query HTTP/1.1\r\nHost: other.org\r\nContent-Length: 4\r\n\r\nbody"
    );
    let response = ask(at, &request);
    assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
    // The server answers with what it got.
    let expected = format!("POST /path?query HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n");
    assert!(response.contains(&expected), "{response}");
    assert!(response.ends_with("body"), "{response}");
    assert!(!response.contains("other.org"), "{response}");
    assert_eq!(proxy.refused(), []);
}

#[test]
fn a_tunnel_carries_bytes_both_ways_and_each_end() {
    let server = echo();
    let (_proxy, at) = proxy(&server.address().to_string());
    let mut stream = tunnel(at, &server);
    let sent: Vec<u8> = (0..=u8::MAX).cycle().take(3 << 20).collect();
    let mut writing = stream.try_clone().expect("it works");
    let to_send = sent.clone();
    let writer = std::thread::spawn(move || {
        writing.write_all(&to_send).expect("it works");
        writing.shutdown(Shutdown::Write).expect("it works");
    });
    let mut received = Vec::new();
    stream.read_to_end(&mut received).expect("it works");
    writer.join().expect("it works");
    assert!(received == sent, "{} bytes came back", received.len());
}

/// What a client sends together with the request for a tunnel belongs to the server.
#[test]
fn bytes_right_behind_the_head_are_not_lost() {
    let server = echo();
    let (_proxy, at) = proxy(&server.address().to_string());
    let mut stream = connect(at);
    let request = format!("CONNECT {} HTTP/1.1\r\n\r\nearly", server.address());
    stream.write_all(request.as_bytes()).expect("it works");
    stream.shutdown(Shutdown::Write).expect("it works");
    assert!(rest(&mut stream).ends_with("\r\n\r\nearly"));
}

#[test]
fn what_is_not_listed_is_refused_with_its_reason_and_what_to_type() {
    let listed = http();
    let other = http();
    let (proxy, at) = proxy(&format!("{},*.example.org", listed.address()));
    for (request, wanted, rule) in [
        ("CONNECT evil.net:443", "evil.net:443", "evil.net"),
        ("GET http://evil.net/", "evil.net:80", "evil.net"),
        ("CONNECT example.org:443", "example.org:443", "example.org"),
        (
            "CONNECT a.example.org:22",
            "a.example.org:22",
            "a.example.org:22",
        ),
        (
            &format!("CONNECT {}", other.address()),
            &other.address().to_string(),
            &other.address().to_string(),
        ),
    ] {
        let response = ask(at, &format!("{request} HTTP/1.1\r\n\r\n"));
        assert!(
            response.starts_with("HTTP/1.1 403 Refused, the host is not in"),
            "{response}"
        );
        let expected = format!("{wanted} is not in the list of allowed hosts\ntype {rule}\n");
        assert!(response.ends_with(&expected), "{response}");
    }
    // Spellings of the machine itself.
    for host in [
        "localhost",
        "127.1",
        "0x7f000001",
        "2130706433",
        "[::ffff:127.0.0.1]",
        "0.0.0.0",
    ] {
        let port = listed.address().port() + 1;
        let response = ask(at, &format!("CONNECT {host}:{port} HTTP/1.1\r\n\r\n"));
        assert!(
            response.starts_with("HTTP/1.1 403") || response.starts_with("HTTP/1.1 400"),
            "{host}: {response}"
        );
    }
    assert_eq!(other.connections(), 0);
    let first = &proxy.refused()[0];
    assert_eq!(first.wanted().to_string(), "evil.net:443");
}

/// The name of the machine leads to the machine itself nearly everywhere.
#[test]
fn a_listed_name_is_not_followed_to_this_machine() {
    let server = http();
    let port = server.address().port();
    let name = nix::unistd::gethostname()
        .expect("it works")
        .into_string()
        .expect("it works");
    let rule = format!("{name}:{port}");
    let found = std::net::ToSocketAddrs::to_socket_addrs(&(name.as_str(), port));
    if found.is_err() || rule.parse::<protocol::HostRule>().is_err() {
        note("not run: the machine's name cannot be resolved or listed");
        return;
    }
    let (proxy, at) = proxy(&rule);
    let response = ask(at, &format!("GET http://{name}:{port}/ HTTP/1.1\r\n\r\n"));
    assert!(
        response.starts_with("HTTP/1.1 403 Refused, the name leads to"),
        "{response}"
    );
    assert_eq!(server.connections(), 0);
    let refused = proxy.refused();
    assert!(
        matches!(
            refused[0],
            Refusal::NotPublic { .. } | Refusal::ThisMachine { .. }
        ),
        "{refused:?}"
    );
}

#[test]
fn a_request_that_could_be_two_reaches_no_server() {
    let server = http();
    let address = server.address();
    let (_proxy, at) = proxy(&address.to_string());
    let second = format!("GET http://{address}/second HTTP/1.1\r\n\r\n");
    for (headers, body, status) in [
        ("", second.as_str(), "400"),
        (
            "Content-Length: 3\r\n",
            "abcGET /second HTTP/1.1\r\n\r\n",
            "400",
        ),
        ("Content-Length: 3\r\nContent-Length: 0\r\n", "abc", "400"),
        ("Transfer-Encoding: chunked\r\n", "0\r\n\r\n", "411"),
        (
            "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
            "0\r\n\r\n",
            "411",
        ),
    ] {
        let request = format!("POST http://{address}/first HTTP/1.1\r\n{headers}\r\n{body}");
        let response = ask(at, &request);
        assert!(
            response.starts_with(&format!("HTTP/1.1 {status} ")),
            "{headers}: {response}"
        );
    }
    assert_eq!(server.requests(), 0);
}

/// A server that keeps the connection open does not get a second request over it.
#[test]
fn nothing_behind_the_body_reaches_the_server() {
    let server = servers::keeps_open();
    let address = server.address();
    let (_proxy, at) = proxy(&address.to_string());
    let mut stream = connect(at);
    let request = format!("GET http://{address}/first HTTP/1.1\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("it works");
    let mut start = [0; 12];
    stream.read_exact(&mut start).expect("it works");
    assert_eq!(&start, b"HTTP/1.1 200");
    let second = "GET /second HTTP/1.1\r\nHost: inner.example\r\n\r\n";
    stream.write_all(second.as_bytes()).expect("it works");
    while !is_closed(&mut stream) {}
    let got = server.received();
    assert!(got.contains("/first") && !got.contains("/second"), "{got}");
}

#[test]
fn a_head_that_is_too_long_or_none_is_refused() {
    let limits = Limits {
        head_bytes: 1000,
        ..Limits::default()
    };
    let (_proxy, at) = proxy_with("example.org", limits);
    let long = format!(
        "GET http://example.org/ HTTP/1.1\r\nA: {}",
        "a".repeat(5000)
    );
    assert!(ask(at, &long).starts_with("HTTP/1.1 431 "));
    let many = format!(
        "GET http://example.org/ HTTP/1.1\r\n{}",
        "A: b\r\n".repeat(120)
    );
    assert!(ask(at, &many).starts_with("HTTP/1.1 4"));
    assert!(ask(at, "\u{16}\u{3}\u{1}").starts_with("HTTP/1.1 400 "));
    assert!(ask(at, "GET / HTTP/1.1\r\nHost: example.org\r\n\r\n").starts_with("HTTP/1.1 400 "));
}

#[test]
fn a_head_that_does_not_come_is_not_awaited_for_ever() {
    let limits = Limits {
        head: Duration::from_millis(200),
        ..Limits::default()
    };
    let (_proxy, at) = proxy_with("example.org", limits);
    assert!(ask(at, "GET http://example.org/ HTTP/1.1\r\n").starts_with("HTTP/1.1 408 "));
}

#[test]
fn a_connection_on_which_nothing_moves_ends() {
    let server = echo();
    let limits = Limits {
        idle: Duration::from_millis(200),
        ..Limits::default()
    };
    let (_proxy, at) = proxy_with(&server.address().to_string(), limits);
    let start = Instant::now();
    let mut stream = tunnel(at, &server);
    assert!(is_closed(&mut stream));
    assert!(start.elapsed() >= limits.idle);
}

#[test]
fn a_server_that_does_not_listen_is_a_bad_gateway() {
    let free = TcpListener::bind("127.0.0.1:0").expect("it works");
    let address = free.local_addr().expect("it works");
    drop(free);
    let (proxy, at) = proxy(&address.to_string());
    let response = ask(at, &format!("CONNECT {address} HTTP/1.1\r\n\r\n"));
    assert!(response.starts_with("HTTP/1.1 502 "), "{response}");
    assert!(response.contains("cannot be reached"), "{response}");
    assert_eq!(proxy.refused(), []);
}

/// A client that holds all connections delays the next one, and nothing is lost.
#[test]
fn connections_are_bounded_and_further_ones_wait() {
    let server = echo();
    let limits = Limits {
        connections: 2,
        ..Limits::default()
    };
    let (_proxy, at) = proxy_with(&server.address().to_string(), limits);
    let first = tunnel(at, &server);
    let _second = tunnel(at, &server);
    let mut third = connect(at);
    let request = format!("CONNECT {} HTTP/1.1\r\n\r\n", server.address());
    third.write_all(request.as_bytes()).expect("it works");
    let not_now = Duration::from_millis(300);
    third.set_read_timeout(Some(not_now)).expect("it works");
    let mut start = [0; 12];
    let error = third.read_exact(&mut start).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
    drop(first);
    third.set_read_timeout(Some(PATIENCE)).expect("it works");
    third.read_exact(&mut start).expect("it works");
    assert_eq!(&start, b"HTTP/1.1 200");
}

#[test]
fn dropping_the_proxy_ends_its_connections() {
    let server = echo();
    let (proxy, at) = proxy(&server.address().to_string());
    let mut stream = tunnel(at, &server);
    drop(proxy);
    assert!(is_closed(&mut stream));
    assert!(TcpStream::connect(at).is_err());
}

fn note(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
