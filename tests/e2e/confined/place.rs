//! A member under given conditions: as root or not, with namespaces or without.

use crate::harness::{LIMIT, Run, Workspace, bash, say};
use nix::errno::Errno;
use nix::unistd::{Gid, Uid, chown, geteuid};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use test_support::forbid_namespaces;
use test_support::llm_server::ServerReply;

/// The first of the ordinary users that own nothing else. Each test has one of its own, because a
/// command without a sandbox may read the processes of its user.
static STRANGER: AtomicU32 = AtomicU32::new(4242);

/// The level of the sandbox that a test is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    Full,
    Landlock,
    None,
}

impl Level {
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Landlock => "landlock",
            Self::None => "none",
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Conditions {
    pub(crate) level: Level,
    user: Option<u32>,
}

impl Conditions {
    /// Whether the member runs as root.
    pub(crate) fn is_root(self) -> bool {
        self.user.is_none() && geteuid().is_root()
    }
}

/// The conditions at these levels that can be had here. Says what is left out.
pub(crate) fn conditions(levels: &[Level]) -> Vec<Conditions> {
    let best = Workspace::empty().level();
    let levels = levels.iter().filter(|level| {
        let has = match level {
            Level::Full => best == "full",
            Level::Landlock => best != "none",
            Level::None => true,
        };
        if !has {
            note(&format!(
                "not run at level {}: this machine has less",
                level.word()
            ));
        }
        has
    });
    let mut users = vec![None];
    match (geteuid().is_root(), is_reachable()) {
        (true, true) => users.push(Some(STRANGER.fetch_add(1, Ordering::Relaxed))),
        (true, false) => note("not run as an unprivileged user: it cannot reach the programs"),
        (false, _) => note("not run as root"),
    }
    let all = levels.flat_map(|level| {
        users.iter().map(|user| Conditions {
            level: *level,
            user: *user,
        })
    });
    all.collect()
}

/// Whether every user can run the programs.
fn is_reachable() -> bool {
    let others = |path: &Path| fs::metadata(path).is_ok_and(|found| found.mode() & 1 == 1);
    let program = Path::new(env!("CARGO_BIN_EXE_team-lead"));
    program.ancestors().all(others)
}

pub(crate) fn note(text: &str) {
    let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("{text}\n").as_bytes());
}

/// A workspace whose member alice does what a test scripts.
pub(crate) struct Place {
    pub(crate) workspace: Workspace,
    conditions: Conditions,
}

impl Place {
    pub(crate) fn new(conditions: Conditions) -> Self {
        let workspace = Workspace::empty();
        workspace.write_home(".ssh/id", "secret of the home folder");
        Self {
            workspace,
            conditions,
        }
    }

    /// A command of the user.
    pub(crate) fn run(&self, mut command: Command) -> Run {
        self.give_away();
        if let Some(user) = self.conditions.user {
            command.uid(user).gid(user);
        }
        match self.conditions.level {
            Level::Full => {}
            Level::Landlock => forbid_namespaces(&mut command),
            Level::None => {
                command.env("TEAM_SANDBOX", "off");
            }
        }
        Run::of(&mut command)
    }

    /// Makes everything the user's. A file may vanish meanwhile: alice works.
    fn give_away(&self) {
        let Some(user) = self.conditions.user else {
            return;
        };
        let mut all = vec![self.workspace.home().parent().unwrap().to_path_buf()];
        while let Some(path) = all.pop() {
            match chown(&path, Some(Uid::from_raw(user)), Some(Gid::from_raw(user))) {
                Ok(()) => {}
                Err(Errno::ENOENT) => continue,
                Err(error) => panic!("{}: {error}", path.display()),
            }
            if path.is_dir() && !path.is_symlink() {
                let entries = fs::read_dir(&path).into_iter().flatten().flatten();
                all.extend(entries.map(|entry| entry.path()));
            }
        }
    }

    /// Starts alice. Without a sandbox her commands, and what is outside of the workspace, would ask.
    #[track_caller]
    pub(crate) fn spawn(&self, args: &[&str]) {
        let unasked: &[&str] = match self.conditions.level {
            Level::Full | Level::Landlock => &[],
            Level::None => &["--yes", "--allow", "Edit(//**)", "--allow", "Read(//**)"],
        };
        let args = [args, unasked].concat();
        let run = self.run(self.workspace.spawn_command("alice", "coder", &args));
        assert_eq!(run.code, 0, "{:?}: {run:?}", self.conditions);
    }

    /// What alice's model gets as the result of these replies, one after the other.
    #[track_caller]
    pub(crate) fn results(&self, replies: Vec<ServerReply>) -> Vec<String> {
        let server = &self.workspace.server;
        let before = server.requests("alice").len();
        let count = replies.len();
        self.workspace.script("alice", replies);
        self.workspace.script("alice", [say("Done.")]);
        let send = self.workspace.command(&["send", "alice", "Go on."]);
        assert_eq!(self.run(send).code, 0);
        let requests = server.wait_for_requests("alice", before + count + 1, LIMIT);
        let results = requests.iter().skip(before + 1).take(count);
        results.map(|request| request.last_text()).collect()
    }

    /// The result of one shell command of alice.
    #[track_caller]
    pub(crate) fn bash(&self, command: &str) -> String {
        self.results(vec![bash(command)]).remove(0)
    }

    #[track_caller]
    pub(crate) fn end(&self) {
        let shutdown = ["shutdown", "--all", "--force", "--timeout", "0"];
        let run = self.run(self.workspace.command(&shutdown));
        assert!(matches!(run.code, 0 | 3), "{run:?}");
        self.workspace.check_gone();
    }
}
