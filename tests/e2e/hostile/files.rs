//! FIFOs, links, second names and files of gigabytes in the place of files and folders.

use crate::harness::{Run, Workspace};
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use protocol::exit;
use serde_json::json;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// The id of a request file.
const REQUEST: &str = "1a2b3c4d";

/// Verbs that meet the files of a team, and end by themselves.
const VERBS: [&[&str]; 22] = [
    &["status"],
    &["inbox", "alice"],
    &["send", "alice", "hi"],
    &["broadcast", "hi"],
    &["requests"],
    &["requests", REQUEST],
    &["logs", "alice"],
    &["task", "list"],
    &["task", "show", "1"],
    &["task", "create", "two"],
    &["task", "graph"],
    &["events"],
    &["notes"],
    &["notes", "--add", "hi"],
    &["costs"],
    &["budget", "show"],
    &["limits"],
    &["doctor"],
    &["clean", "--dry-run"],
    &["wait", "--idle", "--timeout", "1"],
    &["kill", "alice"],
    &["inbox", "alice", "--drain"],
];

/// Files of a team, and a verb that cannot do without each.
const FILES: [(&str, &[&str]); 19] = [
    ("config.json", &["status"]),
    (".config.lock", &["spawn", "zoe", "x", "--model", "offline"]),
    ("inbox/alice.jsonl", &["send", "alice", "hi"]),
    ("inbox/.alice.lock", &["send", "alice", "hi"]),
    ("events.jsonl", &["events"]),
    ("members/alice/log", &["logs", "alice"]),
    ("members/alice/state.json", &["status"]),
    ("members/alice/lock", &["status"]),
    ("members/alice/transcript.jsonl", &["inbox", "alice"]),
    ("requests/1a2b3c4d.json", &["requests", REQUEST]),
    ("requests/.lock", &["doctor"]),
    ("tasks/task_1.json", &["task", "show", "1"]),
    ("tasks/.lock", &["task", "create", "two"]),
    ("tasks/.last", &["task", "create", "two"]),
    ("budget.json", &["costs"]),
    ("limits.json", &["limits"]),
    ("dead_letters.jsonl", &["doctor"]),
    ("notes.jsonl", &["notes"]),
    (".notes.lock", &["notes", "--add", "hi"]),
];

/// A team with alice, a task, and mail for alice.
fn team() -> Workspace {
    let workspace = Workspace::with_members(&["alice"]);
    workspace.ok(&["task", "create", "one"]);
    workspace.ok(&["send", "alice", "hello"]);
    fs::create_dir_all(workspace.path().join(".team/members/alice")).unwrap();
    workspace
}

/// The path of a file or folder of the team, which is free now.
fn place(workspace: &Workspace, name: &str) -> PathBuf {
    let path = workspace.path().join(".team").join(name);
    match fs::symlink_metadata(&path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(&path).unwrap(),
        Ok(_) => fs::remove_file(&path).unwrap(),
        Err(_) => {}
    }
    path
}

/// Runs a verb, which must end in time.
#[track_caller]
fn run(workspace: &Workspace, args: &[&str]) -> Run {
    workspace.start(args).end()
}

#[test]
fn a_fifo_in_the_place_of_any_file_stops_no_command() {
    for (name, verb) in FILES {
        let workspace = team();
        let path = place(&workspace, name);
        mkfifo(&path, Mode::S_IRWXU).unwrap();
        let ended = run(&workspace, verb);
        let said = format!("{}{}", ended.out, ended.err);
        assert_eq!(ended.code, i32::from(exit::FAILED), "{verb:?}: {said}");
        assert!(said.contains(path.to_str().unwrap()), "{name}: {said}");
        assert!(said.contains("team-lead doctor"), "{name}: {said}");
        for verb in VERBS {
            run(&workspace, verb);
        }
        let by_hand = ["config.json", "budget.json", "limits.json"].contains(&name);
        let fixed = run(&workspace, &["doctor", "--fix"]);
        assert!(fixed.out.contains(path.to_str().unwrap()), "{fixed:?}");
        let found = fs::symlink_metadata(&path);
        let is_fifo = found.is_ok_and(|found| !found.is_file());
        assert_eq!(is_fifo, by_hand, "{name}: {fixed:?}");
    }
}

