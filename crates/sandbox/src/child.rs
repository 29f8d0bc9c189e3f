//! What happens between fork and exec. Everything here is system calls on memory that was prepared
//! before the fork: no allocation, no lock, no panic.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::io::Write;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixDatagram;
use std::sync::Arc;

use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl;
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, sigprocmask};
use nix::sys::stat::Mode;
use nix::unistd::{ForkResult, fork, pipe2, setsid};
use seccompiler::BpfProgram;

use crate::descriptors::{PROXY, listen, send_descriptor};
use crate::error::{Step, encode};
use crate::landlock_rules::Rules;
use crate::mounts::{Mount, build};
use crate::network::{self, NamespaceReceiver};
use crate::syscalls::{
    close_files, close_from, drop_capabilities, landlock_allow, landlock_restrict, loopback_up,
    reference,
};
use crate::watch;

/// Everything the child needs, prepared by the parent.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) namespaces: Option<Namespaces>,
    pub(crate) limits: Vec<(Resource, u64)>,
    pub(crate) rules: Option<Rules>,
    pub(crate) filter: Option<Arc<BpfProgram>>,
    /// Its other end is closed when the caller is gone.
    pub(crate) lifeline: OwnedFd,
    /// Receives the number of the step that failed.
    pub(crate) report: OwnedFd,
    /// Receives the listening socket of the proxy, if there is one.
    pub(crate) listener: Option<UnixDatagram>,
    /// The lock of the command's record, held until the last process of the command has ended.
    pub(crate) record: Option<OwnedFd>,
}

#[derive(Debug)]
pub(crate) struct Namespaces {
    pub(crate) flags: CloneFlags,
    pub(crate) user_map: Vec<u8>,
    pub(crate) group_map: Vec<u8>,
    pub(crate) mounts: Vec<Mount>,
    pub(crate) folder: CString,
    /// Receives the wait status of the command when none of its processes is left.
    pub(crate) ended: OwnedFd,
}

/// Enters the sandbox. Returns only in the process that goes on to execute the command.
pub(crate) fn enter(plan: &Plan) -> io::Result<()> {
    close_files(plan.record.as_ref().map(AsRawFd::as_raw_fd));
    match &plan.namespaces {
        Some(namespaces) => create_namespaces(plan, namespaces),
        None => {
            harden(plan, false)?;
            limit_command(plan)
        }
    }
}

impl Plan {
    fn check<T>(&self, step: Step, result: nix::Result<T>) -> io::Result<T> {
        result.map_err(|errno| self.failed(step, 0, errno))
    }

    fn failed(&self, step: Step, mount: u16, errno: Errno) -> io::Error {
        // If the report cannot be written, the error number is still returned.
        let _ = nix::unistd::write(&self.report, &encode(step, mount));
        errno.into()
    }
}

/// Creates the namespaces. This process stays outside of them: it is the child that the caller knows.
fn create_namespaces(plan: &Plan, namespaces: &Namespaces) -> io::Result<()> {
    let own_network = namespaces.flags & CloneFlags::CLONE_NEWNET;
    plan.check(
        Step::Namespaces,
        unshare(namespaces.flags.difference(own_network)),
    )?;
    plan.check(Step::Identity, map_user(namespaces))?;
    let (status, to_status) = plan.check(Step::Processes, pipe2(OFlag::O_CLOEXEC))?;
    let network = (!own_network.is_empty()).then(network::connect);
    let (sender, receiver) = plan.check(Step::Processes, network.transpose())?.unzip();
    let signals = plan.check(Step::Processes, watch::block_signals())?;
    // SAFETY: this process has one thread, and both sides keep to what is allowed after a fork.
    match plan.check(Step::Processes, unsafe { fork() })? {
        ForkResult::Parent { child } => {
            drop((to_status, receiver));
            if let Some(sender) = sender {
                // If this fails, the first process inside gets no network and fails in turn, which is
                // reported.
                let _ = plan.check(Step::Namespaces, sender.send());
            }
            let kept = watch::Kept {
                lifeline: plan.lifeline.as_fd(),
                status: status.as_fd(),
                ended: namespaces.ended.as_fd(),
                record: plan.record.as_ref().map(AsFd::as_fd),
            };
            watch::outer(child.as_raw(), kept)
        }
        ForkResult::Child => {
            drop((status, sender));
            become_init(plan, namespaces, &to_status, receiver, &signals)
        }
    }
}

