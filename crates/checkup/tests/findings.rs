//! Every finding there can be, produced in a real folder and cured, or explained where only a person
//! can cure it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use checkup::{Finding, Inotify, Kind, Surroundings, cure, examine};
use protocol::{
    AgentName, DeadLetter, Incarnation, LiveState, MemberStatus, Party, Phase, Recipient, Task,
    TaskStatus, Timestamp,
};
use std::any::Any;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};
use teamdir::{MemberGuard, Options, RosterError, TeamDir, now};
use test_support::{TempTeam, wait_until};

const LIMIT: Duration = Duration::from_secs(60);

/// A team with something wrong about it.
struct Stage {
    temp: TempTeam,
    surroundings: Surroundings,
    /// What has to go on meanwhile: processes, held locks.
    _keep: Vec<Box<dyn Any>>,
}

/// A process that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Stage {
    fn healthy() -> Self {
        let temp = TempTeam::new(&["alice"], Options::default());
        let surroundings = Surroundings {
            teammate: Ok(PathBuf::from("/bin/true")),
            inotify: Some(Inotify {
                used: 1,
                limit: 128,
            }),
            ..Surroundings::gather(Vec::new())
        };
        Self {
            temp,
            surroundings,
            _keep: Vec::new(),
        }
    }

    fn team(&self) -> &TeamDir {
        self.temp.team()
    }

    fn examine(&self) -> Vec<Finding> {
        examine(self.team(), &self.surroundings)
    }

    fn keep(&mut self, kept: impl Any) {
        self._keep.push(Box::new(kept));
    }

    /// Begins a life of alice, and says in the roster how it goes.
    fn alice_lives(&self, status: MemberStatus) -> MemberGuard {
        let guard = self.team().join(&alice()).unwrap();
        let changed = self.team().update_roster(|roster| {
            roster.member_mut(&name("alice")).unwrap().status = status.clone();
            Ok::<_, RosterError>(())
        });
        changed.unwrap();
        guard
    }

    /// A task in progress.
    fn claimed_by(&self, owner: &str) {
        let board = self.team().lock_board().unwrap();
        let created = board.create(|id| {
            let mut task = Task::new(id, "mend the parser");
            task.status = TaskStatus::InProgress;
            task.owner.0 = Some(Party::Member(name(owner)));
            task.owner_incarnation = Some(Incarnation(1));
            task
        });
        created.unwrap();
    }
}

fn name(text: &str) -> AgentName {
    AgentName::new(text).unwrap()
}

fn alice() -> Recipient {
    "alice".parse().unwrap()
}

