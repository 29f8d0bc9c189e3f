//! The rules of the Messages API.

use std::collections::HashSet;

use serde_json::Value;

use super::{
    Object, Pairs, Verdict, base64_image, ensure, kind, list, name, object, only, said, text,
    tokens, tool,
};

pub(super) fn check(body: &Object) -> Verdict {
    let known = [
        "model",
        "max_tokens",
        "messages",
        "system",
        "tools",
        "tool_choice",
        "stream",
        "temperature",
        "top_p",
        "thinking",
        "output_config",
        "metadata",
        "stop_sequences",
    ];
    only(body, &known, "the body")?;
    said(body, "model", "the body")?;
    tokens(body, "max_tokens", 1)?;
    if let Some(Value::Array(blocks)) = body.get("system") {
        for block in blocks {
            said(object(block, "system")?, "text", "system")?;
        }
    }
    let mut names = HashSet::new();
    for value in body
        .get("tools")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        let value = object(value, "tools")?;
        // The provider's own tools have a type and other fields.
        if kind(value).is_empty() {
            let known = [
                "name",
                "description",
                "input_schema",
                "cache_control",
                "strict",
            ];
            only(value, &known, "tools")?;
            tool(value, "input_schema", &mut names)?;
        }
    }
    messages(list(body, "messages", "the body")?)?;
    let breakpoints = Value::Object(body.clone()).to_string();
    let breakpoints = breakpoints.matches("\"cache_control\":").count();
    ensure(
        breakpoints <= 4,
        "the body",
        "has more than 4 cache breakpoints",
    )
}

fn messages(messages: &[Value]) -> Verdict {
    ensure(!messages.is_empty(), "messages", "must not be empty")?;
    let mut pairs = Pairs::default();
    for (place, message) in messages.iter().enumerate() {
        let at = format!("messages.{place}");
        let message = object(message, &at)?;
        only(message, &["role", "content"], &at)?;
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
                (role, kind) => {
                    is_after_results = true;
                    other(role, kind, block, &at)?;
                }
            }
        }
        if role == "user" {
            pairs.all_answered()?;
        }
    }
    Ok(())
}

fn tool_use(block: &Object, at: &str) -> Verdict {
    only(block, &["type", "id", "name", "input", "cache_control"], at)?;
    name(text(block, "id", at)?, at)?;
    name(text(block, "name", at)?, at)?;
    let is_object = block.get("input").is_some_and(Value::is_object);
    ensure(is_object, at, "input has to be an object")
}

fn result(block: &Object, at: &str) -> Verdict {
    let known = [
        "type",
        "tool_use_id",
        "content",
        "is_error",
        "cache_control",
    ];
    only(block, &known, at)?;
    match block.get("content") {
        Some(Value::String(_)) | None => Ok(()),
        Some(Value::Array(blocks)) => {
            ensure(!blocks.is_empty(), at, "content must not be empty")?;
            for block in blocks {
                let block = object(block, at)?;
                other("user", kind(block), block, at)?;
            }
            Ok(())
        }
        Some(_) => Err(format!("{at}: content has to be a text or a list")),
    }
}

fn other(role: &str, kind: &str, block: &Object, at: &str) -> Verdict {
    match (role, kind) {
        (_, "text") => {
            only(block, &["type", "text", "cache_control", "citations"], at)?;
            said(block, "text", at).map(|_| ())
        }
        ("user", "image") => {
            only(block, &["type", "source", "cache_control"], at)?;
            let source = object(&block["source"], at)?;
            only(source, &["type", "media_type", "data"], at)?;
            ensure(source["type"] == "base64", at, "source has to be base64")?;
            base64_image(
                text(source, "media_type", at)?,
                text(source, "data", at)?,
                at,
            )
        }
        ("assistant", "thinking") => {
            only(block, &["type", "thinking", "signature"], at)?;
            text(block, "thinking", at)?;
            said(block, "signature", at).map(|_| ())
        }
        ("assistant", "redacted_thinking") => {
            only(block, &["type", "data"], at)?;
            said(block, "data", at).map(|_| ())
        }
        ("user", kind) => Err(format!("{at}: a user says no {kind:?}")),
        // Blocks of the provider's own, which it sent itself.
        (_, "") => Err(format!("{at}: a block needs a type")),
        (_, "reasoning" | "message" | "function_call") => {
            Err(format!("{at}: an item of another wire format"))
        }
        _ => Ok(()),
    }
}
