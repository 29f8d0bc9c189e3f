//! Logging in and out, and the sessions.

use super::Reply;
use crate::app::{Acting, App, Given, Signed, blocking};
use crate::error::ApiError;
use crate::guard;
use crate::login_url;
use crate::sessions::LoginError;
use axum::Json;
use axum::extract::State;
use axum::http::header::{HOST, SET_COOKIE, USER_AGENT};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// How long a browser keeps the cookie, in seconds. The server ends sessions by itself.
const COOKIE_AGE: u32 = 30 * 24 * 3600;

#[derive(Deserialize)]
pub(crate) struct Login {
    token: String,
}

#[derive(Deserialize)]
pub(crate) struct Which {
    id: String,
}

#[derive(Deserialize)]
pub(crate) struct Name {
    person: String,
}

/// Says nothing. The proof of the reply names the run of the server to which a page then speaks.
pub(crate) async fn hello() -> Reply {
    Ok(Json(json!({})))
}

/// Exchanges the token for a session.
pub(crate) async fn login(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    Given(login): Given<Login>,
) -> Result<Response, ApiError> {
    let agent = headers
        .get(USER_AGENT)
        .and_then(|agent| agent.to_str().ok());
    let agent = agent.unwrap_or("unknown").to_owned();
    let port = app.address.port();
    let known = Arc::clone(&app);
    let made = blocking(move || {
        let made = known.sessions.login(&login.token, &known.person, &agent);
        made.map_err(|error| match error {
            LoginError::WrongToken => ApiError::new(StatusCode::UNAUTHORIZED, error),
            LoginError::Store(_) | LoginError::Random(_) => ApiError::failed(error),
        })
    })
    .await?;
    let key = app.proofs.session_key(made.as_str());
    let reply = json!({"key": key.as_str(), "run": app.proofs.run()});
    let mut response = Json(reply).into_response();
    let cookie = cookie(port, made.as_str(), COOKIE_AGE)?;
    response.headers_mut().insert(SET_COOKIE, cookie);
    Ok(response)
}

fn cookie(port: u16, value: &str, age: u32) -> Result<HeaderValue, ApiError> {
    let name = guard::cookie_name(port);
    let cookie = format!("{name}={value}; HttpOnly; SameSite=Strict; Path=/api; Max-Age={age}");
    HeaderValue::from_str(&cookie).map_err(ApiError::failed)
}

/// Ends the own session.
pub(crate) async fn logout(
    State(app): State<Arc<App>>,
    Signed(own): Signed,
) -> Result<Response, ApiError> {
    let port = app.address.port();
    blocking(move || app.sessions.revoke(&own.id).map_err(ApiError::failed)).await?;
    let mut response = Json(json!({})).into_response();
    response
        .headers_mut()
        .insert(SET_COOKIE, cookie(port, "", 0)?);
    Ok(response)
}

pub(crate) async fn list(State(app): State<Arc<App>>, Signed(own): Signed) -> Reply {
    let sessions = app.sessions.list().into_iter();
    let sessions: Vec<Value> = sessions
        .map(|session| {
            json!({
                "id": session.id, "person": session.person, "agent": session.agent,
                "created": session.created, "used": session.used, "own": session.id == own.id,
            })
        })
        .collect();
    Ok(Json(
        json!({"sessions": sessions, "person": own.person, "read_only": app.is_read_only}),
    ))
}

/// Ends any session.
pub(crate) async fn revoke(
    State(app): State<Arc<App>>,
    Signed(_): Signed,
    Given(which): Given<Which>,
) -> Reply {
    blocking(move || {
        let was_there = app.sessions.revoke(&which.id).map_err(ApiError::failed)?;
        match was_there {
            true => Ok(Json(json!({"revoked": which.id}))),
            false => Err(ApiError::unknown("there is no such session")),
        }
    })
    .await
}

/// A link for one more browser. Whoever has it may do what this session may.
///
/// It leads to the address by which this page has come: an address for all of them leads nowhere.
pub(crate) async fn link(acting: Acting, headers: HeaderMap) -> Reply {
    let app = acting.app;
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let address = host.map_or_else(|| app.address.to_string(), str::to_owned);
    blocking(move || {
        let token = app.sessions.store().new_token().map_err(ApiError::failed)?;
        let url = login_url(&address, &token);
        Ok(Json(json!({"url": url})))
    })
    .await
}

/// The name that answers and events of this session carry.
pub(crate) async fn name(
    State(app): State<Arc<App>>,
    Signed(own): Signed,
    Given(name): Given<Name>,
) -> Reply {
    if name.person.trim().is_empty() {
        return Err(ApiError::bad("a person has a name"));
    }
    blocking(move || {
        let renamed = app.sessions.rename(&own.id, &name.person);
        renamed.map_err(ApiError::failed)?;
        Ok(Json(json!({})))
    })
    .await
}
