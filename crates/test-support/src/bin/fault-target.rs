//! A program to be disturbed, for the tests of the crash points.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{env, process, thread};

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getpid, getppid, setpgid};
use test_support::faults::{mark_begin, mark_end};

fn main() {
    let args: Vec<String> = env::args().collect();
    let [_, mode, dir] = args.as_slice() else {
        process::exit(64);
    };
    let dir = Path::new(dir);
    let result = match mode.as_str() {
        "sequence" => sequence(dir),
        "line" => line(dir),
        "once" => once(dir),
        "threads" => threads(dir),
        "signal" => signal(),
        "regroup" => regroup(),
        "unmarked" => unmarked(dir),
        _ => process::exit(64),
    };
    if let Err(error) = result {
        process::exit(error.raw_os_error().unwrap_or(65));
    }
}

/// Exactly four calls, each of which leaves its trace.
fn sequence(dir: &Path) -> io::Result<()> {
    let (draft, kept, done) = (dir.join("draft"), dir.join("kept"), dir.join("done"));
    mark_begin();
    let mut file = File::create(&draft)?;
    file.write_all(b"line\n")?;
    fs::rename(&draft, &kept)?;
    fs::create_dir(&done)?;
    mark_end();
    Ok(())
}

/// Writes a line until all of it is there.
fn line(dir: &Path) -> io::Result<()> {
    let mut file = File::create(dir.join("line"))?;
    mark_begin();
    let result = file.write_all(b"0123456789\n");
    mark_end();
    result
}

/// Writes once and prints how many bytes it wrote and meant to write.
fn once(dir: &Path) -> io::Result<()> {
    let mut file = File::create(dir.join("once"))?;
    let bytes = b"0123456789\n";
    mark_begin();
    let count = file.write(bytes)?;
    mark_end();
    writeln!(io::stdout(), "{count} of {}", bytes.len())?;
    writeln!(io::stderr(), "and no more")
}

/// The same sequence in a second thread, while a third one makes other calls.
fn threads(dir: &Path) -> io::Result<()> {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let noise = scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                OpenOptions::new().read(true).open(dir)?;
            }
            io::Result::Ok(())
        });
        let result = scope.spawn(|| sequence(dir)).join();
        stop.store(true, Ordering::Relaxed);
        let broken = |_| io::Error::from_raw_os_error(66);
        noise.join().map_err(broken)??;
        result.map_err(broken)?
    })
}

/// Ends itself with SIGTERM inside of the region.
fn signal() -> io::Result<()> {
    mark_begin();
    kill(getpid(), Signal::SIGTERM)?;
    mark_end();
    Ok(())
}

/// Tries to leave the process group that it was given. It does not matter whether a group of that number
/// exists: the tracer sees the call before the kernel does.
fn regroup() -> io::Result<()> {
    Ok(setpgid(Pid::from_raw(0), getppid())?)
}

fn unmarked(dir: &Path) -> io::Result<()> {
    File::create(dir.join("unmarked")).map(drop)
}
