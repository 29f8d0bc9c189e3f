//! The identity of a process: a pid alone is reused.

use crate::clock::now;
use protocol::{Holder, Incarnation};
use std::fs;

impl crate::MemberGuard {
    /// This process, as it describes itself in the locks it holds.
    pub(crate) fn describe_self(incarnation: Incarnation) -> Holder {
        let pid = std::process::id();
        let host = nix::unistd::gethostname().unwrap_or_default();
        Holder {
            pid,
            start_time: start_time(pid).unwrap_or(0),
            boot_id: boot_id(),
            host: host.to_string_lossy().into_owned(),
            incarnation,
            since: now(),
            extra: protocol::Extra::new(),
        }
    }
}

/// Whether the process that `holder` describes still runs: the same pid, started at the same
/// time, in the same boot. A process that merely got its pid later is another one, and one that
/// is dead but not yet collected by its parent does not run.
pub fn is_running(holder: &Holder) -> bool {
    holder.boot_id == boot_id()
        && holder.start_time != 0
        && start_time(holder.pid) == Some(holder.start_time)
}

/// When a living process started, in clock ticks since boot.
fn start_time(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the program's name in brackets and may contain anything.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X" | "x") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

fn boot_id() -> String {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id");
    text.map(|text| text.trim().to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_runs_and_an_earlier_one_with_its_pid_does_not() {
        let holder = crate::MemberGuard::describe_self(Incarnation(1));
        assert!(is_running(&holder));
        let earlier = Holder {
            start_time: holder.start_time - 1,
            ..holder.clone()
        };
        assert!(!is_running(&earlier));
        let other_boot = Holder {
            boot_id: "another".into(),
            ..holder
        };
        assert!(!is_running(&other_boot));
    }
}
