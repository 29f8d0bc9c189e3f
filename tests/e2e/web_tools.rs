//! Rules about the tools of a provider for the web: what servers are offered, wherever the rules come from.

use crate::harness::{LIMIT, Run, Workspace, call, say, spawn_teammate};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use test_support::llm_server::{CapturedRequest, ServerReply, Wire};
use test_support::wait_until;

/// The tools of a request that the provider runs, each with the hosts that it is limited to or kept from.
fn offered(request: &CapturedRequest) -> Value {
    let is_own = |tool: &&Value| tool["type"].is_string() && tool["type"] != "function";
    let tools = request.tools().iter().filter(is_own).map(|tool| {
        let name = match request.wire() {
            Wire::Anthropic => tool["name"].clone(),
            Wire::OpenAi | Wire::Responses | Wire::Gemini => tool["type"].clone(),
        };
        let limit = tool.get("filters").unwrap_or(tool);
        let limit = |key: &str| limit.get(key).cloned().unwrap_or_default();
        json!([name, limit("allowed_domains"), limit("blocked_domains")])
    });
    tools.collect()
}

/// What both wires are offered for a member that is started with these flags.
fn offered_to(workspace: &Workspace, name: &str, role: &str, flags: &[&str]) -> [Value; 2] {
    [
        ("test", name.to_owned()),
        ("openai-responses:x", format!("{name}-r")),
    ]
    .map(|(model, name)| {
        workspace.script(&name, [say("Done.")]);
        let model = if model == "test" {
            &[][..]
        } else {
            &["--model", model][..]
        };
        let args = [&["--web", "--prompt", "Work."], model, flags].concat();
        let mut spawn = workspace.spawn_command(&name, role, &args);
        spawn.env("OPENAI_BASE_URL", workspace.server.openai_base_url(&name));
        let run = Run::of(&mut spawn);
        assert_eq!(run.code, 0, "{run:?}");
        workspace.wait_reports(&name, 1);
        offered(&workspace.server.last_request(&name))
    })
}

#[test]
fn rules_from_every_place_reach_both_wires() {
    let config = "[permissions]\ndeny = ['WebFetch(domain:evil.org)']\n\
                  [roles.reader.permissions]\nallow = ['WebSearch', 'WebFetch(domain:x.a.org)']\n\
                  [roles.coder.permissions]\ndeny = ['WebSearch']\n";
    let workspace = Workspace::with_config(config);
    let (any, evil) = (Value::Null, json!(["evil.org"]));
    assert_eq!(
        offered_to(&workspace, "amy", "tester", &[]),
        [
            json!([["web_search", any, evil], ["web_fetch", any, evil]]),
            json!([])
        ],
        "the Responses API keeps no host out"
    );
    let log = workspace.log("amy-r");
    assert_eq!(
        log.matches("keeps no host out reliably").count(),
        1,
        "{log}"
    );

    let flags = [
        "--allow",
        "WebFetch(domain:b.org)",
        "--ask",
        "WebFetch(domain:c.org)",
    ];
    let only = json!(["b.org"]);
    assert_eq!(
        offered_to(&workspace, "bob", "tester", &flags),
        [
            json!([["web_search", only, any], ["web_fetch", only, any]]),
            json!([["web_search", only, any]])
        ]
    );
    let flags = ["--allow", "WebFetch(domain:a.org)"];
    assert_eq!(
        offered_to(&workspace, "cat", "reader", &flags),
        [
            json!([
                ["web_search", ["a.org"], any],
                ["web_fetch", ["x.a.org"], any]
            ]),
            json!([["web_search", ["x.a.org"], any]])
        ],
        "a role only narrows"
    );
    assert_eq!(
        offered_to(&workspace, "dan", "coder", &["--allow", "WebSearch"]),
        [json!([["web_fetch", any, evil]]), json!([])],
        "deny comes first"
    );
    workspace.end();
}

#[test]
fn rules_of_other_files_reach_both_wires() {
    let config = "[permissions]\ndeny = ['WebFetch(domain:evil.org)']\n";
    let workspace = Workspace::with_config(config);
    let (any, evil) = (Value::Null, json!(["evil.org"]));
    workspace.write(
        ".claude/settings.json",
        r#"{"permissions": {"deny": ["WebFetch"]}}"#,
    );
    assert_eq!(
        offered_to(&workspace, "eve", "tester", &[]),
        [json!([["web_search", any, evil]]), json!([])]
    );
    let config = ".config/team-lead/config.toml";
    workspace.write_home(config, "[permissions]\nask = ['WebSearch']\n");
    assert_eq!(
        offered_to(&workspace, "fay", "tester", &[]),
        [json!([]), json!([])],
        "nobody can be asked"
    );
    let log = workspace.log("fay");
    let said = "web_search is left out: the rule WebSearch of";
    assert_eq!(log.matches(said).count(), 1, "{log}");
    workspace.end();
}

/// What requests were offered, for a server that decides by itself.
type Seen = Arc<Mutex<Vec<(String, Value)>>>;

fn see(seen: &Seen, who: &str, request: &CapturedRequest) {
    let entry = (who.to_owned(), offered(request));
    seen.lock().unwrap().push(entry);
}

