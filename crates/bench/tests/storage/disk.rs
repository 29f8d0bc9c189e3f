//! Full disks, file size limits, and folders that cannot be written.

use crate::support::{TestTeam, unsynced};
use protocol::{Body, Message, MessageId, Sender};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use teamdir::{MemberSession, Options, TeamDir, WatchChoice};
use test_support::{SmallDisk, report_skip, wait_until};

fn message(id: &str, size: usize) -> Message {
    let mut message = Message::new(Body::Message {
        content: "x".repeat(size),
    });
    message.id = Some(MessageId::new(id).unwrap());
    message.from = Some(Sender::new("bob"));
    message.to = Some("alice".parse().unwrap());
    message
}

#[test]
fn inv_10_a_full_disk_refuses_mail_and_loses_none() {
    let disk = match SmallDisk::tmpfs(1 << 20) {
        Ok(disk) => disk,
        Err(reason) => return report_skip("full disk", reason),
    };
    let team = TestTeam::at(disk.path(), Options::default());
    let mut session = MemberSession::open(&team.team, &team.alice, WatchChoice::Auto).unwrap();
    let mut accepted = Vec::new();
    let error = loop {
        let id = accepted.len().to_string();
        let before = std::fs::read(team.team.layout().inbox(&team.alice)).unwrap_or_default();
        match team.team.send(message(&id, 1_000)) {
            Ok(_) => accepted.push(id),
            Err(error) => {
                let after = std::fs::read(team.team.layout().inbox(&team.alice)).unwrap();
                assert_eq!(before, after, "a failed send changed the inbox");
                break error.to_string();
            }
        }
    };
    assert!(
        error.contains("alice.jsonl") && error.contains("free some space"),
        "{error}"
    );
    // The journal has no room either: the reader says so and keeps everything.
    let error = session.next(Some(Instant::now())).unwrap_err().to_string();
    assert!(error.contains("transcript.jsonl"), "{error}");
    assert_eq!(team.unread(), accepted.len());
    // Room comes back; neither process was restarted.
    let roster = std::fs::metadata(team.team.layout().roster()).unwrap();
    assert!(roster.len() > 0);
    let bigger = Command::new("mount")
        .args(["-o", "remount,size=16m"])
        .arg(disk.path())
        .status()
        .unwrap();
    assert!(bigger.success());
    team.team.send(message("last", 1_000)).unwrap();
    accepted.push("last".to_owned());
    while session.next(Some(Instant::now())).unwrap().is_some() {}
    assert_eq!(team.journal(), accepted);
    assert_eq!(team.dead_letters(), 0);
}

#[test]
fn inv_10_a_file_size_limit_refuses_a_send_and_leaves_the_inbox_as_it_was() {
    let team = TestTeam::new();
    team.team.send(message("0", 300)).unwrap();
    let inbox = team.team.layout().inbox(&team.alice);
    let before = std::fs::read(&inbox).unwrap();
    // One block of 1,024 bytes: the second message starts inside it and ends behind it.
    let command = team.bench(&[
        "write", "--from", "w", "--to", "alice", "--size", "800", "--end", "1",
    ]);
    let mut shell = Command::new("bash");
    shell.args(["-c", "trap '' XFSZ; ulimit -f 1; exec \"$@\"", "bash"]);
    shell.arg(command.get_program()).args(command.get_args());
    let output = shell.output().unwrap();
    assert!(!output.status.success());
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("alice.jsonl"), "{error}");
    assert_eq!(std::fs::read(&inbox).unwrap(), before);
}

