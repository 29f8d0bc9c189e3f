//! The environment of another process: the search for a variable, without allocating, because the reaper
//! uses it too; and all of it, for those who look at many processes.

use std::ffi::CStr;
use std::fs;

use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::sys::stat::Mode;
use nix::unistd::read;
use std::os::fd::OwnedFd;

/// The result of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Yes,
    No,
    /// There is no environment, as during exec or after the end of a process.
    Empty,
    /// It cannot be read, because the process has ended or belongs to another user.
    Unreadable,
}

/// Whether the process has `setting`, which is `NAME=value`, in its initial environment.
pub(crate) fn find_setting(pid: i32, setting: &[u8]) -> Found {
    let mut path = [0; 32];
    let Some(path) = environ_path(pid, &mut path) else {
        return Found::Unreadable;
    };
    match open(path, OFlag::O_RDONLY | OFlag::O_CLOEXEC, Mode::empty()) {
        Ok(file) => search(&file, setting),
        Err(_) => Found::Unreadable,
    }
}

fn search(file: &OwnedFd, setting: &[u8]) -> Found {
    let mut buffer = [0; 4096];
    let mut matcher = Matcher::new(setting);
    let mut empty = true;
    loop {
        match read(file, &mut buffer) {
            Err(Errno::EINTR) => {}
            Ok(0) if empty => return Found::Empty,
            // The last variable may lack its NUL.
            Ok(0) if matcher.push(0) => return Found::Yes,
            Ok(0) => return Found::No,
            Ok(count) => {
                empty = false;
                if buffer.iter().take(count).any(|byte| matcher.push(*byte)) {
                    return Found::Yes;
                }
            }
            Err(_) => return Found::Unreadable,
        }
    }
}

/// Finds one string in a sequence of strings that end with NUL.
struct Matcher<'a> {
    wanted: &'a [u8],
    /// The number of matching bytes of the current string, or `None` if it differs.
    matched: Option<usize>,
}

impl<'a> Matcher<'a> {
    fn new(wanted: &'a [u8]) -> Self {
        Self {
            wanted,
            matched: Some(0),
        }
    }

    /// Takes one byte. Returns whether it completed the wanted string.
    fn push(&mut self, byte: u8) -> bool {
        if byte == 0 {
            let found = self.matched == Some(self.wanted.len());
            self.matched = Some(0);
            return found;
        }
        self.matched = self
            .matched
            .filter(|at| self.wanted.get(*at) == Some(&byte))
            .map(|at| at.saturating_add(1));
        false
    }
}

/// Writes `/proc/<pid>/environ` into the buffer.
fn environ_path(pid: i32, buffer: &mut [u8; 32]) -> Option<&CStr> {
    let mut digits = [0; 10];
    let mut count = 0;
    let mut rest = u32::try_from(pid).ok()?;
    for digit in &mut digits {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
        count += 1;
        if rest == 0 {
            break;
        }
    }
    let number = digits.iter().take(count).rev();
    let parts = b"/proc/".iter().chain(number).chain(b"/environ\0");
    for (place, byte) in buffer.iter_mut().zip(parts) {
        *place = *byte;
    }
    CStr::from_bytes_until_nul(buffer).ok()
}

/// The environment of a process, as far as it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Environment<'a> {
    /// The settings, each ended by NUL. There may be none.
    Known(&'a [u8]),
    /// The process is executing a program that has no environment yet.
    InExec,
    /// The process has ended, belongs to another user or is a part of the kernel.
    Absent,
}

/// Reads the environments of many processes into one buffer.
pub(crate) struct EnvironmentReader {
    buffer: Vec<u8>,
}

impl EnvironmentReader {
    pub(crate) fn new() -> Self {
        Self {
            buffer: vec![0; FIRST_BUFFER],
        }
    }

