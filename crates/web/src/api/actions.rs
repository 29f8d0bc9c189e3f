//! What a person does on the page with requests, mail, tasks and budgets.

use super::{Reply, recipient};
use crate::app::{Acting, Given, blocking};
use crate::error::ApiError;
use axum::Json;
use protocol::{Caps, GrantScope, Priority, RequestId, TaskId, TaskStatus};
use rules::{Edit, NewTask};
use serde::Deserialize;
use serde_json::json;
use team::{Actor, BoardError, PersonAnswer, Update, Worker};

#[derive(Deserialize)]
pub(crate) struct Answer {
    id: RequestId,
    approve: bool,
    #[serde(default)]
    text: String,
    scope: Option<GrantScope>,
}

#[derive(Deserialize)]
pub(crate) struct Mail {
    to: String,
    text: String,
}

#[derive(Deserialize)]
pub(crate) struct Text {
    text: String,
}

#[derive(Deserialize)]
pub(crate) struct Raise {
    /// Without one the whole team.
    member: Option<String>,
    #[serde(flatten)]
    limits: Caps,
}

#[derive(Deserialize)]
pub(crate) struct Create {
    subject: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    priority: Priority,
    role: Option<String>,
    #[serde(default)]
    blocked_by: Vec<TaskId>,
}

#[derive(Deserialize)]
pub(crate) struct Change {
    id: TaskId,
    subject: Option<String>,
    description: Option<String>,
    priority: Option<Priority>,
    role: Option<String>,
    note: Option<String>,
    #[serde(default)]
    add_blocked_by: Vec<TaskId>,
    #[serde(default)]
    remove_blocked_by: Vec<TaskId>,
    status: Option<TaskStatus>,
    result: Option<String>,
}

/// Answers what waits for a person.
pub(crate) async fn answer(acting: Acting, Given(answer): Given<Answer>) -> Reply {
    blocking(move || {
        let answered = team::answer_person(
            &acting.team(),
            &Actor::user(),
            &answer.id,
            &PersonAnswer {
                approve: answer.approve,
                text: &answer.text,
                scope: answer.scope,
                name: Some(&acting.person),
            },
        );
        let request = answered.map_err(ApiError::refused)?;
        Ok(Json(
            json!({"request_id": request.id, "status": request.status()}),
        ))
    })
    .await
}

fn checked(text: &str) -> Result<(), ApiError> {
    match text.trim().is_empty() {
        true => Err(ApiError::bad("the text of the message is empty")),
        false => Ok(()),
    }
}

pub(crate) async fn send(acting: Acting, Given(mail): Given<Mail>) -> Reply {
    checked(&mail.text)?;
    blocking(move || {
        let team = acting.team();
        let to = recipient(&team, &mail.to)?;
        let sent = team::send(&team, &Actor::user(), to, &mail.text);
        let sent = sent.map_err(ApiError::refused)?;
        Ok(Json(json!({"id": sent.id, "to": sent.to})))
    })
    .await
}

pub(crate) async fn broadcast(acting: Acting, Given(given): Given<Text>) -> Reply {
    checked(&given.text)?;
    blocking(move || {
        let sent = team::broadcast(&acting.team(), &Actor::user(), &given.text);
        let reached = sent.map_err(ApiError::refused)?;
        Ok(Json(json!({"to": reached})))
    })
    .await
}

pub(crate) async fn budget(acting: Acting, Given(raise): Given<Raise>) -> Reply {
    let mut limits = raise.limits;
    // Fields that no budget knows are not written into the file.
    limits.extra.clear();
    if limits.is_empty() {
        return Err(ApiError::bad("no limit was given"));
    }
    blocking(move || {
        let team = acting.team();
        let member = raise.member.as_deref();
        let member = member.map(|name| recipient(&team, name)).transpose()?;
        let now = budget::change(&team, member.as_ref(), &limits);
        Ok(Json(json!({"limits": now.map_err(ApiError::failed)?})))
    })
    .await
}

fn board_error(error: BoardError) -> ApiError {
    match error.is_refusal() {
        true => ApiError::refused(error),
        false => ApiError::failed(error),
    }
}

pub(crate) async fn create_task(acting: Acting, Given(create): Given<Create>) -> Reply {
    let role = create.role.filter(|role| !role.trim().is_empty());
    let new = NewTask {
        subject: create.subject,
        description: create.description,
        priority: create.priority,
        role,
        blocked_by: create.blocked_by,
    };
    blocking(move || {
        let created = team::create(&acting.team(), &Actor::user(), &new);
        Ok(Json(json!(created.map_err(board_error)?)))
    })
    .await
}

pub(crate) async fn update_task(acting: Acting, Given(change): Given<Change>) -> Reply {
    let update = Update {
        edit: Edit {
            subject: change.subject,
            description: change.description,
            priority: change.priority,
            role: change.role,
            note: change.note,
        },
        add_blocked_by: change.add_blocked_by,
        remove_blocked_by: change.remove_blocked_by,
        status: change.status,
        result: change.result,
    };
    blocking(move || {
        let updated = team::update(&acting.team(), &Worker::user(), change.id, &update);
        Ok(Json(json!(updated.map_err(board_error)?)))
    })
    .await
}
