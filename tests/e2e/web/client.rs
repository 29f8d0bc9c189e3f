//! A client that sends exactly what a test says.

use super::parts;
use crate::harness::LIMIT;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

/// A browser with a session, without the rules that browsers keep.
#[derive(Clone)]
pub(super) struct Client {
    pub(super) address: String,
    pub(super) cookie: String,
    /// The key of the session, which is never sent.
    pub(super) key: String,
    /// What is sent instead, to one run of the server.
    pub(super) page_key: String,
}

/// A reply.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) body: String,
}

impl Reply {
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        let mut found = lines.filter(|(found, _)| found.eq_ignore_ascii_case(name));
        found.next().map(|(_, value)| value)
    }
}

/// Sends bytes and reads the reply up to its end.
pub(super) fn send(address: &str, request: &str) -> Reply {
    let mut stream = connect(address);
    // A server that refuses may not read everything.
    let _ = stream.write_all(request.as_bytes());
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    reply(&String::from_utf8_lossy(&bytes))
}

pub(super) fn connect(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream
}

fn reply(text: &str) -> Reply {
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
    Reply {
        status: status.unwrap_or(0),
        head: head.to_owned(),
        body: body.to_owned(),
    }
}

impl Client {
    /// Exchanges the token of a link for a session, as the page does.
    #[track_caller]
    pub(super) fn login(url: &str) -> Self {
        let (address, token) = parts(url);
        let reply = login_with(address, token);
        assert_eq!(reply.status, 200, "{reply:?}");
        let cookie = reply.header("set-cookie").unwrap();
        assert!(cookie.contains("; HttpOnly; SameSite=Strict;"), "{cookie}");
        let given = reply.json();
        let key = given["key"].as_str().unwrap();
        Self {
            address: address.to_owned(),
            cookie: cookie.split(';').next().unwrap().to_owned(),
            key: key.to_owned(),
            page_key: web::page_key(key, given["run"].as_str().unwrap()),
        }
    }

    /// Speaks to another run of the server, as the page does: the reply to a request with a number names the run.
    #[track_caller]
    pub(super) fn meet(&mut self) {
        let Self {
            address, cookie, ..
        } = self;
        let request = format!(
            "GET /api/hello HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nCookie: {cookie}\r\n\
             X-Team-Lead-Nonce: 0123456789abcdef\r\n\r\n"
        );
        let reply = send(address, &request);
        let proof = reply.header("x-team-lead-proof").unwrap();
        let (run, _) = proof.split_once(' ').unwrap();
        self.page_key = web::page_key(&self.key, run);
    }

    /// The headers of a session.
    pub(super) fn headers(&self) -> String {
        format!(
            "Cookie: {}\r\nX-Team-Lead-Key: {}\r\n",
            self.cookie, self.page_key
        )
    }

    pub(super) fn get(&self, path: &str) -> Reply {
        let (address, headers) = (&self.address, self.headers());
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{headers}\r\n");
        send(address, &request)
    }

    pub(super) fn post(&self, path: &str, body: &Value) -> Reply {
        send(
            &self.address,
            &post_text(&self.address, path, &self.headers(), &body.to_string()),
        )
    }

    /// Opens a stream, and returns its lines from the first message on.
    pub(super) fn stream(&self, query: &str) -> Stream {
        let mut stream = connect(&self.address);
        let (address, headers) = (&self.address, self.headers());
        let request =
            format!("GET /api/stream{query} HTTP/1.1\r\nHost: {address}\r\n{headers}\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        Stream {
            lines: BufReader::new(stream),
        }
    }
}

/// The text of a POST with JSON.
pub(super) fn post_text(address: &str, path: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         {headers}Content-Length: {length}\r\n\r\n{body}"
    )
}

pub(super) fn login_with(address: &str, token: &str) -> Reply {
    let body = json!({"token": token}).to_string();
    send(address, &post_text(address, "/api/login", "", &body))
}

/// A stream of events.
pub(super) struct Stream {
    pub(super) lines: BufReader<TcpStream>,
}

impl Stream {
    /// The next message; `None` at the end.
    pub(super) fn next(&mut self) -> Option<(String, Value)> {
        let mut event = String::new();
        loop {
            let mut line = String::new();
            if self.lines.read_line(&mut line).unwrap_or(0) == 0 {
                return None;
            }
            if let Some(name) = line.trim_end().strip_prefix("event: ") {
                event = name.to_owned();
            }
            if let Some(data) = line.trim_end().strip_prefix("data: ") {
                return Some((event, serde_json::from_str(data).unwrap()));
            }
        }
    }

    /// The first message that has what `find` looks for.
    #[track_caller]
    pub(super) fn wait_for<T>(&mut self, find: impl Fn(&str, &Value) -> Option<T>) -> T {
        loop {
            let (event, data) = self.next().expect("the stream goes on");
            if let Some(found) = find(&event, &data) {
                return found;
            }
        }
    }
}
