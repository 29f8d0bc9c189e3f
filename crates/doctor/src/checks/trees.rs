//! Checks of the members' own trees, and of the queue that brings their work back.

use super::no_access;
use crate::environment::{Environment, Problem, Trees};
use crate::finding::{Finding, Fix, Kind};
use integration::{Integration, IntegrationError, StalledQueue};
use protocol::AgentName;
use teamdir::{Liveness, PathError, SubmissionError, TeamDir};

pub(super) fn check(team: &TeamDir, environment: &Environment) -> Vec<Finding> {
    match &environment.trees {
        Trees::None => Vec::new(),
        Trees::Unusable(Problem { text, command, .. }) => vec![Finding::manual(
            Kind::BrokenTree,
            team.layout().trees_dir().display().to_string(),
            text,
            "The members' own trees and their submissions cannot be used before it is mended. They are \
             left as they are.",
            command,
        )],
        Trees::Usable(trees) => {
            let mut findings =
                check_trees(team, trees).unwrap_or_else(|error| vec![failed(&error)]);
            let submissions = check_submissions(team);
            findings.extend(submissions.unwrap_or_else(|error| vec![no_access(&error)]));
            match check_queue(team, trees) {
                Ok(found) => findings.extend(found),
                Err(error) => findings.push(failed(&error)),
            }
            findings
        }
    }
}

/// A check that could not be done.
fn failed(error: &IntegrationError) -> Finding {
    Finding::manual(
        Kind::BrokenTree,
        "trees",
        error.to_string(),
        "The members' own trees could not be checked.",
        "team-lead trees",
    )
}

fn check_trees(team: &TeamDir, trees: &Integration) -> Result<Vec<Finding>, IntegrationError> {
    let without_member = trees.trees_without_member()?;
    let mut findings = Vec::new();
    for name in team.tree_names()? {
        let shown = team.layout().tree(&name).display().to_string();
        if let Some(fault) = trees.tree_fault(&name) {
            findings.push(Finding::automatic(
                Kind::BrokenTree,
                &shown,
                format!("git cannot work in the tree of '{name}': {fault}"),
                "The member cannot commit or submit. The fix moves the tree to the trash, as it is, so \
                 that the member gets a new one when it is started; what it submitted is kept.",
                Fix::BrokenTree(name),
            ));
        } else if without_member.contains(&name) {
            findings.push(Finding::automatic(
                Kind::TreeWithoutMember,
                &shown,
                format!("{shown} is the tree of '{name}', which is not in the team"),
                "Nobody works in it. The fix removes it and keeps what is not in team/main under \
                 refs/team/rescue; files that git ignores are not kept.",
                Fix::TreeWithoutMember(name),
            ));
        }
    }
    Ok(findings)
}

fn check_submissions(team: &TeamDir) -> Result<Vec<Finding>, PathError> {
    let broken = team.submissions()?.into_iter().filter_map(Result::err);
    let found = broken.filter_map(|error| match &error {
        SubmissionError::Invalid { path, id, .. } => Some(Finding::automatic(
            Kind::DamagedFile,
            path.display().to_string(),
            error.to_string(),
            "It was edited by hand, or the disk failed. The submission is not integrated. The fix writes \
             the file anew from the event log and the commit, which git has.",
            Fix::Submission(*id),
        )),
        SubmissionError::File(error) => Some(no_access(error)),
        SubmissionError::Unknown(_) | SubmissionError::Lock(_) => None,
    });
    Ok(found.collect())
}

/// Finds submissions that wait although nobody will integrate them.
fn check_queue(team: &TeamDir, trees: &Integration) -> Result<Option<Finding>, IntegrationError> {
    let Some(StalledQueue { due, blocked_by }) = trees.stalled_queue()? else {
        return Ok(None);
    };
    let about = team.layout().submissions_dir().display().to_string();
    if let Some(folder) = blocked_by {
        let folder = folder.display();
        return Ok(Some(Finding::manual(
            Kind::StalledSubmissions,
            about,
            format!("{due} submissions wait: team/main is checked out in {folder}"),
            "Moving the branch under a work tree would stage the reverse of the work there.",
            format!("git -C '{folder}' switch -"),
        )));
    }
    if has_integrator(team)? {
        return Ok(None);
    }
    Ok(Some(Finding::manual(
        Kind::StalledSubmissions,
        about,
        format!("{due} submissions wait, and no process that integrates runs"),
        "Whoever integrated them has ended or was killed. Nothing is lost: the next member with a tree of \
         its own, the next lead, or the command goes on with them.",
        "team-lead submissions --run",
    )))
}

/// Whether a process runs that integrates when it finds something to integrate.
fn has_integrator(team: &TeamDir) -> Result<bool, IntegrationError> {
    let with_tree = team.tree_names()?.into_iter();
    let with_tree = with_tree.map(|name: AgentName| protocol::Recipient::Member(name));
    for owner in with_tree.chain([protocol::Recipient::Lead]) {
        // The lock of somebody elsewhere is held by the bridge, which integrates nothing.
        let is_here = team
            .roster()
            .is_ok_and(|roster| roster.host_of(&owner).is_none());
        if is_here && let Liveness::Alive(_) = team.liveness(&owner)? {
            return Ok(true);
        }
    }
    Ok(false)
}
