//! A tool call that waits for a person: whoever is killed at whichever call, it is asked once and run at most
//! once, and nothing is stuck.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use agent::{Agent, Outcome, Settings};
use hooks::{Hook, HookEvent, HookOrigin, Matcher};
use llm::{CancellationToken, ScriptModel};
use member::{AskSettings, Hooks, MemberRuntime, RuntimeHost, workspace_confinement};
use prompts::{CurrentPrompt, PromptSpec, Reader, UserFolders};
use protocol::{
    GrantScope, JournalLine, JournalRecord, NetworkSetting, Phase, Recipient, Request,
    RequestStatus, WaitingFor,
};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use team::{Actor, AnswerError, PersonAnswer};
use teamdir::{Durability, Options, TeamDir};
use test_support::faults::{self, Fault, Outcome as Killed};
use test_support::{TempTeam, report_skip, wait_for, wait_until};
use tools::{
    AskUser, Effect, OutputFolder, Registry, Tool, ToolContext, ToolError, ToolOutput, Workspace,
};

const LIMIT: Duration = Duration::from_secs(60);
/// Tell a copy of this program which step to run, and in which team.
const STEP: &str = "MEMBER_ASKING_STEP";
const FOLDER: &str = "MEMBER_ASKING_FOLDER";
/// The system calls that change something other processes see.
const CHANGES: [&str; 11] = [
    "write",
    "clone",
    "clone3",
    "vfork",
    "rename",
    "renameat",
    "renameat2",
    "link",
    "linkat",
    "unlink",
    "flock",
];

const PAINT: &str =
    r#"{"alice":[{"calls":[{"name":"bash","input":{"command":"paint"}}]},{"say":"done"}]}"#;

fn alice() -> Recipient {
    "alice".parse().unwrap()
}

/// Adds a line to a file that everybody can count, and says what the live state shows meanwhile. Without a
/// sandbox it needs a person's answer.
struct Paint;

impl Tool for Paint {
    const NAME: &'static str = "bash";
    const DESCRIPTION: &'static str = "Paints a wall.";
    const EFFECT: Effect = Effect::Execute;
    type Args = BTreeMap<String, String>;

    async fn call(
        &self,
        _: BTreeMap<String, String>,
        context: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let path = context.workspace.root().join("wall");
        let file = std::fs::File::options()
            .append(true)
            .create(true)
            .open(path);
        file.unwrap().write_all(b"blue\n").unwrap();
        let team = TeamDir::open(context.workspace.root(), options()).unwrap();
        let live = team.live_state(&alice()).unwrap().unwrap();
        let does = live.activity.unwrap().name;
        Ok(ToolOutput::ok(format!(
            "painted while {:?} in {does}",
            live.phase
        )))
    }
}

struct Plain;

impl Hooks for Plain {
    fn reminder(&mut self) -> Option<String> {
        None
    }
}

/// One incarnation of alice, at work on a script.
struct Session {
    agent: Agent,
    host: RuntimeHost<Plain>,
    cancel: CancellationToken,
}

impl Session {
    fn begin(team: &TeamDir, script: &str) -> Self {
        Self::asking(team, script, AskSettings::default())
    }

    fn asking(team: &TeamDir, script: &str, settings: AskSettings) -> Self {
        let (runtime, recovered) = MemberRuntime::open(team, &alice()).unwrap();
        runtime.withdraw_old_asks(&recovered.conversation);
        runtime.set_asking(settings);
        let model = ScriptModel::parse(PathBuf::from("test"), script, "alice").unwrap();
        let mut registry = Registry::default();
        registry.add(Paint).unwrap();
        registry.add(AskUser).unwrap();
        let workspace = Workspace::open(team.workspace(), []).unwrap();
        let output = OutputFolder::new(team.layout().member_outputs(&alice()));
        let agent = Agent::new(
            Arc::new(model),
            Arc::new(registry),
            ToolContext::new(workspace, output, "test"),
            Settings::default(),
            recovered.conversation,
        );
        let workspace = team.workspace().to_path_buf();
        let system = CurrentPrompt::new(PromptSpec {
            reader: Reader::Lead,
            confinement: Arc::new(workspace_confinement(&workspace, NetworkSetting::Off)),
            workspace,
            is_own_tree: false,
            user: UserFolders::default(),
        });
        Self {
            host: RuntimeHost::new(runtime, system, Plain),
            agent,
            cancel: CancellationToken::new(),
        }
    }

    /// Works until nothing is left to do.
    fn work(&mut self) -> Outcome {
        let executor = tokio::runtime::Builder::new_current_thread();
        let executor = { executor }.enable_all().build().unwrap();
        let input = match self.agent.conversation().turns().is_empty() {
            true => vec![protocol::UserMessage::new("Paint the wall.")],
            false => Vec::new(),
        };
        let turn = self.agent.run_turn(input, &mut self.host, &self.cancel);
        executor.block_on(turn)
    }
}

