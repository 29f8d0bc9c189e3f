//! What the tests share.

use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use llm::{
    Anthropic, AnthropicAuth, AnthropicConfig, CancellationToken, ClientOptions, DecodeError,
    Decoder, Event, Model, ModelError, OpenAi, OpenAiConfig, Reply, Request, RetryPolicy, Secret,
    ToolSpec, Turn,
};
use serde_json::json;
use test_support::llm_server::LlmServer;
use test_support::wait_until;

/// How long anything may take that is expected to happen.
pub(crate) const LIMIT: Duration = Duration::from_secs(30);
/// The key that must not be seen anywhere.
pub(crate) const KEY: &str = "sk-very-secret-0123456789";

pub(crate) type Outcome = Result<Reply, ModelError>;

/// Short waits, so that retries cost no time.
pub(crate) fn quick() -> ClientOptions {
    ClientOptions {
        retry: RetryPolicy {
            max_tries: 4,
            first_delay: Duration::from_millis(2),
            longest_delay: Duration::from_millis(4),
            total: Duration::from_secs(20),
        },
        ..ClientOptions::default()
    }
}

pub(crate) fn anthropic_config(server: &LlmServer, agent: &str) -> AnthropicConfig {
    let auth = AnthropicAuth::ApiKey(Secret::new(KEY));
    AnthropicConfig {
        base_url: server.base_url(agent),
        options: quick(),
        ..AnthropicConfig::new("claude-test", auth)
    }
}

pub(crate) fn openai_config(server: &LlmServer, agent: &str) -> OpenAiConfig {
    OpenAiConfig {
        base_url: server.openai_base_url(agent),
        options: quick(),
        ..OpenAiConfig::new("gpt-test", Some(Secret::new(KEY)))
    }
}

pub(crate) fn anthropic(server: &LlmServer, agent: &str) -> Arc<dyn Model> {
    Arc::new(Anthropic::new(anthropic_config(server, agent)).unwrap())
}

pub(crate) fn openai(server: &LlmServer, agent: &str) -> Arc<dyn Model> {
    Arc::new(OpenAi::new(openai_config(server, agent)).unwrap())
}

/// A model of each wire format, the agents being called after them.
pub(crate) fn both(server: &LlmServer) -> [(&'static str, Arc<dyn Model>); 2] {
    [
        ("anthropic", anthropic(server, "anthropic")),
        ("openai", openai(server, "openai")),
    ]
}

pub(crate) fn request(turns: Vec<Turn>) -> Request {
    Request {
        system: "You are a test.".into(),
        turns,
        max_tokens: 1000,
        ..Request::default()
    }
}

pub(crate) fn hello() -> Request {
    request(vec![Turn::user("Hello?")])
}

pub(crate) fn tool(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: format!("Does {name}."),
        input_schema: json!({"type": "object", "properties": {"path": {"type": "string"}}}).into(),
    }
}

/// A call on a thread of its own.
pub(crate) struct Call {
    thread: JoinHandle<Outcome>,
    pub(crate) events: Arc<Mutex<Vec<Event>>>,
    pub(crate) cancel: CancellationToken,
}

impl Call {
    pub(crate) fn start(model: &Arc<dyn Model>, request: Request) -> Self {
        Self::start_with(model, request, CancellationToken::new())
    }

    pub(crate) fn start_with(
        model: &Arc<dyn Model>,
        request: Request,
        cancel: CancellationToken,
    ) -> Self {
        let events = Arc::new(Mutex::new(Vec::new()));
        let thread = {
            let (model, events) = (Arc::clone(model), Arc::clone(&events));
            let cancel = cancel.clone();
            thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .unwrap();
                let mut sink = |event| events.lock().unwrap().push(event);
                runtime.block_on(model.complete(&request, &mut sink, &cancel))
            })
        };
        Self {
            thread,
            events,
            cancel,
        }
    }

    /// The end of the call, which must come within the limit.
    #[track_caller]
    pub(crate) fn end(self, limit: Duration) -> (Outcome, Vec<Event>) {
        wait_until("the end of the call", limit, || self.thread.is_finished());
        let outcome = self.thread.join().unwrap();
        let events = self.events.lock().unwrap().clone();
        (outcome, events)
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        self.events.lock().unwrap().clone()
    }
}

#[track_caller]
pub(crate) fn ask(model: &Arc<dyn Model>, request: Request) -> (Outcome, Vec<Event>) {
    Call::start(model, request).end(LIMIT)
}

/// The waits among the events, in words.
pub(crate) fn waits(events: &[Event]) -> Vec<String> {
    let reason = |event: &Event| match event {
        Event::Waiting(waiting) => Some(waiting.reason.to_string()),
        _ => None,
    };
    events.iter().filter_map(reason).collect()
}

/// Decodes a reply that comes in these pieces.
pub(crate) fn decode<'a>(
    mut decoder: Decoder,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (Result<Reply, DecodeError>, Vec<Event>) {
    let mut events = Vec::new();
    for piece in pieces {
        // The error is given again at the end.
        let _ = decoder.push(piece, &mut |event| events.push(event));
    }
    (decoder.finish(), events)
}