/// A team of which this and nothing else is wrong.
fn stage(kind: Kind) -> Stage {
    let mut stage = Stage::healthy();
    match kind {
        Kind::UnmournedDeath => drop(stage.alice_lives(MemberStatus::Working)),
        Kind::OrphanClaim => {
            drop(stage.alice_lives(MemberStatus::Shutdown));
            stage.claimed_by("alice");
        }
        Kind::OverdueRequest => overdue_request(&mut stage),
        Kind::HeldLock => {
            let guard = stage.team().sit_in(&alice()).unwrap();
            stage.keep(guard);
        }
        Kind::DeadLetters => dead_letter(&stage),
        Kind::OpenLine => {
            let inbox = stage.team().layout().inbox(&alice());
            fs::write(inbox, r#"{"type":"message","content":"no newline"}"#).unwrap();
        }
        Kind::DamagedJournal => {
            drop(stage.alice_lives(MemberStatus::Shutdown));
            let journal = stage.team().layout().transcript(&alice());
            fs::write(journal, "{\"kind\":\"seal\",\"segment\":1}\nwords\n").unwrap();
        }
        Kind::DamagedFile => {
            let request = stage.team().layout().requests_dir();
            fs::write(request.join("1a2b3c4d.json"), "{}").unwrap();
        }
        Kind::TemporaryFile => temporary_file(&stage),
        Kind::NoAccess => {
            let tasks = stage.team().layout().tasks_dir();
            fs::set_permissions(tasks, Permissions::from_mode(0o500)).unwrap();
        }
        Kind::ForeignOwner => stage.surroundings.uid += 1,
        Kind::StrayProcess => {
            let command = marked_command(&stage);
            stage.keep(command);
            let teammate = unknown_teammate(&stage);
            stage.keep(teammate);
        }
        Kind::Inotify => {
            stage.surroundings.inotify = Some(Inotify {
                used: 127,
                limit: 128,
            });
        }
        Kind::Clock => from_the_future(&mut stage),
        Kind::NoTeammate => stage.surroundings.teammate = Err("there is no program".to_owned()),
        Kind::NoModel => {
            let problem = "openai:x needs a key: set OPENAI_API_KEY";
            stage.surroundings.model_problems = vec![problem.to_owned()];
        }
    }
    stage
}

fn overdue_request(stage: &mut Stage) {
    let guard = stage.alice_lives(MemberStatus::Idle);
    let me = dealings::Me {
        party: Party::Lead,
        incarnation: None,
    };
    let wish = dealings::ShutdownWish {
        to: name("alice"),
        reason: String::new(),
        timeout: Duration::ZERO,
        force: false,
    };
    let life = guard.incarnation();
    let idle = LiveState::new(life, Phase::Idle, now());
    stage.team().write_live_state(&guard, &idle).unwrap();
    dealings::ask_shutdown(stage.team(), &me, &wish, life).unwrap();
    // The deadline was now; a checkup comes later.
    stage.surroundings.now = now().plus(Duration::from_millis(1));
    stage.keep(guard);
}

fn dead_letter(stage: &Stage) {
    let letter = serde_json::json!({
        "id": "alice/1/0", "time": now(), "inbox": "alice", "reason": "it is no message",
    });
    let letter: DeadLetter = serde_json::from_value(letter).unwrap();
    stage.team().bury(&letter).unwrap();
}

fn temporary_file(stage: &Stage) {
    let path = stage.team().layout().root().join(".config.json.x1y2z3.tmp");
    fs::write(&path, "{").unwrap();
    let file = File::options().append(true).open(path).unwrap();
    let old = SystemTime::now() - Duration::from_secs(3600);
    file.set_modified(old).unwrap();
}

fn from_the_future(stage: &mut Stage) {
    let guard = stage.alice_lives(MemberStatus::Idle);
    let later = now().plus(Duration::from_secs(7200));
    let state = LiveState::new(guard.incarnation(), Phase::Idle, later);
    stage.team().write_live_state(&guard, &state).unwrap();
    stage.keep(guard);
}

/// What a killed member's command looks like.
fn marked_command(stage: &Stage) -> Running {
    let workspace = stage.temp.workspace().canonicalize().unwrap();
    let mut command = Command::new("sleep");
    command
        .arg("600")
        .env(supervisor::MARK, format!("{}:alice.7", workspace.display()));
    Running(command.spawn().unwrap())
}

/// What a teammate looks like whose member somebody took out of the roster.
fn unknown_teammate(stage: &Stage) -> Running {
    let mut command = Command::new("sh");
    command.arg0("teammate").args(["-c", "read wait", "--dir"]);
    command
        .arg(stage.temp.workspace())
        .args(["--name", "ghost"]);
    Running(command.stdin(Stdio::piped()).spawn().unwrap())
}

fn kinds(findings: &[Finding]) -> Vec<Kind> {
    let mut kinds: Vec<Kind> = findings.iter().map(|finding| finding.kind).collect();
    kinds.dedup();
    kinds
}

/// What the fix says where only a person can decide.
const fn for_a_person(kind: Kind) -> Option<&'static str> {
    match kind {
        Kind::HeldLock => Some("fuser -v "),
        Kind::DeadLetters => Some("less "),
        Kind::DamagedJournal => Some("sed -n 2p "),
        Kind::DamagedFile => Some("${EDITOR:-vi} "),
        Kind::ForeignOwner => Some("sudo chown -R "),
        Kind::Inotify => Some("sudo sysctl fs.inotify.max_user_instances="),
        Kind::Clock => Some("timedatectl"),
        Kind::NoTeammate => Some("cargo install --path ."),
        Kind::NoModel => Some("export TEAM_MODEL="),
        Kind::UnmournedDeath
        | Kind::OrphanClaim
        | Kind::OverdueRequest
        | Kind::OpenLine
        | Kind::TemporaryFile
        | Kind::NoAccess
        | Kind::StrayProcess => None,
    }
}

