//! The rules of Chat Completions.

use std::collections::HashSet;

use serde_json::Value;

use super::{
    Object, Pairs, Verdict, data_url, ensure, kind, list, name, object, only, said, text, tokens,
    tool,
};

pub(super) fn check(body: &Object) -> Verdict {
    let known = [
        "model",
        "messages",
        "max_tokens",
        "max_completion_tokens",
        "stream",
        "stream_options",
        "temperature",
        "top_p",
        "reasoning_effort",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
        "web_search_options",
    ];
    only(body, &known, "the body")?;
    said(body, "model", "the body")?;
    let limits = ["max_tokens", "max_completion_tokens"];
    let limits: Vec<_> = limits
        .iter()
        .filter(|key| body.contains_key(**key))
        .collect();
    ensure(limits.len() <= 1, "the body", "has two limits of the reply")?;
    for limit in limits {
        tokens(body, limit, 1)?;
    }
    let mut names = HashSet::new();
    if body.contains_key("tools") {
        let tools = list(body, "tools", "the body")?;
        ensure(!tools.is_empty(), "tools", "must not be empty")?;
        for value in tools {
            let value = object(value, "tools")?;
            only(value, &["type", "function"], "tools")?;
            ensure(
                kind(value) == "function",
                "tools",
                "type has to be function",
            )?;
            let function = object(&value["function"], "tools")?;
            only(
                function,
                &["name", "description", "parameters", "strict"],
                "tools",
            )?;
            tool(function, "parameters", &mut names)?;
        }
    }
    for setting in ["tool_choice", "parallel_tool_calls"] {
        let fits = !body.contains_key(setting) || body.contains_key("tools");
        ensure(fits, setting, "is only allowed with tools")?;
    }
    messages(list(body, "messages", "the body")?)
}

fn messages(messages: &[Value]) -> Verdict {
    ensure(!messages.is_empty(), "messages", "must not be empty")?;
    let mut pairs = Pairs::default();
    for (place, message) in messages.iter().enumerate() {
        let at = format!("messages.{place}");
        let message = object(message, &at)?;
        let role = text(message, "role", &at)?;
        if role != "tool" {
            pairs.all_answered()?;
        }
        match role {
            "system" | "developer" => {
                only(message, &["role", "content"], &at)?;
                ensure(place == 0, &at, "the system speaks first or not at all")?;
                said(message, "content", &at)?;
            }
            "user" => {
                only(message, &["role", "content"], &at)?;
                user(message, &at)?;
            }
            "assistant" => assistant(message, &at, &mut pairs)?,
            "tool" => {
                only(message, &["role", "tool_call_id", "content"], &at)?;
                text(message, "content", &at)?;
                pairs.result(text(message, "tool_call_id", &at)?)?;
            }
            other => return Err(format!("{at}: there is no role {other:?}")),
        }
    }
    pairs.all_answered()
}

fn user(message: &Object, at: &str) -> Verdict {
    let Some(Value::Array(parts)) = message.get("content") else {
        return said(message, "content", at).map(|_| ());
    };
    ensure(!parts.is_empty(), at, "content must not be empty")?;
    for part in parts {
        let part = object(part, at)?;
        match kind(part) {
            "text" => {
                only(part, &["type", "text"], at)?;
                said(part, "text", at)?;
            }
            "image_url" => {
                only(part, &["type", "image_url"], at)?;
                data_url(text(object(&part["image_url"], at)?, "url", at)?, at)?;
            }
            other => return Err(format!("{at}: a user says no {other:?}")),
        }
    }
    Ok(())
}

fn assistant<'a>(message: &'a Object, at: &str, pairs: &mut Pairs<'a>) -> Verdict {
    let known = [
        "role",
        "content",
        "tool_calls",
        "reasoning_content",
        "reasoning",
        "reasoning_details",
    ];
    only(message, &known, at)?;
    let Some(calls) = message.get("tool_calls") else {
        return said(message, "content", at).map(|_| ());
    };
    let is_text = matches!(message.get("content"), Some(Value::String(_) | Value::Null));
    ensure(is_text, at, "content has to be a text or null")?;
    let calls = calls.as_array().map_or(&[][..], Vec::as_slice);
    ensure(!calls.is_empty(), at, "tool_calls must not be empty")?;
    for call in calls {
        let call = object(call, at)?;
        only(call, &["id", "type", "function", "extra_content"], at)?;
        ensure(kind(call) == "function", at, "type has to be function")?;
        pairs.call(said(call, "id", at)?)?;
        let function = object(&call["function"], at)?;
        only(function, &["name", "arguments"], at)?;
        name(text(function, "name", at)?, at)?;
        let arguments = serde_json::from_str::<Object>(text(function, "arguments", at)?);
        ensure(
            arguments.is_ok(),
            at,
            "arguments have to be an object as text",
        )?;
    }
    Ok(())
}
