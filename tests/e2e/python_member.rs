//! A member in another language, written from the specification, beside members in Rust.

use crate::harness::{LIMIT, Workspace, recipient, wait_for_text};
use protocol::{
    AgentName, Body, Incarnation, JournalLine, JournalRecord, Line, Member, MemberStatus, Message,
    MessageId, Party, Recipient, Request, RequestStatus, Sender, exit,
};
use rules::{Addressee, Opening, Response, Verdict};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use teamdir::{
    Durability, JoinError, Liveness, MemberSession, Options, RequestError, SessionError, TeamDir,
    WatchChoice, new_request_id, now,
};
use test_support::{Rng, TempTeam, Worker, report_skip, wait_until};

const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/e2e/python/member.py");
const MINIMAL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/e2e/python/minimal.py");

/// A team of `bob`, who is this test process, and `pat`, who is a Python process.
struct Team {
    temp: TempTeam,
    team: TeamDir,
}

impl Team {
    /// `None`, with a message, where there is no Python.
    fn new(test: &str) -> Option<Self> {
        if Command::new("python3").arg("--version").output().is_err() {
            report_skip(test, "python3 is not installed");
            return None;
        }
        // Files are set aside and deleted at once, so that renames meet as many writes as possible.
        let options = Options {
            durability: Durability::ProcessDeath,
            seal_after: Duration::ZERO,
            segment_grace: Duration::ZERO,
            ..Options::default()
        };
        let temp = TempTeam::new(&["bob", "pat"], options);
        let team = temp.team().clone();
        Some(Self { temp, team })
    }

    /// Starts the Python process and waits until it says that it is the member.
    fn start_pat(&self) -> Worker {
        let folder: &Path = self.team.layout().root();
        let mut command = Command::new("python3");
        command.arg(PROGRAM).arg(folder).arg("pat");
        let mut worker = Worker::spawn(command.current_dir(self.temp.workspace())).unwrap();
        let line = worker.line(LIMIT);
        assert_eq!(
            line,
            format!("pat runs as incarnation {}", self.incarnation())
        );
        worker
    }

    fn post(&self, owner: &str) -> MemberSession {
        MemberSession::open(&self.team, &recipient(owner), WatchChoice::Auto).unwrap()
    }

    /// Sends one message and returns the id that its echo will have.
    fn send(&self, from: &str, to: &str, number: usize) -> String {
        let content = format!("message {number} from {from}: {{\"é\"}}\n");
        let mut message = Message::new(Body::Message { content });
        message.from = Some(Sender::new(from));
        message.to = Some(recipient(to));
        message.id = Some(MessageId::new(&format!("{from}-{number}")).unwrap());
        let sent = self.team.send(message).unwrap();
        format!("{}/echo", sent.id)
    }

    fn pat(&self) -> Member {
        let name = AgentName::new("pat").unwrap();
        self.team.roster().unwrap().member(&name).unwrap().clone()
    }

    fn incarnation(&self) -> Incarnation {
        self.pat().incarnation
    }

    /// How often each id was recorded in a journal.
    fn recorded(&self, owner: &str) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        let count = |_: &[u8], line| {
            if let JournalLine::Known(JournalRecord::Mail(record)) = line {
                for entry in record.mail {
                    *counts.entry(entry.id.to_string()).or_default() += 1;
                }
            }
        };
        self.team.read_journal(&recipient(owner), count).unwrap();
        counts
    }

    /// Asks the given incarnation of pat to end.
    fn ask_to_end(&self, incarnation: Incarnation) -> Request {
        let opening = Opening {
            id: new_request_id(),
            from: Party::Lead,
            from_incarnation: None,
            to: recipient("pat"),
            to_incarnation: Some(incarnation),
            now: now(),
        };
        let deadline = now().plus(LIMIT);
        let request = rules::open_shutdown(opening, deadline, "", false).unwrap();
        self.team.create_request(&request).unwrap();
        let mut message = Message::new(Body::ShutdownRequest {
            request_id: request.id.clone(),
            content: "Please end.".to_owned(),
        });
        message.id = Some(MessageId::new(&format!("{}/ask", request.id)).unwrap());
        message.from = Some(Sender::Party(Party::Lead));
        message.to = Some(recipient("pat"));
        message.to_incarnation = Some(incarnation);
        self.team.send(message).unwrap();
        request
    }
}

