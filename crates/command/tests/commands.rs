//! Runs commands as real processes, and checks the process list for what is left of them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use command::{
    End, Finished, MARK, Save, SaveWhen, Saved, Spec, kill_marked, marked_processes, run, start,
};
use test_support::{wait_for, wait_until};
use tokio_util::sync::CancellationToken;

/// Far more than any of this takes.
const LONG: Duration = Duration::from_secs(30);

/// A folder for one command, and a mark that no other test has.
struct Bench {
    folder: tempfile::TempDir,
    mark: String,
}

impl Bench {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self {
            folder: tempfile::tempdir().unwrap(),
            mark: format!("supervisor-test-{}-{number}", std::process::id()),
        }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn spec(&self, command: &str) -> Spec {
        let save = Save::new(self.path().join("output"), SaveWhen::Large);
        Spec::new(command, self.path(), &self.mark, save)
    }

    fn left(&self) -> usize {
        let all = marked_processes().into_iter();
        all.filter(|process| process.mark == self.mark).count()
    }

    /// Runs to the end and checks that no process is left.
    async fn run(&self, spec: Spec) -> Finished {
        let finished = run(spec, &CancellationToken::new()).await.unwrap();
        assert_eq!(self.left(), 0, "processes of {:?} are left", self.mark);
        finished
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        kill_marked(|mark| mark == self.mark);
    }
}

fn text(finished: &Finished) -> String {
    String::from_utf8_lossy(&finished.output.head).into_owned()
}

#[tokio::test]
async fn output_comes_in_the_order_in_which_it_was_written() {
    let bench = Bench::new();
    let command = "for i in 1 2 3; do echo out$i; echo err$i >&2; done; exit 7";
    let finished = bench.run(bench.spec(command)).await;
    assert_eq!(text(&finished), "out1\nerr1\nout2\nerr2\nout3\nerr3\n");
    assert_eq!((finished.end, finished.left_behind), (End::Exited(7), 0));
    assert!(matches!(finished.output.saved, Saved::No));
}

#[tokio::test]
async fn the_signal_that_killed_the_shell_is_told() {
    let bench = Bench::new();
    let finished = bench.run(bench.spec("echo before; kill -9 $$")).await;
    assert_eq!(finished.end, End::Signaled(9));
    assert_eq!(text(&finished), "before\n");
}

#[tokio::test]
async fn the_command_has_no_input_and_leads_its_own_group() {
    let bench = Bench::new();
    let command = "cat; set -- $(cat /proc/$$/stat); [ $5 = $$ ] && [ $7 = 0 ] && echo alone";
    let finished = bench.run(bench.spec(command)).await;
    assert_eq!(text(&finished), "alone\n");
}

#[tokio::test]
async fn a_child_in_the_background_neither_stalls_nor_survives() {
    let bench = Bench::new();
    let start = Instant::now();
    let finished = bench.run(bench.spec("sleep 60 & echo hi")).await;
    assert_eq!(
        (finished.end, text(&finished)),
        (End::Exited(0), "hi\n".into())
    );
    assert!(start.elapsed() < LONG, "the call waited for its child");
}

#[tokio::test]
async fn daemons_do_not_survive_either() {
    let bench = Bench::new();
    let command = "setsid sleep 60 & nohup sleep 60 & (setsid sh -c 'sleep 60 & sleep 60' &) \
                   ; setsid env -i sleep 60 & echo hi";
    let finished = bench.run(bench.spec(command)).await;
    assert_eq!(finished.end, End::Exited(0));
    assert!(text(&finished).ends_with("hi\n"), "{finished:?}");
}

#[tokio::test]
async fn the_limit_kills_children_of_children() {
    let bench = Bench::new();
    let command = "(sleep 60 & setsid sleep 60 & sleep 60) & echo begun; sleep 60; echo never";
    let spec = bench.spec(command).with_limit(Duration::from_secs(1));
    let finished = bench.run(spec).await;
    assert_eq!(
        (finished.end, text(&finished)),
        (End::TimedOut, "begun\n".into())
    );
}

