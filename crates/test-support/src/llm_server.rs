//! A server on the loopback interface that plays a provider of models.
//!
//! It speaks the wire formats of the Messages API, of Chat Completions, of the Responses API and of Gemini over
//! real connections, with streams in real chunks, so that clients and whole
//! processes can be tested against it. Every agent has its own address, its own
//! queue of replies and its own list of captured requests, so that the order in
//! which agents ask cannot change what they get:
//!
//! ```
//! use test_support::llm_server::{LlmServer, ServerReply};
//!
//! let server = LlmServer::start();
//! server.enqueue("alice", ServerReply::text("Hello."));
//! let address = server.base_url("alice");
//! assert!(address.ends_with("/alice"));
//! assert!(server.requests("alice").is_empty());
//! ```
//!
//! A request that breaks the rules of its provider's schema is refused with status 400, as the provider
//! would. So every test that asks a model also checks what was sent.
//!
//! A request for which no reply is queued is answered with status 400 and a
//! message that says so, which no client tries again.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::wait::wait_for;
use serde_json::Value;

mod captured;
mod connection;
mod gate;
mod gemini;
mod reply;
mod responses;
mod rules;
mod wire;

pub use captured::{CapturedRequest, Wire};
pub use gate::Gate;
pub use reply::{ServerReply, summary_text};

/// A server that runs until the value is dropped.
#[derive(Debug)]
pub struct LlmServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

/// What the threads of the server share with the test.
#[derive(Debug, Default)]
struct Shared {
    agents: Mutex<HashMap<String, Agent>>,
    requests: AtomicUsize,
    connections: AtomicUsize,
    closed: AtomicBool,
}

#[derive(Debug, Default)]
struct Agent {
    queue: VecDeque<ServerReply>,
    always: Option<ServerReply>,
    requests: Vec<CapturedRequest>,
    decide: Option<Decide>,
    is_foreign: bool,
}

/// Makes the reply to a request.
#[derive(Clone)]
struct Decide(Arc<dyn Fn(CapturedRequest) -> ServerReply + Send + Sync>);

impl fmt::Debug for Decide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Decide")
    }
}

impl LlmServer {
    /// Starts a server on a free port.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port is free");
        let address = listener.local_addr().expect("a listener has an address");
        let shared = Arc::new(Shared::default());
        let acceptor = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || accept(&listener, &shared))
        };
        Self {
            address,
            shared,
            acceptor: Some(acceptor),
        }
    }

    /// The address of an agent for a client of the Messages API.
    pub fn base_url(&self, agent: &str) -> String {
        format!("http://{}/{}", self.address, captured::encode_name(agent))
    }

    /// The address of an agent for a client of Chat Completions or of the Responses API.
    pub fn openai_base_url(&self, agent: &str) -> String {
        format!("{}/v1", self.base_url(agent))
    }

    /// Adds a reply for an agent, after those that are already queued.
    pub fn enqueue(&self, agent: &str, reply: ServerReply) {
        let mut agents = self.shared.agents();
        agents
            .entry(agent.to_owned())
            .or_default()
            .queue
            .push_back(reply);
    }

    /// Sets the reply that an agent gets whenever its queue is empty.
    pub fn always(&self, agent: &str, reply: ServerReply) {
        let mut agents = self.shared.agents();
        agents.entry(agent.to_owned()).or_default().always = Some(reply);
    }

    /// The requests of this agent are another program's, which the rules for our own are not about.
    pub fn accept_foreign(&self, agent: &str) {
        let mut agents = self.shared.agents();
        agents.entry(agent.to_owned()).or_default().is_foreign = true;
    }

    /// Lets a function answer an agent from now on, instead of queued replies. It runs on the thread
    /// of the connection, beside those of other connections. The server keeps none
    /// of the requests, so that it can run for any time.
    pub fn decide(
        &self,
        agent: &str,
        decide: impl Fn(CapturedRequest) -> ServerReply + Send + Sync + 'static,
    ) {
        let mut agents = self.shared.agents();
        let decide = Some(Decide(Arc::new(decide)));
        agents.entry(agent.to_owned()).or_default().decide = decide;
    }

    /// Posts any body, also one that no client of ours would send, and returns the answer with its head.
    pub fn post(&self, agent: &str, path: &str, body: &Value) -> String {
        let body = body.to_string();
        let agent = captured::encode_name(agent);
        let head = format!(
            "POST /{agent}/{path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let mut stream = TcpStream::connect(self.address).expect("the server runs");
        let sent = stream.write_all((head + &body).as_bytes());
        sent.expect("the server reads");
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        answer
    }

    /// All requests of an agent so far.
    pub fn requests(&self, agent: &str) -> Vec<CapturedRequest> {
        let agents = self.shared.agents();
        agents
            .get(agent)
            .map_or_else(Vec::new, |agent| agent.requests.clone())
    }

    /// The number of requests of an agent, and when the last one arrived. The cost does not depend on their
    /// number.
    pub fn last_arrival(&self, agent: &str) -> Option<(usize, Instant)> {
        let agents = self.shared.agents();
        let requests = &agents.get(agent)?.requests;
        Some((requests.len(), requests.last()?.arrived()))
    }

    /// The last request of an agent. Panics if there was none.
    #[track_caller]
    pub fn last_request(&self, agent: &str) -> CapturedRequest {
        match self.requests(agent).pop() {
            Some(request) => request,
            None => panic!("{agent} asked nothing"),
        }
    }

    /// How many queued replies an agent has not fetched yet.
    pub fn replies_left(&self, agent: &str) -> usize {
        let agents = self.shared.agents();
        agents.get(agent).map_or(0, |agent| agent.queue.len())
    }

    /// How many connections were made so far, by all agents.
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }

    /// Waits until an agent has made so many requests, and returns all of them.
    /// Panics if it has not within the limit.
    #[track_caller]
    pub fn wait_for_requests(
        &self,
        agent: &str,
        count: usize,
        limit: Duration,
    ) -> Vec<CapturedRequest> {
        wait_for(&format!("{count} requests of {agent}"), limit, || {
            let requests = self.requests(agent);
            (requests.len() >= count).then_some(requests)
        })
    }
}

