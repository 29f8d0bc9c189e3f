//! A large and busy team: memory, processor time and rest.

use super::browser::{LEFT_OUT, drive};
use super::serve;
use crate::harness::{LIMIT, Workspace};
use protocol::{EventKind, Recipient};
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::time::{Duration, Instant};
use test_support::wait_until;

/// The largest resident memory of the server, in kilobytes.
fn peak_memory(pid: u32) -> u64 {
    field(pid, "VmHWM:")
}

fn field(pid: u32, name: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// How often any thread of the server has gone to sleep.
fn sleeps(pid: u32) -> u64 {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let threads = threads.flatten().filter_map(|thread| {
        let status = fs::read_to_string(thread.path().join("status")).ok()?;
        let line = status.lines().find(|line| line.starts_with("voluntary"))?;
        line.split_whitespace().nth(1)?.parse::<u64>().ok()
    });
    threads.sum()
}

/// A team with 100 members, 10,000 tasks and an event log of 100 MB.
fn large_team() -> Workspace {
    let names: Vec<String> = (0..100).map(|number| format!("member{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let workspace = Workspace::with_members(&names);
    let tasks = workspace.team().layout().tasks_dir();
    for id in 1..=10_000_u64 {
        let status = if id % 2 == 0 { "completed" } else { "pending" };
        let blocked: Vec<u64> = (id > 2).then(|| id - 2).into_iter().collect();
        let task = json!({
            "id": id, "subject": format!("Task number {id}"), "description": "x".repeat(200),
            "status": status, "blockedBy": blocked, "owner": "",
        });
        fs::write(tasks.join(format!("task_{id}.json")), task.to_string()).unwrap();
    }
    let mut log =
        std::io::BufWriter::new(fs::File::create(workspace.team().layout().events()).unwrap());
    let text = "y".repeat(880);
    for number in 0..105_000 {
        let word = if number == 70_000 { "needle" } else { "hay" };
        writeln!(
            log,
            r#"{{"time":{number},"event":"send","id":"m{number}","from":"bob","to":"lead","type":"message","preview":"{word} {text}"}}"#
        )
        .unwrap();
    }
    log.flush().unwrap();
    workspace
}

#[test]
fn a_large_team_is_shown_searched_and_flooded_within_bounds() {
    let workspace = large_team();
    let served = serve(&workspace, &[]);
    let (client, pid) = (&served.client, served.session.id());
    let mut streams: Vec<_> = (0..40).map(|_| client.stream("?member=member1")).collect();
    let mut watcher = client.stream("");
    let (_, all) = watcher.next().unwrap();
    assert_eq!(all["members"]["set"].as_object().unwrap().len(), 100);
    assert_eq!(all["team"]["tasks"]["pending"], 5000);
    assert!(all["tasks"]["set"].as_object().unwrap().len() < 500);
    assert!(all.to_string().len() < 600_000, "{}", all.to_string().len());
    let page = client.get("/api/tasks?status=pending&skip=4950").json();
    assert_eq!(
        (
            page["total"].as_u64(),
            page["tasks"].as_array().unwrap().len()
        ),
        (Some(5000), 50)
    );
    // The search goes through the log a piece at a time.
    let mut pieces = 0;
    let mut place = String::new();
    let found = loop {
        let reply = client.get(&format!("/api/events?q=needle{place}")).json();
        pieces += 1;
        if let [found] = reply["events"].as_array().unwrap().as_slice() {
            break found.clone();
        }
        let next = &reply["next"];
        assert!(next.is_object() && pieces < 40, "{reply}");
        place = format!("&part={}&before={}", next["part"], next["before"]);
    };
    assert_eq!(found["time"], 70_000.0);
    assert!(pieces > 1, "it was found at once");
    // A member that floods: nobody reads 40 of the pages, and the one that is read stays right.
    let (text, start) = ("z".repeat(80), Instant::now());
    for number in 0..20_000 {
        let event = EventKind::Leave {
            member: Recipient::Lead,
            reason: format!("{number} {text}"),
        };
        workspace.team().log_event(event).unwrap();
    }
    let flood = start.elapsed();
    watcher.wait_for(|_, data| {
        let last = data["events"].as_array()?.last()?["text"].as_str()?;
        last.contains("19999 zzz").then_some(())
    });
    let peak = peak_memory(pid);
    assert!(peak < 160_000, "{peak} kB after a flood of {flood:?}");
    // A page that was not read gets the whole state when it is.
    let mut late = streams.pop().unwrap();
    late.wait_for(|event, data| {
        let last = data["events"].as_array()?.last()?["text"].as_str()?;
        (event == "all" || last.contains("19999 zzz")).then_some(())
    });
}

#[test]
fn a_large_team_stays_usable_in_a_browser() {
    let workspace = large_team();
    let served = serve(&workspace, &[]);
    let link = workspace.json(&["web", "--link"]);
    let driven = drive(
        "large.mjs",
        link["url"].as_str().unwrap(),
        |line| match line {
            "flood" => {
                for number in 0..5_000 {
                    let event = EventKind::Leave {
                        member: Recipient::Lead,
                        reason: format!("{number} zzz"),
                    };
                    workspace.team().log_event(event).unwrap();
                }
            }
            other => panic!("the script says {other:?}"),
        },
    );
    if driven.is_none() {
        eprintln!("{LEFT_OUT}");
    }
    drop(served);
}

#[test]
fn a_server_that_nobody_looks_at_does_not_wake() {
    let workspace = Workspace::with_members(&["alice"]);
    let served = serve(&workspace, &[]);
    let pid = served.session.id();
    let mut stream = served.client.stream("");
    assert_eq!(stream.next().unwrap().0, "all");
    let threads = || fs::read_dir(format!("/proc/{pid}/task")).unwrap().count();
    assert!(threads() > 1);
    drop(stream);
    // The threads of the page and of its requests end.
    wait_until("one thread", LIMIT, || threads() == 1);
    let before = sleeps(pid);
    for number in 0..200 {
        let id = protocol::MessageId::new(&format!("m{number}")).unwrap();
        let to = Recipient::Lead;
        workspace
            .team()
            .log_event(EventKind::Deliver { id, to })
            .unwrap();
    }
    let start = Instant::now();
    wait_until("some time", LIMIT, || {
        start.elapsed() > Duration::from_millis(1500)
    });
    assert_eq!(sleeps(pid), before, "it was woken");
    let mut stream = served.client.stream("");
    let all: Option<(String, Value)> = stream.next();
    assert_eq!(all.unwrap().0, "all");
}
