//! The rules of the Messages API.

use std::collections::HashSet;

use serde_json::Value;

use super::shape::{Field, Kind, open_shape, optional, required, shape};
use super::{
    Object, Pairs, Verdict, base64_image, domains, ensure, kind, list, list_or_none, name, object,
    text, tool,
};

const BODY: &[Field] = &[
    required("model", Kind::Said),
    required("max_tokens", Kind::Count(1)),
    required("messages", Kind::List),
    optional("stream", Kind::Bool),
    optional("system", Kind::List),
    optional("tools", Kind::List),
    optional("tool_choice", Kind::Object),
    optional("temperature", Kind::Between(0.0, 1.0)),
    optional("top_p", Kind::Between(0.0, 1.0)),
    optional("thinking", Kind::Object),
    optional("output_config", Kind::Object),
    optional("metadata", Kind::Object),
    optional("stop_sequences", Kind::List),
];
const TEXT: &[Field] = &[
    required("type", Kind::Text),
    required("text", Kind::Said),
    optional("cache_control", Kind::Object),
    optional("citations", Kind::List),
];
const TOOL: &[Field] = &[
    required("name", Kind::Said),
    required("input_schema", Kind::Object),
    optional("description", Kind::Text),
    optional("cache_control", Kind::Object),
    optional("strict", Kind::Bool),
];
const WEB_SEARCH: &[Field] = &[
    required("type", Kind::Text),
    required("name", Kind::OneOf(&["web_search"])),
    optional("max_uses", Kind::Count(1)),
    optional("allowed_domains", Kind::List),
    optional("blocked_domains", Kind::List),
    optional("user_location", Kind::Object),
    optional("cache_control", Kind::Object),
];
const WEB_FETCH: &[Field] = &[
    required("type", Kind::Text),
    required("name", Kind::OneOf(&["web_fetch"])),
    optional("max_uses", Kind::Count(1)),
    optional("max_content_tokens", Kind::Count(1)),
    optional("allowed_domains", Kind::List),
    optional("blocked_domains", Kind::List),
    optional("citations", Kind::Object),
    optional("cache_control", Kind::Object),
];
const EFFORTS: &[&str] = &["low", "medium", "high", "xhigh", "max"];

pub(super) fn check(body: &Object) -> Verdict {
    shape(body, BODY, "the body")?;
    for block in list_or_none(body, "system") {
        shape(object(block, "system")?, TEXT, "system")?;
    }
    tools(body)?;
    settings(body)?;
    messages(list(body, "messages", "the body")?)?;
    breakpoints(body)
}

fn tools(body: &Object) -> Verdict {
    let mut names = HashSet::new();
    for value in list_or_none(body, "tools") {
        let value = object(value, "tools")?;
        match kind(value) {
            "" => {
                shape(value, TOOL, "tools")?;
                tool(value, "input_schema", &mut names)?;
            }
            "web_search_20250305" => {
                shape(value, WEB_SEARCH, "tools")?;
                hosts(value)?;
            }
            "web_fetch_20250910" => {
                shape(value, WEB_FETCH, "tools")?;
                hosts(value)?;
            }
            other => return Err(format!("tools: there is no tool of type {other:?}")),
        }
    }
    let Some(choice) = body.get("tool_choice") else {
        return Ok(());
    };
    ensure(
        body.contains_key("tools"),
        "tool_choice",
        "is only allowed with tools",
    )?;
    let choice = object(choice, "tool_choice")?;
    let mut fields = vec![required(
        "type",
        Kind::OneOf(&["auto", "any", "tool", "none"]),
    )];
    if kind(choice) == "tool" {
        fields.push(required("name", Kind::Said));
    }
    if kind(choice) != "none" {
        fields.push(optional("disable_parallel_tool_use", Kind::Bool));
    }
    shape(choice, &fields, "tool_choice")
}

/// A tool for the web has one list of hosts at most.
fn hosts(tool: &Object) -> Verdict {
    let lists = ["allowed_domains", "blocked_domains"];
    let lists: Vec<&str> = lists
        .into_iter()
        .filter(|it| tool.contains_key(*it))
        .collect();
    let rule = "only one of allowed_domains and blocked_domains can be used";
    ensure(lists.len() <= 1, "tools", rule)?;
    lists.iter().try_for_each(|list| domains(tool, list))
}

fn settings(body: &Object) -> Verdict {
    if let Some(config) = body.get("output_config") {
        let fields = [
            optional("effort", Kind::OneOf(EFFORTS)),
            optional("format", Kind::Object),
        ];
        shape(object(config, "output_config")?, &fields, "output_config")?;
    }
    let Some(thinking) = body.get("thinking") else {
        return Ok(());
    };
    let thinking = object(thinking, "thinking")?;
    let mut fields = vec![required(
        "type",
        Kind::OneOf(&["enabled", "disabled", "adaptive"]),
    )];
    if kind(thinking) == "enabled" {
        fields.push(required("budget_tokens", Kind::Count(1_024)));
    }
    if kind(thinking) != "disabled" {
        fields.push(optional(
            "display",
            Kind::OneOfOrNull(&["summarized", "omitted"]),
        ));
    }
    shape(thinking, &fields, "thinking")?;
    let most = body.get("max_tokens").and_then(Value::as_u64);
    let budget = thinking.get("budget_tokens").and_then(Value::as_u64);
    let rule = "budget_tokens has to be less than max_tokens";
    ensure(budget.is_none() || budget < most, "thinking", rule)
}

