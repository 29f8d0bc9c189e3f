//! Twenty members at once that write to each other while one after another is killed.

use crate::harness::history::assert_same;
use crate::harness::{LIMIT, Workspace, recipient};
use protocol::{JournalLine, JournalRecord, Phase, Recipient};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};
use team::Actor;
use test_support::{Rng, wait_until};

const MEMBERS: usize = 20;
/// How many are killed, unless the test is to be long.
const KILLS: usize = 6;
const LONG: Duration = Duration::from_secs(30);

fn name(number: usize) -> String {
    format!("m{number:02}")
}

/// Orders one member to write to another.
fn order(workspace: &Workspace, from: usize, to: usize, round: usize) {
    let text = format!("Tell {} that ping-{round}-{from}-{to} is here", name(to));
    team::send(
        workspace.team(),
        &Actor::user(),
        recipient(&name(from)),
        &text,
    )
    .unwrap();
}

/// How often each id was recorded in a member's journal.
fn recorded(workspace: &Workspace, owner: &str) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    let count = |_: &[u8], line| {
        if let JournalLine::Known(JournalRecord::Mail(record)) = line {
            for entry in record.mail {
                *counts.entry(entry.id.to_string()).or_default() += 1;
            }
        }
    };
    workspace
        .team()
        .read_journal(&recipient(owner), count)
        .unwrap();
    counts
}

/// The ids of all that was sent to each member, by the events.
fn sent(workspace: &Workspace) -> BTreeMap<String, BTreeSet<String>> {
    let mut sent: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for event in workspace.events() {
        if event["event"] == "send" {
            let to = event["to"].as_str().unwrap_or_default().to_owned();
            let id = event["id"].as_str().unwrap_or_default().to_owned();
            sent.entry(to).or_default().insert(id);
        }
    }
    sent
}

/// The numbers of the mail that was given to a member's model, in order.
fn said(workspace: &Workspace, owner: &str) -> Vec<u64> {
    let journal = workspace.journal(owner);
    let records = journal
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    let users = records.filter(|record: &Value| record["kind"] == "user");
    let messages = users.flat_map(|user| user["messages"].as_array().cloned().unwrap_or_default());
    let numbers = messages.filter_map(|message| message["source"]["mail"].as_u64());
    numbers.collect()
}

fn spawn_all(workspace: &Workspace) {
    let commands = (0..MEMBERS).map(|number| {
        let mut command = workspace.spawn_command(&name(number), "coder", &["--model", "offline"]);
        command.spawn().unwrap()
    });
    let commands: Vec<_> = commands.collect();
    for mut command in commands {
        assert_eq!(command.wait().unwrap().code(), Some(0));
    }
}

/// Kills and restarts, with mail for everybody between. Returns how many rounds there were.
fn kill_in_rounds(workspace: &Workspace) -> usize {
    let is_long = std::env::var_os("TEAM_TEST").is_some_and(|value| value == "long");
    let mut rng = Rng::new(5);
    let began = Instant::now();
    let mut round = 0;
    while (is_long && began.elapsed() < LONG) || (!is_long && round < KILLS) {
        for from in 0..MEMBERS {
            order(workspace, from, (from + 1 + round) % MEMBERS, round);
        }
        let victim = name(rng.below(MEMBERS as u64) as usize);
        workspace.kill9(&victim);
        workspace.restart(&victim);
        round += 1;
    }
    round
}

/// Checks that each order was carried out, or was interrupted by a kill and its member knows that.
fn check_orders(workspace: &Workspace, rounds: usize) {
    let mut interrupted = 0;
    for round in 0..rounds {
        for from in 0..MEMBERS {
            let to = (from + 1 + round) % MEMBERS;
            let ping = format!("ping-{round}-{from}-{to} ");
            if !workspace.journal(&name(to)).contains(&ping) {
                interrupted += 1;
                let journal = workspace.journal(&name(from));
                assert!(journal.contains(&ping), "{} lost its order", name(from));
                let told = journal.contains("interrupted, outcome unknown");
                assert!(
                    told,
                    "{} lost {ping}: {}",
                    name(from),
                    workspace.log(&name(from))
                );
            }
        }
    }
    assert!(interrupted <= rounds, "{interrupted} in {rounds} rounds");
}

#[test]
fn twenty_members_lose_nothing_and_repeat_nothing_while_some_are_killed() {
    let workspace = Workspace::new();
    spawn_all(&workspace);
    let rounds = kill_in_rounds(&workspace);
    let names: Vec<String> = (0..MEMBERS).map(name).collect();
    wait_until("all members to be idle with nothing unread", LIMIT, || {
        let resting = names.iter().all(|name| {
            workspace.phase(name) == Some(Phase::Idle)
                && processes::unread(workspace.team(), &recipient(name))
                    .is_ok_and(|unread| unread == 0)
        });
        // Mail that was sent while the others were checked.
        resting
            && sent(&workspace).iter().all(|(to, ids)| {
                *to == "lead"
                    || ids
                        .iter()
                        .all(|id| recorded(&workspace, to).contains_key(id))
            })
    });
    let sent = sent(&workspace);
    for name in &names {
        let recorded = recorded(&workspace, name);
        assert!(
            recorded.values().all(|count| *count == 1),
            "{name}: {recorded:?}"
        );
        for id in sent.get(name).into_iter().flatten() {
            assert!(recorded.contains_key(id), "{name} never got {id}");
        }
        let said = said(&workspace, name);
        let unique: BTreeSet<&u64> = said.iter().collect();
        assert_eq!(unique.len(), said.len(), "{name}: {said:?}");
        assert_eq!(said.len(), recorded.len(), "{name}");
    }
    check_orders(&workspace, rounds);
    let deaths = workspace.notices();
    let deaths = deaths.iter().filter(|(id, _)| id.starts_with("death/"));
    assert_eq!(deaths.count(), rounds);
    let all = processes::member_views(workspace.team()).unwrap();
    assert_eq!(all.len(), MEMBERS);
    assert_same(workspace.team());
    let run = workspace.run(&["shutdown", "--all", "--wait", "--timeout", "80"]);
    assert_eq!(run.code, 0, "{run:?}");
    workspace.check_gone();
    assert_same(workspace.team());
    let dead_letters = workspace.team().layout().dead_letters();
    assert!(
        !dead_letters.exists(),
        "{:?}",
        std::fs::read_to_string(dead_letters)
    );
    assert!(!workspace.inbox(&Recipient::Lead).is_empty());
}
