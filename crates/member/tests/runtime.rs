//! A runtime over several incarnations: the model is given each message once, and what is owed is sent.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use agent::{Agent, Conversation, Outcome, Settings};
use llm::{
    BoxFuture, CancellationToken, EventSink, Model, ModelError, Reply, Request, ScriptModel,
};
use member::{
    Hooks, MailHandler, MemberRuntime, Recovered, RuntimeHost, Treatment, workspace_confinement,
};
use prompts::{CurrentPrompt, PromptSpec, Reader, UserFolders};
use protocol::{Body, LiveState, Message, NetworkSetting, Phase, Recipient};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use teamdir::{Options, TeamDir};
use test_support::TempTeam;
use tools::{OutputFolder, Registry, Tool, ToolContext, ToolError, ToolOutput, Workspace};

fn alice() -> Recipient {
    "alice".parse().unwrap()
}

/// A scripted model that remembers what it was asked.
struct Recording {
    script: ScriptModel,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Model for Recording {
    fn name(&self) -> &str {
        "recording"
    }

    fn complete<'a>(
        &'a self,
        request: &'a Request,
        events: &'a mut EventSink<'_>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        let asked = format!("{:?}", request.turns.last());
        self.asked.lock().unwrap().push(asked);
        self.script.complete(request, events, cancel)
    }
}

/// Reads the inbox, as the product's tool does.
struct ReadInbox(MemberRuntime);

impl Tool for ReadInbox {
    const NAME: &'static str = "read_inbox";
    const DESCRIPTION: &'static str = "Reads the inbox.";
    const EFFECT: tools::Effect = tools::Effect::State;
    type Args = BTreeMap<String, String>;

    async fn call(
        &self,
        _: BTreeMap<String, String>,
        _: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let read = self.0.read_inbox();
        read.map_err(|error| ToolError::from_error(&error))
    }
}

/// A tool that changes things, of which no list knows.
struct Paint;

impl Tool for Paint {
    const NAME: &'static str = "paint";
    const DESCRIPTION: &'static str = "Paints a wall.";
    const EFFECT: tools::Effect = tools::Effect::Mutate;
    type Args = BTreeMap<String, String>;

    async fn call(
        &self,
        _: BTreeMap<String, String>,
        context: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        std::fs::write(context.workspace.root().join("wall"), "blue").unwrap();
        Ok(ToolOutput::ok("painted"))
    }
}

struct Plain;

impl Hooks for Plain {
    fn reminder(&mut self) -> Option<String> {
        None
    }
}

fn system(temp: &TempTeam) -> CurrentPrompt {
    let workspace = temp.workspace().to_path_buf();
    let confinement = workspace_confinement(&workspace, NetworkSetting::Off);
    CurrentPrompt::new(PromptSpec {
        reader: Reader::Lead,
        workspace,
        is_own_tree: false,
        confinement: Arc::new(confinement),
        user: UserFolders::default(),
    })
}

