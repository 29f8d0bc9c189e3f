//! The processes of a team: which there are, and letting them stand still.

use super::{LIMIT, Team, contains, signal};
use std::fs;
use test_support::wait_until;

impl Team {
    /// The processes that run for this team.
    pub(crate) fn processes(&self) -> Vec<(i32, String)> {
        let own = i32::try_from(std::process::id()).unwrap();
        let mark = self.path().as_os_str().as_encoded_bytes();
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let name = entry.file_name();
            let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            if pid == own {
                continue;
            }
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let environ = fs::read(entry.path().join("environ")).unwrap_or_default();
            if contains(&line, mark) || contains(&environ, mark) {
                let line = String::from_utf8_lossy(&line).replace('\0', " ");
                found.push((pid, line));
            }
        }
        found
    }

    /// Ends all members and checks that nothing of the team runs any more.
    #[track_caller]
    pub(crate) fn end(&self) {
        let run = self.lead(&["shutdown", "--all", "--force", "--timeout", "0"]);
        assert!(matches!(run.code, 0 | 3), "{run:?}");
        self.check_gone();
    }

    /// Checks that nothing of the team runs any more.
    #[track_caller]
    pub(crate) fn check_gone(&self) {
        let gone = test_support::try_wait_for(LIMIT, || self.processes().is_empty().then_some(()));
        assert!(gone.is_some(), "these still run: {:?}", self.processes());
    }

    /// Does something while a member's process stands still, so that it sees all of it at once.
    #[track_caller]
    pub(crate) fn while_stopped<T>(&self, name: &str, work: impl FnOnce() -> T) -> T {
        let pid = self.stop(name);
        let done = work();
        signal(pid, "CONT");
        done
    }

    /// Lets a member's process stand still, and returns when it does, with no lock that others need
    /// in its hands.
    #[track_caller]
    pub(crate) fn stop(&self, name: &str) -> u32 {
        let pid = self.process(name).holder().pid;
        wait_until(&format!("{name} to stand still"), LIMIT, || {
            signal(pid, "STOP");
            wait_until("SIGSTOP to work", LIMIT, || is_stopped(pid));
            let free = self.locks_are_free();
            if !free {
                signal(pid, "CONT");
            }
            free
        });
        pid
    }

    /// Whether nobody holds any of the locks that are held for a moment only.
    fn locks_are_free(&self) -> bool {
        self.paths().iter().all(|path| {
            let name = path.file_name().unwrap_or_default().as_encoded_bytes();
            let file = name.ends_with(b".lock").then(|| fs::File::open(path));
            match file {
                Some(Ok(file)) => file.try_lock().is_ok(),
                Some(Err(_)) | None => true,
            }
        })
    }
}

/// Whether all threads of a process stand still.
fn is_stopped(pid: u32) -> bool {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return false;
    };
    threads.flatten().all(|thread| {
        let stat = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        let state = stat
            .rsplit_once(") ")
            .map(|(_, rest)| rest.starts_with('T'));
        state == Some(true)
    })
}