#[test]
fn a_linked_folder_is_followed_by_no_command() {
    for folder in ["inbox", "requests", "tasks", "members", "members/alice"] {
        let workspace = team();
        let victim = workspace.path().join("victim");
        fs::create_dir(&victim).unwrap();
        let names = [
            "1a2b3c4d.json",
            "task_1.json",
            "alice.jsonl",
            "log",
            ".x.1-1.tmp",
        ];
        for name in names {
            fs::write(victim.join(name), "a file of somebody").unwrap();
        }
        symlink(&victim, place(&workspace, folder)).unwrap();
        for verb in VERBS {
            run(&workspace, verb);
        }
        run(
            &workspace,
            &["spawn", "alice", "coder", "--model", "offline"],
        );
        run(&workspace, &["doctor", "--fix"]);
        for name in names {
            let text = fs::read_to_string(victim.join(name));
            assert_eq!(text.unwrap(), "a file of somebody", "{folder}: {name}");
        }
        let count = fs::read_dir(&victim).unwrap().count();
        assert_eq!(count, names.len(), "{folder}");
        workspace.ok(&["status"]);
        run(&workspace, &["kill", "alice"]);
    }
}

#[test]
fn a_linked_team_folder_is_refused() {
    let workspace = Workspace::empty();
    let elsewhere = workspace.home().join("elsewhere");
    fs::create_dir_all(&elsewhere).unwrap();
    symlink(&elsewhere, workspace.path().join(".team")).unwrap();
    let spawn: &[&str] = &["spawn", "alice", "coder", "--model", "offline"];
    for verb in [&["status"], spawn] {
        let refused = run(&workspace, verb);
        refused.complains(exit::FAILED, "is a symbolic link", "team-lead doctor");
    }
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
}

#[test]
fn files_of_gigabytes_are_refused_by_their_size() {
    let files = [
        ("config.json", "status"),
        ("budget.json", "costs"),
        ("limits.json", "limits"),
    ];
    for (name, verb) in files {
        let workspace = team();
        sparse(&place(&workspace, name));
        let refused = run(&workspace, &[verb]);
        let text = "at most 16777216 are read";
        refused.complains(exit::FAILED, text, "team-lead doctor");
    }
    let workspace = team();
    sparse(&place(&workspace, "members/alice/log"));
    let shown = run(&workspace, &["logs", "alice"]);
    shown.has_code(exit::DONE);
    assert!(shown.out.len() < 64 << 20, "only its end is shown");
}

/// A line without an end is not kept in memory.
#[test]
fn a_line_of_a_gigabyte_is_passed_over_or_refused() {
    let files: [(&str, &[&str], u8); 3] = [
        ("events.jsonl", &["events"], exit::DONE),
        ("dead_letters.jsonl", &["doctor"], exit::FAILED),
        ("members/alice/transcript.jsonl", &["doctor"], exit::FAILED),
    ];
    for (name, verb, code) in files {
        let workspace = team();
        let path = place(&workspace, name);
        fs::File::create(&path).unwrap().set_len(1 << 30).unwrap();
        let mut command = workspace.command(verb);
        // SAFETY: between fork and exec only a bare system call is made.
        unsafe {
            std::os::unix::process::CommandExt::pre_exec(&mut command, || {
                let most = 900 << 20;
                Ok(setrlimit(Resource::RLIMIT_AS, most, most)?)
            });
        }
        let ended = workspace.start_command(&mut command).end();
        assert_eq!(ended.code, i32::from(code), "{name}: {ended:?}");
    }
}

fn sparse(path: &Path) {
    let file = fs::File::create(path).unwrap();
    file.set_len(3 << 30).unwrap();
}

#[test]
fn a_roster_of_a_hundred_thousand_members_is_an_error() {
    let workspace = team();
    let members: Vec<_> = (0..100_000)
        .map(|number| json!({"name": format!("m{number}"), "role": "x"}))
        .collect();
    let roster = json!({"version": 1, "team_name": "t", "members": members});
    fs::write(place(&workspace, "config.json"), roster.to_string()).unwrap();
    let refused = run(&workspace, &["status"]);
    refused.complains(exit::FAILED, "it has 100000 members", "team-lead doctor");
}

/// Whoever has another name of a file can change it there, and gets what is written to it.
#[test]
fn a_file_with_a_second_name_is_neither_trusted_nor_written_to() {
    let workspace = team();
    let profile = workspace.path().join("profile");
    fs::write(&profile, "mine\n").unwrap();
    fs::hard_link(&profile, place(&workspace, "inbox/alice.jsonl")).unwrap();
    let refused = run(&workspace, &["send", "alice", "$(evil)"]);
    refused.complains(exit::FAILED, "it has 2 names", "team-lead doctor");
    assert_eq!(fs::read_to_string(&profile).unwrap(), "mine\n");
    let found = run(&workspace, &["doctor"]).out;
    assert!(
        found.contains("inbox/alice.jsonl has other names"),
        "{found}"
    );

    let workspace = team();
    let roster = workspace.path().join(".team/config.json");
    fs::hard_link(&roster, workspace.path().join("other")).unwrap();
    let refused = run(&workspace, &["status"]);
    refused.complains(exit::FAILED, "it has 2 names", "team-lead doctor");
}
