//! Finds processes by the mark in their environment.

use std::fs;
use std::process;
use std::thread;
use std::time::Duration;

use nix::sys::signal::Signal;
use nix::unistd::Pid;

use crate::environment::{Found, find_setting};
use crate::pidfd::Pidfd;

/// The variable that every process of a command has in its environment. A program that starts a
/// daemon which is to outlive the command removes it, and puts the daemon in a session of its own.
pub const MARK: &str = "TEAM_JOB";

/// A process that carries a mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survivor {
    pub pid: i32,
    /// The value of [`MARK`] in its environment.
    pub mark: String,
}

/// The processes with a mark, among those whose environment is readable, without this process.
pub fn survivors() -> Vec<Survivor> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let names = entries.flatten().map(|entry| entry.file_name());
    let pids = names.filter_map(|name| name.to_str()?.parse().ok());
    let others = pids.filter(|pid: &i32| u32::try_from(*pid) != Ok(process::id()));
    let found = others.filter_map(|pid| {
        let mark = mark_of(pid)?;
        Some(Survivor { pid, mark })
    });
    found.collect()
}

/// Sends SIGKILL to every process whose mark matches, including those started meanwhile. Returns the
/// number of killed processes. Gives up after two seconds.
pub fn kill_survivors(matches: impl Fn(&str) -> bool) -> usize {
    let mut killed = 0;
    let mut empty_rounds = 0;
    for _ in 0..ROUNDS {
        let all = survivors();
        empty_rounds += 1;
        for survivor in all.iter().filter(|survivor| matches(&survivor.mark)) {
            empty_rounds = 0;
            killed += usize::from(kill(survivor));
        }
        // During exec a process has no readable environment for a moment.
        if empty_rounds == 2 {
            break;
        }
        thread::sleep(PAUSE);
    }
    killed
}

const ROUNDS: usize = 100;
/// A killed process needs a moment to disappear.
const PAUSE: Duration = Duration::from_millis(20);

/// Kills the process if it is still the one that was found. Returns whether it was killed.
fn kill(survivor: &Survivor) -> bool {
    let Ok(handle) = Pidfd::open(Pid::from_raw(survivor.pid)) else {
        return false;
    };
    // The handle names one process for good. It is the right one if the mark is still there.
    let setting = format!("{MARK}={}", survivor.mark);
    find_setting(survivor.pid, setting.as_bytes()) == Found::Yes
        && handle.send_signal(Signal::SIGKILL).is_ok()
}

fn mark_of(pid: i32) -> Option<String> {
    let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let settings = environment.split(|byte| *byte == 0);
    let settings = settings.filter_map(|setting| std::str::from_utf8(setting).ok());
    let values = settings.filter_map(|setting| setting.strip_prefix(MARK)?.strip_prefix('='));
    values.map(str::to_owned).next()
}
