//! The paths of the server, and what every request passes first.

use crate::api;
use crate::assets;
use crate::error::ApiError;
use crate::guard::{self, Hosts};
use crate::hub::Hub;
use crate::proof::Proofs;
use crate::sessions::Sessions;
use crate::store::Session;
use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{FromRequest, FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde::de::DeserializeOwned;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use teamdir::TeamDir;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

/// The largest body of a request.
const MAX_BODY: usize = 256 << 10;
/// How long a client has for the body of a request.
const BODY_TIME: Duration = Duration::from_secs(10);
/// The header with the proof that a reply is ours.
const PROOF: &str = "x-team-lead-proof";
/// The most pages that are open at a time.
pub(crate) const MAX_STREAMS: usize = 256;

/// What all requests share.
pub(crate) struct App {
    pub(crate) team: TeamDir,
    pub(crate) address: SocketAddr,
    pub(crate) hosts: Hosts,
    pub(crate) proofs: Proofs,
    pub(crate) hub: Hub,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) streams: Arc<Semaphore>,
    pub(crate) is_read_only: bool,
    /// The name of the person whose account the server runs in.
    pub(crate) person: String,
}

pub(crate) fn router(app: &Arc<App>) -> Router {
    Router::new()
        .route("/api/hello", get(api::session::hello))
        .route("/api/login", post(api::session::login))
        .route("/api/logout", post(api::session::logout))
        .route("/api/sessions", get(api::session::list))
        .route("/api/sessions/revoke", post(api::session::revoke))
        .route("/api/sessions/link", post(api::session::link))
        .route("/api/sessions/name", post(api::session::name))
        .route("/api/stream", get(api::queries::stream))
        .route("/api/task", get(api::queries::task))
        .route("/api/tasks", get(api::queries::tasks))
        .route("/api/events", get(api::events::search))
        .route("/api/costs", get(api::costs::costs))
        .route("/api/work", get(api::work::work))
        .route("/api/diff", get(api::work::diff))
        .route("/api/answer", post(api::actions::answer))
        .route("/api/send", post(api::actions::send))
        .route("/api/broadcast", post(api::actions::broadcast))
        .route("/api/budget", post(api::actions::budget))
        .route("/api/task/create", post(api::actions::create_task))
        .route("/api/task/update", post(api::actions::update_task))
        .route("/api/land", post(api::work::land))
        .route("/api/spawn", post(api::members::spawn))
        .route("/api/restart", post(api::members::restart))
        .route("/api/shutdown", post(api::members::shutdown))
        .fallback(file)
        .layer(from_fn_with_state(Arc::clone(app), check))
        .with_state(Arc::clone(app))
}

/// Refuses what is not meant for us, and adds the headers of every reply.
async fn check(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let is_api = request.uri().path().starts_with("/api/");
    let checked = app.hosts.check(request.method(), request.headers(), is_api);
    let challenge = guard::challenge(request.headers(), app.address.port());
    let challenge = challenge.filter(|_| is_api && checked.is_ok());
    let challenge = challenge.map(|(cookie, nonce)| (cookie.to_owned(), nonce.to_owned()));
    let mut response = match checked {
        Ok(()) => next.run(request).await,
        Err(refusal) => ApiError::new(refusal.status(), refusal).into_response(),
    };
    assets::protect(response.headers_mut());
    let status = response.status().as_u16();
    let proof = challenge.and_then(|(cookie, nonce)| app.proofs.of_reply(&cookie, &nonce, status));
    if let Some(proof) = proof.and_then(|proof| HeaderValue::from_str(&proof).ok()) {
        response.headers_mut().insert(PROOF, proof);
    }
    if checked.is_err() {
        // What is left of a refused request is not read.
        let close = HeaderValue::from_static("close");
        response.headers_mut().insert("connection", close);
    }
    response
}

/// The page's own files.
async fn file(request: Request) -> Response {
    match assets::file(request.uri().path()) {
        Some((kind, text)) => ([assets::content_type(kind)], text).into_response(),
        None => ApiError::unknown("there is nothing at this address").into_response(),
    }
}

/// A request of a session.
pub(crate) struct Signed(pub(crate) Session);

/// A request of a session that may change the team.
pub(crate) struct Acting {
    pub(crate) app: Arc<App>,
    pub(crate) person: String,
}

impl FromRequestParts<Arc<App>> for Signed {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, ApiError> {
        let given = guard::credentials(&parts.headers, app.address.port());
        let given = given.filter(|(cookie, key)| app.proofs.is_page_key(cookie, key));
        let found = given.and_then(|(cookie, _)| app.sessions.find(cookie));
        found.map(Self).ok_or_else(|| {
            let message = "this browser has no session, or it was ended";
            ApiError::new(StatusCode::UNAUTHORIZED, message).hint("team-lead web --link")
        })
    }
}

impl FromRequestParts<Arc<App>> for Acting {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, ApiError> {
        let Signed(session) = Signed::from_request_parts(parts, app).await?;
        if app.is_read_only {
            let message = "the server was started with --read-only";
            return Err(ApiError::new(StatusCode::FORBIDDEN, message));
        }
        Ok(Self {
            app: Arc::clone(app),
            person: session.person,
        })
    }
}

impl Acting {
    /// The team, with events that name the person.
    pub(crate) fn team(&self) -> TeamDir {
        self.app.team.acting_for(&self.person)
    }
}

/// A body of JSON, of limited size and time.
pub(crate) struct Given<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<Arc<App>> for Given<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request<Body>, _: &Arc<App>) -> Result<Self, ApiError> {
        let read = timeout(BODY_TIME, to_bytes(request.into_body(), MAX_BODY)).await;
        let bytes: Bytes = match read {
            Ok(Ok(bytes)) => bytes,
            Ok(Err(error)) => {
                return Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, error));
            }
            Err(_) => {
                let message = "the request took too long";
                return Err(ApiError::new(StatusCode::REQUEST_TIMEOUT, message));
            }
        };
        serde_json::from_slice(&bytes)
            .map(Self)
            .map_err(ApiError::bad)
    }
}

/// Does what waits for files or processes on a thread of its own.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    match spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(ApiError::failed(error)),
    }
}
