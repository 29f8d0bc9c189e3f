//! The paths of bundles of commits that cross to other hosts, and of what is said about them.

use super::Layout;
use protocol::{BundleDigest, BundleName, HostId};
use std::path::PathBuf;

impl Layout {
    /// What waits to be sent to a host.
    pub fn bundles_out(&self, host: &HostId) -> PathBuf {
        self.bridge_peer_dir(host).join("bundles-out")
    }

    /// What came from a host.
    pub fn bundles_in(&self, host: &HostId) -> PathBuf {
        self.bridge_peer_dir(host).join("bundles-in")
    }

    pub(crate) fn outgoing_head(&self, host: &HostId, name: BundleName) -> PathBuf {
        self.bundles_out(host).join(format!("{name}.json"))
    }

    /// The bytes of a bundle for a host.
    pub fn outgoing_bundle(
        &self,
        host: &HostId,
        name: BundleName,
        digest: &BundleDigest,
    ) -> PathBuf {
        let file = format!("{name}.{digest}.bundle");
        self.bundles_out(host).join(file)
    }

    /// The bytes of a bundle for a host while it is made.
    pub fn unfinished_bundle(&self, host: &HostId, name: BundleName) -> PathBuf {
        self.bundles_out(host).join(format!("{name}.making"))
    }

    pub(crate) fn incoming_head(&self, host: &HostId, name: BundleName) -> PathBuf {
        self.bundles_in(host).join(format!("{name}.json"))
    }

    /// The bytes of a bundle from a host, as far as they have come.
    pub fn incoming_bundle(
        &self,
        host: &HostId,
        name: BundleName,
        digest: &BundleDigest,
    ) -> PathBuf {
        let file = format!("{name}.{digest}.bundle");
        self.bundles_in(host).join(file)
    }

    /// How often it was tried in vain to take a bundle of a host.
    pub(crate) fn bundle_tries(&self, host: &HostId, name: BundleName) -> PathBuf {
        self.bundles_in(host).join(format!("{name}.tries"))
    }

    /// What this host has told the home of the queue of its commits, or knows of another host's.
    pub(crate) fn told_commits(&self, host: &HostId) -> PathBuf {
        self.bridge_peer_dir(host).join("commits.json")
    }

    /// Why `team/main` does not follow that of its home.
    pub(crate) fn main_problem(&self, host: &HostId) -> PathBuf {
        self.bridge_peer_dir(host).join("main.json")
    }

    /// Where a bundle is unpacked before its objects are checked.
    pub fn unpacking(&self, host: &HostId, name: BundleName) -> PathBuf {
        // Names of members have no dots.
        self.trees_dir().join(format!(".unpack-{host}-{name}"))
    }
}
