//! Requests of the Messages API.

use std::borrow::Cow;

use serde::Serialize;

use crate::conversation::{Block, Provider, Role, ToolResult, call_id, plain_name};
use crate::images::{Image, ShownImages};
use crate::json::RawJson;
use crate::request::{Effort, Request, RequestError, Thinking, ToolChoice, ToolSpec, TurnView};
use crate::web::WebTools;

/// The body of a request.
///
/// It has at most four cache breakpoints: after the tools and the system text that
/// other agents send too, which the first request of an agent finds, and after the
/// last two turns of the user. The last makes the next request find all that is sent
/// now; the one before finds what the previous request left there, also if this turn
/// brought more blocks than the provider searches.
pub(super) fn encode(
    request: &Request,
    model: &str,
    images: &ShownImages,
) -> Result<Vec<u8>, RequestError> {
    let turns = request.view(is_understood)?;
    let tools = tools(&request.tools, request.shared.tools, &request.tuning.web);
    let tool_choice = tool_choice(&request.tool_choice).filter(|_| !tools.is_empty());
    let body = Body {
        model,
        max_tokens: request.max_tokens,
        stream: true,
        system: system(&request.system, request.shared.system),
        tools,
        tool_choice,
        temperature: request.tuning.temperature,
        top_p: request.tuning.top_p,
        thinking: request.tuning.thinking.map(thinking),
        output_config: request.tuning.effort.map(output_config),
        messages: messages(&turns, images),
    };
    Ok(serde_json::to_vec(&body).expect("the body has only strings, numbers and JSON"))
}

/// Unsigned thoughts and unknown blocks of other wire formats are refused by
/// this one. Of a block that has a text, the text is understood.
fn is_understood(block: &Block) -> bool {
    match block {
        Block::Thinking { signature, .. } => signature.is_some(),
        Block::Opaque {
            provider: Provider::Anthropic,
            ..
        } => true,
        Block::Opaque { .. } => block.has_readable_text(),
        Block::Text { .. }
        | Block::RedactedThinking { .. }
        | Block::ToolUse(_)
        | Block::ToolResult(_)
        | Block::Image(_) => true,
    }
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: u32,
    stream: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Content<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<WireTool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<WireToolChoice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<WireThinking>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig>,
    messages: Vec<Message<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum WireTool<'a> {
    Own(Tool<'a>),
    Provider(ProviderTool<'a>),
}

/// A tool that the provider runs by itself. Its uses and results come back as blocks, which are kept as
/// they came.
#[derive(Serialize)]
struct ProviderTool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'static str,
    /// How often it may be used for one reply.
    max_uses: u32,
    /// How much of a page goes into the conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_content_tokens: Option<u32>,
    /// The only hosts that it may use. A tool with both lists is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    allowed_domains: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    blocked_domains: Option<&'a [String]>,
}

/// The tools for the web, in the versions that all models with such tools know. They need no beta header.
fn web_tools(web: &WebTools) -> impl Iterator<Item = ProviderTool<'_>> {
    let search = web.search.as_ref().map(|hosts| ProviderTool {
        kind: "web_search_20250305",
        name: "web_search",
        max_uses: 8,
        max_content_tokens: None,
        allowed_domains: hosts.only(),
        blocked_domains: hosts.all_but(),
    });
    let fetch = web.fetch.as_ref().map(|hosts| ProviderTool {
        kind: "web_fetch_20250910",
        name: "web_fetch",
        max_uses: 8,
        max_content_tokens: Some(30_000),
        allowed_domains: hosts.only(),
        blocked_domains: hosts.all_but(),
    });
    search.into_iter().chain(fetch)
}

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a RawJson,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Serialize)]
struct WireToolChoice<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
}

#[derive(Serialize)]
struct WireThinking {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    budget_tokens: Option<u32>,
}

#[derive(Serialize)]
struct OutputConfig {
    effort: Effort,
}

#[derive(Serialize)]
struct Message<'a> {
    role: Role,
    content: Vec<Content<'a>>,
}

