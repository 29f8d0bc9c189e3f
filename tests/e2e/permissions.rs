//! Where rules come from, and what `team-lead permissions` says about them.

use crate::harness::{LIMIT, Terminal, Workspace, agent, call, say, spawn_teammate};
use protocol::{RequestKind, exit};
use serde_json::json;
use test_support::wait_until;

const RULES: &str = "[permissions]\ndeny = ['Bash(git push *)']\nallow = ['Bash(make *)']\n\
                     [roles.reviewer.permissions]\ndeny = ['Edit', 'Write']\n";

#[test]
fn check_says_which_rule_decides() {
    let workspace = Workspace::with_config(RULES);
    let file = workspace.path().join("team.toml");
    let check = |args: &[&str]| {
        let all = [&["permissions", "check", "--json"], args].concat();
        workspace.json(&all)
    };
    let denied = check(&["ls && git push origin main"]);
    let expected = json!({
        "verdict": "deny", "rule": "Bash(git push *)", "origin": file, "part": "git push origin main",
        "reason": format!("the rule Bash(git push *) of {}, for `git push origin main`", file.display()),
    });
    assert_eq!(denied, expected);
    assert_eq!(check(&["make all"])["rule"], "Bash(make *)");
    assert_eq!(check(&["git log"])["verdict"], "allow");
    assert_eq!(
        check(&["npm i", "--network"])["reason"],
        "it needs the network"
    );
    assert_eq!(
        check(&["/etc/passwd", "--tool", "read_file"])["verdict"],
        "ask"
    );
    let text = workspace.ok(&["permissions", "check", "git push"]);
    let expected = format!("deny: the rule Bash(git push *) of {}\n", file.display());
    assert_eq!(text, expected);
    workspace
        .run(&["permissions", "check", "ls", "--member", "nobody"])
        .has_code(exit::NOT_FOUND);
}

