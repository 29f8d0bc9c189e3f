//! Files are replaced only as they were last seen.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Instant, SystemTime};

use proptest::prelude::*;
use serde_json::json;
use tools::{ChangedBy, Changes, SeenFiles, ToolContext};

use crate::bench::{Bench, LONG, block_on};

/// Another agent in the same workspace.
fn colleague(bench: &Bench) -> ToolContext {
    ToolContext {
        seen: SeenFiles::default(),
        ..bench.context.clone()
    }
}

#[test]
fn an_existing_file_is_replaced_only_after_it_was_read() {
    let bench = Bench::new();
    bench.file("file", "precious");
    let write = || json!({"path": "file", "content": "new"});
    let refused = bench.fails("write_file", write());
    assert_eq!(
        refused,
        "Error: file exists and you have not read it; read it with read_file before you replace it"
    );
    assert_eq!(bench.text("file"), "precious");
    bench.works("read_file", json!({"path": "file", "limit": 1}));
    bench.works("write_file", write());
    // What one wrote oneself is known, also by another path.
    bench.works(
        "write_file",
        json!({"path": "./sub/../file", "content": "newer"}),
    );
    assert_eq!(bench.text("file"), "newer");
    bench.file("empty", "");
    bench.works("write_file", json!({"path": "empty", "content": "x"}));
    // A new process has seen nothing.
    let again = colleague(&bench);
    let output = block_on(
        bench
            .registry
            .call("write_file", &write().to_string(), &again),
    );
    assert!(output.is_error, "{output:?}");
}

/// Changes by a colleague.
#[derive(Debug)]
struct Colleague(ChangedBy, Mutex<Vec<PathBuf>>);

impl Changes for Colleague {
    fn record(&self, location: &Path) {
        self.1.lock().unwrap().push(location.to_owned());
    }

    fn find(&self, _: &Path, _: SystemTime) -> Option<ChangedBy> {
        Some(self.0.clone())
    }
}

#[test]
fn who_changed_a_file_is_said_where_it_is_known() {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    for (by, text) in [
        (
            ChangedBy::FileTool("bob".to_owned()),
            "(bob changed it with a file tool)",
        ),
        (
            ChangedBy::Command(names(&["bob", "carol"])),
            "(while commands of bob and carol ran)",
        ),
    ] {
        let mut bench = Bench::new();
        let changes = Arc::new(Colleague(by, Mutex::default()));
        bench.context.seen = SeenFiles::shared_with(changes.clone());
        let write = |text: &str| json!({"path": "./file", "content": text});
        bench.works("write_file", write("mine"));
        assert_eq!(*changes.1.lock().unwrap(), [PathBuf::from("file")]);
        bench.file("file", "theirs");
        let refused = bench.fails("write_file", write("again"));
        assert!(refused.contains(text), "{refused}");
        assert_eq!(bench.text("file"), "theirs");
    }
}

#[test]
fn a_change_by_somebody_else_is_shown_and_not_overwritten() {
    let bench = Bench::new();
    bench.file("file", "one\ntwo\nthree\n");
    bench.works("read_file", json!({"path": "file"}));
    bench.file("file", "one\nTWO\nthree\n");
    let write = json!({"path": "file", "content": "mine"});
    let edit = json!({"path": "file", "old_text": "one", "new_text": "1"});
    for (tool, arguments) in [("write_file", &write), ("edit_file", &edit)] {
        let refused = bench.fails(tool, arguments.clone());
        assert!(
            refused.starts_with("Error: file has changed since you last read or wrote it, so"),
            "{refused}"
        );
        assert!(refused.contains("\n-two\n+TWO\n"), "{refused}");
        assert!(
            refused.ends_with("Read it again with read_file before you change it."),
            "{refused}"
        );
    }
    assert_eq!(bench.text("file"), "one\nTWO\nthree\n");
    bench.works("read_file", json!({"path": "file"}));
    bench.works("edit_file", edit);
    assert_eq!(bench.text("file"), "1\nTWO\nthree\n");
    // One that is gone can be written anew.
    fs::remove_file(bench.root().join("file")).unwrap();
    bench.works("write_file", write);
    assert_eq!(bench.text("file"), "mine");
}

#[test]
fn a_change_by_an_own_command_is_said_to_be_one() {
    let bench = Bench::new();
    bench.file("file", "one\n");
    bench.works("read_file", json!({"path": "file"}));
    bench.works("bash", json!({"command": "echo two >> file"}));
    let edit = json!({"path": "file", "old_text": "one", "new_text": "1"});
    let refused = bench.fails("edit_file", edit);
    assert!(
        refused.contains("(while your command `echo two >> file` ran)"),
        "{refused}"
    );
}

