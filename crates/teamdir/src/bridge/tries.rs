//! Bundles that were not taken, and how long those wait that were not sent.

use crate::error::PathError;
use crate::files;
use crate::submissions::IntegrationGuard;
use crate::team_dir::{Durability, TeamDir};
use crate::team_files::{self, TeamFileError};
use protocol::{BundleName, BundleTries, HostId};
use std::io;
use std::time::Duration;

impl TeamDir {
    /// How often it was tried in vain to take the bundle of this name from a host. It may have been another bundle
    /// than the one that is here now, whose digest tells.
    pub fn bundle_tries(&self, host: &HostId, name: BundleName) -> Option<BundleTries> {
        let found: Option<BundleTries> =
            team_files::read(&self.layout.bundle_tries(host, name)).ok()?;
        found.filter(|found| found.name == name)
    }

    pub fn put_bundle_tries(
        &self,
        _: &IntegrationGuard,
        host: &HostId,
        tries: &BundleTries,
    ) -> Result<(), TeamFileError> {
        let path = self.layout.bundle_tries(host, tries.name);
        team_files::put(&path, tries, Durability::ProcessDeath)
    }

    /// The bundle of this name was taken, or is given up.
    pub fn forget_bundle_tries(
        &self,
        _: &IntegrationGuard,
        host: &HostId,
        name: BundleName,
    ) -> Result<(), PathError> {
        let path = self.layout.bundle_tries(host, name);
        match files::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(PathError::new("remove", &path, error))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// How long the bundle of this name has been offered to a host.
    pub fn offered_for(&self, host: &HostId, name: BundleName) -> Option<Duration> {
        let opened = files::open_to_read(&self.layout.outgoing_head(host, name)).ok()?;
        opened.metadata.modified().ok()?.elapsed().ok()
    }
}
