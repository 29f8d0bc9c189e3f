//! Models of OpenAI and of the many servers that follow it.
//!
//! There are two wire formats: Chat Completions, and the Responses API. Which of them a server speaks for
//! a model is not known before it was asked. The client starts with what the address suggests, and learns
//! from refusals, see [`mod@learn`]. What it has learned it reports when a request has succeeded, so that
//! later clients can begin with it.

use std::sync::{Mutex, PoisonError};

use reqwest::header::HeaderMap;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info};

use crate::conversation::Provider;
use crate::decode::Decoder;
use crate::error::ModelError;
use crate::failure::{Refusal, Site};
use crate::http::{self, ClientError, ClientOptions, Endpoint};
use crate::images::ImageMemory;
use crate::learned_settings::{LearnedSettings, MAX_REFUSALS};
use crate::model::{BoxFuture, Event, EventSink, Model, Reply};
use crate::request::Request;
use crate::secret::Secret;

mod calls;
mod decode;
mod dialect;
mod encode;
mod learn;
mod responses;

pub(crate) use decode::ChatAssembler;
pub use dialect::{Dialect, OpenAiWire, TokenField};
use learn::{ServerSettings, learn};
pub(crate) use responses::ResponseAssembler;
use responses::ResponsesSettings;

/// The provider's own address.
pub const OPENAI_ADDRESS: &str = "https://api.openai.com/v1";

const ADDRESS_VARIABLE: &str = "OPENAI_BASE_URL";
const KEY_VARIABLE: &str = "OPENAI_API_KEY";

/// The configuration of a client of such a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenAiConfig {
    pub model: String,
    /// The key. A server of the user's own may need none.
    pub key: Option<Secret>,
    /// The address, without `/chat/completions`.
    pub base_url: String,
    /// The wire format; if unset, the address suggests one and the server's answers decide.
    pub wire: Option<OpenAiWire>,
    /// How the server's Chat Completions differ; if unset, the address suggests it. What the server
    /// refuses is changed.
    pub dialect: Option<Dialect>,
    /// What an earlier client learned of the server. What is set above counts before it.
    pub learned: LearnedSettings,
    pub options: ClientOptions,
}

impl OpenAiConfig {
    /// A client of the provider itself.
    pub fn new(model: impl Into<String>, key: Option<Secret>) -> Self {
        Self {
            model: model.into(),
            key,
            base_url: OPENAI_ADDRESS.to_owned(),
            wire: None,
            dialect: None,
            learned: LearnedSettings::default(),
            options: ClientOptions::default(),
        }
    }
}

/// A model behind one of the two wire formats.
#[derive(Debug)]
pub struct OpenAi {
    name: String,
    model: String,
    chat: Endpoint,
    responses: Endpoint,
    settings: Mutex<ServerSettings>,
}

impl OpenAi {
    /// A client. Nothing is sent yet.
    pub fn new(config: OpenAiConfig) -> Result<Self, ClientError> {
        let base = http::parse_address(&config.base_url, ADDRESS_VARIABLE)?;
        let mut headers = HeaderMap::new();
        if let Some(key) = &config.key {
            headers.extend([http::bearer(key, KEY_VARIABLE)?]);
        }
        let host = base.host_str().unwrap_or("");
        let learned = config.learned;
        let wire = config.wire.or(learned.wire);
        let dialect = config.dialect.or(learned.dialect);
        let settings = ServerSettings {
            wire: wire.unwrap_or_else(|| OpenAiWire::of_host(host)),
            wire_is_chosen: config.wire.is_some(),
            dialect: dialect.unwrap_or_else(|| Dialect::of_host(host)),
            responses: ResponsesSettings {
                has_no_encrypted_reasoning: learned.has_no_encrypted_reasoning,
                has_no_web: learned.has_no_web,
                ..ResponsesSettings::default()
            },
            images: ImageMemory::default(),
        };
        let site = Site {
            provider: Provider::OpenAi,
            model: config.model.clone(),
            address: base.to_string(),
            key_variable: KEY_VARIABLE,
            address_variable: ADDRESS_VARIABLE,
            secret: config.key,
        };
        let url = http::join(&base, "/chat/completions");
        let chat = Endpoint::new(url, headers, site, config.options)?;
        Ok(Self {
            name: format!("openai:{}", config.model),
            responses: chat.at(http::join(&base, "/responses")),
            chat,
            model: config.model,
            settings: Mutex::new(settings),
        })
    }

