//! `inbox --drain` under `kill -9`: a message that counts as shown was shown.

use crate::harness::{Workspace, recipient};
use protocol::{JournalLine, JournalRecord};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::File;
use std::process::Child;
use std::time::Duration;
use test_support::{Rng, try_wait_for};

/// Where the output goes.
const OUTPUT: &str = "printed";

/// What a journal says of the mail in it.
#[derive(Default)]
struct Journal {
    /// The text of each message, in order.
    messages: Vec<String>,
    /// The numbers of those that were shown, from one on.
    shown: BTreeSet<usize>,
}

fn journal(workspace: &Workspace) -> Journal {
    let mut journal = Journal::default();
    let read = workspace
        .team()
        .read_journal(&recipient("alice"), |bytes, line| {
            let record: Value = serde_json::from_slice(bytes).unwrap();
            if let JournalLine::Known(JournalRecord::Mail(mail)) = line {
                for entry in mail.mail {
                    let message: Value = serde_json::from_str(entry.line.get()).unwrap();
                    let content = message["content"].as_str().unwrap();
                    journal.messages.push(content.to_owned());
                }
            } else if record["kind"] == "user" {
                for message in record["messages"].as_array().unwrap() {
                    let number = message["source"]["mail"].as_u64().unwrap();
                    let number = usize::try_from(number).unwrap();
                    assert!(journal.shown.insert(number), "{number} is marked twice");
                }
            }
        });
    read.unwrap();
    journal
}

#[test]
fn a_person_who_drains_and_is_killed_loses_no_message() {
    const ROUNDS: usize = 25;
    const PER_ROUND: usize = 3;
    let workspace = Workspace::with_members(&["alice"]);
    let mut rng = Rng::new(11);
    let mut printed = BTreeSet::new();
    let mut sent = Vec::new();
    for round in 0..ROUNDS {
        for number in 0..PER_ROUND {
            let text = format!("message {}", round * PER_ROUND + number);
            let me = team::Actor::user();
            team::send(workspace.team(), &me, recipient("alice"), &text).unwrap();
            sent.push(text);
        }
        let mut drain = start(&workspace);
        // A moment that the seed decides, from before the first step to after the last.
        let moment = Duration::from_micros(rng.below(20_000));
        try_wait_for(moment, || None::<()>);
        drain.kill().unwrap();
        drain.wait().unwrap();
        printed.extend(output(&workspace));
    }
    assert!(start(&workspace).wait().unwrap().success());
    printed.extend(output(&workspace));
    let journal = journal(&workspace);
    assert_eq!(journal.messages, sent, "each message once, in order");
    for (at, message) in journal.messages.iter().enumerate() {
        let line = format!("user (message): {message}");
        let was_shown = journal.shown.contains(&(at + 1));
        // One that was printed and not marked is shown to alice's next incarnation as well.
        assert!(!was_shown || printed.contains(&line), "{message} is lost");
    }
}

/// Starts to drain alice's inbox. What is printed goes to a file: nothing of it is lost in a pipe.
fn start(workspace: &Workspace) -> Child {
    let file = File::create(workspace.path().join(OUTPUT)).unwrap();
    let mut command = workspace.command(&["inbox", "alice", "--drain"]);
    command.stdout(file).spawn().unwrap()
}

/// The whole lines that were printed.
fn output(workspace: &Workspace) -> Vec<String> {
    let text = std::fs::read_to_string(workspace.path().join(OUTPUT)).unwrap();
    let lines = text.split_inclusive('\n');
    let whole = lines.filter_map(|line| line.strip_suffix('\n'));
    whole.map(str::to_owned).collect()
}
