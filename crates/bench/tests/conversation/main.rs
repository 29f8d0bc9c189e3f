//! A conversation that survives its processes: killed at every step of its journal, and at random.
//!
//! An agent takes numbered steps. Each leaves a line in a file, which shows whether a tool was run
//! again, and messages come in meanwhile, which shows whether one was lost or repeated.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use agent::{Conversation, INTERRUPTED, LlmTypes, NOT_STARTED, Record};
use llm::{Block, Request};
use protocol::{JournalLine, JournalRecord, MessageSource, Recipient};
use teamdir::{Durability, Options};
use test_support::faults::{self, Call, Fault, Outcome};
use test_support::{Rng, TempTeam, Worker, report_skip, try_wait_for};

/// How long one process may take.
const LIMIT: Duration = Duration::from_secs(60);
const MAIL: usize = 3;

/// A team in which one member works.
struct Work {
    team: TempTeam,
    alice: Recipient,
    steps: usize,
    arguments: Vec<String>,
}

impl Work {
    /// So many steps with a window in which they do not fit.
    fn new(steps: usize, more: &[&str]) -> Self {
        let options = Options {
            durability: Durability::ProcessDeath,
            ..Options::default()
        };
        let mut arguments = vec![format!("--steps={steps}"), format!("--mail={MAIL}")];
        arguments.extend(more.iter().map(|argument| (*argument).to_owned()));
        Self {
            team: TempTeam::new(&["alice"], options),
            alice: "alice".parse().unwrap(),
            steps,
            arguments,
        }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bench"));
        command.arg("work").arg("--dir").arg(self.team.workspace());
        command.args(["agent", "--name", "alice"]);
        command.args(&self.arguments).stdout(Stdio::piped());
        command
    }

    /// Lets a process that nobody disturbs do what is left.
    fn finish(&self) {
        let mut worker = Worker::spawn(&mut self.command()).unwrap();
        let status = worker.wait(LIMIT);
        assert!(status.success(), "{:?}", worker.lines_so_far());
    }

    /// The records of the conversation. Every line of the journal must be one or belong to another.
    fn records(&self) -> Vec<Record> {
        let mut records = Vec::new();
        let team = self.team.team();
        let visit = |bytes: &[u8], line: JournalLine<LlmTypes>| match line {
            JournalLine::Known(JournalRecord::Conversation(record)) => records.push(record),
            JournalLine::Known(_) | JournalLine::Other { .. } => {}
            JournalLine::Corrupt { reason } => {
                panic!("{reason}: {}", String::from_utf8_lossy(bytes));
            }
        };
        team.read_history_as(&self.alice, visit).unwrap();
        records
    }

    fn traces(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.team.workspace().join("traces"));
        text.unwrap_or_default()
            .lines()
            .map(str::to_owned)
            .collect()
    }

    /// Checks a conversation that has come to its end, and returns how many tool uses of it were
    /// interrupted.
    fn check(&self) -> usize {
        let records = self.records();
        let mut uses = Vec::new();
        let mut results = BTreeMap::new();
        let mut messages = Vec::new();
        let mut conversation = Conversation::new();
        for record in records {
            match &record {
                Record::User(user) => {
                    let sources = user.messages.iter().flat_map(|message| &message.source);
                    messages.extend(sources.map(|source| match source {
                        MessageSource::Mail(number) => format!("m{number}"),
                        MessageSource::Prompt(id) => id.to_string(),
                        MessageSource::Commands(_)
                        | MessageSource::Reminder
                        | MessageSource::Continuation => {
                            panic!("there is neither a command nor a reminder")
                        }
                    }));
                }
                Record::Assistant(assistant) => {
                    let ids = assistant.blocks.iter().filter_map(|block| match block {
                        Block::ToolUse(tool_use) => Some(tool_use.id.clone()),
                        _ => None,
                    });
                    uses.extend(ids);
                }
                Record::Result(record) => {
                    let id = record.result.tool_use_id.clone();
                    let before = results.insert(id, record.result.content.clone());
                    assert_eq!(before, None, "a use has one result");
                }
                Record::Asked(_) | Record::Started(_) => panic!("nobody is asked"),
                Record::Cleared(_)
                | Record::Compaction(_)
                | Record::Ended(_)
                | Record::Session(_) => {}
            }
            conversation.apply(record);
        }
        assert_eq!(
            uses,
            self.expected_uses(),
            "each step was taken once, in order"
        );
        assert!(uses.iter().all(|id| results.contains_key(id)));
        messages.sort();
        assert_eq!(
            messages,
            ["m1", "m2", "m3", "task"],
            "no message was lost or repeated"
        );
        assert!(!conversation.is_waiting());
        self.check_traces(&results);
        check_request(&conversation);
        results
            .values()
            .filter(|result| *result == INTERRUPTED)
            .count()
    }

    /// Every second step reads before it leaves its line.
    fn expected_uses(&self) -> Vec<String> {
        let steps = (1..=self.steps).flat_map(|step| {
            let mut uses = [format!("leave-{step}"), format!("read-{step}")];
            if step.is_multiple_of(2) {
                uses.reverse();
            }
            uses
        });
        steps.collect()
    }

    /// A step with a result has left its line, and none has left two.
    fn check_traces(&self, results: &BTreeMap<String, String>) {
        let traces = self.traces();
        for step in 1..=self.steps {
            let line = format!("step-{step}");
            let count = traces.iter().filter(|trace| **trace == line).count();
            let result = &results[&format!("leave-{step}")];
            let allowed = match result.as_str() {
                INTERRUPTED => 0..=1,
                NOT_STARTED => 0..=0,
                _ => 1..=1,
            };
            assert!(
                allowed.contains(&count),
                "{line} is there {count} times: {result}"
            );
        }
    }
}

