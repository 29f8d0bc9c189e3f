//! The tour by itself.

use crate::harness::{LIMIT, Terminal, with_variable};
use crate::readme::programs;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;
use tempfile::TempDir;
use test_support::{wait_for, wait_until};

/// The demonstration with a folder of its own for what is temporary.
fn demo(place: &TempDir) -> Command {
    let mut command = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/demo"));
    command.arg("--bin").arg(programs());
    command
        .env("TMPDIR", place.path())
        .env("TEAM_READY_TIMEOUT", "120")
        .env("TERM", "xterm-256color");
    command
}

/// The variable that all processes of the demonstration have.
fn mark(place: &TempDir) -> String {
    format!("TMPDIR={}", place.path().display())
}

/// Makes sure that neither a process nor a file is left.
fn assert_nothing_left(place: &TempDir) {
    wait_until("the end of all processes", LIMIT, || {
        with_variable(&mark(place)).is_empty()
    });
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
}

#[test]
fn the_demonstration_runs_to_its_end() {
    let place = tempfile::tempdir().unwrap();
    let output = demo(&place).arg("--fast").output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}\n{errors}");
    for words in [
        "Sent message to bob",
        "Restarted 'alice' (process ",
        "         - Write hello to a.txt",
        "write_file was not run",
        "Plan approved for 'carol'",
        "[x] #2: Write two to 2.txt",
        "'bob' agreed and is gone",
    ] {
        assert!(said.contains(words), "{words:?} is not in {said}");
    }
    assert!(
        !said.contains('\x1b'),
        "no colours without a terminal: {said}"
    );
    assert_nothing_left(&place);
}

/// A pause that lasts until it is interrupted.
const LONG_PAUSE: &str = "/bin/sleep 600";

/// A path on which pauses are long as soon as the folder has a file `long`.
fn path_with_pauses(folder: &TempDir) -> String {
    let program = folder.path().join("sleep");
    let long = folder.path().join("long").display().to_string();
    let script = format!("#!/bin/sh\n[ -e {long} ] && exec {LONG_PAUSE}\nexec /bin/sleep \"$@\"\n");
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, Permissions::from_mode(0o700)).unwrap();
    let path = std::env::var("PATH").unwrap();
    format!("{}:{path}", folder.path().display())
}

#[test]
fn an_interrupted_demonstration_leaves_nothing() {
    let place = tempfile::tempdir().unwrap();
    let pauses = tempfile::tempdir().unwrap();
    let mut demo = demo(&place);
    demo.env("PATH", path_with_pauses(&pauses));
    let mut terminal = Terminal::start(demo, 30, 100);
    // Two teammates run by then.
    terminal.wait_until("two teammates", |_| {
        terminal.output().contains("Lead: not running")
    });
    std::fs::write(pauses.path().join("long"), "").unwrap();
    // A command of the tour that is interrupted may end as if it had not been, so the key is pressed in a
    // pause, and again in the next one if the shell took the first for the end of a pause.
    let ended = wait_for("the end after a pause", LIMIT, || {
        let is_pause = |line: &String| line.starts_with(LONG_PAUSE);
        if with_variable(&mark(&place)).iter().any(is_pause) {
            terminal.type_keys("\x03");
        }
        terminal.try_end()
    });
    assert_eq!(ended.code(), Some(130));
    assert_nothing_left(&place);
}

/// The picture in the README shows the commands of the script; `scripts/record` makes it anew.
#[test]
fn the_recording_is_one_of_this_demonstration() {
    let read = |path| std::fs::read_to_string(crate::readme::root().join(path)).unwrap();
    let picture = read("docs/demo.svg");
    let script = read("scripts/demo");
    let mut commands = 0;
    let (_, tour) = script
        .split_once("\nsay ")
        .expect("the tour begins with a word");
    let steps = tour.lines().map(str::trim_start);
    for step in steps.filter(|line| line.starts_with("run ") || line.starts_with("show ")) {
        let quote = step.find(['\'', '"']).expect("a command stands in quotes");
        let (_, command) = step.split_at(quote);
        let (mark, command) = command.split_at(1);
        let command = command.split(mark).next().unwrap();
        let escaped = command.replace('&', "&amp;").replace('>', "&gt;");
        // A long command is shown on two lines.
        let start: String = escaped.chars().take(60).collect();
        assert!(
            picture.contains(&start),
            "docs/demo.svg is older than: {command}"
        );
        commands += 1;
    }
    assert!(commands > 15, "{commands}");
    // Neither picture shows a folder of the machine that made it.
    for text in [picture, read("docs/watch.svg")] {
        assert!(!text.contains("/tmp"), "{text}");
    }
}
