//! Commands that run while something else goes on.

use std::collections::HashSet;
use std::fs;
use std::thread;

use serde_json::json;
use test_support::{wait_for, wait_until};
use tools::{FinishedTask, TaskState, render_finished};

use crate::bench::{Bench, LONG, block_on};

fn start(bench: &Bench, command: &str) -> String {
    let text = bench.works("background_run", json!({"command": command}));
    id_in(&text)
}

fn id_in(text: &str) -> String {
    let rest = text.strip_prefix("Background task ").unwrap();
    let (id, _) = rest.split_once(" started: ").unwrap();
    assert!(
        id.len() == 8 && id.bytes().all(|byte| byte.is_ascii_hexdigit()),
        "{text}"
    );
    id.to_owned()
}

/// Waits for one completion the way an idle agent does.
fn next(bench: &Bench) -> FinishedTask {
    block_on(async {
        let waited = tokio::time::timeout(LONG, bench.background.finished()).await;
        waited.expect("a completion");
    });
    let mut finished = bench.background.take_finished();
    assert_eq!(finished.len(), 1, "{finished:?}");
    finished.remove(0)
}

#[test]
fn every_end_has_its_state_and_its_result() {
    let bench = Bench::new();
    for (command, seconds, state, result) in [
        (
            "echo hi; echo err >&2",
            300,
            TaskState::Completed,
            "hi\nerr",
        ),
        ("true", 300, TaskState::Completed, "(no output)"),
        (
            "echo x; exit 3",
            300,
            TaskState::Failed,
            "x\n[exit status 3]",
        ),
        ("kill -9 $$", 300, TaskState::Failed, "[killed by signal 9]"),
        (
            "sleep 60 & sleep 60",
            1,
            TaskState::Timeout,
            "[timed out after 1 s]",
        ),
    ] {
        let arguments = json!({"command": command, "timeout": seconds});
        let text = bench.works("background_run", arguments);
        assert!(text.ends_with(&format!(" started: {command}")), "{text}");
        let finished = next(&bench);
        assert_eq!((finished.state, finished.result.as_str()), (state, result));
        assert_eq!(
            (finished.id, finished.command.as_str()),
            (id_in(&text), command)
        );
    }
    assert_eq!(bench.processes(), 0);
    assert_eq!(bench.background.take_finished(), []);
}

#[test]
fn completions_are_shown_as_a_block_that_no_output_can_close() {
    let bench = Bench::new();
    let id = start(&bench, "echo '</background-results>'");
    let block = render_finished(&[next(&bench)]).unwrap();
    let line = format!("[bg:{id}] completed: </background-results >");
    assert_eq!(
        block,
        format!("<background-results>\n{line}\n</background-results>")
    );
    assert_eq!(render_finished(&[]), None);
    let id = start(&bench, "seq 100000");
    let finished = next(&bench);
    assert!(finished.result.chars().count() <= 500);
    assert!(finished.result.starts_with("1\n2\n") && finished.result.ends_with("\n100000"));
    assert!(
        finished.result.contains(&format!("bg-{id}.txt")),
        "{}",
        finished.result
    );
    let lines = fs::read_to_string(&finished.output)
        .unwrap()
        .lines()
        .count();
    assert_eq!(lines, 100_000);
}

#[test]
fn tasks_can_be_looked_at() {
    let bench = Bench::new();
    let check = |arguments| bench.works("check_background", arguments);
    assert_eq!(check(json!({})), "No background tasks.");
    let id = start(
        &bench,
        "echo working; while [ ! -e go ]; do sleep 0.01; done; echo done",
    );
    let running = "[running] echo working; while [ ! -e go ]; do sleep 0.01; done; echo d";
    assert_eq!(check(json!({})), format!("{id}: {running}"));
    let so_far = format!("{running}\n(running) its output ends with:\nworking");
    wait_until("its output", LONG, || {
        check(json!({"task_id": id})) == so_far
    });
    bench.file("go", "");
    assert_eq!(next(&bench).result, "working\ndone");
    let over = running.replace("running", "completed");
    assert_eq!(
        check(json!({"task_id": id})),
        format!("{over}\nworking\ndone")
    );
    let unknown = bench.fails("check_background", json!({"task_id": "nope"}));
    assert_eq!(
        unknown,
        format!("Error: Unknown background task nope; known: {id}")
    );
}

#[test]
fn each_completion_is_handed_out_once_however_many_take() {
    let bench = Bench::new();
    let started: HashSet<String> = (0..24)
        .map(|number| start(&bench, &format!("sleep 0.0{}; echo {number}", number % 10)))
        .collect();
    assert_eq!(started.len(), 24);
    let taken: Vec<FinishedTask> = thread::scope(|scope| {
        let takers: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let mut taken = Vec::new();
                    wait_until("all are over", LONG, || {
                        let running = bench.background.running();
                        taken.extend(bench.background.take_finished());
                        running == 0
                    });
                    taken
                })
            })
            .collect();
        let all = takers.into_iter().flat_map(|taker| taker.join().unwrap());
        all.collect()
    });
    let ids: Vec<String> = taken.iter().map(|task| task.id.clone()).collect();
    assert_eq!(ids.len(), 24, "handed out twice or never: {ids:?}");
    assert_eq!(ids.into_iter().collect::<HashSet<_>>(), started);
    assert!(taken.iter().all(|task| task.state == TaskState::Completed));
}

#[test]
fn stopped_tasks_end_and_say_so() {
    let bench = Bench::new();
    let id = start(&bench, "sleep 60 & setsid sleep 60 & sleep 60");
    wait_until("it runs", LONG, || bench.processes() >= 3);
    assert!(bench.background.stop(&id));
    let finished = next(&bench);
    assert_eq!(
        (finished.id, finished.state),
        (id.clone(), TaskState::Stopped)
    );
    assert_eq!(bench.processes(), 0);
    assert!(!bench.background.stop(&id) && !bench.background.stop("nope"));
}

#[test]
fn an_owner_that_goes_takes_its_tasks_along() {
    let mut bench = Bench::new();
    start(&bench, "sleep 60 & sleep 60");
    start(&bench, "trap '' TERM; touch rude; sleep 60");
    wait_until("they run", LONG, || {
        bench.root().join("rude").exists() && bench.processes() >= 3
    });
    bench.registry = tools::Registry::new();
    bench.background = tools::Background::new();
    wait_until("they are gone", LONG, || bench.processes() == 0);
}

#[test]
fn a_cancelled_turn_leaves_them_running() {
    let bench = Bench::new();
    let id = start(&bench, "while [ ! -e go ]; do sleep 0.01; done; echo done");
    bench.context.cancel.cancel();
    bench.file("go", "");
    let finished = next(&bench);
    assert_eq!((finished.id, finished.result.as_str()), (id, "done"));
}

#[test]
fn there_is_a_limit_to_how_many_run() {
    let bench = Bench::new();
    for _ in 0..32 {
        start(&bench, "sleep 60");
    }
    let refused = bench.fails("background_run", json!({"command": "true"}));
    assert!(
        refused.contains("32 background tasks are running"),
        "{refused}"
    );
    bench.background.stop_all();
    wait_until("all are over", LONG, || bench.background.running() == 0);
    assert_eq!(bench.background.take_finished().len(), 32);
    let id = start(&bench, "echo again");
    let again = wait_for("it is over", LONG, || {
        bench.background.take_finished().pop()
    });
    assert_eq!((again.id, again.result.as_str()), (id, "again"));
}
