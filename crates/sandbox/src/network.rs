//! The network namespace of a command.
//!
//! Creating it takes as long as creating all the others together. The outer process therefore creates it
//! while the first process inside builds the tree, and passes it on. Everything here may be used between
//! fork and exec.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use nix::errno::Errno;
use nix::fcntl::{OFlag, open, openat};
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::stat::Mode;

use crate::descriptors::{receive_descriptor, send_descriptor};

/// The outer process's end of the connection.
pub(crate) struct NamespaceSender {
    to: UnixStream,
    /// The namespaces of the outer process, opened early because the first process inside covers `/proc` in
    /// the meantime.
    own: OwnedFd,
}

/// The connection's end in the first process inside.
pub(crate) struct NamespaceReceiver(UnixStream);

/// Creates both ends. Call it in the outer process before it forks.
pub(crate) fn connect() -> nix::Result<(NamespaceSender, NamespaceReceiver)> {
    let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    let own = open(c"/proc/self/ns", flags, Mode::empty())?;
    let pair = UnixStream::pair();
    let (to, from) =
        pair.map_err(|error| Errno::from_raw(error.raw_os_error().unwrap_or(libc::EIO)))?;
    Ok((NamespaceSender { to, own }, NamespaceReceiver(from)))
}

impl NamespaceSender {
    /// Moves this process to a new network namespace, and passes that on.
    pub(crate) fn send(self) -> nix::Result<()> {
        unshare(CloneFlags::CLONE_NEWNET)?;
        let flags = OFlag::O_RDONLY | OFlag::O_CLOEXEC;
        let network = openat(&self.own, c"net", flags, Mode::empty())?;
        send_descriptor(self.to.as_fd(), network.as_fd())
    }
}

impl NamespaceReceiver {
    /// Waits for the network namespace and moves this process to it. Fails if the outer process has failed
    /// or died.
    pub(crate) fn receive(self) -> nix::Result<()> {
        let network = receive_descriptor(self.0.as_fd(), true)?;
        setns(network, CloneFlags::CLONE_NEWNET)
    }
}
