//! Clocks that mean the same in every process.

use std::io;

/// Nanoseconds of the monotonic clock, which all processes of a machine share.
pub(crate) fn nanos() -> u64 {
    read(libc::CLOCK_MONOTONIC).unwrap_or(0)
}

/// Nanoseconds of processor time that all threads of a living process have used.
pub(super) fn cpu_nanos(pid: u32) -> io::Result<u64> {
    let mut clock = 0;
    // SAFETY: the pointer is valid for the one value that the call writes.
    let error = unsafe { libc::clock_getcpuclockid(pid.cast_signed(), &raw mut clock) };
    if error != 0 {
        return Err(io::Error::from_raw_os_error(error));
    }
    read(clock)
}

fn read(clock: libc::clockid_t) -> io::Result<u64> {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is valid for the one value that the call writes.
    if unsafe { libc::clock_gettime(clock, &raw mut time) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned())
}
