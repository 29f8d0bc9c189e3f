//! Requests of the Responses API.

use std::borrow::Cow;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::super::encode::result_text;
use crate::conversation::{Block, Provider, Role, ToolResult, ToolUse, call_id, plain_name};
use crate::images::{Image, ShownImages};
use crate::json::RawJson;
use crate::request::{Effort, Request, RequestError, ToolChoice, ToolSpec, TurnView};
use crate::web::WebHosts;

/// The least limit of a reply that the server accepts.
const LEAST_TOKENS: u32 = 16;
/// How often the provider's own tools may be used for one reply.
const MAX_WEB_USES: u32 = 16;

/// What is known about a server of this wire format.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::openai) struct ResponsesSettings {
    /// Whether the model has no encrypted reasoning, and refuses requests for them.
    pub(in crate::openai) has_no_encrypted_reasoning: bool,
    /// Whether the model has no tools of its provider for the web, and refuses them.
    pub(in crate::openai) has_no_web: bool,
    /// The items that the server could not open or connect, see [`bound_items`].
    pub(in crate::openai) refused_items: HashSet<u64>,
}

/// The body of a request.
pub(in crate::openai) fn encode(
    request: &Request,
    model: &str,
    settings: &ResponsesSettings,
    images: &ShownImages,
) -> Result<Vec<u8>, RequestError> {
    let turns = request.view(is_understood)?;
    let web = request.tuning.web.of_responses();
    let web = web.filter(|_| !settings.has_no_web);
    let tools: Vec<_> = tools(&request.tools, web).collect();
    let tool_choice = tool_choice(&request.tool_choice).filter(|_| !tools.is_empty());
    let body = Body {
        model,
        instructions: Some(&request.system).filter(|text| !text.trim().is_empty()),
        max_output_tokens: request.max_tokens.max(LEAST_TOKENS),
        store: false,
        stream: true,
        include: included(settings, web.is_some()),
        max_tool_calls: web.is_some().then_some(MAX_WEB_USES),
        temperature: request.tuning.temperature,
        top_p: request.tuning.top_p,
        reasoning: request.tuning.effort.map(|effort| Reasoning { effort }),
        tools,
        tool_choice,
        input: turns
            .iter()
            .flat_map(|turn| items(turn, settings, images))
            .collect(),
    };
    Ok(serde_json::to_vec(&body).expect("the body has only strings, numbers and JSON"))
}

/// What is asked for besides the usual: what thoughts need to come back, and where a search has looked.
fn included(settings: &ResponsesSettings, uses_web: bool) -> Vec<&'static str> {
    let thoughts = (!settings.has_no_encrypted_reasoning).then_some("reasoning.encrypted_content");
    let sources = uses_web.then_some("web_search_call.action.sources");
    thoughts.into_iter().chain(sources).collect()
}

/// The marks of the items in a conversation that the server takes only from where they came: encrypted
/// thoughts, and the searches that followed them.
pub(in crate::openai) fn bound_items(request: &Request) -> impl Iterator<Item = u64> {
    let blocks = request.turns.iter().flat_map(|turn| &turn.blocks);
    blocks.filter_map(|block| match block {
        Block::Opaque {
            provider: Provider::Responses,
            json,
        } if block.is_thought() || is_search(json) => Some(mark(json)),
        _ => None,
    })
}

fn is_search(json: &RawJson) -> bool {
    #[derive(Deserialize)]
    struct Head<'a> {
        #[serde(rename = "type", borrow)]
        kind: Cow<'a, str>,
    }
    let head = json.read::<Head<'_>>();
    head.is_ok_and(|head| head.kind == "web_search_call")
}

fn mark(json: &RawJson) -> u64 {
    let mut hasher = DefaultHasher::new();
    json.get().hash(&mut hasher);
    hasher.finish()
}

