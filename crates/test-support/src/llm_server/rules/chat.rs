//! The rules of Chat Completions.

use std::collections::HashSet;

use serde_json::Value;

use super::shape::{Field, Kind, optional, required, shape};
use super::{
    EFFORTS, Object, Pairs, Verdict, data_url, ensure, kind, list, list_or_none, name, object,
    text, tool,
};

const BODY: &[Field] = &[
    required("model", Kind::Said),
    required("messages", Kind::List),
    optional("max_tokens", Kind::Count(1)),
    optional("max_completion_tokens", Kind::Count(1)),
    optional("stream", Kind::Bool),
    optional("stream_options", Kind::Object),
    optional("temperature", Kind::Between(0.0, 2.0)),
    optional("top_p", Kind::Between(0.0, 1.0)),
    optional("reasoning_effort", Kind::OneOf(EFFORTS)),
    optional("tools", Kind::List),
    optional("tool_choice", Kind::Any),
    optional("parallel_tool_calls", Kind::Bool),
];
const FUNCTION: &[Field] = &[
    required("name", Kind::Said),
    optional("description", Kind::Text),
    optional("parameters", Kind::Object),
    optional("strict", Kind::Bool),
];
const SPOKEN: &[Field] = &[
    required("role", Kind::Text),
    required("content", Kind::Said),
];
/// The last three fields are those of servers that follow OpenAI.
const ASSISTANT: &[Field] = &[
    required("role", Kind::Text),
    optional("content", Kind::TextOrNull),
    optional("tool_calls", Kind::List),
    optional("reasoning_content", Kind::Text),
    optional("reasoning", Kind::Text),
    optional("reasoning_details", Kind::Any),
];

pub(super) fn check(body: &Object) -> Verdict {
    shape(body, BODY, "the body")?;
    let limits = ["max_tokens", "max_completion_tokens"];
    let limits = limits.iter().filter(|key| body.contains_key(**key));
    ensure(
        limits.count() <= 1,
        "the body",
        "has two limits of the reply",
    )?;
    if let Some(options) = body.get("stream_options") {
        let streams = body.get("stream") == Some(&Value::Bool(true));
        ensure(streams, "stream_options", "is only allowed with a stream")?;
        let fields = [optional("include_usage", Kind::Bool)];
        shape(
            object(options, "stream_options")?,
            &fields,
            "stream_options",
        )?;
    }
    tools(body)?;
    messages(list(body, "messages", "the body")?)
}

fn tools(body: &Object) -> Verdict {
    let mut names = HashSet::new();
    for value in list_or_none(body, "tools") {
        let value = object(value, "tools")?;
        let fields = [
            required("type", Kind::OneOf(&["function"])),
            required("function", Kind::Object),
        ];
        shape(value, &fields, "tools")?;
        let function = object(&value["function"], "tools")?;
        shape(function, FUNCTION, "tools")?;
        tool(function, "parameters", &mut names)?;
    }
    let is_empty = body.contains_key("tools") && names.is_empty();
    ensure(!is_empty, "tools", "must not be empty")?;
    for setting in ["tool_choice", "parallel_tool_calls"] {
        let fits = !body.contains_key(setting) || body.contains_key("tools");
        ensure(fits, setting, "is only allowed with tools")?;
    }
    match body.get("tool_choice") {
        None => Ok(()),
        Some(Value::Object(choice)) => {
            let fields = [
                required("type", Kind::OneOf(&["function"])),
                required("function", Kind::Object),
            ];
            shape(choice, &fields, "tool_choice")?;
            let function = object(&choice["function"], "tool_choice")?;
            shape(function, &[required("name", Kind::Said)], "tool_choice")
        }
        Some(mode) => {
            let modes = ["none", "auto", "required"];
            let is_known = mode.as_str().is_some_and(|mode| modes.contains(&mode));
            ensure(is_known, "tool_choice", "an unknown mode")
        }
    }
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
                ensure(place == 0, &at, "the system speaks first or not at all")?;
                shape(message, SPOKEN, &at)?;
            }
            "user" => user(message, &at)?,
            "assistant" => assistant(message, &at, &mut pairs)?,
            "tool" => {
                let fields = [
                    required("role", Kind::Text),
                    required("tool_call_id", Kind::Said),
                    required("content", Kind::Text),
                ];
                shape(message, &fields, &at)?;
                pairs.result(text(message, "tool_call_id", &at)?)?;
            }
            other => return Err(format!("{at}: there is no role {other:?}")),
        }
    }
    pairs.all_answered()
}

fn user(message: &Object, at: &str) -> Verdict {
    let Some(Value::Array(parts)) = message.get("content") else {
        return shape(message, SPOKEN, at);
    };
    let fields = [
        required("role", Kind::Text),
        required("content", Kind::List),
    ];
    shape(message, &fields, at)?;
    ensure(!parts.is_empty(), at, "content must not be empty")?;
    for part in parts {
        let part = object(part, at)?;
        match kind(part) {
            "text" => {
                let fields = [required("type", Kind::Text), required("text", Kind::Said)];
                shape(part, &fields, at)?;
            }
            "image_url" => {
                let fields = [
                    required("type", Kind::Text),
                    required("image_url", Kind::Object),
                ];
                shape(part, &fields, at)?;
                let image = object(&part["image_url"], at)?;
                let fields = [
                    required("url", Kind::Said),
                    optional("detail", Kind::OneOf(&["auto", "low", "high"])),
                ];
                shape(image, &fields, at)?;
                data_url(text(image, "url", at)?, at)?;
            }
            other => return Err(format!("{at}: a user says no {other:?}")),
        }
    }
    Ok(())
}

fn assistant<'a>(message: &'a Object, at: &str, pairs: &mut Pairs<'a>) -> Verdict {
    shape(message, ASSISTANT, at)?;
    let calls = list_or_none(message, "tool_calls");
    if !message.contains_key("tool_calls") {
        let is_said = message
            .get("content")
            .and_then(Value::as_str)
            .is_some_and(|text| !text.trim().is_empty());
        return ensure(is_said, at, "content must not be blank");
    }
    ensure(!calls.is_empty(), at, "tool_calls must not be empty")?;
    for call in calls {
        let call = object(call, at)?;
        let fields = [
            required("id", Kind::Said),
            required("type", Kind::OneOf(&["function"])),
            required("function", Kind::Object),
            // Gemini sends this field.
            optional("extra_content", Kind::Any),
        ];
        shape(call, &fields, at)?;
        pairs.call(text(call, "id", at)?)?;
        let function = object(&call["function"], at)?;
        let fields = [
            required("name", Kind::Said),
            required("arguments", Kind::Text),
        ];
        shape(function, &fields, at)?;
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
