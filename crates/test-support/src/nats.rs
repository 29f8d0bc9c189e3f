//! Real NATS servers with JetStream, alone or as a cluster on the loopback address.

use crate::disk::Skip;
use crate::process::Worker;
use crate::wait::wait_until;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// How long a server may take to listen on a busy machine.
const START: Duration = Duration::from_secs(60);

/// A NATS server that keeps its port and its store when it is killed and started again. It is killed when the
/// value is dropped.
#[derive(Debug)]
pub struct NatsServer {
    program: PathBuf,
    folder: PathBuf,
    place: NatsPlace,
    process: Option<Worker>,
}

/// Where a server listens.
#[derive(Debug, Clone)]
pub struct NatsPlace {
    pub address: IpAddr,
    /// Of clients.
    pub port: u16,
    /// Of the other servers of a cluster.
    pub route: u16,
    /// The command that runs the server, such as `ip netns exec NAME`; none for this machine itself.
    pub wrapper: Vec<String>,
}

impl NatsPlace {
    /// So many places on the loopback address. Another process may take a port before it is used, which is
    /// unlikely.
    pub fn local(count: usize) -> io::Result<Vec<Self>> {
        let bind = |_| TcpListener::bind("127.0.0.1:0");
        let listeners: Vec<TcpListener> = (0..2 * count).map(bind).collect::<io::Result<_>>()?;
        let port = |listener: &TcpListener| listener.local_addr().map(|address| address.port());
        let both = listeners.chunks(2).map(|both| {
            Ok(Self {
                address: Ipv4Addr::LOCALHOST.into(),
                port: port(&both[0])?,
                route: port(&both[1])?,
                wrapper: Vec::new(),
            })
        });
        both.collect()
    }
}

/// What a server is started with.
#[derive(Debug, Clone, Default)]
pub struct NatsConfig {
    /// Lines of the block `jetstream`, such as `sync_interval: always`.
    pub jetstream: String,
    /// Other lines of the configuration, such as the block `authorization`.
    pub lines: String,
}

impl NatsConfig {
    /// One user with a password.
    pub fn with_user(user: &str, password: &str) -> Self {
        Self {
            jetstream: String::new(),
            lines: format!("authorization {{ user: \"{user}\", password: \"{password}\" }}\n"),
        }
    }
}

impl NatsServer {
    /// Starts a server whose files are in `folder`.
    pub fn start(folder: &Path, config: &NatsConfig) -> Result<Self, Skip> {
        let program = program()?;
        let mut places = NatsPlace::local(1).map_err(|error| Skip::new(error.to_string()))?;
        let place = places.pop().ok_or_else(|| Skip::new("no port"))?;
        Ok(Self::start_on(program, folder, place, config))
    }

    fn start_on(program: PathBuf, folder: &Path, place: NatsPlace, config: &NatsConfig) -> Self {
        fs::create_dir_all(folder).expect("a folder for a NATS server");
        let mut server = Self {
            program,
            folder: folder.to_path_buf(),
            place,
            process: None,
        };
        server.configure(config);
        server.restart();
        server
    }

    /// Changes what the server is started with the next time.
    pub fn configure(&self, config: &NatsConfig) {
        let lines = format!(
            "listen: \"{}\"\nserver_name: \"{}\"\njetstream {{\n  store_dir: \"{}\"\n{}\n}}\n{}",
            self.place(),
            self.name(),
            self.folder.join("store").display(),
            config.jetstream,
            config.lines
        );
        fs::write(self.folder.join("nats.conf"), lines).expect("the configuration of a server");
    }

    /// What a cluster calls it.
    pub fn name(&self) -> String {
        let NatsPlace { address, port, .. } = &self.place;
        format!("n-{address}-{port}").replace('.', "-")
    }

    /// `ADDRESS:PORT`.
    pub fn place(&self) -> String {
        format!("{}:{}", self.place.address, self.place.port)
    }

    /// Where its files are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Kills it, if it runs.
    pub fn kill9(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill9();
        }
    }

    /// Starts it, after it was killed, and waits until it listens, if that can be seen from here.
    pub fn restart(&mut self) {
        let mut command = match self.place.wrapper.split_first() {
            Some((wrapper, words)) => {
                let mut command = Command::new(wrapper);
                command.args(words).arg(&self.program);
                command
            }
            None => Command::new(&self.program),
        };
        command.arg("-c").arg(self.folder.join("nats.conf"));
        command.arg("-l").arg(self.folder.join("log"));
        let started = Worker::spawn(command.stderr(Stdio::null()));
        self.process = Some(started.expect("a NATS server"));
        if !self.place.wrapper.is_empty() {
            return;
        }
        let place = self.place();
        wait_until("a NATS server to listen", START, || {
            TcpStream::connect(&place).is_ok()
        });
    }
}

/// Starts servers that are one cluster, one at each place.
pub fn nats_cluster(folder: &Path, places: &[NatsPlace]) -> Result<Vec<NatsServer>, Skip> {
    let program = program()?;
    let all: Vec<String> = places
        .iter()
        .map(|place| format!("\"nats://{}:{}\"", place.address, place.route))
        .collect();
    let start = |(number, place): (usize, &NatsPlace)| {
        let config = NatsConfig {
            jetstream: String::new(),
            lines: format!(
                "cluster {{ name: \"test\", listen: \"{}:{}\", routes: [{}] }}\n",
                place.address,
                place.route,
                all.join(", ")
            ),
        };
        let folder = folder.join(format!("server{number}"));
        NatsServer::start_on(program.clone(), &folder, place.clone(), &config)
    };
    Ok(places.iter().enumerate().map(start).collect())
}

/// The server that `scripts/install-test-tools` installs.
fn program() -> Result<PathBuf, Skip> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(std::env::home_dir()?.join(".cache")));
    let cache = cache.ok_or_else(|| Skip::new("there is no home folder"))?;
    let program = cache.join("team-lead-test-tools/nats/bin/nats-server");
    if program.exists() {
        return Ok(program);
    }
    Err(Skip::new(format!(
        "{} is missing: scripts/install-test-tools",
        program.display()
    )))
}
