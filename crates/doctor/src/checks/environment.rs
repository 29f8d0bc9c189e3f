//! Checks of the environment: programs, models, inotify, clock.

use crate::clock;
use crate::environment::{Environment, Inotify, Problem};
use crate::finding::{Finding, Fix, Kind};
use crate::fix::sufficient_instances;
use nix::unistd::{AccessFlags, access};
use teamdir::TeamDir;

/// Fewer free instances than this are a problem: each member and each waiting command needs one.
const FEW_INSTANCES: u64 = 4;

pub(super) fn check(team: &TeamDir, environment: &Environment) -> Vec<Finding> {
    let mut findings = Vec::new();
    let programs = environment.teammate.as_ref().err().into_iter();
    findings.extend(each(
        Kind::NoTeammate,
        programs,
        "No member can be started or restarted.",
    ));
    findings.extend(each(
        Kind::NoModel,
        environment.model_problems.iter(),
        "A member with this model fails at its first turn. Choose another model or set a key.",
    ));
    findings.extend(each(
        Kind::UnusableText,
        environment.text_problems.iter(),
        "Members are not told what it says.",
    ));
    findings.extend(environment.inotify.as_ref().and_then(few_instances));
    findings.extend(clock::check(team, environment.now));
    findings
}

/// One finding for each problem.
fn each<'a>(
    kind: Kind,
    problems: impl Iterator<Item = &'a Problem>,
    meaning: &str,
) -> impl Iterator<Item = Finding> {
    problems.map(move |problem| {
        let Problem {
            about,
            text,
            command,
        } = problem;
        Finding::manual(kind, about, text, meaning, command)
    })
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
