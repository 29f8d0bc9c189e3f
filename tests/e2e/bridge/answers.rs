//! Plans, tool calls and questions of members of one host, answered on another.

use super::{CALLED, CALLER, Hosts};
use crate::harness::{LIMIT, Run, Workspace, call, say, signal};
use nix::sys::signal::Signal;
use protocol::{Request, RequestKind, RequestState, RequestStatus, exit};
use serde_json::{Value, json};
use std::process::Stdio;
use test_support::wait_until;

/// Waits until this host shows a pending request of this kind.
#[track_caller]
fn shown(workspace: &Workspace, kind: RequestKind) -> Request {
    let mut found = None;
    wait_until(&format!("a {} request", kind.as_str()), LIMIT, || {
        let waiting = team::waiting(workspace.team()).unwrap();
        found = waiting.into_iter().find(|request| request.kind() == kind);
        found.is_some()
    });
    found.unwrap()
}

/// What this host says of a request.
fn listed(workspace: &Workspace, id: &str) -> Value {
    let found = workspace.run(&["requests", id, "--json"]).json();
    found["requests"][0].clone()
}

#[track_caller]
fn wait_for_status(workspace: &Workspace, request: &Request, status: RequestStatus) -> Request {
    let mut last = None;
    wait_until(
        &format!("{} to be {}", request.id, status.as_str()),
        LIMIT,
        || {
            last = team::find_request(workspace.team(), &request.id).ok();
            last.as_ref()
                .is_some_and(|request| request.status() == status)
        },
    );
    last.unwrap()
}

#[test]
fn a_plan_of_another_host_is_approved_here_and_its_author_writes_the_file_there() {
    let hosts = Hosts::new(&["alice"], &["bob"]);
    let (laptop, gpu) = (&hosts.laptop, &hosts.gpu);
    let bridge = hosts.bridge();
    hosts.wait_linked(&bridge, "alice", "bob");
    let plan = [
        "--model",
        "offline",
        "--require-plan",
        "--prompt",
        "Write hello to one.txt",
    ];
    gpu.spawn("carol", &plan);
    let first = shown(laptop, RequestKind::Plan);
    let id = first.id.as_str();
    assert_eq!(listed(laptop, id)["host"], CALLED);
    assert_eq!(listed(gpu, id)["host"], Value::Null);
    let text = laptop.ok(&["requests"]);
    assert!(
        text.contains(&format!("{id} plan carol on gpu1 -> lead: pending")),
        "{text}"
    );
    let run = laptop.run(&["reject", "carol", "--feedback", "Say why first."]);
    assert_eq!(run.has_code(exit::DONE).out, "Plan rejected for 'carol'\n");
    let second = shown(laptop, RequestKind::Plan);
    assert_ne!(second.id, first.id);
    laptop
        .run(&["approve", second.id.as_str()])
        .has_code(exit::DONE);
    wait_until("the file", LIMIT, || {
        std::fs::read_to_string(gpu.path().join("one.txt")).is_ok_and(|text| text.contains("hello"))
    });
    let decided = gpu.team().request(&second.id).unwrap();
    let RequestState::Approved(answer) = decided.state else {
        panic!("{decided:?}");
    };
    assert!(answer.name.unwrap().ends_with("@laptop"));
    assert_eq!(
        laptop.team().requests().unwrap().len(),
        0,
        "only copies are here"
    );
    gpu.run(&["shutdown", "carol", "--force"]);
}

#[test]
fn a_tool_call_and_a_question_are_answered_on_the_other_host() {
    let hosts = Hosts::new(&["alice"], &["bob"]);
    let (laptop, gpu) = (&hosts.laptop, &hosts.gpu);
    let bridge = hosts.bridge();
    hosts.wait_linked(&bridge, "alice", "bob");
    let question = json!({"question": "Which port?", "choices": ["8080", "3000"]});
    let guarded = json!({"command": "echo ran >> ledger", "needs_network": true});
    gpu.script(
        "carol",
        [
            call("ask_user", question),
            call("bash", guarded),
            say("Done."),
        ],
    );
    gpu.spawn("carol", &["--prompt", "Start the server."]);
    let question = shown(laptop, RequestKind::Question);
    let run = laptop.run(&["answer", question.id.as_str(), "2"]);
    assert_eq!(run.has_code(exit::DONE).out, "Answered 'carol': 3000\n");
    let permission = shown(laptop, RequestKind::Permission);
    let id = permission.id.as_str();
    laptop.run(&["approve", id]).has_code(exit::DONE);
    wait_until("the command to run", LIMIT, || {
        std::fs::read_to_string(gpu.path().join("ledger")).is_ok_and(|text| text == "ran\n")
    });
    assert!(
        listed(gpu, id)["resolved_by_name"]
            .as_str()
            .unwrap()
            .ends_with("@laptop")
    );
    for workspace in [laptop, gpu] {
        workspace
            .run(&["reject", id, "--feedback", "no"])
            .complains(
                exit::ALREADY_ANSWERED,
                "already approved by",
                "team-lead requests",
            );
    }
    gpu.run(&["shutdown", "carol", "--force"]);
}

