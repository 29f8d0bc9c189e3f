//! The team as a web page, served to the browsers of this machine.
//!
//! # Theory of operation
//!
//! [`Server::bind`] takes an address of the loopback interface, [`Server::run`] serves one page of plain HTML,
//! CSS and JavaScript that is part of the program, and a JSON interface for it. A stream of server-sent events
//! tells each open page what changes (`hub`): one thread waits for the notifications of `watch`, reads the team
//! with the same functions, and sends the differences. What a person does on the page calls the functions that
//! the commands call.
//!
//! **Who gets in.** A token of 256 bits is in a private file, and in the fragment of the address that is shown
//! once; the page exchanges it for a session, a cookie and a key (`sessions`). The key is not sent again: page and
//! server prove that they know it (`proof`). Every request passes the same
//! checks first (`guard`): the host is ours, the origin is absent or ours, a body is JSON. Connections of commands
//! in the sandboxes of members are not served at all (`peer`).
//!
//! **Invariants:** without a session nothing of the team is shown or changed; a server that nobody looks at is
//! not woken by anything; a page costs no more than its queue, however slow it is; text of the team never
//! becomes markup.

mod api;
mod app;
mod assets;
mod conversation;
mod error;
mod guard;
mod hub;
mod peer;
mod proof;
mod rows;
mod secret;
mod server;
mod sessions;
mod store;
mod stream;

pub use proof::page_key;
pub use secret::Secret;
pub use sessions::revoke;
pub use store::{Session, Store, StoreError, Stored};

use app::{App, MAX_STREAMS};
use guard::Hosts;
use hub::Hub;
use proof::Proofs;
use secret::random_hex;
use sessions::Sessions;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;
use store::ServerLock;
use teamdir::TeamDir;
use tokio::sync::Semaphore;

/// The most threads that read or change files at a time.
const MAX_WORKERS: usize = 8;
/// How long such a thread waits for more before it ends.
const REST: Duration = Duration::from_secs(1);

#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// The port; without one that of the last time, if it is free, or any.
    pub port: Option<u16>,
    /// Another address than that of the loopback interface.
    pub listen: Option<IpAddr>,
    pub read_only: bool,
    /// The name of the person whose account the server runs in.
    pub person: String,
}

/// Why a server cannot run.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("cannot listen on {address}: {cause}")]
    Listen {
        address: SocketAddr,
        cause: io::Error,
    },
    #[error("cannot start the server: {0}")]
    Start(#[from] io::Error),
}

/// A server that listens and does not serve yet.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    proofs: Proofs,
    store: Store,
    options: ServeOptions,
    _lock: ServerLock,
}

impl Server {
    /// Takes the address. There is one server for a team.
    pub fn bind(store: Store, options: ServeOptions) -> Result<Self, ServeError> {
        let lock = store.lock()?;
        store.clean_up();
        let ip = options.listen.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
        let last: Option<SocketAddr> = store.read()?.address.parse().ok();
        let last = last.filter(|last| last.ip() == ip);
        let wanted = options.port.or_else(|| last.map(|last| last.port()));
        let first = SocketAddr::new(ip, wanted.unwrap_or(0));
        let listener = match TcpListener::bind(first) {
            // Pages know the server by its port. Somebody else has it now.
            Err(_) if options.port.is_none() => {
                let any = SocketAddr::new(ip, 0);
                TcpListener::bind(any).map_err(failed_at(any))?
            }
            bound => bound.map_err(failed_at(first))?,
        };
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let fresh = random_hex(32)?;
        let seed = store.update(|stored| {
            // Whoever has the port of the sessions now could pass proofs on between their pages and us.
            if last.is_some_and(|last| last != address) {
                stored.sessions.clear();
                stored.seed.clear();
            }
            if stored.seed.is_empty() {
                stored.seed = fresh;
            }
            stored.address = address.to_string();
            stored.seed.clone()
        })?;
        Ok(Self {
            listener,
            address,
            proofs: Proofs::new(seed)?,
            store,
            options,
            _lock: lock,
        })
    }

    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves the team until the process ends.
    pub fn run(self, team: &TeamDir) -> Result<(), ServeError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(MAX_WORKERS)
            .thread_keep_alive(REST)
            .build()?;
        let sessions = Arc::new(Sessions::new(self.store.clone()));
        let known = Arc::clone(&sessions);
        let hub = Hub::new(
            team.clone(),
            self.store.path(),
            Arc::new(move |id: &str| known.is_open(id)),
        );
        let app = Arc::new(App {
            team: team.clone(),
            address: self.address,
            hosts: Hosts::new(self.address),
            proofs: self.proofs,
            hub,
            sessions,
            streams: Arc::new(Semaphore::new(MAX_STREAMS)),
            is_read_only: self.options.read_only,
            person: self.options.person,
        });
        let listener = self.listener;
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            server::serve(listener, app).await;
            Ok(())
        })
    }
}

fn failed_at(address: SocketAddr) -> impl FnOnce(io::Error) -> ServeError {
    move |cause| ServeError::Listen { address, cause }
}

/// The address with the token in its fragment, which browsers send to nobody.
pub fn login_url(address: &str, token: &Secret) -> String {
    format!("http://{address}/#{}", token.as_str())
}
