//! Hosts that are folders, with bridges and members that are processes of their own, and real servers of NATS.

use crate::work::work;
use async_nats::jetstream::{self, Context};
use bridge::Core;
use bridge::nats::{Settings, run};
use protocol::{
    AgentName, HostId, Incarnation, JournalLine, JournalRecord, JsonLine, Line, Member, Recipient,
};
use serde_json::json;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use teamdir::{
    Durability, MemberSession, Options, RosterError, TeamDir, UnsyncedInboxes, WatchChoice,
};
use test_support::{NatsConfig, NatsServer, Worker, report_skip, wait_until};

pub(crate) const LIMIT: Duration = Duration::from_secs(120);
/// JetStream's own window for duplicates, far shorter than what the tests take.
const WINDOW: Duration = Duration::from_millis(200);
pub(crate) const USER: &str = "anna";
pub(crate) const PASSWORD: &str = "se:cret";

/// Not a test: the process of a bridge, which the tests start.
#[test]
fn bridge_process() {
    let Some(place) = std::env::var_os("TEST_BRIDGE_TEAM") else {
        return;
    };
    let set = |name| std::env::var(name).unwrap();
    let team = TeamDir::open(Path::new(&place), options()).unwrap();
    let me = host(&set("TEST_BRIDGE_NAME"));
    let mut core = Core::open(&team, Some(&me), &me).unwrap();
    if let Ok(seconds) = std::env::var("TEST_BRIDGE_LEASE") {
        core.set_lease(Duration::from_secs(seconds.parse().unwrap()));
    }
    let mut settings = Settings::new(set("TEST_BRIDGE_ADDRESS").parse().unwrap());
    settings.duplicate_window = WINDOW;
    settings.lead = (me.as_str() != "laptop").then(|| host("laptop"));
    settings.credentials = std::env::var_os("TEST_BRIDGE_CREDENTIALS").map(PathBuf::from);
    settings.root_certificates = std::env::var_os("TEST_BRIDGE_ROOT").map(PathBuf::from);
    let ended = block_on(run(&mut core, &settings, std::future::pending()));
    panic!("{}", ended.unwrap_err());
}

/// Not a test: the process of a member, which takes its mail into its journal for ever.
#[test]
fn member_process() {
    let Some(place) = std::env::var_os("TEST_MEMBER_TEAM") else {
        return;
    };
    let team = TeamDir::open(Path::new(&place), options()).unwrap();
    let me: Recipient = std::env::var("TEST_MEMBER_NAME").unwrap().parse().unwrap();
    if let (Ok(incarnation), Recipient::Member(name)) =
        (std::env::var("TEST_MEMBER_INCARNATION"), me.clone())
    {
        let incarnation = Incarnation(incarnation.parse().unwrap());
        std::thread::spawn(move || work(Path::new(&place), &name, incarnation));
    }
    let mut session = MemberSession::open(&team, &me, WatchChoice::Auto).unwrap();
    loop {
        session.next(None).unwrap();
    }
}

pub(crate) fn block_on<T>(act: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(act)
}

pub(crate) fn host(name: &str) -> HostId {
    HostId::new(name).unwrap()
}

pub(crate) fn options() -> Options {
    Options {
        durability: Durability::ProcessDeath,
        ..Options::default()
    }
}

/// How a bridge gets to its broker.
#[derive(Debug, Clone, Default)]
pub(crate) struct Way {
    pub(crate) address: String,
    pub(crate) credentials: Option<PathBuf>,
    pub(crate) root_certificates: Option<PathBuf>,
    /// How many seconds a host may be silent until its claims end.
    pub(crate) lease: Option<u64>,
    /// The command that runs the bridge, such as `ip netns exec NAME`.
    pub(crate) wrapper: Vec<String>,
}

impl Way {
    /// With the user of [`server`].
    pub(crate) fn to(server: &NatsServer) -> Self {
        Self {
            address: format!("nats://{USER}:se%3Acret@{}", server.place()),
            ..Self::default()
        }
    }
}

/// A server with one user, unless none is installed.
pub(crate) fn server(place: &Path, test: &str, jetstream: &str) -> Option<NatsServer> {
    let mut config = NatsConfig::with_user(USER, PASSWORD);
    config.jetstream = jetstream.to_owned();
    let started = NatsServer::start(place, &config);
    started.map_err(|skip| report_skip(test, skip)).ok()
}

/// Does something at the broker, as another user of it.
pub(crate) fn use_broker<T>(server: &NatsServer, act: impl AsyncFnOnce(Context) -> T) -> T {
    block_on(async {
        let client = async_nats::ConnectOptions::new()
            .user_and_password(USER.to_owned(), PASSWORD.to_owned())
            .connect(format!("nats://{}", server.place()))
            .await
            .unwrap();
        act(jetstream::new(client)).await
    })
}

pub(crate) struct Host {
    pub(crate) name: &'static str,
    pub(crate) team: TeamDir,
    pub(crate) bridge: Option<Worker>,
}

impl Host {
    pub(crate) fn new(place: &Path, name: &'static str, members: &[&str]) -> Self {
        let place = place.join(name);
        fs::create_dir_all(&place).unwrap();
        let team = TeamDir::create(&place, "default", options()).unwrap();
        team.update_roster(|roster| {
            for member in members {
                let member = Member::new(AgentName::new(member).unwrap(), "coder");
                roster.members.push(member);
            }
            Ok::<_, RosterError>(())
        })
        .unwrap();
        let bridge = None;
        Self { name, team, bridge }
    }