    pub(crate) fn read(&mut self, pid: i32) -> Environment<'_> {
        for _ in 0..READS {
            match self.read_once(pid) {
                Some(0) => {}
                Some(count) => {
                    return Environment::Known(self.buffer.get(..count).unwrap_or_default());
                }
                None => return Environment::Absent,
            }
            match why_empty(pid) {
                WhyEmpty::NoSettings => return Environment::Known(&[]),
                WhyEmpty::InExec => return Environment::InExec,
                WhyEmpty::NoProcess => return Environment::Absent,
                // The environment has come between the two reads.
                WhyEmpty::NotEmpty => {}
            }
        }
        // It executes one program after the other.
        Environment::InExec
    }

    /// Reads all of it, and returns its length. `None` if it cannot be read.
    fn read_once(&mut self, pid: i32) -> Option<usize> {
        let mut path = [0; 32];
        let path = environ_path(pid, &mut path)?;
        let file = open(path, OFlag::O_RDONLY | OFlag::O_CLOEXEC, Mode::empty()).ok()?;
        let mut length = 0;
        loop {
            let free = self.buffer.get_mut(length..)?;
            let room = free.len();
            match read(&file, free) {
                Err(Errno::EINTR) => {}
                Err(_) => return None,
                Ok(count) => {
                    length += count;
                    // The kernel fills the buffer as long as there is more.
                    if count < room {
                        return Some(length);
                    }
                    self.buffer.resize(2 * self.buffer.len(), 0);
                }
            }
        }
    }
}

/// The size of the buffer at first. Few environments are larger.
const FIRST_BUFFER: usize = 32 << 10;
/// How often a process is read that seems to have executed another program in between.
const READS: usize = 3;

/// Why no environment was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WhyEmpty {
    /// The process was started without settings.
    NoSettings,
    InExec,
    NoProcess,
    /// There is one now.
    NotEmpty,
}

fn why_empty(pid: i32) -> WhyEmpty {
    match fs::read(format!("/proc/{pid}/stat")) {
        Ok(stat) => why_empty_by(&stat),
        Err(_) => WhyEmpty::NoProcess,
    }
}

