//! Requests to members of another host.

use super::{Hosts, host};
use crate::harness::{Behaviour, LIMIT, Workspace, agent, signal};
use nix::sys::signal::Signal;
use protocol::{MemberStatus, exit};
use serde_json::Value;
use test_support::wait_until;

/// Waits until the caller knows that a member of the other host runs.
#[track_caller]
fn wait_until_idle(hosts: &Hosts, name: &str) {
    wait_until(&format!("{name} to be idle"), LIMIT, || {
        let roster = hosts.laptop.team().roster().unwrap();
        let member = roster.member(&agent(name));
        member.is_some_and(|member| {
            member.host == Some(host(super::CALLED)) && member.status == MemberStatus::Idle
        })
    });
}

/// The requests to a member that this host has on record.
fn requests(workspace: &Workspace, name: &str) -> Vec<Value> {
    let found = workspace.run(&["requests", "--json"]).json();
    let all = found["requests"].as_array().unwrap().clone();
    all.into_iter()
        .filter(|request| request["to"] == name)
        .collect()
}

#[test]
fn a_shutdown_is_asked_for_here_answered_there_and_recorded_once() {
    let hosts = Hosts::new(&["alice"], &["bob", "ben"]);
    let (laptop, gpu) = (&hosts.laptop, &hosts.gpu);
    let mut bob = gpu.play_member("bob", Behaviour::Agrees);
    let mut ben = gpu.play_member("ben", Behaviour::Refuses);
    let mut bridge = hosts.bridge();
    wait_until_idle(&hosts, "bob");
    wait_until_idle(&hosts, "ben");
    let refused = laptop.run(&["shutdown", "ben", "--wait"]);
    let said = "'ben' refused: the parser is half done\n";
    assert!(
        refused.has_code(exit::FAILED).out.contains(said),
        "{refused:?}"
    );
    assert!(ben.try_wait().is_none());
    // Only the host of the lead gets the answer.
    gpu.run(&["shutdown", "alice"]).complains(
        exit::FAILED,
        "'alice' is at home on the host 'laptop'",
        "team-lead shutdown alice",
    );

    // What is asked while no bridge runs is asked when one runs again.
    bridge.signal(Signal::SIGKILL);
    bridge.wait(LIMIT);
    laptop.ok(&["shutdown", "bob"]);
    assert_eq!(requests(laptop, "bob")[0]["status"], "pending");
    assert!(bob.try_wait().is_none());
    let _bridge = hosts.bridge();
    assert!(bob.wait(LIMIT).success());
    wait_until("the answer", LIMIT, || {
        requests(laptop, "bob")[0]["status"] == "approved"
    });
    wait_until("the end", LIMIT, || {
        laptop.shown("bob")["state"] == "shutdown"
    });
    assert_eq!(requests(laptop, "bob").len(), 1);
    assert_eq!(requests(gpu, "bob").len(), 0, "it is recorded at home");
    let run = laptop.run(&["shutdown", "bob"]);
    assert_eq!(run.has_code(exit::DONE).out, "'bob' is already shut down\n");
}

#[test]
fn a_shutdown_ends_whichever_bridge_is_killed_meanwhile() {
    let names = ["b0", "b1", "b2", "b3"];
    let hosts = Hosts::new(&["alice"], &names);
    let mut members = names.map(|name| hosts.gpu.play_member(name, Behaviour::Agrees));
    let mut bridge = hosts.bridge();
    for (round, (name, member)) in names.iter().zip(&mut members).enumerate() {
        wait_until_idle(&hosts, name);
        let mut asking = hosts.laptop.start(&["shutdown", name, "--wait"]);
        wait_until("the request", LIMIT, || {
            !requests(&hosts.laptop, name).is_empty()
        });
        match round % 2 {
            0 => {
                bridge.signal(Signal::SIGKILL);
                bridge.wait(LIMIT);
                bridge = hosts.bridge();
            }
            _ => {
                if let Some(called) = hosts.called_process() {
                    signal(called, Signal::SIGKILL);
                }
            }
        }
        let what = format!("the end of {name}: {}", bridge.err());
        wait_until(&what, LIMIT, || asking.try_wait().is_some());
        let run = asking.end();
        let said = format!("'{name}' agreed and is gone\n");
        assert!(run.has_code(exit::DONE).out.contains(&said), "{run:?}");
        assert!(member.wait(LIMIT).success());
        let recorded = requests(&hosts.laptop, name);
        assert_eq!(recorded.len(), 1, "{recorded:?}");
        assert_eq!(recorded[0]["status"], "approved", "{recorded:?}");
    }
}
