//! Crash points, tried on the helper program `fault-target`.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use tempfile::TempDir;
use test_support::faults::{self, Fault, Outcome, Trace};
use test_support::report_skip;

/// The folder for a test, or none if the facility cannot work here.
fn folder(test: &str) -> Option<TempDir> {
    match faults::available() {
        Ok(()) => Some(tempfile::tempdir().expect("a folder can be made")),
        Err(reason) => {
            report_skip(test, reason);
            None
        }
    }
}

fn target(mode: &str, dir: &Path) -> Command {
    let mut cmd = Command::new(env!("CARGO_BIN_EXE_fault-target"));
    cmd.arg(mode).arg(dir).stdin(Stdio::null());
    cmd
}

fn names(trace: &Trace) -> Vec<&'static str> {
    trace.calls.iter().map(|call| call.name).collect()
}

/// How many of the four steps of `sequence` have left their trace. Panics if
/// one did without those before it.
fn steps(dir: &Path) -> usize {
    let draft = fs::read_to_string(dir.join("draft")).ok();
    let kept = fs::read_to_string(dir.join("kept")).ok();
    let done = dir.join("done").exists();
    match (draft.as_deref(), kept.as_deref(), done) {
        (None, None, false) => 0,
        (Some(""), None, false) => 1,
        (Some("line\n"), None, false) => 2,
        (None, Some("line\n"), false) => 3,
        (None, Some("line\n"), true) => 4,
        odd => panic!("not a prefix of the steps: {odd:?}"),
    }
}

/// Kills the mode at each of its four calls.
fn kill_at_each_call(mode: &str) {
    for index in 1..=4 {
        let dir = tempfile::tempdir().expect("a folder can be made");
        let (outcome, trace) =
            faults::inject_traced(&mut target(mode, dir.path()), index, Fault::Kill)
                .expect("the run can be made");
        assert_eq!(outcome, Outcome::Killed);
        assert_eq!(trace.calls.len(), index);
        assert_eq!(steps(dir.path()), index - 1, "killed at call {index}");
    }
}

#[test]
fn recording_lists_the_calls_of_the_region() {
    let Some(dir) = folder("recording_lists_the_calls_of_the_region") else {
        return;
    };
    let trace = faults::record(&mut target("sequence", dir.path())).unwrap();
    assert!(trace.status.success());
    assert_eq!(names(&trace), ["openat", "write", "rename", "mkdir"]);
    assert!(trace.calls.iter().map(|call| call.index).eq(1..=4));
    assert!(
        trace
            .calls
            .iter()
            .all(|call| call.writes == (call.name == "write"))
    );
    assert_eq!(steps(dir.path()), 4);
}

#[test]
fn a_kill_leaves_exactly_the_steps_before_it() {
    if folder("a_kill_leaves_exactly_the_steps_before_it").is_some() {
        kill_at_each_call("sequence");
    }
}

#[test]
fn a_region_in_a_second_thread_is_followed() {
    let Some(dir) = folder("a_region_in_a_second_thread_is_followed") else {
        return;
    };
    let trace = faults::record(&mut target("threads", dir.path())).unwrap();
    assert!(trace.status.success());
    assert_eq!(names(&trace), ["openat", "write", "rename", "mkdir"]);
    kill_at_each_call("threads");
}

#[test]
fn a_torn_write_leaves_half_a_line() {
    let Some(dir) = folder("a_torn_write_leaves_half_a_line") else {
        return;
    };
    let outcome = faults::inject(&mut target("line", dir.path()), 1, Fault::Tear).unwrap();
    assert_eq!(outcome, Outcome::Killed);
    assert_eq!(fs::read(dir.path().join("line")).unwrap(), b"01234");
}

#[test]
fn an_error_is_seen_by_the_program() {
    let Some(dir) = folder("an_error_is_seen_by_the_program") else {
        return;
    };
    let fault = Fault::Errno(libc::ENOSPC);
    let (outcome, trace) =
        faults::inject_traced(&mut target("line", dir.path()), 1, fault).unwrap();
    assert_eq!(outcome, Outcome::Exited(libc::ENOSPC));
    assert_eq!(names(&trace), ["write"]);
    assert_eq!(fs::read(dir.path().join("line")).unwrap(), b"");

    // An interrupted write is made again by the standard library.
    let fault = Fault::Errno(libc::EINTR);
    let (outcome, trace) =
        faults::inject_traced(&mut target("line", dir.path()), 1, fault).unwrap();
    assert_eq!(outcome, Outcome::Exited(0));
    assert_eq!(names(&trace), ["write", "write"]);
    assert_eq!(fs::read(dir.path().join("line")).unwrap(), b"0123456789\n");
}

