//! Rules and calls in few words.

use protocol::Effect;
use std::path::{Path, PathBuf};

use permissions::{Call, Conditions, Decision, Origin, Permissions, Rule, RuleList, Verdict};
use serde_json::{Value, json};

pub(crate) const WORKSPACE: &str = "/work/space";

/// Rules as they stand in a file: a list and its rules.
pub(crate) fn list(origin: Origin, deny: &[&str], ask: &[&str], allow: &[&str]) -> RuleList {
    RuleList {
        origin,
        deny: rules(deny),
        ask: rules(ask),
        allow: rules(allow),
    }
}

fn rules(texts: &[&str]) -> Vec<Rule> {
    let rules = texts.iter().map(|text| Rule::parse(text));
    rules.collect::<Result<_, _>>().unwrap()
}

pub(crate) fn confined() -> Conditions {
    Conditions {
        confined: true,
        ..unconfined()
    }
}

pub(crate) fn unconfined() -> Conditions {
    Conditions {
        confined: false,
        yes: false,
        readable: Vec::new(),
        home: Some(PathBuf::from("/home/user")),
    }
}

pub(crate) fn permissions(
    conditions: Conditions,
    deny: &[&str],
    ask: &[&str],
    allow: &[&str],
) -> Permissions {
    Permissions::new(vec![list(Origin::Flag, deny, ask, allow)], conditions)
}

pub(crate) fn decide(permissions: &Permissions, tool: &str, arguments: &Value) -> Decision {
    permissions.decide(&call(tool, arguments))
}

pub(crate) fn call<'a>(tool: &'a str, arguments: &'a Value) -> Call<'a> {
    let effect = match tool {
        "bash" | "background_run" => Effect::Execute,
        "edit_file" | "write_file" => Effect::Mutate,
        "read_file" | "grep" | "glob" | "list_dir" => Effect::Read,
        _ => Effect::State,
    };
    Call {
        tool,
        arguments,
        effect,
        workspace: Path::new(WORKSPACE),
    }
}

pub(crate) fn command(permissions: &Permissions, command: &str) -> Verdict {
    decide(permissions, "bash", &json!({ "command": command })).verdict
}
