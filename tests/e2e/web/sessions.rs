//! Sessions that are listed and ended, read-only servers, names of people, and what survives.

use super::client::Client;
use super::{Served, parts, serve, start};
use crate::harness::{LIMIT, Workspace, say};
use protocol::exit;
use serde_json::{Value, json};
use test_support::{try_wait_for, wait_until};

#[test]
fn sessions_are_listed_and_ended_also_while_their_pages_are_open() {
    let workspace = Workspace::with_members(&["alice"]);
    let served = serve(&workspace, &[]);
    let link = workspace.json(&["web", "--link"]);
    let second = Client::login(link["url"].as_str().unwrap());
    let listed = workspace.json(&["web", "--sessions"]);
    let sessions = listed["sessions"].as_array().unwrap();
    assert_eq!(sessions.len(), 2, "{listed}");
    let mut stream = served.client.stream("");
    assert_eq!(stream.next().unwrap().0, "all");
    let first = sessions[0]["id"].as_str().unwrap();
    workspace.ok(&["web", "--revoke", first]);
    while stream.next().is_some() {}
    assert_eq!(served.client.get("/api/sessions").status, 401);
    // The other one goes on, makes a link for a third, and ends it.
    let made = second.post("/api/sessions/link", &json!({}));
    let third = Client::login(made.json()["url"].as_str().unwrap());
    let own = third.get("/api/sessions").json();
    let own = own["sessions"].as_array().unwrap().iter();
    let own = own.filter(|session| session["own"] == true).count();
    assert_eq!(own, 1);
    assert_eq!(third.post("/api/logout", &json!({})).status, 200);
    assert_eq!(third.get("/api/sessions").status, 401);
    assert_eq!(second.get("/api/sessions").status, 200);
    let twice = workspace.run(&["web"]);
    twice.complains(exit::HELD, "another server", "team-lead web --link");
    workspace
        .run(&["web", "--revoke", "nobody"])
        .has_code(exit::NOT_FOUND);
}

#[test]
fn what_a_person_does_carries_their_name() {
    let workspace = Workspace::with_members(&["alice"]);
    let served = serve(&workspace, &[]);
    let client = &served.client;
    let renamed = client.post("/api/sessions/name", &json!({"person": "Maria K."}));
    assert_eq!(renamed.status, 200, "{renamed:?}");
    let name = protocol::AgentName::new("alice").unwrap();
    let incarnation = protocol::Incarnation(0);
    let plan = team::submit_plan(workspace.team(), &name, incarnation, "Look.").unwrap();
    let answer = json!({"id": plan.id, "approve": true, "text": "Fine."});
    let answered = client.post("/api/answer", &answer);
    assert_eq!(answered.status, 200, "{answered:?}");
    assert_eq!(
        client
            .post(
                "/api/answer",
                &json!({"id": plan.id, "approve": false, "text": "No"})
            )
            .status,
        409
    );
    let file: Value =
        serde_json::to_value(protocol::RequestFile::from(workspace.request(&plan))).unwrap();
    assert!(file.to_string().contains("Maria K."), "{file}");
    for (path, body) in [
        ("send", json!({"to": "alice", "text": "Hello."})),
        ("task/create", json!({"subject": "Test it"})),
        (
            "task/update",
            json!({"id": 1, "priority": 9, "note": "soon"}),
        ),
        ("budget", json!({"member": "alice", "max_tokens": 5000})),
    ] {
        let done = client.post(&format!("/api/{path}"), &body);
        assert_eq!(done.status, 200, "{path}: {done:?}");
    }
    let events = workspace.events();
    for kind in ["resolve", "send", "task", "budget"] {
        let named = events.iter().filter(|event| event["event"] == kind);
        assert!(named.clone().count() > 0, "{kind}");
        assert!(
            named.clone().any(|event| event["person"] == "Maria K."),
            "{kind}: {events:?}"
        );
    }
}

#[test]
fn what_cannot_be_done_is_refused_with_a_reason() {
    let workspace = Workspace::with_members(&["alice"]);
    let served = serve(&workspace, &[]);
    let client = &served.client;
    for (path, body, status) in [
        ("send", json!({"to": "nobody", "text": "x"}), 404),
        ("send", json!({"to": "alice", "text": " "}), 400),
        ("send", json!({"to": "alice"}), 400),
        ("task/update", json!({"id": 99, "priority": 1}), 409),
        (
            "task/create",
            json!({"subject": "x", "blocked_by": [77]}),
            409,
        ),
        ("budget", json!({"member": "alice"}), 400),
        ("shutdown", json!({"name": "alice"}), 409),
        ("sessions/revoke", json!({"id": "nobody"}), 404),
    ] {
        let refused = client.post(&format!("/api/{path}"), &body);
        assert_eq!(refused.status, status, "{path}: {refused:?}");
    }
}

#[test]
fn a_read_only_server_shows_and_changes_nothing() {
    let workspace = Workspace::with_members(&["alice"]);
    let served = serve(&workspace, &["--read-only"]);
    let client = &served.client;
    let mut stream = client.stream("");
    let (_, all) = stream.next().unwrap();
    assert_eq!(all["members"]["set"]["alice"]["role"], "tester");
    let before = workspace.listing();
    for path in [
        "answer",
        "send",
        "broadcast",
        "budget",
        "task/create",
        "task/update",
        "land",
        "spawn",
        "restart",
        "shutdown",
        "sessions/link",
    ] {
        let refused = client.post(&format!("/api/{path}"), &json!({}));
        assert_eq!(refused.status, 403, "{path}: {refused:?}");
    }
    assert_eq!(workspace.listing(), before);
}

