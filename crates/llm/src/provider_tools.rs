//! The tools that a provider runs by itself while its model replies, such as its web search.
//!
//! Their uses and results are blocks that are kept and sent back as they came. This module only reads them,
//! to show people what was done.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::Value;

use crate::conversation::Block;
use crate::model::Reply;

/// The most addresses that a result is shown with.
const MAX_ADDRESSES: usize = 8;

/// A tool that the provider has run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderToolUse {
    pub id: String,
    pub name: String,
    /// The arguments, as JSON.
    pub arguments: String,
    /// What came of it, in a few lines: the addresses that were found, or the error.
    pub text: String,
    pub is_error: bool,
}

/// The name of the tool that searches, on all wire formats.
const SEARCH: &str = "web_search";

/// The fields of a use and of a result.
#[derive(Deserialize)]
struct ProviderBlock {
    #[serde(rename = "type")]
    kind: String,
    id: Option<String>,
    name: Option<String>,
    input: Option<Value>,
    tool_use_id: Option<String>,
    content: Option<Value>,
    status: Option<String>,
    action: Option<Value>,
}

impl Reply {
    /// The tools that the provider has run for this reply, in order.
    pub fn provider_tools(&self) -> Vec<ProviderToolUse> {
        provider_tools(&self.blocks)
    }

    /// How often the provider has searched the web for this reply, by what the reply shows.
    pub fn searches(&self) -> u64 {
        searches(&self.blocks)
    }
}

/// How many of these blocks are searches that worked. Others are not charged for.
pub(crate) fn searches(blocks: &[Block]) -> u64 {
    let uses = provider_tools(blocks).into_iter();
    let searches = uses.filter(|tool_use| tool_use.name == SEARCH && !tool_use.is_error);
    searches.count() as u64
}

fn provider_tools(blocks: &[Block]) -> Vec<ProviderToolUse> {
    let mut uses: Vec<ProviderToolUse> = Vec::new();
    for block in blocks {
        let Block::Opaque { json, .. } = block else {
            continue;
        };
        let Ok(block) = json.read::<ProviderBlock>() else {
            continue;
        };
        match (block.kind.as_str(), block.tool_use_id, block.id) {
            ("server_tool_use", _, Some(id)) => uses.push(ProviderToolUse {
                id,
                name: block.name.unwrap_or_default(),
                arguments: block.input.unwrap_or_default().to_string(),
                text: String::new(),
                is_error: false,
            }),
            ("web_search_call", _, id) => uses.push(web_use(
                id.unwrap_or_default(),
                block.status.as_deref(),
                block.action.unwrap_or_default(),
            )),
            (_, Some(id), _) => {
                let tool_use = uses.iter_mut().find(|tool_use| tool_use.id == id);
                if let (Some(tool_use), Some(content)) = (tool_use, block.content) {
                    (tool_use.text, tool_use.is_error) = shown(&content);
                }
            }
            _ => {}
        }
    }
    uses
}

/// An item of the Responses API: the use and what came of it. The names of its actions are those that
/// the Messages API has for the same.
fn web_use(id: String, status: Option<&str>, action: Value) -> ProviderToolUse {
    let name = match action.get("type").and_then(Value::as_str) {
        Some("open_page") => "web_fetch",
        Some("find_in_page") => "web_find",
        Some(_) | None => SEARCH,
    };
    let mut arguments = action;
    let mut sources = Value::Null;
    if let Value::Object(fields) = &mut arguments {
        fields.remove("type");
        sources = fields.remove("sources").unwrap_or_default();
    }
    let is_error = status == Some("failed");
    let text = match is_error {
        true => "failed".to_owned(),
        false => shown(&sources).0,
    };
    ProviderToolUse {
        id,
        name: name.to_owned(),
        arguments: arguments.to_string(),
        text,
        is_error,
    }
}

