//! Mail in one process; the tests with several are in the `bench` crate.

mod regressions;

use crate::{Journal, Mailbox, MemberSession, Options, SendError, TeamDir, WatchChoice, Watcher};
use protocol::{AgentName, Body, Line, Member, Message, MessageId, Recipient};
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

pub(super) struct Fixture {
    _dir: tempfile::TempDir,
    pub(super) team: TeamDir,
    pub(super) alice: Recipient,
}

pub(super) fn fixture(options: Options) -> Fixture {
    let dir = tempfile::tempdir().unwrap();
    let team = TeamDir::create(dir.path(), "default", options).unwrap();
    let alice = AgentName::new("alice").unwrap();
    team.update_roster(|roster| {
        roster.members.push(Member::new(alice.clone(), "coder"));
        Ok::<_, crate::RosterError>(())
    })
    .unwrap();
    Fixture {
        _dir: dir,
        team,
        alice: alice.into(),
    }
}

/// Sets aside and deletes at once, so that each step shows.
pub(super) fn eager() -> Options {
    Options {
        seal_after: Duration::ZERO,
        segment_grace: Duration::ZERO,
        durability: crate::Durability::ProcessDeath,
        ..Options::default()
    }
}

impl Fixture {
    pub(super) fn send(&self, id: &str, text: &str) {
        let mut message = Message::new(Body::Message {
            content: text.to_owned(),
        });
        message.id = Some(MessageId::new(id).unwrap());
        message.from = Some(protocol::Sender::new("bob"));
        message.to = Some(self.alice.clone());
        self.team.send(message).unwrap();
    }

    pub(super) fn inbox(&self) -> PathBuf {
        self.team.layout().inbox(&self.alice)
    }

