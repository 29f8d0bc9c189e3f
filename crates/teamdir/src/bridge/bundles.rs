//! Bundles of commits on their way between hosts.
//!
//! Whoever integrates puts a bundle for another host here, first its bytes and then its head, and the bridge sends
//! it in parts. What comes from another host is put together here by the bridge, and taken by whoever
//! integrates. The files of two bundles of one name differ by their digests, so that one that is replaced while it
//! is read stays whole for its reader. A note is a frame that is to be sent once: its sender renames it
//! before it reads it, so that one that takes its place meanwhile is not lost.

use super::BridgeGuard;
use crate::error::{Context, PathError};
use crate::files::{self, atomic, create_dir};
use crate::locks::LockError;
use crate::submissions::IntegrationGuard;
use crate::team_dir::{Durability, TeamDir};
use crate::team_files::{self, TeamFileError};
use protocol::{BundleDigest, BundleHead, BundleName, HaveCommits, HostId, TreeFrame};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

const NOTE: &str = "note-";
/// A note that is being sent.
const CLAIMED: &str = "sending-";

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
        (name, digest): (BundleName, &BundleDigest),
        head: Option<&BundleHead>,
        (offset, bytes): (u64, &[u8]),
    ) -> Result<u64, PartError> {
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

    /// How many bytes of bundles from a host are here.
    pub fn incoming_bytes(&self, host: &HostId) -> Result<u64, PathError> {
        let all = self.incoming(host)?;
        Ok(all.iter().map(|bundle| bundle.here).sum())
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

    /// Leaves a note for a host, which its bridge sends, in place of another one about the same.
    pub fn put_tree_note(
        &self,
        host: &HostId,
        about: &str,
        note: &TreeFrame,
    ) -> Result<(), PathError> {
        self.prepare_outgoing(host)?;
        let path = self.layout.bundles_out(host).join(format!("{NOTE}{about}"));
        atomic::replace(&path, &team_files::encode(note), self.options.durability)
    }

    /// The notes for a host. They are to be given back to [`Self::notes_are_sent`].
    pub fn take_tree_notes(&self, _: &BridgeGuard, host: &HostId) -> Result<Notes, PathError> {
        self.take_notes(&self.layout.bundles_out(host))
    }

    /// Keeps what another host has said for whoever integrates.
    pub fn put_heard_note(
        &self,
        _: &BridgeGuard,
        host: &HostId,
        about: &str,
        note: &TreeFrame,
    ) -> Result<(), PathError> {
        create_dir(&self.layout.bridge_peer_dir(host))?;
        let folder = self.layout.bundles_in(host);
        create_dir(&folder)?;
        let path = folder.join(format!("{NOTE}{about}"));
        atomic::replace(&path, &team_files::encode(note), self.options.durability)
    }

    /// What another host has said. It is to be given back to [`Self::notes_are_sent`].
    pub fn take_heard_notes(
        &self,
        _: &IntegrationGuard,
        host: &HostId,
    ) -> Result<Notes, PathError> {
        self.take_notes(&self.layout.bundles_in(host))
    }

    fn take_notes(&self, folder: &Path) -> Result<Notes, PathError> {
        for name in entries(folder)? {
            if let Some(about) = name.strip_prefix(NOTE) {
                let claimed = folder.join(format!("{CLAIMED}{about}"));
                let from = folder.join(&name);
                files::rename(&from, &claimed).context("rename", &from)?;
            }
        }
        let mut found = Notes::default();
        for name in entries(folder)? {
            if !name.starts_with(CLAIMED) {
                continue;
            }
            let path = folder.join(&name);
            // One that nobody can read is as good as none.
            found
                .notes
                .extend(team_files::read::<TreeFrame>(&path).ok().flatten());
            found.paths.push(path);
        }
        Ok(found)
    }

    /// The notes have done their work.
    pub fn notes_are_sent(&self, notes: &Notes) -> Result<(), PathError> {
        notes.paths.iter().try_for_each(|path| remove(path))
    }

    /// Whether a host has said something that nobody who integrates has heard.
    pub fn has_heard_notes(&self, host: &HostId) -> bool {
        let names = entries(&self.layout.bundles_in(host)).unwrap_or_default();
        let is_note = |name: &String| name.starts_with(NOTE) || name.starts_with(CLAIMED);
        names.iter().any(is_note)
    }

    /// The commits that a host has said it has, or that it was told.
    pub fn told_commits(&self, host: &HostId) -> Option<HaveCommits> {
        team_files::read(&self.layout.told_commits(host)).ok()?
    }

    pub fn put_told_commits(
        &self,
        _: &IntegrationGuard,
        host: &HostId,
        told: &HaveCommits,
    ) -> Result<(), TeamFileError> {
        team_files::put(
            &self.layout.told_commits(host),
            told,
            self.options.durability,
        )
    }

    /// The home of the queue is told again which commits are here.
    pub fn forget_told_commits(&self, _: &BridgeGuard, host: &HostId) -> Result<(), PathError> {
        remove(&self.layout.told_commits(host))
    }

    /// Why `team/main` does not follow that of its home, `host`, for people.
    pub fn main_problem(&self, host: &HostId) -> Option<String> {
        team_files::read(&self.layout.main_problem(host)).ok()?
    }

    pub fn put_main_problem(
        &self,
        _: &IntegrationGuard,
        host: &HostId,
        problem: Option<&str>,
    ) -> Result<(), TeamFileError> {
        let path = self.layout.main_problem(host);
        match problem {
            Some(problem) => team_files::put(&path, &problem, Durability::ProcessDeath),
            None => Ok(remove(&path)?),
        }
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

/// Notes that were taken.
#[derive(Debug, Default)]
pub struct Notes {
    pub notes: Vec<TreeFrame>,
    paths: Vec<std::path::PathBuf>,
}

/// The names of the files of a folder. There are none if the folder is not there.
fn entries(folder: &Path) -> Result<Vec<String>, PathError> {
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

fn remove(path: &Path) -> Result<(), PathError> {
    match files::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(PathError::new("remove", path, error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}
