//! The machine: programs, models, notifications, clocks.

use crate::clock;
use crate::cure::enough;
use crate::finding::{Cure, Finding, Kind};
use crate::surroundings::{Complaint, Inotify, Surroundings};
use rustix::fs::{Access, access};
use teamdir::TeamDir;

/// Each member and each command that waits takes one instance.
const FEW_INSTANCES: u64 = 4;

pub(super) fn check(team: &TeamDir, surroundings: &Surroundings) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Err(Complaint { problem, fix }) = &surroundings.teammate {
        findings.push(Finding::for_a_person(
            Kind::NoTeammate,
            "teammate",
            problem,
            "No member can be started or restarted. Where the program comes from only a person \
             knows.",
            fix,
        ));
    }
    for Complaint { problem, fix } in &surroundings.model_problems {
        findings.push(Finding::for_a_person(
            Kind::NoModel,
            "model",
            problem,
            "Whoever thinks with it fails at its first turn. Only a person can choose another one \
             or get a key.",
            fix,
        ));
    }
    findings.extend(surroundings.inotify.as_ref().and_then(few_instances));
    findings.extend(clock::check(team, surroundings.now));
    findings
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
    let meaning =
        "Members that get none look at their files five times a second instead of sleeping.";
    Some(match access(setting, Access::WRITE_OK) {
        Ok(()) => {
            let cure = Cure::Raise(setting.clone());
            Finding::with_cure(Kind::Inotify, about, problem, meaning, cure)
        }
        // Only root may change it.
        Err(_) => {
            let fix = format!("sudo sysctl {about}={}", enough(*limit));
            Finding::for_a_person(Kind::Inotify, about, problem, meaning, fix)
        }
    })
}
