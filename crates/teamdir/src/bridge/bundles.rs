//! Bundles of commits on their way between hosts.
//!
//! Whoever integrates puts a bundle for another host here, first its bytes and then its head, and the bridge sends
//! it in parts. What comes from another host is put together here by the bridge, and taken by whoever
//! integrates. The files of two bundles of one name differ by their digests, so that one that is replaced while it
//! is read stays whole for its reader.

use super::BridgeGuard;
use crate::error::{Context, PathError};
use crate::files::{self, atomic, create_dir};
use crate::locks::LockError;
use crate::submissions::IntegrationGuard;
use crate::team_dir::{Durability, TeamDir};
use crate::team_files::{self, TeamFileError};
use protocol::{BundleDigest, BundleHead, BundleName, HostId};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Why a part of a bundle was not stored.
#[derive(Debug, thiserror::Error)]
pub enum PartError {
    /// Nothing is known of the bundle, or of the bytes before these. The next one that is expected.
    #[error("the bytes before these are missing")]
    Missing { from: u64 },
    #[error("it has more bytes than its head says")]
    TooLong,
    #[error(transparent)]
    File(#[from] TeamFileError),
}

impl From<PathError> for PartError {
    fn from(error: PathError) -> Self {
        Self::File(error.into())
    }
}

/// A bundle from another host.
#[derive(Debug, Clone, PartialEq)]
pub struct IncomingBundle {
    pub head: BundleHead,
    /// How many bytes of it are here.
    pub here: u64,
}

impl IncomingBundle {
    pub const fn is_complete(&self) -> bool {
        self.here == self.head.size
    }
}

/// A part of a bundle from another host.
#[derive(Debug, Clone, Copy)]
pub struct NewPart<'a> {
    pub name: BundleName,
    pub digest: &'a BundleDigest,
    /// What the bundle is, in its first part.
    pub head: Option<&'a BundleHead>,
    pub offset: u64,
    pub bytes: &'a [u8],
}

/// What bundles take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Space {
    pub bundles: usize,
    pub bytes: u64,
}

impl TeamDir {
    /// Makes the folder in which bundles for a host wait.
    pub fn prepare_outgoing(&self, host: &HostId) -> Result<(), PathError> {
        create_dir(&self.layout.bridge_dir())?;
        create_dir(&self.layout.bridge_peer_dir(host))?;
        create_dir(&self.layout.bundles_out(host))
    }

    /// Offers a bundle to a host, whose bytes are in their file. It replaces another one of its name.
    pub fn put_outgoing(
        &self,
        _: &IntegrationGuard,
        host: &HostId,
        head: &BundleHead,
    ) -> Result<(), PathError> {
        let bundle = self.layout.outgoing_bundle(host, head.name, &head.digest);
        if self.options.durability == Durability::PowerCut {
            let opened = files::open_to_read(&bundle).context("open", &bundle)?;
            opened.file.sync_all().context("sync", &bundle)?;
        }
        let path = self.layout.outgoing_head(host, head.name);
        let bytes = team_files::encode(head);
        atomic::replace(&path, &bytes, self.options.durability)?;
        remove_others(
            &self.layout.bundles_out(host),
            head.name,
            Some(&head.digest),
        )
    }

    /// The bundles that are offered to a host, in the order in which they are sent.
    pub fn outgoing(&self, host: &HostId) -> Result<Vec<BundleHead>, PathError> {
        let found = names_in(&self.layout.bundles_out(host))?;
        Ok(found
            .into_iter()
            .filter_map(|name| self.outgoing_head(host, name))
            .collect())
    }

    /// The bundle of this name that is offered to a host.
    pub fn outgoing_head(&self, host: &HostId, name: BundleName) -> Option<BundleHead> {
        let found: Option<BundleHead> =
            team_files::read(&self.layout.outgoing_head(host, name)).ok()?;
        found.filter(|head| head.name == name)
    }