    fn settings(&self) -> ServerSettings {
        let settings = self.settings.lock().unwrap_or_else(PoisonError::into_inner);
        settings.clone()
    }

    fn keep(&self, settings: ServerSettings) {
        *self.settings.lock().unwrap_or_else(PoisonError::into_inner) = settings;
    }

    /// Asks, and asks again in another form for as long as a refusal names one.
    async fn converse(
        &self,
        request: &Request,
        events: &mut EventSink<'_>,
        cancel: &CancellationToken,
    ) -> Result<Reply, ModelError> {
        let mut settings = self.settings();
        let known = settings.learned();
        // The error that made this call change the wire format, which is done once.
        let mut left: Option<(ModelError, bool)> = None;
        let mut refusals = 0;
        loop {
            let refusal = match self.ask(&settings, request, events, cancel).await {
                Ok(reply) => {
                    let shown = settings.images.shown(request);
                    settings.images.accept(shown);
                    if settings.learned() != known {
                        events(Event::Learned(Box::new(settings.learned())));
                    }
                    self.keep(settings);
                    return Ok(reply);
                }
                Err(refusal) => refusal,
            };
            let answer = refusal.answer.as_ref().filter(|_| refusals < MAX_REFUSALS);
            let Some(change) = answer.and_then(|answer| learn(answer, &settings, request)) else {
                return Err(refusal.error);
            };
            refusals += 1;
            if change.settings.wire != settings.wire {
                match left {
                    None => left = Some((refusal.error, change.is_guess)),
                    // The guess was wrong: the other path is not there either.
                    Some((first, true)) => return Err(first),
                    Some((_, false)) => return Err(refusal.error),
                }
            }
            let change_ends_web =
                change.settings.responses.has_no_web && !settings.responses.has_no_web;
            if change.settings.images != settings.images {
                let model = self.name.clone();
                events(Event::ImagesHidden { model });
            }
            settings = change.settings;
            debug!(wire = ?settings.wire, "asking the server in another way");
            if change_ends_web {
                info!("{} has no tools of its provider for the web", self.name);
            }
            if left.as_ref().is_none_or(|(_, is_guess)| !is_guess) {
                self.keep(settings.clone());
            }
        }
    }

    async fn ask(
        &self,
        settings: &ServerSettings,
        request: &Request,
        events: &mut EventSink<'_>,
        cancel: &CancellationToken,
    ) -> Result<Reply, Box<Refusal>> {
        let images = &settings.images.shown(request);
        let invalid = |error| Box::<Refusal>::from(ModelError::Request(error));
        match settings.wire {
            OpenAiWire::Chat => {
                let body = encode::encode(request, &self.model, &settings.dialect, images);
                let new_decoder = || Decoder::openai(fastrand::u64(..));
                let body = body.map_err(invalid)?;
                self.chat.ask(body, new_decoder, events, cancel).await
            }
            OpenAiWire::Responses => {
                let body = responses::encode(request, &self.model, &settings.responses, images);
                let new_decoder = || Decoder::responses(fastrand::u64(..));
                let body = body.map_err(invalid)?;
                self.responses.ask(body, new_decoder, events, cancel).await
            }
        }
    }
}

impl Model for OpenAi {
    fn name(&self) -> &str {
        &self.name
    }

    fn complete<'a>(
        &'a self,
        request: &'a Request,
        events: &'a mut EventSink<'_>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(self.converse(request, events, cancel))
    }
}
