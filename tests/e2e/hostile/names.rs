//! Names that look like others, and numbers that nobody counted to.

use crate::harness::{LIMIT, Workspace};
use protocol::exit;
use serde_json::{Value, json};
use std::fs;
use std::time::Instant;

#[test]
fn a_name_that_looks_like_another_is_refused() {
    let workspace = Workspace::with_members(&["alice", "сосо"]);
    // Cyrillic in Latin, full-width letters, and a Latin name like a Cyrillic one.
    let refused = [
        ("аlice", "mixes letters of several scripts"),
        ("ａｌｉｃｅ", "looks like 'alice'"),
        ("coco", "looks like 'сосо'"),
        ("1ead", "looks like 'lead'"),
    ];
    for (name, why) in refused {
        let run = workspace.run(&["spawn", name, "coder", "--model", "offline"]);
        run.complains(exit::FAILED, why, "team-lead status");
        let path = workspace.path().join(format!(".team/members/{name}"));
        assert!(!path.exists(), "{name} left a folder");
    }
    for name in ["Иван", "愛"] {
        workspace.ok(&["spawn", name, "coder", "--model", "offline"]);
        workspace.ok(&["kill", name]);
    }
}

#[test]
fn the_last_incarnation_is_an_error_with_its_cure() {
    let workspace = Workspace::with_members(&["alice"]);
    let path = workspace.path().join(".team/config.json");
    let mut roster: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    roster["members"][0]["incarnation"] = json!(u64::MAX);
    roster["rev"] = json!(u64::MAX);
    fs::write(&path, roster.to_string()).unwrap();
    let began = Instant::now();
    let run = workspace.run(&["spawn", "alice", "coder", "--model", "offline"]);
    let next = format!("${{EDITOR:-vi}} {}", path.display());
    run.complains(exit::FAILED, "is the last possible number", &next);
    // The harness allows a start as much; it must not have been waited for.
    assert!(began.elapsed() < LIMIT);
    let run = workspace.run(&["restart", "alice"]);
    run.has_code(exit::FAILED);
    assert!(run.err.contains("is the last possible number"), "{run:?}");
    roster["members"][0]["incarnation"] = json!(7);
    fs::write(&path, roster.to_string()).unwrap();
    workspace.ok(&["spawn", "alice", "coder", "--model", "offline"]);
    assert_eq!(workspace.incarnation("alice"), 8);
    workspace.ok(&["kill", "alice"]);
}