/// A step of an agent that adds a line of its own to a file that all share.
fn add_line(bench: &Bench, agent: &ToolContext, line: &str, whole: bool) -> bool {
    let call = |tool, arguments: serde_json::Value| {
        block_on(bench.registry.call(tool, &arguments.to_string(), agent))
    };
    let seen = call("read_file", json!({"path": "shared"}));
    let content: String = seen
        .text
        .lines()
        .map(|line| format!("{}\n", line.split_once('→').unwrap().1))
        .collect();
    let done = match whole {
        true => {
            let content = format!("{content}{line}\n");
            call("write_file", json!({"path": "shared", "content": content}))
        }
        false => {
            let edit =
                json!({"path": "shared", "old_text": "end", "new_text": format!("end\n{line}")});
            call("edit_file", edit)
        }
    };
    let is_expected = !done.is_error
        || done.text.contains("has changed since")
        || done.text.contains("is being changed");
    assert!(is_expected, "{done:?}");
    !done.is_error
}

/// Whatever was reported as written is there in the end.
#[test]
fn agents_that_work_on_one_file_at_once_lose_no_change() {
    let bench = Bench::new();
    bench.file("shared", "end\n");
    let written: Vec<BTreeSet<String>> = std::thread::scope(|scope| {
        let agents = (0..3).map(|agent| {
            let bench = &bench;
            scope.spawn(move || {
                let context = colleague(bench);
                let (start, mut done) = (Instant::now(), BTreeSet::new());
                let mut number = 0;
                while done.len() < 20 && start.elapsed() < LONG {
                    let line = format!("{agent}-{number}");
                    if add_line(bench, &context, &line, number % 2 == 0) {
                        done.insert(line);
                    }
                    number += 1;
                }
                done
            })
        });
        let agents: Vec<_> = agents.collect();
        agents
            .into_iter()
            .map(|agent| agent.join().unwrap())
            .collect()
    });
    let text = bench.text("shared");
    let there: BTreeSet<&str> = text.lines().collect();
    for line in written.iter().flatten() {
        assert!(there.contains(line.as_str()), "{line} is lost");
    }
    assert_eq!(
        there.len(),
        1 + written.iter().map(BTreeSet::len).sum::<usize>()
    );
    let left = fs::read_dir(bench.root()).unwrap();
    let left: Vec<PathBuf> = left.map(|entry| entry.unwrap().path()).collect();
    assert_eq!(
        left,
        [bench.root().join("shared")],
        "no temporary file is left"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Two agents read and write in any order. A write works exactly if the file is as its agent last saw
    /// it.
    #[test]
    fn a_write_works_only_on_what_was_seen(steps in prop::collection::vec((0..2usize, 0..3u8), 1..24)) {
        let bench = Bench::new();
        bench.file("shared", "0\n");
        let agents = [colleague(&bench), colleague(&bench)];
        let mut seen: [Option<String>; 2] = [None, None];
        for (number, (who, what)) in steps.into_iter().enumerate() {
            let before = bench.text("shared");
            let call = |tool, arguments: serde_json::Value| {
                block_on(bench.registry.call(tool, &arguments.to_string(), &agents[who]))
            };
            match what {
                0 => {
                    call("read_file", json!({"path": "shared"}));
                    seen[who] = Some(before);
                }
                1 => {
                    let content = format!("{}\n", number + 1);
                    let output = call("write_file", json!({"path": "shared", "content": content}));
                    let may = seen[who].as_ref() == Some(&before);
                    prop_assert_eq!(!output.is_error, may, "{:?}", output);
                    let now = if may { content.clone() } else { before };
                    prop_assert_eq!(bench.text("shared"), now);
                    if may {
                        seen[who] = Some(content);
                    }
                }
                _ => {
                    let old = before.trim_end();
                    let new = format!("{old} {number}");
                    let edit = json!({"path": "shared", "old_text": old, "new_text": new});
                    let output = call("edit_file", edit);
                    let may = seen[who].as_ref().is_none_or(|seen| *seen == before);
                    prop_assert_eq!(!output.is_error, may, "{:?}", output);
                    if may {
                        seen[who] = Some(format!("{new}\n"));
                    }
                }
            }
        }
    }
}
