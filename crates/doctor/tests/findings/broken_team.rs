//! A real team folder with something wrong about it.

use crate::trees;
use doctor::{Environment, Finding, FixReport, Inotify, Kind, Problem, Trees, examine, fix_all};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use protocol::{
    AgentName, DeadLetter, Incarnation, LiveState, MemberStatus, Party, Phase, Recipient, Task,
    TaskStatus,
};
use std::any::Any;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};
use teamdir::{MemberGuard, Options, RosterError, TeamDir, now};
use test_support::{TempTeam, wait_until};

pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// The id of a user that does not exist.
pub(crate) const STRANGER: u32 = 54_321;

/// A team with a problem.
pub(crate) struct BrokenTeam {
    pub(crate) temp: TempTeam,
    pub(crate) environment: Environment,
    /// Processes and locks that the problem needs.
    kept: Vec<Box<dyn Any>>,
}

/// A process that ends with the test.
pub(crate) struct Running(pub(crate) Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl BrokenTeam {
    pub(crate) fn healthy() -> Self {
        let temp = TempTeam::new(&["alice"], Options::default());
        let environment = Environment {
            teammate: Ok(PathBuf::from("/bin/true")),
            inotify: None,
            ..Environment::gather(Vec::new(), Vec::new(), Trees::None)
        };
        Self {
            temp,
            environment,
            kept: Vec::new(),
        }
    }

    pub(crate) fn team(&self) -> &TeamDir {
        self.temp.team()
    }

    pub(crate) fn examine(&self) -> Vec<Finding> {
        examine(self.team(), &self.now())
    }

    pub(crate) fn fix_all(&self) -> FixReport {
        fix_all(self.team(), || self.now())
    }

    /// The environment with the current inotify limit.
    fn now(&self) -> Environment {
        let mut now = self.environment.clone();
        if let Some(inotify) = &mut now.inotify
            && let Ok(text) = fs::read_to_string(&inotify.setting)
        {
            inotify.limit = text.trim().parse().unwrap();
        }
        now
    }

    /// The content of a file in the trash.
    pub(crate) fn trash(&self, path: &str) -> String {
        let times = fs::read_dir(self.team().layout().trash()).unwrap();
        let mut found = times.map(|time| time.unwrap().path().join(path));
        let found = found.find(|path| path.exists()).unwrap();
        fs::read_to_string(found).unwrap()
    }

    pub(crate) fn keep(&mut self, kept: impl Any) {
        self.kept.push(Box::new(kept));
    }

    /// Joins as alice, with this status in the roster.
    pub(crate) fn start_alice(&self, status: MemberStatus) -> MemberGuard {
        let guard = self.team().join(&alice()).unwrap();
        let changed = self.team().update_roster(|roster| {
            roster.member_mut(&name("alice")).unwrap().status = status.clone();
            Ok::<_, RosterError>(())
        });
        changed.unwrap();
        guard
    }

    /// A task in progress.
    pub(crate) fn claimed_by(&self, owner: &str) {
        let board = self.team().lock_board().unwrap();
        let created = board.create(|id| {
            let mut task = Task::new(id, "fix the parser");
            task.status = TaskStatus::InProgress;
            task.owner.0 = Some(Party::Member(name(owner)));
            task.owner_incarnation = Some(Incarnation(1));
            task
        });
        created.unwrap();
    }
}

pub(crate) fn name(text: &str) -> AgentName {
    AgentName::new(text).unwrap()
}

pub(crate) fn alice() -> Recipient {
    "alice".parse().unwrap()
}

/// A team with exactly this problem.
pub(crate) fn broken_team(kind: Kind) -> BrokenTeam {
    let mut broken = BrokenTeam::healthy();
    match kind {
        Kind::UnreapedDeath => drop(broken.start_alice(MemberStatus::Working)),
        Kind::OrphanClaim => {
            drop(broken.start_alice(MemberStatus::Shutdown));
            broken.claimed_by("alice");
        }
        Kind::MissingRole => task_for_nobody(&broken),
        Kind::OverdueRequest => overdue_request(&mut broken),
        Kind::UnfinishedCommand => unfinished_command(&broken),
        Kind::HeldLock => {
            let command = inherit_lock(&broken, Some("alice.7"));
            broken.keep(command);
        }
        Kind::DeadLetters => dead_letter(&broken),
        Kind::UnfinishedLine => {
            let inbox = broken.team().layout().inbox(&alice());
            fs::write(inbox, r#"{"type":"message","content":"no newline"}"#).unwrap();
        }
        Kind::DamagedJournal => {
            drop(broken.start_alice(MemberStatus::Shutdown));
            let journal = broken.team().layout().transcript(&alice());
            fs::write(journal, "{\"kind\":\"seal\",\"segment\":1}\nwords\n").unwrap();
        }
        Kind::SplitJournal => split_journal(&broken),
        Kind::DamagedFile => damaged_files(&broken),
        Kind::TemporaryFile => temporary_file(&broken),
        Kind::NoAccess => {
            let layout = broken.team().layout();
            fs::set_permissions(layout.tasks_dir(), Permissions::from_mode(0o500)).unwrap();
        }
        Kind::Misplaced => misplaced(&broken),
        Kind::SeveralNames => several_names(&broken),
        // Only root can change the owner of a file.
        Kind::ForeignOwner => {
            let task = broken.team().layout().tasks_dir().join("task_1.json");
            fs::write(&task, r#"{"id":1,"subject":"x"}"#).unwrap();
            chown(task, Some(STRANGER), None).unwrap();
        }
        Kind::OrphanProcess => {
            let command = marked_command(&broken);
            broken.keep(command);
            let teammate = unknown_teammate(&broken);
            broken.keep(teammate);
        }
        Kind::TreeWithoutMember => trees::without_member(&mut broken),
        Kind::BrokenTree => trees::broken_tree(&mut broken),
        Kind::StalledSubmissions => trees::stalled_submission(&mut broken),
        Kind::Inotify => few_instances(&mut broken),
        Kind::Clock => from_the_future(&broken),
        Kind::NoTeammate => {
            broken.environment.teammate =
                Err(model_problem("there is no program", "unset TEAMMATE_BIN"));
        }
        Kind::NoModel => broken.environment.model_problems = vec![model_without_key()],
        Kind::UnusableText => broken.environment.text_problems = vec![unusable_skill()],
    }
    broken
}

fn model_without_key() -> Problem {
    let problem = "openai:x needs a key: set OPENAI_API_KEY";
    model_problem(problem, "export TEAM_MODEL=offline")
}

fn task_for_nobody(broken: &BrokenTeam) {
    let board = broken.team().lock_board().unwrap();
    let created = board.create(|id| Task {
        role: Some("painter".to_owned()),
        ..Task::new(id, "paint it")
    });
    created.unwrap();
}

fn unusable_skill() -> Problem {
    model_problem("SKILL.md is not used: no description", "cat SKILL.md")
}

/// A command whose member was killed, and what it had created.
fn unfinished_command(broken: &BrokenTeam) {
    let record = broken.team().commands_folder().unwrap().join("alice.1");
    fs::write(record, "snapshot 1\nunwanted .envrc\nend\n").unwrap();
    fs::write(broken.team().workspace().join(".envrc"), "").unwrap();
}

/// A link to a folder of somebody else, and a FIFO.
fn misplaced(broken: &BrokenTeam) {
    let layout = broken.team().layout();
    let victim = broken.team().workspace().join("victim");
    fs::create_dir(&victim).unwrap();
    fs::write(victim.join("1.json"), "not a request").unwrap();
    fs::remove_dir(layout.requests_dir()).unwrap();
    symlink(&victim, layout.requests_dir()).unwrap();
    mkfifo(&layout.events(), Mode::S_IRWXU).unwrap();
}

fn split_journal(broken: &BrokenTeam) {
    drop(broken.start_alice(MemberStatus::Shutdown));
    let journal = broken.team().layout().transcript(&alice());
    let nested = r#"{"kind":"user","messages":[]}"#;
    let split = format!("{{\"kind\":\"dance\",\"step\":\n{nested}\n}}\n");
    fs::write(journal, split).unwrap();
}

fn several_names(broken: &BrokenTeam) {
    let task = broken.team().layout().tasks_dir().join("task_1.json");
    fs::write(&task, r#"{"id":1,"subject":"x"}"#).unwrap();
    fs::hard_link(task, broken.team().workspace().join("other")).unwrap();
}

fn overdue_request(broken: &mut BrokenTeam) {
    let guard = broken.start_alice(MemberStatus::Idle);
    let me = team::Actor {
        party: Party::Lead,
        incarnation: None,
    };
    let wish = team::ShutdownOptions {
        to: name("alice"),
        reason: String::new(),
        timeout: Duration::ZERO,
        force: false,
        lead_leaves: false,
    };
    let incarnation = guard.incarnation();
    let idle = LiveState::new(incarnation, Phase::Idle, now());
    broken.team().write_live_state(&guard, &idle).unwrap();
    team::ask_shutdown(broken.team(), &me, &wish, incarnation).unwrap();
    // The check comes after the deadline.
    broken.environment.now = now().plus(Duration::from_millis(1));
    broken.keep(guard);
}

fn dead_letter(broken: &BrokenTeam) {
    let dead_letter = serde_json::json!({
        "id": "alice/1/0", "time": now(), "inbox": "alice", "reason": "it is not a message",
    });
    let dead_letter: DeadLetter = serde_json::from_value(dead_letter).unwrap();
    broken.team().add_dead_letter(&dead_letter).unwrap();
}

fn temporary_file(broken: &BrokenTeam) {
    let path = broken
        .team()
        .layout()
        .root()
        .join(".config.json.x1y2z3.tmp");
    fs::write(&path, "{").unwrap();
    let file = File::options().append(true).open(path).unwrap();
    let old = SystemTime::now() - Duration::from_secs(3600);
    file.set_modified(old).unwrap();
}

fn damaged_files(broken: &BrokenTeam) {
    let layout = broken.team().layout();
    fs::write(layout.requests_dir().join("1a2b3c4d.json"), "{}").unwrap();
    fs::write(layout.tasks_dir().join("task_1.json"), "{").unwrap();
    let half = r#"{"id":2,"subject":"x","priority":"high"}"#;
    fs::write(layout.tasks_dir().join("task_2.json"), half).unwrap();
}

/// Almost all instances are in use, by a setting that may be changed.
fn few_instances(broken: &mut BrokenTeam) {
    let setting = broken.temp.workspace().join("max_user_instances");
    fs::write(&setting, "128\n").unwrap();
    broken.environment.inotify = Some(Inotify {
        used: 127,
        limit: 128,
        setting,
    });
}

fn model_problem(text: &str, command: &str) -> Problem {
    Problem {
        about: text.to_owned(),
        text: text.to_owned(),
        command: command.to_owned(),
    }
}

/// A state, a request and two tasks from a time when the clock was two hours ahead.
fn from_the_future(broken: &BrokenTeam) {
    let team = broken.team();
    let later = now().plus(Duration::from_secs(7200));
    let guard = broken.start_alice(MemberStatus::Shutdown);
    let state = LiveState::new(guard.incarnation(), Phase::Shutdown, later);
    team.write_live_state(&guard, &state).unwrap();
    drop(guard);
    let mut request = team::submit_plan(team, &name("alice"), Incarnation(1), "x").unwrap();
    (request.id, request.created_at) = ("from-later".parse().unwrap(), later);
    request.deadline = Some(later.plus(Duration::from_secs(60)));
    team.create_request(&request).unwrap();
    let board = team.lock_board().unwrap();
    for seconds in [1, 2] {
        let made = board.create(|id| {
            let mut task = Task::new(id, "fix the parser");
            task.created_at = Some(later.plus(Duration::from_secs(seconds)));
            task
        });
        made.unwrap();
    }
}

/// A process that has inherited the lock of alice, with a mark of this team or without.
pub(crate) fn inherit_lock(broken: &BrokenTeam, mark: Option<&str>) -> Running {
    let path = broken.team().layout().member_lock(&alice());
    drop(broken.team().lock_dead_member(&alice()).unwrap());
    let lock = File::options().read(true).write(true).open(path).unwrap();
    // A process that another test is starting may have a copy for a moment.
    wait_until("the lock", LIMIT, || lock.try_lock().is_ok());
    let mut command = Command::new("sleep");
    command.arg("600").stdin(lock);
    if let Some(mark) = mark {
        let workspace = broken.temp.workspace().canonicalize().unwrap();
        command.env(command::MARK, format!("{}:{mark}", workspace.display()));
    }
    Running(command.spawn().unwrap())
}

/// A command as a killed member leaves it behind.
pub(crate) fn marked_command(broken: &BrokenTeam) -> Running {
    let workspace = broken.temp.workspace().canonicalize().unwrap();
    let mut command = Command::new("sleep");
    command
        .arg("600")
        .env(command::MARK, format!("{}:alice.7", workspace.display()));
    Running(command.spawn().unwrap())
}

/// A teammate process whose member is not in the roster.
pub(crate) fn unknown_teammate(broken: &BrokenTeam) -> Running {
    let mut command = Command::new("sh");
    command.arg0("teammate").args(["-c", "read wait", "--dir"]);
    command
        .arg(broken.temp.workspace())
        .args(["--name", "ghost"]);
    Running(command.stdin(Stdio::piped()).spawn().unwrap())
}

pub(crate) fn kinds(findings: &[Finding]) -> Vec<Kind> {
    let mut kinds: Vec<Kind> = findings.iter().map(|finding| finding.kind).collect();
    kinds.dedup();
    kinds
}