/// A result in a few lines, and whether it is an error.
fn shown(content: &Value) -> (String, bool) {
    if let Some(code) = content.get("error_code").and_then(Value::as_str) {
        return (code.to_owned(), true);
    }
    let mut addresses = BTreeSet::new();
    collect_addresses(content, &mut addresses);
    let mut lines: Vec<&str> = addresses.iter().copied().take(MAX_ADDRESSES).collect();
    if addresses.len() > MAX_ADDRESSES {
        lines.push("...");
    }
    (lines.join("\n"), false)
}

fn collect_addresses<'a>(value: &'a Value, found: &mut BTreeSet<&'a str>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect_addresses(item, found)),
        Value::Object(fields) => found.extend(fields.get("url").and_then(Value::as_str)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::conversation::Provider;
    use crate::json::RawJson;
    use crate::model::StopReason;

    fn reply(blocks: Vec<Value>) -> Reply {
        let opaque = |json| Block::Opaque {
            provider: Provider::Anthropic,
            json: RawJson::from(json),
        };
        Reply {
            blocks: blocks.into_iter().map(opaque).collect(),
            stop: StopReason::EndTurn,
            usage: None,
            model: String::new(),
        }
    }

    #[test]
    fn uses_are_shown_with_what_came_of_them() {
        let search = json!({"type": "server_tool_use", "id": "s1", "name": "web_search",
            "input": {"query": "tea"}});
        let found = json!({"type": "web_search_tool_result", "tool_use_id": "s1", "content": [
            {"type": "web_search_result", "url": "https://a.org", "title": "A"},
            {"type": "web_search_result", "url": "https://b.org", "title": "B"}]});
        let fetch = json!({"type": "server_tool_use", "id": "s2", "name": "web_fetch",
            "input": {"url": "https://c.org"}});
        let failed = json!({"type": "web_fetch_tool_result", "tool_use_id": "s2",
            "content": {"type": "web_fetch_tool_result_error", "error_code": "url_not_accessible"}});
        let uses = reply(vec![search, found, fetch, failed]).provider_tools();
        let [search, fetch] = uses.as_slice() else {
            panic!("{uses:?}")
        };
        assert_eq!(search.name, "web_search");
        assert_eq!(search.arguments, r#"{"query":"tea"}"#);
        assert_eq!(
            (search.text.as_str(), search.is_error),
            ("https://a.org\nhttps://b.org", false)
        );
        assert_eq!(
            (fetch.text.as_str(), fetch.is_error),
            ("url_not_accessible", true)
        );
    }

    #[test]
    fn items_of_the_responses_api_are_shown_alike() {
        let item = |action: Value, status: &str| json!({"type": "web_search_call", "id": "ws_1", "status": status, "action": action});
        let uses = reply(vec![
            item(
                json!({"type": "search", "query": "tea", "sources": [{"type": "url", "url": "https://a.org"}]}),
                "completed",
            ),
            item(
                json!({"type": "open_page", "url": "https://b.org"}),
                "completed",
            ),
            item(json!({"type": "search", "query": "milk"}), "failed"),
        ]);
        assert_eq!(uses.searches(), 1, "only what worked is charged for");
        let uses = uses.provider_tools();
        let shown: Vec<_> = uses
            .iter()
            .map(|it| (&*it.name, &*it.arguments, &*it.text))
            .collect();
        assert_eq!(
            shown,
            [
                ("web_search", r#"{"query":"tea"}"#, "https://a.org"),
                ("web_fetch", r#"{"url":"https://b.org"}"#, ""),
                ("web_search", r#"{"query":"milk"}"#, "failed"),
            ]
        );
    }

    #[test]
    fn other_blocks_are_no_tools() {
        let cited = json!({"type": "text", "text": "so", "citations": []});
        let stray = json!({"type": "web_search_tool_result", "tool_use_id": "x", "content": []});
        let odd = json!(["type"]);
        assert_eq!(reply(vec![cited, stray, odd]).provider_tools(), []);
    }
}
