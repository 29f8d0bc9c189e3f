//! The mark that a member's commands carry, and ending those that outlived it.

use crate::start::start_lock::StartGuard;
use command::kill_survivors;
use protocol::Recipient;
use teamdir::{Liveness, TeamDir};

/// What the mark of every command of this member begins with: the owner that its tools are given.
/// It tells the same names of two teams apart.
pub fn mark_of(team: &TeamDir, owner: &Recipient) -> String {
    let workspace = team.workspace();
    // The same folder by another path must give the same mark.
    let workspace = workspace
        .canonicalize()
        .unwrap_or_else(|_| workspace.to_path_buf());
    format!("{}:{owner}", workspace.display())
}

/// Kills what the commands of a member left when its process went. Returns how many processes
/// there were. An incarnation that runs has commands of its own, and those are left alone: whoever holds
/// the start lock knows that none begins meanwhile.
pub(crate) fn sweep(team: &TeamDir, guard: &StartGuard) -> usize {
    let owner = Recipient::Member(guard.name.clone());
    match team.liveness(&owner) {
        Ok(Liveness::Gone(_)) => {
            let mark = mark_of(team, &owner);
            kill_survivors(|found| is_of(found, &mark))
        }
        Ok(Liveness::Alive(_)) | Err(_) => 0,
    }
}

/// Whether a command's mark is that of an owner: the owner, a dot, and the command's number.
fn is_of(mark: &str, owner: &str) -> bool {
    mark.strip_prefix(owner)
        .is_some_and(|rest| rest.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_begins_like_another_has_a_mark_of_its_own() {
        assert!(is_of("/w:al.7", "/w:al"));
        assert!(!is_of("/w:alice.7", "/w:al"));
        assert!(!is_of("/w:al", "/w:al"));
        assert!(!is_of("/other:al.7", "/w:al"));
    }
}
