//! A broker that has no room: nothing is lost, and it goes on when there is room.

use crate::world::{Host, LIMIT, PASSWORD, USER, Way, link, server, wait_for_inbox};
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use test_support::{NatsConfig, NatsServer, SmallDisk, report_skip, wait_until};

/// More than the broker has room for in either test.
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

#[test]
fn the_disk_of_the_broker_is_full() {
    let disk = match SmallDisk::tmpfs(8 << 20) {
        Ok(disk) => disk,
        Err(skip) => return report_skip("the_disk_of_the_broker_is_full", skip),
    };
    let place = tempfile::tempdir().unwrap();
    let limit = "max_file_store: 1GB";
    let test = "the_disk_of_the_broker_is_full";
    let Some(mut server) = server(&disk.path().join("nats"), test, limit) else {
        return;
    };
    let (laptop, mut gpu) = link(place.path(), &Way::to(&server));
    // Somebody else has taken all that was left. The server acknowledges what it then cannot write.
    let filler = disk.path().join("filler");
    let mut file = File::create(&filler).unwrap();
    let full = std::iter::repeat_with(|| file.write_all(&[1; 4096])).find_map(Result::err);
    assert_eq!(full.map(|error| error.kind()), Some(ErrorKind::StorageFull));
    gpu.kill();
    let expected = large_texts();
    for text in &expected {
        laptop.send("bob", "alice", text);
    }
    wait_until("mail is queued", LIMIT, || laptop.waiting("gpu1") >= 150);
    // The room of a file that is still open is not free.
    drop(file);
    fs::remove_file(&filler).unwrap();
    server.kill9();
    server.restart();
    finish(&laptop, &mut gpu, &server, &expected);
}
