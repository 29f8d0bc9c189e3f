//! Chat Completions, as OpenAI and many others serve it.
//!
//! OpenAI's newest models refuse tools together with thinking on this wire and
//! want another one, which is not spoken here. They can be used with
//! [`Effort::None`](crate::Effort::None) where they accept it.

use reqwest::header::HeaderMap;
use tokio_util::sync::CancellationToken;

use crate::conversation::Provider;
use crate::decode::Decoder;
use crate::error::ModelError;
use crate::failure::Site;
use crate::http::{self, ClientError, ClientOptions, Endpoint};
use crate::model::{BoxFuture, EventSink, Model, Reply};
use crate::request::Request;
use crate::secret::Secret;

mod calls;
mod decode;
mod dialect;
mod encode;

pub(crate) use decode::ChatAssembler;
pub use dialect::{Dialect, TokenField};

/// The provider's own address.
pub const OPENAI_ADDRESS: &str = "https://api.openai.com/v1";

const ADDRESS_VARIABLE: &str = "OPENAI_BASE_URL";
const KEY_VARIABLE: &str = "OPENAI_API_KEY";

/// What a client of Chat Completions needs to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenAiConfig {
    pub model: String,
    /// The key; a server of one's own may need none.
    pub key: Option<Secret>,
    /// The address, without `/chat/completions`.
    pub base_url: String,
    /// How the server differs; if unset, its address decides.
    pub dialect: Option<Dialect>,
    pub options: ClientOptions,
}

impl OpenAiConfig {
    /// A client of the provider itself.
    pub fn new(model: impl Into<String>, key: Option<Secret>) -> Self {
        Self {
            model: model.into(),
            key,
            base_url: OPENAI_ADDRESS.to_owned(),
            dialect: None,
            options: ClientOptions::default(),
        }
    }
}

/// A model behind Chat Completions.
#[derive(Debug)]
pub struct OpenAi {
    name: String,
    model: String,
    dialect: Dialect,
    endpoint: Endpoint,
}

impl OpenAi {
    /// A client. Nothing is sent yet.
    pub fn new(config: OpenAiConfig) -> Result<Self, ClientError> {
        let base = http::parse_address(&config.base_url, ADDRESS_VARIABLE)?;
        let mut headers = HeaderMap::new();
        if let Some(key) = &config.key {
            headers.extend([http::bearer(key, KEY_VARIABLE)?]);
        }
        let dialect = config
            .dialect
            .unwrap_or_else(|| Dialect::of_host(base.host_str().unwrap_or("")));
        let site = Site {
            provider: Provider::OpenAi,
            model: config.model.clone(),
            address: base.to_string(),
            key_variable: KEY_VARIABLE,
            address_variable: ADDRESS_VARIABLE,
            secret: config.key,
        };
        let url = http::join(&base, "/chat/completions");
        Ok(Self {
            name: format!("openai:{}", config.model),
            endpoint: Endpoint::new(url, headers, site, config.options)?,
            model: config.model,
            dialect,
        })
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
        Box::pin(async move {
            let body = encode::encode(request, &self.model, &self.dialect)?;
            let new_decoder = || Decoder::openai(fastrand::u64(..));
            self.endpoint.ask(body, new_decoder, events, cancel).await
        })
    }
}
