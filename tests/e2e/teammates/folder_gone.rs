//! The team folder is removed, moved away or replaced under running members: each process ends by
//! itself, and creates nothing.

use crate::harness::{LIMIT, Session, Workspace, bash, call, say, wait_for_text};
use protocol::{Phase, exit};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use test_support::llm_server::Gate;
use test_support::wait_until;

/// How long a process may take to end. The promise is one second; a busy machine gets some more.
const SOON: Duration = Duration::from_secs(3);

/// What happens to the folder.
#[derive(Debug, Clone, Copy)]
enum Loss {
    Removed,
    Moved,
    Replaced,
}

const LOSSES: [Loss; 3] = [Loss::Removed, Loss::Moved, Loss::Replaced];

impl Loss {
    /// Returns when the folder was lost, and where it is now.
    fn happen(self, workspace: &Workspace) -> (Instant, PathBuf) {
        let root = workspace.team().layout().root().to_path_buf();
        // The last that a member writes before it rests.
        let ready = r#""event":"ready","member":"alice""#;
        wait_for_text(&root.join("events.jsonl"), ready);
        let elsewhere = workspace.path().join("elsewhere");
        match self {
            Self::Removed => remove(&root),
            Self::Moved => std::fs::rename(&root, &elsewhere).unwrap(),
            Self::Replaced => {
                std::fs::rename(&root, &elsewhere).unwrap();
                let options = *workspace.team().options();
                teamdir::TeamDir::create(workspace.path(), "other", options).unwrap();
            }
        }
        (Instant::now(), elsewhere)
    }

    /// Checks that nobody wrote to the place of the folder.
    fn check_nothing_created(self, workspace: &Workspace) {
        let root = workspace.team().layout().root().to_path_buf();
        match self {
            Self::Removed | Self::Moved => assert!(!root.exists(), "{self:?}: {root:?} is back"),
            Self::Replaced => {
                let members = root.join("members");
                let found = std::fs::read_dir(members).unwrap().count();
                assert_eq!(found, 0, "a member of the old team is in the new one");
                assert!(!root.join("events.jsonl").exists());
            }
        }
    }
}

/// Removes the folder, as often as a member that is at work makes necessary: what it writes at the
/// same moment keeps the folder from being empty.
#[track_caller]
fn remove(root: &Path) {
    wait_until("the folder is removed", LIMIT, || {
        let _ = std::fs::remove_dir_all(root);
        !root.exists()
    });
}

/// Loses the folder, and checks that the process ends, soon and with the right code.
#[track_caller]
fn lose(workspace: &Workspace, loss: Loss, session: &mut Session) {
    let (lost, elsewhere) = loss.happen(workspace);
    let status = session.wait(LIMIT);
    assert!(lost.elapsed() < SOON, "{loss:?}: {:?}", lost.elapsed());
    assert_eq!(status.code(), Some(i32::from(exit::NOT_FOUND)), "{loss:?}");
    workspace.check_gone();
    loss.check_nothing_created(workspace);
    if elsewhere.exists() {
        check_last_line(&elsewhere.join("members/alice/log"));
    }
}

#[track_caller]
fn check_last_line(log: &Path) {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let last = text.lines().rfind(|line| line.contains("team folder"));
    assert!(
        last.is_some_and(|line| line.contains("removed, moved away or replaced")),
        "{text}"
    );
}

#[test]
fn an_idle_member_ends_with_its_folder() {
    for loss in LOSSES {
        let workspace = Workspace::new();
        let mut alice = workspace.start_teammate("alice");
        workspace.wait_phase("alice", Phase::Idle);
        lose(&workspace, loss, &mut alice);
    }
}

#[test]
fn a_member_in_a_tool_ends_with_its_folder() {
    for loss in LOSSES {
        let workspace = Workspace::new();
        let command = "touch started; sleep 6000 & sleep 6000";
        let sleep = call("bash", json!({"command": command, "timeout": 7000}));
        workspace.script("alice", [sleep]);
        let mut alice = workspace.start_teammate("alice");
        workspace.ok(&["send", "alice", "Sleep well."]);
        let started = workspace.path().join("started");
        wait_until("the command", LIMIT, || started.exists());
        lose(&workspace, loss, &mut alice);
    }
}

#[test]
fn a_member_that_waits_for_its_model_ends_with_its_folder() {
    for loss in LOSSES {
        let workspace = Workspace::new();
        let gate = Gate::new();
        workspace.script("alice", [say("Too late.").gate_head(&gate)]);
        let mut alice = workspace.start_teammate("alice");
        workspace.ok(&["send", "alice", "What is new?"]);
        gate.wait_until_reached(LIMIT);
        lose(&workspace, loss, &mut alice);
    }
}

#[test]
fn a_lead_and_its_team_end_with_the_folder() {
    for loss in LOSSES {
        let workspace = Workspace::new();
        workspace.reply(crate::harness::spawn_teammate("alice", "", "offline"));
        workspace.reply(bash("touch started; exec sleep 3600"));
        let session = workspace.start_lead(&["work"]);
        let started = workspace.path().join("started");
        wait_until("the command", LIMIT, || started.exists());
        workspace.wait_alive("alice", Phase::Idle);
        let (lost, _) = loss.happen(&workspace);
        let run = session.end();
        assert!(lost.elapsed() < SOON, "{loss:?}: {:?}", lost.elapsed());
        assert_eq!(run.code, i32::from(exit::NOT_FOUND), "{loss:?}: {run:?}");
        let text = "removed, moved away or replaced";
        assert!(run.err.contains(text), "{loss:?}: {run:?}");
        workspace.check_gone();
        loss.check_nothing_created(&workspace);
    }
}

#[test]
fn a_foreign_program_ends_with_the_folder() {
    for loss in LOSSES {
        let workspace = Workspace::new();
        workspace.spawn("alice", &["--exec", "touch started; exec sleep 3600"]);
        let started = workspace.path().join("started");
        wait_until("the program", LIMIT, || started.exists());
        let (lost, _) = loss.happen(&workspace);
        workspace.check_gone();
        assert!(lost.elapsed() < SOON, "{loss:?}: {:?}", lost.elapsed());
        loss.check_nothing_created(&workspace);
    }
}