/// The next messages of a post. Panics if there are none within the limit.
fn receive(post: &mut MemberSession) -> Vec<Message> {
    let delivery = post.next(Some(Instant::now() + LIMIT)).unwrap();
    let delivery = delivery.expect("no mail within the limit");
    assert!(delivery.bad.is_empty(), "{:?}", delivery.bad);
    let messages = delivery.mail.into_iter().map(|mail| match mail.decode() {
        Line::Message(message) => message,
        other => panic!("{other:?}"),
    });
    messages.collect()
}

#[test]
fn a_second_process_for_the_same_name_is_refused() {
    let Some(team) = Team::new("a_second_process_for_the_same_name_is_refused") else {
        return;
    };
    let mut pat = team.start_pat();
    match MemberSession::open(&team.team, &recipient("pat"), WatchChoice::Auto) {
        Err(SessionError::Join(JoinError::Held { holder, .. })) => {
            let holder = holder.expect("the lock says who holds it");
            assert_eq!(holder.pid, pat.id());
            assert_eq!(holder.incarnation, team.incarnation());
            assert!(teamdir::is_running(&holder));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(pat.kill9().code(), None);
    let post = team.post("pat");
    assert_eq!(post.guard().incarnation(), Incarnation(2));
    // And the other way round: Python gives way to Rust.
    let mut command = Command::new("python3");
    let program = command
        .arg(PROGRAM)
        .arg(team.team.layout().root())
        .arg("pat");
    assert_eq!(program.status().unwrap().code(), Some(7));
}

#[test]
fn inv_21_python_sends_500_messages_while_a_reader_drains() {
    const MESSAGES: usize = 500;
    let Some(team) = Team::new("inv_21_python_sends_500_messages_while_a_reader_drains") else {
        return;
    };
    let _pat = team.start_pat();
    let mut bob = team.post("bob");
    // A Rust sender takes turns with Python at the lock of bob's inbox.
    let mut echoes = Vec::new();
    std::thread::scope(|scope| {
        let lead = scope.spawn(|| {
            for number in 0..MESSAGES {
                team.send("lead", "bob", number);
            }
        });
        let own: Vec<String> = (0..MESSAGES).map(|n| team.send("bob", "pat", n)).collect();
        let mut from_lead = 0;
        while echoes.len() < MESSAGES || from_lead < MESSAGES {
            for message in receive(&mut bob) {
                match message.from {
                    Some(Sender::Party(Party::Lead)) => from_lead += 1,
                    _ => echoes.push(message.id.unwrap().to_string()),
                }
            }
        }
        lead.join().unwrap();
        // Order per sender is kept.
        assert_eq!(echoes, own);
    });
    let recorded = team.recorded("bob");
    assert_eq!(recorded.len(), 2 * MESSAGES);
    assert!(recorded.values().all(|count| *count == 1), "{recorded:?}");
}

#[test]
fn killing_python_again_and_again_loses_nothing_and_repeats_nothing() {
    const ROUNDS: usize = 12;
    const PER_ROUND: usize = 15;
    let Some(team) = Team::new("killing_python_again_and_again") else {
        return;
    };
    let mut rng = Rng::new(7);
    let mut bob = team.post("bob");
    let mut expected = Vec::new();
    let mut echoes = Vec::new();
    for round in 0..ROUNDS {
        let mut pat = team.start_pat();
        assert_eq!(team.incarnation(), Incarnation(round as u64 + 1));
        for number in 0..PER_ROUND {
            expected.push(team.send("bob", "pat", round * PER_ROUND + number));
        }
        // Some of them come through before the kill, at a moment that the seed decides.
        let enough = echoes.len() + rng.below(PER_ROUND as u64) as usize;
        while echoes.len() < enough {
            echoes.extend(receive(&mut bob));
        }
        pat.kill9();
    }
    let _pat = team.start_pat();
    while echoes.len() < expected.len() {
        echoes.extend(receive(&mut bob));
    }
    let ids: Vec<String> = echoes
        .iter()
        .map(|message| message.id.clone().unwrap().to_string())
        .collect();
    assert_eq!(ids, expected);
    assert!(team.recorded("bob").values().all(|count| *count == 1));
    for message in &echoes {
        assert!(message.body.text().ends_with("from bob: {\"é\"}\n"));
    }
}

#[test]
fn python_answers_a_shutdown_of_this_incarnation_and_of_no_other() {
    let Some(team) = Team::new("python_answers_a_shutdown_of_this_incarnation_and_of_no_other")
    else {
        return;
    };
    team.start_pat().kill9();
    // This one is for the incarnation that was just killed.
    let stale = team.ask_to_end(Incarnation(1));
    let mut pat = team.start_pat();
    let dead_letters = team.team.layout().dead_letters();
    wait_until("the stale request among the dead letters", LIMIT, || {
        std::fs::read_to_string(&dead_letters).is_ok_and(|text| text.contains(stale.id.as_str()))
    });
    assert_eq!(pat.try_wait(), None);

    let request = team.ask_to_end(Incarnation(2));
    let mut lead = team.post("lead");
    let answers = receive(&mut lead);
    let [answer] = answers.as_slice() else {
        panic!("{answers:?}");
    };
    let response = Response::of(answer).expect("it is an answer");
    let resolved = team.team.update_request(&request.id, |found| {
        let alive = Addressee::Alive(Incarnation(2));
        match rules::answer(&found, &response, alive, now()) {
            Verdict::Resolved(request) => Ok::<_, RequestError>((request, true)),
            Verdict::Ignored { request, .. } => Ok((request, false)),
        }
    });
    assert!(resolved.unwrap(), "{answer:?} does not count");
    let stored = team.team.request(&request.id).unwrap();
    assert_eq!(stored.status(), RequestStatus::Approved);

    assert_eq!(pat.wait(LIMIT).code(), Some(0));
    assert_eq!(team.pat().status, MemberStatus::Shutdown);
    let liveness = team.team.liveness(&recipient("pat")).unwrap();
    assert!(matches!(liveness, Liveness::Gone(Some(_))), "{liveness:?}");
}

#[test]
fn thirty_lines_of_python_send_receive_and_answer_a_shutdown() {
    let Some(team) = Team::new("thirty_lines_of_python") else {
        return;
    };
    let lines = std::fs::read_to_string(MINIMAL).unwrap().lines().count();
    assert!(lines <= 30, "{lines} lines");
    let mut command = Command::new("python3");
    command
        .arg(MINIMAL)
        .arg(team.team.layout().root())
        .arg("pat");
    let mut pat = Worker::spawn(&mut command).unwrap();
    assert_eq!(pat.line(LIMIT), "pat is here");
    let mut bob = team.post("bob");
    team.send("bob", "pat", 1);
    let echo = receive(&mut bob).remove(0);
    assert_eq!(echo.body.text(), "message 1 from bob: {\"é\"}\n");
    let request = team.ask_to_end(team.incarnation());
    let answer = receive(&mut team.post("lead")).remove(0);
    assert!(
        matches!(&answer.body, Body::ShutdownResponse { request_id, approve: true, .. } if *request_id == request.id),
        "{answer:?}"
    );
    assert_eq!(pat.wait(LIMIT).code(), Some(0));
}

#[test]
fn a_python_program_joins_through_spawn_and_is_supervised_like_the_rest() {
    if Team::new("a_python_program_joins_through_spawn").is_none() {
        return;
    }
    let workspace = Workspace::new();
    let program = format!("exec python3 '{PROGRAM}'");
    workspace.spawn("pat", &["--exec", &program]);
    let echo = |content: &str| {
        let mut message = Message::new(Body::Message {
            content: content.to_owned(),
        });
        message.from = Some(Party::Lead.into());
        message.to = Some(recipient("pat"));
        workspace.team().send(message).unwrap();
        let inbox = workspace.team().layout().inbox(&Recipient::Lead);
        wait_for_text(&inbox, &format!("\"content\": \"{content}\""));
    };
    echo("first words");
    workspace.kill9("pat");
    workspace.wait_state("pat", "dead");
    workspace.run(&["restart", "pat"]).has_code(exit::DONE);
    echo("second words");
    assert_eq!(workspace.shown("pat")["incarnation"], 2);
    let run = workspace.run(&["shutdown", "pat", "--wait"]);
    let gone = "'pat' agreed and is gone\n";
    assert!(run.has_code(exit::DONE).out.ends_with(gone), "{run:?}");
    assert_eq!(workspace.shown("pat")["state"], "shutdown");
    // Killed before it noted that it had answered, it answers again under the same id: the lead
    // takes that for one message.
    let mut lead =
        MemberSession::open(workspace.team(), &Recipient::Lead, WatchChoice::Poll).unwrap();
    let mut echoes = receive(&mut lead);
    echoes.retain(|message| matches!(message.body, Body::Message { .. }));
    let echoes: Vec<_> = echoes.iter().map(|message| message.body.text()).collect();
    assert_eq!(echoes, ["first words", "second words"]);
}
