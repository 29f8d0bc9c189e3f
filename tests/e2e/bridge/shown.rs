//! What people see of other hosts and of those at home there, and what is refused for them here.

use super::{CALLED, CALLER, Hosts};
use crate::harness::{LIMIT, Workspace};
use nix::sys::signal::Signal;
use protocol::exit;
use serde_json::Value;
use test_support::wait_until;

fn status(workspace: &Workspace) -> Value {
    serde_json::from_str(&workspace.ok(&["status", "--json"])).unwrap()
}

/// Waits until the other host is shown in this state, with so much queued.
#[track_caller]
fn wait_for_host(workspace: &Workspace, name: &str, state: &str, queued: u64) {
    wait_until(&format!("{name} to be {state}"), LIMIT, || {
        let shown = status(workspace);
        let host = &shown["hosts"][0];
        host["name"] == name && host["state"] == state && host["queued"] == queued
    });
}

#[test]
fn status_shows_hosts_with_what_is_queued_for_them_and_where_the_lead_is() {
    let hosts = Hosts::new(&["alice"], &["bob"]);
    let (laptop, gpu) = (&hosts.laptop, &hosts.gpu);
    assert!(!laptop.ok(&["status"]).contains("Host"));
    let mut bridge = hosts.bridge();
    hosts.wait_linked(&bridge, "alice", "bob");
    wait_for_host(laptop, CALLED, "linked", 0);
    wait_for_host(gpu, CALLER, "linked", 0);
    let shown = laptop.ok(&["status"]);
    assert!(shown.contains(") on gpu1: "), "{shown}");
    assert!(shown.contains("\nHost gpu1: linked, 0 queued\n"), "{shown}");
    assert!(shown.contains("\nLead: not running\n"), "{shown}");
    let shown = gpu.ok(&["status"]);
    assert!(
        shown.contains("\nLead: at home on the host laptop\n"),
        "{shown}"
    );
    assert_eq!(status(gpu)["lead"]["host"], CALLER);
    assert_eq!(status(gpu)["host"], CALLED);

    bridge.signal(Signal::SIGKILL);
    bridge.wait(LIMIT);
    laptop.ok(&["send", "bob", "one"]);
    wait_for_host(laptop, CALLED, "no_bridge", 1);
    let shown = laptop.ok(&["status"]);
    let line = "Host gpu1: no bridge runs here (team-lead bridge --help), 1 queued\n";
    assert!(shown.contains(line), "{shown}");
    laptop.run(&["wait", "--timeout", "0"]).complains(
        exit::TIMED_OUT,
        "1 queued for the host 'gpu1'; no bridge runs here",
        "team-lead status",
    );

    // What the killed bridge said of the host does not count for the next one.
    let bridge = hosts.call("/does/not/exist", &hosts.address());
    bridge.wait_for_error_text("the next try is in");
    wait_for_host(laptop, CALLED, "unreachable", 1);
    let shown = laptop.ok(&["status"]);
    assert!(
        shown.contains("Host gpu1: cannot be reached for "),
        "{shown}"
    );
    assert!(shown.contains("ssh cannot be started"), "{shown}");
    drop(bridge);

    let bridge = hosts.bridge();
    wait_for_host(laptop, CALLED, "linked", 0);
    laptop.ok(&["wait", "--timeout", "60"]);
    drop(bridge);
}

#[test]
fn where_the_lead_is_at_home_is_not_changed_by_a_word() {
    let hosts = Hosts::new(&["alice"], &["bob"]);
    let bridge = hosts.bridge();
    hosts.wait_linked(&bridge, "alice", "bob");
    drop(bridge);
    wait_until("the end of the other side", LIMIT, || {
        hosts.called_process().is_none()
    });
    let words = ["bridge", "nats://127.0.0.1:1", "--lead", "other"];
    hosts.gpu.run(&words).complains(
        exit::FAILED,
        "the lead of this team is at home on the host 'laptop', not on 'other'",
        "team-lead bridge --forget laptop",
    );
    let roster = hosts.gpu.team().roster().unwrap();
    assert_eq!(roster.lead_host, Some(super::host(CALLER)));
}

#[test]
fn what_only_the_home_host_can_do_is_refused_with_the_command_to_type() {
    let hosts = Hosts::new(&["alice"], &["bob"]);
    let (laptop, gpu) = (&hosts.laptop, &hosts.gpu);
    let mut bridge = hosts.bridge();
    hosts.wait_linked(&bridge, "alice", "bob");
    let place = gpu.path().display();
    for words in [
        &["kill", "bob"][..],
        &["restart", "bob"],
        &["rm", "bob"],
        &["attach", "bob"],
        &["shutdown", "bob", "--force"],
        &["status", "--pid", "bob"],
    ] {
        let next = format!("ssh gpu1 'team-lead {} --dir {place}'", words.join(" "));
        laptop
            .run(words)
            .complains(exit::FAILED, "'bob' is at home on the host 'gpu1'", &next);
    }
    // The host that was called does not know how to call the other one.
    gpu.run(&["status", "--pid", "lead"]).complains(
        exit::FAILED,
        "'lead' is at home on the host 'laptop': run the command there",
        "team-lead status --pid lead",
    );
    let all = laptop.run(&["shutdown", "--all", "--force"]);
    let said = "not asked, because they are at home on other hosts: bob";
    assert!(all.has_code(exit::DONE).err.contains(said), "{all:?}");
    // The bridge holds the locks of those elsewhere, and is not ended in their place.
    let called = hosts.called_process();
    gpu.ok(&["down"]);
    laptop.ok(&["down"]);
    assert_eq!(hosts.called_process(), called);
    assert!(bridge.try_wait().is_none(), "{}", bridge.err());
    for workspace in [laptop, gpu] {
        let found = workspace.run(&["doctor", "--json"]).out;
        for name in ["'alice'", "'bob'", "'lead'"] {
            assert!(!found.contains(name), "{found}");
        }
    }
}
