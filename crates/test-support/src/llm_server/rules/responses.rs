//! The rules of the Responses API, used without the server's memory.

use std::collections::HashSet;

use serde_json::Value;

use super::shape::{Field, Kind, open_shape, optional, required, shape};
use super::{
    EFFORTS, Object, Pairs, Verdict, data_url, domains, ensure, kind, list, list_or_none, name,
    object, text, tool,
};

const BODY: &[Field] = &[
    required("model", Kind::Said),
    required("input", Kind::List),
    optional("instructions", Kind::Said),
    required("max_output_tokens", Kind::Count(16)),
    required("store", Kind::Bool),
    optional("stream", Kind::Bool),
    optional("include", Kind::List),
    optional("max_tool_calls", Kind::Count(1)),
    optional("temperature", Kind::Between(0.0, 2.0)),
    optional("top_p", Kind::Between(0.0, 1.0)),
    optional("reasoning", Kind::Object),
    optional("tools", Kind::List),
    optional("tool_choice", Kind::Any),
    optional("parallel_tool_calls", Kind::Bool),
];
/// What a request may ask to be included.
const INCLUDED: &[&str] = &[
    "file_search_call.results",
    "web_search_call.results",
    "web_search_call.action.sources",
    "message.input_image.image_url",
    "computer_call_output.output.image_url",
    "code_interpreter_call.outputs",
    "reasoning.encrypted_content",
    "message.output_text.logprobs",
];
const FUNCTION: &[Field] = &[
    required("type", Kind::Text),
    required("name", Kind::Said),
    optional("description", Kind::TextOrNull),
    required("parameters", Kind::Object),
    // The published schema requires it; a server that does not find it assumes true.
    required("strict", Kind::Bool),
];
const WEB_SEARCH: &[Field] = &[
    required("type", Kind::Text),
    optional("external_web_access", Kind::Bool),
    optional("filters", Kind::Object),
    optional(
        "search_context_size",
        Kind::OneOf(&["low", "medium", "high"]),
    ),
    optional("user_location", Kind::Object),
];
const WEB_FILTERS: &[Field] = &[required("allowed_domains", Kind::List)];
const STATUS: Kind = Kind::OneOf(&["in_progress", "completed", "incomplete"]);
const CALL: &[Field] = &[
    required("type", Kind::Text),
    required("call_id", Kind::Said),
    required("name", Kind::Said),
    required("arguments", Kind::Text),
    optional("id", Kind::Said),
    optional("status", STATUS),
];
const OUTPUT: &[Field] = &[
    required("type", Kind::Text),
    required("call_id", Kind::Said),
    required("output", Kind::Any),
];
const THOUGHT: &[Field] = &[
    required("id", Kind::Said),
    required("summary", Kind::List),
    optional("content", Kind::Any),
    optional("encrypted_content", Kind::TextOrNull),
    optional("status", STATUS),
];
const SEARCH_CALL: &[Field] = &[
    required("id", Kind::Said),
    required("action", Kind::Object),
    required(
        "status",
        Kind::OneOf(&["in_progress", "searching", "completed", "failed"]),
    ),
];
const SAID: &[Field] = &[
    required("id", Kind::Said),
    required("role", Kind::OneOf(&["assistant"])),
    required("content", Kind::List),
    required("status", STATUS),
    optional("phase", Kind::OneOfOrNull(&["commentary", "final_answer"])),
];

pub(super) fn check(body: &Object) -> Verdict {
    shape(body, BODY, "the body")?;
    let is_stored = body.get("store") != Some(&Value::Bool(false));
    ensure(!is_stored, "store", "nothing is to be kept by the server")?;
    for value in list_or_none(body, "include") {
        let is_known = value.as_str().is_some_and(|it| INCLUDED.contains(&it));
        ensure(is_known, "include", "an unknown value")?;
    }
    if let Some(reasoning) = body.get("reasoning") {
        let fields = [
            optional("effort", Kind::OneOf(EFFORTS)),
            optional("summary", Kind::OneOf(&["auto", "concise", "detailed"])),
        ];
        shape(object(reasoning, "reasoning")?, &fields, "reasoning")?;
    }
    tools(body)?;
    items(list(body, "input", "the body")?)
}

fn tools(body: &Object) -> Verdict {
    let mut names = HashSet::new();
    for value in list_or_none(body, "tools") {
        let value = object(value, "tools")?;
        match kind(value) {
            "function" => {
                shape(value, FUNCTION, "tools")?;
                tool(value, "parameters", &mut names)?;
            }
            "web_search" => {
                shape(value, WEB_SEARCH, "tools")?;
                if let Some(filters) = value.get("filters") {
                    let filters = object(filters, "filters")?;
                    shape(filters, WEB_FILTERS, "filters")?;
                    domains(filters, "allowed_domains")?;
                }
            }
            other => return Err(format!("tools: there is no tool of type {other:?}")),
        }
    }
    let fits = !body.contains_key("tool_choice") || body.contains_key("tools");
    ensure(fits, "tool_choice", "is only allowed with tools")?;
    match body.get("tool_choice") {
        None => Ok(()),
        Some(Value::Object(choice)) => {
            let fields = [
                required("type", Kind::OneOf(&["function"])),
                required("name", Kind::Said),
            ];
            shape(choice, &fields, "tool_choice")
        }
        Some(mode) => {
            let modes = ["none", "auto", "required"];
            let is_known = mode.as_str().is_some_and(|mode| modes.contains(&mode));
            ensure(is_known, "tool_choice", "an unknown mode")
        }
    }
}