#[tokio::test]
async fn a_polite_command_may_clean_up_and_a_rude_one_is_killed() {
    let bench = Bench::new();
    let polite = "trap 'echo bye; exit 0' TERM; while :; do sleep 0.01; done";
    let spec = bench.spec(polite).with_limit(Duration::from_secs(1));
    let finished = bench.run(spec).await;
    // The shell may also mention that its child was terminated.
    assert!(text(&finished).ends_with("bye\n"), "{finished:?}");
    assert_eq!(finished.end, End::TimedOut);
    let rude = "trap '' TERM; sleep 60 & sleep 60";
    let spec = bench.spec(rude).with_limit(Duration::from_secs(1));
    assert_eq!(bench.run(spec).await.end, End::TimedOut);
}

#[tokio::test]
async fn cancelling_takes_effect_at_once() {
    let bench = Bench::new();
    let cancel = CancellationToken::new();
    let ready = bench.path().join("ready");
    let running = tokio::spawn({
        let (spec, cancel) = (bench.spec("touch ready; sleep 60"), cancel.clone());
        async move { run(spec, &cancel).await.unwrap() }
    });
    tokio::task::spawn_blocking(move || wait_until("it runs", LONG, || ready.exists()))
        .await
        .unwrap();
    cancel.cancel();
    assert_eq!(running.await.unwrap().end, End::Cancelled);
    assert_eq!(bench.left(), 0);
    let finished = run(bench.spec("sleep 60"), &cancel).await.unwrap();
    assert_eq!(finished.end, End::Cancelled, "cancelled before it began");
}

#[test]
fn dropping_a_job_stops_its_command() {
    let bench = Bench::new();
    let (sender, receiver) = mpsc::channel();
    let spec = bench.spec("sleep 60 & touch ready; wait");
    let job = start(&spec, move |finished| sender.send(finished).unwrap()).unwrap();
    wait_until("it runs", LONG, || bench.path().join("ready").exists());
    assert!(bench.left() >= 2);
    drop(job);
    let finished = receiver.recv_timeout(LONG).unwrap();
    assert_eq!((finished.end, bench.left()), (End::Cancelled, 0));
}

#[test]
fn dropping_the_future_stops_the_command() {
    let bench = Bench::new();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let cancel = CancellationToken::new();
    {
        let mut future = Box::pin(run(bench.spec("sleep 60"), &cancel));
        let waker = std::task::Waker::noop();
        let _entered = runtime.enter();
        let polled = future
            .as_mut()
            .poll(&mut std::task::Context::from_waker(waker));
        assert!(polled.is_pending());
        wait_until("it runs", LONG, || bench.left() > 0);
    }
    wait_until("it is gone", LONG, || bench.left() == 0);
}

#[tokio::test]
async fn a_flood_is_held_in_bounded_memory_and_in_a_bounded_file() {
    let bench = Bench::new();
    let mut spec = bench.spec("echo first; yes; echo never");
    spec.limit = Duration::from_millis(700);
    spec.memory = 1000;
    spec.save.max_bytes = 300_000;
    let output = bench.run(spec).await.output;
    assert_eq!((output.head.len(), output.tail.len()), (500, 500));
    assert!(output.head.starts_with(b"first\ny\n"));
    assert!(output.total > 300_000, "{}", output.total);
    let Saved::Yes { path, bytes } = output.saved else {
        panic!("not saved");
    };
    assert_eq!(bytes, 300_000);
    assert!(fs::read(path).unwrap().starts_with(&output.head));
}

#[tokio::test]
async fn a_command_that_kills_its_reaper_dies_with_it() {
    let bench = Bench::new();
    let command = "setsid sleep 60 & sleep 60 & echo x; kill -9 $PPID; sleep 60";
    let finished = bench.run(bench.spec(command)).await;
    assert_eq!(finished.end, End::Lost);
    // A signal to its own group does not reach the reaper, nor do others than SIGKILL.
    let command = "trap '' TERM; kill -TERM $PPID; kill -INT $PPID; kill -TERM 0; echo alive";
    let finished = bench.run(bench.spec(command)).await;
    assert_eq!(
        (finished.end, text(&finished)),
        (End::Exited(0), "alive\n".into())
    );
    let finished = bench.run(bench.spec("sleep 60 & kill -9 0")).await;
    assert_eq!(finished.end, End::Signaled(9));
}

