//! Members and what they owe each other: deaths, claims, requests, locks, processes.

use super::or_no_access;
use crate::finding::{Cure, Finding, Kind};
use crate::holders::{described, holders, is_ours};
use crate::processes::{Stray, strays};
use crate::surroundings::Surroundings;
use processes::{ProcessHandle, ProcessHandleError};
use protocol::{Recipient, RequestKind, Timestamp};
use team::unanswerable;
use teamdir::{PathError, TeamDir};

pub(super) fn check(team: &TeamDir, surroundings: &Surroundings) -> Vec<Finding> {
    let mut findings = deaths(team);
    findings.extend(or_no_access(claims(team)));
    findings.extend(or_no_access(requests(team, surroundings.now)));
    findings.extend(locks(team));
    findings.extend(strays(team).into_iter().map(stray));
    findings
}

fn deaths(team: &TeamDir) -> Vec<Finding> {
    // A file that cannot be read is found by the check of all files.
    let views = processes::views(team).into_iter().flatten();
    let dead = views.filter(processes::MemberView::is_unreaped);
    dead.map(|view| {
        let name = &view.member.name;
        let incarnation = view.member.incarnation;
        Finding::with_cure(
            Kind::UnreapedDeath,
            name.as_str(),
            format!("'{name}' died in incarnation {incarnation}, and nobody has dealt with it"),
            "The lead has not been told, and its task is still marked as in progress.",
            Cure::Repair,
        )
    })
    .collect()
}

fn claims(team: &TeamDir) -> Result<Vec<Finding>, PathError> {
    let orphans = processes::orphan_claims(team)?.into_iter();
    let found = orphans.map(|orphan| {
        Finding::with_cure(
            Kind::OrphanClaim,
            format!("task #{}", orphan.task),
            format!("task #{} is in progress, but {}", orphan.task, orphan.why),
            "Nobody works on the task, and nobody can claim it.",
            Cure::Repair,
        )
    });
    Ok(found.collect())
}

fn requests(team: &TeamDir, now: Timestamp) -> Result<Vec<Finding>, PathError> {
    let mut findings = Vec::new();
    for (request, reason) in unanswerable(team, now)? {
        let id = &request.id;
        let kind = match request.kind() {
            RequestKind::Shutdown => "shutdown request",
            RequestKind::Plan => "plan",
        };
        findings.push(Finding::with_cure(
            Kind::OverdueRequest,
            id.as_str(),
            format!("the {kind} {id} to '{}' still waits: {reason}", request.to),
            "It waits for an answer that does not count any more, or that nobody needs.",
            Cure::Repair,
        ));
    }
    Ok(findings)
}

fn locks(team: &TeamDir) -> Vec<Finding> {
    let roster = team.roster().map(|roster| roster.members.clone());
    let names = roster.into_iter().flatten().map(|member| member.name);
    let owners = names.map(Recipient::Member).chain([Recipient::Lead]);
    let unnamed = owners.filter(|owner| {
        let process = ProcessHandle::of(team, owner);
        matches!(process, Err(ProcessHandleError::Unnamed { .. }))
    });
    unnamed.map(|owner| held_lock(team, owner)).collect()
}

fn held_lock(team: &TeamDir, owner: Recipient) -> Finding {
    let problem = format!("a process that does not say who it is holds the lock of '{owner}'");
    let meaning = "The member counts as alive and cannot be started or signalled. A program that the \
                   member started may have inherited the lock.";
    let holders = holders(&team.layout().member_lock(&owner));
    if !holders.is_empty() && holders.iter().all(|pid| is_ours(team, &owner, *pid)) {
        let about = owner.as_str().to_owned();
        let cure = Cure::Release(owner);
        return Finding::with_cure(Kind::HeldLock, about, problem, meaning, cure);
    }
    let path = team.layout().member_lock(&owner);
    let pids: Vec<String> = holders.iter().map(ToString::to_string).collect();
    let fix = match pids.is_empty() {
        true => format!("sudo fuser -v {}", path.display()),
        false => format!("kill {}", pids.join(" ")),
    };
    let named: Vec<String> = holders.iter().map(|pid| described(*pid)).collect();
    let problem = match named.is_empty() {
        true => problem,
        false => format!("{problem}: {}", named.join(", ")),
    };
    let meaning = format!("{meaning} Whether it may be ended only a person knows.");
    Finding::for_a_person(Kind::HeldLock, owner.as_str(), problem, &meaning, fix)
}

fn stray(stray: Stray) -> Finding {
    let (pid, problem) = match &stray {
        Stray::Command { pid, owner, mark } => {
            let whose = owner.as_ref().map_or(mark.as_str(), Recipient::as_str);
            (
                *pid,
                format!("process {pid} is a command of '{whose}', which does not run"),
            )
        }
        Stray::Teammate { pid, name } => (
            *pid,
            format!("process {pid} is the teammate '{name}', which is not in the roster"),
        ),
    };
    Finding::with_cure(
        Kind::StrayProcess,
        format!("process {pid}"),
        problem,
        "It uses the workspace and perhaps money, and nobody waits for what it does.",
        Cure::End(stray),
    )
}