/// Thoughts of the other wire formats are left out.
fn is_understood(block: &Block) -> bool {
    match block {
        Block::Text { .. } | Block::ToolUse(_) | Block::ToolResult(_) | Block::Image(_) => true,
        Block::Thinking { .. } | Block::RedactedThinking { .. } => false,
        Block::Opaque {
            provider: Provider::Responses,
            ..
        } => true,
        Block::Opaque { .. } => block.has_readable_text(),
    }
}

/// Whether a thought carries what it says, encrypted or open.
fn has_content(json: &RawJson) -> bool {
    #[derive(Deserialize)]
    struct Thought<'a> {
        #[serde(borrow)]
        encrypted_content: Option<&'a RawValue>,
        content: Option<Vec<serde::de::IgnoredAny>>,
    }
    json.read::<Thought<'_>>().is_ok_and(|thought| {
        thought.encrypted_content.is_some()
            || thought.content.is_some_and(|content| !content.is_empty())
    })
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<&'a String>,
    max_output_tokens: u32,
    store: bool,
    stream: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    include: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tool_calls: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Reasoning>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<WireTool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<WireToolChoice<'a>>,
    input: Vec<Item<'a>>,
}

#[derive(Serialize)]
struct Reasoning {
    effort: Effort,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum WireTool<'a> {
    Function {
        name: &'a str,
        description: &'a str,
        parameters: &'a RawJson,
        /// Left out it would mean yes, and most schemas would be refused.
        strict: bool,
    },
    /// The provider's own search, which also opens pages. Its uses come back as items, which are kept
    /// as they came.
    WebSearch {
        #[serde(skip_serializing_if = "Option::is_none")]
        filters: Option<WebFilters<'a>>,
    },
}

/// The only hosts that the search may use.
#[derive(Serialize)]
struct WebFilters<'a> {
    allowed_domains: &'a [String],
}

#[derive(Serialize)]
#[serde(untagged)]
enum WireToolChoice<'a> {
    Mode(&'static str),
    Named {
        #[serde(rename = "type")]
        kind: &'static str,
        name: &'a str,
    },
}

/// The tools, that of the provider first, as on the Messages API.
fn tools<'a>(
    specs: &'a [ToolSpec],
    web: Option<&'a WebHosts>,
) -> impl Iterator<Item = WireTool<'a>> {
    let own = specs.iter().map(|spec| WireTool::Function {
        name: &spec.name,
        description: &spec.description,
        parameters: &spec.input_schema,
        strict: false,
    });
    let search = web.map(|hosts| WireTool::WebSearch {
        filters: hosts
            .only()
            .map(|allowed_domains| WebFilters { allowed_domains }),
    });
    search.into_iter().chain(own)
}

fn tool_choice(choice: &ToolChoice) -> Option<WireToolChoice<'_>> {
    match choice {
        ToolChoice::Auto => None,
        ToolChoice::None => Some(WireToolChoice::Mode("none")),
        ToolChoice::Any => Some(WireToolChoice::Mode("required")),
        ToolChoice::Tool(name) => Some(WireToolChoice::Named {
            kind: "function",
            name,
        }),
    }
}

/// An item of the input.
enum Item<'a> {
    User(Vec<Part<'a>>),
    Assistant(Cow<'a, str>),
    /// A call, with the other fields of its item unless they are left out.
    Call(&'a ToolUse, Option<&'a RawJson>),
    Output {
        call_id: Cow<'a, str>,
        output: Output<'a>,
    },
    /// An item that the server sent, unchanged.
    AsItCame(&'a RawJson),
}

/// What a tool returned: a text, or parts if there are images.
#[derive(Serialize)]
#[serde(untagged)]
enum Output<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<Part<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    InputText {
        text: Cow<'a, str>,
    },
    InputImage {
        detail: &'static str,
        image_url: String,
    },
}

impl<'a> Part<'a> {
    fn image(image: &Image) -> Self {
        Self::InputImage {
            detail: "auto",
            image_url: image.url(),
        }
    }

    fn text(text: Cow<'a, str>) -> Self {
        Self::InputText { text }
    }
}

fn output<'a>(result: &'a ToolResult, images: &ShownImages) -> Output<'a> {
    let text = result_text(result, images);
    let shown = images.of(result);
    if shown.is_empty() {
        return Output::Text(text);
    }
    let text = Some(text).filter(|text| !text.trim().is_empty());
    let shown = shown.into_iter().map(Part::image);
    Output::Parts(text.map(Part::text).into_iter().chain(shown).collect())
}