#[tokio::test]
async fn what_is_let_go_on_purpose_goes_on() {
    let bench = Bench::new();
    let command = format!(
        "env -u {MARK} setsid sh -c 'echo $$ > number; mv number pid; exec sleep 60' & \
         while [ ! -e pid ]; do sleep 0.01; done"
    );
    let finished = bench.run(bench.spec(&command)).await;
    assert_eq!((finished.end, finished.left_behind), (End::Exited(0), 0));
    let pid = fs::read_to_string(bench.path().join("pid")).unwrap();
    let kill = Command::new("kill").arg(pid.trim()).status().unwrap();
    assert!(kill.success(), "the daemon was killed with its command");
}

#[test]
fn nothing_of_the_owner_stays_open_in_reaper_or_command() {
    let bench = Bench::new();
    let lock = bench.path().join("lock");
    let held = File::create(&lock).unwrap();
    held.lock().unwrap();
    let (sender, receiver) = mpsc::channel();
    let spec = bench.spec("ls /proc/self/fd; touch ready; sleep 60");
    let job = start(&spec, move |finished| sender.send(finished).unwrap()).unwrap();
    wait_until("it runs", LONG, || bench.path().join("ready").exists());
    drop(held);
    let again = File::open(&lock).unwrap();
    wait_for("the lock", LONG, || again.try_lock().ok());
    drop(job);
    // The fourth is the folder that is being listed.
    assert_eq!(text(&receiver.recv_timeout(LONG).unwrap()), "0\n1\n2\n3\n");
}

#[tokio::test]
async fn what_cannot_start_says_why() {
    let bench = Bench::new();
    let mut spec = bench.spec("true");
    spec.folder = bench.path().join("missing");
    let error = run(spec, &CancellationToken::new()).await.unwrap_err();
    assert!(error.to_string().contains("missing"), "{error}");
    let error = run(bench.spec("nul \0 byte"), &CancellationToken::new()).await;
    assert!(error.is_err());
    let finished = bench.run(bench.spec("-x; echo $?")).await;
    assert!(text(&finished).ends_with("127\n"), "{finished:?}");
}

#[test]
fn marked_processes_are_found_and_killed() {
    let bench = Bench::new();
    let mut child = Command::new("sleep")
        .arg("60")
        .env(MARK, &bench.mark)
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    wait_until("it is found", LONG, || bench.left() == 1);
    assert!(kill_marked(|mark| mark == bench.mark) >= 1);
    assert!(!child.wait().unwrap().success());
    assert_eq!(bench.left(), 0);
    assert_eq!(kill_marked(|mark| mark == bench.mark), 0);
}

#[test]
fn a_process_that_keeps_executing_programs_is_never_missed() {
    let bench = Bench::new();
    let script = bench.path().join("again");
    fs::write(&script, "exec sh \"$0\"\n").unwrap();
    for round in 0..100 {
        let mut child = Command::new("sh")
            .arg(&script)
            .env(MARK, &bench.mark)
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        // Much of the time it has no environment, because it is in the middle of exec.
        let killed = kill_marked(|mark| mark == bench.mark);
        let has_ended = child.try_wait().unwrap().is_some();
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!((killed, has_ended), (1, true), "round {round}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_commands_at_once_do_not_mix() {
    let bench = Bench::new();
    let cancel = CancellationToken::new();
    let tasks: Vec<_> = (0..16)
        .map(|number| {
            let mut spec = bench.spec(&format!("sleep 0.0{number}; sleep 60 & echo {number}"));
            spec.mark = format!("{}-{number}", bench.mark);
            let cancel = cancel.clone();
            tokio::spawn(async move { run(spec, &cancel).await.unwrap() })
        })
        .collect();
    for (number, task) in tasks.into_iter().enumerate() {
        assert_eq!(text(&task.await.unwrap()), format!("{number}\n"));
    }
    let left = marked_processes().into_iter();
    let left = left.filter(|process| process.mark.starts_with(&format!("{}-", bench.mark)));
    assert_eq!(left.count(), 0);
}
