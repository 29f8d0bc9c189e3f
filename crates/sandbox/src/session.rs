//! Prepares a command, and is the caller's side while it runs.

use std::ffi::OsString;
use std::fs;
use std::io::{self, PipeReader, Read};
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixDatagram;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::fcntl::OFlag;
use nix::sched::CloneFlags;
use nix::sys::resource::{Resource, getrlimit};
use nix::unistd::{getegid, geteuid, mkdtemp, pipe2};

use crate::child::{Namespaces, Plan, enter};
use crate::description::{Description, Limits, Network};
use crate::descriptors::receive_descriptor;
use crate::error::{PrepareError, REPORT, StartError, decode};
use crate::extend::extend;
use crate::filter::{Allowed, program};
use crate::landlock_rules::{FIRST_SCOPED, for_own_tree, for_shared_tree};
use crate::layout::{mounts, text};
use crate::probe::{Layers, Level};
use crate::record::Record;
use crate::rename::{RenamedFile, create};
use crate::snapshot::Snapshot;

/// The variable that names the folder for temporary files.
const TMPDIR: &str = "TMPDIR";

/// A command that is about to run, or runs, in a sandbox. Dropping it kills every process of a
/// command that has namespaces of its own, so keep it until the command has ended.
#[derive(Debug)]
pub struct Session {
    /// Nothing is written to it. When it is closed, the sandbox knows that the caller is gone.
    lifeline: Option<OwnedFd>,
    report: OwnedFd,
    /// Where a command with namespaces of its own reports its end.
    end: Option<EndPipe>,
    /// Where the listening socket of the proxy arrives.
    listener: Option<UnixDatagram>,
    /// The paths of the mounts, to name the one that failed.
    paths: Vec<PathBuf>,
    snapshot: Snapshot,
    /// The snapshot on disk, in case the caller is killed.
    record: Option<Record>,
    /// The private folder for temporary files where there is no private `/tmp`.
    tmp: Option<PathBuf>,
}

/// Reports how a command ended, as soon as none of its processes is left. The child that `spawn` returned
/// ends a little later, when its namespaces are gone.
#[derive(Debug)]
pub struct EndPipe(PipeReader);

impl EndPipe {
    /// Waits for the end, and returns the wait status of the command, or `None` if the child was killed
    /// before it could report.
    pub fn read(&mut self) -> Option<i32> {
        let mut bytes = [0; size_of::<i32>()];
        let read = self.0.read_exact(&mut bytes);
        read.ok().map(|()| i32::from_ne_bytes(bytes))
    }
}

impl AsFd for EndPipe {
    /// Becomes readable at the end.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
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
    if wanted.network == Network::Proxy && !is_full {
        // Landlock knows ports but no addresses: it cannot tell the proxy from a server elsewhere
        // that listens on the same port.
        return Err(PrepareError::ProxyNeedsNamespaces(layers.level()));
    }
    let extended = extend(wanted, is_full);
    let wanted = &extended.description;
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
    let sockets_pair = (wanted.network == Network::Proxy).then(UnixDatagram::pair);
    let (listener, to_listener) = sockets_pair.transpose()?.unzip();
    let namespaces = is_full.then(|| namespaces(wanted)).transpose()?;
    let (namespaces, end) = namespaces.unzip();
    let targets = namespaces.iter().flat_map(|spaces| &spaces.mounts);
    let paths = targets.map(|mount| absolute(mount.target())).collect();
    let snapshot = Snapshot::of(&extended);
    let record = record(wanted, &snapshot)?;
    let plan = Plan {
        record: record.as_ref().map(Record::share).transpose()?,
        namespaces,
        limits: limits(&wanted.limits, is_full),
        rules: match (layers.landlock(), &tmp) {
            (None, _) => None,
            (Some(version), None) => for_own_tree(version, wanted)?,
            (Some(version), Some(tmp)) => for_shared_tree(version, wanted, tmp)?,
        },
        filter: layers
            .has_seccomp()
            .then(|| program(allowed(wanted.network, layers)))
            .transpose()?,
        lifeline,
        report: to_report,
        listener: to_listener,
    };
    let environment = environment(wanted, tmp.as_deref());
    command.env_clear().envs(environment);
    if !is_full {
        command.current_dir(&wanted.folder);
    }
    // SAFETY: `enter` restricts itself to system calls on memory that the plan owns.
    unsafe {
        command.pre_exec(move || enter(&plan));
    }
    Ok(Session {
        lifeline: Some(kept_lifeline),
        report,
        end,
        listener,
        paths,
        snapshot,
        record,
        tmp,
    })
}