/// Answers whatever waits, until it is told to stop.
struct Answerer {
    stop: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Answerer {
    fn start(team: &TeamDir, approve: bool) -> Self {
        Self::start_when(team, approve, |_| true)
    }

    /// Answers nothing before `is_ready`.
    fn start_when(team: &TeamDir, approve: bool, is_ready: fn(&TeamDir) -> bool) -> Self {
        let (team, stop) = (team.clone(), Arc::new(AtomicBool::new(false)));
        let stopped = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            wait_until("the end of the test", LIMIT, || {
                let waiting = team::waiting(&team).unwrap_or_default();
                for request in waiting.iter().filter(|_| is_ready(&team)) {
                    let _ = answer(&team, request, approve, GrantScope::Once);
                }
                stopped.load(Ordering::Relaxed)
            });
        });
        Self {
            stop,
            thread: Some(thread),
        }
    }
}

impl Drop for Answerer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn answer(
    team: &TeamDir,
    request: &Request,
    approve: bool,
    scope: GrantScope,
) -> Result<Request, AnswerError> {
    let answer = PersonAnswer {
        approve,
        text: "use two coats",
        scope: Some(scope),
        name: Some("anna"),
    };
    team::answer_person(team, &Actor::user(), &request.id, &answer)
}

/// How often the wall was painted.
fn coats(team: &TeamDir) -> usize {
    let wall = std::fs::read_to_string(team.workspace().join("wall"));
    wall.unwrap_or_default().lines().count()
}

fn requests(team: &TeamDir) -> Vec<Request> {
    let all = team.requests().unwrap().into_iter();
    all.map(Result::unwrap).collect()
}

/// The kinds of alice's records, and the texts of her results.
fn journal(team: &TeamDir) -> (Vec<String>, Vec<String>) {
    let (mut kinds, mut results) = (Vec::new(), Vec::new());
    let visit = |bytes: &[u8], line: JournalLine| {
        if let JournalLine::Known(JournalRecord::Conversation(_)) = line {
            let record: serde_json::Value = serde_json::from_slice(bytes).unwrap();
            kinds.push(record["kind"].as_str().unwrap().to_owned());
            let content = &record["result"]["content"];
            results.extend(content.as_str().map(str::to_owned));
        }
    };
    team.read_journal(&alice(), visit).unwrap();
    (kinds, results)
}

/// Syncs matter only for power cuts, and there are none here.
fn options() -> Options {
    Options {
        durability: Durability::ProcessDeath,
        ..Options::default()
    }
}

/// The process that is killed; it does nothing in a run of all tests.
#[test]
fn the_process_that_is_killed() {
    let (Ok(step), Some(folder)) = (std::env::var(STEP), std::env::var_os(FOLDER)) else {
        return;
    };
    let team = TeamDir::open(Path::new(&folder), options()).unwrap();
    match step.as_str() {
        "work" => {
            let mut session = Session::begin(&team, PAINT);
            let _answerer = Answerer::start(&team, true);
            faults::mark_begin();
            let _ = session.work();
            faults::mark_end();
        }
        "notify" => {
            let mut session = Session::asking(&team, PAINT, notifying());
            let _answerer = Answerer::start_when(&team, true, |team| told(team) > 0);
            faults::mark_begin();
            let _ = session.work();
            faults::mark_end();
        }
        _ => {
            let request = team::waiting(&team).unwrap().remove(0);
            faults::mark_begin();
            let _ = answer(&team, &request, true, GrantScope::Team);
            faults::mark_end();
        }
    }
}

fn victim(team: &TeamDir, step: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "the_process_that_is_killed"])
        .env(STEP, step)
        .env(FOLDER, team.workspace())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

/// Kills the process of a step at each of its changes, each time in a fresh team.
fn kill_at_every_call(step: &str, prepare: fn(&TeamDir), check: fn(&TeamDir)) {
    if let Err(reason) = faults::available() {
        return report_skip("crash points of asking", &reason);
    }
    let temp = TempTeam::new(&["alice"], options());
    prepare(temp.team());
    let whole = faults::record(&mut victim(temp.team(), step)).unwrap();
    check(temp.team());
    let changes = whole.calls.iter();
    let changes = changes.filter(|call| CHANGES.contains(&call.name));
    let mut killed = 0;
    for call in changes {
        let temp = TempTeam::new(&["alice"], options());
        prepare(temp.team());
        let outcome =
            faults::inject(&mut victim(temp.team(), step), call.index, Fault::Kill).unwrap();
        killed += usize::from(outcome == Killed::Killed);
        check(temp.team());
    }
    assert!(killed > 10, "{killed} calls were hit");
}

