//! Checks of members: deaths, claims, requests, locks, processes.

use super::or_no_access;
use crate::environment::Environment;
use crate::finding::{Finding, Fix, Kind};
use crate::lock_holders::{describe, holders, is_ours};
use crate::orphan_processes::{OrphanProcess, orphan_processes};
use command::shell_word;
use processes::{ProcessHandle, ProcessHandleError};
use protocol::{Recipient, RequestKind, Timestamp};
use team::unanswerable;
use teamdir::{PathError, TeamDir};

pub(super) fn check(team: &TeamDir, environment: &Environment) -> Vec<Finding> {
    let mut findings = deaths(team);
    findings.extend(or_no_access(claims(team)));
    findings.extend(or_no_access(roles(team)));
    findings.extend(or_no_access(requests(team, environment.now)));
    findings.extend(commands(team));
    findings.extend(locks(team));
    findings.extend(orphan_processes(team).into_iter().map(orphan));
    findings
}

fn deaths(team: &TeamDir) -> Vec<Finding> {
    // Unreadable files are found by the checks of files.
    let views = processes::member_views(team).into_iter().flatten();
    let dead = views.filter(processes::MemberView::is_unreaped);
    dead.map(|view| {
        let name = &view.member.spec.name;
        let incarnation = view.member.incarnation;
        Finding::automatic(
            Kind::UnreapedDeath,
            name.as_str(),
            format!("'{name}' died (incarnation {incarnation}), and no process has reaped it"),
            "The lead has not been notified, and its task is still in progress.",
            Fix::Repair,
        )
    })
    .collect()
}

fn claims(team: &TeamDir) -> Result<Vec<Finding>, PathError> {
    let orphans = processes::orphan_claims(team)?.into_iter();
    let found = orphans.map(|orphan| {
        Finding::automatic(
            Kind::OrphanClaim,
            format!("task #{}", orphan.task),
            format!("task #{} is in progress, but {}", orphan.task, orphan.why),
            "Nobody works on the task, and nobody can claim it.",
            Fix::Repair,
        )
    });
    Ok(found.collect())
}

fn roles(team: &TeamDir) -> Result<Vec<Finding>, PathError> {
    let board = team::list(team)?.board;
    // A roster that cannot be read is found by the checks of files.
    let missing = team::missing_roles(team, &board).unwrap_or_default();
    let found = missing.into_iter().map(|missing| {
        Finding::manual(
            Kind::MissingRole,
            format!("role {}", missing.role),
            missing.to_string(),
            "Nobody claims these tasks, and what is blocked by them waits too. Spawn a member with the \
             role, or change the tasks with `team-lead task update N --role ''`.",
            format!("team-lead spawn NAME {}", shell_word(&missing.role)),
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
            RequestKind::Permission => "permission request",
            RequestKind::Question => "question",
        };
        findings.push(Finding::automatic(
            Kind::OverdueRequest,
            id.as_str(),
            format!(
                "the {kind} {id} to '{}' is still pending: {reason}",
                request.to
            ),
            "It waits for an answer that can no longer come or count.",
            Fix::Repair,
        ));
    }
    Ok(findings)
}

fn commands(team: &TeamDir) -> impl Iterator<Item = Finding> {
    let found = processes::unfinished_commands(team).into_iter();
    found.map(|name| {
        let problem =
            format!("the command {name} was cut off, and nobody has looked for what it created");
        Finding::automatic(
            Kind::UnfinishedCommand,
            name,
            problem,
            "It may have left files that make other programs run code, such as .envrc.",
            Fix::Repair,
        )
    })
}

fn locks(team: &TeamDir) -> Vec<Finding> {
    let roster = team.roster().map(|roster| roster.members.clone());
    let names = roster.into_iter().flatten().map(|member| member.spec.name);
    let owners = names.map(Recipient::Member).chain([Recipient::Lead]);
    let unnamed = owners.filter(|owner| {
        let process = ProcessHandle::of(team, owner);
        matches!(process, Err(ProcessHandleError::Unnamed { .. }))
    });
    unnamed.map(|owner| held_lock(team, owner)).collect()
}

fn held_lock(team: &TeamDir, owner: Recipient) -> Finding {
    let problem = format!("an unidentified process holds the lock of '{owner}'");
    let meaning = "The member counts as alive and cannot be started or signalled. A program that the \
                   member started may have inherited the lock.";
    let holders = holders(&team.layout().member_lock(&owner));
    if !holders.is_empty() && holders.iter().all(|pid| is_ours(team, &owner, *pid)) {
        let about = owner.as_str().to_owned();
        let fix = Fix::ReleaseLock(owner);
        return Finding::automatic(Kind::HeldLock, about, problem, meaning, fix);
    }
    let path = team.layout().member_lock(&owner);
    let pids: Vec<String> = holders.iter().map(ToString::to_string).collect();
    let command = match pids.is_empty() {
        true => format!("sudo fuser -v {}", path.display()),
        false => format!("kill {}", pids.join(" ")),
    };
    let named: Vec<String> = holders.iter().map(|pid| describe(*pid)).collect();
    let problem = match named.is_empty() {
        true => problem,
        false => format!("{problem}: {}", named.join(", ")),
    };
    let meaning = format!("{meaning} Only a person can decide whether it may be ended.");
    Finding::manual(Kind::HeldLock, owner.as_str(), problem, &meaning, command)
}

fn orphan(orphan: OrphanProcess) -> Finding {
    let (pid, problem) = match &orphan {
        OrphanProcess::Command { pid, owner, mark } => {
            let whose = owner.as_ref().map_or(mark.as_str(), Recipient::as_str);
            (
                *pid,
                format!("process {pid} is a command of '{whose}', which is not running"),
            )
        }
        OrphanProcess::Teammate { pid, name } => (
            *pid,
            format!("process {pid} is the teammate '{name}', which is not in the roster"),
        ),
    };
    Finding::automatic(
        Kind::OrphanProcess,
        format!("process {pid}"),
        problem,
        "It uses the workspace and may cost money, and no member uses its results.",
        Fix::EndProcess(orphan),
    )
}
