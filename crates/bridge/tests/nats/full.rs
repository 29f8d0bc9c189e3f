//! A broker that has no room: nothing is lost, and it goes on when there is room.

use crate::world::{Host, LIMIT, PASSWORD, USER, Way, link, server, use_broker, wait_for_inbox};
use std::io::Write as _;
use test_support::{NatsConfig, NatsServer, wait_until};

/// More than the broker has room for.
fn large_texts() -> Vec<String> {
    let filling = "x".repeat(20_000);
    (0..150).map(|n| format!("{n} {filling}")).collect()
}

/// Fills the broker, and waits until people are told that mail waits.
fn fill(laptop: &Host, gpu: &mut Host) -> Vec<String> {
    gpu.kill();
    let expected = large_texts();
    for text in &expected {
        laptop.send("bob", "alice", text);
    }
    wait_until("the broker is full", LIMIT, || {
        laptop.waiting("gpu1") >= 150 && is_broker_trouble(&laptop.shown("gpu1"))
    });
    expected
}

/// Whether people are told of trouble with the broker, and not only that the other host is off.
fn is_broker_trouble(shown: &str) -> bool {
    let shown: serde_json::Value = serde_json::from_str(shown).unwrap_or_default();
    let problem = shown["problem"].as_str().unwrap_or_default();
    !problem.is_empty() && !problem.contains("its bridge is not connected")
}

fn finish(laptop: &Host, gpu: &mut Host, server: &NatsServer, expected: &[String]) {
    gpu.start(&Way::to(server));
    wait_for_inbox(gpu, "alice", expected);
    wait_until("it is applied", LIMIT, || laptop.waiting("gpu1") == 0);
}

#[test]
fn the_room_that_the_broker_may_use_is_full() {
    let place = tempfile::tempdir().unwrap();
    let test = "the_room_that_the_broker_may_use_is_full";
    let folder = place.path().join("nats");
    let Some(mut server) = server(&folder, test, "max_file_store: 1MB") else {
        return;
    };
    let (laptop, mut gpu) = link(place.path(), &Way::to(&server));
    let expected = fill(&laptop, &mut gpu);
    server.kill9();
    server.configure(&NatsConfig::with_user(USER, PASSWORD));
    server.restart();
    finish(&laptop, &mut gpu, &server, &expected);
}

/// Takes all the room of the broker for a stream of somebody else.
fn take_all_room(server: &NatsServer) {
    use_broker(server, async |context| {
        let config = async_nats::jetstream::stream::Config {
            name: "other".to_owned(),
            subjects: vec!["other".to_owned()],
            ..Default::default()
        };
        context.create_stream(config).await.unwrap();
        for size in [64 << 10, 4 << 10, 64] {
            while let Ok(answer) = context.publish("other", vec![b'x'; size].into()).await
                && answer.await.is_ok()
            {}
        }
    });
}

#[test]
fn mail_to_a_host_that_listens_crosses_while_the_broker_can_store_nothing() {
    let place = tempfile::tempdir().unwrap();
    let test = "mail_to_a_host_that_listens_crosses_while_the_broker_can_store_nothing";
    let folder = place.path().join("nats");
    let Some(server) = server(&folder, test, "max_file_store: 1MB") else {
        return;
    };
    let (laptop, gpu) = link(place.path(), &Way::to(&server));
    take_all_room(&server);
    let expected: Vec<String> = (0..20).map(|n| n.to_string()).collect();
    for text in &expected {
        laptop.send("bob", "alice", text);
        wait_until("it is there", LIMIT, || gpu.inbox("alice").contains(text));
    }
    wait_for_inbox(&gpu, "alice", &expected);
    wait_until("it is applied", LIMIT, || laptop.waiting("gpu1") == 0);
}

/// A file system of its own for the broker, which goes with this.
struct SmallDisk(std::path::PathBuf);

impl SmallDisk {
    fn new(place: &std::path::Path) -> Option<Self> {
        std::fs::create_dir_all(place).unwrap();
        let disk = Self(place.to_owned());
        disk.mount("size=2m", &["-t", "tmpfs", "tmpfs"])
            .then_some(disk)
    }

    fn mount(&self, options: &str, words: &[&str]) -> bool {
        let mut command = std::process::Command::new("mount");
        command.args(["-o", options]).args(words).arg(&self.0);
        let output = command.output();
        output.is_ok_and(|output| output.status.success())
    }

    fn grow(&self) {
        assert!(self.mount("remount,size=64m", &[]));
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let mut command = std::process::Command::new("umount");
        let _ = command.arg("-l").arg(&self.0).status();
    }
}

#[test]
fn the_disk_of_the_broker_is_full() {
    let place = tempfile::tempdir().unwrap();
    let test = "the_disk_of_the_broker_is_full";
    let folder = place.path().join("nats");
    let Some(disk) = SmallDisk::new(&folder) else {
        let _ = writeln!(
            std::io::stderr(),
            "{test} was left out: only root may mount"
        );
        return;
    };
    let Some(mut server) = server(&folder, test, "") else {
        return;
    };
    let (laptop, mut gpu) = link(place.path(), &Way::to(&server));
    let expected = fill(&laptop, &mut gpu);
    server.kill9();
    disk.grow();
    server.restart();
    finish(&laptop, &mut gpu, &server, &expected);
}
