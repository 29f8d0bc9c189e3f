//! Another process of the machine has the port while the server is down, and waits for pages that come back.

use super::browser::{LEFT_OUT, drive};
use super::client::send;
use super::{parts, serve, start};
use crate::harness::{LIMIT, Session, Workspace};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use test_support::try_wait_for;

/// Takes a port, keeps what it is sent, and answers as if it were the server.
struct Squatter {
    address: String,
    seen: Arc<Mutex<Vec<String>>>,
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Squatter {
    fn start(address: &str) -> Self {
        let listener = try_wait_for(LIMIT, || TcpListener::bind(address).ok()).unwrap();
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let is_over = Arc::new(AtomicBool::new(false));
        let (kept, over) = (Arc::clone(&seen), Arc::clone(&is_over));
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if over.load(Ordering::SeqCst) {
                    return;
                }
                if let Some(request) = answer(stream) {
                    kept.lock().unwrap().push(request);
                }
            }
        });
        Self {
            address: address.to_owned(),
            seen,
            is_over,
            thread,
        }
    }

    /// Leaves the port, and returns the requests that it was sent.
    fn end(self) -> Vec<String> {
        self.is_over.store(true, Ordering::SeqCst);
        drop(TcpStream::connect(&self.address));
        self.thread.join().unwrap();
        let seen = self.seen.lock().unwrap();
        seen.clone()
    }
}

/// Reads a request, and answers it as well as one can without the key.
fn answer(mut stream: TcpStream) -> Option<String> {
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    let (mut bytes, mut piece) = (Vec::new(), [0; 4096]);
    let request = loop {
        let text = String::from_utf8_lossy(&bytes);
        let head = text.split_once("\r\n\r\n");
        if let Some((head, body)) = head {
            let length = head.to_lowercase();
            let length = length.split_once("content-length: ");
            let length = length.and_then(|(_, rest)| rest.lines().next()?.parse::<usize>().ok());
            if body.len() >= length.unwrap_or(0) {
                break text.into_owned();
            }
        }
        match stream.read(&mut piece) {
            Ok(count @ 1..) => bytes.extend_from_slice(piece.get(..count)?),
            Ok(0) | Err(_) => return None,
        }
    };
    let is_stream = request.starts_with("GET /api/stream");
    let (kind, body) = match is_stream {
        true => (
            "text/event-stream",
            "event: all\ndata: {\"team\":{\"name\":\"EVIL\",\"folder\":\"\",\"tasks\":{}},\"events\":[]}\n\n",
        ),
        false => ("application/json", "{}"),
    };
    let (run, proof) = ("1".repeat(64), "2".repeat(64));
    let _ = write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\
         X-Team-Lead-Proof: {run} {proof}\r\n\r\n{body}",
        body.len()
    );
    Some(request)
}

/// What there is of a header in a request.
fn header<'a>(request: &'a str, name: &str) -> Option<&'a str> {
    let lines = request.lines().filter_map(|line| line.split_once(": "));
    let mut found = lines.filter(|(found, _)| found.eq_ignore_ascii_case(name));
    found.next().map(|(_, value)| value)
}

/// The requests that the squatter was sent open nothing at the server that has come back.
fn replay(address: &str, requests: &[String]) {
    assert!(!requests.is_empty(), "the page has not tried to come back");
    let with_key = |request: &&String| header(request, "x-team-lead-key").is_some();
    assert!(
        requests.iter().any(|request| with_key(&request)),
        "{requests:?}"
    );
    for request in requests {
        assert!(header(request, "cookie").is_some(), "{request}");
        for path in ["GET /api/stream", "GET /api/sessions", "GET /api/diff"] {
            let rest = request.split_once(" HTTP/1.1\r\n").unwrap().1;
            let head = rest.split_once("\r\n\r\n").unwrap().0;
            let lines = head.lines().filter(|line| {
                let name = line.split(':').next().unwrap_or_default().to_lowercase();
                !matches!(name.as_str(), "connection" | "content-length")
            });
            let lines: Vec<&str> = lines.collect();
            let again = format!(
                "{path} HTTP/1.1\r\nConnection: close\r\n{}\r\n\r\n",
                lines.join("\r\n")
            );
            let reply = send(address, &again);
            assert_eq!(reply.status, 401, "{again}\n{reply:?}");
        }
    }
}

#[test]
fn whoever_has_the_port_meanwhile_is_not_believed_and_learns_nothing_of_use() {
    let workspace = Workspace::with_members(&["alice"]);
    let served = serve(&workspace, &[]);
    let address = served.client.address.clone();
    let link = workspace.json(&["web", "--link"]);
    let mut server: Option<Session> = Some(served.session);
    let mut squatter: Option<Squatter> = None;
    let port = parts(&served.url).0.rsplit_once(':').unwrap().1.to_owned();
    let driven = drive(
        "squat.mjs",
        link["url"].as_str().unwrap(),
        |line| match line {
            "somebody takes the port" => {
                let mut killed = server.take().unwrap();
                killed.kill9();
                squatter = Some(Squatter::start(&address));
            }
            "the server comes back" => {
                let requests = squatter.take().unwrap().end();
                server = Some(start(&workspace, &["--port", &port]).0);
                replay(&address, &requests);
            }
            other => panic!("the script says {other:?}"),
        },
    );
    if driven.is_none() {
        eprintln!("{LEFT_OUT}");
    }
    drop(server);
}
