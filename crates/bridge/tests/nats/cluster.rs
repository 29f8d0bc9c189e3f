//! A cluster of three servers that keeps three copies, whose leader is killed.

use crate::world::{LIMIT, Way, block_on, link, texts, wait_for_inbox};
use async_nats::jetstream::{self, stream};
use test_support::{NatsPlace, NatsServer, nats_cluster, report_skip, wait_for, wait_until};

/// The name of the server that leads the stream of the team, and how many copies are kept.
fn leader(servers: &[NatsServer]) -> Option<(String, usize)> {
    block_on(async {
        let places: Vec<String> = servers.iter().map(NatsServer::place).collect();
        let client = async_nats::connect(places).await.ok()?;
        let stream = jetstream::new(client)
            .get_stream("team-lead-default")
            .await
            .ok()?;
        let info = stream.get_info().await.ok()?;
        Some((info.cluster?.leader?, info.config.num_replicas))
    })
}

/// Whether the servers have found each other.
fn is_formed(servers: &[NatsServer]) -> bool {
    block_on(async {
        let client = async_nats::connect(servers[0].place()).await;
        let Ok(client) = client else {
            return false;
        };
        let config = stream::Config {
            name: "probe".to_owned(),
            num_replicas: servers.len(),
            ..stream::Config::default()
        };
        let broker = jetstream::new(client);
        broker.get_or_create_stream(config).await.is_ok()
    })
}

#[test]
fn the_leader_of_the_stream_is_killed_in_a_cluster_of_three() {
    let place = tempfile::tempdir().unwrap();
    let places = NatsPlace::local(3).unwrap();
    let mut servers = match nats_cluster(place.path(), &places) {
        Ok(servers) => servers,
        Err(skip) => return report_skip("the_leader_of_the_stream_is_killed", skip),
    };
    wait_until("a cluster", LIMIT, || is_formed(&servers));
    let addresses: Vec<String> = servers
        .iter()
        .map(|server| format!("nats://{}", server.place()))
        .collect();
    let way = Way {
        address: addresses.join(","),
        ..Way::default()
    };
    let (laptop, gpu) = link(place.path(), &way);
    let expected = texts(40);
    for (n, text) in expected.iter().enumerate() {
        laptop.send("bob", "alice", text);
        gpu.send("alice", "bob", text);
        if n == 20 {
            let (name, copies) =
                wait_for("the stream to have a leader", LIMIT, || leader(&servers));
            assert_eq!(copies, 3);
            let killed = servers.iter_mut().find(|server| server.name() == name);
            let killed = killed.expect("a server of the cluster");
            killed.kill9();
            // Another one leads before it is back.
            wait_until("another leader", LIMIT, || {
                leader(&servers).is_some_and(|(now, _)| now != name)
            });
            for server in servers.iter_mut().filter(|server| server.name() == name) {
                server.restart();
            }
        }
    }
    wait_for_inbox(&gpu, "alice", &expected);
    wait_for_inbox(&laptop, "bob", &expected);
    wait_until("everything is known to be applied", LIMIT, || {
        laptop.waiting("gpu1") == 0 && gpu.waiting("laptop") == 0
    });
}
