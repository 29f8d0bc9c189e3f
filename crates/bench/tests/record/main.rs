//! Pictures of commands that are really run at a terminal.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use std::path::Path;
use std::process::{Command, Output};

/// Records a shell command into a file.
fn record(out: &Path, options: &[&str], script: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bench"));
    command.args([
        "record",
        "--rows",
        "5",
        "--columns",
        "40",
        "--title",
        "a & b",
    ]);
    command.arg("--out").arg(out).args(options);
    command.args(["--", "sh", "-c", script]).output().unwrap()
}

#[test]
fn a_command_sees_a_terminal_and_becomes_a_scrolling_picture() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("scrolling.svg");
    let script = "[ -t 0 ] && [ -t 1 ] && stty size && printf '\\033[32mgreen\\033[0m <end>\\n'";
    let output = record(&out, &[], script);
    assert!(output.status.success(), "{output:?}");
    let picture = std::fs::read_to_string(&out).unwrap();
    for part in [
        ">5 40",
        "class=\"fg-green\">green<",
        "> &lt;end&gt;<",
        "a &amp; b",
    ] {
        assert!(picture.contains(part), "{part} is not in {picture}");
    }
}

#[test]
fn a_picture_is_taken_when_the_text_is_there_and_keys_end_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("still.svg");
    // It ends only when a line was typed to it.
    let script = "stty -echo; echo ready; read line; echo \"over: $line\"";
    let output = record(&out, &["--still", "ready", "--keys", "typed\n"], script);
    assert!(output.status.success(), "{output:?}");
    let picture = std::fs::read_to_string(&out).unwrap();
    assert!(picture.contains(">ready<"), "{picture}");
    assert!(
        !picture.contains("over") && !picture.contains("animation"),
        "{picture}"
    );
}

#[test]
fn of_a_command_that_fails_there_is_no_picture() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("none.svg");
    let output = record(&out, &[], "echo broken; exit 3");
    assert!(!output.status.success());
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(
        errors.contains("exit status: 3") && errors.contains("broken"),
        "{errors}"
    );
    assert!(!out.exists());
}
