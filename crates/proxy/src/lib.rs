//! An HTTP proxy that connects to listed hosts and to nothing else.
//!
//! # Theory of operation
//!
//! [`start`] takes a listening socket and a [`Policy`] and serves in a thread of its own until the
//! [`Proxy`] is dropped. Clients are not trusted: they choose what they send, and they may run the
//! server that they ask for. A connection is handled in three steps:
//!
//! 1. *Read.* One request is read: `CONNECT host:port`, after which bytes go both ways untouched, or
//!    a request with a whole address (`GET http://host/path`). Its head is parsed, checked and written anew,
//!    so that the server sees what was checked. The length of its body is known, nothing behind the
//!    body is forwarded, and the connection ends with the response.
//! 2. *Decide.* The host and port are compared with the list ([`protocol::HostList`]). A name is
//!    resolved here, once, and only public addresses that it leads to are used, or those that are
//!    listed as well. A connection goes to an address that was checked and never through a second look-up.
//! 3. *Relay.* Bytes are copied until both sides have ended or nothing has moved for a while.
//!
//! A refusal says what was asked for, why it is refused, and what a person can type to allow it:
//! in the response, whose text few clients show, and in [`Proxy::refused`] for the caller.
//!
//! # What gets through
//!
//! * A listed host can pass anything on, to whomever. Where many sites share their servers, a client
//!   reaches another site on the same server by naming it inside the encrypted connection.
//! * Whatever protocol runs on a listed port: nothing inside a tunnel is looked at.

mod connect;
mod relay;
mod request;
mod respond;
mod serve;

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use protocol::{Endpoint, Host, HostList, HostRule, Special};
use tokio::runtime::Builder;
use tokio::sync::oneshot;

/// How many refusals are kept for the caller.
const MAX_REFUSALS: usize = 32;
/// The most threads that resolve names, because resolving blocks its thread.
const RESOLVERS: usize = 8;

/// What the proxy does for its clients.
pub struct Policy {
    pub hosts: HostList,
    pub limits: Limits,
    /// What a person can type to allow what was refused.
    pub advice: Box<dyn Fn(&Refusal) -> String + Send + Sync>,
}

impl Policy {
    /// A policy with the default limits.
    pub fn new(
        hosts: HostList,
        advice: impl Fn(&Refusal) -> String + Send + Sync + 'static,
    ) -> Self {
        Self {
            hosts,
            limits: Limits::default(),
            advice: Box::new(advice),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections at the same time. Further ones wait.
    pub connections: usize,
    /// How long a request's head may be.
    pub head_bytes: usize,
    /// How long a client may take to send a head.
    pub head: Duration,
    /// How long a name's look-up and the connections to its addresses may take together.
    pub connect: Duration,
    /// How long a connection may be without a byte in either direction.
    pub idle: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 128,
            head_bytes: 32 << 10,
            head: Duration::from_secs(30),
            connect: Duration::from_secs(20),
            idle: Duration::from_secs(300),
        }
    }
}

/// Why a connection was not made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No rule allows it.
    NotListed(Endpoint),
    /// The name leads to no public address.
    NotPublic {
        wanted: Endpoint,
        address: IpAddr,
        special: Special,
    },
    /// The name leads to a public address of this machine.
    ThisMachine { wanted: Endpoint, address: IpAddr },
}

impl Refusal {
    /// What was asked for.
    #[must_use]
    pub const fn wanted(&self) -> &Endpoint {
        match self {
            Self::NotListed(wanted)
            | Self::NotPublic { wanted, .. }
            | Self::ThisMachine { wanted, .. } => wanted,
        }
    }