/// Checks that there are at most four cache breakpoints, each of a known form.
fn breakpoints(body: &Object) -> Verdict {
    let mut marks = Vec::new();
    let body = Value::Object(body.clone());
    collect_marks(&body, &mut marks);
    for mark in &marks {
        let fields = [
            required("type", Kind::OneOf(&["ephemeral"])),
            optional("ttl", Kind::OneOf(&["5m", "1h"])),
        ];
        shape(object(mark, "cache_control")?, &fields, "cache_control")?;
    }
    let rule = "has more than 4 cache breakpoints";
    ensure(marks.len() <= 4, "the body", rule)
}

fn collect_marks<'a>(value: &'a Value, marks: &mut Vec<&'a Value>) {
    match value {
        Value::Object(fields) => {
            marks.extend(fields.get("cache_control"));
            fields
                .values()
                .for_each(|value| collect_marks(value, marks));
        }
        Value::Array(values) => values.iter().for_each(|value| collect_marks(value, marks)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn messages(messages: &[Value]) -> Verdict {
    ensure(!messages.is_empty(), "messages", "must not be empty")?;
    let mut pairs = Pairs::default();
    let mut web_uses = HashSet::new();
    for (place, message) in messages.iter().enumerate() {
        let at = format!("messages.{place}");
        let message = object(message, &at)?;
        let fields = [
            required("role", Kind::OneOf(&["user", "assistant"])),
            required("content", Kind::List),
        ];
        shape(message, &fields, &at)?;
        let role = text(message, "role", &at)?;
        let due = ["user", "assistant"][place % 2];
        ensure(role == due, &at, &format!("it is the turn of the {due}"))?;
        let blocks = list(message, "content", &at)?;
        ensure(!blocks.is_empty(), &at, "content must not be empty")?;
        let mut is_after_results = false;
        for (number, block) in blocks.iter().enumerate() {
            let at = format!("{at}.content.{number}");
            let block = object(block, &at)?;
            match (role, kind(block)) {
                ("user", "tool_result") => {
                    ensure(!is_after_results, &at, "results come first")?;
                    pairs.result(text(block, "tool_use_id", &at)?)?;
                    result(block, &at)?;
                }
                ("assistant", "tool_use") => {
                    pairs.call(text(block, "id", &at)?)?;
                    tool_use(block, &at)?;
                }
                ("user", kind) => {
                    is_after_results = true;
                    of_user(kind, block, &at)?;
                }
                (_, kind) => of_model(kind, block, &mut web_uses, &at)?,
            }
        }
        if role == "user" {
            pairs.all_answered()?;
        }
    }
    Ok(())
}

fn tool_use(block: &Object, at: &str) -> Verdict {
    let fields = [
        required("type", Kind::Text),
        required("id", Kind::Said),
        required("name", Kind::Said),
        required("input", Kind::Object),
        optional("cache_control", Kind::Object),
    ];
    shape(block, &fields, at)?;
    name(text(block, "id", at)?, at)?;
    name(text(block, "name", at)?, at)
}

fn result(block: &Object, at: &str) -> Verdict {
    let fields = [
        required("type", Kind::Text),
        required("tool_use_id", Kind::Said),
        optional("content", Kind::Any),
        optional("is_error", Kind::Bool),
        optional("cache_control", Kind::Object),
    ];
    shape(block, &fields, at)?;
    match block.get("content") {
        Some(Value::String(_)) | None => Ok(()),
        Some(Value::Array(blocks)) => {
            ensure(!blocks.is_empty(), at, "content must not be empty")?;
            for block in blocks {
                let block = object(block, at)?;
                of_user(kind(block), block, at)?;
            }
            Ok(())
        }
        Some(_) => Err(format!("{at}: content has to be a text or a list")),
    }
}

fn of_user(kind: &str, block: &Object, at: &str) -> Verdict {
    match kind {
        "text" => shape(block, TEXT, at),
        "image" => {
            let fields = [
                required("type", Kind::Text),
                required("source", Kind::Object),
                optional("cache_control", Kind::Object),
            ];
            shape(block, &fields, at)?;
            let source = object(&block["source"], at)?;
            let fields = [
                required("type", Kind::OneOf(&["base64"])),
                required("media_type", Kind::Said),
                required("data", Kind::Said),
            ];
            shape(source, &fields, at)?;
            base64_image(
                text(source, "media_type", at)?,
                text(source, "data", at)?,
                at,
            )
        }
        kind => Err(format!("{at}: a user says no {kind:?}")),
    }
}

fn of_model<'a>(
    kind: &str,
    block: &'a Object,
    web_uses: &mut HashSet<&'a str>,
    at: &str,
) -> Verdict {
    let type_field = required("type", Kind::Text);
    match kind {
        "text" => shape(block, TEXT, at),
        "thinking" => {
            let fields = [
                type_field,
                required("thinking", Kind::Text),
                required("signature", Kind::Said),
            ];
            shape(block, &fields, at)
        }
        "redacted_thinking" => shape(block, &[type_field, required("data", Kind::Said)], at),
        "server_tool_use" => {
            let fields = [
                required("id", Kind::Said),
                required("name", Kind::OneOf(&["web_search", "web_fetch"])),
                required("input", Kind::Object),
            ];
            open_shape(block, &fields, at)?;
            web_uses.insert(text(block, "id", at)?);
            Ok(())
        }
        "web_search_tool_result" | "web_fetch_tool_result" => {
            let fields = [
                required("tool_use_id", Kind::Said),
                required("content", Kind::Any),
            ];
            open_shape(block, &fields, at)?;
            let has_use = web_uses.contains(text(block, "tool_use_id", at)?);
            ensure(has_use, at, "a result of the provider has no use before it")
        }
        "" => Err(format!("{at}: a block needs a type")),
        "reasoning" | "message" | "function_call" | "web_search_call" => {
            Err(format!("{at}: an item of another wire format"))
        }
        // Unknown blocks, which the provider itself has sent.
        _ => Ok(()),
    }
}
