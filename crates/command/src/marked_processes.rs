//! Finds processes by the mark in their environment.
//!
//! One look at all processes is enough if nobody starts the owner of the mark meanwhile. A process that was
//! forked and has executed nothing yet has the environment of its parent, and also the parent's descriptors:
//! it holds the parent's `flock` until exec closes it. At that point the old memory is gone, so
//! whoever got the lock sees the new environment, or that it is not there yet ([`Environment::InExec`]), and
//! then it is read again. The kernel lists processes by rising numbers, and a child has a higher number than
//! its parent, unless the numbers have begun again at the lowest meanwhile: then there is another look.

use std::fs;
use std::process;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use nix::unistd::Pid;

use crate::environment::{Environment, EnvironmentReader, Found, find_setting};
use crate::pidfd::Pidfd;

/// The variable that every process of a command has in its environment. A program that starts a
/// daemon which is to outlive the command removes it, and puts the daemon in a session of its own.
pub const MARK: &str = "TEAM_JOB";

/// How long processes are looked for that keep appearing, or that do not finish an exec.
const LIMIT: Duration = Duration::from_secs(2);
/// How often a process is looked at that is in the middle of exec, which usually takes less than a
/// millisecond.
const EXEC_INTERVAL: Duration = Duration::from_micros(200);

/// A process that carries a mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkedProcess {
    pub pid: i32,
    /// The value of [`MARK`] in its environment.
    pub mark: String,
}

/// The processes with a mark, among those whose environment is readable, without this process.
pub fn marked_processes() -> Vec<MarkedProcess> {
    look(Instant::now())
}

/// Sends SIGKILL to every process whose mark matches, including those started meanwhile, and waits for
/// their end. Returns the number of killed processes. Gives up after two seconds.
pub fn kill_marked(matches: impl Fn(&str) -> bool) -> usize {
    let deadline = Instant::now() + LIMIT;
    let mut killed = 0;
    let mut clean_looks = 0;
    loop {
        let newest = newest_process();
        let mut all = look(deadline);
        all.retain(|process| matches(&process.mark));
        if all.is_empty() {
            // Without the numbers a second look makes it unlikely enough that one was missed.
            let have_risen = newest.is_some_and(|before| newest_process() >= Some(before));
            clean_looks += if have_risen { 2 } else { 1 };
        } else {
            clean_looks = 0;
        }
        if clean_looks >= 2 || Instant::now() >= deadline {
            return killed;
        }
        let ending: Vec<Pidfd> = all.iter().filter_map(kill).collect();
        killed += ending.len();
        if ending.len() < all.len() {
            // It has ended or executed another program since it was found.
            thread::sleep(EXEC_INTERVAL);
        }
        for process in ending {
            process.wait(deadline.saturating_duration_since(Instant::now()));
        }
    }
}

/// Looks at all processes once. Those in the middle of exec are looked at again until the deadline.
fn look(deadline: Instant) -> Vec<MarkedProcess> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let mut reader = EnvironmentReader::new();
    let mut found = Vec::new();
    let mut in_exec = Vec::new();
    let names = entries.flatten().map(|entry| entry.file_name());
    let pids = names.filter_map(|name| name.to_str()?.parse().ok());
    for pid in pids.filter(|pid: &i32| u32::try_from(*pid) != Ok(process::id())) {
        match reader.read(pid) {
            Environment::Known(environment) => found.extend(marked(pid, environment)),
            Environment::InExec => in_exec.push(pid),
            Environment::Absent => {}
        }
    }
    while !in_exec.is_empty() && Instant::now() < deadline {
        thread::sleep(EXEC_INTERVAL);
        in_exec.retain(|pid| match reader.read(*pid) {
            Environment::Known(environment) => {
                found.extend(marked(*pid, environment));
                false
            }
            Environment::InExec => true,
            Environment::Absent => false,
        });
    }
    found
}

/// The number that was given to a process last.
fn newest_process() -> Option<i32> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    text.split_ascii_whitespace().nth(4)?.parse().ok()
}

/// Kills the process if it is still the one that was found. Returns a handle on it if it was killed.
fn kill(process: &MarkedProcess) -> Option<Pidfd> {
    let handle = Pidfd::open(Pid::from_raw(process.pid)).ok()?;
    // The handle names one process for good. It is the right one if the mark is still there.
    let setting = format!("{MARK}={}", process.mark);
    let is_same = find_setting(process.pid, setting.as_bytes()) == Found::Yes;
    (is_same && handle.send_signal(Signal::SIGKILL).is_ok()).then_some(handle)
}

/// The process, if its environment has a mark.
fn marked(pid: i32, environment: &[u8]) -> Option<MarkedProcess> {
    let settings = environment.split(|byte| *byte == 0);
    let settings = settings.filter_map(|setting| std::str::from_utf8(setting).ok());
    let mut values = settings.filter_map(|setting| setting.strip_prefix(MARK)?.strip_prefix('='));
    let mark = values.next()?.to_owned();
    Some(MarkedProcess { pid, mark })
}