#[test]
fn nothing_is_wrong_with_a_healthy_team() {
    let stage = Stage::healthy();
    let _alice = stage.alice_lives(MemberStatus::Idle);
    stage.claimed_by("alice");
    assert_eq!(stage.examine(), []);
}

#[test]
fn everything_that_is_found_is_explained_and_cured_or_left_to_a_person() {
    for kind in Kind::ALL {
        let stage = stage(kind);
        let expected = if kind == Kind::StrayProcess { 2 } else { 1 };
        // A process that was just started needs a moment to become what it will be.
        wait_until(kind.word(), LIMIT, || stage.examine().len() >= expected);
        let found = stage.examine();
        assert_eq!(kinds(&found), [kind], "{found:#?}");
        for finding in &found {
            assert!(!finding.about.is_empty(), "{finding:?}");
            assert!(!finding.problem.is_empty(), "{finding:?}");
            assert!(finding.meaning.ends_with('.'), "{finding:?}");
        }
        let cured = cure(stage.team(), &found);
        match for_a_person(kind) {
            Some(fix) => {
                assert_eq!(cured, [], "{kind:?}");
                assert!(found.iter().all(|f| f.fix.contains(fix)), "{found:#?}");
            }
            None => {
                assert!(found.iter().all(|f| f.fix == "team-lead doctor --fix"));
                assert_eq!(cured.len(), found.len());
                assert!(cured.iter().all(|c| c.outcome == Ok(())), "{cured:?}");
                assert_eq!(stage.examine(), [], "{kind:?} after the cure");
            }
        }
    }
}

#[test]
fn examining_changes_nothing() {
    for kind in [Kind::UnmournedDeath, Kind::OpenLine, Kind::TemporaryFile] {
        let stage = stage(kind);
        assert_eq!(stage.examine(), stage.examine());
    }
}

#[test]
fn words_are_stable_and_different() {
    let mut words: Vec<&str> = Kind::ALL.iter().map(|kind| kind.word()).collect();
    words.sort_unstable();
    words.dedup();
    assert_eq!(words.len(), Kind::ALL.len());
}

#[test]
fn a_closed_line_is_read_and_a_death_is_told() {
    let open = stage(Kind::OpenLine);
    cure(open.team(), &open.examine());
    assert_eq!(open.temp.unread(&alice()), 1);

    let dead = stage(Kind::UnmournedDeath);
    cure(dead.team(), &dead.examine());
    assert_eq!(dead.temp.unread(&Recipient::Lead), 1);
}

#[test]
fn commands_of_a_living_member_are_left_alone() {
    let stage = Stage::healthy();
    let guard = stage.alice_lives(MemberStatus::Idle);
    let mut command = marked_command(&stage);
    assert_eq!(stage.examine(), []);
    // It was found while nobody was alice; then somebody became her.
    drop(guard);
    wait_until("the command is seen", LIMIT, || {
        kinds(&stage.examine()).contains(&Kind::StrayProcess)
    });
    let found = stage.examine();
    let _guard = stage.alice_lives(MemberStatus::Idle);
    let stray: Vec<Finding> = found
        .into_iter()
        .filter(|finding| finding.kind == Kind::StrayProcess)
        .collect();
    cure(stage.team(), &stray);
    assert!(command.0.try_wait().unwrap().is_none(), "it still runs");
}

#[test]
fn times_a_little_ahead_are_normal() {
    let mut stage = stage(Kind::Clock);
    stage.surroundings.now = now().plus(Duration::from_secs(7199));
    assert_eq!(stage.examine(), []);
    stage.surroundings.now = Timestamp::from_secs(1);
    assert_eq!(kinds(&stage.examine()), [Kind::Clock]);
}
