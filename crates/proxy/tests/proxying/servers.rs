//! Servers for the tests.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

pub(crate) struct Server {
    address: SocketAddr,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Default)]
struct Seen {
    connections: usize,
    requests: usize,
    received: String,
}

impl Server {
    /// Each connection is counted before it is answered.
    fn start(serve: fn(TcpStream, &Mutex<Seen>)) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("it works");
        let server = Self {
            address: listener.local_addr().expect("it works"),
            seen: Arc::default(),
        };
        let seen = Arc::clone(&server.seen);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                seen.lock().expect("it works").connections += 1;
                let seen = Arc::clone(&seen);
                std::thread::spawn(move || serve(stream, &seen));
            }
        });
        server
    }

    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn connections(&self) -> usize {
        self.seen.lock().expect("it works").connections
    }

    pub(crate) fn requests(&self) -> usize {
        self.seen.lock().expect("it works").requests
    }

    pub(crate) fn received(&self) -> String {
        self.seen.lock().expect("it works").received.clone()
    }
}

/// Sends everything back.
pub(crate) fn echo() -> Server {
    Server::start(|mut stream, _| {
        let mut writing = stream.try_clone().expect("it works");
        let _ = std::io::copy(&mut stream, &mut writing);
        let _ = writing.shutdown(Shutdown::Write);
    })
}

/// Answers a request with its head and body.
pub(crate) fn http() -> Server {
    Server::start(|mut stream, seen| {
        if let Some(request) = read_request(&mut stream) {
            seen.lock().expect("it works").requests += 1;
            let length = request.len();
            let head =
                format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
            let _ = stream.write_all(&[head.into_bytes(), request].concat());
        }
    })
}

/// Answers the first request, keeps the connection, and records all that comes.
pub(crate) fn keeps_open() -> Server {
    Server::start(|mut stream, seen| {
        let record = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes).into_owned();
            seen.lock().expect("it works").received.push_str(&text);
        };
        if let Some(request) = read_request(&mut stream) {
            record(&request);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        }
        let mut bytes = [0; 1000];
        while let Ok(count @ 1..) = stream.read(&mut bytes) {
            record(&bytes[..count]);
        }
    })
}

/// A whole request with a body of known length.
fn read_request(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut part = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let mut lengths = head.lines().filter_map(|line| {
                let (name, value) = line.split_once(": ")?;
                name.eq_ignore_ascii_case("content-length")
                    .then(|| value.parse().ok())?
            });
            if body.len() >= lengths.next().unwrap_or(0) {
                return Some(bytes);
            }
        }
        match stream.read(&mut part) {
            Ok(count @ 1..) => bytes.extend_from_slice(&part[..count]),
            Ok(_) | Err(_) => return None,
        }
    }
}
