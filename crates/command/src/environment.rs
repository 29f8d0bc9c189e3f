//! Searches the environment of another process for a variable, without allocating, because the reaper
//! uses it too.

use std::ffi::CStr;

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

#[cfg(test)]
mod tests {
    use super::*;

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
