//! A visit with keys alone.

use super::browser::{LEFT_OUT, drive, team_that_waits};
use super::serve;
use crate::harness::{LIMIT, Workspace, agent};
use protocol::{AgentName, Incarnation, Member, Request, RequestStatus, TaskId};
use teamdir::RosterError;
use test_support::wait_until;

fn carol_is_told(workspace: &Workspace, text: &str) {
    wait_until("carol is told", LIMIT, || {
        let requests = workspace.server.requests("carol");
        let mut bodies = requests.iter().map(|request| request.body().to_string());
        bodies.any(|body| body.contains(text))
    });
}

fn plan(workspace: &Workspace, name: &str) -> Request {
    let name: AgentName = agent(name);
    team::submit_plan(workspace.team(), &name, Incarnation(0), "Look.").unwrap()
}

#[test]
fn a_whole_visit_with_keys_alone() {
    let workspace = team_that_waits();
    let added = workspace.team().update_roster(|roster| {
        for name in ["erin", "frank"] {
            roster.members.push(Member::new(agent(name), "tester"));
        }
        Ok::<_, RosterError>(())
    });
    added.unwrap();
    workspace.script("carol", [crate::harness::say("Thank you.")]);
    let served = serve(&workspace, &[]);
    let link = workspace.json(&["web", "--link"]);
    let mut plans = Vec::new();
    let driven = drive(
        "keys.mjs",
        link["url"].as_str().unwrap(),
        |line| match line {
            "approved the plan" => {
                assert_eq!(workspace.wait_for_file("src/parser.rs"), "fn parse() {}");
                assert!(!workspace.path().join("allowed").exists());
            }
            "rejected the call" => workspace.wait_reports("bob", 1).clear(),
            "wrote to carol" => carol_is_told(&workspace, "From the keys."),
            "changed task 5" => {
                let task = team::get(workspace.team(), TaskId(5)).unwrap();
                assert_eq!(task.subject, "Changed with keys");
                assert_eq!(
                    (task.priority.get(), task.role.as_deref()),
                    (6, Some("nobody"))
                );
            }
            "wrote to carol again" => carol_is_told(&workspace, "From a dialog."),
            "ask two plans" => plans = vec![plan(&workspace, "erin"), plan(&workspace, "frank")],
            "decide the plan of erin" => {
                workspace.ok(&["approve", plans[0].id.as_str()]);
            }
            other => panic!("the script says {other:?}"),
        },
    );
    match driven {
        None => eprintln!("{LEFT_OUT}"),
        Some(()) => {
            let status = |plan: &Request| workspace.request(plan).status();
            assert_eq!(status(&plans[0]), RequestStatus::Approved);
            assert_eq!(status(&plans[1]), RequestStatus::Pending);
        }
    }
    drop(served);
    workspace.end();
}
