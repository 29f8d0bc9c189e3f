//! Work in trees across hosts: it is submitted on one and lands on `team/main` of both.

use super::{CALLED, CALLER, Hosts};
use crate::harness::{LIMIT, Session, Workspace, say};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use test_support::{git, init_repository, wait_until};

/// Two hosts with the same repository, and bob with a tree of his own on the one that is called.
fn hosts() -> Hosts {
    let (laptop, gpu) = (Workspace::new(), Workspace::new());
    for workspace in [&laptop, &gpu] {
        init_repository(workspace.path());
    }
    laptop.write("shared.txt", "one\n");
    git(laptop.path(), ["add", "shared.txt"]);
    git(laptop.path(), ["commit", "--quiet", "--message", "Begin"]);
    let source = laptop.path().display().to_string();
    git(gpu.path(), ["pull", "--quiet", &source, "main"]);
    let hosts = Hosts::of(laptop, gpu);
    hosts.gpu.script("bob", (0..12).map(|_| say("I see.")));
    hosts
        .gpu
        .spawn("bob", &["--tree", "own", "--prompt", "Wait for work."]);
    hosts.gpu.wait_reports("bob", 1);
    hosts
}

fn tree(workspace: &Workspace, name: &str) -> PathBuf {
    workspace.team().layout().trees_dir().join(name)
}

/// Commits a file in a tree. Returns the commit.
fn commit(tree: &Path, name: &str, text: &str) -> String {
    std::fs::write(tree.join(name), text).unwrap();
    git(tree, ["add", "--all"]);
    git(tree, ["commit", "--quiet", "--message", name]);
    git(tree, ["rev-parse", "HEAD"]).trim().to_owned()
}

fn main_of(workspace: &Workspace) -> String {
    git(workspace.path(), ["rev-parse", "team/main"])
        .trim()
        .to_owned()
}

fn submissions(workspace: &Workspace) -> Vec<Value> {
    let listed = workspace.json(&["submissions"]);
    listed["submissions"].as_array().unwrap().clone()
}

#[track_caller]
fn wait_status(workspace: &Workspace, session: &Session, id: usize, status: &str) -> Value {
    let of = || submissions(workspace).get(id - 1).cloned();
    wait_until(
        &format!("submission {id} is {status}: {}", session.err()),
        LIMIT,
        || of().is_some_and(|found| found["status"] == status),
    );
    of().unwrap()
}

#[track_caller]
fn wait_same_main(hosts: &Hosts, session: &Session) {
    wait_until(
        &format!("team/main is followed: {}", session.err()),
        LIMIT,
        || main_of(&hosts.laptop) == main_of(&hosts.gpu),
    );
}

#[test]
fn what_is_submitted_far_away_lands_at_home_and_follows_back() {
    let hosts = hosts();
    let (laptop, gpu) = (&hosts.laptop, &hosts.gpu);
    let bridge = hosts.bridge();
    let work = commit(&tree(gpu, "bob"), "b.txt", "from bob\n");
    gpu.ok(&["submit", "bob"]);
    let there = wait_status(laptop, &bridge, 1, "merged");
    assert_eq!(
        (
            &there["member"],
            &there["host"],
            &there["origin"],
            &there["commit"]
        ),
        (&json!("bob"), &json!(CALLED), &json!(1), &json!(work))
    );
    let here = wait_status(gpu, &bridge, 1, "merged");
    assert_eq!(
        (&here["sent_to"], &here["taken_as"], &here["merge"]),
        (&json!(CALLER), &json!(1), &there["merge"])
    );
    wait_same_main(&hosts, &bridge);
    assert_eq!(git(gpu.path(), ["show", "team/main:b.txt"]), "from bob\n");
}
