//! The disk of the team, and a file that fills it.

use anyhow::Context as _;
use nix::errno::Errno;
use nix::fcntl::{FallocateFlags, fallocate};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;
use test_support::SmallDisk;

const MIB: u64 = 1 << 20;
/// The smallest size of the disk in bytes.
const LEAST: u64 = 128 * MIB;
/// More than a team writes in a minute.
const PER_MINUTE: u64 = 48 * MIB;

/// The folders of a run.
#[derive(Debug)]
pub(crate) struct Home {
    runtime: TempDir,
    disk: Option<SmallDisk>,
    workspace: PathBuf,
    /// Why the disk cannot be a small one of its own.
    pub(crate) left_out: Option<String>,
}

impl Home {
    /// Creates a new folder, on a small disk of its own where that is possible.
    pub(crate) fn new(parent: Option<&Path>, time: Duration) -> anyhow::Result<Self> {
        let mut builder = tempfile::Builder::new();
        builder.prefix("chaos-");
        let runtime = match parent {
            Some(parent) => builder.tempdir_in(parent),
            None => builder.tempdir(),
        };
        let runtime = runtime.context("create a folder")?;
        let room = LEAST + PER_MINUTE * time.as_secs() / 60;
        let (disk, left_out) = match SmallDisk::tmpfs(room) {
            Ok(disk) => (Some(disk), None),
            Err(skip) => (None, Some(format!("full disks: {skip}"))),
        };
        let workspace = match &disk {
            Some(disk) => disk.path().to_path_buf(),
            None => runtime.path().join("work"),
        };
        std::fs::create_dir_all(&workspace)?;
        // The path must be the one that the kernel shows.
        let workspace = workspace.canonicalize()?;
        Ok(Self {
            runtime,
            disk,
            workspace,
            left_out,
        })
    }

    /// The workspace of the team.
    pub(crate) fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// The folder of the run's own files.
    pub(crate) fn runtime(&self) -> &Path {
        self.runtime.path()
    }

    /// The filler for its disk, if it has one of its own.
    pub(crate) fn filler(&self) -> Option<DiskFiller> {
        let disk = self.disk.as_ref()?;
        Some(DiskFiller {
            path: disk.path().join("filler"),
            file: None,
        })
    }

    /// Keeps all files of a run that failed, and returns where.
    pub(crate) fn keep(mut self) -> anyhow::Result<PathBuf> {
        self.runtime.disable_cleanup(true);
        let runtime = self.runtime.path().to_path_buf();
        if self.disk.is_some() {
            copy(&self.workspace, &runtime.join("work"))?;
        }
        Ok(runtime)
    }
}

/// A file that takes all free space.
#[derive(Debug)]
pub(crate) struct DiskFiller {
    path: PathBuf,
    file: Option<(File, u64)>,
}

impl DiskFiller {
    /// Takes the free space. Called repeatedly, because other processes may free some.
    pub(crate) fn fill(&mut self) -> anyhow::Result<()> {
        if self.file.is_none() {
            self.file = Some((File::create(&self.path)?, 0));
        }
        let Some((file, size)) = &mut self.file else {
            return Ok(());
        };
        let mut step = 64 * MIB;
        while step >= 4096 {
            match fallocate(
                &*file,
                FallocateFlags::empty(),
                size.cast_signed(),
                step.cast_signed(),
            ) {
                Ok(()) => *size += step,
                Err(Errno::ENOSPC) => step /= 4,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Frees the space.
    pub(crate) fn free(&mut self) {
        if self.file.take().is_some() {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Copies a folder with all that is in it; what cannot be copied is left out.
fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)?.flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            let _ = std::fs::copy(entry.path(), target);
        }
    }
    Ok(())
}
