//! Replies in the shapes that servers send.

use llm::Decoder;

/// A reply in some shape, and whose.
pub(crate) struct Sample {
    pub(crate) name: &'static str,
    pub(crate) wire: Wire,
    pub(crate) text: &'static str,
}

#[derive(Clone, Copy)]
pub(crate) enum Wire {
    Anthropic,
    OpenAi,
    Responses,
}

impl Wire {
    pub(crate) fn decoder(self) -> Decoder {
        match self {
            Self::Anthropic => Decoder::anthropic(),
            Self::OpenAi => Decoder::openai(7),
            Self::Responses => Decoder::responses(7),
        }
    }
}

/// Encrypted reasoning, an item of an unknown kind, a message with an unknown field, and two calls.
pub(crate) const RESPONSE: &str = r#"event: response.created
data: {"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response","model":"gpt-x","status":"in_progress","output":[],"error":null}}

event: response.output_item.added
data: {"type":"response.output_item.added","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[]}}

event: response.reasoning_summary_text.delta
data: {"type":"response.reasoning_summary_text.delta","item_id":"rs_1","output_index":0,"summary_index":0,"delta":"Hm."}

event: response.output_item.done
data: {"type":"response.output_item.done","output_index":0,"item":{"id":"rs_1", "type":"reasoning","encrypted_content":"gAAA+/==","summary":[{"type":"summary_text","text":"Hm."}]}}

event: response.hologram.delta
data: {"type":"response.hologram.delta","delta":{"new":true}}

event: response.output_item.done
data: {"type":"response.output_item.done","output_index":1,"item":{"type":"hologram_call","id":"h_1","z":[1]}}

event: response.output_item.added
data: {"type":"response.output_item.added","output_index":2,"item":{"id":"msg_1","type":"message","role":"assistant","status":"in_progress","content":[]}}

event: response.output_text.delta
data: {"type":"response.output_text.delta","item_id":"msg_1","output_index":2,"content_index":0,"delta":"Two \ud83d"}

event: response.output_text.delta
data: {"type":"response.output_text.delta","item_id":"msg_1","output_index":2,"content_index":0,"delta":"\ude00 files."}

event: response.output_item.done
data: {"type":"response.output_item.done","output_index":2,"item":{"id":"msg_1","type":"message","role":"assistant","status":"completed","phase":"commentary","content":[{"type":"output_text","text":"Two \ud83d\ude00 files.","annotations":[]}]}}

event: response.output_item.added
data: {"type":"response.output_item.added","output_index":3,"item":{"id":"fc_1","type":"function_call","status":"in_progress","call_id":"call_a","name":"read_file","arguments":""}}

event: response.function_call_arguments.delta
data: {"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":3,"delta":"{\"path\": \"a.txt\"}"}

event: response.output_item.done
data: {"type":"response.output_item.done","output_index":3,"item":{"id":"fc_1","type":"function_call","status":"completed","call_id":"call_a","name":"read_file","arguments":"{\"path\": \"a.txt\"}","new":{"b":1}}}

event: response.output_item.done
data: {"type":"response.output_item.done","output_index":4,"item":{"type":"function_call","call_id":"call_b","name":"list","arguments":""}}

event: response.completed
data: {"type":"response.completed","response":{"id":"resp_1","model":"gpt-x","status":"completed","error":null,"incomplete_details":null,"output":[],"usage":{"input_tokens":100,"input_tokens_details":{"cached_tokens":64},"output_tokens":20,"output_tokens_details":{"reasoning_tokens":11},"total_tokens":120}}}

"#;

/// Thinking, text, two parallel tool uses and cache counts.
pub(crate) const MESSAGE: &str = r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-x","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":12,"cache_creation_input_tokens":300,"cache_read_input_tokens":4000,"cache_creation":{"ephemeral_5m_input_tokens":300},"output_tokens":1,"service_tier":"standard"}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: ping
data: {"type":"ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Let me "}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"look."}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQBCgIYAhIM/+=="}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"EmwKAhgBEgy"}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"Zwei Dateien: \u00e9"}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"\n\ud83d\ude00 é."}}

event: content_block_stop
data: {"type":"content_block_stop","index":2}

event: content_block_start
data: {"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_1","name":"read_file","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"path\": \"a"}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":".txt\", \"all\": true}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":3}

event: content_block_start
data: {"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"toolu_2","name":"list","input":{}}}

event: content_block_stop
data: {"type":"content_block_stop","index":4}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":87,"output_tokens_details":{"thinking_tokens":40}}}

event: message_stop
data: {"type":"message_stop"}

"#;

/// Unknown kinds of events and blocks.
pub(crate) const UNKNOWN_KINDS: &str = r#"event: message_start
data: {"type":"message_start","message":{"model":"claude-x","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}

event: crystal_ball
data: {"type":"crystal_ball","sees":[1,2]}

data: {"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"q\":1}"}}

data: {"type":"content_block_stop","index":0}

data: {"type":"content_block_start","index":1,"content_block":{"type":"hologram", "z":1.0, "a":{"k":[]}}}

data: {"type":"content_block_delta","index":1,"delta":{"type":"hologram_delta","depth":3}}

data: {"type":"content_block_start","index":2,"content_block":{"type":"text","text":"","citations":[]}}

data: {"type":"content_block_delta","index":2,"delta":{"type":"citations_delta","citation":{"type":"char_location", "start":0}}}

data: {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"cited"}}

data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}}