/// The next incarnation comes to the end: the call was asked once and run at most once.
fn check_work(team: &TeamDir) {
    let answerer = Answerer::start(team, true);
    let outcome = Session::begin(team, PAINT).work();
    drop(answerer);
    assert!(matches!(outcome, Outcome::Finished { .. }), "{outcome:?}");
    let asked = requests(team);
    let (kinds, results) = journal(team);
    let count = |wanted: &str| kinds.iter().filter(|kind| *kind == wanted).count();
    assert_eq!(results.len(), 1, "{results:?}");
    if count("asked") == 0 {
        // Killed between the reply and the question: nobody was asked, and nothing was run.
        assert!(results[0].contains("outcome unknown"), "{results:?}");
        assert_eq!((asked.len(), coats(team)), (0, 0));
        return;
    }
    assert_eq!(asked.len(), 1, "asked once: {asked:?}");
    assert_eq!(asked[0].status(), RequestStatus::Approved);
    assert_eq!((count("asked"), count("started")), (1, 1));
    match results[0].contains("painted") {
        true => assert_eq!(coats(team), 1),
        // Killed between the start and the result: nobody knows, and it is not run again.
        false => {
            assert!(results[0].contains("outcome unknown"), "{results:?}");
            assert!(coats(team) <= 1);
        }
    }
}

#[test]
fn the_member_may_be_killed_at_any_step() {
    kill_at_every_call("work", |_| {}, check_work);
}

/// Tells the user by a line in a file.
fn notifying() -> AskSettings {
    AskSettings {
        hooks: vec![Hook {
            event: HookEvent::Notification,
            matcher: Matcher::default(),
            command: "cat >> told".to_owned(),
            timeout: LIMIT,
            origin: HookOrigin::User,
        }],
        // Nobody answers before the user was told, and then the test is to fail and not to hang.
        timeout: Some(LIMIT / 3),
        ..AskSettings::default()
    }
}

/// How often the user was told of what alice asks, in full.
fn told(team: &TeamDir) -> usize {
    let text = std::fs::read_to_string(team.workspace().join("told")).unwrap_or_default();
    let lines = text
        .split_inclusive('\n')
        .filter(|line| line.ends_with('\n'));
    let lines = lines.map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let is_meant = |line: &serde_json::Value| {
        let text = line["text"].as_str();
        text.is_some_and(|text| text.contains("bash: paint"))
    };
    lines.filter(is_meant).count()
}

/// Nobody answers before the user was told, so that the next incarnation comes to an end only if that happened.
fn check_told(team: &TeamDir) {
    let was_asked = !requests(team).is_empty();
    let answerer = Answerer::start_when(team, true, |team| told(team) > 0);
    let outcome = Session::asking(team, PAINT, notifying()).work();
    drop(answerer);
    assert!(matches!(outcome, Outcome::Finished { .. }), "{outcome:?}");
    assert!(told(team) > 0 || !was_asked);
    assert!(told(team) <= 2, "a second time at most after a kill");
}

#[test]
fn the_user_is_told_though_the_member_is_killed_at_any_step() {
    kill_at_every_call("notify", |_| {}, check_told);
    let temp = TempTeam::new(&["alice"], options());
    check_told(temp.team());
    assert_eq!(told(temp.team()), 1, "and once if nobody is killed");
}

/// A question of an incarnation that was killed while it waited.
fn ask_and_die(team: &TeamDir) {
    let mut session = Session::begin(team, PAINT);
    let cancel = session.cancel.clone();
    let watched = team.clone();
    let waits = thread::spawn(move || {
        wait_until("alice to ask", LIMIT, || {
            !team::waiting(&watched).unwrap().is_empty()
        });
        cancel.cancel();
    });
    assert!(matches!(session.work(), Outcome::Interrupted));
    waits.join().unwrap();
}

/// The answer is there with all that follows from it, or it is not there and can be given.
fn check_answer(team: &TeamDir) {
    for request in team::waiting(team).unwrap() {
        answer(team, &request, true, GrantScope::Team).unwrap();
    }
    let outcome = Session::begin(team, PAINT).work();
    assert!(matches!(outcome, Outcome::Finished { .. }), "{outcome:?}");
    assert_eq!(coats(team), 1);
    let asked = requests(team);
    assert_eq!(asked.len(), 1);
    let late = answer(team, &asked[0], false, GrantScope::Once).unwrap_err();
    assert!(
        late.to_string().contains("already approved by anna (user)"),
        "{late}"
    );
    let grants = team.grants().unwrap();
    assert_eq!(grants.rules.len(), 1, "{grants:?}");
    assert_eq!(grants.rules[0].id, asked[0].id);
    let mut told = Vec::new();
    team.unread_mail(&Recipient::Lead, |_, line| told.push(line))
        .unwrap();
    // Sent again under the same id at most, which the lead takes for one.
    assert!(!told.is_empty(), "the lead hears what was said");
    assert!(
        told.iter()
            .all(|line| format!("{line:?}").contains("two coats"))
    );
}

