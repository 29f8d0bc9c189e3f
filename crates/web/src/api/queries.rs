//! What a page asks for besides its stream: the stream itself, and tasks.

use super::{Reply, member};
use crate::app::{App, Signed, blocking};
use crate::error::ApiError;
use crate::rows;
use crate::stream::EventStream;
use axum::Json;
use axum::body::Body;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use protocol::{TaskId, TaskStatus};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// How many tasks are sent at once.
const PAGE: usize = 100;

#[derive(Deserialize)]
pub(crate) struct Follow {
    member: Option<String>,
}

#[derive(Deserialize)]
pub(crate) struct TaskQuery {
    id: TaskId,
}

#[derive(Deserialize)]
pub(crate) struct TasksQuery {
    status: TaskStatus,
    /// Skip so many of them.
    #[serde(default)]
    skip: usize,
}

/// Tells the page what changes, until it is closed.
pub(crate) async fn stream(
    State(app): State<Arc<App>>,
    Signed(session): Signed,
    Query(follow): Query<Follow>,
) -> Result<Response, ApiError> {
    let permit = Arc::clone(&app.streams).try_acquire_owned();
    let permit = permit.map_err(|_| {
        let message = "too many pages are open; close some";
        ApiError::new(StatusCode::SERVICE_UNAVAILABLE, message)
    })?;
    let subscription = blocking(move || {
        // A member that has just been removed is not shown any more.
        let member = follow.member.as_deref();
        let member = member.and_then(|name| member_name(&app, name));
        app.hub
            .subscribe(member, &session.id)
            .map_err(ApiError::failed)
    })
    .await?;
    let body = Body::from_stream(EventStream::new(subscription, permit));
    Ok(([(CONTENT_TYPE, "text/event-stream")], body).into_response())
}

fn member_name(app: &App, typed: &str) -> Option<protocol::AgentName> {
    member(&app.team, typed).ok()
}

/// A task with everything about it.
pub(crate) async fn task(
    State(app): State<Arc<App>>,
    Signed(_): Signed,
    Query(query): Query<TaskQuery>,
) -> Reply {
    blocking(move || {
        let task = team::get(&app.team, query.id).map_err(ApiError::unknown)?;
        Ok(Json(json!(task)))
    })
    .await
}

/// More tasks than the page was told of.
pub(crate) async fn tasks(
    State(app): State<Arc<App>>,
    Signed(_): Signed,
    Query(query): Query<TasksQuery>,
) -> Reply {
    blocking(move || {
        let mut tasks = overview::board(&app.team).map_err(ApiError::failed)?;
        tasks.retain(|task| task.status == query.status);
        match query.status {
            TaskStatus::Completed => tasks.reverse(),
            TaskStatus::Pending | TaskStatus::InProgress => {
                tasks.sort_by_key(|task| (std::cmp::Reverse(task.priority), task.id));
            }
        }
        let total = tasks.len();
        let page = tasks.iter().skip(query.skip).take(PAGE);
        let page: Vec<Value> = page.map(rows::task).collect();
        Ok(Json(json!({"tasks": page, "total": total})))
    })
    .await
}
