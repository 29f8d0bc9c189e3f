//! All checks.

mod environment;
mod files;
mod members;

use crate::environment::Environment;
use crate::finding::{Finding, Fix, Kind};
use std::io;
use teamdir::{PathError, TeamDir};

/// Checks a team and returns its problems. Changes nothing.
pub fn examine(team: &TeamDir, environment: &Environment) -> Vec<Finding> {
    let mut findings = environment::check(team, environment);
    findings.extend(members::check(team, environment));
    findings.extend(files::check(team, environment));
    findings
}

/// The result of a check, or the finding that it could not read its files.
fn or_no_access(result: Result<Vec<Finding>, PathError>) -> Vec<Finding> {
    result.unwrap_or_else(|error| vec![no_access(&error)])
}

fn no_access(error: &PathError) -> Finding {
    let path = error.path().display();
    if error.kind() == io::ErrorKind::IsADirectory {
        return Finding::automatic(
            Kind::NoAccess,
            path.to_string(),
            format!("{path} is a folder where a file is expected"),
            "The team cannot write to it.",
            Fix::Folder(error.path().to_path_buf()),
        );
    }
    Finding::manual(
        Kind::NoAccess,
        path.to_string(),
        error.to_string(),
        "The team cannot work with a file that it cannot read. If the disk is failing, no program can \
         fix it.",
        format!("ls -ld {path}"),
    )
}
