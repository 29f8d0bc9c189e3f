//! Text of others that wants to be more than text: every field that a model, a member, a file or another host can
//! fill has markup, scripts and addresses in it, and every view of the page is visited.

use super::browser::{LEFT_OUT, drive};
use super::client::{post_text, send};
use super::{parts, serve};
use crate::harness::{Behaviour, Session, Workspace, bash, call, say};
use protocol::{AgentName, Member};
use serde_json::{Value, json};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use teamdir::RosterError;
use test_support::{git, init_repository, wait_until};

/// A text that runs something or asks another host if it is taken for more than text. It begins with the name of
/// its field, by which the page finds it.
fn evil(field: &str) -> String {
    format!(
        "@{field}@ <img src=x onerror=alert('{field}')><svg/onload=alert('{field}')>\
         <script>alert('{field}')</script>\"'><iframe src=javascript:alert('{field}')></iframe>\
         <a href=\"javascript:alert('{field}')\">a</a> [b](javascript:alert('{field}')) \
         [c](data:text/html,<script>alert('{field}')</script>) ![d](http://evil.example/{field}.png) \
         [e](http://x\"onclick=alert(1)) <link rel=stylesheet href=http://evil.example/{field}.css>\
         <style>@import url(http://evil.example/{field})</style><base href=http://evil.example/>\
         <meta http-equiv=refresh content='0;url=http://evil.example/'>\
         <form action=http://evil.example/><button autofocus onfocus=alert('{field}')>f</button></form>\
         <http://evil.example/auto> http://evil.example/raw ${{alert('{field}')}} </script></textarea></title>\
         &lt;img src=x onerror=alert('{field}')&gt; __proto__ `</code><img src=x onerror=alert(1)>`"
    )
}

/// The name of a file or a folder may have no slash.
fn evil_name(field: &str) -> String {
    format!("@{field}@<img src=x onerror=alert(1)>")
}

fn write_json(path: &Path, value: &Value) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, value.to_string()).unwrap();
}

fn append(path: &Path, lines: &[Value]) {
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .unwrap();
    for line in lines {
        writeln!(file, "{line}").unwrap();
    }
}

/// A team in a folder with such a name, whose work is in a repository. Dora has submitted a file with such a name.
fn repository(folder: &Path) -> Workspace {
    let path = folder.join(evil_name("folder"));
    fs::create_dir(&path).unwrap();
    init_repository(&path);
    fs::write(path.join("a.txt"), "a\n").unwrap();
    fs::write(path.join(".gitignore"), ".team\n").unwrap();
    git(&path, ["add", "--all"]);
    git(&path, ["commit", "--quiet", "--message", "A file"]);
    let workspace = Workspace::at(&path);
    let file = json!({"path": evil_name("file"), "content": format!("{}\n", evil("diff"))});
    fs::write(path.join(".git/evil"), evil("commit")).unwrap();
    let message = evil("commit").replace('\'', "'\\''");
    workspace.script(
        "dora",
        [
            call("write_file", file),
            bash(&format!(
                "git add --all && git commit --quiet --message '{message}'"
            )),
            call("submit", json!({})),
            say(&evil("live")),
        ],
    );
    let model = format!("anthropic:{}", evil_name("model"));
    let args = ["--tree", "own", "--model", &model, "--prompt", "Do it."];
    workspace.spawn_as("dora", &evil("spawned"), &args);
    workspace.wait_reports("dora", 1);
    wait_until("a merged submission", crate::harness::LIMIT, || {
        workspace.json(&["submissions"])["submissions"][0]["status"] == "merged"
    });
    workspace
}

