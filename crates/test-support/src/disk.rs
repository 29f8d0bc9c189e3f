//! File systems that are full or lose power.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use tempfile::TempDir;

use crate::wait::try_wait_for;

/// How long a mount may stay busy after its users have been killed.
const BUSY_LIMIT: Duration = Duration::from_secs(5);
/// How long mounting is retried: a loop device may be busy for a moment after it was freed, and another
/// test may take a free one first.
const MOUNT_LIMIT: Duration = Duration::from_secs(1);
/// The size of the image of a [`LoopDisk`].
const IMAGE_BYTES: u64 = 64 << 20;
/// `EXT4_IOC_SHUTDOWN`, which is `_IOR('X', 125, __u32)`.
const EXT4_IOC_SHUTDOWN: libc::Ioctl = 0x8004_587d_u32 as libc::Ioctl;
/// The file system's journal is not flushed, so everything that was not synced is lost.
const EXT4_GOING_FLAGS_NOLOGFLUSH: u32 = 2;

/// Why a test cannot run on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skip(String);

impl Skip {
    /// A reason to skip.
    pub fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }
}

impl fmt::Display for Skip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Skip {}

/// Says on standard error, in one line that the test harness does not hide,
/// that a test is skipped and why.
pub fn report_skip(test_name: &str, reason: impl fmt::Display) {
    // A test that cannot even say so is skipped all the same.
    let _ = writeln!(io::stderr(), "skipped {test_name}: {reason}");
}

/// An empty file system in memory that holds only a few bytes. It is unmounted
/// when the value is dropped; a test that is killed leaves it mounted.
#[derive(Debug)]
pub struct SmallDisk {
    dir: TempDir,
}

impl SmallDisk {
    /// A disk of this size, which the kernel rounds up to whole pages. A file
    /// takes whole pages as well.
    pub fn tmpfs(bytes: u64) -> Result<Self, Skip> {
        needs_root()?;
        let dir = tempfile::tempdir().map_err(|error| Skip(format!("no folder: {error}")))?;
        let options = format!("size={bytes},mode=0755");
        let tmpfs = Some("tmpfs");
        mount(
            tmpfs,
            dir.path(),
            tmpfs,
            MsFlags::empty(),
            Some(options.as_str()),
        )
        .map_err(|error| Skip(format!("a tmpfs cannot be mounted: {error}")))?;
        Ok(Self { dir })
    }

    /// The root folder of the disk.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        unmount_in_drop(self.dir.path());
    }
}

/// An ext4 file system in an image file, whose power can be cut. It is
/// unmounted and deleted when the value is dropped; a test that is killed
/// leaves it mounted.
///
/// A cut loses what the file system had not yet brought to its disk. The disk
/// itself loses nothing that it was given, so a drive that lies about its own
/// cache is not simulated.
#[derive(Debug)]
pub struct LoopDisk {
    dir: TempDir,
    mounted: bool,
}

impl LoopDisk {
    /// A fresh disk of 64 MiB, mounted with the usual options.
    pub fn ext4() -> Result<Self, Skip> {
        needs_root()?;
        let mkfs =
            find_program("mkfs.ext4").ok_or_else(|| Skip::new("mkfs.ext4 is not installed"))?;
        let dir = tempfile::tempdir().map_err(|error| Skip(format!("no folder: {error}")))?;
        let mut disk = Self {
            dir,
            mounted: false,
        };
        disk.make(&mkfs)
            .map_err(|error| Skip(format!("an ext4 image cannot be mounted: {error}")))?;
        Ok(disk)
    }

    /// The root folder of the disk. It holds the folder `lost+found`.
    pub fn path(&self) -> PathBuf {
        self.dir.path().join("mount")
    }

    /// Cuts the power: from now on the disk takes no more writes, and all that
    /// was not synced is forgotten at the next [`remount`](Self::remount).
    /// Processes that use the disk see input/output errors; the caller is to
    /// kill them before the remount.
    pub fn cut(&self) -> io::Result<()> {
        let root = File::open(self.path())?;
        let flags = EXT4_GOING_FLAGS_NOLOGFLUSH;
        // SAFETY: the request reads one u32 from the pointer, which is to a
        // local variable that outlives the call.
        let result = unsafe { libc::ioctl(root.as_raw_fd(), EXT4_IOC_SHUTDOWN, &raw const flags) };
        if result == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }

    /// Brings the disk back after a cut, with what was stored: unmounts it
    /// and mounts it again, which replays the journal. It is an error if some
    /// process still uses the disk after several seconds.
    pub fn remount(&mut self) -> io::Result<()> {
        if self.mounted {
            unmount_when_free(&self.path())?;
            self.mounted = false;
        }
        self.mount()
    }

    fn make(&mut self, mkfs: &Path) -> io::Result<()> {
        let image = self.image();
        File::create(&image)?.set_len(IMAGE_BYTES)?;
        fs::create_dir(self.path())?;
        // Without lazy initialization no kernel thread writes while the test runs.
        let mut mkfs = Command::new(mkfs);
        mkfs.args(["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"]);
        run(mkfs.arg(&image))?;
        self.mount()
    }

    fn mount(&mut self) -> io::Result<()> {
        let program = find_program("mount").unwrap_or_else(|| "mount".into());
        let mut last = Ok(());
        try_wait_for(MOUNT_LIMIT, || {
            let mut mount = Command::new(&program);
            mount.args(["-t", "ext4", "-o", "loop"]);
            last = run(mount.arg(self.image()).arg(self.path()));
            last.is_ok().then_some(())
        });
        self.mounted = last.is_ok();
        last
    }

    fn image(&self) -> PathBuf {
        self.dir.path().join("image")
    }
}

impl Drop for LoopDisk {
    fn drop(&mut self) {
        if self.mounted {
            unmount_in_drop(&self.path());
        }
    }
}

fn needs_root() -> Result<(), Skip> {
    if nix::unistd::geteuid().is_root() {
        Ok(())
    } else {
        Err(Skip::new("needs root"))
    }
}

/// Searches `PATH` and the folders of system programs, which are not always in it.
fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin".into(), "/sbin".into()])
        .map(|dir| dir.join(name))
        .find(|file| file.is_file())
}

/// Runs a program to its end. If it fails, what it printed is the error.
fn run(cmd: &mut Command) -> io::Result<()> {
    let output = cmd.stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let program = cmd.get_program().to_string_lossy();
    let message = format!("{program}: {}: {}", output.status, said.trim());
    Err(io::Error::other(message))
}

fn unmount_when_free(path: &Path) -> io::Result<()> {
    let mut last = Ok(());
    try_wait_for(BUSY_LIMIT, || {
        last = umount2(path, MntFlags::empty());
        (last != Err(Errno::EBUSY)).then_some(())
    });
    Ok(last?)
}

/// Unmounts a disk when it is dropped. A disk that is still in use is detached, and goes when its last user
/// does, so that a failed test leaves no mount behind.
fn unmount_in_drop(path: &Path) {
    if let Err(error) = unmount_when_free(path) {
        let again = umount2(path, MntFlags::MNT_DETACH);
        let _ = writeln!(
            io::stderr(),
            "{} could not be unmounted: {error}; detached: {again:?}",
            path.display()
        );
    }
}