    /// The rule that would allow it, if any could.
    #[must_use]
    pub fn rule(&self) -> Option<HostRule> {
        let endpoint = match self {
            Self::NotListed(wanted) => wanted.clone(),
            Self::NotPublic {
                wanted, address, ..
            }
            | Self::ThisMachine { wanted, address } => Endpoint {
                host: Host::Address(*address),
                port: wanted.port,
            },
        };
        HostRule::for_endpoint(&endpoint).ok()
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotListed(wanted) => write!(f, "{wanted} is not in the list of allowed hosts"),
            Self::NotPublic {
                wanted,
                address,
                special,
            } => write!(
                f,
                "{wanted} leads to {address}, {special}, and a name is followed only to public or listed addresses"
            ),
            Self::ThisMachine { wanted, address } => write!(
                f,
                "{wanted} leads to {address}, which is this machine, and a name is followed there only if the address is listed"
            ),
        }
    }
}

/// What was refused so far, without repetitions.
#[derive(Clone, Debug, Default)]
struct Refusals(Arc<Mutex<Vec<Refusal>>>);

impl Refusals {
    fn add(&self, refusal: &Refusal) {
        let mut list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if list.len() < MAX_REFUSALS && !list.contains(refusal) {
            list.push(refusal.clone());
        }
    }
}

/// A proxy that serves. Dropping it ends all its connections.
#[derive(Debug)]
pub struct Proxy {
    refused: Refusals,
    /// Dropping it stops the thread.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Serves the clients that connect to `listener`.
pub fn start(listener: std::net::TcpListener, policy: Policy) -> io::Result<Proxy> {
    listener.set_nonblocking(true)?;
    let runtime = Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .max_blocking_threads(RESOLVERS)
        .build()?;
    let listener = {
        let _entered = runtime.enter();
        tokio::net::TcpListener::from_std(listener)?
    };
    let refused = Refusals::default();
    let shared = Arc::new(serve::Shared {
        policy,
        refused: refused.clone(),
    });
    let (stop, stopped) = oneshot::channel();
    let thread = std::thread::Builder::new().name("proxy".to_owned());
    let thread = thread.spawn(move || {
        runtime.block_on(serve::serve(listener, shared, stopped));
        // A look-up that hangs must not delay the caller.
        runtime.shutdown_background();
    })?;
    Ok(Proxy {
        refused,
        stop: Some(stop),
        thread: Some(thread),
    })
}

impl Proxy {
    /// The refusals so far, at most `MAX_REFUSALS`, in order and without repetitions.
    #[must_use]
    pub fn refused(&self) -> Vec<Refusal> {
        let list = self.refused.0.lock();
        list.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of that thread is not passed on.
            let _ = thread.join();
        }
    }
}

/// The variables by which programs find a proxy. Loopback addresses are excepted from the proxy, because a
/// command may run a server of its own there. A loopback address that is listed goes through the
/// proxy: it means the machine's.
#[must_use]
pub fn variables(proxy: SocketAddr, hosts: &HostList) -> Vec<(OsString, OsString)> {
    let address = format!("http://{proxy}");
    let names = ["http_proxy", "https_proxy", "all_proxy"];
    let names = names.into_iter().flat_map(both_spellings);
    let mut variables: Vec<(OsString, OsString)> = names
        .map(|name| (name.into(), address.clone().into()))
        .collect();
    let listed: Vec<IpAddr> = hosts.rules().iter().filter_map(HostRule::address).collect();
    let own = ["127.0.0.1", "::1"].into_iter().filter(|own| {
        let own: Result<IpAddr, _> = own.parse();
        own.is_ok_and(|own| !listed.contains(&own))
    });
    let direct: Vec<&str> = ["localhost"].into_iter().chain(own).collect();
    let direct = direct.join(",");
    variables.extend(both_spellings("no_proxy").map(|name| (name.into(), direct.clone().into())));
    // Node.js ignores the other variables without this one.
    variables.push(("NODE_USE_ENV_PROXY".into(), "1".into()));
    variables
}

/// A variable's name in lower and upper case: programs differ in which one they read.
fn both_spellings(name: &str) -> [String; 2] {
    [name.to_owned(), name.to_ascii_uppercase()]
}