#[test]
fn whoever_answers_may_be_killed_at_any_step() {
    kill_at_every_call("answer", ask_and_die, check_answer);
}

#[test]
fn a_refusal_a_deadline_and_an_approval_are_different_results() {
    let result = |approve: bool| {
        let temp = TempTeam::new(&["alice"], options());
        let answerer = Answerer::start(temp.team(), approve);
        let outcome = Session::begin(temp.team(), PAINT).work();
        drop(answerer);
        assert!(matches!(outcome, Outcome::Finished { .. }), "{outcome:?}");
        assert_eq!(coats(temp.team()), usize::from(approve));
        journal(temp.team()).1.remove(0)
    };
    assert_eq!(
        result(true),
        "[allowed by anna (user): use two coats]\npainted while Working in bash"
    );
    assert_eq!(
        result(false),
        "bash was not run: refused by anna (user): use two coats"
    );

    let temp = TempTeam::new(&["alice"], options());
    let soon = AskSettings {
        timeout: Some(Duration::from_millis(30)),
        ..AskSettings::default()
    };
    let mut session = Session::asking(temp.team(), PAINT, soon);
    assert!(matches!(session.work(), Outcome::Finished { .. }));
    assert_eq!(coats(temp.team()), 0);
    let result = journal(temp.team()).1.remove(0);
    assert!(result.contains("nobody has refused it"), "{result}");
    assert!(
        result.contains("no answer came before the deadline"),
        "{result}"
    );
}

#[test]
fn a_question_is_answered_with_a_choice() {
    let temp = TempTeam::new(&["alice"], options());
    let team = temp.team().clone();
    let script = r#"{"alice":[{"calls":[{"name":"ask_user","input":
        {"question":"Which colour?","choices":["blue","red"],"free_text":false}}]},{"say":"done"}]}"#;
    let answering = thread::spawn(move || {
        let request = wait_for("the question", LIMIT, || {
            team::waiting(&team).unwrap().pop()
        });
        let live = wait_for("alice to wait", LIMIT, || {
            let live = team.live_state(&alice()).unwrap()?;
            (live.phase == Phase::Waiting).then_some(live)
        });
        assert_eq!(live.waiting_for, Some(WaitingFor::Answer));
        let say = |text| {
            let answer = PersonAnswer {
                approve: true,
                text,
                scope: None,
                name: None,
            };
            team::answer_person(&team, &Actor::user(), &request.id, &answer)
        };
        assert!(say("green").is_err());
        say("2").unwrap();
    });
    let outcome = Session::begin(temp.team(), script).work();
    answering.join().unwrap();
    assert!(matches!(outcome, Outcome::Finished { .. }), "{outcome:?}");
    assert_eq!(journal(temp.team()).1, ["user answers: red"]);
}

#[test]
fn a_rule_that_is_granted_meanwhile_answers_other_calls_that_wait() {
    let temp = TempTeam::new(&["alice", "bob"], options());
    let team = temp.team().clone();
    let granting = thread::spawn(move || {
        let request = wait_for("the question", LIMIT, || {
            team::waiting(&team).unwrap().pop()
        });
        // Somebody grants the same rule to the whole team, with the answer to another member.
        let rule = match &request.subject {
            protocol::Subject::Permission(ask) => ask.grants.clone().unwrap(),
            other => panic!("{other:?}"),
        };
        let grant = protocol::Grant {
            id: "0badcafe".parse().unwrap(),
            rule,
            member: None,
            by: protocol::Party::User,
            by_name: None,
            at: teamdir::now(),
            revoked_at: None,
            extra: protocol::Extra::new(),
        };
        team.update_grants(|grants| grants.add(grant)).unwrap();
    });
    let outcome = Session::begin(temp.team(), PAINT).work();
    granting.join().unwrap();
    assert!(matches!(outcome, Outcome::Finished { .. }), "{outcome:?}");
    assert_eq!(coats(temp.team()), 1);
    assert_eq!(requests(temp.team())[0].status(), RequestStatus::Expired);
    // The next call of that kind asks nobody.
    let again = PAINT.replace(
        r#"{"say":"done"}"#,
        r#"{"calls":[{"name":"bash","input":{"command":"paint"}}]},{"say":"done"}"#,
    );
    let fresh = TempTeam::new(&["alice"], options());
    let grants = temp.team().grants().unwrap();
    fresh
        .team()
        .update_grants(|own| own.rules.extend(grants.rules))
        .unwrap();
    assert!(matches!(
        Session::begin(fresh.team(), &again).work(),
        Outcome::Finished { .. }
    ));
    assert_eq!((coats(fresh.team()), requests(fresh.team()).len()), (2, 0));
}
