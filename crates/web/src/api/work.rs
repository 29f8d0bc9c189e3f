//! Submissions, trees and patches, and the way of the team's work into the user's branch.

use super::{Reply, member};
use crate::app::{Acting, App, Signed, blocking};
use crate::error::ApiError;
use axum::Json;
use axum::extract::{Query, State};
use config::Config;
use integration::{Integration, IntegrationError, LandOptions};
use member::{SandboxSettings, open_trees};
use protocol::SubmissionId;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use teamdir::TeamDir;

/// How many submissions are shown, the newest.
const MAX_SUBMISSIONS: usize = 60;
/// The longest patch that is shown.
const MAX_PATCH: usize = 400_000;

#[derive(Deserialize)]
pub(crate) struct DiffQuery {
    /// The member; without one what the team has and the workspace has not.
    member: Option<String>,
    submission: Option<SubmissionId>,
}

/// The trees of a team, for what runs nothing that the workspace names.
fn open(team: &TeamDir) -> Result<Integration, ApiError> {
    let trees = open_trees(team, &Config::default(), &SandboxSettings::default());
    trees.map_err(failed)
}

fn failed(error: IntegrationError) -> ApiError {
    ApiError::refused(error)
}

pub(crate) async fn work(State(app): State<Arc<App>>, Signed(_): Signed) -> Reply {
    blocking(move || {
        let submissions = app.team.newest_submissions(MAX_SUBMISSIONS);
        let submissions = submissions.map_err(ApiError::failed)?;
        let submissions: Vec<Value> = submissions
            .into_iter()
            .flatten()
            .map(|submission| json!(submission))
            .collect();
        // A workspace that is no repository has no trees.
        let trees = open(&app.team);
        let trees = trees.and_then(|trees| trees.trees().map_err(failed));
        let trees = trees.unwrap_or_default().into_iter();
        let trees: Vec<Value> = trees
            .map(|tree| {
                json!({
                    "name": tree.name, "branch": tree.status.branch,
                    "ahead": tree.distance.map(|distance| distance.ahead),
                    "behind": tree.distance.map(|distance| distance.behind),
                    "uncommitted": tree.status.uncommitted, "disk": tree.disk,
                })
            })
            .collect();
        Ok(Json(json!({"submissions": submissions, "trees": trees})))
    })
    .await
}

/// The work of a member, of a submission or of the team as a patch.
pub(crate) async fn diff(
    State(app): State<Arc<App>>,
    Signed(_): Signed,
    Query(query): Query<DiffQuery>,
) -> Reply {
    blocking(move || {
        let name = query.member.as_deref();
        let name = name.map(|name| member(&app.team, name)).transpose()?;
        let submission = query.submission.map(|id| app.team.submission(id));
        let submission = submission.transpose().map_err(ApiError::unknown)?;
        // A workspace that is no repository has no trees.
        let patch = match open(&app.team).map(|trees| match &submission {
            Some(submission) => trees.submission_diff(submission),
            None => trees.diff(name.as_ref()),
        }) {
            Err(_) | Ok(Err(IntegrationError::NoTeamBranch | IntegrationError::NoTree(_))) => {
                Vec::new()
            }
            Ok(result) => result.map_err(failed)?,
        };
        let shown = patch.get(..MAX_PATCH).unwrap_or(&patch);
        let left_out = patch.len() - shown.len();
        let patch = String::from_utf8_lossy(shown);
        Ok(Json(json!({"patch": patch, "left_out": left_out})))
    })
    .await
}

/// Brings the team's work into the user's branch, as `land` does.
pub(crate) async fn land(acting: Acting) -> Reply {
    blocking(move || {
        let trees = open(&acting.team())?;
        let landed = trees.land(&LandOptions {
            squash: false,
            into: None,
            message: None,
            author: trees.identity().map_err(failed)?,
        });
        let landed = landed.map_err(failed)?;
        Ok(Json(
            json!({"branch": landed.branch, "commit": landed.commit}),
        ))
    })
    .await
}
