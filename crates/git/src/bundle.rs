//! Bundles: commits in a file, for a repository that cannot be reached.
//!
//! A bundle from another host is a stranger's word. Its header is read here, and must name one reference and the one
//! commit that is expected; git never sees the name. Its pack is unpacked in a repository of its own that borrows
//! the objects of the person's, inside a sandbox, and every object is checked. Only then is the commit
//! brought out of there like one of a member's tree ([`Repository::receive`]).

use crate::error::GitError;
use crate::process::{Git, shown};
use crate::repository::Repository;
use crate::sandboxed_tree::SandboxedTree;
use crate::traps::MOST_FILES;
use crate::tree::{NewTree, remove_folder};
use protocol::CommitId;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

/// How long making a bundle may take.
const LIMIT: Duration = Duration::from_secs(600);
/// How long unpacking one may take. The largest takes a minute on a slow machine, and nothing is merged meanwhile.
const UNPACK_LIMIT: Duration = Duration::from_secs(300);
/// The longest header.
const MOST_HEADER: u64 = 1 << 20;
/// The most commits that a bundle may build on.
const MOST_PREREQUISITES: usize = 256;

/// What the header of a bundle says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BundleHeader {
    /// The commits that it builds on.
    pub prerequisites: Vec<CommitId>,
    /// The references that it brings, with their commits.
    pub references: Vec<(String, CommitId)>,
    /// Where its pack begins.
    pub end: u64,
}

/// Why a bundle cannot be used, whoever tries.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BundleError {
    #[error("it is no bundle of git: {0}")]
    NoBundle(String),
    #[error("it names {found} instead of the one commit {expected}")]
    OtherReferences { expected: CommitId, found: String },
    #[error("it builds on more than {MOST_PREREQUISITES} commits")]
    TooManyPrerequisites,
    #[error("its objects are damaged or forbidden: {0}")]
    Objects(String),
    #[error("it has no history in common with team/main")]
    Unrelated,
    #[error("the link {path} leads out of the repository, or may: it leads to {target}")]
    Link { path: String, target: String },
    #[error("it has more than {MOST_FILES} files")]
    TooManyFiles,
    #[error("it adds the submodule {path}")]
    Submodule { path: String },
}

impl BundleHeader {
    /// Reads the header of a bundle.
    pub fn read(bundle: &File) -> Result<Self, BundleError> {
        let no_bundle = |why: &str| BundleError::NoBundle(why.to_owned());
        let mut reader = BufReader::new(bundle.take(MOST_HEADER));
        let mut header = Self::default();
        let mut is_begun = false;
        loop {
            let mut line = Vec::new();
            let length = reader
                .read_until(b'\n', &mut line)
                .map_err(|error| BundleError::NoBundle(error.to_string()))?;
            header.end += length as u64;
            let Some(line) = line.strip_suffix(b"\n") else {
                return Err(no_bundle("its header does not end"));
            };
            let line = String::from_utf8_lossy(line);
            match (is_begun, line.as_ref()) {
                (false, "# v2 git bundle" | "# v3 git bundle") => is_begun = true,
                (false, _) => return Err(no_bundle("it does not begin like one")),
                (true, "") => return Ok(header),
                (true, "@object-format=sha1" | "@object-format=sha256") => {}
                (true, line) => header.take_line(line)?,
            }
        }
    }

    fn take_line(&mut self, line: &str) -> Result<(), BundleError> {
        let bad = || BundleError::NoBundle(format!("a line of its header is {line:?}"));
        if line.starts_with('@') {
            return Err(bad());
        }
        let (is_prerequisite, rest) = match line.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, line),
        };
        let (id, name) = rest.split_once(' ').unwrap_or((rest, ""));
        let id = CommitId::new(id).map_err(|_| bad())?;
        match is_prerequisite {
            true if self.prerequisites.len() == MOST_PREREQUISITES => {
                Err(BundleError::TooManyPrerequisites)
            }
            true => {
                self.prerequisites.push(id);
                Ok(())
            }
            false => {
                self.references.push((name.to_owned(), id));
                Ok(())
            }
        }
    }

    /// The bundle brings this commit under one reference, and nothing else.
    pub fn expect(&self, commit: &CommitId) -> Result<(), BundleError> {
        match self.references.as_slice() {
            [(_, found)] if found == commit => Ok(()),
            other => {
                let found: Vec<String> = other
                    .iter()
                    .take(4)
                    .map(|(name, commit)| {
                        format!("{} at {}", shown(name.as_bytes()), commit.short())
                    })
                    .collect();
                Err(BundleError::OtherReferences {
                    expected: commit.clone(),
                    found: match found.is_empty() {
                        true => "nothing".to_owned(),
                        false => found.join(", "),
                    },
                })
            }
        }
    }
}

