//! Searches the event log from its end, a bounded piece at a time.

use super::Reply;
use crate::app::{App, Signed, blocking};
use crate::error::ApiError;
use crate::hub::event_row;
use axum::Json;
use axum::extract::{Query, State};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use teamdir::EventPosition;

/// How much of the log one request looks at.
const MAX_BYTES: u64 = 16 << 20;
/// How many events one reply has.
const PAGE: usize = 100;
/// The longest text that is searched for.
const MAX_QUERY: usize = 200;

#[derive(Deserialize)]
pub(crate) struct EventQuery {
    /// The words, all of which an event must have.
    #[serde(default)]
    q: String,
    /// Where the last reply has stopped.
    part: Option<u64>,
    before: Option<u64>,
}

pub(crate) async fn search(
    State(app): State<Arc<App>>,
    Signed(_): Signed,
    Query(query): Query<EventQuery>,
) -> Reply {
    if query.q.len() > MAX_QUERY {
        return Err(ApiError::bad("the text to search for is too long"));
    }
    let from = query.part.zip(query.before);
    let from = from.map(|(part, before)| EventPosition { part, before });
    blocking(move || {
        let words = query.q.to_lowercase();
        let words: Vec<&str> = words.split_whitespace().collect();
        let mut found: Vec<Value> = Vec::new();
        let next = app.team.read_events_backwards(from, MAX_BYTES, |line| {
            let row = event_row(line).filter(|row| matches(row, &words));
            found.extend(row);
            found.len() < PAGE
        });
        let next = next.map_err(ApiError::failed)?;
        let next = next.map(|next| json!({"part": next.part, "before": next.before}));
        Ok(Json(json!({"events": found, "next": next})))
    })
    .await
}

fn matches(row: &Value, words: &[&str]) -> bool {
    let text = |name: &str| row.get(name).and_then(Value::as_str).unwrap_or_default();
    let text = format!("{} {}", text("text"), text("person")).to_lowercase();
    words.iter().all(|word| text.contains(word))
}