#[test]
fn check_asks_the_tool_what_it_may_change() {
    let workspace = Workspace::with_config("");
    let server = json!({"command": "true"});
    workspace.write(
        ".mcp.json",
        &json!({"mcpServers": {"odd": server}}).to_string(),
    );
    let reason = |tool: &str| {
        let check = ["permissions", "check", "--json", "--tool", tool, "x"];
        workspace.json(&check)["reason"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(reason("task_list"), "it only reads");
    assert_eq!(reason("skill"), "it only reads");
    assert_eq!(reason("task_update"), "it concerns only the team");
    // Nobody has seen its tools, so that each may change anything.
    for tool in ["mcp__odd__tool", "mcp_call"] {
        let reason = reason(tool);
        assert!(!reason.contains("only"), "{tool}: {reason}");
    }
    for tool in ["idle", "mcp__none__tool", "Bash"] {
        let run = workspace.run(&["permissions", "check", "--tool", tool, "x"]);
        let expected = format!("lead has no tool {tool:?}");
        assert!(run.has_code(exit::USAGE).err.contains(&expected), "{tool}");
    }
}

#[test]
fn list_shows_every_rule_with_its_origin() {
    let workspace = Workspace::with_config(RULES);
    workspace.write(
        ".claude/settings.json",
        r#"{"permissions": {"ask": ["Bash(docker:*)"], "deny": ["NotebookEdit"]}}"#,
    );
    let text = workspace.ok(&["permissions", "list"]);
    let lines: Vec<Vec<&str>> = text
        .lines()
        .map(|line| {
            line.split("  ")
                .filter(|word| !word.is_empty())
                .map(str::trim)
                .collect()
        })
        .collect();
    let at = |name: &str| workspace.path().join(name).display().to_string();
    let (own, claude) = (at("team.toml"), at(".claude/settings.json"));
    let expected = [
        ["deny", "Bash(git push *)", own.as_str()],
        ["deny", "Edit", "the role reviewer"],
        ["deny", "Write", "the role reviewer"],
        ["ask", "Bash(docker:*)", claude.as_str()],
        ["allow", "Bash(make *)", own.as_str()],
    ];
    assert_eq!(lines, expected);
    let shown = workspace.ok(&["config", "show"]);
    let shown = |key: &str| {
        shown
            .lines()
            .find(|line| line.starts_with(key))
            .unwrap_or_default()
    };
    assert!(
        shown("permissions.allow").ends_with("(trusted)"),
        "{}",
        shown("permissions.allow")
    );
    assert!(shown("permissions.ask").contains("Bash(docker:*)"));
}

#[test]
fn a_wrong_rule_stops_every_command_that_obeys_it_and_names_its_line() {
    let workspace = Workspace::empty();
    workspace.write("team.toml", "[permissions]\nallow = ['Bash(a && b)']\n");
    let run = workspace.run(&["permissions", "list"]);
    run.complains(exit::USAGE, "separates commands", "team-lead config show");
    assert!(run.err.contains("team.toml:2:"), "{run:?}");
    workspace.write("team.toml", "");
    workspace.write(
        ".claude/settings.json",
        r#"{"permissions": {"deny": ["Bosh"]}}"#,
    );
    let run = workspace.run(&["permissions", "list"]);
    run.complains(exit::USAGE, "settings.json:1:", "team-lead config show");
    assert!(run.err.contains("is Bash meant?"), "{run:?}");
    let run = workspace.run(&["spawn", "alice", "coder", "--deny", "Bash()"]);
    assert!(
        run.has_code(exit::USAGE).err.contains("it is empty"),
        "{run:?}"
    );
    assert!(!workspace.path().join(".team").exists());
}

#[test]
fn allow_rules_of_a_workspace_need_trust_and_others_do_not() {
    let workspace = Workspace::empty();
    workspace.write(
        "team.toml",
        "[permissions]\ndeny = ['Bash(rm *)']\nask = ['Bash(docker *)']\n",
    );
    workspace.ok(&["spawn", "alice", "coder"]);
    workspace.write(
        ".claude/settings.json",
        r#"{"permissions": {"allow": ["Bash(make:*)"]}}"#,
    );
    let run = workspace.run(&["spawn", "bob", "coder"]);
    run.complains(exit::FAILED, "permissions.allow", "team-lead trust");
    let list = workspace.run(&["permissions", "list"]);
    assert!(list.err.contains("not trusted yet"), "{list:?}");
    workspace.ok(&["trust", "--yes"]);
    workspace.ok(&["spawn", "bob", "coder"]);
}

#[test]
fn rules_of_flags_stay_with_a_member_and_are_handed_on_by_a_lead() {
    let workspace = Workspace::with_config(RULES);
    workspace.ok(&[
        "spawn",
        "alice",
        "reviewer",
        "--deny",
        "Bash(rm *)",
        "--allow",
        "Bash(ls)",
        "--yes",
    ]);
    workspace.ok(&["kill", "alice"]);
    workspace.ok(&["restart", "alice"]);
    let rules = workspace.ok(&["permissions", "list", "--member", "alice"]);
    for rule in [
        "Bash(rm *)",
        "Bash(ls)",
        "Bash(git push *)",
        "the role reviewer",
    ] {
        assert!(rules.contains(rule), "{rules}");
    }
    let verdict = |what: &str, tool: &str| {
        let check = [
            "permissions",
            "check",
            what,
            "--tool",
            tool,
            "--member",
            "alice",
            "--json",
        ];
        workspace.json(&check)["verdict"].clone()
    };
    assert_eq!(verdict("rm x", "bash"), "deny");
    assert_eq!(verdict("src/a.rs", "edit_file"), "deny");
    workspace.reply(spawn_teammate("bob", "", "offline"));
    workspace.reply(say("Done."));
    workspace.ok(&[
        "run",
        "Spawn bob.",
        "--keep",
        "--deny",
        "Bash(curl *)",
        "--ask",
        "Bash(docker *)",
    ]);
    let roster = workspace.team().roster().unwrap();
    let spec = &roster.member(&agent("bob")).unwrap().spec;
    let rules = spec.permissions.as_ref().unwrap();
    assert_eq!(
        (rules.deny.as_slice(), rules.yes),
        (&["Bash(curl *)".to_owned()][..], false)
    );
    assert_eq!(rules.ask, ["Bash(docker *)"]);
}

#[test]
fn a_revoked_rule_asks_again_and_an_unknown_one_is_an_error() {
    let workspace = Workspace::new();
    let ask = || {
        let arguments = json!({"command": "echo ran >> ledger", "needs_network": true});
        workspace.script("alice", [call("bash", arguments), say("Done.")]);
    };
    ask();
    workspace.spawn("alice", &["--prompt", "Run it."]);
    let request = workspace.pending(RequestKind::Permission);
    let id = request.id.as_str();
    // Nothing was granted yet.
    let early = workspace.run(&["permissions", "revoke", id]);
    early.complains(exit::NOT_FOUND, id, "team-lead permissions list");
    workspace.ok(&["approve", id, "--team"]);
    workspace.wait_reports("alice", 1);
    let rules = workspace.ok(&["permissions", "list"]);
    assert!(rules.contains("Network(=echo ran >> ledger)"), "{rules}");
    assert!(rules.contains(&format!("the answer {id} of")), "{rules}");
    let revoked = workspace.ok(&["permissions", "revoke", id]);
    assert!(revoked.contains(id), "{revoked}");
    let rules = workspace.run(&["permissions", "list"]);
    assert!(!rules.out.contains("Network"), "{rules:?}");
    let again = workspace.run(&["permissions", "revoke", id]);
    again.complains(exit::NOT_FOUND, id, "team-lead permissions list");
    ask();
    workspace.ok(&["send", "alice", "Once more."]);
    let next = workspace.pending(RequestKind::Permission);
    assert_ne!(next.id, request.id);
    workspace.ok(&["reject", next.id.as_str(), "--feedback", "No more."]);
    workspace.wait_reports("alice", 2);
    assert_eq!(
        std::fs::read_to_string(workspace.path().join("ledger")).unwrap(),
        "ran\n"
    );
    workspace.end();
}

/// A member that waits for permission to use the network, and a lead at a terminal that shows it.
fn asked_at_a_terminal(workspace: &Workspace) -> (Terminal, String) {
    let arguments = json!({"command": "touch ledger", "needs_network": true});
    workspace.script("alice", [call("bash", arguments), say("Done.")]);
    workspace.spawn("alice", &["--prompt", "Run it."]);
    let request = workspace.pending(RequestKind::Permission);
    let terminal = Terminal::start(workspace.lead_command(&["--keep"]), 40, 120);
    terminal.wait_for(&["alice asks to run", "touch ledger", "[y] yes, once"]);
    (terminal, request.id.to_string())
}

#[test]
fn a_key_at_the_leads_terminal_answers_what_waits() {
    let workspace = Workspace::new();
    let (mut terminal, id) = asked_at_a_terminal(&workspace);
    terminal.type_keys("m\r");
    terminal.wait_for(&[&format!("Request {id} of alice: approved.")]);
    let ledger = workspace.path().join("ledger");
    wait_until("the command to run", LIMIT, || ledger.exists());
    let rules = workspace.ok(&["permissions", "list", "--member", "alice"]);
    assert!(rules.contains("Network(=touch ledger)"), "{rules}");
    workspace.ok(&["permissions", "revoke", &id]);
    let rules = workspace.run(&["permissions", "list", "--member", "alice"]);
    assert!(!rules.out.contains("Network"), "{rules:?}");
    terminal.type_keys("\u{4}");
    assert_eq!(terminal.end().code(), Some(0));
}

#[test]
fn a_person_at_the_terminal_says_no_with_a_reason_or_learns_who_was_first() {
    let workspace = Workspace::new();
    let (mut terminal, id) = asked_at_a_terminal(&workspace);
    terminal.type_keys("n\r");
    terminal.wait_for_last_line("why not >>");
    // Somebody else is faster.
    workspace.ok(&["reject", &id, "--feedback", "Not today."]);
    terminal.type_keys("too late\r");
    terminal.wait_for(&["the request is already rejected"]);
    assert!(!workspace.path().join("ledger").exists());
    terminal.type_keys("\u{4}");
    assert_eq!(terminal.end().code(), Some(0));
}

#[test]
fn a_rule_for_one_member_is_none_for_others_and_one_for_the_team_is() {
    let workspace = Workspace::new();
    let (mut terminal, id) = asked_at_a_terminal(&workspace);
    terminal.type_keys("l\r");
    terminal.wait_for(&[&format!("permission {id} of alice:")]);
    assert!(!workspace.path().join("ledger").exists());
    workspace.spawn("bob", &[]);
    let verdict = |member: &str| {
        let check = [
            "permissions",
            "check",
            "touch ledger",
            "--network",
            "--json",
        ];
        workspace.json(&[&check[..], &["--member", member]].concat())["verdict"].clone()
    };
    assert_eq!(
        (verdict("alice"), verdict("bob")),
        ("ask".into(), "ask".into())
    );
    terminal.type_keys("m\r");
    let ledger = workspace.path().join("ledger");
    wait_until("the command to run", LIMIT, || ledger.exists());
    assert_eq!(
        (verdict("alice"), verdict("bob")),
        ("allow".into(), "ask".into())
    );
    workspace.ok(&["permissions", "revoke", &id]);
    // Another question, and an answer for all.
    let arguments = json!({"command": "touch ledger", "needs_network": true});
    workspace.script("alice", [call("bash", arguments), say("Again.")]);
    workspace.ok(&["send", "alice", "Once more."]);
    let next = workspace.pending(RequestKind::Permission);
    terminal.wait_for(&[next.id.as_str(), "[t] yes, for the team"]);
    terminal.type_keys("t\r");
    terminal.wait_for(&[&format!("Request {} of alice: approved.", next.id)]);
    assert_eq!(
        (verdict("alice"), verdict("bob")),
        ("allow".into(), "allow".into())
    );
    terminal.type_keys("\u{4}");
    assert_eq!(terminal.end().code(), Some(0));
}
