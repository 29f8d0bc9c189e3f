//! All checks, one after the other.

mod files;
mod machine;
mod people;

use crate::finding::{Cure, Finding, Kind};
use crate::surroundings::Surroundings;
use std::io;
use teamdir::{PathError, TeamDir};

/// Looks at a team and says what is wrong with it. Changes nothing.
pub fn examine(team: &TeamDir, surroundings: &Surroundings) -> Vec<Finding> {
    let mut findings = machine::check(team, surroundings);
    findings.extend(people::check(team, surroundings));
    findings.extend(files::check(team, surroundings));
    findings
}

/// What a check found, or that it could not look.
fn or_no_access(result: Result<Vec<Finding>, PathError>) -> Vec<Finding> {
    result.unwrap_or_else(|error| vec![no_access(&error)])
}

fn no_access(error: &PathError) -> Finding {
    let path = error.path().display();
    if error.kind() == io::ErrorKind::IsADirectory {
        return Finding::with_cure(
            Kind::NoAccess,
            path.to_string(),
            format!("{path} is a folder, and should be a file"),
            "The team cannot write to it.",
            Cure::Folder(error.path().to_path_buf()),
        );
    }
    Finding::for_a_person(
        Kind::NoAccess,
        path.to_string(),
        error.to_string(),
        "The team cannot work with a file that it cannot read. If its disk fails, no program can \
         mend it.",
        format!("ls -ld {path}"),
    )
}