fn requests(folder: &Path) {
    let one = |id: &str, kind: &str, more: Value| {
        let mut request = json!({
            "request_id": id, "kind": kind, "from": "alice", "to": "lead", "status": "pending",
            "created_at": 1_763_251_210.5, "ignored": [], "call_hash": "0", "lead_decides": false,
        });
        for (name, value) in more.as_object().unwrap() {
            request[name] = value.clone();
        }
        write_json(&folder.join(format!("requests/{id}.json")), &request);
    };
    one(
        "20000000",
        "plan",
        json!({"plan": format!("# {}\n- {}\n> {}\n```diff\n+{}\n```\n```{}\n{}\n```\n",
            evil("heading"), evil("item"), evil("quote"), evil("patch"), "html", evil("code")), "plan_hash": "0"}),
    );
    one(
        "30000000",
        "permission",
        json!({"tool": evil("tool"), "arguments": {"x": evil("argument"), "__proto__": evil("proto")},
            "cwd": evil("cwd"), "why": evil("why"), "grants": evil("grants")}),
    );
    one(
        "30000001",
        "permission",
        json!({"tool": "edit_file", "arguments": {"path": evil("path"), "old_text": evil("old"), "new_text": evil("new")},
            "cwd": "/", "why": "x"}),
    );
    one(
        "30000002",
        "permission",
        json!({"tool": "bash", "arguments": {"command": evil("command")}, "cwd": "/", "why": "x"}),
    );
    one(
        "40000000",
        "question",
        json!({"question": evil("question"), "choices": [evil("choice"), "no"], "free_text": true}),
    );
    one(
        "10000000",
        "shutdown",
        json!({"from": "user", "to": "alice", "status": "rejected", "reason": evil("reason"), "force": false,
            "resolved_by": "alice", "resolved_at": 1_763_251_222.5, "resolution": evil("refusal")}),
    );
}

fn events(folder: &Path) {
    let mut lines = vec![
        json!({"event": "send", "id": "s-1", "from": evil("sender"), "to": "alice", "type": evil("type"),
            "preview": evil("preview"), "person": evil("person")}),
        json!({"event": "leave", "member": "alice", "reason": evil("leave")}),
        json!({"event": "dead_letter", "id": "x", "inbox": "alice", "reason": evil("dead_letter")}),
        json!({"event": "task", "task": 1, "action": evil("action"), "by": "user"}),
        json!({"event": "budget", "action": "changed", "limits": evil("limits")}),
        json!({"event": "model_switched", "member": "alice", "incarnation": 1, "from": "a", "to": evil("switched"),
            "reason": evil("overload")}),
        json!({"event": "note", "id": "n", "from": evil("author"), "preview": evil("note")}),
        json!({"event": "hook_failed", "member": "alice", "incarnation": 1, "hook": evil("hook"), "command": "x",
            "reason": evil("hook_reason")}),
        json!({"event": "resolve", "request_id": "10000000", "status": "rejected"}),
    ];
    for line in &mut lines {
        line["time"] = json!(teamdir::now());
    }
    append(&folder.join("events.jsonl"), &lines);
}

fn board_and_work(folder: &Path) {
    write_json(
        &folder.join("tasks/task_1.json"),
        &json!({"id": 1, "subject": evil("subject"), "description": evil("description"), "status": "pending",
            "blockedBy": [], "owner": "", "role": evil("task_role"), "result": evil("result"),
            "history": [{"at": 1, "by": "user", "action": evil("done"), "note": evil("history")}]}),
    );
    write_json(
        &folder.join("tasks/task_2.json"),
        &json!({"id": 2, "subject": evil("second"), "description": "", "status": "pending", "blockedBy": [1], "owner": ""}),
    );
    write_json(
        &folder.join("submissions/9.json"),
        &json!({"id": 9, "member": "alice", "commit": "e83c5163316f89bfbde7d9ab23ca2e25604af290", "subject": evil("submitted"),
            "status": "conflict", "created_at": 1, "reason": evil("because"),
            "conflict": {"files": [{"path": evil("conflict"), "hunks": evil("hunks"), "authors": [evil("by")]}], "messages": []},
            "check": {"command": evil("check"), "end": evil("end"), "passed": false, "seconds": 1, "output": evil("check_output")}}),
    );
}