#[test]
fn of_two_people_on_two_hosts_one_decides_and_the_other_is_told() {
    let hosts = Hosts::new(&["alice"], &["bob"]);
    let (laptop, gpu) = (&hosts.laptop, &hosts.gpu);
    let bridge = hosts.bridge();
    hosts.wait_linked(&bridge, "alice", "bob");
    for round in 0..4 {
        let name = "bob".parse().unwrap();
        let text = format!("plan {round}");
        let plan = team::submit_plan(gpu.team(), &name, protocol::Incarnation(1), &text).unwrap();
        wait_for_status(laptop, &plan, RequestStatus::Pending);
        let id = plan.id.as_str();
        let start = |workspace: &Workspace, words: &[&str]| {
            let mut command = workspace.command(words);
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            command.spawn().unwrap()
        };
        let yes = start(laptop, &["approve", id]);
        let no = start(gpu, &["reject", id, "--feedback", "no"]);
        let runs = [yes, no].map(|run| Run::ended(run.wait_with_output().unwrap()));
        let late = i32::from(exit::ALREADY_ANSWERED);
        let decided = gpu.team().request(&plan.id).unwrap();
        match &decided.state {
            RequestState::Approved(answer) => {
                assert!(answer.name.as_ref().unwrap().ends_with("@laptop"));
                assert_eq!((runs[0].code, runs[1].code), (0, late), "{runs:?}");
                assert!(runs[1].err.contains("@laptop"), "{runs:?}");
            }
            RequestState::Rejected(_) => {
                assert_eq!(runs[1].code, 0, "{runs:?}");
                // It is told at once, or the link was slow and the request says it later.
                let is_told = runs[0].code == late && runs[0].err.contains("already rejected by");
                assert!(is_told || runs[0].err.contains("queued"), "{runs:?}");
            }
            other => panic!("{other:?}: {runs:?}"),
        }
        let copy = wait_for_status(laptop, &plan, decided.status());
        assert_eq!(copy.state, decided.state);
    }
}

#[test]
fn while_the_link_is_cut_an_answer_is_sent_but_not_recorded_and_a_deadline_passes_at_home() {
    let hosts = Hosts::new(&["alice"], &["bob"]);
    let (laptop, gpu) = (&hosts.laptop, &hosts.gpu);
    let mut bridge = hosts.bridge();
    hosts.wait_linked(&bridge, "alice", "bob");
    let name: protocol::AgentName = "bob".parse().unwrap();
    let incarnation = protocol::Incarnation(1);
    let plan = team::submit_plan(gpu.team(), &name, incarnation, "Read.").unwrap();
    let bob = protocol::Actor::member(name, incarnation);
    let id = "aaaa1111".parse().unwrap();
    let ask = team::Ask::Question(protocol::QuestionAsk {
        question: "Which port?".to_owned(),
        choices: Vec::new(),
        free_text: true,
        call_hash: String::new(),
        lead_decides: false,
    });
    let question = team::prepare_ask(&bob, &id, ask, Some(LIMIT)).unwrap();
    let question = team::ask_person(gpu.team(), question).unwrap();
    wait_for_status(laptop, &plan, RequestStatus::Pending);
    wait_for_status(laptop, &question, RequestStatus::Pending);
    bridge.signal(Signal::SIGKILL);
    bridge.wait(LIMIT);
    wait_until("the end of the other side", LIMIT, || {
        hosts.called_process().is_none()
    });

    let sent = laptop.run(&["approve", plan.id.as_str()]);
    let said = "Answer for 'bob' sent to the host 'gpu1', not yet recorded\n";
    assert_eq!(sent.has_code(exit::DONE).out, said);
    let text = laptop.ok(&["requests", plan.id.as_str()]);
    assert!(text.contains("here, sent, not yet recorded"), "{text}");
    laptop
        .run(&["reject", plan.id.as_str(), "--feedback", "no"])
        .complains(
            exit::ALREADY_ANSWERED,
            "is on its way there",
            "team-lead requests",
        );
    laptop.ok(&["answer", question.id.as_str(), "8080"]);
    assert_eq!(
        gpu.team().request(&plan.id).unwrap().status(),
        RequestStatus::Pending
    );
    // The author gives up, as it does at its deadline.
    assert!(team::withdraw_ask(gpu.team(), &question.id).unwrap());
    let bridge = hosts.bridge();
    let recorded = wait_for_status(laptop, &plan, RequestStatus::Approved);
    assert_eq!(recorded.state, gpu.team().request(&plan.id).unwrap().state);
    wait_for_status(laptop, &question, RequestStatus::Expired);
    drop(bridge);
}

#[test]
fn a_request_is_answered_once_whichever_bridge_is_killed_at_each_step() {
    let hosts = Hosts::new(&["alice"], &["bob"]);
    let (laptop, gpu) = (&hosts.laptop, &hosts.gpu);
    let mut bridge = hosts.bridge();
    hosts.wait_linked(&bridge, "alice", "bob");
    for step in 0..6 {
        let mut kill = |now: u32| {
            if step == 2 * now {
                bridge.signal(Signal::SIGKILL);
                bridge.wait(LIMIT);
                bridge = hosts.bridge();
            } else if step == 2 * now + 1
                && let Some(called) = hosts.called_process()
            {
                signal(called, Signal::SIGKILL);
            }
        };
        let name = "bob".parse().unwrap();
        let text = format!("plan {step}");
        let plan = team::submit_plan(gpu.team(), &name, protocol::Incarnation(1), &text).unwrap();
        kill(0);
        wait_for_status(laptop, &plan, RequestStatus::Pending);
        kill(1);
        let answered = laptop.run(&["approve", plan.id.as_str()]);
        answered.has_code(exit::DONE);
        kill(2);
        let copy = wait_for_status(laptop, &plan, RequestStatus::Approved);
        let decided = gpu.team().request(&plan.id).unwrap();
        assert_eq!(copy.state, decided.state);
        assert_eq!(decided.ignored, []);
    }
    wait_until("no answer to be left", LIMIT, || {
        laptop.team().sent_answers().unwrap().is_empty()
    });
    assert_eq!(
        laptop.team().roster().unwrap().host,
        Some(super::host(CALLER))
    );
}
