//! A team in the middle of its work: the pictures of the documentation, and what a person does there.
//!
//! `scripts/record --page` makes the pictures again.

use super::browser::{LEFT_OUT, drive};
use super::serve;
use crate::harness::{LIMIT, Workspace, bash, call, say};
use protocol::{Phase, RequestKind};
use serde_json::json;
use std::fs;
use std::path::Path;
use test_support::{git, init_repository, wait_until};

const MODEL: [&str; 2] = ["--model", "anthropic:claude-opus-5-5"];

const PLAN: &str = "\
## Joins in the parser

1. A `Join` node beside `Table` in **src/ast.rs**.
2. `parse_from` reads any number of joins, left to right.
3. Tests for nesting, and for a missing `ON`.

```diff
--- a/src/parser.rs
+++ b/src/parser.rs
@@ -41,6 +41,9 @@ fn parse_from(&mut self) -> Result<From>
     let mut from = From::Table(self.table()?);
-    Ok(from)
+    while let Some(kind) = self.join_kind() {
+        from = From::join(from, kind, self.table()?, self.on()?);
+    }
+    Ok(from)
 }
```

It changes nothing for queries without a join. Background: [the grammar](https://example.org/grammar), \
[not a link](javascript:alert(1)), <img src=x onerror=alert(1)>.";

/// A repository of a small database, with the settings of its team.
fn repository() -> Workspace {
    let config = "[permissions]\nask = ['Bash(git push *)']\n";
    let workspace = Workspace::with_config(config);
    let folder = workspace.path();
    init_repository(folder);
    fs::create_dir_all(folder.join("src")).unwrap();
    fs::create_dir_all(folder.join("scripts")).unwrap();
    workspace.write("src/lexer.rs", "pub fn tokens() {}\n");
    let soak =
        "#!/bin/sh\nuntil [ -e soaked ]; do sleep 0.05; done\necho 4096 pages, no difference\n";
    workspace.write("scripts/soak", soak);
    workspace.write(".gitignore", "soaked\n");
    git(folder, ["add", "--all"]);
    git(folder, ["commit", "--quiet", "--message", "A lexer"]);
    workspace
}

fn board(workspace: &Workspace) {
    for (subject, role, blocked, priority) in [
        ("Tokenise strings and comments", "lexer", "", "5"),
        ("Parse SELECT with joins", "planner", "", "8"),
        ("Write rows to pages of 4 KiB", "storage", "", "7"),
        ("Run the plan of a query", "engine", "2,3", "6"),
        ("Recover after a torn page", "engine", "3", "5"),
        ("Measure beside the old engine", "engine", "4,5", "4"),
        ("Describe the grammar", "writer", "", "3"),
    ] {
        let mut args = vec![
            "task",
            "create",
            subject,
            "--role",
            role,
            "--priority",
            priority,
        ];
        if !blocked.is_empty() {
            args.extend(["--blocked-by", blocked]);
        }
        workspace.ok(&args);
    }
    workspace.ok(&[
        "task",
        "complete",
        "1",
        "--result",
        "All literals of the standard.",
    ]);
}

fn spawn(workspace: &Workspace, name: &str, role: &str, args: &[&str]) {
    workspace.spawn_as(name, role, &[&MODEL, args].concat());
}

/// Barbara has brought tests into the team's branch, under a name of a file that looks like markup.
fn barbara_submits(workspace: &Workspace) {
    let tests = "#[test]\nfn a_string_may_hold_a_quote() {\n    assert_eq!(tokens(\"'it''s'\").len(), 1);\n}\n";
    workspace.script(
        "barbara",
        [
            call("write_file", json!({"path": "tests/strings.rs", "content": tests}))
                .usage(18_400, 900, 0, 18_000),
            call("write_file", json!({"path": "tests/<b>bold</b>.sql", "content": "select 1;\n"}))
                .usage(900, 300, 18_000, 900),
            bash("git add --all && git commit --quiet --message 'Test strings with quotes'")
                .usage(1_100, 120, 19_000, 1_000),
            call("submit", json!({})).usage(300, 40, 20_000, 300),
            say("The tests of strings are submitted. **Quotes inside of strings** were not covered before.")
                .usage(400, 60, 20_300, 400),
        ],
    );
    let prompt = "Test strings with quotes in them.";
    spawn(
        workspace,
        "barbara",
        "tester",
        &["--tree", "own", "--prompt", prompt],
    );
    workspace.wait_reports("barbara", 1);
    wait_until("a merged submission", LIMIT, || {
        workspace.json(&["submissions"])["submissions"][0]["status"] == "merged"
    });
}

/// Linus waits for permission, and edsger for an answer.
fn linus_and_edsger_ask(workspace: &Workspace) {
    workspace.script(
        "linus",
        [
            bash("git push origin team/main").usage(9_000, 200, 0, 8_000),
            say("Not yet, then."),
        ],
    );
    spawn(
        workspace,
        "linus",
        "release",
        &["--prompt", "Push what is merged."],
    );
    workspace.pending(RequestKind::Permission);
    let question = json!({
        "question": "Does `LEFT JOIN` keep the order of the left table?",
        "choices": ["Yes, always", "Only with ORDER BY"],
    });
    workspace.script(
        "edsger",
        [
            call("ask_user", question).usage(12_000, 500, 0, 11_000),
            say("I review with that in mind."),
        ],
    );
    spawn(
        workspace,
        "edsger",
        "reviewer",
        &["--prompt", "Review the plan of grace."],
    );
    workspace.pending(RequestKind::Question);
}

/// A plan, a permission and a question wait, work is merged, and ada is at work.
fn team_at_work() -> Workspace {
    let workspace = repository();
    board(&workspace);
    let named = workspace.team().update_roster(|roster| {
        roster.team_name = protocol::TeamName("tiny-sql".to_owned());
        Ok::<_, teamdir::RosterError>(())
    });
    named.unwrap();
    barbara_submits(&workspace);
    workspace.script(
        "grace",
        [
            call("plan_approval", json!({"plan": PLAN})).usage(16_000, 2_100, 0, 15_000),
            say("I wait for a decision."),
            say("Then I begin."),
        ],
    );
    spawn(
        &workspace,
        "grace",
        "parser",
        &["--require-plan", "--prompt", "Plan joins."],
    );
    workspace.pending(RequestKind::Plan);
    workspace.script(
        "ada",
        [
            call(
                "send_message",
                json!({"to": "grace", "content": "Pages are 4 KiB; a row never crosses one."}),
            )
            .usage(21_000, 1_400, 0, 20_000),
            bash("sh scripts/soak --pages 4096").usage(1_400, 300, 21_000, 1_400),
            say("The pages hold.").usage(600, 80, 22_000, 600),
        ],
    );
    spawn(&workspace, "ada", "storage", &[]);
    linus_and_edsger_ask(&workspace);
    wait_until("ada runs her command", LIMIT, || {
        let doing = workspace.live("ada").and_then(|live| live.activity);
        doing.is_some_and(|activity| activity.name == "bash")
    });
    workspace
}

/// Checks what the script says it has done.
fn check(workspace: &Workspace, line: &str) {
    let told = |name: &str, text: &str| {
        wait_until(&format!("{name} is told {text:?}"), LIMIT, || {
            let requests = workspace.server.requests(name);
            requests
                .iter()
                .any(|request| request.body().to_string().contains(text))
        });
    };
    match line {
        "answered the question" => told("edsger", "Only with ORDER BY"),
        "rejected the call" => told("linus", "Not before the release."),
        "landed" => {
            let landed = workspace.wait_for_file("tests/strings.rs");
            assert!(landed.contains("a_string_may_hold_a_quote"), "{landed}");
        }
        "started carol" => {
            workspace.wait_alive("carol", Phase::Idle);
            assert_eq!(workspace.member("carol").spec.role, "designer");
        }
        "wrote to everybody" => told("edsger", "Lunch is at noon."),
        "set the budget" => {
            let budget = workspace.team().budget().unwrap();
            assert_eq!(budget.team.limits.max_tokens, Some(2_000_000));
        }
        "restarted edsger" => {
            wait_until("a second process", LIMIT, || {
                workspace.incarnation("edsger") == 2
            });
        }
        other => panic!("the script says {other:?}"),
    }
}

#[test]
fn a_person_answers_lands_starts_writes_and_raises_a_budget() {
    let workspace = team_at_work();
    // Everybody answers the broadcast.
    for name in ["ada", "barbara", "edsger", "linus", "grace", "carol"] {
        workspace.script(name, [say("Thank you."), say("Thank you.")]);
    }
    let served = serve(&workspace, &[]);
    let link = workspace.json(&["web", "--link"]);
    let driven = drive("work.mjs", link["url"].as_str().unwrap(), |line| {
        check(&workspace, line)
    });
    if driven.is_none() {
        eprintln!("{LEFT_OUT}");
    }
    fs::write(workspace.path().join(Path::new("soaked")), "").unwrap();
    drop(served);
    workspace.end();
}
