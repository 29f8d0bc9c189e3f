//! The machine: programs, models, notifications, clocks.

use crate::finding::{Finding, Kind};
use crate::surroundings::{Inotify, Surroundings};
use protocol::{Recipient, Timestamp};
use std::time::Duration;
use teamdir::TeamDir;

/// Each member and each command that waits takes one instance.
const FEW_INSTANCES: u64 = 4;
/// How far clocks of machines that share a folder may be apart.
const TOLERANCE: Duration = Duration::from_secs(60);

pub(super) fn check(team: &TeamDir, surroundings: &Surroundings) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Err(problem) = &surroundings.teammate {
        findings.push(Finding::for_a_person(
            Kind::NoTeammate,
            "teammate",
            problem,
            "No member can be started or restarted.",
            "cargo install --path .",
        ));
    }
    for problem in &surroundings.model_problems {
        findings.push(Finding::for_a_person(
            Kind::NoModel,
            "model",
            problem,
            "Whoever thinks with it fails at its first turn.",
            "export TEAM_MODEL=offline",
        ));
    }
    findings.extend(surroundings.inotify.and_then(few_instances));
    findings.extend(future(team, surroundings.now));
    findings
}

fn few_instances(inotify: Inotify) -> Option<Finding> {
    let Inotify { used, limit } = inotify;
    (inotify.left() < FEW_INSTANCES).then(|| {
        Finding::for_a_person(
            Kind::Inotify,
            "fs.inotify.max_user_instances",
            format!("this user has {used} of its {limit} inotify instances in use"),
            "Members that get none look at their files five times a second instead of sleeping.",
            "sudo sysctl fs.inotify.max_user_instances=1024",
        )
    })
}

/// What is dated in the future: the newest date of all.
fn future(team: &TeamDir, now: Timestamp) -> Option<Finding> {
    let newest = dates(team).into_iter().max_by_key(|(date, _)| *date);
    let (date, about) = newest?;
    let ahead = date.since(now);
    (ahead > TOLERANCE).then(|| {
        Finding::for_a_person(
            Kind::Clock,
            &about,
            format!("{about} is dated {} s in the future", ahead.as_secs()),
            "The clock was set back, or another machine's clock is ahead: deadlines, ages and \
             times of events are wrong until then. Nothing is lost, as no order depends on it.",
            "timedatectl",
        )
    })
}

/// The dates in the files, each with the thing that bears it.
fn dates(team: &TeamDir) -> Vec<(Timestamp, String)> {
    let mut dates = Vec::new();
    let members = team.roster().map(|roster| roster.members.clone());
    let owners = members.into_iter().flatten().map(|member| member.name);
    let owners = owners.map(Recipient::Member).chain([Recipient::Lead]);
    for owner in owners {
        if let Ok(Some(live)) = team.live_state(&owner) {
            let signs = [Some(live.since), live.progress_at].into_iter().flatten();
            dates.extend(signs.map(|date| (date, format!("the state of '{owner}'"))));
        }
    }
    for request in team.requests().into_iter().flatten().flatten() {
        dates.push((request.created_at, format!("request {}", request.id)));
    }
    for task in team.tasks().into_iter().flatten().flatten() {
        let changed = [task.created_at, task.updated_at].into_iter().flatten();
        dates.extend(changed.map(|date| (date, format!("task #{}", task.id))));
    }
    dates
}
