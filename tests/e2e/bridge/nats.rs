//! `bridge` with a broker: how its address is given, and that a password in it is never shown.

use crate::harness::{LIMIT, Run, Session, Workspace, agent, recipient};
use protocol::{Incarnation, RequestStatus, exit};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use test_support::{Worker, report_skip, wait_until};

const VARIABLE: &str = "TEAM_NATS_URL";

#[test]
fn wrong_usage_of_an_address_does_not_repeat_its_password() {
    let workspace = Workspace::new();
    let before = workspace.listing();
    for words in [
        &["nats://anna:se-cret@broker"][..],
        &["tls://anna:se-cret@broker,ftp://broker"],
        &["natss://anna:se-cret@broker"],
        &["ssh://gpu1/~/project", "--lead", "gpu1"],
        &[],
    ] {
        let run = workspace.run(&[&["bridge"], words].concat());
        run.complains(exit::USAGE, "", "team-lead bridge --help");
        assert!(!run.err.contains("cret"), "{run:?}");
    }
    let mut command = workspace.command(&["bridge"]);
    let run = Run::of(command.env(VARIABLE, "ssh://anna:se-cret@broker"));
    run.complains(exit::USAGE, VARIABLE, "team-lead bridge --help");
    assert!(!run.err.contains("cret"), "{run:?}");
    assert_eq!(workspace.listing(), before, "wrong use changed something");
}

#[test]
fn usage_as_a_service_leaves_the_password_in_a_file_of_its_own() {
    let workspace = Workspace::new();
    let words = ["bridge", "--service", "--lead", "laptop"];
    let run = Run::of(
        workspace
            .command(&words)
            .env(VARIABLE, "nats://anna:se-cret@broker"),
    );
    run.has_code(exit::DONE);
    assert!(!format!("{run:?}").contains("cret"), "{run:?}");
    assert!(run.out.contains("EnvironmentFile="), "{run:?}");
    assert!(run.out.contains(r#""--lead" "laptop""#), "{run:?}");
    let words = [
        "bridge",
        "nats://broker",
        "--service",
        "--credentials",
        "my.creds",
    ];
    let unit = workspace.ok(&words);
    let file = workspace.path().join("my.creds");
    let end = format!(
        r#""--credentials" "{}" "nats://broker:4222""#,
        file.display()
    );
    assert!(unit.contains(&end), "{unit}");
    assert!(!unit.contains("EnvironmentFile="), "{unit}");
}

/// A NATS server with one user, or nothing if none is installed.
pub(super) fn broker(place: &Path, test: &str) -> Option<(Worker, String)> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(std::env::home_dir()?.join(".cache")))?;
    let program = cache.join("team-lead-test-tools/nats/bin/nats-server");
    if !program.exists() {
        report_skip(test, "no NATS server: scripts/install-test-tools");
        return None;
    }
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port().to_string();
    drop(free);
    let mut command = Command::new(program);
    command.args(["-js", "-a", "127.0.0.1", "-p", &port]);
    command.args(["--user", "anna", "--pass", "se-cret"]);
    command.arg("-sd").arg(place).stderr(Stdio::null());
    let address = format!("nats://anna:se-cret@127.0.0.1:{port}");
    Some((Worker::spawn(&mut command).unwrap(), address))
}

pub(super) fn start(workspace: &Workspace, words: &[&str], address: &str) -> Session {
    let mut command = workspace.command(&[&["bridge"], words].concat());
    workspace.start_command(command.env(VARIABLE, address))
}

#[test]
fn two_hosts_are_linked_by_a_broker_and_the_lead_gets_mail_from_the_other() {
    let place = tempfile::tempdir().unwrap();
    let Some((_broker, address)) = broker(place.path(), "two_hosts_are_linked_by_a_broker") else {
        return;
    };
    let laptop = Workspace::with_members(&["bob"]);
    let gpu = Workspace::with_members(&["alice"]);
    let wrong = address.replace("se-cret", "other-cret");
    let refused = start(&gpu, &["--name", "gpu1"], &wrong).end();
    refused.complains(
        exit::FAILED,
        "does not let this user in",
        "team-lead status",
    );
    let here = start(&laptop, &["--name", "laptop", "-v"], &address);
    let there = start(&gpu, &["--lead", "laptop", "-v"], &address);
    let knows = |workspace: &Workspace, name: &str| {
        workspace
            .team()
            .roster()
            .unwrap()
            .member(&agent(name))
            .is_some()
    };
    wait_until("the hosts know each other", LIMIT, || {
        knows(&laptop, "alice") && knows(&gpu, "bob")
    });
    laptop.ok(&["send", "alice", "hello from the laptop"]);
    let arrived = |workspace: &Workspace, owner: &str, text: &str| {
        let mail = workspace.inbox(&recipient(owner));
        mail.iter().any(|message| message.body.text() == text)
    };
    wait_until("mail comes to the other host", LIMIT, || {
        arrived(&gpu, "alice", "hello from the laptop")
    });
    gpu.write_line(
        "lead",
        &serde_json::json!({
            "type": "message",
            "id": teamdir::new_message_id(),
            "from": "alice",
            "to": "lead",
            "content": "hello from the other host",
        }),
    );
    wait_until("mail comes to the lead", LIMIT, || {
        arrived(&laptop, "lead", "hello from the other host")
    });
    let plan = team::submit_plan(gpu.team(), &agent("alice"), Incarnation(1), "Read.").unwrap();
    wait_until("the plan is shown", LIMIT, || {
        team::find_request(laptop.team(), &plan.id).is_ok()
    });
    laptop.ok(&["approve", plan.id.as_str()]);
    wait_until("the answer is recorded at home", LIMIT, || {
        let stored = gpu.team().request(&plan.id).unwrap();
        let copy = team::find_request(laptop.team(), &plan.id).unwrap();
        stored.status() == RequestStatus::Approved && copy.state == stored.state
    });
    let said = format!("{refused:?}{}{}", here.err(), there.err());
    assert!(!said.contains("cret"), "{said}");
    assert!(!laptop.ok(&["status", "--json"]).contains("cret"));
}
