//! Two folders as two hosts with a real NATS server, and bridges that are processes of their own.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::{self, Context};
use bridge::Core;
use bridge::nats::{Settings, run};
use protocol::{AgentName, HostId, JsonLine, Line, Member, Recipient};
use serde_json::json;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use teamdir::{Durability, Options, RosterError, TeamDir};
use test_support::{Rng, Worker, report_skip, wait_until};

const LIMIT: Duration = Duration::from_secs(120);
/// JetStream's own window for duplicates, far shorter than what the tests take.
const WINDOW: Duration = Duration::from_millis(200);

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
    let mut settings = Settings::new(set("TEST_BRIDGE_ADDRESS").parse().unwrap());
    settings.duplicate_window = WINDOW;
    settings.lead = (me.as_str() != "laptop").then(|| host("laptop"));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let ended = runtime.block_on(run(&mut core, &settings, std::future::pending()));
    panic!("{}", ended.unwrap_err());
}

fn host(name: &str) -> HostId {
    HostId::new(name).unwrap()
}

fn options() -> Options {
    Options {
        durability: Durability::ProcessDeath,
        ..Options::default()
    }
}

struct Server {
    program: PathBuf,
    store: PathBuf,
    port: u16,
    process: Option<Worker>,
}

impl Server {
    fn start(place: &Path, test: &str) -> Option<Self> {
        let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
        let cache = cache.or_else(|| Some(std::env::home_dir()?.join(".cache")))?;
        let program = cache.join("team-lead-test-tools/nats/bin/nats-server");
        if !program.exists() {
            let why = format!(
                "{} is missing: scripts/install-test-tools",
                program.display()
            );
            report_skip(test, why);
            return None;
        }
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut server = Self {
            program,
            store: place.join("store"),
            port: free.local_addr().unwrap().port(),
            process: None,
        };
        drop(free);
        server.restart();
        Some(server)
    }

    fn kill(&mut self) {
        self.process.take().unwrap().kill9();
    }

    fn restart(&mut self) {
        let mut command = Command::new(&self.program);
        command.args([
            "-js",
            "-a",
            "127.0.0.1",
            "--user",
            "anna",
            "--pass",
            "se:cret",
        ]);
        command.arg("-p").arg(self.port.to_string());
        command.arg("-sd").arg(&self.store).stderr(Stdio::null());
        self.process = Some(Worker::spawn(&mut command).unwrap());
    }

    fn address(&self) -> String {
        format!("nats://anna:se%3Acret@127.0.0.1:{}", self.port)
    }

    /// Does something at the broker, as another user of it.
    fn use_broker<T>(&self, act: impl AsyncFnOnce(Context) -> T) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let client = async_nats::ConnectOptions::new()
                .user_and_password("anna".to_owned(), "se:cret".to_owned())
                .connect(format!("nats://127.0.0.1:{}", self.port))
                .await
                .unwrap();
            act(jetstream::new(client)).await
        })
    }

    /// Deletes the stream of the team, as somebody at the broker may.
    fn delete_stream(&self) {
        self.use_broker(async |broker| broker.delete_stream("team-lead-default").await)
            .unwrap();
    }

    /// Whether the broker takes a message for a repeat because of its id. Each is on a subject of its own.
    fn is_repeat(&self, id: &str, number: usize) -> bool {
        let subject = format!("team-lead.default.frame.nobody.{number}");
        let message = PublishMessage::build().message_id(id);
        let published = self.use_broker(async |broker| {
            let answer = broker.send_publish(subject, message).await.unwrap();
            answer.await
        });
        published.unwrap().duplicate
    }

    /// Waits until the broker has forgotten the ids of what it has stored so far.
    fn wait_for_end_of_window(&self) {
        assert!(!self.is_repeat("probe", 0));
        let mut number = 0;
        wait_until("the window for duplicates is over", LIMIT, || {
            number += 1;
            !self.is_repeat("probe", number)
        });
    }
}

struct Host {
    name: &'static str,
    team: TeamDir,
    bridge: Option<Worker>,
}

impl Host {
    fn new(place: &Path, name: &'static str, member: &str) -> Self {
        let place = place.join(name);
        std::fs::create_dir_all(&place).unwrap();
        let team = TeamDir::create(&place, "default", options()).unwrap();
        let member = Member::new(AgentName::new(member).unwrap(), "coder");
        team.update_roster(|roster| {
            roster.members.push(member.clone());
            Ok::<_, RosterError>(())
        })
        .unwrap();
        let bridge = None;
        Self { name, team, bridge }
    }

    fn start(&mut self, server: &Server) {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "bridge_process", "--nocapture"]);
        command.env("TEST_BRIDGE_TEAM", self.team.workspace());
        command.env("TEST_BRIDGE_NAME", self.name);
        command.env("TEST_BRIDGE_ADDRESS", server.address());
        command.stderr(Stdio::inherit());
        self.bridge = Some(Worker::spawn(&mut command).unwrap());
    }

    fn kill(&mut self) {
        self.bridge.take().unwrap().kill9();
    }

    fn send(&self, from: &str, to: &str, text: &str) {
        let to: Recipient = to.parse().unwrap();
        let id = teamdir::new_message_id();
        let line = json!({"type": "message", "id": id, "from": from, "to": to, "content": text});
        let line = JsonLine::encode(&line).unwrap();
        self.team.deliver_line(to, &line).unwrap();
    }

    fn inbox(&self, owner: &str) -> Vec<String> {
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

    fn knows(&self, member: &str) -> bool {
        let name = AgentName::new(member).unwrap();
        self.team.roster().unwrap().member(&name).is_some()
    }

    fn waiting(&self, peer: &str) -> u64 {
        self.team.frames_waiting(&host(peer)).unwrap()
    }
}

