//! What crosses of the work in trees: bundles of commits in parts, and how submissions stand. The queue has one
//! home, the host that the lead is at home on; every other host sends it what its members submit, and follows its
//! `team/main`.

use crate::{BundleDigest, CommitId, Submission, SubmissionId};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The most bytes of a bundle in one frame.
pub const PART_BYTES: usize = 128 << 10;
/// The largest bundle that crosses.
pub const MAX_BUNDLE_BYTES: u64 = 256 << 20;
/// The most commits that a host names of those that it has.
pub const MAX_NAMED_COMMITS: usize = 8;

/// What a frame carries of the work in trees.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum TreeFrame {
    /// To the home: a part of the bundle of a submission.
    Work(BundlePart),
    /// From the home: a part of a bundle that brings `team/main` further.
    Main(BundlePart),
    /// From the home: how a submission stands that came from the receiving host, whose number for it is `origin`.
    State { submission: Box<Submission> },
    /// A bundle that comes from the receiving host is to be sent again.
    Again(BundleAgain),
    /// To the home: commits that are here.
    Have(HaveCommits),
}

/// A part of a bundle. The parts of one bundle cross in their order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BundlePart {
    pub name: BundleName,
    /// The digest of the whole bundle, which tells two of the same name apart.
    pub digest: BundleDigest,
    /// Where in the bundle these bytes are.
    pub offset: u64,
    /// The bytes, in base64.
    pub data: String,
    /// What the bundle is; present in its first part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<Box<BundleHead>>,
}

/// What a bundle is; also the file beside it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BundleHead {
    pub name: BundleName,
    /// The commit that it brings.
    pub commit: CommitId,
    pub size: u64,
    pub digest: BundleDigest,
    /// Whether it needs no commit of the other host.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub whole: bool,
    /// The submission that it is for, as it is at the sending host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submission: Option<Box<Submission>>,
}

/// From where on a bundle is to be sent again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BundleAgain {
    pub name: BundleName,
    pub digest: BundleDigest,
    /// The first byte that is missing.
    #[serde(default)]
    pub from: u64,
    /// Whether it must be made anew with all commits, because some that it builds on are missing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub whole: bool,
}

/// Commits that a host has: where it last saw `team/main` of the home, then where its own is, then the one that is
/// checked out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HaveCommits {
    pub commits: Vec<CommitId>,
}

impl HaveCommits {
    /// What counts of what another host names.
    #[must_use]
    pub fn limited(mut self) -> Self {
        self.commits.truncate(MAX_NAMED_COMMITS);
        self
    }

    /// Adds a commit that the host need not be told of. It takes the place of another such one if there are many.
    pub fn add(&mut self, commit: CommitId) {
        self.commits.truncate(2 * MAX_NAMED_COMMITS - 1);
        self.commits.push(commit);
    }
}

/// What a bundle brings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum BundleName {
    /// `team/main` of the home.
    Main,
    /// The submission of this number at its own host.
    Submission(SubmissionId),
}

/// A text names no bundle.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not the name of a bundle: neither main nor submission-NUMBER")]
pub struct UnknownBundleName(String);

impl fmt::Display for BundleName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Main => f.write_str("main"),
            Self::Submission(id) => write!(f, "submission-{id}"),
        }
    }
}

impl FromStr for BundleName {
    type Err = UnknownBundleName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unknown = || UnknownBundleName(text.to_owned());
        if text == "main" {
            return Ok(Self::Main);
        }
        let digits = text.strip_prefix("submission-").ok_or_else(unknown)?;
        let number: u64 = digits.parse().map_err(|_| unknown())?;
        let name = Self::Submission(SubmissionId(number));
        // The name is a part of paths, so that each bundle has one only.
        match name.to_string() == text {
            true => Ok(name),
            false => Err(unknown()),
        }
    }
}

impl TryFrom<String> for BundleName {
    type Error = UnknownBundleName;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<BundleName> for String {
    fn from(name: BundleName) -> Self {
        name.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn however_many_commits_are_added_few_are_kept_and_the_last_is_among_them() {
        let commit = |number: usize| CommitId::new(&format!("{number:040x}")).unwrap();
        let mut told = HaveCommits {
            commits: (0..50_000).map(commit).collect(),
        };
        for number in 60_000..60_100 {
            told.add(commit(number));
            assert!(told.commits.contains(&commit(number)));
        }
        assert_eq!(told.commits.len(), 2 * MAX_NAMED_COMMITS);
        // What the host has named itself stays.
        let named: Vec<CommitId> = (0..MAX_NAMED_COMMITS).map(commit).collect();
        assert!(told.commits.starts_with(&named));
        assert_eq!(told.limited().commits, named);
    }

    #[test]
    fn a_bundle_has_one_name() {
        for name in [BundleName::Main, BundleName::Submission(SubmissionId(7))] {
            assert_eq!(name.to_string().parse(), Ok(name));
        }
        for text in [
            "",
            "Main",
            "submission-",
            "submission-07",
            "submission-+7",
            "submission-7/../8",
            "../main",
        ] {
            assert!(text.parse::<BundleName>().is_err(), "{text}");
        }
    }
}