/// A conversation with each kind of entry.
fn journal(folder: &Path) {
    let mail = protocol::TextBlock::new(evil("mail"))
        .with("from", evil("mail_from"))
        .with("type", evil("mailtype"));
    let tool = |id: &str, name: &str, input: Value| {
        json!({"kind": "engine_tool", "id": id, "name": name, "input": input,
            "result": {"text": evil(&format!("output_{id}")), "is_error": id == "3"}})
    };
    append(
        &folder.join("members/alice/transcript.jsonl"),
        &[
            json!({"kind": "open", "member": "alice", "incarnation": 1, "time": 1}),
            json!({"kind": "user", "messages": [{"source": {"prompt": "a-0"}, "text": evil("prompt")},
                {"source": {"mail": 1}, "text": mail.render("mail")}, {"text": evil("told")}]}),
            json!({"kind": "assistant", "stop": "tool_use", "blocks": [{"type": "text", "text": format!("{0}\n\n- {0}\n\n| {0} |", evil("said"))},
                {"type": "tool_use", "id": "t1", "name": evil("call"), "input": {"x": evil("input")}}]}),
            json!({"kind": "result", "millis": 1, "result": {"tool_use_id": "t1", "content": evil("result_text"), "is_error": false}}),
            tool("1", "bash", json!({"command": evil("engine")})),
            tool(
                "2",
                "edit_file",
                json!({"path": "x", "old_text": evil("engine_old"), "new_text": evil("engine_new")}),
            ),
            tool(
                "3",
                "write_file",
                json!({"path": evil("engine_path"), "content": evil("engine_content")}),
            ),
            json!({"kind": "ended", "reason": evil("ended")}),
        ],
    );
}

/// What members say of themselves. Alice has failed, and bob is at work.
fn live_states(workspace: &Workspace, folder: &Path) -> [Session; 2] {
    let added = workspace.team().update_roster(|roster| {
        roster.team_name = protocol::TeamName(evil("team"));
        for name in ["alice", "bob"] {
            let name = AgentName::new(name).unwrap();
            roster.members.push(Member::new(name, &evil("role")));
        }
        Ok::<_, RosterError>(())
    });
    added.unwrap();
    let players = ["alice", "bob"].map(|name| workspace.play_member(name, Behaviour::Silent));
    for (name, more) in [
        (
            "alice",
            json!({"phase": "failed", "reason": evil("failure"), "task": 1}),
        ),
        (
            "bob",
            json!({"phase": "working", "activity": {"name": evil("doing"), "argument": evil("doing_what"), "since": 1}}),
        ),
    ] {
        let path: PathBuf = folder.join(format!("members/{name}/state.json"));
        let mut state: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        for (key, value) in more.as_object().unwrap() {
            state[key] = value.clone();
        }
        write_json(&path, &state);
        let todo =
            json!({"items": [{"text": evil("todo"), "status": "in_progress"}], "updated_at": 1});
        write_json(&folder.join(format!("members/{name}/todo.json")), &todo);
    }
    players
}

/// A browser whose name and whose person are of this kind too.
fn evil_browser(workspace: &Workspace) {
    let link = workspace.json(&["web", "--link"]);
    let (address, token) = parts(link["url"].as_str().unwrap());
    let agent = format!("User-Agent: {}\r\n", evil("agent").replace('\n', " "));
    let body = json!({"token": token}).to_string();
    let reply = send(address, &post_text(address, "/api/login", &agent, &body));
    assert_eq!(reply.status, 200, "{reply:?}");
}

#[test]
fn no_field_becomes_markup_runs_or_asks_another_host() {
    let outer = tempfile::tempdir().unwrap();
    let workspace = repository(outer.path());
    let folder = workspace.team().layout().root().to_path_buf();
    requests(&folder);
    board_and_work(&folder);
    let players = live_states(&workspace, &folder);
    journal(&folder);
    events(&folder);
    let served = serve(&workspace, &[]);
    evil_browser(&workspace);
    let named = json!({"person": evil("somebody")});
    let renamed = served.client.post("/api/sessions/name", &named);
    assert_eq!(renamed.status, 200, "{renamed:?}");
    let link = workspace.json(&["web", "--link"]);
    let driven = drive("hostile.mjs", link["url"].as_str().unwrap(), |line| {
        panic!("the script says {line:?}")
    });
    if driven.is_none() {
        eprintln!("{LEFT_OUT}");
    }
    drop((served, players));
    workspace.end();
}