data: {"type":"message_stop"}

"#;

pub(crate) const OVERLOADED: &str = r#"event: message_start
data: {"type":"message_start","message":{"model":"claude-x","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"I was about"}}

event: error
data: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}

"#;

pub(crate) const WHOLE_MESSAGE: &str = r#"
{"id":"msg_1","type":"message","role":"assistant","model":"claude-x","content":[{"type":"text","text":"hi"},{"type":"tool_use","id":"t1","name":"bash","input":{"b":1,"a":2}}],"stop_reason":"tool_use","usage":{"input_tokens":3,"output_tokens":4}}
"#;

/// Text, then two parallel calls, then the usage.
pub(crate) const CHAT: &str = r#"data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"gpt-x","choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null}],"obfuscation":"xyz"}

data: {"id":"c1","model":"gpt-x","choices":[{"index":0,"delta":{"content":"Two \ud83d\ude00"},"finish_reason":null}]}

data: {"id":"c1","model":"gpt-x","choices":[{"index":0,"delta":{"content":" files."},"finish_reason":null}]}

data: {"id":"c1","model":"gpt-x","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"read_file","arguments":""}}]},"finish_reason":null}]}

data: {"id":"c1","model":"gpt-x","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"path\": "}}]},"finish_reason":null}]}

data: {"id":"c1","model":"gpt-x","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"call_b","type":"function","function":{"name":"list","arguments":""}}]},"finish_reason":null}]}

data: {"id":"c1","model":"gpt-x","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"a.txt\"}"}},{"index":1,"function":{"arguments":"{}"}}]},"finish_reason":null}]}

data: {"id":"c1","model":"gpt-x","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],"usage":null}

data: {"id":"c1","model":"gpt-x","choices":[],"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120,"prompt_tokens_details":{"cached_tokens":64,"cache_write_tokens":6},"completion_tokens_details":{"reasoning_tokens":11}}}

data: [DONE]

"#;

/// A gateway: comments, CRLF, two names for thinking, encrypted reasoning.
pub(crate) const OPENROUTER: &str = "\u{feff}: OPENROUTER PROCESSING\r\n\r\n: OPENROUTER PROCESSING\r\n\r\ndata: {\"id\":\"gen-1\",\"model\":\"x/y\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\",\"reasoning\":\"Hm.\",\"reasoning_content\":\"Hm.\",\"reasoning_details\":[{\"type\":\"reasoning.encrypted\", \"data\":\"abc\"}]},\"finish_reason\":null}]}\r\n\r\ndata: {\"id\":\"gen-1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Yes.\"},\"finish_reason\":null}]}\r\n\r\ndata: {\"id\":\"gen-1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\"},\"finish_reason\":\"stop\",\"native_finish_reason\":\"end_turn\"}]}\r\n\r\ndata: {\"id\":\"gen-1\",\"choices\":[{\"delta\":{}}],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":2}}\r\n\r\ndata: [DONE]\r\n\r\n";

/// Text that is cut between the halves of a character. Bytes that are not UTF-8 cannot be in a constant.
pub(crate) const HALVES: &str = r#"data: {"choices":[{"delta":{"content":"smile \ud83d"}}]}

data: {"choices":[{"delta":{"content":"\ude00!"},"finish_reason":"stop"}]}

data: [DONE]

"#;

pub(crate) const SAMPLES: [Sample; 9] = [
    Sample {
        name: "response",
        wire: Wire::Responses,
        text: RESPONSE,
    },
    Sample {
        name: "message",
        wire: Wire::Anthropic,
        text: MESSAGE,
    },
    Sample {
        name: "unknown kinds",
        wire: Wire::Anthropic,
        text: UNKNOWN_KINDS,
    },
    Sample {
        name: "overloaded",
        wire: Wire::Anthropic,
        text: OVERLOADED,
    },
    Sample {
        name: "whole message",
        wire: Wire::Anthropic,
        text: WHOLE_MESSAGE,
    },
    Sample {
        name: "chat",
        wire: Wire::OpenAi,
        text: CHAT,
    },
    Sample {
        name: "openrouter",
        wire: Wire::OpenAi,
        text: OPENROUTER,
    },
    Sample {
        name: "halves",
        wire: Wire::OpenAi,
        text: HALVES,
    },
    Sample {
        name: "a stream of the other wire",
        wire: Wire::Anthropic,
        text: CHAT,
    },
];