/// Maps the user to the same number inside, and nobody else.
///
/// These files belong to root as long as the process is not dumpable, as the caller may have chosen.
/// Afterwards the process must not be dumpable in any case, because it has a copy of the caller's memory.
fn map_user(namespaces: &Namespaces) -> nix::Result<()> {
    prctl::set_dumpable(true)?;
    write_file(c"/proc/self/setgroups", b"deny")?;
    write_file(c"/proc/self/uid_map", &namespaces.user_map)?;
    write_file(c"/proc/self/gid_map", &namespaces.group_map)?;
    prctl::set_dumpable(false)
}

fn write_file(path: &std::ffi::CStr, content: &[u8]) -> nix::Result<()> {
    let file = open(path, OFlag::O_WRONLY | OFlag::O_CLOEXEC, Mode::empty())?;
    let written = File::from(file).write(content);
    written
        .map(drop)
        .map_err(|error| Errno::from_raw(error.raw_os_error().unwrap_or(libc::EIO)))
}

/// Runs in the first process of the pid namespace: builds the tree, gives all rights up, and starts
/// the command.
fn become_init(
    plan: &Plan,
    namespaces: &Namespaces,
    status: &OwnedFd,
    network: Option<NamespaceReceiver>,
    signals: &SigSet,
) -> io::Result<()> {
    plan.check(Step::Processes, prctl::set_pdeathsig(Signal::SIGKILL))?;
    // The outer process may have died before the line above took effect.
    if watch::is_abandoned(status.as_fd()) {
        return Err(io::ErrorKind::Interrupted.into());
    }
    // In a session of its own, signals for the caller's group reach only the outer process, which passes
    // them on once.
    plan.check(Step::Processes, setsid())?;
    build(&namespaces.mounts, &namespaces.folder)
        .map_err(|(step, mount, errno)| plan.failed(step, mount, errno))?;
    if let Some(network) = network {
        plan.check(Step::Namespaces, network.receive())?;
        plan.check(Step::Loopback, loopback_up())?;
    }
    if let Some(to) = &plan.listener {
        // The socket stays in this network wherever its descriptor is, and this process keeps no copy.
        let passed = listen(PROXY).and_then(|socket| send_descriptor(to.as_fd(), socket.as_fd()));
        plan.check(Step::Listener, passed)?;
    }
    harden(plan, true)?;
    // SAFETY: as above.
    match plan.check(Step::Processes, unsafe { fork() })? {
        ForkResult::Parent { child } => watch::init(child.as_raw(), status.as_fd()),
        ForkResult::Child => {
            plan.check(Step::Processes, setsid())?;
            let mask = sigprocmask(SigmaskHow::SIG_SETMASK, Some(signals), None);
            plan.check(Step::Processes, mask)?;
            limit_command(plan)
        }
    }
}

/// Gives up everything that the command must not have. None of it can be undone.
fn harden(plan: &Plan, own_tree: bool) -> io::Result<()> {
    plan.check(Step::Capabilities, prctl::set_no_new_privs())?;
    plan.check(Step::Capabilities, drop_capabilities())?;
    if let Some(rules) = &plan.rules {
        if own_tree {
            plan.check(Step::Landlock, allow_own_places(rules))?;
        }
        plan.check(Step::Landlock, landlock_restrict(rules.rules.as_fd()))?;
    }
    if let Some(filter) = &plan.filter {
        let applied = seccompiler::apply_filter(filter);
        plan.check(Step::Seccomp, applied.map_err(|_| Errno::last()))?;
    }
    Ok(())
}

/// The last steps, in the process that executes the command: limits, which are for the command
/// alone, and no descriptor but the standard ones.
fn limit_command(plan: &Plan) -> io::Result<()> {
    for (resource, most) in &plan.limits {
        plan.check(Step::Limits, setrlimit(*resource, *most, *most))?;
    }
    plan.check(Step::Processes, close_from(libc::STDERR_FILENO + 1, true))
}

/// Adds rules for the places that this process has just created.
fn allow_own_places(rules: &Rules) -> nix::Result<()> {
    let places = [
        (c"/", rules.reading),
        (c"/tmp", rules.writing),
        (c"/var/tmp", rules.writing),
        (c"/dev", rules.writing),
    ];
    for (path, access) in places {
        let place = reference(None, path)?;
        landlock_allow(rules.rules.as_fd(), place.as_fd(), access)?;
    }
    Ok(())
}