    pub(crate) fn start(&mut self, way: &Way) {
        let mut command = own_process("world::bridge_process", &way.wrapper);
        command.env("TEST_BRIDGE_TEAM", self.team.workspace());
        command.env("TEST_BRIDGE_NAME", self.name);
        command.env("TEST_BRIDGE_ADDRESS", &way.address);
        if let Some(seconds) = way.lease {
            command.env("TEST_BRIDGE_LEASE", seconds.to_string());
        }
        if let Some(path) = &way.credentials {
            command.env("TEST_BRIDGE_CREDENTIALS", path);
        }
        if let Some(path) = &way.root_certificates {
            command.env("TEST_BRIDGE_ROOT", path);
        }
        let errors = File::options()
            .create(true)
            .append(true)
            .open(self.errors_file());
        command.stderr(errors.unwrap());
        self.bridge = Some(Worker::spawn(&mut command).unwrap());
    }

    fn errors_file(&self) -> PathBuf {
        self.team.workspace().join("bridge.err")
    }

    /// What its bridges have said so far.
    pub(crate) fn errors(&self) -> String {
        fs::read_to_string(self.errors_file()).unwrap_or_default()
    }

    pub(crate) fn kill(&mut self) {
        self.bridge.take().unwrap().kill9();
    }

    pub(crate) fn send(&self, from: &str, to: &str, text: &str) {
        let to: Recipient = to.parse().unwrap();
        let id = teamdir::new_message_id();
        let line = json!({"type": "message", "id": id, "from": from, "to": to, "content": text});
        let line = JsonLine::encode(&line).unwrap();
        let mut unsynced = UnsyncedInboxes::default();
        self.team.deliver_line(to, &line, &mut unsynced).unwrap();
        unsynced.sync().unwrap();
    }

    pub(crate) fn inbox(&self, owner: &str) -> Vec<String> {
        let owner: Recipient = owner.parse().unwrap();
        let mut found = Vec::new();
        self.team
            .unread_mail(&owner, |_, line| match line {
                Line::Message(message) => found.push(message.body.text().to_owned()),
                other => found.push(format!("{other:?}")),
            })
            .unwrap();
        found
    }

    /// The texts of all mail in a journal, in order.
    pub(crate) fn journal(&self, owner: &str) -> Vec<String> {
        let owner: Recipient = owner.parse().unwrap();
        let mut found = Vec::new();
        let read = self.team.read_history(&owner, |bytes, line| match line {
            JournalLine::Known(JournalRecord::Mail(mail)) => {
                for entry in &mail.mail {
                    match entry.decode() {
                        Line::Message(message) => found.push(message.body.text().to_owned()),
                        other => found.push(format!("{other:?}")),
                    }
                }
            }
            JournalLine::Known(_) | JournalLine::Other { .. } => {}
            JournalLine::Corrupt { reason } => {
                panic!("{reason}: {}", String::from_utf8_lossy(bytes))
            }
        });
        // A member that has not started yet has none.
        read.map_or_else(|_| Vec::new(), |_| found)
    }

    pub(crate) fn knows(&self, member: &str) -> bool {
        let name = AgentName::new(member).unwrap();
        self.team.roster().unwrap().member(&name).is_some()
    }

    pub(crate) fn waiting(&self, peer: &str) -> u64 {
        self.team.frames_waiting(&host(peer)).unwrap()
    }

    /// What people are told about another host.
    pub(crate) fn shown(&self, peer: &str) -> String {
        fs::read_to_string(self.team.layout().peer(&host(peer))).unwrap_or_default()
    }
}

/// A process of this test binary.
pub(crate) fn own_process(test: &str, wrapper: &[String]) -> Command {
    let program = std::env::current_exe().unwrap();
    let mut command = match wrapper.split_first() {
        Some((wrapper, words)) => {
            let mut command = Command::new(wrapper);
            command.args(words).arg(program);
            command
        }
        None => Command::new(program),
    };
    command.args(["--exact", test, "--nocapture"]);
    command
}

/// A server, and two hosts that know each other.
pub(crate) fn linked(place: &Path, test: &str) -> Option<(NatsServer, Host, Host)> {
    let server = server(&place.join("nats"), test, "")?;
    let (laptop, gpu) = link(place, &Way::to(&server));
    Some((server, laptop, gpu))
}

/// Two hosts that know each other.
pub(crate) fn link(place: &Path, way: &Way) -> (Host, Host) {
    let mut laptop = Host::new(place, "laptop", &["bob"]);
    let mut gpu = Host::new(place, "gpu1", &["alice"]);
    laptop.start(way);
    gpu.start(way);
    wait_until("the hosts know each other", LIMIT, || {
        laptop.knows("alice") && gpu.knows("bob")
    });
    (laptop, gpu)
}

pub(crate) fn texts(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("message {n}")).collect()
}

#[track_caller]
pub(crate) fn wait_for_inbox(host: &Host, owner: &str, expected: &[String]) {
    wait_until("all mail has come", LIMIT, || {
        host.inbox(owner).len() >= expected.len()
    });
    assert_eq!(host.inbox(owner), expected);
}