fn offers_of(seen: &Seen, who: &str) -> Vec<Value> {
    let seen = seen.lock().unwrap();
    let own = seen.iter().filter(|(name, _)| name == who);
    own.map(|(_, offer)| offer.clone()).collect()
}

#[test]
fn a_rule_of_the_lead_holds_for_those_it_starts_and_for_their_helpers() {
    let workspace = Workspace::new();
    let seen = Seen::default();
    let noted = Arc::clone(&seen);
    workspace.server.decide("lead", move |request| {
        let has_tool = |name: &str| request.tools().iter().any(|tool| tool["name"] == name);
        let who = match (has_tool("spawn_teammate"), has_tool("send_message")) {
            (true, _) => "lead",
            (false, true) => "bob",
            (false, false) => "helper",
        };
        let is_first = offers_of(&noted, who).is_empty();
        see(&noted, who, &request);
        match who {
            "lead" if is_first => spawn_teammate("bob", "Work.", "anthropic:test"),
            "bob" if is_first => call("explore", json!({"question": "Where?"})),
            _ => say("Done."),
        }
    });
    let args = [
        "Go.",
        "--keep",
        "--web",
        "--deny",
        "WebFetch",
        "--allow",
        "WebFetch(domain:a.org)",
    ];
    let run = workspace.run_lead(&args, "");
    assert_eq!(run.code, 0, "{run:?}");
    let said = "web_fetch is left out: the rule WebFetch of the command line";
    assert_eq!(run.err.matches(said).count(), 1, "{run:?}");
    wait_until("bob's helper has answered", LIMIT, || {
        offers_of(&seen, "bob").len() >= 2
    });
    for who in ["lead", "bob", "helper"] {
        let offers = offers_of(&seen, who);
        assert!(!offers.is_empty(), "{who}");
        for offer in offers {
            assert_eq!(offer, json!([["web_search", ["a.org"], null]]), "{who}");
        }
    }
    workspace.end();
}

/// A list of models with both wires: whichever answers has the same limits.
#[test]
fn a_fallback_to_the_other_wire_keeps_the_limits() {
    let config =
        "[permissions]\nallow = ['WebFetch(domain:a.org)']\ndeny = ['WebFetch(domain:b.org)']\n";
    let workspace = Workspace::with_config(config);
    let seen = Seen::default();
    let noted = Arc::clone(&seen);
    workspace.server.decide("alice", move |request| {
        see(&noted, request.model(), &request);
        match request.model() {
            "a" => ServerReply::error(529, "overloaded_error", "no").header("retry-after", "99999"),
            _ => say("From b."),
        }
    });
    let models = "anthropic:a,openai-responses:b";
    let args = ["--web", "--prompt", "Work.", "--model", models];
    let mut spawn = workspace.spawn_command("alice", "coder", &args);
    spawn.env("OPENAI_BASE_URL", workspace.server.openai_base_url("alice"));
    let run = Run::of(&mut spawn);
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(workspace.wait_reports("alice", 1), ["From b."]);
    let only = json!(["a.org"]);
    let both = json!([["web_search", only, null], ["web_fetch", only, null]]);
    assert_eq!(offers_of(&seen, "a"), [both]);
    assert_eq!(offers_of(&seen, "b"), [json!([["web_search", only, null]])]);
    workspace.end();
}

#[test]
fn check_and_list_tell_what_is_offered() {
    let config = "web = true\n[permissions]\ndeny = ['WebFetch(domain:x.a.org)']\nask = ['WebSearch']\n\
                  allow = ['WebFetch(domain:a.org)', 'WebFetch(domain:b.org)']\n";
    let workspace = Workspace::with_config(config);
    let check = |tool: &str, what: &str| {
        workspace.json(&["permissions", "check", "--json", "--tool", tool, what])
    };
    let search = check("web_search", "tea");
    assert_eq!(
        (&search["verdict"], &search["rule"]),
        (&json!("deny"), &json!("WebSearch"))
    );
    let reason = search["reason"].as_str().unwrap();
    assert!(reason.contains("nobody can be asked"), "{reason}");
    for (url, verdict) in [
        ("https://b.org/x", "allow"),
        ("https://c.org", "deny"),
        ("https://x.a.org", "deny"),
        // A provider cannot be told a.org without x.a.org.
        ("https://a.org", "deny"),
    ] {
        assert_eq!(check("web_fetch", url)["verdict"], verdict, "{url}");
    }
    let list = workspace.json(&["permissions", "list", "--json"]);
    assert_eq!(list["web"]["web_fetch"], "offered, only for b.org");
    let text = workspace.ok(&["permissions", "list"]);
    assert!(text.contains("web_fetch"), "{text}");

    workspace.write("team.toml", &config.replace("web = true", "web = false"));
    assert_eq!(
        workspace.json(&["permissions", "list", "--json"])["web"],
        Value::Null
    );
    let check = [
        "permissions",
        "check",
        "--tool",
        "web_fetch",
        "https://b.org",
    ];
    let run = workspace.run(&check);
    assert!(run.err.contains("the web is not turned on"), "{run:?}");
}