#[test]
fn a_read_only_folder_gives_a_clear_error_and_recovers() {
    let disk = match SmallDisk::tmpfs(1 << 20) {
        Ok(disk) => disk,
        Err(reason) => return report_skip("read-only folder", reason),
    };
    let team = TestTeam::at(disk.path(), Options::default());
    let mut session = MemberSession::open(&team.team, &team.alice, WatchChoice::Auto).unwrap();
    // A sender keeps files open for its next message, so another one sends this.
    let sender = TeamDir::open(disk.path(), Options::default()).unwrap();
    sender.send(message("1", 10)).unwrap();
    while session.next(Some(Instant::now())).unwrap().is_some() {}
    let remount = |how: &str| {
        let mut mount = Command::new("mount");
        mount.args(["-o", how]).arg(disk.path()).status().unwrap()
    };
    // A file that is open for writing keeps a file system from becoming read-only. Another test may
    // start a process at this moment, which has all open files until it becomes another program.
    drop((session, sender));
    let limit = Duration::from_secs(60);
    wait_until("a read-only folder", limit, || {
        remount("remount,ro").success()
    });
    let error = team.team.send(message("2", 10)).unwrap_err().to_string();
    assert!(
        error.contains(".alice.lock") && error.contains("must be writable"),
        "{error}"
    );
    assert_eq!(team.unread(), 0, "reading needs no writing");
    assert!(remount("remount,rw").success());
    team.team.send(message("2", 10)).unwrap();
    let mut session = MemberSession::open(&team.team, &team.alice, WatchChoice::Auto).unwrap();
    while session.next(Some(Instant::now())).unwrap().is_some() {}
    assert_eq!(team.journal(), ["1", "2"]);
}

#[test]
fn errors_name_path_and_cause() {
    let team = TestTeam::new();
    let config = team.team.layout().roster();
    let good = std::fs::read(&config).unwrap();
    std::fs::write(&config, "{\"members\": [{\"name\": 5}]}").unwrap();
    let error = team.team.roster().unwrap_err().to_string();
    assert!(
        error.contains("config.json") && error.contains("field `name`"),
        "{error}"
    );
    std::fs::write(&config, "{\"version\": 2}").unwrap();
    let error = team.team.roster().unwrap_err().to_string();
    assert!(error.contains("version 2 is newer"), "{error}");
    std::fs::write(&config, good).unwrap();

    let missing = TeamDir::find(std::path::Path::new("/"), unsynced()).unwrap_err();
    assert!(missing.to_string().contains("no team folder"), "{missing}");

    let held = std::fs::File::create(team.team.layout().inbox_lock(&team.alice)).unwrap();
    held.lock().unwrap();
    let hasty = Options {
        lock_wait: Duration::from_millis(20),
        ..unsynced()
    };
    let workspace = team.team.layout().root().parent().unwrap();
    let hasty = TeamDir::open(workspace, hasty).unwrap();
    let error = hasty.send(message("1", 10)).unwrap_err().to_string();
    assert!(
        error.contains(".alice.lock") && error.contains("locked"),
        "{error}"
    );
}

#[test]
fn inv_13_an_inbox_folder_without_permissions_gives_a_clear_error_and_recovers() {
    let team = TestTeam::new();
    team.team.send(message("1", 10)).unwrap();
    let dir = team.team.layout().inbox_dir();
    let mode = |mode| {
        std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    mode(0o000);
    let mut send = team.bench(&["write", "--from", "w", "--to", "alice", "--end", "1"]);
    send.stderr(Stdio::piped());
    // Root may do everything, so where the test runs as root the folder is an ordinary user's.
    if nix::unistd::geteuid().is_root() {
        let workspace = team.team.layout().root().parent().unwrap();
        let status = Command::new("chown")
            .args(["-R", "65534"])
            .arg(workspace)
            .status();
        assert!(status.unwrap().success());
        send.uid(65_534);
    }
    let output = send.output();
    mode(0o700);
    let output = output.unwrap();
    assert!(!output.status.success());
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        error.contains(".team") && error.contains("check who owns"),
        "{error}"
    );
    team.team.send(message("2", 10)).unwrap();
    let mut session = MemberSession::open(&team.team, &team.alice, WatchChoice::Auto).unwrap();
    while session.next(Some(Instant::now())).unwrap().is_some() {}
    assert_eq!(team.journal(), ["1", "2"]);
}
