//! Runs all checks.

mod environment;
mod files;
mod members;
mod notes;
mod trees;

use crate::environment::Environment;
use crate::finding::{Finding, Fix, Kind};
use safe_open::Refusal;
use std::path::Path;
use teamdir::{PathError, TeamDir};

/// Checks a team and returns its problems. Changes nothing.
pub fn examine(team: &TeamDir, environment: &Environment) -> Vec<Finding> {
    let mut findings = environment::check(team, environment);
    findings.extend(members::check(team, environment));
    findings.extend(files::check(team, environment));
    findings.extend(trees::check(team, environment));
    without_repeats(findings)
}

/// Removes repeated findings. Several checks may report the same file; the finding with a fix is kept.
fn without_repeats(findings: Vec<Finding>) -> Vec<Finding> {
    let mut kept: Vec<Finding> = Vec::new();
    for finding in findings {
        let same =
            |known: &&mut Finding| known.kind == finding.kind && known.about == finding.about;
        match kept.iter_mut().find(same) {
            Some(known) if known.fix.is_none() => *known = finding,
            Some(known) if known.fix == finding.fix || finding.fix.is_none() => {}
            Some(_) | None => kept.push(finding),
        }
    }
    kept
}

/// Whether `finding` says only that `cause` has made a file unreadable.
fn follows(finding: &Finding, cause: &Finding) -> bool {
    let of_access = |finding: &Finding| {
        let kinds = [Kind::NoAccess, Kind::Misplaced, Kind::SeveralNames];
        kinds.contains(&finding.kind)
    };
    of_access(finding) && of_access(cause) && Path::new(&finding.about).starts_with(&cause.about)
}

/// The findings of a check. If it could not read its files, that is the finding.
fn or_no_access(result: Result<Vec<Finding>, PathError>) -> Vec<Finding> {
    result.unwrap_or_else(|error| vec![no_access(&error)])
}

fn no_access(error: &PathError) -> Finding {
    let path = error.path().display();
    let kind = match error.refusal() {
        Some(Refusal::NotRegular(found)) => return misplaced(error.path(), *found),
        Some(Refusal::Link(at)) => return misplaced(at, safe_open::Kind::Link),
        Some(Refusal::SeveralNames(_)) => Kind::SeveralNames,
        Some(Refusal::TooLarge { .. }) => Kind::DamagedFile,
        None => Kind::NoAccess,
    };
    Finding::manual(
        kind,
        path.to_string(),
        error.to_string(),
        "The team cannot work with a file that it cannot read. If the disk is failing, no program can \
         fix it.",
        format!("ls -ld {path}"),
    )
}

fn misplaced(path: &Path, found: safe_open::Kind) -> Finding {
    let shown = path.display().to_string();
    Finding::automatic(
        Kind::Misplaced,
        &shown,
        format!("{shown} is {found}"),
        "The team opens regular files in real folders only, and follows no link: whoever put it there \
         could lead its commands elsewhere, or make them wait.",
        Fix::Misplaced(path.to_path_buf()),
    )
}