/// What `/proc/PID/stat` says about it. During exec the memory of a process is new, and where its
/// environment will be is still unknown.
fn why_empty_by(stat: &[u8]) -> WhyEmpty {
    /// Set for threads of the kernel, which have no memory of their own.
    const KERNEL_THREAD: u64 = 0x0020_0000;
    /// Set for processes that have begun to end, and have given up their memory.
    const EXITING: u64 = 0x4;
    // The name of the program may contain anything, and is in parentheses.
    let after_name = stat.iter().rposition(|byte| *byte == b')');
    let fields = after_name.and_then(|at| stat.get(at + 1..));
    let fields = String::from_utf8_lossy(fields.unwrap_or_default());
    let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
    // The first of these fields has the number 3 in proc(5).
    let field = |number: usize| fields.get(number - 3).copied();
    let number = |number| field(number).and_then(|text| text.parse::<u64>().ok());
    let has_ended = matches!(field(3), None | Some("Z" | "X"));
    if has_ended || number(9).is_none_or(|flags| flags & (KERNEL_THREAD | EXITING) != 0) {
        return WhyEmpty::NoProcess;
    }
    // While the kernel copies the environment it says that it is empty. Where the code begins comes after that.
    let is_loaded = number(26) != Some(0);
    match (number(50), number(51)) {
        (_, Some(0)) => WhyEmpty::InExec,
        (Some(_), Some(_)) if !is_loaded => WhyEmpty::InExec,
        (Some(start), Some(end)) if start == end => WhyEmpty::NoSettings,
        (Some(_), Some(_)) => WhyEmpty::NotEmpty,
        // A kernel that does not say.
        (None, _) | (_, None) => WhyEmpty::NoSettings,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line of `/proc/PID/stat` of a program whose name looks like the fields after it.
    fn stat(state: &str, flags: u64, environment: (u64, u64)) -> Vec<u8> {
        stat_with_code(10, state, flags, environment)
    }

    fn stat_with_code(code: u64, state: &str, flags: u64, environment: (u64, u64)) -> Vec<u8> {
        let (start, end) = environment;
        let before = "0 ".repeat(25 - 9);
        let between = "0 ".repeat(49 - 26);
        format!(
            "7 (a) Z 1 (b) {state} 1 7 7 0 -1 {flags} {before}{code} {between}{start} {end} 0\n"
        )
        .into_bytes()
    }

    #[test]
    fn an_empty_environment_is_told_from_one_that_comes() {
        assert_eq!(why_empty_by(&stat("R", 0, (0, 0))), WhyEmpty::InExec);
        assert_eq!(why_empty_by(&stat("S", 0, (90, 90))), WhyEmpty::NoSettings);
        assert_eq!(why_empty_by(&stat("S", 0, (90, 99))), WhyEmpty::NotEmpty);
        let copied = stat_with_code(0, "R", 0, (90, 90));
        assert_eq!(why_empty_by(&copied), WhyEmpty::InExec);
        assert_eq!(why_empty_by(&stat("Z", 0, (0, 0))), WhyEmpty::NoProcess);
        assert_eq!(why_empty_by(&stat("D", 0x4, (0, 0))), WhyEmpty::NoProcess);
        let kernel = stat("S", 0x0020_8040, (0, 0));
        assert_eq!(why_empty_by(&kernel), WhyEmpty::NoProcess);
        assert_eq!(why_empty_by(b""), WhyEmpty::NoProcess);
    }

    #[test]
    fn processes_that_have_ended_or_have_no_settings_are_not_waited_for() {
        let mut reader = EnvironmentReader::new();
        let mut bare = std::process::Command::new("/bin/sleep");
        let mut bare = bare.arg("1000").env_clear().spawn().unwrap();
        let pid = i32::try_from(bare.id()).unwrap();
        // `spawn` returns when the program is being executed, which it may not have begun.
        while reader.read(pid) == Environment::InExec {
            std::thread::yield_now();
        }
        assert_eq!(reader.read(pid), Environment::Known(&[]));
        bare.kill().unwrap();
        let handle = crate::Pidfd::open(nix::unistd::Pid::from_raw(pid)).unwrap();
        assert!(handle.wait(std::time::Duration::from_secs(60)));
        assert_eq!(reader.read(pid), Environment::Absent, "a zombie");
        bare.wait().unwrap();
        assert_eq!(reader.read(pid), Environment::Absent);
    }

    #[test]
    fn long_environments_are_read_whole() {
        let mut reader = EnvironmentReader::new();
        let value = "x".repeat(2 * FIRST_BUFFER);
        let mut long = std::process::Command::new("/bin/sleep");
        long.arg("1000")
            .env_clear()
            .env("A", &value)
            .env("B", "last");
        let mut long = long.spawn().unwrap();
        let pid = i32::try_from(long.id()).unwrap();
        while reader.read(pid) == Environment::InExec {
            std::thread::yield_now();
        }
        let wanted = format!("A={value}\0B=last\0").into_bytes();
        assert!(reader.read(pid) == Environment::Known(&wanted));
        long.kill().unwrap();
        long.wait().unwrap();
    }

    #[test]
    fn paths_are_correct() {
        let mut buffer = [0; 32];
        for pid in [1, 42, 4_194_304, i32::MAX] {
            let path = environ_path(pid, &mut buffer).unwrap();
            assert_eq!(path.to_str().unwrap(), format!("/proc/{pid}/environ"));
        }
        assert_eq!(environ_path(-1, &mut buffer), None);
    }

    #[test]
    fn only_whole_settings_match() {
        let found = |environment: &[u8]| {
            let mut matcher = Matcher::new(b"A=1");
            environment.iter().any(|byte| matcher.push(*byte))
        };
        assert!(found(b"B=2\0A=1\0"));
        assert!(!found(b"A=12\0BA=1\0A=\0A=1"));
        assert!(!found(b""));
    }

    #[test]
    fn a_process_that_does_not_exist_is_unreadable() {
        assert_eq!(find_setting(i32::MAX, b"A=1"), Found::Unreadable);
        let own = i32::try_from(std::process::id()).unwrap();
        assert_eq!(find_setting(own, b"NO_SUCH_VARIABLE=1"), Found::No);
    }
}
