//! The HTTP client: sends encoded requests, decodes replies, retries.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use reqwest::header::{HeaderMap, HeaderValue};
use reqwest::{Client, Response, Url};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;
use tracing::{debug, trace};

use crate::conversation::scrub_reply;
use crate::decode::{DecodeError, Decoder};
use crate::error::ModelError;
use crate::failure::{ErrorInfo, Failure, Refusal, RetryHints, Site, Transient};
use crate::model::{Event, EventSink, Reply, WaitReason, Waiting};
use crate::retry::{FailedTry, RetryPolicy, retry_after};

mod address;

pub use address::ClientError;
use address::is_loopback;
pub(crate) use address::{bearer, join, parse_address, secret_header};

/// The most bytes that are read of the body of an error.
const MAX_ERROR_BYTES: usize = 64 << 10;
/// How long to wait for the end of a complete reply, after which its connection can serve the next request.
const DRAIN_TIME: Duration = Duration::from_millis(200);

/// The timeouts and the retry policy of a client.
///
/// There is no limit on the time of a whole reply: models think, and busy servers pause, for minutes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientOptions {
    /// How often and how long a call is tried.
    pub retry: RetryPolicy,
    /// The longest time to make a connection.
    pub connect_timeout: Duration,
    /// The longest time without new content of a reply. Keep-alive lines are not content.
    pub idle_timeout: Duration,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            retry: RetryPolicy::default(),
            connect_timeout: Duration::from_secs(15),
            idle_timeout: Duration::from_secs(600),
        }
    }
}

/// One address, with the headers of every request to it.
pub(crate) struct Endpoint {
    client: Client,
    url: Url,
    headers: HeaderMap,
    site: Site,
    options: ClientOptions,
    /// Whether the server has answered anything so far.
    has_answered: Arc<AtomicBool>,
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("site", &self.site)
            .finish_non_exhaustive()
    }
}

impl Endpoint {
    pub(crate) fn new(
        url: Url,
        mut headers: HeaderMap,
        site: Site,
        options: ClientOptions,
    ) -> Result<Self, ClientError> {
        headers.insert(
            reqwest::header::CONTENT_TYPE,
            HeaderValue::from_static("application/json"),
        );
        Ok(Self {
            client: client(&url, &options)?,
            url,
            headers,
            site,
            options,
            has_answered: Arc::default(),
        })
    }

    /// The same server at another path, over the same connections.
    pub(crate) fn at(&self, url: Url) -> Self {
        Self {
            client: self.client.clone(),
            url,
            headers: self.headers.clone(),
            site: self.site.clone(),
            options: self.options.clone(),
            has_answered: Arc::clone(&self.has_answered),
        }
    }

