//! Preparing a command, and the caller's side of one that runs.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::fcntl::OFlag;
use nix::sched::CloneFlags;
use nix::sys::resource::{Resource, getrlimit};
use nix::unistd::{getegid, geteuid, mkdtemp, pipe2};

use crate::child::{Namespaces, Plan, enter};
use crate::description::{Content, Description, Limits, Network, Placeholder};
use crate::error::{PrepareError, REPORT, StartError, decode};
use crate::filter::{Sockets, programs};
use crate::layout::{mounts, text};
use crate::probe::{Layers, Level};
use crate::rules::{FIRST_SCOPED, for_own_tree, for_shared_tree};

/// The variable that names the folder for temporary files.
const TMPDIR: &str = "TMPDIR";

/// A command that is about to run, or runs, in a sandbox. Dropping it kills every process of a
/// command that has namespaces of its own, so keep it until the command has ended.
#[derive(Debug)]
pub struct Session {
    /// Nothing is written to it. Its end tells the sandbox that the caller is gone.
    _lifeline: OwnedFd,
    report: OwnedFd,
    /// The paths of the mounts, to name the one that failed.
    paths: Vec<PathBuf>,
    unwanted: Vec<PathBuf>,
    /// The private folder for temporary files where there is no private `/tmp`.
    tmp: Option<PathBuf>,
}

/// Makes `command` start inside a sandbox of the given layers. Its environment is replaced, and so
/// is its working folder. Everything else of it stays as the caller has set it, and the child that
/// `spawn` returns has the exit code or signal of the command itself.
pub fn prepare(
    command: &mut Command,
    wanted: &Description,
    layers: &Layers,
) -> Result<Session, PrepareError> {
    let is_full = layers.level() == Level::Full;
    if is_full {
        wanted.placeholders.iter().try_for_each(create)?;
    }
    let tmp = if is_full {
        None
    } else {
        Some(temporary_folder()?)
    };
    let (lifeline, kept_lifeline) = pipe2(OFlag::O_CLOEXEC).map_err(io::Error::from)?;
    let flags = OFlag::O_CLOEXEC | OFlag::O_NONBLOCK;
    let (report, to_report) = pipe2(flags).map_err(io::Error::from)?;
    let namespaces = is_full.then(|| namespaces(wanted)).transpose()?;
    let targets = namespaces.iter().flat_map(|spaces| &spaces.mounts);
    let paths = targets.map(|mount| absolute(mount.target())).collect();
    let plan = Plan {
        namespaces,
        limits: limits(&wanted.limits, is_full),
        rules: match (layers.landlock(), &tmp) {
            (None, _) => None,
            (Some(version), None) => for_own_tree(version, wanted)?,
            (Some(version), Some(tmp)) => for_shared_tree(version, wanted, tmp)?,
        },
        filters: match layers.has_seccomp() {
            true => programs(sockets(wanted.network, layers))?,
            false => Vec::new(),
        },
        lifeline,
        report: to_report,
    };
    let mut environment = wanted.environment.clone();
    if let Some(tmp) = &tmp {
        environment.retain(|(name, _)| name != TMPDIR);
        environment.push((OsString::from(TMPDIR), tmp.into()));
        command.current_dir(&wanted.folder);
    }
    command.env_clear().envs(environment);
    // SAFETY: `enter` restricts itself to system calls on memory that the plan owns.
    unsafe {
        command.pre_exec(move || enter(&plan));
    }
    Ok(Session {
        _lifeline: kept_lifeline,
        report,
        paths,
        unwanted: wanted.unwanted.clone(),
        tmp,
    })
}

impl Session {
    /// Explains why `spawn` failed.
    #[must_use]
    pub fn explain(&self, source: io::Error) -> StartError {
        let mut bytes = [0; REPORT];
        let read = nix::unistd::read(self.report.as_fd(), &mut bytes);
        let step = match read {
            Ok(REPORT) => decode(bytes),
            Ok(_) | Err(_) => None,
        };
        let step = step.map(|(step, mount)| {
            let is_path = matches!(step, crate::Step::Path | crate::Step::Proc);
            let path = self.paths.get(usize::from(mount)).filter(|_| is_path);
            (step, path.cloned())
        });
        StartError { step, source }
    }

    /// The unwanted names that exist now. Ask when the command has ended.
    #[must_use]
    pub fn created(&self) -> Vec<PathBuf> {
        let exists = |path: &&PathBuf| fs::symlink_metadata(path).is_ok();
        self.unwanted.iter().filter(exists).cloned().collect()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Some(tmp) = &self.tmp {
            // A command that is still running may write while it is removed. What is left then is
            // in the machine's folder for temporary files, as with any program that was killed.
            let _ = fs::remove_dir_all(tmp);
        }
    }
}

fn absolute(target: &std::ffi::CStr) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    Path::new("/").join(std::ffi::OsStr::from_bytes(target.to_bytes()))
}

fn temporary_folder() -> Result<PathBuf, PrepareError> {
    let template = std::env::temp_dir().join("sandbox-XXXXXX");
    mkdtemp(&template).map_err(|errno| PrepareError::path(&template, errno.into()))
}

fn create(placeholder: &Placeholder) -> Result<(), PrepareError> {
    let path = &placeholder.path;
    let created = match placeholder.content {
        Content::Folder => fs::DirBuilder::new().mode(0o755).create(path),
        Content::File(text) => fs::File::create_new(path)
            .and_then(|mut file| io::Write::write_all(&mut file, text.as_bytes())),
    };
    match created {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(PrepareError::path(path, error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

fn namespaces(wanted: &Description) -> Result<Namespaces, PrepareError> {
    let mut flags = CloneFlags::CLONE_NEWUSER
        | CloneFlags::CLONE_NEWNS
        | CloneFlags::CLONE_NEWPID
        | CloneFlags::CLONE_NEWIPC
        | CloneFlags::CLONE_NEWUTS;
    if wanted.network == Network::Off {
        flags |= CloneFlags::CLONE_NEWNET;
    }
    let (user, group) = (geteuid(), getegid());
    Ok(Namespaces {
        flags,
        user_map: format!("{user} {user} 1").into_bytes(),
        group_map: format!("{group} {group} 1").into_bytes(),
        mounts: mounts(wanted)?,
        folder: text(&wanted.folder)?,
    })
}

/// Which sockets a command may create. Sockets of the machine that have a path are only out of
/// reach in a tree of its own, and those without one only in a network of its own or by Landlock.
fn sockets(network: Network, layers: &Layers) -> Sockets {
    let is_full = layers.level() == Level::Full;
    let is_scoped = layers
        .landlock()
        .is_some_and(|version| version >= FIRST_SCOPED);
    match network {
        Network::Off => Sockets {
            internet: is_full,
            local: is_full,
        },
        Network::On => Sockets {
            internet: true,
            local: is_full && is_scoped,
        },
    }
}

/// The limits that are stricter than those in force. A limit can only be lowered.
fn limits(wanted: &Limits, is_full: bool) -> Vec<(Resource, u64)> {
    let wanted = [
        (Resource::RLIMIT_CORE, Some(0)),
        (Resource::RLIMIT_NPROC, wanted.processes.filter(|_| is_full)),
        (Resource::RLIMIT_NOFILE, wanted.open_files),
        (Resource::RLIMIT_FSIZE, wanted.file_bytes),
        (Resource::RLIMIT_AS, wanted.memory_bytes),
    ];
    let stricter = wanted.into_iter().filter_map(|(resource, most)| {
        let (_, hard) = getrlimit(resource).ok()?;
        Some((resource, most?.min(hard)))
    });
    stricter.collect()
}