/// One incarnation: a runtime, an agent and its host.
struct Session {
    runtime: MemberRuntime,
    agent: Agent,
    host: RuntimeHost<Plain>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Session {
    fn begin(temp: &TempTeam, script: &str) -> Self {
        let (runtime, recovered) = MemberRuntime::open(temp.team(), &alice()).unwrap();
        Self::with(temp, runtime, recovered, script)
    }

    fn with(temp: &TempTeam, runtime: MemberRuntime, recovered: Recovered, script: &str) -> Self {
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let script = ScriptModel::parse(PathBuf::from("test"), script, "alice").unwrap();
        let model = Recording {
            script,
            asked: Arc::clone(&asked),
        };
        let mut registry = Registry::default();
        registry.add(ReadInbox(runtime.clone())).unwrap();
        registry.add(Paint).unwrap();
        let workspace = Workspace::open(temp.workspace(), []).unwrap();
        let output = OutputFolder::new(temp.team().layout().member_outputs(&alice()));
        let agent = Agent::new(
            Arc::new(model),
            Arc::new(registry),
            ToolContext::new(workspace, output, "test"),
            Settings::default(),
            recovered.conversation,
        );
        Self {
            host: RuntimeHost::new(runtime.clone(), system(temp), Plain),
            runtime,
            agent,
            asked,
        }
    }

    async fn turn(&mut self) -> String {
        let cancel = CancellationToken::new();
        let turn = self.agent.run_turn(Vec::new(), &mut self.host, &cancel);
        match turn.await {
            Outcome::Finished { text } => text,
            other => panic!("{other:?}"),
        }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn tell(team: &TeamDir, text: &str) {
    team::send(team, &team::Actor::user(), alice(), text).unwrap();
}

#[tokio::test]
async fn a_message_is_given_once_over_all_incarnations() {
    let temp = TempTeam::new(&["alice"], Options::default());
    tell(temp.team(), "first item");
    let mut session = Session::begin(&temp, r#"{"alice":[{"say":"one"},{"say":"two"}]}"#);
    assert_eq!(session.turn().await, "one");
    assert!(session.asked()[0].contains("first item"));
    // Received, and not given to the model: the process dies before.
    tell(temp.team(), "second item");
    assert_eq!(session.runtime.receive_mail().unwrap(), 1);
    drop(session);

    let mut session = Session::begin(
        &temp,
        r#"{"alice":[{"say":"-"},{"say":"two"},{"say":"-"}]}"#,
    );
    assert_eq!(session.runtime.pending_mail().len(), 1);
    assert_eq!(session.turn().await, "two");
    let asked = session.asked();
    assert!(asked[0].contains("second item") && !asked[0].contains("first item"));
    assert_eq!(session.turn().await, "", "nothing is left to say");
    drop(session);
    let session = Session::begin(&temp, r#"{"alice":[]}"#);
    assert_eq!(session.runtime.pending_mail(), []);
}

#[tokio::test]
async fn mail_that_a_tool_has_listed_is_not_given_again() {
    let temp = TempTeam::new(&["alice"], Options::default());
    let script = r#"{"alice":[{"calls":[{"name":"read_inbox"}]},{"say":"read"}]}"#;
    let mut session = Session::begin(&temp, script);
    // The model is woken by something else, and the item waits when its tool reads the inbox.
    let input = vec![protocol::UserMessage::new("look at your mail")];
    tell(temp.team(), "the item");
    let list = session.runtime.read_inbox().unwrap();
    assert_eq!(list.mail, [1], "{list:?}");
    let cancel = CancellationToken::new();
    let outcome = session
        .agent
        .run_turn(input, &mut session.host, &cancel)
        .await;
    assert!(matches!(outcome, Outcome::Finished { text } if text == "read"));
    let last = session.asked().pop().unwrap();
    assert_eq!(last.matches("the item").count(), 1, "{last}");
    drop(session);
    let (runtime, _) = MemberRuntime::open(temp.team(), &alice()).unwrap();
    assert_eq!(
        runtime.pending_mail(),
        [],
        "the result in the journal has it"
    );
}

#[tokio::test]
async fn mail_that_does_not_fit_in_a_result_follows_it() {
    let temp = TempTeam::new(&["alice"], Options::default());
    let script = r#"{"alice":[{"calls":[{"name":"read_inbox"}]},{"say":"read"}]}"#;
    let mut session = Session::begin(&temp, script);
    for number in 0..100 {
        tell(temp.team(), &format!("[note {number}] {}", "x".repeat(120)));
    }
    let list = session.runtime.read_inbox().unwrap();
    // A compaction leaves a result of this size as it is.
    assert!(list.text.len() < agent::KEPT_WHOLE, "{}", list.text.len());
    assert!((10..100).contains(&list.mail.len()), "{:?}", list.mail);
    let input = vec![protocol::UserMessage::new("look at your mail")];
    let cancel = CancellationToken::new();
    let outcome = session
        .agent
        .run_turn(input, &mut session.host, &cancel)
        .await;
    assert!(matches!(outcome, Outcome::Finished { text } if text == "read"));
    let last = session.asked().pop().unwrap();
    for number in 0..100 {
        let tag = format!("[note {number}]");
        assert_eq!(last.matches(&tag).count(), 1, "{tag}");
    }
}

struct Secretary(Arc<Mutex<Vec<String>>>);

impl MailHandler for Secretary {
    fn handle(&mut self, message: &Message) -> Treatment {
        self.0.lock().unwrap().push(message.body.text().to_owned());
        match message.body.text() {
            "hide" => Treatment::Hide,
            "mark" => Treatment::ShowWith("be careful".to_owned()),
            _ => Treatment::Show,
        }
    }
}

#[tokio::test]
async fn the_mail_handler_sees_mail_first_also_that_of_an_earlier_incarnation() {
    let temp = TempTeam::new(&["alice"], Options::default());
    for text in ["hide", "mark", "show"] {
        tell(temp.team(), text);
    }
    let (runtime, _) = MemberRuntime::open(temp.team(), &alice()).unwrap();
    assert_eq!(runtime.receive_mail().unwrap(), 3);
    drop(runtime);
    let seen = Arc::<Mutex<Vec<String>>>::default();
    let (runtime, recovered) = MemberRuntime::open(temp.team(), &alice()).unwrap();
    runtime.set_mail_handler(Box::new(Secretary(Arc::clone(&seen))));
    assert_eq!(*seen.lock().unwrap(), ["hide", "mark", "show"]);
    let mut session = Session::with(&temp, runtime, recovered, r#"{"alice":[{"say":"ok"}]}"#);
    assert_eq!(session.turn().await, "ok");
    let asked = session.asked().remove(0);
    assert!(
        asked.contains("be careful") && asked.contains("show"),
        "{asked}"
    );
    assert!(!asked.contains("hide"), "{asked}");
    drop(session);
    let (runtime, _) = MemberRuntime::open(temp.team(), &alice()).unwrap();
    assert_eq!(
        runtime.pending_mail(),
        [],
        "the hidden one was recorded too"
    );
}

#[test]
fn a_control_message_for_an_earlier_incarnation_is_a_dead_letter_and_its_sender_is_notified() {
    let temp = TempTeam::new(&["alice"], Options::default());
    let (first, _) = MemberRuntime::open(temp.team(), &alice()).unwrap();
    let incarnation = first.incarnation();
    drop(first);
    let mut message = Message::new(Body::ShutdownRequest {
        request_id: "1a2b3c4d".parse().unwrap(),
        content: String::new(),
    });
    message.from = Some(protocol::Party::Lead.into());
    message.to = Some(alice());
    message.to_incarnation = Some(incarnation);
    team::send_message(temp.team(), message).unwrap();
    let (second, _) = MemberRuntime::open(temp.team(), &alice()).unwrap();
    second.receive_mail().unwrap();
    let items = second.pending_mail();
    assert!(items.iter().all(|item| !item.shown));
    assert_eq!(temp.unread(&Recipient::Lead), 1);
    assert!(temp.team().layout().dead_letters().exists());
}

#[test]
fn reports_and_plans_are_remembered() {
    let temp = TempTeam::new(&["alice"], Options::default());
    let (runtime, recovered) = MemberRuntime::open(temp.team(), &alice()).unwrap();
    assert_eq!((recovered.reports, runtime.next_report()), (0, 1));
    runtime.record_report(1).unwrap();
    let plan = protocol::PlanRecord {
        request_id: "1a2b3c4d".parse().unwrap(),
        plan_hash: "abc".to_owned(),
    };
    runtime.record_plan(plan.clone()).unwrap();
    drop(runtime);
    let (runtime, recovered) = MemberRuntime::open(temp.team(), &alice()).unwrap();
    assert_eq!((runtime.next_report(), runtime.plan()), (2, Some(plan)));
    assert_eq!(recovered.unreported, None);
}

#[test]
fn a_new_conversation_starts_in_the_same_journal_and_forgets_no_mail() {
    let temp = TempTeam::new(&["alice"], Options::default());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        tell(temp.team(), "old");
        let mut session = Session::begin(&temp, r#"{"alice":[{"say":"one"}]}"#);
        session.turn().await;
    });
    tell(temp.team(), "new");
    let (runtime, recovered) = MemberRuntime::open(temp.team(), &alice()).unwrap();
    runtime.receive_mail().unwrap();
    let mut conversation: Conversation = recovered.conversation;
    runtime
        .start_new_conversation(&mut conversation, None)
        .unwrap();
    assert!(conversation.turns().is_empty() && !conversation.is_waiting());
    drop(runtime);
    let (runtime, recovered) = MemberRuntime::open(temp.team(), &alice()).unwrap();
    assert!(recovered.conversation.turns().is_empty());
    assert!(
        recovered
            .conversation
            .was_given(&protocol::MessageSource::Mail(1))
    );
    assert_eq!(runtime.pending_mail().len(), 1);
}

#[test]
fn the_world_sees_what_the_member_does() {
    let temp = TempTeam::new(&["alice"], Options::default());
    let state = || -> LiveState { temp.team().live_state(&alice()).unwrap().unwrap() };
    let (runtime, _) = MemberRuntime::open(temp.team(), &alice()).unwrap();
    assert_eq!(state().phase, Phase::Starting);
    runtime.set_phase(Phase::Idle, None, None);
    let idle = state();
    runtime.set_phase(Phase::Idle, None, None);
    assert_eq!(state().since, idle.since);
    runtime.set_phase(Phase::Working, None, None);
    assert!(state().since > idle.since);
    runtime.close().unwrap();
    assert_eq!(state().phase, Phase::Shutdown);
    let roster = temp.team().roster().unwrap();
    assert_eq!(roster.members[0].status.as_str(), "shutdown");
}

#[test]
fn a_broken_record_is_passed_over_and_named() {
    let temp = TempTeam::new(&["alice"], Options::default());
    let (runtime, _) = MemberRuntime::open(temp.team(), &alice()).unwrap();
    drop(runtime);
    let path = temp.team().layout().transcript(&alice());
    let mut text = std::fs::read_to_string(&path).unwrap();
    text.push_str("{\"kind\":\"user\"}\n{\"kind\":\"user\",\"messages\":[{\"text\":\"hi\"}]}\n");
    std::fs::write(&path, text).unwrap();
    let (_runtime, recovered) = MemberRuntime::open(temp.team(), &alice()).unwrap();
    assert_eq!(recovered.conversation.turns().len(), 1);
    assert_eq!(recovered.damage.len(), 1, "{:?}", recovered.damage);
}

/// How often the event log tells that alice took something.
fn deliveries(team: &TeamDir) -> usize {
    let mut count = 0;
    let read = team.read_events(|line| {
        count += usize::from(String::from_utf8_lossy(line).contains("\"deliver\""));
    });
    read.unwrap();
    count
}

#[test]
fn what_several_records_of_a_killed_incarnation_did_not_log_the_next_one_logs_once() {
    let temp = TempTeam::new(&["alice"], Options::default());
    let team = temp.team();
    let (runtime, _) = MemberRuntime::open(team, &alice()).unwrap();
    for text in ["one", "two", "three"] {
        tell(team, text);
        runtime.receive_mail().unwrap();
    }
    drop(runtime);
    assert_eq!(deliveries(team), 3);
    // As if the disk had been full since the first.
    let path = team.layout().events();
    let log = std::fs::read_to_string(&path).unwrap();
    let first = log.lines().position(|line| line.contains("\"deliver\""));
    let kept = log.lines().take(first.unwrap() + 1);
    let kept: String = kept.map(|line| format!("{line}\n")).collect();
    std::fs::write(&path, kept).unwrap();
    for _ in 0..2 {
        drop(MemberRuntime::open(team, &alice()).unwrap());
        assert_eq!(deliveries(team), 3);
    }
}

#[tokio::test]
async fn a_tool_waits_for_the_plan_because_it_says_that_it_changes_things() {
    let temp = TempTeam::new(&["alice"], Options::default());
    temp.team()
        .update_roster(|roster| {
            for member in &mut roster.members {
                member.spec.require_plan = Some(true);
            }
            Ok::<_, teamdir::RosterError>(())
        })
        .unwrap();
    let script = r#"{"alice":[{"calls":[{"name":"paint"}]},{"say":"no"},{"calls":[{"name":"paint"}]},{"say":"yes"}]}"#;
    let mut session = Session::begin(&temp, script);
    let wall = temp.workspace().join("wall");
    tell(temp.team(), "paint the wall");
    session.turn().await;
    assert!(!wall.exists());
    let refused = session.asked().pop().unwrap();
    assert!(
        refused.contains("paint was not run: you need an approved plan"),
        "{refused}"
    );

    let name = protocol::AgentName::new("alice").unwrap();
    let request = team::submit_plan(temp.team(), &name, session.runtime.incarnation(), "Paint.");
    let request = request.unwrap();
    let plan = protocol::PlanRecord {
        request_id: request.id.clone(),
        plan_hash: rules::plan_hash("Paint."),
    };
    session.runtime.record_plan(plan).unwrap();
    team::decide_plan(temp.team(), &team::Actor::user(), &request.id, true, "").unwrap();
    session.turn().await;
    assert!(wall.exists(), "{:?}", session.asked());
}
