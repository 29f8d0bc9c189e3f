//! The board as a person and their scripts use it: `team-lead task ...`.

mod verbs;
mod work;

use crate::harness::{Run, Workspace, recipient};
use serde_json::Value;
use teamdir::MemberGuard;

/// A workspace with a team of alice and bob, who do not run.
fn board() -> Workspace {
    Workspace::with_roles(&[("alice", "coder"), ("bob", "tester")])
}

impl Workspace {
    fn run_task(&self, args: &[&str]) -> Run {
        self.run(&[&["task"], args].concat())
    }

    /// The output of a verb of the board that must succeed.
    #[track_caller]
    fn task(&self, args: &[&str]) -> String {
        let run = self.run_task(args);
        assert_eq!(run.code, 0, "{args:?}: {run:?}");
        run.out.trim_end().to_owned()
    }

    /// The object that a verb of the board prints.
    #[track_caller]
    fn task_json(&self, args: &[&str]) -> Value {
        self.run_task(&[args, &["--json"]].concat()).json()
    }

    /// The exit code and the error of a verb of the board that must fail.
    #[track_caller]
    fn task_refused(&self, args: &[&str]) -> (i32, String) {
        let run = self.run_task(args);
        assert_eq!(run.out, "", "{run:?}");
        assert_ne!(run.code, 0, "{run:?}");
        (run.code, run.err.trim_end().to_owned())
    }

    /// Makes this process a member, until the value is dropped.
    fn join(&self, name: &str) -> MemberGuard {
        self.team().join(&recipient(name)).unwrap()
    }
}
