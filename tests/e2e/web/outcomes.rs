//! Requests that end differently than asked, on the page.

use super::browser::{LEFT_OUT, drive};
use super::serve;
use crate::harness::{Behaviour, Session, Workspace, agent};
use protocol::{Incarnation, Request};

#[test]
fn what_ends_differently_than_asked_is_told_and_kept() {
    let workspace = Workspace::with_members(&["alice", "bob", "carol", "dora"]);
    let alice = workspace.play_member("alice", Behaviour::Refuses);
    let mut bob: Option<Session> = Some(workspace.play_member("bob", Behaviour::Silent));
    let carol = workspace.play_member("carol", Behaviour::Agrees);
    let served = serve(&workspace, &[]);
    let link = workspace.json(&["web", "--link"]);
    let mut plan: Option<Request> = None;
    let url = link["url"].as_str().unwrap();
    let driven = drive("outcomes.mjs", url, |line| match line {
        "bob dies" => drop(bob.take().map(|mut bob| bob.kill9())),
        "dora asks" => {
            let asked = team::submit_plan(
                workspace.team(),
                &agent("dora"),
                Incarnation(0),
                "All of it.",
            );
            plan = Some(asked.unwrap());
        }
        "maria decides" => {
            let id = plan.as_ref().unwrap().id.as_str();
            workspace.ok(&["reject", id, "--feedback", "It is too long."]);
        }
        other => panic!("the script says {other:?}"),
    });
    if driven.is_none() {
        eprintln!("{LEFT_OUT}");
    }
    drop((served, alice, bob, carol));
}
