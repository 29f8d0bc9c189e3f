//! The rules of the Responses API, used without the server's memory.

use std::collections::HashSet;

use serde_json::Value;

use super::{
    Object, Pairs, Verdict, data_url, ensure, kind, list, name, object, only, said, text, tokens,
    tool,
};

pub(super) fn check(body: &Object) -> Verdict {
    let known = [
        "model",
        "input",
        "instructions",
        "max_output_tokens",
        "store",
        "stream",
        "include",
        "temperature",
        "top_p",
        "reasoning",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
    ];
    only(body, &known, "the body")?;
    said(body, "model", "the body")?;
    tokens(body, "max_output_tokens", 16)?;
    let is_stored = body.get("store") != Some(&Value::Bool(false));
    ensure(!is_stored, "store", "nothing is to be kept by the server")?;
    if body.contains_key("instructions") {
        said(body, "instructions", "the body")?;
    }
    let mut names = HashSet::new();
    for value in body
        .get("tools")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        let value = object(value, "tools")?;
        if kind(value) == "function" {
            let known = ["type", "name", "description", "parameters", "strict"];
            only(value, &known, "tools")?;
            let is_said = value.get("strict").is_some_and(Value::is_boolean);
            ensure(is_said, "tools", "strict has to be said")?;
            tool(value, "parameters", &mut names)?;
        }
    }
    items(list(body, "input", "the body")?)
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
                only(item, &["type", "role", "content"], &at)?;
                parts(list(item, "content", &at)?, &at)?;
            }
            "message" => assistant(item, &at)?,
            "function_call" => {
                pairs.call(call(item, &at)?)?;
            }
            "function_call_output" => {
                only(item, &["type", "call_id", "output"], &at)?;
                pairs.result(text(item, "call_id", &at)?)?;
                match item.get("output") {
                    Some(Value::Array(list)) => parts(list, &at)?,
                    _ => text(item, "output", &at).map(|_| ())?,
                }
            }
            "reasoning" => {
                list(item, "summary", &at)?;
                let has = |key: &str| item.get(key).is_some_and(|value| !value.is_null());
                let is_whole = has("encrypted_content") || has("content");
                ensure(is_whole, &at, "the server does not have this thought")?;
                thought = Some(at);
            }
            "" => return Err(format!("{at}: an item needs a type")),
            // Items of the provider's own, which it sent itself.
            _ => {}
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

fn assistant(item: &Object, at: &str) -> Verdict {
    ensure(
        item.get("role").is_some_and(|it| it == "assistant"),
        at,
        "an unknown role",
    )?;
    let Some(Value::Array(parts)) = item.get("content") else {
        only(item, &["type", "role", "content"], at)?;
        return said(item, "content", at).map(|_| ());
    };
    ensure(!parts.is_empty(), at, "content must not be empty")?;
    for part in parts {
        let part = object(part, at)?;
        match kind(part) {
            "output_text" => text(part, "text", at)?,
            "refusal" => text(part, "refusal", at)?,
            other => return Err(format!("{at}: a model says no {other:?}")),
        };
    }
    Ok(())
}

fn parts(parts: &[Value], at: &str) -> Verdict {
    ensure(!parts.is_empty(), at, "content must not be empty")?;
    for part in parts {
        let part = object(part, at)?;
        match kind(part) {
            "input_text" => {
                only(part, &["type", "text"], at)?;
                said(part, "text", at)?;
            }
            "input_image" => {
                only(part, &["type", "detail", "image_url"], at)?;
                data_url(text(part, "image_url", at)?, at)?;
            }
            other => return Err(format!("{at}: the input has no {other:?}")),
        }
    }
    Ok(())
}