impl Serialize for Item<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Self::AsItCame(json) = self {
            return json.serialize(serializer);
        }
        let mut map = serializer.serialize_map(None)?;
        match self {
            Self::AsItCame(_) => {}
            Self::User(parts) => {
                map.serialize_entry("type", "message")?;
                map.serialize_entry("role", "user")?;
                map.serialize_entry("content", parts)?;
            }
            Self::Assistant(text) => {
                map.serialize_entry("type", "message")?;
                map.serialize_entry("role", "assistant")?;
                map.serialize_entry("content", text)?;
            }
            Self::Call(tool_use, others) => {
                map.serialize_entry("type", "function_call")?;
                map.serialize_entry("call_id", &call_id(&tool_use.id))?;
                map.serialize_entry("name", &plain_name(&tool_use.name))?;
                map.serialize_entry("arguments", tool_use.replayed_input().get())?;
                let others: Option<Map<String, Value>> =
                    others.and_then(|others| others.read().ok());
                for (name, value) in others.into_iter().flatten() {
                    map.serialize_entry(&name, &value)?;
                }
            }
            Self::Output { call_id, output } => {
                map.serialize_entry("type", "function_call_output")?;
                map.serialize_entry("call_id", call_id)?;
                map.serialize_entry("output", output)?;
            }
        }
        map.end()
    }
}

/// The items of a turn, without thoughts that the server cannot read: it has them only in a memory that
/// is not used, or has refused them. What follows a refused thought goes back as if it had come from
/// elsewhere, since under its own id it would be refused for the lack of its thought.
fn items<'a>(
    turn: &TurnView<'a>,
    settings: &ResponsesSettings,
    images: &ShownImages,
) -> Vec<Item<'a>> {
    let is_refused = |json| {
        let refused = &settings.refused_items;
        !refused.is_empty() && refused.contains(&mark(json))
    };
    let mut is_bound = true;
    let mut items = Vec::new();
    let mut parts = Vec::new();
    for block in &turn.blocks {
        match block {
            Block::ToolResult(result) => items.push(Item::Output {
                call_id: call_id(&result.tool_use_id),
                output: output(result, images),
            }),
            Block::Image(image) if images.has(image) => parts.push(Part::image(image)),
            Block::Image(image) => parts.push(Part::text(Cow::Owned(image.placeholder()))),
            Block::Text { text } => match turn.role {
                Role::User => parts.push(Part::text(Cow::Borrowed(text))),
                Role::Assistant => items.push(Item::Assistant(Cow::Borrowed(text))),
            },
            Block::ToolUse(tool_use) => {
                items.push(Item::Call(tool_use, tool_use.item().filter(|_| is_bound)));
            }
            Block::Opaque {
                provider: Provider::Responses,
                json,
            } => {
                if block.is_thought() {
                    is_bound = !is_refused(json);
                }
                let is_readable = !block.is_thought() || has_content(json);
                let unbound_text = match is_bound {
                    true => None,
                    false => block.readable_text(),
                };
                match unbound_text {
                    Some(text) => items.push(Item::Assistant(text)),
                    None if is_refused(json) || !is_readable => {}
                    None => items.push(Item::AsItCame(json)),
                }
            }
            Block::Opaque { .. } => items.extend(block.readable_text().map(Item::Assistant)),
            Block::Thinking { .. } | Block::RedactedThinking { .. } => {}
        }
    }
    // The results come first in their turn, so that the text follows all of them.
    if !parts.is_empty() {
        items.push(Item::User(parts));
    }
    items
}