impl Repository {
    /// Writes a bundle of what a reference has, without what the commits `known` have. Returns the commit that the
    /// reference was at, or `None` if `known` have it too.
    pub fn make_bundle(
        &self,
        file: &Path,
        reference: &str,
        known: &[CommitId],
    ) -> Result<Option<CommitId>, GitError> {
        let Some(commit) = self.reference(reference)? else {
            return Err(GitError::unexpected("bundle", format!("no {reference}")));
        };
        for known in known {
            if self.contains(known, &commit)? {
                return Ok(None);
            }
        }
        let make = self.own(["bundle", "create", "--quiet"]).arg(file);
        let without = known.iter().map(|commit| format!("^{commit}"));
        make.arg(reference)
            .args(without)
            .limit(LIMIT)
            .success()
            .map(drop)?;
        let made = File::open(file).map_err(|error| GitError::file("read", file, error))?;
        let header = BundleHeader::read(&made)
            .map_err(|error| GitError::unexpected("bundle", error.to_string()))?;
        let first = header.references.into_iter().next();
        Ok(first.map(|(_, commit)| commit))
    }

    /// Whether the repository has a commit.
    pub fn has_commit(&self, commit: &CommitId) -> Result<bool, GitError> {
        let ask = self.neutral(["cat-file", "-e"]);
        let ask = ask.arg(format!("{commit}^{{commit}}"));
        Ok(ask.output()?.code == Some(0))
    }

    /// Makes an empty repository in `folder` that borrows the objects of this one.
    pub fn create_quarantine(&self, folder: &Path, like: &CommitId) -> Result<(), GitError> {
        remove_folder(folder)?;
        self.begin_tree(
            folder,
            &NewTree {
                path: folder,
                branch: "none",
                base: like,
                author: ("none", "none"),
                upstream: "none",
            },
        )
    }
}

impl SandboxedTree {
    /// Unpacks the pack of a bundle into this repository. The sandbox must be writable. [`GitError::blame`]
    /// says whether an error is the bundle's.
    pub fn unpack(&self, bundle: &File, header: &BundleHeader) -> Result<(), GitError> {
        let mut pack = bundle
            .try_clone()
            .map_err(|error| GitError::file("read", &self.folder, error))?;
        pack.seek(SeekFrom::Start(header.end))
            .map_err(|error| GitError::file("read", &self.folder, error))?;
        // More threads would need more memory, which is limited.
        let index = Git::frugal(["index-pack", "--stdin", "--fix-thin", "--strict"]);
        let index = index.arg("--threads=1").limit(UNPACK_LIMIT);
        let (mut command, session) = self.prepare(&index)?;
        command.stdin(Stdio::from(pack));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().map_err(|error| index.not_started(&error))?;
        let output = index.finish(child);
        drop(session);
        index.check(output?).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn read(text: &[u8]) -> Result<BundleHeader, BundleError> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text).unwrap();
        file.seek(SeekFrom::Start(0)).unwrap();
        BundleHeader::read(&file)
    }

    fn id(digit: char) -> CommitId {
        CommitId::new(&digit.to_string().repeat(40)).unwrap()
    }

    #[test]
    fn a_header_is_read_up_to_the_pack() {
        let text = format!(
            "# v2 git bundle\n-{} Begin\n{} refs/heads/team/main\n\nPACK",
            id('a'),
            id('b')
        );
        let header = read(text.as_bytes()).unwrap();
        assert_eq!(header.prerequisites, [id('a')]);
        assert_eq!(
            header.references,
            [("refs/heads/team/main".to_owned(), id('b'))]
        );
        assert_eq!(header.end as usize, text.len() - 4);
        header.expect(&id('b')).unwrap();
        header.expect(&id('a')).unwrap_err();
    }

    #[test]
    fn what_is_no_header_is_refused() {
        let no_end = format!("# v2 git bundle\n{} refs/heads/main\n", id('a'));
        let filtered = format!(
            "# v3 git bundle\n@filter=blob:none\n{} refs/heads/main\n\n",
            id('a')
        );
        for text in [
            "",
            "PACK",
            "# v2 git bundle\n",
            "# v2 git bundle\nHEAD refs/heads/main\n\n",
            "# v2 git bundle\n../.. x\n\n",
            &no_end,
            &filtered,
        ] {
            assert!(
                matches!(read(text.as_bytes()), Err(BundleError::NoBundle(_))),
                "{text:?}"
            );
        }
        let mut endless = b"# v2 git bundle\n".to_vec();
        endless.resize(2 << 20, b'a');
        assert!(matches!(read(&endless), Err(BundleError::NoBundle(_))));
        let many = format!("-{} x\n", id('a')).repeat(MOST_PREREQUISITES + 1);
        let many = format!("# v2 git bundle\n{many}\n");
        assert_eq!(
            read(many.as_bytes()),
            Err(BundleError::TooManyPrerequisites)
        );
    }

    #[test]
    fn one_reference_at_the_expected_commit_is_taken_whatever_its_name() {
        let with = |lines: &str| read(format!("# v2 git bundle\n{lines}\n").as_bytes()).unwrap();
        with(&format!("{} refs/heads/../../x\n", id('a')))
            .expect(&id('a'))
            .unwrap();
        for lines in [
            String::new(),
            format!("{} refs/heads/main\n", id('b')),
            format!("{0} refs/heads/main\n{0} refs/heads/team/main\n", id('a')),
        ] {
            let refused = with(&lines).expect(&id('a'));
            assert!(
                matches!(refused, Err(BundleError::OtherReferences { .. })),
                "{lines}"
            );
        }
    }
}
