//! A command in a sandbox behaves towards its owner as one without, and leaves even less behind.
//!
//! Tests that need namespaces pass with a note where the machine has none.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use command::{End, Finished, MARK, Save, SaveWhen, Spec, StartError, Surroundings, run};
use sandbox::workspace::{WorkspaceNeeds, describe};
use sandbox::{Layers, Level, Network};
use test_support::wait_until;
use tokio_util::sync::CancellationToken;

/// Far more than any of this takes.
const LONG: Duration = Duration::from_secs(30);

struct Bench {
    _folder: tempfile::TempDir,
    root: PathBuf,
}

impl Bench {
    /// A workspace, if this machine can run the test.
    fn new() -> Option<Self> {
        if Layers::probe().level() != Level::Full {
            let _ = writeln!(std::io::stderr(), "not run: no namespaces here");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        Some(Self {
            _folder: folder,
            root,
        })
    }

    fn spec(&self, command: &str) -> Spec {
        let needs = WorkspaceNeeds {
            workspace: &self.root,
            home: None,
            control: &["control"],
            secrets: &[],
            programs: &[],
            writable: true,
            network: Network::Off,
        };
        let mark = format!("sandboxed-test-{}", self.root.display());
        let save = Save::new(self.root.join("output"), SaveWhen::Large);
        let mut spec = Spec::new(command, &self.root, &mark, save);
        spec.surroundings = Surroundings::Sandbox {
            description: Box::new(describe(&needs)),
            layers: Layers::probe(),
            proxy: None,
        };
        spec
    }

    async fn run(&self, command: &str) -> Finished {
        run(self.spec(command), &CancellationToken::new())
            .await
            .unwrap()
    }
}

fn text(finished: &Finished) -> String {
    String::from_utf8_lossy(&finished.output.head).into_owned()
}

/// Whether any process on the machine has this argument.
fn is_running(argument: &str) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let mut lines = processes.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.any(|line| {
        line.split(|byte| *byte == 0)
            .any(|part| part == argument.as_bytes())
    })
}

/// A number of seconds that no other process sleeps.
fn unique_sleep(name: u32) -> String {
    format!("{}.{name}", 200_000 + std::process::id())
}

#[tokio::test]
async fn output_codes_signals_and_limits_are_those_of_the_command() {
    let Some(bench) = Bench::new() else {
        return;
    };
    let finished = bench
        .run("echo out; echo err >&2; echo $TEAM_JOB; exit 7")
        .await;
    assert_eq!(finished.end, End::Exited(7));
    assert!(
        text(&finished).starts_with("out\nerr\nsandboxed-test-"),
        "{finished:?}"
    );
    assert_eq!(bench.run("kill -9 $$").await.end, End::Signaled(9));
    let mut endless = bench.spec("echo begun; sleep 60");
    endless.limit = Duration::from_secs(3);
    let start = Instant::now();
    let finished = run(endless, &CancellationToken::new()).await.unwrap();
    assert_eq!(
        (finished.end, text(&finished)),
        (End::TimedOut, "begun\n".into())
    );
    assert!(start.elapsed() < LONG);
}

#[tokio::test]
async fn a_polite_command_may_clean_up_when_it_is_cancelled() {
    let Some(bench) = Bench::new() else {
        return;
    };
    let mut spec =
        bench.spec("trap 'echo cleaned; exit' TERM; touch begun; while :; do sleep 0.01; done");
    spec.grace = LONG;
    let (cancel, begun) = (CancellationToken::new(), bench.root.join("begun"));
    let canceller = {
        let cancel = cancel.clone();
        std::thread::spawn(move || {
            wait_until("it begins", LONG, || begun.exists());
            cancel.cancel();
        })
    };
    let finished = run(spec, &cancel).await.unwrap();
    canceller.join().unwrap();
    assert_eq!(finished.end, End::Cancelled);
    assert!(text(&finished).ends_with("cleaned\n"), "{finished:?}");
}

#[tokio::test]
async fn a_command_that_ignores_the_request_to_end_is_killed_with_all_its_processes() {
    let Some(bench) = Bench::new() else {
        return;
    };
    let sleep = unique_sleep(3);
    let command = format!("trap '' TERM; (trap '' TERM; sleep {sleep}) & sleep {sleep}");
    let mut stubborn = bench.spec(&command);
    stubborn.limit = Duration::from_millis(500);
    let finished = run(stubborn, &CancellationToken::new()).await.unwrap();
    assert_eq!((finished.end, finished.left_behind), (End::TimedOut, 0));
    assert!(!is_running(&sleep));
}

#[tokio::test]
async fn nothing_survives_however_it_hides() {
    let Some(bench) = Bench::new() else {
        return;
    };
    let sleep = unique_sleep(1);
    let command =
        format!("setsid -f env -u {MARK} sleep {sleep}; (setsid env -i sleep {sleep} &) ; echo hi");
    let finished = bench.run(&command).await;
    assert_eq!((finished.end, finished.left_behind), (End::Exited(0), 0));
    assert!(!is_running(&sleep));
}

#[tokio::test]
async fn the_processes_above_cannot_be_reached_from_inside() {
    let Some(bench) = Bench::new() else {
        return;
    };
    let sleep = unique_sleep(2);
    let command = format!(
        "sleep {sleep} & kill -9 $PPID; kill -9 1; kill -9 -1; echo still here; ls /proc | grep -c '^[0-9]'"
    );
    let finished = bench.run(&command).await;
    assert!(text(&finished).contains("still here"), "{finished:?}");
    assert_eq!(finished.end, End::Exited(0), "{finished:?}");
    assert!(!is_running(&sleep));
}

#[tokio::test]
async fn names_that_other_programs_trust_do_not_stay() {
    let Some(bench) = Bench::new() else {
        return;
    };
    for number in 1..=2 {
        let finished = bench.run("echo x > .envrc").await;
        let [renamed] = &finished.renamed[..] else {
            panic!("nothing was renamed: {finished:?}");
        };
        assert!(renamed.error.is_none(), "{renamed}");
        let kept = bench.root.join(format!(".envrc.from-sandbox.{number}"));
        assert_eq!(
            (&renamed.to, fs::read_to_string(&kept).unwrap()),
            (&kept, "x\n".into())
        );
    }
    assert!(!bench.root.join(".envrc").exists());
}

#[tokio::test]
async fn a_sandbox_that_cannot_be_made_says_why() {
    let Some(bench) = Bench::new() else {
        return;
    };
    let mut spec = bench.spec(":");
    let Surroundings::Sandbox { description, .. } = &mut spec.surroundings else {
        panic!("it has a sandbox");
    };
    description.folder = "/nowhere".into();
    let error = run(spec, &CancellationToken::new()).await.unwrap_err();
    assert!(matches!(error, StartError::Sandbox(_)), "{error:?}");
    assert!(error.to_string().contains("working folder"), "{error}");
}

#[tokio::test]
async fn variables_can_be_chosen_without_a_sandbox() {
    let Some(bench) = Bench::new() else {
        return;
    };
    let mut spec = bench.spec("env | cut -d= -f1 | sort | tr '\\n' ' '");
    spec.surroundings = Surroundings::Environment(vec![("PATH".into(), "/usr/bin:/bin".into())]);
    let finished = run(spec, &CancellationToken::new()).await.unwrap();
    assert_eq!(text(&finished), "PATH PWD SHLVL TEAM_JOB _ ");
}
