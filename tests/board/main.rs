//! The board as a person and their scripts use it: `team-lead task ...`.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod team;
mod verbs;

use protocol::{AgentName, Member, Recipient};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};
use teamdir::{Durability, MemberGuard, Options, RosterError, TeamDir};

/// A team of alice and bob, who do not run, in a folder of its own.
struct Folder {
    dir: tempfile::TempDir,
    team: TeamDir,
}

impl Folder {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let options = Options {
            durability: Durability::ProcessDeath,
            ..Options::default()
        };
        let team = TeamDir::create(dir.path(), "default", options).unwrap();
        let added = team.update_roster(|roster| {
            for (name, role) in [("alice", "coder"), ("bob", "tester")] {
                let name = AgentName::new(name).unwrap();
                roster.members.push(Member::new(name, role));
            }
            Ok::<_, RosterError>(())
        });
        added.unwrap();
        Self { dir, team }
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn run(&self, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_team-lead"));
        command.current_dir(self.path()).env("TEAM_FSYNC", "off");
        command.arg("task").args(args).output().unwrap()
    }

    /// The output of a command that works.
    fn ok(&self, args: &[&str]) -> String {
        let output = self.run(args);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{args:?}: {errors}");
        let text = String::from_utf8(output.stdout).unwrap();
        text.trim_end().to_owned()
    }

    /// The object that a command prints.
    fn json(&self, args: &[&str]) -> Value {
        let args = [args, &["--json"]].concat();
        serde_json::from_str(&self.ok(&args)).unwrap()
    }

    /// The exit code and the words of a command that does not work.
    fn refused(&self, args: &[&str]) -> (i32, String) {
        let output = self.run(args);
        assert!(output.stdout.is_empty(), "{output:?}");
        let errors = String::from_utf8(output.stderr).unwrap();
        (output.status.code().unwrap(), errors.trim_end().to_owned())
    }

    /// Makes this process a member, until the value is dropped.
    fn live(&self, name: &str) -> MemberGuard {
        let name = AgentName::new(name).unwrap();
        self.team.join(&Recipient::Member(name)).unwrap()
    }
}
