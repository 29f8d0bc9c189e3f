//! Figures of a process, from `/proc`.

use anyhow::Context as _;
use std::fs;

/// The most memory this process has held at once, in bytes.
pub(super) fn peak_memory() -> anyhow::Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let kilobytes = field(&status, "VmHWM:").context("find the peak of memory")?;
    Ok(kilobytes * 1024)
}

/// The memory of a process, in bytes: the sum of the fields whose names begin so, such as `Pss:` or
/// `Private_`.
pub(crate) fn memory(pid: u32, fields: &str) -> anyhow::Result<u64> {
    let path = format!("/proc/{pid}/smaps_rollup");
    let rollup = fs::read_to_string(&path).with_context(|| format!("read {path}"))?;
    let lines = rollup.lines().filter(|line| line.starts_with(fields));
    let kilobytes = lines.filter_map(|line| line.split_ascii_whitespace().nth(1));
    let sum: u64 = kilobytes
        .filter_map(|number| number.parse::<u64>().ok())
        .sum();
    Ok(sum * 1024)
}

/// How much memory programs can still have, in bytes.
pub(super) fn available_memory() -> anyhow::Result<u64> {
    let text = fs::read_to_string("/proc/meminfo")?;
    Ok(field(&text, "MemAvailable:").context("find the memory that is left")? * 1024)
}

/// How often all threads of a process have been put on or taken off a processor.
pub(super) fn switches(pid: u32) -> anyhow::Result<u64> {
    let mut sum = 0;
    for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
        let status = fs::read_to_string(thread?.path().join("status"))?;
        sum += field(&status, "voluntary_ctxt_switches:").context("find the switches")?;
        sum += field(&status, "nonvoluntary_ctxt_switches:").context("find the switches")?;
    }
    Ok(sum)
}

/// Keeps this thread, and those it starts from now on, on one core.
pub(super) fn stay_on(core: usize) -> std::io::Result<()> {
    // SAFETY: a set of cores is plain bits, and all zeros is the empty set.
    let mut cores: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the set is a valid local value; a core beyond its size is ignored.
    unsafe { libc::CPU_SET(core, &mut cores) };
    let size = size_of::<libc::cpu_set_t>();
    // SAFETY: the pointer is valid for the given size and is only read.
    if unsafe { libc::sched_setaffinity(0, size, &raw const cores) } != 0 {
        return Err(std::io::Error::last_os_error());
    }
    Ok(())
}

fn field(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}
