//! What was spent: by member, model and task, and over time.

use super::Reply;
use crate::app::{App, Signed, blocking};
use crate::error::ApiError;
use axum::Json;
use axum::extract::State;
use budget::{GroupBy, Sum};
use protocol::{Event, EventKind, EventLine};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use teamdir::TeamDir;

/// How much of the log the chart looks at.
const MAX_BYTES: u64 = 8 << 20;
/// How many points the chart has at most.
const POINTS: usize = 120;

pub(crate) async fn costs(State(app): State<Arc<App>>, Signed(_): Signed) -> Reply {
    blocking(move || {
        let stored = app.team.budget().map_err(ApiError::failed)?;
        let by = |by: GroupBy| {
            let costs = budget::costs(&stored, by);
            let lines = costs.lines.iter();
            let lines = lines.map(|line| json!({"key": line.key, "sum": sum(&line.sum)}));
            lines.collect::<Vec<Value>>()
        };
        let total = budget::costs(&stored, GroupBy::Member).total;
        Ok(Json(json!({
            "members": by(GroupBy::Member), "models": by(GroupBy::Model), "tasks": by(GroupBy::Task),
            "total": sum(&total), "chart": chart(&app.team)?,
        })))
    })
    .await
}

fn sum(sum: &Sum) -> Value {
    json!({
        "calls": sum.calls, "tokens": sum.tokens, "cost": sum.cost, "unpriced": sum.unpriced,
        "minutes": sum.millis as f64 / 60_000.0,
    })
}

struct Point {
    time: f64,
    member: String,
    tokens: u64,
    cost: f64,
}

/// What each member has spent in each step of time, from the newest part of the log.
fn chart(team: &TeamDir) -> Result<Value, ApiError> {
    let mut points = Vec::new();
    let next = team.read_events_backwards(None, MAX_BYTES, |line| {
        points.extend(point(line));
        true
    });
    let is_whole = next.map_err(ApiError::failed)?.is_none();
    let times = points.iter().map(|point| point.time);
    let (first, last) = times.fold((f64::MAX, f64::MIN), |(first, last), time| {
        (first.min(time), last.max(time))
    });
    let step = ((last - first) / POINTS as f64).max(1.0);
    let mut members: BTreeMap<String, BTreeMap<usize, (u64, f64)>> = BTreeMap::new();
    for point in points {
        let at = ((point.time - first) / step) as usize;
        let steps = members.entry(point.member).or_default();
        let sum = steps.entry(at.min(POINTS - 1)).or_default();
        sum.0 += point.tokens;
        sum.1 += point.cost;
    }
    let members: BTreeMap<String, Vec<Value>> = members
        .into_iter()
        .map(|(name, steps)| {
            let steps = steps.into_iter();
            let steps = steps.map(|(at, (tokens, cost))| json!([at, tokens, cost]));
            (name, steps.collect())
        })
        .collect();
    let start = (!members.is_empty()).then_some(first);
    Ok(json!({
        "start": start, "step": step, "points": POINTS, "members": members, "is_whole": is_whole,
    }))
}

fn point(line: &[u8]) -> Option<Point> {
    let EventLine::Known(Event { time, kind, .. }) = EventLine::decode(line) else {
        return None;
    };
    let EventKind::Model {
        member,
        input,
        output,
        cache_read,
        cache_write,
        cost,
        ..
    } = kind
    else {
        return None;
    };
    let cost = cost.and_then(|cost| serde_json::to_value(cost).ok()?.as_f64());
    Some(Point {
        time: time.as_secs_f64(),
        member: member.to_string(),
        tokens: input + output + cache_read + cache_write,
        cost: cost.unwrap_or(0.0),
    })
}
