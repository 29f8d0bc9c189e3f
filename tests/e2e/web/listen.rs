//! `--listen` in a browser: an address of this machine by which others come.

use super::browser::{LEFT_OUT, drive};
use super::serve;
use crate::harness::Workspace;

#[test]
fn the_page_for_other_machines_needs_the_token_warns_and_ends_sessions() {
    let workspace = Workspace::with_members(&["alice"]);
    let served = serve(&workspace, &["--listen", "0.0.0.0"]);
    let warning = served.session.err();
    assert!(warning.contains("not encrypted"), "{warning}");
    let link = workspace.json(&["web", "--link"]);
    let is_in = || served.client.get("/api/sessions").status;
    let driven = drive(
        "listen.mjs",
        link["url"].as_str().unwrap(),
        |line| match line {
            "the other one is in" => assert_eq!(is_in(), 200),
            "the other one is out" => assert_eq!(is_in(), 401),
            other => panic!("the script says {other:?}"),
        },
    );
    match driven {
        None => eprintln!("{LEFT_OUT}"),
        Some(()) => {
            let listed = workspace.json(&["web", "--sessions"]);
            assert_eq!(listed["sessions"], serde_json::json!([]));
        }
    }
}