impl Drop for LlmServer {
    fn drop(&mut self) {
        self.shared.closed.store(true, Ordering::SeqCst);
        // The accepting thread checks the mark after its next connection.
        let woken = TcpStream::connect(self.address);
        if let (Ok(_), Some(acceptor)) = (woken, self.acceptor.take()) {
            let _ = acceptor.join();
        }
    }
}

/// The address of a port on which nobody listens.
pub fn refused_url() -> io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    Ok(format!("http://{}", listener.local_addr()?))
}

impl Shared {
    fn agents(&self) -> MutexGuard<'_, HashMap<String, Agent>> {
        self.agents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    /// Notes a request, and returns its number and the reply to it.
    fn answer(&self, request: CapturedRequest) -> (usize, ServerReply) {
        let number = self.requests.fetch_add(1, Ordering::SeqCst) + 1;
        let name = request.agent().to_owned();
        let checked = rules::check(request.wire(), request.body());
        let mut agents = self.agents();
        let agent = agents.entry(name.clone()).or_default();
        let verdict = if agent.is_foreign { Ok(()) } else { checked };
        if let (Some(Decide(decide)), Ok(())) = (agent.decide.clone(), &verdict) {
            drop(agents);
            return (number, decide(request));
        }
        agent.requests.push(request);
        if let Err(rule) = verdict {
            let reply = ServerReply::error(400, "invalid_request_error", &rule);
            return (number, reply);
        }
        let reply = agent.queue.pop_front().or_else(|| agent.always.clone());
        let missing = || {
            ServerReply::error(
                400,
                "invalid_request_error",
                &format!("the test queued no reply for '{name}'"),
            )
        };
        (number, reply.unwrap_or_else(missing))
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if shared.is_closed() {
            return;
        }
        let Ok(stream) = stream else { continue };
        shared.connections.fetch_add(1, Ordering::SeqCst);
        let shared = Arc::clone(shared);
        // The thread ends with its connection. It is not joined, because a
        // client may keep its connection for longer than the test.
        thread::spawn(move || {
            // A client may close its connection at any time.
            let _ = connection::serve(stream, &shared);
        });
    }
}
