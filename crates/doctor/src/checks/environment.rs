//! Checks of the environment: programs, models, inotify, clock.

use crate::clock;
use crate::environment::{Environment, Inotify, Problem};
use crate::finding::{Finding, Fix, Kind};
use crate::fix::sufficient_instances;
use nix::unistd::{AccessFlags, access};
use teamdir::TeamDir;

/// Each member and each waiting command needs one instance.
const FEW_INSTANCES: u64 = 4;

pub(super) fn check(team: &TeamDir, environment: &Environment) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Err(Problem {
        text: problem,
        command,
    }) = &environment.teammate
    {
        findings.push(Finding::manual(
            Kind::NoTeammate,
            "teammate",
            problem,
            "No member can be started or restarted.",
            command,
        ));
    }
    for Problem {
        text: problem,
        command,
    } in &environment.model_problems
    {
        findings.push(Finding::manual(
            Kind::NoModel,
            "model",
            problem,
            "A member with this model fails at its first turn. Choose another model or set a key.",
            command,
        ));
    }
    findings.extend(unusable_texts(&environment.text_problems));
    findings.extend(environment.inotify.as_ref().and_then(few_instances));
    findings.extend(clock::check(team, environment.now));
    findings
}

/// All texts in one finding, since the same command shows all of them.
fn unusable_texts(problems: &[Problem]) -> Option<Finding> {
    let first = problems.first()?;
    let texts: Vec<&str> = problems.iter().map(|it| it.text.as_str()).collect();
    Some(Finding::manual(
        Kind::UnusableText,
        "instructions",
        texts.join("; "),
        "Members are not told what it says.",
        &first.command,
    ))
}

fn few_instances(inotify: &Inotify) -> Option<Finding> {
    if inotify.left() >= FEW_INSTANCES {
        return None;
    }
    let Inotify {
        used,
        limit,
        setting,
    } = inotify;
    let about = "fs.inotify.max_user_instances";
    let problem = format!("this user has {used} of its {limit} inotify instances in use");
    let meaning = "Members without an instance poll their files five times a second.";
    Some(match access(setting, AccessFlags::W_OK) {
        Ok(()) => {
            let fix = Fix::RaiseInotifyLimit(setting.clone());
            Finding::automatic(Kind::Inotify, about, problem, meaning, fix)
        }
        // Only root may change it.
        Err(_) => {
            let command = format!("sudo sysctl {about}={}", sufficient_instances(*limit));
            Finding::manual(Kind::Inotify, about, problem, meaning, command)
        }
    })
}
