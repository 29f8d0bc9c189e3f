//! What a workspace of a stranger may say, and what its user is asked.

mod attacks;
mod own_teams;
mod owners;
mod questions;

use crate::harness::{KEY, Run, Workspace};
use protocol::{MemberStatus, RestartPolicy, Roster, exit};
use serde_json::json;
use std::path::Path;
use std::process::Command;
use teamdir::{FOLDER, Layout};

/// The file that exists if the stranger's code has run.
const PROOF: &str = "code-ran";

/// A command that makes [`PROOF`].
fn malice(workspace: &Workspace) -> String {
    format!("touch '{}'", workspace.path().join(PROOF).display())
}

/// Recorded turns that run a command, in a file that looks harmless.
fn write_notes(workspace: &Workspace) {
    let call = json!({"name": "bash", "input": {"command": malice(workspace)}});
    let turns = json!({"lead": [{"calls": [call]}, {"say": "done"}]});
    workspace.write("docs/notes.txt", &turns.to_string());
}

/// Puts a team into a workspace as `git clone` does: its files, and nothing else.
fn clone_team(workspace: &Path, members: &[protocol::Member]) {
    let layout = Layout::new(workspace.join(FOLDER));
    let folders = [
        layout.inbox_dir(),
        layout.requests_dir(),
        layout.tasks_dir(),
        layout.members_dir(),
    ];
    for folder in folders {
        std::fs::create_dir_all(folder).unwrap();
    }
    let roster = Roster {
        members: members.to_vec(),
        ..Roster::default()
    };
    std::fs::write(layout.roster(), json!(roster).to_string()).unwrap();
}

/// A member that a lead would restart.
fn dead_member(name: &str) -> protocol::Member {
    let mut member = protocol::Member::new(crate::harness::agent(name), "coder");
    member.status = MemberStatus::Working;
    member.incarnation = protocol::Incarnation(1);
    member.spec.restart = Some(RestartPolicy::OnFailure);
    member
}

/// A command of somebody who has exported a key, and nothing else.
fn with_key(mut command: Command, name: &str) -> Run {
    Run::of(command.env(name, KEY))
}

/// Makes sure that a command has stopped with the question that nobody could answer.
#[track_caller]
fn assert_stopped(run: &Run, words: &[&str]) {
    run.complains(exit::FAILED, "is not trusted", "team-lead trust");
    for word in words {
        assert!(run.err.contains(word), "{word:?} is not in {run:?}");
    }
}
