//! The child process under test.

use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use test_support::{Worker, wait_until};

const LIMIT: Duration = Duration::from_secs(20);

fn shell(script: &str) -> Worker {
    Worker::spawn(Command::new("sh").args(["-c", script])).expect("a shell starts")
}

#[test]
fn lines_are_read_in_order_and_kept() {
    let mut worker = shell("echo one; echo two; read x; echo got $x; printf last; exit 3");
    assert_eq!(worker.line(LIMIT), "one");
    assert_eq!(worker.line(LIMIT), "two");
    assert_eq!(worker.try_line(), None);
    worker.send_line("three").unwrap();
    assert_eq!(worker.line(LIMIT), "got three");
    assert_eq!(worker.wait(LIMIT).code(), Some(3));
    assert_eq!(worker.line(LIMIT), "last");
    assert_eq!(worker.lines_so_far(), ["one", "two", "got three", "last"]);
}

#[test]
fn closing_the_input_is_seen() {
    let mut worker = Worker::spawn(&mut Command::new("cat")).unwrap();
    worker.send_line("hello").unwrap();
    assert_eq!(worker.line(LIMIT), "hello");
    worker.close_stdin();
    assert!(worker.wait(LIMIT).success());
    assert!(worker.send_line("too late").is_err());
}

#[test]
fn kill9_and_terminate_end_it() {
    let mut worker = shell("exec sleep 1000");
    assert_eq!(worker.kill9().signal(), Some(9));

    let mut worker =
        shell("trap 'echo asked; exit 4' TERM; echo ready; while :; do sleep 0.01; done");
    assert_eq!(worker.line(LIMIT), "ready");
    worker.terminate();
    assert_eq!(worker.line(LIMIT), "asked");
    assert_eq!(worker.wait(LIMIT).code(), Some(4));
    worker.terminate();
    assert_eq!(worker.kill9().code(), Some(4));
}

#[test]
fn a_dropped_worker_is_gone() {
    let worker = shell("exec sleep 1000");
    let proc_entry = PathBuf::from(format!("/proc/{}", worker.id()));
    assert!(proc_entry.exists());
    drop(worker);
    wait_until("the process to be gone", LIMIT, || !proc_entry.exists());
}

#[test]
#[should_panic(expected = "no line within 30ms; so far: [\"only\"]")]
fn a_missing_line_is_a_panic() {
    let mut worker = shell("echo only; exec sleep 1000");
    assert_eq!(worker.line(LIMIT), "only");
    worker.line(Duration::from_millis(30));
}
