//! Merges without a checkout.

use crate::error::GitError;
use crate::process::{shown, split};
use crate::repository::{Repository, commit};
use protocol::CommitId;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// The most bytes of conflicting lines that are kept of one file.
const MOST_HUNKS: usize = 4_000;
/// The most files whose conflicting lines are kept.
const MOST_FILES: usize = 8;

/// The outcome of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merge {
    /// The tree object of the result.
    Clean(CommitId),
    Conflict(Conflict),
}

/// Why two commits cannot be merged by a program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Conflict {
    pub files: Vec<ConflictFile>,
    /// What git says about them, such as `CONFLICT (modify/delete): ...`.
    pub messages: Vec<String>,
}

/// A file in conflict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConflictFile {
    /// Its path for people.
    pub path: String,
    /// The lines on which the two sides differ, with the usual marks. Empty for files that are not text.
    pub hunks: String,
    /// Who has changed it on the side of `ours` since the two sides parted, newest first.
    pub authors: Vec<String>,
}

impl Repository {
    /// Merges `theirs` into `ours`. Objects are written, and nothing else is changed.
    pub fn merge(&self, ours: &CommitId, theirs: &CommitId) -> Result<Merge, GitError> {
        let attributes = format!("attr.tree={ours}");
        let git = self.neutral(["-c", &attributes, "merge-tree", "--write-tree", "-z"]);
        let git = git.args(["--name-only", "--messages", "--allow-unrelated-histories"]);
        let git = git.args([ours.as_str(), theirs.as_str()]);
        let output = git.output()?;
        let mut parts = output.stdout.split(|byte| *byte == 0);
        let tree = parts.next().unwrap_or_default();
        match output.code {
            Some(0) => Ok(Merge::Clean(commit("merge-tree", tree)?)),
            Some(1) => {
                let tree = commit("merge-tree", tree)?;
                let files: Vec<&[u8]> = parts.by_ref().take_while(|p| !p.is_empty()).collect();
                let messages = messages(parts);
                let files = self.conflict_files(&tree, (ours, theirs), &files)?;
                Ok(Merge::Conflict(Conflict { files, messages }))
            }
            _ => Err(git.failure(&output)),
        }
    }

    fn conflict_files(
        &self,
        tree: &CommitId,
        (ours, theirs): (&CommitId, &CommitId),
        paths: &[&[u8]],
    ) -> Result<Vec<ConflictFile>, GitError> {
        let mut files: Vec<ConflictFile> = Vec::new();
        let mut last: Option<&[u8]> = None;
        for path in paths {
            // A path stands there once for each side.
            if last.replace(path) == Some(path) {
                continue;
            }
            let is_shown = files.len() < MOST_FILES;
            files.push(ConflictFile {
                path: shown(path),
                hunks: match is_shown {
                    true => self.conflict_hunks(tree, path)?,
                    false => String::new(),
                },
                authors: match is_shown {
                    true => self.authors(theirs, ours, path)?,
                    false => Vec::new(),
                },
            });
        }
        Ok(files)
    }

    fn conflict_hunks(&self, tree: &CommitId, path: &[u8]) -> Result<String, GitError> {
        let mut object = tree.as_str().as_bytes().to_vec();
        object.push(b':');
        object.extend(path);
        let show = self.neutral(["cat-file", "blob"]);
        let output = show.arg(OsStr::from_bytes(&object)).output()?;
        Ok(hunks(&output.stdout))
    }

    /// Who has changed a file in the commits of `branch` that are not in `without`, newest first.
    fn authors(
        &self,
        without: &CommitId,
        branch: &CommitId,
        path: &[u8],
    ) -> Result<Vec<String>, GitError> {
        let log = self.neutral(["log", "-z", "--no-merges", "--max-count=50"]);
        // A name may have megabytes. Shorter ones are filled with spaces.
        let log = log.arg("--format=%<(200,trunc)%an");
        let log = log.args([format!("{without}..{branch}").as_str(), "--"]);
        let mut pathspec = b":(top,literal)".to_vec();
        pathspec.extend(path);
        let names = log.arg(OsStr::from_bytes(&pathspec)).success()?;
        let mut found: Vec<String> = Vec::new();
        for name in split(&names).map(|name| shown(name.trim_ascii_end())) {
            if !found.contains(&name) {
                found.push(name);
            }
        }
        Ok(found)
    }
}

/// The messages about conflicts behind the list of files: for each a number of paths, the paths, a type
/// and a text.
fn messages<'a>(mut parts: impl Iterator<Item = &'a [u8]>) -> Vec<String> {
    let mut found = Vec::new();
    while let Some(count) = parts.next() {
        let count = std::str::from_utf8(count).ok();
        let Some(count) = count.and_then(|count| count.parse::<usize>().ok()) else {
            break;
        };
        let kind = parts.by_ref().nth(count).unwrap_or_default();
        let text = parts.next().unwrap_or_default();
        if kind.starts_with(b"CONFLICT") {
            let text = String::from_utf8_lossy(text);
            found.push(shown(text.trim().as_bytes()));
        }
    }
    found
}

/// The parts of a merged file between the marks of conflicts.
fn hunks(content: &[u8]) -> String {
    let mut kept = String::new();
    let mut is_inside = false;
    for line in String::from_utf8_lossy(content).lines() {
        is_inside |= line.starts_with("<<<<<<< ");
        if is_inside {
            if kept.len() + line.len() > MOST_HUNKS {
                kept.push_str("...\n");
                break;
            }
            kept.push_str(line);
            kept.push('\n');
        }
        is_inside &= !line.starts_with(">>>>>>> ");
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_parts_in_conflict_are_kept() {
        let text = b"a\n<<<<<<< x\nb\n=======\nc\n>>>>>>> y\nd\n<<<<<<< x\ne\n>>>>>>> y\n";
        let kept = "<<<<<<< x\nb\n=======\nc\n>>>>>>> y\n<<<<<<< x\ne\n>>>>>>> y\n";
        assert_eq!(hunks(text), kept);
        assert_eq!(hunks(b"\xff\x00<<<<<<<"), "");
    }

    #[test]
    fn messages_have_any_number_of_paths() {
        let bytes = b"1\0f\0Auto-merging\0Auto-merging f\n\x002\0f\0g\0CONFLICT (rename)\0CONFLICT: f, g\n\0";
        let found = messages(bytes.split(|byte| *byte == 0));
        assert_eq!(found, ["CONFLICT: f, g"]);
    }
}
