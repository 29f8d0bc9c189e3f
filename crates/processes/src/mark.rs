//! The mark that a member's commands carry in their environment, and the killing of commands that outlive
//! the member.

use crate::start::start_lock::StartGuard;
use command::kill_marked;
use protocol::Recipient;
use teamdir::{Liveness, TeamDir};

/// The prefix of the marks of all commands of this member. It contains the workspace, so that equal names
/// in two teams differ.
pub fn mark_of(team: &TeamDir, owner: &Recipient) -> String {
    let workspace = team.workspace();
    // Two paths of the same folder must give the same mark.
    let workspace = workspace
        .canonicalize()
        .unwrap_or_else(|_| workspace.to_path_buf());
    format!("{}:{owner}", workspace.display())
}

/// Kills the processes that commands of an ended member left running, and returns how many there were. Does
/// nothing while the member runs. The start lock guarantees that no incarnation starts meanwhile.
pub(crate) fn sweep(team: &TeamDir, guard: &StartGuard) -> usize {
    let owner = Recipient::Member(guard.name.clone());
    match team.liveness(&owner) {
        Ok(Liveness::Gone(_)) => {
            let mark = mark_of(team, &owner);
            kill_marked(|found| is_of(found, &mark))
        }
        Ok(Liveness::Alive(_)) | Err(_) => 0,
    }
}

/// Whether a command's mark belongs to an owner. A mark is the owner, a dot, and the command's number.
fn is_of(mark: &str, owner: &str) -> bool {
    mark.strip_prefix(owner)
        .is_some_and(|rest| rest.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_a_prefix_of_another_has_its_own_mark() {
        assert!(is_of("/w:al.7", "/w:al"));
        assert!(!is_of("/w:alice.7", "/w:al"));
        assert!(!is_of("/w:al", "/w:al"));
        assert!(!is_of("/other:al.7", "/w:al"));
    }
}
