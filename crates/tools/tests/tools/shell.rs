//! Commands that are waited for.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::json;
use test_support::wait_until;

use crate::bench::{Bench, LONG, block_on};

fn bash(bench: &Bench, command: &str) -> String {
    block_on(bench.call("bash", json!({"command": command}))).text
}

#[test]
fn output_and_status_are_shown() {
    let bench = Bench::new();
    let root = bench.root().display().to_string();
    for (command, wanted) in [
        ("pwd", root.as_str()),
        ("true", "(no output)"),
        ("echo; echo", "(no output)"),
        ("echo out; echo err >&2; echo out", "out\nerr\nout"),
        ("echo x; exit 2", "x\n[exit status 2]"),
        ("false", "[exit status 1]"),
        ("kill -9 $$", "[killed by signal 9]"),
        ("printf 'a\\377b'", "a\u{fffd}b"),
        ("cat", "(no output)"),
        ("printf '  indented\\n\\n'", "  indented"),
    ] {
        assert_eq!(bash(&bench, command), wanted, "{command}");
    }
    assert!(!block_on(bench.call("bash", json!({"command": "true"}))).is_error);
    bench.fails("bash", json!({"command": "false"}));
    assert_eq!(
        bench.fails("bash", json!({"command": "  "})),
        "Error: the command is empty"
    );
}

#[test]
fn a_child_in_the_background_neither_stalls_nor_survives() {
    let bench = Bench::new();
    let start = Instant::now();
    assert_eq!(
        bench.works("bash", json!({"command": "sleep 60 & echo hi"})),
        "hi"
    );
    assert!(start.elapsed() < LONG);
    assert_eq!(bench.processes(), 0);
}

#[test]
fn the_limit_kills_the_whole_group() {
    let bench = Bench::new();
    let command = "(sleep 60 & setsid sleep 60 & sleep 60) & echo begun; sleep 60";
    let text = bench.fails("bash", json!({"command": command, "timeout": 1}));
    assert_eq!(text, "begun\n[timed out after 1 s]");
    assert_eq!(bench.processes(), 0);
}

#[test]
fn cancelling_interrupts_a_command() {
    let bench = Bench::new();
    let cancel = bench.context.cancel.clone();
    let ready = bench.root().join("ready");
    let waiter = std::thread::spawn(move || {
        wait_until("it runs", LONG, || ready.exists());
        cancel.cancel();
    });
    let command = "echo begun; touch ready; sleep 60";
    let text = bench.fails("bash", json!({"command": command}));
    waiter.join().unwrap();
    assert_eq!(
        (text.as_str(), bench.processes()),
        ("begun\n[interrupted]", 0)
    );
    // Whoever calls after that gets an answer too, and nothing is done.
    let text = bench.fails("write_file", json!({"path": "late", "content": "x"}));
    assert_eq!(text, "Error: interrupted before it was done");
    assert!(!bench.root().join("late").exists());
}

#[test]
fn floods_and_endless_lines_are_cut_in_the_middle_and_saved() {
    let bench = Bench::new();
    let flood = "echo first; yes | head -c 3000000; echo last; exit 3";
    let endless = "printf first; head -c 400000 /dev/zero | tr '\\0' x; printf last; exit 3";
    for (command, size) in [(flood, 3_000_011), (endless, 400_009)] {
        let text = bash(&bench, command);
        let shown = text.chars().count();
        assert!((19_000..=20_100).contains(&shown), "{shown}");
        assert!(text.starts_with("first"), "{:.80}", text);
        assert!(text.ends_with("last\n[exit status 3]"));
        assert_eq!(saved_file(&bench, &text).len(), size);
    }
    let medium = "printf first; head -c 30000 /dev/zero | tr '\\0' x; printf last";
    let text = bash(&bench, medium);
    assert!(text.starts_with("firstx") && text.ends_with("xlast"));
    assert_eq!(saved_file(&bench, &text).len(), 30_009);
    let text = bench.fails("bash", json!({"command": "yes", "timeout": 1}));
    assert!(text.ends_with("y\n[timed out after 1 s]"));
}

/// The content of the file that the note in a shortened text names.
fn saved_file(bench: &Bench, text: &str) -> Vec<u8> {
    let (_, note) = text.split_once("the full output is in ").unwrap();
    let (path, _) = note.split_once(" ...]").unwrap();
    fs::read(bench.root().join(path)).unwrap()
}

/// Whoever needs the middle reads it with the file tools.
#[test]
fn the_whole_output_can_be_read_by_lines() {
    let bench = Bench::new();
    let text = bash(&bench, "seq 1 50000");
    let (_, note) = text.split_once("the full output is in ").unwrap();
    let (path, _) = note.split_once(" ...]").unwrap();
    let middle = json!({"path": path, "offset": 25_000, "limit": 1});
    let middle = bench.works("read_file", middle);
    assert!(middle.starts_with("25000→25000\n"), "{middle}");
    let found = bench.works("grep", json!({"pattern": "^31234$", "path": path}));
    assert!(found.contains("31234:31234"), "{found}");
}

#[test]
fn a_change_of_the_folder_that_does_not_last_is_said() {
    let bench = Bench::new();
    fs::create_dir(bench.root().join("sub")).unwrap();
    let root = bench.root().display().to_string();
    let remark = format!("[cd does not last: the next command starts in {root} again]");
    for command in ["cd sub", "pwd; cd sub;", "true &&\ncd sub"] {
        assert!(bash(&bench, command).ends_with(&remark), "{command}");
    }
    for command in ["cd sub && pwd", "cd sub; ls", "echo cd", "abcd || true"] {
        assert!(
            !bash(&bench, command).contains("does not last"),
            "{command}"
        );
    }
}

#[test]
fn no_character_is_split_where_an_output_is_cut() {
    let bench = Bench::new();
    for lead in ["", "x", "xy", "xyz"] {
        let command = format!("printf '{lead}'; yes 🦀 | tr -d '\\n' | head -c 800000");
        let text = bash(&bench, &command);
        assert!(
            !text.contains('\u{fffd}'),
            "a split character after {lead:?}"
        );
        assert!(text.starts_with(lead) && text.ends_with('🦀'));
    }
}

#[test]
fn what_cannot_be_started_is_told() {
    let bench = Bench::new();
    let text = bench.fails("bash", json!({"command": "x".repeat(300_000)}));
    assert!(
        text.contains("cannot start") && text.contains("too long"),
        "{text}"
    );
    let text = bench.fails("bash", json!({"command": "nul \0"}));
    assert!(
        text.starts_with("Error: the command contains a NUL"),
        "{text}"
    );
    let start = Instant::now();
    let text = bash(&bench, "no-such-program-anywhere");
    assert!(text.ends_with("[exit status 127]"), "{text}");
    assert!(start.elapsed() < LONG + Duration::from_secs(1));
}

#[test]
fn a_command_with_a_nul_is_refused_plainly() {
    let bench = Bench::new();
    for tool in ["bash", "background_run"] {
        let refused = bench.fails(tool, json!({"command": "echo a\0b"}));
        assert!(refused.contains("a NUL character"), "{tool}: {refused}");
        assert!(!refused.contains("sandbox"), "{tool}: {refused}");
    }
}
