//! What is left when the process that owns commands is killed: nothing.

use std::process::Command;

use test_support::{Worker, wait_until};

use crate::bench::{Bench, LONG};

fn owner(bench: &Bench) -> Worker {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tools-owner"));
    command.arg(bench.root()).arg(&bench.context.owner);
    Worker::spawn(&mut command).unwrap()
}

/// Starts one command to wait for and one in the background, with children of all kinds.
fn busy_owner(bench: &Bench) -> Worker {
    let mut owner = owner(bench);
    let calls = [
        r#"bash {"command": "sleep 60 & (setsid sleep 60 &) ; nohup sleep 60 & touch a; sleep 60; echo"}"#,
        r#"background_run {"command": "trap '' TERM; sh -c 'sleep 60; :' & touch b; sleep 60; echo"}"#,
    ];
    for call in calls {
        owner.send_line(call).unwrap();
    }
    let files = ["a", "b"].map(|name| bench.root().join(name));
    wait_until("both run", LONG, || files.iter().all(|file| file.exists()));
    wait_until("their children run", LONG, || bench.processes() >= 8);
    owner
}

#[test]
fn a_killed_owner_leaves_no_process() {
    let bench = Bench::new();
    let mut owner = busy_owner(&bench);
    owner.kill9();
    wait_until("all are gone", LONG, || bench.processes() == 0);
}

#[test]
fn an_owner_that_exits_leaves_no_process() {
    let bench = Bench::new();
    let mut owner = busy_owner(&bench);
    owner.close_stdin();
    owner.wait(LONG);
    wait_until("all are gone", LONG, || bench.processes() == 0);
}

#[test]
fn an_owner_that_is_terminated_leaves_no_process() {
    let bench = Bench::new();
    let mut owner = busy_owner(&bench);
    owner.terminate();
    owner.wait(LONG);
    wait_until("all are gone", LONG, || bench.processes() == 0);
}

/// The owner is killed when so many processes are there, which is while others are being started.
#[test]
fn an_owner_killed_at_any_moment_leaves_no_process() {
    for wanted in 0..12 {
        let bench = Bench::new();
        let mut owner = owner(&bench);
        for _ in 0..3 {
            let call = r#"background_run {"command": "sleep 60 & setsid sleep 60 & sh -c 'sleep 60; :' & wait"}"#;
            owner.send_line(call).unwrap();
        }
        wait_until("some run", LONG, || bench.processes() >= wanted);
        owner.kill9();
        wait_until("all are gone", LONG, || bench.processes() == 0);
    }
}