    /// Sends until there is a reply or a final failure, or until it is cancelled.
    pub(crate) async fn ask(
        &self,
        body: Vec<u8>,
        new_decoder: impl Fn() -> Decoder,
        events: &mut EventSink<'_>,
        cancel: &CancellationToken,
    ) -> Result<Reply, Box<Refusal>> {
        // Dropping the other future cancels the call, wherever it waits.
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(ModelError::Cancelled.into()),
            reply = self.ask_with_retries(&body, new_decoder, events) => reply,
        }
    }

    async fn ask_with_retries(
        &self,
        body: &[u8],
        new_decoder: impl Fn() -> Decoder,
        events: &mut EventSink<'_>,
    ) -> Result<Reply, Box<Refusal>> {
        let mut failed_tries = 0;
        let mut first_failure = None;
        loop {
            let transient = match self.try_once(body, new_decoder(), events).await {
                Ok(reply) => return Ok(reply),
                Err(Failure::Final(refusal)) => return Err(refusal),
                Err(Failure::Transient(transient)) => transient,
            };
            failed_tries += 1;
            let failed = FailedTry {
                failed_tries,
                since_first: first_failure.get_or_insert_with(Instant::now).elapsed(),
                reason: transient.reason,
                retry_after: transient.retry_after,
            };
            let delay = self.options.retry.delay(failed, fastrand::f64());
            let Some(delay) = delay.filter(|_| !self.is_not_running(transient.reason)) else {
                return Err(self.give_up(failed_tries, transient).into());
            };
            events(Event::Waiting(Waiting {
                reason: transient.reason,
                delay,
                failed_tries,
            }));
            tokio::time::sleep(delay).await;
        }
    }

    async fn try_once(
        &self,
        body: &[u8],
        decoder: Decoder,
        events: &mut EventSink<'_>,
    ) -> Result<Reply, Failure> {
        let request = self
            .client
            .post(self.url.clone())
            .headers(self.headers.clone())
            .body(body.to_vec());
        // The headers hold the key, and the address may hold a password: neither is logged.
        debug!(
            host = self.url.host_str(),
            bytes = body.len(),
            "sending a request"
        );
        let response = match timeout(self.options.idle_timeout, request.send()).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(self.unsent(error)),
            Err(_) => return Err(self.silence()),
        };
        debug!(status = response.status().as_u16(), "the server answered");
        self.has_answered.store(true, Ordering::Relaxed);
        if response.status().is_success() {
            self.read(response, decoder, events, body.len()).await
        } else {
            Err(self.refusal(response, body.len()).await)
        }
    }

    async fn read(
        &self,
        mut response: Response,
        mut decoder: Decoder,
        events: &mut EventSink<'_>,
        sent: usize,
    ) -> Result<Reply, Failure> {
        let idle = self.options.idle_timeout;
        let mut cut = None;
        let mut received = decoder.content_bytes();
        let mut deadline = Instant::now() + idle;
        while !decoder.is_complete() {
            match timeout_at(deadline, response.chunk()).await {
                Ok(Ok(Some(bytes))) => {
                    trace!(bytes = bytes.len(), "received a part of the reply");
                    decoder
                        .push(&bytes, &mut |event| events(event))
                        .map_err(|error| self.site.undecoded(&error, sent))?;
                    if decoder.content_bytes() > received {
                        received = decoder.content_bytes();
                        deadline = Instant::now() + idle;
                    } else if Instant::now() >= deadline {
                        // A server that sends keep-alive lines without a pause never lets the timer above
                        // expire.
                        cut = Some(self.silence());
                        break;
                    }
                }
                Ok(Ok(None)) => break,
                Ok(Err(error)) => {
                    let message = chain(&error.without_url());
                    cut = Some(self.site.transient(WaitReason::StreamCut, &message));
                    break;
                }
                Err(_) => {
                    cut = Some(self.silence());
                    break;
                }
            }
        }
        let complete = decoder.is_complete();
        // A reply can be complete although its connection broke: one wire format has its end marker before
        // the end of the stream.
        let mut reply = decoder.finish().map_err(|error| match (error, cut) {
            (DecodeError::Cut, Some(cut)) => cut,
            (error, _) => self.site.undecoded(&error, sent),
        })?;
        if complete {
            drain(response).await;
        }
        if let Some(secret) = &self.site.secret {
            scrub_reply(&mut reply, secret);
        }
        Ok(reply)
    }

    async fn refusal(&self, mut response: Response, sent: usize) -> Failure {
        let status = response.status();
        let hints = hints(response.headers());
        let target = response.headers().get(reqwest::header::LOCATION).cloned();
        let mut body = Vec::new();
        let reading = async {
            while let Ok(Some(bytes)) = response.chunk().await {
                body.extend_from_slice(&bytes);
                if body.len() > MAX_ERROR_BYTES {
                    break;
                }
            }
        };
        // If the time is up, the part of the body that arrived is used.
        let _ = timeout(
            self.options.idle_timeout.min(Duration::from_secs(10)),
            reading,
        )
        .await;
        let mut info = ErrorInfo::parse(&body);
        if let Some(target) = target.as_ref().and_then(|target| target.to_str().ok()) {
            info.message = format!("it sends to {target}");
        }
        self.site.refused(status.as_u16(), &info, hints, sent)
    }

    fn unsent(&self, error: reqwest::Error) -> Failure {
        let reason = if error.is_connect() {
            WaitReason::CannotConnect
        } else {
            WaitReason::StreamCut
        };
        self.site.transient(reason, &chain(&error.without_url()))
    }

    /// Whether the server is on this machine and was never started. Then the user is told at once. A server
    /// that has answered before may be restarting, and is tried again.
    fn is_not_running(&self, reason: WaitReason) -> bool {
        reason == WaitReason::CannotConnect
            && is_loopback(&self.url)
            && !self.has_answered.load(Ordering::Relaxed)
    }

    fn silence(&self) -> Failure {
        let seconds = self.options.idle_timeout.as_secs_f64();
        let message = format!("nothing of a reply came for {seconds} s");
        self.site.transient(WaitReason::Silence, &message)
    }

    fn give_up(&self, tries: u32, transient: Transient) -> ModelError {
        ModelError::GaveUp {
            provider: self.site.provider,
            address: self.site.address.clone(),
            tries,
            reason: transient.reason,
            asked_to_wait: transient.retry_after,
            detail: transient.detail,
        }
    }
}

fn client(url: &Url, options: &ClientOptions) -> Result<Client, ClientError> {
    // Another client of this process may have installed a provider; any provider will do.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = Client::builder()
        .user_agent(concat!(
            env!("CARGO_PKG_NAME"),
            "/",
            env!("CARGO_PKG_VERSION")
        ))
        .connect_timeout(options.connect_timeout)
        // A redirect would take the key to a place that the user did not name.
        .redirect(reqwest::redirect::Policy::none());
    if is_loopback(url) {
        builder = builder.no_proxy();
    }
    builder
        .build()
        .map_err(|error| ClientError::Http(chain(&error)))
}

fn hints(headers: &HeaderMap) -> RetryHints {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let all: Vec<_> = headers
        .iter()
        .filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)))
        .collect();
    RetryHints {
        retry_after: retry_after(&all, SystemTime::now()),
        should_retry: text("x-should-retry").and_then(|word| word.parse().ok()),
        request_id: text("request-id")
            .or_else(|| text("x-request-id"))
            .map(str::to_owned),
    }
}

/// Reads what is left of a complete reply.
async fn drain(mut response: Response) {
    let rest = async { while let Ok(Some(_)) = response.chunk().await {} };
    // If the server does not end its reply, only the connection is lost.
    let _ = timeout(DRAIN_TIME, rest).await;
}

/// The text of an error and of its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !message.contains(&more) {
            message.push_str(": ");
            message.push_str(&more);
        }
        cause = error.source();
    }
    message
}