    pub(super) fn echo(&self, text: &str) {
        let mut file = std::fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(self.inbox())
            .unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    pub(super) fn post(&self) -> MemberSession {
        MemberSession::open(&self.team, &self.alice, WatchChoice::Poll).unwrap()
    }

    pub(super) fn hidden_files(&self) -> usize {
        self.team.segments(&self.alice).unwrap().len()
    }

    pub(super) fn unread(&self) -> usize {
        self.team.unread_mail(&self.alice, |_, _| {}).unwrap()
    }
}

/// Everything there is now; tidies up as a reader does before it sleeps.
pub(super) fn drain(session: &mut MemberSession) -> Vec<String> {
    let mut texts = Vec::new();
    while let Some(delivery) = session.next(Some(Instant::now())).unwrap() {
        texts.extend(
            delivery
                .mail
                .iter()
                .map(|received| match received.decode() {
                    Line::Message(message) => message.body.text().to_owned(),
                    Line::Text(text) => text,
                    other => format!("{other:?}"),
                }),
        );
    }
    texts
}

#[test]
fn mail_is_shown_once_and_the_inbox_is_empty_afterwards() {
    let fixture = fixture(eager());
    fixture.send("1", "one");
    fixture.echo("words\n");
    assert_eq!(fixture.unread(), 2);
    let mut session = fixture.post();
    assert_eq!(drain(&mut session), ["one", "words"]);
    assert_eq!(std::fs::read(fixture.inbox()).unwrap(), b"");
    assert_eq!((fixture.unread(), fixture.hidden_files()), (0, 0));
    fixture.send("1", "one");
    fixture.send("2", "two");
    assert_eq!(drain(&mut session), ["two"]);
}

#[test]
fn a_restart_goes_on_where_the_last_process_stopped() {
    let fixture = fixture(Options::default());
    fixture.send("1", "one");
    let mut session = fixture.post();
    assert_eq!(drain(&mut session), ["one"]);
    // Not set aside yet: the position in the live file must be found again.
    fixture.echo("two\n");
    assert_eq!(fixture.unread(), 1);
    drop(session);
    let mut session = fixture.post();
    assert_eq!(drain(&mut session), ["two"]);
    drop(session);
    assert_eq!(drain(&mut fixture.post()), [""; 0]);
}

#[test]
fn half_a_line_waits_for_its_newline() {
    let fixture = fixture(eager());
    let mut session = fixture.post();
    fixture.echo("{\"from\":\"bob\",");
    assert_eq!(drain(&mut session), [""; 0]);
    fixture.echo("\"content\":\"late\"}\n");
    assert_eq!(drain(&mut session), ["late"]);
}

#[test]
fn a_torn_line_is_ended_by_the_next_sender_and_becomes_a_dead_letter() {
    let fixture = fixture(eager());
    fixture.echo("{\"id\":\"0\",\"conte");
    fixture.send("1", "one");
    let mut session = fixture.post();
    assert_eq!(drain(&mut session), ["one"]);
    let dead = std::fs::read_to_string(fixture.team.layout().dead_letters()).unwrap();
    assert_eq!(dead.lines().count(), 1);
    assert!(dead.contains(r#"{\"id\":\"0\",\"conte"#), "{dead}");
}

#[test]
fn inv_05_a_descriptor_kept_open_across_100_drains_loses_nothing() {
    let fixture = fixture(eager());
    let mut session = fixture.post();
    fixture.echo("first\n");
    let mut kept = std::fs::OpenOptions::new()
        .append(true)
        .open(fixture.inbox())
        .unwrap();
    assert_eq!(drain(&mut session), ["first"]);
    for round in 0..100 {
        writeln!(kept, "kept {round}").unwrap();
        fixture.send(&round.to_string(), &format!("sent {round}"));
        let mut texts = drain(&mut session);
        texts.sort();
        assert_eq!(texts, [format!("kept {round}"), format!("sent {round}")]);
    }
    assert_eq!(fixture.hidden_files(), 1);
    drop(kept);
    // Now nobody can write to it any more.
    fixture.echo("last\n");
    assert_eq!(drain(&mut session), ["last"]);
    let deadline = Instant::now() + Duration::from_secs(10);
    while fixture.hidden_files() > 0 {
        assert!(Instant::now() < deadline, "the old file is not deleted");
        drain(&mut session);
        std::thread::yield_now();
    }
}

#[test]
fn inv_13_an_inbox_deleted_replaced_or_cut_by_a_person_goes_on() {
    let fixture = fixture(Options::default());
    let mut session = fixture.post();
    fixture.echo("one\n");
    assert_eq!(drain(&mut session), ["one"]);
    std::fs::remove_file(fixture.inbox()).unwrap();
    fixture.echo("one\n");
    assert_eq!(drain(&mut session), ["one"], "deleted and written anew");
    let other = fixture.inbox().with_extension("new");
    std::fs::write(&other, "two\n").unwrap();
    std::fs::rename(&other, fixture.inbox()).unwrap();
    assert_eq!(drain(&mut session), ["two"], "replaced by rename");
    std::fs::write(fixture.inbox(), "3\n").unwrap();
    assert_eq!(drain(&mut session), ["3"], "cut and written anew");
    fixture.echo("and more than there was\n");
    assert_eq!(
        drain(&mut session),
        ["and more than there was"],
        "grown after the cut"
    );
    drop(session);
    std::fs::remove_file(fixture.inbox()).unwrap();
    fixture.echo("3\n");
    let mut session = fixture.post();
    assert_eq!(drain(&mut session), ["3"], "deleted while nobody was there");
    std::fs::remove_file(fixture.team.layout().inbox_lock(&fixture.alice)).unwrap_or(());
    fixture.send("9", "four");
    assert_eq!(drain(&mut session), ["four"], "lock file deleted");
}

#[test]
fn a_file_written_anew_in_place_is_read_from_its_start() {
    let fixture = fixture(Options::default());
    let mut session = fixture.post();
    fixture.echo("a line\nand another\n");
    assert_eq!(drain(&mut session), ["a line", "and another"]);
    std::fs::write(
        fixture.inbox(),
        "something longer than that\nin its place\n",
    )
    .unwrap();
    assert_eq!(
        drain(&mut session),
        ["something longer than that", "in its place"]
    );
}

/// A power cut takes bytes that were read but never synced; mail that comes afterwards lands where
/// they were.
#[test]
fn a_file_that_lost_its_end_is_read_again_without_repeats() {
    let fixture = fixture(Options::default());
    let mut session = fixture.post();
    fixture.echo("kept\nlost\n");
    assert_eq!(drain(&mut session), ["kept", "lost"]);
    drop(session);
    let file = std::fs::File::options().write(true).open(fixture.inbox());
    file.unwrap().set_len(5).unwrap();
    fixture.echo("new and longer\n");
    assert_eq!(drain(&mut fixture.post()), ["new and longer"]);
}

#[test]
fn a_number_that_was_used_up_is_not_used_again() {
    let mut fixture = fixture(eager());
    let mut session = fixture.post();
    fixture.echo("first\n");
    assert_eq!(drain(&mut session), ["first"]);
    assert_eq!(fixture.hidden_files(), 0, "set aside and deleted");
    drop(session);
    // From now on nothing is set aside, so that the live file has a position.
    let workspace = fixture.team.layout().root().parent().unwrap().to_path_buf();
    fixture.team = TeamDir::open(&workspace, Options::default()).unwrap();
    fixture.echo("second\n");
    assert_eq!(drain(&mut fixture.post()), ["second"]);
    assert_eq!(drain(&mut fixture.post()), [""; 0]);
}

#[test]
fn a_file_set_aside_is_not_deleted_before_its_last_line_was_read() {
    let fixture = fixture(eager());
    let guard = fixture.team.join(&fixture.alice).unwrap();
    let (mut journal, state) = Journal::open(&fixture.team, &guard).unwrap();
    let mut mailbox = Mailbox::open(&fixture.team, &guard, state, &mut journal).unwrap();
    let folder = fixture.team.layout().inbox_dir();
    let mut watch = Watcher::new(&folder, WatchChoice::Poll);
    fixture.echo("first\n");
    let mut late = std::fs::File::options()
        .append(true)
        .open(fixture.inbox())
        .unwrap();
    assert!(mailbox.receive(&mut journal).unwrap().is_some());
    mailbox.prepare_to_wait(&mut journal, &mut watch).unwrap();
    assert_eq!(fixture.hidden_files(), 1);
    // Written and closed between two looks of the reader.
    writeln!(late, "late").unwrap();
    drop(late);
    mailbox.prepare_to_wait(&mut journal, &mut watch).unwrap();
    assert_eq!(fixture.hidden_files(), 1, "deleted unread");
    let delivery = mailbox.receive(&mut journal).unwrap().unwrap();
    assert_eq!(delivery.mail[0].decode(), Line::Text("late".into()));
}

#[test]
fn inv_22_lines_of_any_length_around_the_batch_arrive_whole() {
    let fixture = fixture(eager());
    let mut session = fixture.post();
    let batch = crate::mail::segment::BATCH;
    for length in [
        4095,
        4096,
        4097,
        batch - 1,
        batch,
        batch + 1,
        3 * batch,
        1 << 20,
    ] {
        let text = "x".repeat(length - 1);
        fixture.echo(&format!("a\n{text}\nb\n"));
        assert_eq!(drain(&mut session), ["a", &text, "b"], "{length}");
    }
}

#[test]
fn inv_19_one_id_from_two_senders_or_with_two_texts_is_two_messages() {
    let fixture = fixture(eager());
    let mut session = fixture.post();
    fixture.echo("{\"id\":\"7\",\"from\":\"bob\",\"content\":\"a\"}\n");
    assert_eq!(drain(&mut session), ["a"]);
    fixture.echo("{\"id\":\"7\",\"from\":\"carol\",\"content\":\"b\"}\n");
    let delivery = session.next(Some(Instant::now())).unwrap().unwrap();
    assert_eq!(delivery.mail.len(), 1);
    assert!(
        delivery.notes[0].contains("another sender"),
        "{:?}",
        delivery.notes
    );
    fixture.echo("{\"id\":\"7\",\"from\":\"bob\",\"content\":\"c\"}\n");
    let delivery = session.next(Some(Instant::now())).unwrap().unwrap();
    assert!(
        delivery.notes[0].contains("another text"),
        "{:?}",
        delivery.notes
    );
    fixture.echo("{\"id\":\"7\",\"from\":\"bob\",\"content\":\"a\"}\n");
    assert_eq!(drain(&mut session), [""; 0]);
}

#[test]
fn unknown_recipients_are_refused_and_create_nothing() {
    let fixture = fixture(eager());
    let mut message = Message::new(Body::Message {
        content: "x".into(),
    });
    message.to = Some("alcie".parse().unwrap());
    let error = fixture.team.send(message.clone()).unwrap_err();
    assert!(
        error.to_string().contains("the members are alice"),
        "{error}"
    );
    assert!(!fixture.inbox().with_file_name("alcie.jsonl").exists());
    message.to = Some("ALICE".parse().unwrap());
    assert_eq!(
        fixture.team.send(message.clone()).unwrap().to,
        fixture.alice
    );
    message.body = Body::Message {
        content: "x".repeat(1 << 20),
    };
    assert!(matches!(
        fixture.team.send(message),
        Err(SendError::TooLong { .. })
    ));
}

#[test]
fn a_full_inbox_refuses_with_its_size() {
    let options = Options {
        inbox_limit: 10,
        ..eager()
    };
    let fixture = fixture(options);
    fixture.send("1", "one");
    let mut message = Message::new(Body::Message {
        content: "x".into(),
    });
    message.to = Some(fixture.alice.clone());
    let error = fixture.team.send(message).unwrap_err().to_string();
    assert!(error.contains("is full"), "{error}");
}
