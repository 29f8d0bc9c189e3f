//! The Messages API of Anthropic, also served by others.

use std::sync::{Mutex, MutexGuard, PoisonError};

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use tokio_util::sync::CancellationToken;
use tracing::debug;

use crate::conversation::Provider;
use crate::decode::Decoder;
use crate::error::ModelError;
use crate::failure::Site;
use crate::http::{self, ClientError, ClientOptions, Endpoint};
use crate::images::ImageMemory;
use crate::model::{BoxFuture, Event, EventSink, Model, Reply};
use crate::request::Request;
use crate::secret::Secret;

mod block;
mod decode;
mod encode;

pub(crate) use decode::MessageAssembler;

/// The provider's own address.
pub const ANTHROPIC_ADDRESS: &str = "https://api.anthropic.com";
/// The version of the wire format that all servers understand. What is sent is
/// valid under the later ones as well.
pub const ANTHROPIC_VERSION: &str = "2023-06-01";

const ADDRESS_VARIABLE: &str = "ANTHROPIC_BASE_URL";

/// How a request is authenticated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnthropicAuth {
    /// Without a key, for a server of the user's own.
    None,
    /// With the key of `ANTHROPIC_API_KEY`, as `x-api-key`.
    ApiKey(Secret),
    /// With the token of `ANTHROPIC_AUTH_TOKEN`, as `authorization: Bearer`.
    Bearer(Secret),
}

impl AnthropicAuth {
    fn variable(&self) -> &'static str {
        match self {
            Self::None | Self::ApiKey(_) => "ANTHROPIC_API_KEY",
            Self::Bearer(_) => "ANTHROPIC_AUTH_TOKEN",
        }
    }

    fn secret(&self) -> Option<&Secret> {
        match self {
            Self::None => None,
            Self::ApiKey(key) | Self::Bearer(key) => Some(key),
        }
    }

    fn header(&self) -> Result<Option<(HeaderName, HeaderValue)>, ClientError> {
        let variable = self.variable();
        Ok(match self {
            Self::None => None,
            Self::ApiKey(key) => {
                let value = http::secret_header(key.expose(), variable)?;
                Some((HeaderName::from_static("x-api-key"), value))
            }
            Self::Bearer(key) => Some(http::bearer(key, variable)?),
        })
    }
}

/// The configuration of a client of the Messages API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnthropicConfig {
    pub model: String,
    pub auth: AnthropicAuth,
    /// The address, without `/v1/messages`.
    pub base_url: String,
    /// The version of the wire format.
    pub version: String,
    /// The beta features to switch on.
    pub betas: Vec<String>,
    pub options: ClientOptions,
}

impl AnthropicConfig {
    /// The configuration for Anthropic's own server.
    pub fn new(model: impl Into<String>, auth: AnthropicAuth) -> Self {
        Self {
            model: model.into(),
            auth,
            base_url: ANTHROPIC_ADDRESS.to_owned(),
            version: ANTHROPIC_VERSION.to_owned(),
            betas: Vec::new(),
            options: ClientOptions::default(),
        }
    }
}

/// A model behind the Messages API.
#[derive(Debug)]
pub struct Anthropic {
    name: String,
    model: String,
    endpoint: Endpoint,
    images: Mutex<ImageMemory>,
}

impl Anthropic {
    /// Creates a client. Nothing is sent yet.
    pub fn new(config: AnthropicConfig) -> Result<Self, ClientError> {
        let base = http::parse_address(&config.base_url, ADDRESS_VARIABLE)?;
        // Users of other APIs are used to addresses that end in the version.
        let path = if base.path().ends_with("/v1") {
            "/messages"
        } else {
            "/v1/messages"
        };
        let mut headers = HeaderMap::new();
        let setting = |text: &str, name| {
            HeaderValue::from_str(text).map_err(|_| ClientError::Setting { name })
        };
        headers.insert("anthropic-version", setting(&config.version, "version")?);
        if !config.betas.is_empty() {
            let betas = setting(&config.betas.join(","), "betas")?;
            headers.insert("anthropic-beta", betas);
        }
        headers.extend(config.auth.header()?);
        let site = Site {
            provider: Provider::Anthropic,
            model: config.model.clone(),
            address: base.to_string(),
            key_variable: config.auth.variable(),
            address_variable: ADDRESS_VARIABLE,
            secret: config.auth.secret().cloned(),
        };
        Ok(Self {
            name: format!("anthropic:{}", config.model),
            endpoint: Endpoint::new(http::join(&base, path), headers, site, config.options)?,
            model: config.model,
            images: Mutex::default(),
        })
    }

    fn images(&self) -> MutexGuard<'_, ImageMemory> {
        self.images.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Model for Anthropic {
    fn name(&self) -> &str {
        &self.name
    }

    fn complete<'a>(
        &'a self,
        request: &'a Request,
        events: &'a mut EventSink<'_>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            loop {
                let shown = self.images().shown(request);
                let body = encode::encode(request, &self.model, &shown)?;
                let asked = self.endpoint.ask(body, Decoder::anthropic, events, cancel);
                let refusal = match asked.await {
                    Ok(reply) => {
                        self.images().accept(shown);
                        return Ok(reply);
                    }
                    Err(refusal) => refusal,
                };
                // Each such refusal hides more images, so the loop ends.
                let answer = refusal.answer.as_ref();
                if !answer.is_some_and(|answer| self.images().refuse(answer, &shown)) {
                    return Err(refusal.error);
                }
                debug!("asking again without images that the server refused");
                let model = self.name.clone();
                events(Event::ImagesHidden { model });
            }
        })
    }
}