/// What is left can be sent to a model.
fn check_request(conversation: &Conversation) {
    let request = Request {
        turns: conversation.turns().to_vec(),
        max_tokens: 1,
        resume: true,
        ..Request::default()
    };
    request.validate().unwrap();
}

/// Steps with summaries between them, so that archives are struck as well.
fn small() -> Work {
    Work::new(6, &["--window=900", "--sync"])
}

/// What a process struck at this call leaves, and what the next one makes of it.
fn strike(call: &Call, fault: Fault) -> usize {
    let work = small();
    let outcome = faults::inject(&mut work.command(), call.index, fault).unwrap();
    if outcome == Outcome::NotApplicable {
        return 0;
    }
    assert_eq!(outcome, Outcome::Killed, "{call:?} {fault:?}");
    let before = work.traces();
    work.finish();
    let after = work.traces();
    assert!(after.starts_with(&before), "{call:?} {fault:?}");
    let interrupted = work.check();
    assert!(interrupted <= 1, "{call:?} {fault:?}");
    interrupted
}

#[test]
fn a_process_killed_at_any_step_of_the_journal_is_taken_up_by_the_next() {
    if let Err(reason) = faults::available() {
        report_skip("crash points of a conversation", &reason);
        return;
    }
    let work = small();
    let calls = faults::record(&mut work.command()).unwrap().calls;
    assert_eq!(work.check(), 0);
    let summaries = work.records();
    let summaries = summaries
        .iter()
        .filter(|record| matches!(record, Record::Compaction(_)));
    assert!(summaries.count() >= 1, "the test has a summary in it");
    let writes = calls.iter().filter(|call| call.writes).count();
    assert!(writes > 20, "{writes}");
    let interrupted: usize = std::thread::scope(|scope| {
        let halves = [0, 1].map(|half| {
            let calls = calls.iter().skip(half).step_by(2);
            scope.spawn(move || {
                let faults = [Fault::Kill, Fault::Tear];
                let all = calls.flat_map(|call| faults.map(|fault| strike(call, fault)));
                all.sum::<usize>()
            })
        });
        halves.into_iter().map(|half| half.join().unwrap()).sum()
    });
    assert!(interrupted > 10, "{interrupted}");
}

#[test]
fn a_process_killed_at_random_fifty_times_and_more_finishes_its_work() {
    let mut rng = Rng::new(4);
    let mut kills = 0;
    let mut interrupted = 0;
    let began = Instant::now();
    while kills < 50 {
        assert!(began.elapsed() < LIMIT, "{kills} kills");
        let work = Work::new(60, &["--window=4000", "--bash"]);
        loop {
            let mut worker = Worker::spawn(&mut work.command()).unwrap();
            let moment = Duration::from_micros(rng.below(100_000));
            let ended = try_wait_for(moment, || worker.try_wait());
            match ended {
                Some(status) => {
                    assert!(status.success());
                    break;
                }
                None => kills += usize::from(!worker.kill9().success()),
            }
        }
        interrupted += work.check();
    }
    assert!(interrupted > 0, "no kill hit a tool");
}
