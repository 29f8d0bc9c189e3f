//! Waiting for other processes at a word of a file that all of them have open.
//!
//! The kernel lets processes wait for each other at a place of a shared file, which it has to be told as
//! an address. The file is mapped for that purpose alone: **nothing here ever reads or writes through the
//! mapping.** Whoever cuts the file short, or fills its disk, therefore raises no `SIGBUS`; the calls
//! below report an error instead. The word itself is read and written with `pread` and `pwrite`.

use std::ffi::c_void;
use std::fs::File;
use std::io;
use std::num::NonZeroUsize;
use std::ptr::{self, NonNull};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};

/// The length of a word.
const WORD: NonZeroUsize = NonZeroUsize::new(size_of::<u32>()).unwrap();

/// The first word of a file, as an address that only the kernel looks at.
#[derive(Debug)]
pub(crate) struct WaitWord {
    address: NonNull<c_void>,
}

// SAFETY: the address is an argument of system calls and never followed here, and the kernel accepts it
// from any thread of the process.
unsafe impl Send for WaitWord {}

/// How a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waited {
    /// Woken, the word had changed, or the time is over: look again.
    LookAgain,
    /// Nobody can wait here: the file was cut short, or the system does not offer it.
    Impossible,
}

impl WaitWord {
    pub(crate) fn of(file: &File) -> io::Result<Self> {
        // SAFETY: a new mapping at an address that the kernel chooses. Nothing refers to its memory.
        let mapped = unsafe {
            let (protection, flags) = (ProtFlags::PROT_READ, MapFlags::MAP_SHARED);
            mmap(None, WORD, protection, flags, file, 0)
        };
        Ok(Self { address: mapped? })
    }

    /// Waits until somebody wakes those who wait, unless the word is not `expected` any more.
    pub(crate) fn wait(&self, expected: u32, limit: Duration) -> Waited {
        let limit = libc::timespec {
            tv_sec: limit.as_secs().try_into().unwrap_or(libc::time_t::MAX),
            tv_nsec: limit.subsec_nanos().into(),
        };
        // SAFETY: the kernel checks the address by itself, and only reads the time, which outlives the call.
        let result = unsafe {
            let time = ptr::from_ref(&limit);
            libc::syscall(
                libc::SYS_futex,
                self.address.as_ptr(),
                libc::FUTEX_WAIT,
                expected,
                time,
            )
        };
        match Errno::result(result) {
            Ok(_) | Err(Errno::EAGAIN | Errno::EINTR | Errno::ETIMEDOUT) => Waited::LookAgain,
            Err(_) => Waited::Impossible,
        }
    }

    /// Wakes all who wait. Returns how many that were.
    pub(crate) fn wake_all(&self) -> u32 {
        // SAFETY: the kernel checks the address by itself.
        let woken = unsafe {
            libc::syscall(
                libc::SYS_futex,
                self.address.as_ptr(),
                libc::FUTEX_WAKE,
                libc::c_int::MAX,
            )
        };
        u32::try_from(woken).unwrap_or(0)
    }
}

impl Drop for WaitWord {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own, and nothing refers to its memory.
        let _ = unsafe { munmap(self.address, WORD.get()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::FileExt;
    use std::time::Instant;

    const LONG: Duration = Duration::from_secs(60);

    fn file(text: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text).unwrap();
        file
    }

    #[test]
    fn a_waiter_is_woken_through_another_mapping_of_the_file() {
        let file = file(&7_u32.to_ne_bytes());
        let other = WaitWord::of(&file).unwrap();
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| {
                let word = WaitWord::of(&file).unwrap();
                word.wait(7, LONG)
            });
            while other.wake_all() == 0 {
                std::thread::yield_now();
            }
            assert_eq!(waiter.join().unwrap(), Waited::LookAgain);
        });
    }

    #[test]
    fn a_word_that_was_written_meanwhile_is_not_waited_for() {
        let file = file(&7_u32.to_ne_bytes());
        let word = WaitWord::of(&file).unwrap();
        file.write_all_at(&8_u32.to_ne_bytes(), 0).unwrap();
        let began = Instant::now();
        assert_eq!(word.wait(7, LONG), Waited::LookAgain);
        assert!(began.elapsed() < LONG);
        assert_eq!(word.wait(8, Duration::from_millis(1)), Waited::LookAgain);
    }

    #[test]
    fn a_file_that_was_cut_short_is_an_answer_and_no_signal() {
        let file = file(&[0; 64]);
        let word = WaitWord::of(&file).unwrap();
        file.set_len(0).unwrap();
        assert_eq!(word.wait(0, LONG), Waited::Impossible);
        assert_eq!(word.wake_all(), 0);
        // It was never long enough.
        let word = WaitWord::of(&tempfile::tempfile().unwrap()).unwrap();
        assert_eq!(word.wait(0, LONG), Waited::Impossible);
    }
}