/// A server, and two hosts that know each other.
fn linked(place: &Path, test: &str) -> Option<(Server, Host, Host)> {
    let server = Server::start(place, test)?;
    let mut laptop = Host::new(place, "laptop", "bob");
    let mut gpu = Host::new(place, "gpu1", "alice");
    laptop.start(&server);
    gpu.start(&server);
    wait_until("the hosts know each other", LIMIT, || {
        laptop.knows("alice") && gpu.knows("bob")
    });
    Some((server, laptop, gpu))
}

fn texts(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("message {n}")).collect()
}

fn wait_for_inbox(host: &Host, owner: &str, expected: &[String]) {
    wait_until("all mail has come", LIMIT, || {
        host.inbox(owner).len() >= expected.len()
    });
    assert_eq!(host.inbox(owner), expected);
}

#[test]
fn mail_crosses_both_ways_and_the_outbox_empties() {
    let place = tempfile::tempdir().unwrap();
    let Some((_server, laptop, gpu)) = linked(place.path(), "mail_crosses_both_ways") else {
        return;
    };
    // Larger than what a server takes in one message, once it is encoded.
    let large = "\u{1}".repeat(174_300) + "end";
    laptop.send("bob", "alice", "hi alice");
    laptop.send("bob", "alice", &large);
    gpu.send("alice", "bob", "hi bob");
    gpu.send("alice", "lead", "hi lead");
    wait_for_inbox(&gpu, "alice", &["hi alice".to_owned(), large]);
    wait_for_inbox(&laptop, "bob", &["hi bob".to_owned()]);
    wait_for_inbox(&laptop, "lead", &["hi lead".to_owned()]);
    wait_until("everything is known to be applied", LIMIT, || {
        laptop.waiting("gpu1") == 0 && gpu.waiting("laptop") == 0
    });
    let shown = std::fs::read_to_string(laptop.team.layout().peer(&host("gpu1"))).unwrap();
    assert!(!shown.contains("cret"), "{shown}");
}

#[test]
fn bridges_and_the_server_are_killed_at_random() {
    let place = tempfile::tempdir().unwrap();
    let Some((mut server, mut laptop, mut gpu)) = linked(place.path(), "killed_at_random") else {
        return;
    };
    let (mut rng, expected) = (Rng::new(7), texts(150));
    for (n, text) in expected.iter().enumerate() {
        laptop.send("bob", "alice", text);
        gpu.send("alice", "bob", text);
        match rng.below(20) {
            0 => {
                laptop.kill();
                laptop.start(&server);
            }
            1 => {
                gpu.kill();
                gpu.start(&server);
            }
            _ => {}
        }
        if n % 60 == 30 {
            server.kill();
            server.restart();
        }
    }
    wait_for_inbox(&gpu, "alice", &expected);
    wait_for_inbox(&laptop, "bob", &expected);
}

#[test]
fn a_host_is_off_for_longer_than_the_duplicate_window() {
    let place = tempfile::tempdir().unwrap();
    let Some((server, mut laptop, mut gpu)) = linked(place.path(), "host_is_off") else {
        return;
    };
    gpu.kill();
    let expected = texts(20);
    for text in &expected {
        laptop.send("bob", "alice", text);
    }
    wait_until("mail is queued", LIMIT, || laptop.waiting("gpu1") >= 20);
    // A bridge that begins anew publishes everything again, after the window.
    laptop.kill();
    server.wait_for_end_of_window();
    laptop.start(&server);
    gpu.start(&server);
    wait_for_inbox(&gpu, "alice", &expected);
    wait_until("it is applied", LIMIT, || laptop.waiting("gpu1") == 0);
}

#[test]
fn the_stream_is_deleted_under_a_bridge() {
    let place = tempfile::tempdir().unwrap();
    let Some((server, laptop, mut gpu)) = linked(place.path(), "stream_is_deleted") else {
        return;
    };
    gpu.kill();
    let expected = texts(10);
    for text in &expected {
        laptop.send("bob", "alice", text);
    }
    wait_until("mail is queued", LIMIT, || laptop.waiting("gpu1") >= 10);
    server.delete_stream();
    gpu.start(&server);
    wait_for_inbox(&gpu, "alice", &expected);
}

#[test]
fn a_second_bridge_of_the_same_name_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let Some((server, laptop, _gpu)) = linked(place.path(), "second_bridge") else {
        return;
    };
    let mut twin = Host::new(&place.path().join("twin"), "laptop", "carol");
    twin.start(&server);
    let status = twin.bridge.as_mut().unwrap().wait(LIMIT);
    assert!(!status.success());
    assert!(!laptop.knows("carol"));
}
