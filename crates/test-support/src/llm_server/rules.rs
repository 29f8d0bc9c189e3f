//! The rules by which providers refuse requests, from their published schemas.
//!
//! The server applies them to every request, so that each test that asks a model also checks what was
//! sent. They are stricter than the providers where those only correct a request silently.

use std::collections::{BTreeSet, HashSet};

use serde_json::{Map, Value};

use super::captured::Wire;

mod anthropic;
mod chat;
mod responses;
mod shape;

/// Why a provider would refuse a request: the place and the rule.
pub(super) type Verdict = Result<(), String>;

type Object = Map<String, Value>;

/// How much work a model of OpenAI puts in.
const EFFORTS: &[&str] = &["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/// Checks the body of a request by the rules of its wire format.
pub(super) fn check(wire: Wire, body: &Value) -> Verdict {
    let body = object(body, "the body")?;
    match wire {
        Wire::Anthropic => anthropic::check(body),
        Wire::OpenAi => chat::check(body),
        Wire::Responses => responses::check(body),
        // None of our requests are made in it.
        Wire::Gemini => Ok(()),
    }
}

fn ensure(holds: bool, place: &str, rule: &str) -> Verdict {
    match holds {
        true => Ok(()),
        false => Err(format!("{place}: {rule}")),
    }
}

fn object<'a>(value: &'a Value, place: &str) -> Result<&'a Object, String> {
    let wrong = || format!("{place}: has to be an object");
    value.as_object().ok_or_else(wrong)
}

fn list<'a>(object: &'a Object, key: &str, place: &str) -> Result<&'a [Value], String> {
    let value = object.get(key).and_then(Value::as_array);
    let wrong = || format!("{place}: {key} has to be a list");
    value.map(Vec::as_slice).ok_or_else(wrong)
}

fn text<'a>(object: &'a Object, key: &str, place: &str) -> Result<&'a str, String> {
    let value = object.get(key).and_then(Value::as_str);
    value.ok_or_else(|| format!("{place}: {key} has to be a text"))
}

/// A list that may be absent.
fn list_or_none<'a>(object: &'a Object, key: &str) -> &'a [Value] {
    let value = object.get(key).and_then(Value::as_array);
    value.map_or(&[], Vec::as_slice)
}

fn kind(object: &Object) -> &str {
    object.get("type").and_then(Value::as_str).unwrap_or("")
}

/// A name of 1 to 64 letters, digits, `_` and `-`.
fn name(name: &str, place: &str) -> Verdict {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    let fits = (1..=64).contains(&name.len()) && name.bytes().all(allowed);
    ensure(
        fits,
        place,
        &format!("{name:?} breaks ^[a-zA-Z0-9_-]{{1,64}}$"),
    )
}

/// A tool of a request: its name, which no other has, and its schema.
fn tool<'a>(tool: &'a Object, schema: &str, names: &mut HashSet<&'a str>) -> Verdict {
    let own = text(tool, "name", "a tool")?;
    name(own, "a tool")?;
    ensure(names.insert(own), own, "the name of a tool is used twice")?;
    let is_object = tool.get(schema).is_some_and(|it| it["type"] == "object");
    ensure(
        is_object,
        own,
        &format!("{schema} has to be of type object"),
    )
}

/// A list of hosts without schemes and patterns, which no provider takes.
fn domains(tool: &Object, key: &str) -> Verdict {
    let hosts = list(tool, key, "tools")?;
    ensure(!hosts.is_empty(), key, "must not be empty")?;
    for host in hosts {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        let host = host.as_str().unwrap_or("");
        let is_host = host.contains('.') && host.bytes().all(is_allowed);
        ensure(is_host, key, &format!("{host:?} is no host"))?;
    }
    Ok(())
}

/// Calls without a result yet, and results without a call.
#[derive(Default)]
struct Pairs<'a> {
    open: BTreeSet<&'a str>,
}

impl<'a> Pairs<'a> {
    fn call(&mut self, id: &'a str) -> Verdict {
        ensure(self.open.insert(id), id, "two calls of a turn have this id")
    }

    fn result(&mut self, id: &str) -> Verdict {
        ensure(self.open.remove(id), id, "a result has no call before it")
    }

    fn all_answered(&self) -> Verdict {
        match self.open.first() {
            Some(id) => Err(format!("{id}: the call has no result right after it")),
            None => Ok(()),
        }
    }
}

/// An image as an address with its content.
fn data_url(url: &str, place: &str) -> Verdict {
    let content = url
        .strip_prefix("data:")
        .and_then(|rest| rest.split_once(";base64,"));
    let Some((media_type, data)) = content else {
        return Err(format!("{place}: the image is not in the request"));
    };
    base64_image(media_type, data, place)
}

fn base64_image(media_type: &str, data: &str, place: &str) -> Verdict {
    let known = ["image/png", "image/jpeg", "image/gif", "image/webp"];
    ensure(known.contains(&media_type), place, "an unknown media type")?;
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
    let fits = !data.is_empty() && data.len().is_multiple_of(4) && data.bytes().all(is_base64);
    ensure(fits, place, "the data of the image is not base64")
}
