//! Bundles of commits for another host, and from one.

use crate::tries::MOST_TRIES;
use crate::{Integration, IntegrationError, Purpose};
use git::{Blame, BundleError, BundleHeader, GitError};
use protocol::{
    BundleDigest, BundleHead, BundleName, CommitId, HostId, MAX_BUNDLE_BYTES, Submission,
};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use teamdir::IntegrationGuard;

/// The most memory of a command that reads what another host has sent.
const MOST_MEMORY: u64 = 2 << 30;

/// Why what came from another host is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BundleRefusal {
    #[error("its bundle is not what was sent: the digest is {found} instead of {expected}")]
    Digest {
        expected: BundleDigest,
        found: BundleDigest,
    },
    #[error("its bundle builds on commits that this host does not have, and says that it does not")]
    Prerequisites,
    #[error("it could not be unpacked in {MOST_TRIES} tries: {0}")]
    Tries(String),
    #[error(transparent)]
    Bundle(#[from] BundleError),
}

/// What came of unpacking a bundle.
#[derive(Debug)]
pub(crate) enum Unpacked {
    /// The repository has the commit, and everything that it needs. Nothing refers to it yet.
    Done,
    /// It builds on commits that are not here.
    Missing,
    Refused(BundleRefusal),
}

/// What came of making a bundle.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Made {
    Offered,
    /// The other host has the commit.
    Known,
    TooLarge(u64),
}

/// A bundle to be made.
pub(crate) struct NewBundle<'a> {
    pub(crate) host: &'a HostId,
    pub(crate) name: BundleName,
    /// The reference that it brings.
    pub(crate) reference: &'a str,
    /// Commits that the other host has. Without any the bundle is whole.
    pub(crate) known: &'a [CommitId],
    pub(crate) submission: Option<&'a Submission>,
}

impl Integration {
    /// Makes a bundle, and offers it to its host.
    pub(crate) fn offer(
        &self,
        guard: &IntegrationGuard,
        new: &NewBundle<'_>,
    ) -> Result<Made, IntegrationError> {
        let (host, name) = (new.host, new.name);
        self.team.prepare_outgoing(host)?;
        let layout = self.team.layout();
        // It has its name when it is known which commit it brings.
        let unnamed = layout.unfinished_bundle(host, name);
        let made = self
            .repository
            .make_bundle(&unnamed, new.reference, new.known)?;
        let Some(commit) = made else {
            return Ok(Made::Known);
        };
        let (size, digest) = digest_of(&unnamed)?;
        let path = layout.outgoing_bundle(host, name, &digest);
        if size > MAX_BUNDLE_BYTES {
            let _ = std::fs::remove_file(&unnamed);
            return Ok(Made::TooLarge(size));
        }
        std::fs::rename(&unnamed, &path)
            .map_err(|error| IntegrationError::file("rename a bundle to", path, error))?;
        let head = BundleHead {
            name,
            commit,
            size,
            digest,
            whole: new.known.is_empty(),
            submission: new.submission.cloned().map(Box::new),
        };
        self.team.put_outgoing(guard, host, &head)?;
        Ok(Made::Offered)
    }

    /// Brings the commit of a bundle from another host into the repository. If `is_work`, what the bundle changes may
    /// hold no traps.
    pub(crate) fn unpack(
        &self,
        guard: &IntegrationGuard,
        host: &HostId,
        head: &BundleHead,
        is_work: bool,
    ) -> Result<Unpacked, IntegrationError> {
        let bundle = self.team.open_incoming(host, head)?;
        let (_, found) = digest_of_file(&bundle)
            .map_err(|error| IntegrationError::file("read a bundle of", host.as_str(), error))?;
        if found != head.digest {
            let expected = head.digest.clone();
            return Ok(Unpacked::Refused(BundleRefusal::Digest { expected, found }));
        }
        let bundle = self.team.open_incoming(host, head)?;
        let header = match BundleHeader::read(&bundle) {
            Ok(header) => header,
            Err(error) => return Ok(Unpacked::Refused(error.into())),
        };
        if let Err(error) = header.expect(&head.commit) {
            return Ok(Unpacked::Refused(error.into()));
        }
        for commit in &header.prerequisites {
            if !self.repository.has_commit(commit)? {
                return Ok(match head.whole {
                    true => Unpacked::Refused(BundleRefusal::Prerequisites),
                    false => Unpacked::Missing,
                });
            }
        }
        self.team.trees_folder()?;
        let tip = self.team_branch()?;
        let folder = self.team.layout().unpacking(host, head.name);
        let unpacked = self.unpack_in(&folder, (&bundle, &header), (&head.commit, &tip), is_work);
        let _ = std::fs::remove_dir_all(&folder);
        match unpacked {
            Ok(Ok(())) => Ok(Unpacked::Done),
            Ok(Err(refusal)) => Ok(Unpacked::Refused(refusal.into())),
            Err(error) => match error.blame() {
                Blame::Content => {
                    let refusal = BundleError::Objects(error.to_string());
                    Ok(Unpacked::Refused(refusal.into()))
                }
                Blame::Unclear => self.count_try(guard, host, head, error),
                Blame::Host => Err(error.into()),
            },
        }
    }

    /// Unpacks a bundle in a repository of its own, and brings the commit out of there as out of a member's tree.
    fn unpack_in(
        &self,
        folder: &Path,
        (bundle, header): (&File, &BundleHeader),
        (commit, tip): (&CommitId, &CommitId),
        is_work: bool,
    ) -> Result<Result<(), BundleError>, GitError> {
        self.repository.create_quarantine(folder, tip)?;
        let quarantine = self.sandboxed_tree(folder, Purpose::Change);
        quarantine.with_memory(MOST_MEMORY).unpack(bundle, header)?;
        let quarantine = self.sandboxed_tree(folder, Purpose::Read);
        let quarantine = quarantine.with_memory(MOST_MEMORY);
        if is_work && let Err(refusal) = quarantine.refuse_traps(tip, commit)? {
            return Ok(Err(refusal));
        }
        // What is there is harmless, and is brought out by as many threads as the machine has.
        let quarantine = self.sandboxed_tree(folder, Purpose::Read);
        let known = std::slice::from_ref(tip);
        self.repository.receive(&quarantine, commit, known)?;
        Ok(Ok(()))
    }
}

fn digest_of(path: &Path) -> Result<(u64, BundleDigest), IntegrationError> {
    let digest = File::open(path).and_then(|file| digest_of_file(&file));
    digest.map_err(|error| IntegrationError::file("read", path, error))
}

/// The size of a file, and its SHA-256.
fn digest_of_file(mut file: &File) -> io::Result<(u64, BundleDigest)> {
    let mut digest = Sha256::new();
    let mut size = 0;
    let mut buffer = vec![0; 1 << 16];
    loop {
        let read = file.read(&mut buffer)?;
        let Some(bytes) = buffer.get(..read).filter(|bytes| !bytes.is_empty()) else {
            break;
        };
        digest.update(bytes);
        size += read as u64;
    }
    let hexadecimal: String = digest
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let digest = BundleDigest::new(&hexadecimal).map_err(io::Error::other)?;
    Ok((size, digest))
}