    /// The bytes of a bundle from `offset` on, at most `most`. `None` if another one has taken its place.
    pub fn read_outgoing(
        &self,
        host: &HostId,
        head: &BundleHead,
        offset: u64,
        most: usize,
    ) -> Result<Option<Vec<u8>>, PathError> {
        let path = self.layout.outgoing_bundle(host, head.name, &head.digest);
        let file = match files::open_to_read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.context("read", &path)?.file,
        };
        let left = head.size.saturating_sub(offset);
        let length = usize::try_from(left).unwrap_or(most).min(most);
        let mut bytes = vec![0; length];
        file.read_exact_at(&mut bytes, offset)
            .context("read", &path)?;
        Ok(Some(bytes))
    }

    /// Offers the bundle no more, unless another one has taken its place.
    pub fn remove_outgoing(
        &self,
        host: &HostId,
        name: BundleName,
        digest: &BundleDigest,
    ) -> Result<(), PathError> {
        let head = self.outgoing_head(host, name);
        if head.is_none_or(|head| head.digest == *digest) {
            remove(&self.layout.outgoing_head(host, name))?;
        }
        remove(&self.layout.outgoing_bundle(host, name, digest))
    }

    /// Stores a part of a bundle from a host, and its head if it is the first one. Returns how many bytes of it
    /// are here, synced. What is here already is not stored again.
    pub fn put_incoming(
        &self,
        _: &BridgeGuard,
        host: &HostId,
        part: &NewPart<'_>,
    ) -> Result<u64, PartError> {
        let NewPart {
            name,
            digest,
            head,
            offset,
            bytes,
        } = *part;
        create_dir(&self.layout.bridge_peer_dir(host))?;
        create_dir(&self.layout.bundles_in(host))?;
        let head_path = self.layout.incoming_head(host, name);
        let known: Option<BundleHead> = team_files::read(&head_path).ok().flatten();
        let known = known.filter(|known| known.digest == *digest);
        let path = self.layout.incoming_bundle(host, name, digest);
        let head = match (known, head) {
            (Some(known), Some(head)) if known != *head => {
                remove(&path)?;
                self.begin_incoming(host, head)?
            }
            (Some(known), _) => known,
            (None, Some(head)) => self.begin_incoming(host, head)?,
            (None, None) => return Err(PartError::Missing { from: 0 }),
        };
        let file = files::open_or_create_to_write(&path).context("open", &path)?;
        let here = file.metadata.len();
        let end = offset.saturating_add(bytes.len() as u64);
        if end > head.size {
            return Err(PartError::TooLong);
        }
        if offset > here {
            return Err(PartError::Missing { from: here });
        }
        if end > here {
            self.write_part(&file.file, &path, offset, bytes)?;
        }
        Ok(here.max(end))
    }

    fn begin_incoming(&self, host: &HostId, head: &BundleHead) -> Result<BundleHead, PathError> {
        let folder = self.layout.bundles_in(host);
        remove_others(&folder, head.name, None)?;
        let path = self.layout.incoming_head(host, head.name);
        let bytes = team_files::encode(head);
        atomic::replace(&path, &bytes, self.options.durability)?;
        Ok(head.clone())
    }

    fn write_part(
        &self,
        mut file: &File,
        path: &Path,
        offset: u64,
        bytes: &[u8],
    ) -> Result<(), PathError> {
        use std::io::Seek;
        file.seek(io::SeekFrom::Start(offset))
            .context("write", path)?;
        file.write_all(bytes).context("write", path)?;
        if self.options.durability == Durability::PowerCut {
            file.sync_all().context("sync", path)?;
            atomic::sync_parent(path, self.options.durability)?;
        }
        Ok(())
    }

    /// The bundles from a host, whole or in part.
    pub fn incoming(&self, host: &HostId) -> Result<Vec<IncomingBundle>, PathError> {
        let found = names_in(&self.layout.bundles_in(host))?;
        Ok(found
            .into_iter()
            .filter_map(|name| self.incoming_bundle(host, name))
            .collect())
    }

    /// The bundle of this name from a host, whole or in part.
    pub fn incoming_bundle(&self, host: &HostId, name: BundleName) -> Option<IncomingBundle> {
        let head: Option<BundleHead> =
            team_files::read(&self.layout.incoming_head(host, name)).ok()?;
        let head = head.filter(|head| head.name == name)?;
        let path = self.layout.incoming_bundle(host, name, &head.digest);
        let here = files::open_to_read(&path).map_or(0, |opened| opened.metadata.len());
        Some(IncomingBundle { head, here })
    }

    /// What the bundles from a host take here when they are whole, but for the one of this name.
    pub fn incoming_space(&self, host: &HostId, but: BundleName) -> Result<Space, PathError> {
        let mut space = Space::default();
        for bundle in self.incoming(host)? {
            if bundle.head.name != but {
                space.bundles += 1;
                let bytes = bundle.head.size.max(bundle.here);
                space.bytes = space.bytes.saturating_add(bytes);
            }
        }
        Ok(space)
    }

    /// The bytes of a bundle from a host.
    pub fn open_incoming(&self, host: &HostId, head: &BundleHead) -> Result<File, PathError> {
        let path = self.layout.incoming_bundle(host, head.name, &head.digest);
        let opened = files::open_to_read(&path).context("read", &path)?;
        opened.for_child().context("read", &path)
    }

    /// Removes what has come of a bundle, unless another one has taken its place.
    pub fn remove_incoming(
        &self,
        host: &HostId,
        name: BundleName,
        digest: &BundleDigest,
    ) -> Result<(), PathError> {
        let found = self.incoming_bundle(host, name);
        if found.is_none_or(|found| found.head.digest == *digest) {
            remove(&self.layout.incoming_head(host, name))?;
        }
        remove(&self.layout.incoming_bundle(host, name, digest))
    }

    /// Removes what killed processes have left of bundles that they unpacked.
    pub fn remove_unpacked(&self, _: &IntegrationGuard) -> Result<(), LockError> {
        let folder = self.layout.trees_dir();
        for name in entries(&folder)? {
            if name.starts_with(".unpack-") {
                let path = folder.join(name);
                files::remove_all(&path).context("remove", &path)?;
            }
        }
        Ok(())
    }
}

