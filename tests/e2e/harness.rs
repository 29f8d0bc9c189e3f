//! The one harness of all end-to-end tests: a workspace, the two programs run in it, and a server
//! that plays the models of its members.
//!
//! - [`Workspace`] owns the folder, a home folder, the server and everything that runs there. Its
//!   commands see none of the variables of the machine.
//! - [`Run`] is what a program that has ended printed; [`Session`] is a program that still runs;
//!   [`Terminal`] is one at a terminal of its own.
//! - [`Behaviour`] is how a member that the test program itself plays answers a shutdown request.
//! - [`history`] compares the event log with the files.

mod command;
mod files;
pub(crate) mod history;
mod member;
mod model;
mod processes;
mod session;
mod terminal;

pub(crate) use command::{KEY, Run};
pub(crate) use member::{Behaviour, set_state};
pub(crate) use model::{bash, call, say, script_bash, spawn_teammate};
pub(crate) use processes::{signal, with_variable};
pub(crate) use session::Session;
pub(crate) use terminal::Terminal;

use protocol::{AgentName, Member, Recipient};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;
use teamdir::{Durability, Options, RosterError, TeamDir};
use test_support::llm_server::{LlmServer, ServerReply};
use test_support::wait_until;
use trust::{FolderId, Store};

/// How long anything may take on a machine that is busy with other tests.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);

/// A folder with a team, and whatever runs for it. All of that ends with the value.
pub(crate) struct Workspace {
    pub(crate) server: LlmServer,
    path: PathBuf,
    team: OnceLock<TeamDir>,
    /// How many sessions were started; each has a file for its errors.
    sessions: AtomicUsize,
    /// Holds the home folder, the errors of the sessions and, mostly, the workspace.
    scratch: tempfile::TempDir,
}

impl Workspace {
    /// A workspace with a team without members.
    pub(crate) fn new() -> Self {
        Self::with_members(&[])
    }

    /// A workspace with a team of these members, none of which runs.
    pub(crate) fn with_members(members: &[&str]) -> Self {
        let members: Vec<_> = members.iter().map(|name| (*name, "tester")).collect();
        Self::with_roles(&members)
    }

    /// The same with the role of each member.
    pub(crate) fn with_roles(members: &[(&str, &str)]) -> Self {
        let workspace = Self::empty();
        workspace.create_team();
        let added = workspace.team().update_roster(|roster| {
            for (name, role) in members {
                roster.members.push(Member::new(agent(name), role));
            }
            Ok::<_, RosterError>(())
        });
        added.unwrap();
        workspace
    }

    /// A workspace without a team, with this `team.toml`, which its user has trusted if it can be read.
    pub(crate) fn with_config(config: &str) -> Self {
        let workspace = Self::empty();
        workspace.write("team.toml", config);
        workspace.run(&["trust", "--yes"]);
        workspace
    }

    /// A workspace without a team.
    pub(crate) fn empty() -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("workspace");
        fs::create_dir(&path).unwrap();
        Self::build(&path, scratch)
    }

    /// A workspace with a team in a folder that outlives it.
    pub(crate) fn at(path: &Path) -> Self {
        let workspace = Self::build(path, tempfile::tempdir().unwrap());
        workspace.create_team();
        workspace
    }

    /// The model of its lead answers "Standing by." when no other reply is queued.
    fn build(path: &Path, scratch: tempfile::TempDir) -> Self {
        let server = LlmServer::start();
        server.always("lead", ServerReply::text("Standing by."));
        fs::create_dir(scratch.path().join("home")).unwrap();
        Self {
            server,
            // As the kernel shows it, to recognize the processes of this workspace.
            path: path.canonicalize().unwrap(),
            team: OnceLock::new(),
            sessions: AtomicUsize::new(0),
            scratch,
        }
    }

    /// Makes the team as a program of this user does.
    fn create_team(&self) {
        let state = self.home().join(".local/state/team-lead");
        let record = Store::new(Some(state)).lock(&self.path).unwrap();
        let team = TeamDir::create(&self.path, "default", options()).unwrap();
        let id = FolderId::of(team.layout().root()).unwrap();
        record.made(id).unwrap();
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The home folder of whoever runs commands here.
    pub(crate) fn home(&self) -> PathBuf {
        self.scratch.path().join("home")
    }

    /// The team, which must exist by now.
    #[track_caller]
    pub(crate) fn team(&self) -> &TeamDir {
        self.team
            .get_or_init(|| TeamDir::open(&self.path, options()).unwrap())
    }

    /// Writes a file of the workspace.
    pub(crate) fn write(&self, name: &str, text: &str) {
        write(&self.path.join(name), text);
    }

    /// Writes a file of the home folder.
    pub(crate) fn write_home(&self, name: &str, text: &str) {
        write(&self.home().join(name), text);
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        self.kill_processes();
    }
}

/// Nothing is synced: no test cuts the power.
fn options() -> Options {
    Options {
        durability: Durability::ProcessDeath,
        ..Options::default()
    }
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

pub(crate) fn agent(name: &str) -> AgentName {
    AgentName::new(name).unwrap()
}

/// A member, or the lead.
pub(crate) fn recipient(name: &str) -> Recipient {
    name.parse().unwrap()
}

/// Waits until a file contains a text.
#[track_caller]
pub(crate) fn wait_for_text(path: &Path, text: &str) {
    let what = format!("{text:?} in {}", path.display());
    wait_until(&what, LIMIT, || {
        fs::read_to_string(path).is_ok_and(|found| found.contains(text))
    });
}
