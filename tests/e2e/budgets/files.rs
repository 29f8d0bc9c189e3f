//! What is set in files and variables.

use super::done;
use crate::harness::{LIMIT, Run, Workspace};
use protocol::exit;
use serde_json::{Value, json};
use teamdir::FOLDER;

/// A value of `config show --json`, with its origin.
fn setting(shown: &Value, key: &str) -> (String, String) {
    let settings = shown["settings"].as_array().unwrap();
    let found = settings.iter().find(|setting| setting["key"] == key);
    let text = |field: &str| found.unwrap()[field].as_str().unwrap().to_owned();
    (text("value"), text("origin"))
}

#[test]
fn a_mistake_in_a_file_is_named_and_creates_nothing() {
    let workspace = Workspace::with_config("model = \"offline\"\n[budget]\nmax_tokns = 5\n");
    for args in [&["up"][..], &["spawn", "alice", "coder"], &["run", "hi"]] {
        let run = workspace.run(args);
        assert_eq!(run.code, i32::from(exit::USAGE), "{args:?}: {run:?}");
        let words = "team.toml:3: `budget`: unknown key `max_tokns`; did you mean `max_tokens`?";
        assert!(run.err.contains(words), "{args:?}: {run:?}");
    }
    assert!(!workspace.path().join(FOLDER).exists());
}

#[test]
fn variables_beat_the_user_and_the_user_beats_the_project() {
    let workspace =
        Workspace::with_config("model = \"offline\"\n[budget]\nmax_turns = 5\nmax_minutes = 9\n");
    let user = "[budget]\nmax_turns = 6\nmax_minutes = 7\n";
    workspace.write_home(".config/team-lead/config.toml", user);
    let shown = workspace.json(&["config", "show"]);
    let (value, origin) = setting(&shown, "model");
    assert!(
        value == "offline" && origin.ends_with("team.toml"),
        "{shown}"
    );
    let (value, origin) = setting(&shown, "budget.max_minutes");
    assert!(value == "7" && origin.ends_with("config.toml"), "{shown}");
    let (value, origin) = setting(&shown, "limits.members");
    assert_eq!((value.as_str(), origin.as_str()), ("32", "default"));

    let mut command = workspace.command_as("lead", &["--json", "config", "show"]);
    command
        .env("TEAM_MAX_TURNS", "4")
        .env("MODEL_ID", "anthropic:y");
    let run = Run::of(&mut command);
    let shown: Value = serde_json::from_str(&run.out).unwrap();
    let expected = ("4".to_owned(), "variable TEAM_MAX_TURNS".to_owned());
    assert_eq!(setting(&shown, "budget.max_turns"), expected);
    assert_eq!(setting(&shown, "model").0, "anthropic:y");
}

#[test]
fn a_variable_is_in_force_and_a_flag_is_for_the_run_alone() {
    let workspace = Workspace::with_config("model = \"offline\"\n[budget]\nmax_turns = 5\n");
    let mut command = workspace.command_as("lead", &["run", "Say hello.", "--max-turns", "50"]);
    command
        .env("TEAM_MAX_TURNS", "40")
        .env("TEAM_MAX_TOKENS", "123456789");
    let run = Run::of(&mut command);
    assert_eq!(run.code, 0, "{run:?}");
    let budget = workspace.team().budget().unwrap();
    let limits = budget.team.limits;
    assert_eq!(
        (limits.max_turns, limits.max_tokens),
        (Some(40), Some(123_456_789))
    );
    assert_eq!(budget.run, None);
}

#[test]
fn up_starts_who_is_listed_and_does_nothing_the_second_time() {
    let workspace = Workspace::with_config(
        "model = \"offline\"\nrestart = \"on-failure\"\n\
         [[members]]\nname = \"alice\"\nrole = \"coder\"\nmax_turns = 9\n\
         [[members]]\nname = \"bob\"\nrole = \"tester\"\nrestart = \"never\"\n",
    );
    let result = |shown: &Value| -> Vec<String> {
        let members = shown["members"].as_array().unwrap().iter();
        members
            .map(|member| member["result"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(result(&workspace.json(&["up"])), ["started", "started"]);
    assert_eq!(
        result(&workspace.json(&["up"])),
        ["already running", "already running"]
    );
    let roster = workspace.team().roster().unwrap();
    let members = roster.members.iter();
    let policies = members.map(|member| {
        assert_eq!(member.incarnation.0, 1);
        json!(member.spec.restart)
    });
    assert_eq!(
        policies.collect::<Vec<_>>(),
        [json!("on-failure"), json!("never")]
    );
    let budget = workspace.team().budget().unwrap();
    assert_eq!(
        budget.members.values().next().unwrap().limits.max_turns,
        Some(9)
    );
    workspace.ok(&["shutdown", "bob", "--wait", "--timeout", "100"]);
    assert_eq!(
        result(&workspace.json(&["up"])),
        ["already running", "restarted"]
    );
}

#[test]
fn nobody_listed_is_nobody_to_start() {
    let workspace = Workspace::with_config("");
    let run = workspace.run(&["up"]);
    assert_eq!(run.code, i32::from(exit::USAGE), "{run:?}");
    assert!(run.err.contains("lists no [[members]]"), "{run:?}");
    assert!(!workspace.path().join(FOLDER).exists());
}

#[test]
fn a_role_has_its_prompt_and_its_tools() {
    let workspace = Workspace::with_config(
        "[roles.coder]\nprompt = \"Speak softly.\"\ntools = [\"read_file\"]\n",
    );
    workspace.server.always("alice", done());
    workspace.spawn("alice", &["--prompt", "Work."]);
    let asked = workspace.server.wait_for_requests("alice", 1, LIMIT);
    let request = &asked[0];
    assert!(request.system_text().contains("Speak softly."));
    let tools = request.tool_names();
    assert!(
        tools.contains(&"read_file") && tools.contains(&"send_message"),
        "{tools:?}"
    );
    for tool in ["bash", "write_file", "edit_file", "background_run"] {
        assert!(!tools.contains(&tool), "{tools:?}");
    }
}

#[test]
fn limits_of_a_file_are_in_force_in_the_folder() {
    let workspace =
        Workspace::with_config("model = \"offline\"\n[limits]\nworking = 2\nmessage_bytes = 99\n");
    workspace.spawn("alice", &[]);
    let limits = workspace.json(&["limits"]);
    assert_eq!(
        (&limits["working"], &limits["message_bytes"]),
        (&json!(2), &json!(99))
    );
    assert_eq!(limits["members"], 32);
}
