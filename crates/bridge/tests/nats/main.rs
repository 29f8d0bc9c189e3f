//! Hosts with real NATS servers, and bridges that are processes of their own.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod chaos;
mod cluster;
mod full;
mod login;
mod network;
mod work;
mod world;

use async_nats::jetstream::message::PublishMessage;
use test_support::{NatsServer, Rng, wait_until};
use world::{Host, LIMIT, Way, linked, texts, use_broker, wait_for_inbox};

/// Deletes the stream of the team, as somebody at the broker may.
fn delete_stream(server: &NatsServer) {
    use_broker(server, async |broker| {
        broker.delete_stream("team-lead-default").await
    })
    .unwrap();
}

/// Whether the broker takes a message for a repeat because of its id. Each is on a subject of its own.
fn is_repeat(server: &NatsServer, id: &str, number: usize) -> bool {
    let subject = format!("team-lead.default.frame.nobody.{number}");
    let message = PublishMessage::build().message_id(id);
    let published = use_broker(server, async |broker| {
        let answer = broker.send_publish(subject, message).await.unwrap();
        answer.await
    });
    published.unwrap().duplicate
}

/// Waits until the broker has forgotten the ids of what it has stored so far.
fn wait_for_end_of_window(server: &NatsServer) {
    assert!(!is_repeat(server, "probe", 0));
    let mut number = 0;
    wait_until("the window for duplicates is over", LIMIT, || {
        number += 1;
        !is_repeat(server, "probe", number)
    });
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
    let shown = laptop.shown("gpu1");
    assert!(
        shown.contains("127.0.0.1") && !shown.contains("cret"),
        "{shown}"
    );
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
                laptop.start(&Way::to(&server));
            }
            1 => {
                gpu.kill();
                gpu.start(&Way::to(&server));
            }
            _ => {}
        }
        if n % 60 == 30 {
            server.kill9();
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
    wait_for_end_of_window(&server);
    laptop.start(&Way::to(&server));
    gpu.start(&Way::to(&server));
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
    delete_stream(&server);
    gpu.start(&Way::to(&server));
    wait_for_inbox(&gpu, "alice", &expected);
}

#[test]
fn the_stream_is_deleted_again_and_again_while_mail_crosses() {
    let place = tempfile::tempdir().unwrap();
    let Some((server, laptop, gpu)) = linked(place.path(), "stream_is_deleted_again") else {
        return;
    };
    let expected = texts(60);
    for (n, text) in expected.iter().enumerate() {
        laptop.send("bob", "alice", text);
        gpu.send("alice", "bob", text);
        if n % 20 == 10 {
            wait_until("there is a stream again", LIMIT, || {
                use_broker(&server, async |broker| {
                    broker.get_stream("team-lead-default").await.is_ok()
                })
            });
            delete_stream(&server);
        }
    }
    wait_for_inbox(&gpu, "alice", &expected);
    wait_for_inbox(&laptop, "bob", &expected);
}

#[test]
fn a_second_bridge_of_the_same_name_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let Some((server, laptop, _gpu)) = linked(place.path(), "second_bridge") else {
        return;
    };
    let mut twin = Host::new(&place.path().join("twin"), "laptop", &["carol"]);
    twin.start(&Way::to(&server));
    let status = twin.bridge.as_mut().unwrap().wait(LIMIT);
    assert!(!status.success());
    assert!(!laptop.knows("carol"));
}