#[test]
fn a_killed_server_comes_back_at_its_port_with_its_sessions() {
    let workspace = Workspace::with_members(&["alice"]);
    let mut served = serve(&workspace, &[]);
    served.session.kill9();
    let (_second, url) = start(&workspace, &[]);
    assert_eq!(parts(&url).0, served.client.address);
    // What the page sent to the killed one opens nothing here: somebody else may have had the port meanwhile.
    assert_eq!(served.client.get("/api/sessions").status, 401);
    served.client.meet();
    assert_eq!(served.client.get("/api/sessions").status, 200);
    // The token of the killed one opens nothing.
    assert_eq!(
        super::client::login_with(parts(&url).0, parts(&served.url).1).status,
        401
    );
}

/// A cookie as a server at another port would get it from somebody who passes it on.
fn cookie_for(cookie: &str, address: &str) -> String {
    let (_, value) = cookie.split_once('=').unwrap();
    let (_, port) = address.rsplit_once(':').unwrap();
    format!("team_lead_{port}={value}")
}

#[test]
fn a_port_that_somebody_else_took_ends_all_sessions() {
    let workspace = Workspace::with_members(&["alice"]);
    let mut served = serve(&workspace, &[]);
    served.session.kill9();
    let taken = try_wait_for(LIMIT, || {
        std::net::TcpListener::bind(&served.client.address).ok()
    });
    let taken = taken.unwrap();
    let (_second, url) = start(&workspace, &[]);
    drop(taken);
    let address = parts(&url).0.to_owned();
    assert_ne!(address, served.client.address);
    let mut old = Client {
        cookie: cookie_for(&served.client.cookie, &address),
        address,
        ..served.client
    };
    assert_eq!(old.get("/api/sessions").status, 401);
    // Nor does it help whoever took the port to pass on what the new server says.
    old.meet();
    assert_eq!(old.get("/api/sessions").status, 401);
    let listed = workspace.json(&["web", "--sessions"]);
    assert_eq!(listed["sessions"], json!([]));
}

#[test]
fn other_machines_are_served_only_on_request_and_with_a_warning() {
    let workspace = Workspace::with_members(&["alice"]);
    let served = serve(&workspace, &["--listen", "0.0.0.0"]);
    assert!(
        served.session.err().contains("not encrypted"),
        "{}",
        served.session.err()
    );
    assert!(
        !served.client.address.starts_with("127."),
        "{}",
        served.client.address
    );
    assert_eq!(served.client.get("/api/sessions").status, 200);
    let stranger = Client {
        page_key: "0".repeat(64),
        ..served.client.clone()
    };
    assert_eq!(stranger.get("/api/sessions").status, 401);
}

#[test]
fn without_listen_only_this_machine_is_served_at_a_port_of_its_own() {
    let (first, second) = (
        Workspace::with_members(&["alice"]),
        Workspace::with_members(&["alice"]),
    );
    let (one, other) = (serve(&first, &[]), serve(&second, &[]));
    let address =
        |served: &Served| -> std::net::SocketAddr { served.client.address.parse().unwrap() };
    let (one, other) = (address(&one), address(&other));
    assert!(one.ip().is_loopback() && other.ip().is_loopback());
    assert_ne!(one.port(), other.port());
    // The address by which other machines would come.
    let asked = std::net::UdpSocket::bind("0.0.0.0:0").unwrap();
    if asked.connect(("192.0.2.1", 9)).is_ok() {
        let own = asked.local_addr().unwrap().ip();
        let reached = std::net::TcpStream::connect((own, one.port()));
        assert!(reached.is_err() || own.is_loopback());
    }
}

#[test]
fn the_page_says_when_the_folder_is_gone_and_follows_a_member_live() {
    let workspace = Workspace::new();
    workspace.script("alice", [say("**First** answer."), say("Second answer.")]);
    workspace.spawn("alice", &["--prompt", "Say something."]);
    workspace.wait_reports("alice", 1);
    let served = serve(&workspace, &[]);
    let mut stream = served.client.stream("?member=alice");
    let said = |text: &'static str| {
        move |event: &str, data: &Value| {
            let entries = data["entries"].as_array()?;
            let is_said = |entry: &Value| entry["kind"] == "said" && entry["text"] == text;
            (event == "conversation" && entries.iter().any(is_said)).then_some(())
        }
    };
    stream.wait_for(said("**First** answer."));
    let sent = served.client.post(
        "/api/send",
        &json!({"to": "alice", "text": "More, please."}),
    );
    assert_eq!(sent.status, 200, "{sent:?}");
    stream.wait_for(said("Second answer."));
    workspace.ok(&["shutdown", "--all", "--force", "--timeout", "0"]);
    std::fs::remove_dir_all(workspace.path().join(".team")).unwrap();
    stream.wait_for(|_, data| data["team"]["problem"].as_str().map(str::to_owned));
    // Whoever asks then is told why, and the server lives.
    let refused = served
        .client
        .post("/api/send", &json!({"to": "alice", "text": "x"}));
    assert!(refused.status >= 400, "{refused:?}");
    wait_until("a page that says so", LIMIT, || {
        let (_, all) = served.client.stream("").next().unwrap();
        all["team"]["problem"].is_string()
    });
}