/// A block of ours, or one that the provider sent, unchanged.
#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Known(Known<'a>),
    AsItCame(&'a RawJson),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Known<'a> {
    Text {
        text: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    Image {
        source: ImageSource<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    Thinking {
        thinking: &'a str,
        signature: &'a str,
    },
    RedactedThinking {
        data: &'a str,
    },
    ToolUse {
        id: Cow<'a, str>,
        name: Cow<'a, str>,
        input: &'a RawJson,
    },
    ToolResult {
        tool_use_id: Cow<'a, str>,
        content: ResultContent<'a>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
}

#[derive(Serialize)]
struct ImageSource<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    media_type: &'a str,
    data: &'a str,
}

/// What a tool returned: a text, or blocks if there are images.
#[derive(Serialize)]
#[serde(untagged)]
enum ResultContent<'a> {
    Text(Cow<'a, str>),
    Blocks(Vec<Known<'a>>),
}

/// A cache breakpoint.
#[derive(Serialize)]
struct CacheControl {
    #[serde(rename = "type")]
    kind: &'static str,
}

impl CacheControl {
    const EPHEMERAL: Self = Self { kind: "ephemeral" };
}

/// The system text: what other agents send too, and the rest, which the breakpoints of the turns cover.
fn system(text: &str, shared: usize) -> Vec<Content<'_>> {
    let (shared, own) = match text.split_at_checked(shared) {
        None | Some(("", _)) => (text, ""),
        Some(parts) => parts,
    };
    let mut blocks = vec![(shared, Some(CacheControl::EPHEMERAL)), (own, None)];
    blocks.retain(|(text, _)| !text.trim().is_empty());
    let block = |(text, cache_control)| {
        let text = Cow::Borrowed(text);
        Content::Known(Known::Text {
            text,
            cache_control,
        })
    };
    blocks.into_iter().map(block).collect()
}

/// The tools, those of the provider first, so that the breakpoint covers them.
fn tools<'a>(specs: &'a [ToolSpec], shared: usize, web: &'a WebTools) -> Vec<WireTool<'a>> {
    let marked = if shared == 0 { usize::MAX } else { shared };
    let last = marked.min(specs.len()).saturating_sub(1);
    let own = specs.iter().enumerate().map(|(place, spec)| {
        WireTool::Own(Tool {
            name: &spec.name,
            description: &spec.description,
            input_schema: &spec.input_schema,
            cache_control: (place == last).then_some(CacheControl::EPHEMERAL),
        })
    });
    let of_provider = web_tools(web).map(WireTool::Provider);
    of_provider.chain(own).collect()
}

fn tool_choice(choice: &ToolChoice) -> Option<WireToolChoice<'_>> {
    let (kind, name) = match choice {
        ToolChoice::Auto => return None,
        ToolChoice::None => ("none", None),
        ToolChoice::Any => ("any", None),
        ToolChoice::Tool(name) => ("tool", Some(name.as_str())),
    };
    Some(WireToolChoice { kind, name })
}

fn thinking(mode: Thinking) -> WireThinking {
    let (kind, budget_tokens) = match mode {
        Thinking::Adaptive => ("adaptive", None),
        Thinking::Budget(tokens) => ("enabled", Some(tokens)),
        Thinking::Disabled => ("disabled", None),
    };
    WireThinking {
        kind,
        budget_tokens,
    }
}

/// This wire has no effort below `low`.
fn output_config(effort: Effort) -> OutputConfig {
    let effort = match effort {
        Effort::None | Effort::Minimal => Effort::Low,
        Effort::Low | Effort::Medium | Effort::High | Effort::XHigh | Effort::Max => effort,
    };
    OutputConfig { effort }
}

fn messages<'a>(turns: &[TurnView<'a>], images: &ShownImages) -> Vec<Message<'a>> {
    let mut messages: Vec<_> = turns
        .iter()
        .map(|turn| Message {
            role: turn.role,
            content: turn
                .blocks
                .iter()
                .map(|block| content(block, images))
                .collect(),
        })
        .collect();
    let users = messages
        .iter_mut()
        .rev()
        .filter(|message| message.role == Role::User);
    for message in users.take(2) {
        if let Some(Content::Known(
            Known::Text { cache_control, .. }
            | Known::Image { cache_control, .. }
            | Known::ToolResult { cache_control, .. },
        )) = message.content.last_mut()
        {
            *cache_control = Some(CacheControl::EPHEMERAL);
        }
    }
    messages
}

fn content<'a>(block: &'a Block, images: &ShownImages) -> Content<'a> {
    Content::Known(match block {
        Block::Text { text } => Known::Text {
            text: Cow::Borrowed(text),
            cache_control: None,
        },
        Block::Thinking { text, signature } => Known::Thinking {
            thinking: text,
            signature: signature.as_deref().unwrap_or(""),
        },
        Block::RedactedThinking { data } => Known::RedactedThinking { data },
        Block::ToolUse(tool_use) => Known::ToolUse {
            id: call_id(&tool_use.id),
            name: plain_name(&tool_use.name),
            input: tool_use.replayed_input(),
        },
        Block::ToolResult(result) => Known::ToolResult {
            tool_use_id: call_id(&result.tool_use_id),
            content: result_content(result, images),
            is_error: result.is_error,
            cache_control: None,
        },
        Block::Image(shown) if images.has(shown) => image(shown),
        Block::Image(hidden) => Known::Text {
            text: Cow::Owned(hidden.placeholder()),
            cache_control: None,
        },
        Block::Opaque {
            provider: Provider::Anthropic,
            json,
        } => return Content::AsItCame(json),
        Block::Opaque { .. } => Known::Text {
            text: block.readable_text().unwrap_or_default(),
            cache_control: None,
        },
    })
}

fn image(image: &Image) -> Known<'_> {
    Known::Image {
        source: ImageSource {
            kind: "base64",
            media_type: &image.media_type,
            data: &image.data,
        },
        cache_control: None,
    }
}

fn result_content<'a>(result: &'a ToolResult, images: &ShownImages) -> ResultContent<'a> {
    let text = images.text_of(result);
    let shown = images.of(result);
    // A failure may have nothing but text.
    if shown.is_empty() || result.is_error {
        return ResultContent::Text(text);
    }
    let text = Some(text).filter(|text| !text.trim().is_empty());
    let text = text.map(|text| Known::Text {
        text,
        cache_control: None,
    });
    ResultContent::Blocks(
        text.into_iter()
            .chain(shown.into_iter().map(image))
            .collect(),
    )
}