/// The names of the files of a folder. There are none if the folder is not there.
pub(super) fn entries(folder: &Path) -> Result<Vec<String>, PathError> {
    let listed = match files::list(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        listed => listed.context("list", folder)?,
    };
    let names = listed.flatten().map(|entry| entry.file_name());
    Ok(names
        .filter_map(|name| name.to_str().map(str::to_owned))
        .collect())
}

/// The bundles whose heads are in a folder: `main` first, then by number.
fn names_in(folder: &Path) -> Result<Vec<BundleName>, PathError> {
    let names = entries(folder)?;
    let heads = names.iter().filter_map(|name| name.strip_suffix(".json"));
    let mut found: Vec<BundleName> = heads.filter_map(|name| name.parse().ok()).collect();
    found.sort();
    Ok(found)
}

/// Removes the bytes of bundles of a name but for the one with this digest.
fn remove_others(
    folder: &Path,
    name: BundleName,
    but: Option<&BundleDigest>,
) -> Result<(), PathError> {
    for entry in entries(folder)? {
        let of_name = entry.strip_prefix(&format!("{name}."));
        let digest = of_name.and_then(|rest| rest.strip_suffix(".bundle"));
        if digest.is_some_and(|digest| but.is_none_or(|but| but.as_str() != digest)) {
            remove(&folder.join(&entry))?;
        }
    }
    Ok(())
}

pub(super) fn remove(path: &Path) -> Result<(), PathError> {
    match files::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(PathError::new("remove", path, error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}