fn items(items: &[Value]) -> Verdict {
    ensure(!items.is_empty(), "input", "must not be empty")?;
    let mut pairs = Pairs::default();
    let mut thought: Option<String> = None;
    for (place, item) in items.iter().enumerate() {
        let at = format!("input.{place}");
        let item = object(item, &at)?;
        let is_users = item.get("role").is_some_and(|role| role == "user");
        if let Some(thought) = thought.take() {
            let is_models = !is_users && kind(item) != "function_call_output";
            ensure(
                is_models,
                &thought,
                "a thought lacks its required following item",
            )?;
        }
        match kind(item) {
            "message" if is_users => {
                pairs.all_answered()?;
                let fields = [
                    required("type", Kind::Text),
                    required("role", Kind::Text),
                    required("content", Kind::List),
                ];
                shape(item, &fields, &at)?;
                parts(list(item, "content", &at)?, &at)?;
            }
            "message" => assistant(item, &at)?,
            "function_call" => pairs.call(call(item, &at)?)?,
            "function_call_output" => {
                shape(item, OUTPUT, &at)?;
                pairs.result(text(item, "call_id", &at)?)?;
                match item.get("output") {
                    Some(Value::Array(list)) => parts(list, &at)?,
                    _ => text(item, "output", &at).map(|_| ())?,
                }
            }
            "reasoning" => {
                open_shape(item, THOUGHT, &at)?;
                let has = |key: &str| item.get(key).is_some_and(|value| !value.is_null());
                let is_whole = has("encrypted_content") || has("content");
                ensure(is_whole, &at, "the server does not have this thought")?;
                thought = Some(at);
            }
            "web_search_call" => search(item, &at)?,
            "" => return Err(format!("{at}: an item needs a type")),
            // Unknown items, which the provider itself has sent.
            _ => open_shape(item, &[required("id", Kind::Said)], &at)?,
        }
    }
    ensure(
        thought.is_none(),
        "input",
        "the last thought lacks its required following item",
    )?;
    pairs.all_answered()
}

fn call<'a>(item: &'a Object, at: &str) -> Result<&'a str, String> {
    // An item with an id is the server's own, and has what the server put there.
    match item.contains_key("id") {
        true => open_shape(item, CALL, at)?,
        false => shape(item, CALL, at)?,
    }
    let id = text(item, "call_id", at)?;
    name(id, at)?;
    name(text(item, "name", at)?, at)?;
    let arguments = serde_json::from_str::<Object>(text(item, "arguments", at)?);
    ensure(
        arguments.is_ok(),
        at,
        "arguments have to be an object as text",
    )?;
    Ok(id)
}

fn search(item: &Object, at: &str) -> Verdict {
    open_shape(item, SEARCH_CALL, at)?;
    let action = object(&item["action"], at)?;
    let url = match kind(action) {
        "search" => optional("url", Kind::Text),
        "open_page" => optional("url", Kind::TextOrNull),
        "find_in_page" => required("url", Kind::Text),
        other => return Err(format!("{at}: there is no action {other:?}")),
    };
    let fields = [
        required("type", Kind::Text),
        url,
        optional("query", Kind::Text),
        optional("queries", Kind::List),
        optional("sources", Kind::List),
        optional("pattern", Kind::Text),
    ];
    shape(action, &fields, at)
}

fn assistant(item: &Object, at: &str) -> Verdict {
    let Some(Value::Array(parts)) = item.get("content") else {
        let fields = [
            required("type", Kind::Text),
            required("role", Kind::OneOf(&["assistant"])),
            required("content", Kind::Said),
        ];
        return shape(item, &fields, at);
    };
    open_shape(item, SAID, at)?;
    ensure(!parts.is_empty(), at, "content must not be empty")?;
    for part in parts {
        let part = object(part, at)?;
        let fields = match kind(part) {
            "output_text" => &[
                required("text", Kind::Text),
                required("annotations", Kind::List),
            ][..],
            "refusal" => &[required("refusal", Kind::Text)][..],
            other => return Err(format!("{at}: a model says no {other:?}")),
        };
        open_shape(part, fields, at)?;
    }
    Ok(())
}

fn parts(parts: &[Value], at: &str) -> Verdict {
    ensure(!parts.is_empty(), at, "content must not be empty")?;
    for part in parts {
        let part = object(part, at)?;
        match kind(part) {
            "input_text" => {
                let fields = [required("type", Kind::Text), required("text", Kind::Said)];
                shape(part, &fields, at)?;
            }
            "input_image" => {
                let details = &["low", "high", "auto", "original"];
                let fields = [
                    required("type", Kind::Text),
                    required("detail", Kind::OneOf(details)),
                    required("image_url", Kind::Said),
                ];
                shape(part, &fields, at)?;
                data_url(text(part, "image_url", at)?, at)?;
            }
            other => return Err(format!("{at}: the input has no {other:?}")),
        }
    }
    Ok(())
}