impl Session {
    /// Explains why `spawn` failed. The command has not run, and there is nothing to look for.
    #[must_use]
    pub fn explain(&self, source: io::Error) -> StartError {
        self.forget_record();
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

    /// Kills every process of a command that has namespaces of its own. The child that `spawn` returned
    /// ends when they are gone.
    pub fn kill(&mut self) {
        self.lifeline = None;
    }

    /// Where a command that has namespaces of its own reports its end. It can be taken once.
    pub fn take_end(&mut self) -> Option<EndPipe> {
        self.end.take()
    }

    /// The socket on which the command finds its proxy, with [`Network::Proxy`]. Ask when `spawn`
    /// has returned, once. Connections that the command makes before wait.
    pub fn listener(&self) -> io::Result<Option<TcpListener>> {
        let Some(from) = &self.listener else {
            return Ok(None);
        };
        let received = receive_descriptor(from.as_fd(), false)?;
        Ok(Some(TcpListener::from(received)))
    }

    /// The names that other programs trust, that did not exist before, and that exist now, such as `.envrc`,
    /// new files with variables, and `.git` in new submodules. Ask when the command has ended.
    #[must_use]
    pub fn created(&self) -> Vec<PathBuf> {
        self.snapshot.created()
    }

    /// Renames everything that was [created](Self::created), each within its folder. Call it when the
    /// command has ended. If a rename fails, the record stays.
    #[must_use]
    pub fn rename_new_files(&self) -> Vec<RenamedFile> {
        let renamed = self.snapshot.rename_new_files();
        if renamed.iter().all(|renamed| renamed.error.is_none()) {
            self.forget_record();
        }
        renamed
    }

    /// The lock of the record. While any process holds a copy of it, nobody else finishes the command.
    #[must_use]
    pub fn record(&self) -> Option<BorrowedFd<'_>> {
        self.record.as_ref().map(AsFd::as_fd)
    }

    fn forget_record(&self) {
        if let Some(record) = &self.record {
            // If it cannot be removed, another process finishes it later and finds nothing to do.
            let _ = record.remove();
        }
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

/// Writes the record, if the caller asked for one and there is something to look for.
fn record(wanted: &Description, snapshot: &Snapshot) -> Result<Option<Record>, PrepareError> {
    let Some(path) = wanted.record.as_ref().filter(|_| !snapshot.is_empty()) else {
        return Ok(None);
    };
    let created = Record::create(path, &snapshot.encode(&wanted.folder));
    created
        .map(Some)
        .map_err(|error| PrepareError::path(path, error))
}

/// The variables of the command. Without a private `/tmp` another folder is named.
fn environment(wanted: &Description, tmp: Option<&Path>) -> Vec<(OsString, OsString)> {
    let mut variables = wanted.environment.clone();
    if let Some(tmp) = tmp {
        variables.retain(|(name, _)| name != TMPDIR);
        variables.push((TMPDIR.into(), tmp.into()));
    }
    variables
}

fn absolute(target: &std::ffi::CStr) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    Path::new("/").join(std::ffi::OsStr::from_bytes(target.to_bytes()))
}

fn temporary_folder() -> Result<PathBuf, PrepareError> {
    let template = std::env::temp_dir().join("sandbox-XXXXXX");
    mkdtemp(&template).map_err(|errno| PrepareError::path(&template, errno.into()))
}

fn namespaces(wanted: &Description) -> Result<(Namespaces, EndPipe), PrepareError> {
    let mut flags = CloneFlags::CLONE_NEWUSER
        | CloneFlags::CLONE_NEWNS
        | CloneFlags::CLONE_NEWPID
        | CloneFlags::CLONE_NEWIPC
        | CloneFlags::CLONE_NEWUTS;
    if wanted.network != Network::On {
        flags |= CloneFlags::CLONE_NEWNET;
    }
    let (user, group) = (geteuid(), getegid());
    let (end, to_end) = io::pipe()?;
    let namespaces = Namespaces {
        flags,
        user_map: format!("{user} {user} 1").into_bytes(),
        group_map: format!("{group} {group} 1").into_bytes(),
        mounts: mounts(wanted)?,
        folder: text(&wanted.folder)?,
        ended: to_end.into(),
    };
    Ok((namespaces, EndPipe(end)))
}

/// What a command may use of the machine. Sockets of the machine that have a path are only out of
/// reach in a tree of its own, and those without one only in a network of its own or by Landlock.
fn allowed(network: Network, layers: &Layers) -> Allowed {
    let is_full = layers.level() == Level::Full;
    let is_scoped = layers
        .landlock()
        .is_some_and(|version| version >= FIRST_SCOPED);
    match network {
        Network::Off | Network::Proxy => Allowed {
            internet: is_full,
            local: is_full,
            others: is_full,
        },
        Network::On => Allowed {
            internet: true,
            local: is_full && is_scoped,
            others: is_full,
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