#[test]
fn a_short_write_is_seen_by_the_program() {
    let Some(dir) = folder("a_short_write_is_seen_by_the_program") else {
        return;
    };
    let mut cmd = target("once", dir.path());
    cmd.stdout(Stdio::piped()).stderr(Stdio::piped());
    // The same command runs twice, first undisturbed.
    let trace = faults::record(&mut cmd).unwrap();
    assert_eq!(String::from_utf8(trace.stdout).unwrap(), "11 of 11\n");
    let (outcome, trace) = faults::inject_traced(&mut cmd, 1, Fault::Short).unwrap();
    assert_eq!(outcome, Outcome::Exited(0));
    assert_eq!(String::from_utf8(trace.stdout).unwrap(), "5 of 11\n");
    assert_eq!(String::from_utf8(trace.stderr).unwrap(), "and no more\n");
    assert_eq!(fs::read(dir.path().join("once")).unwrap(), b"01234");

    // A program that goes on writing gets its line out all the same.
    let (outcome, trace) =
        faults::inject_traced(&mut target("line", dir.path()), 1, Fault::Short).unwrap();
    assert_eq!(outcome, Outcome::Exited(0));
    assert_eq!(names(&trace), ["write", "write"]);
    assert_eq!(fs::read(dir.path().join("line")).unwrap(), b"0123456789\n");
}

#[test]
fn past_the_end_nothing_is_reached() {
    let Some(dir) = folder("past_the_end_nothing_is_reached") else {
        return;
    };
    let (outcome, trace) =
        faults::inject_traced(&mut target("sequence", dir.path()), 5, Fault::Kill).unwrap();
    assert_eq!(outcome, Outcome::NotReached);
    assert!(trace.status.success());
    assert_eq!(steps(dir.path()), 4);

    let mut unmarked = target("unmarked", dir.path());
    assert_eq!(names(&faults::record(&mut unmarked).unwrap()), [""; 0]);
    let outcome = faults::inject(&mut unmarked, 1, Fault::Kill).unwrap();
    assert_eq!(outcome, Outcome::NotReached);
    faults::inject(&mut unmarked, 0, Fault::Kill).unwrap_err();
}

#[test]
fn a_tear_of_another_call_changes_nothing() {
    let Some(dir) = folder("a_tear_of_another_call_changes_nothing") else {
        return;
    };
    let outcome = faults::inject(&mut target("sequence", dir.path()), 3, Fault::Tear).unwrap();
    assert_eq!(outcome, Outcome::NotApplicable);
    assert_eq!(steps(dir.path()), 4);
}

#[test]
fn signals_reach_the_program() {
    let Some(dir) = folder("signals_reach_the_program") else {
        return;
    };
    let trace = faults::record(&mut target("signal", dir.path())).unwrap();
    assert_eq!(trace.status.signal(), Some(libc::SIGTERM));
}

#[test]
fn exec_is_followed_and_other_processes_are_not() {
    let Some(dir) = folder("exec_is_followed_and_other_processes_are_not") else {
        return;
    };
    let program = env!("CARGO_BIN_EXE_fault-target");
    let mut shell = Command::new("sh");
    shell.args(["-c", "exec \"$0\" sequence \"$1\"", program]);
    shell.arg(dir.path());
    let outcome = faults::inject(&mut shell, 3, Fault::Kill).unwrap();
    assert_eq!(outcome, Outcome::Killed);
    assert_eq!(steps(dir.path()), 2);

    let mut shell = Command::new("sh");
    shell.args(["-c", "\"$0\" sequence \"$1\"; exit 5", program]);
    shell.arg(dir.path());
    let (outcome, trace) = faults::inject_traced(&mut shell, 3, Fault::Kill).unwrap();
    assert_eq!(outcome, Outcome::NotReached);
    assert_eq!(trace.status.code(), Some(5));
    assert_eq!(steps(dir.path()), 4);
}

#[test]
fn a_program_that_leaves_its_group_is_an_error() {
    let Some(dir) = folder("a_program_that_leaves_its_group_is_an_error") else {
        return;
    };
    let error = faults::record(&mut target("regroup", dir.path())).unwrap_err();
    assert!(
        error.to_string().contains("leaves its process group"),
        "{error}"
    );
}

#[test]
fn parallel_runs_do_not_disturb_each_other() {
    if folder("parallel_runs_do_not_disturb_each_other").is_none() {
        return;
    }
    thread::scope(|scope| {
        for mode in ["sequence", "threads", "sequence", "threads"] {
            scope.spawn(move || {
                // Another child of the same thread keeps its end to itself.
                let mut other = Command::new("sh").args(["-c", "exit 7"]).spawn().unwrap();
                for _ in 0..5 {
                    kill_at_each_call(mode);
                }
                assert_eq!(other.wait().unwrap().code(), Some(7));
            });
        }
    });
}
