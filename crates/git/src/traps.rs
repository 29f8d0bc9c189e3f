//! Refuses what another host has committed that would harm this one: links that lead out of the repository, new
//! submodules, and a few objects that stand for millions of files.
//!
//! All of it is read inside the sandbox of the repository that the commit was unpacked in, with limits on memory and
//! time, before the commit is brought out of there. The number of processes does not depend on what was committed.

use crate::bundle::BundleError;
use crate::error::GitError;
use crate::process::{Git, shown, split};
use crate::sandboxed_tree::SandboxedTree;
use protocol::CommitId;

/// The most files that a commit from another host may have. Seven folders that name each other ten times are ten
/// million, and whatever compares or checks them out needs as much memory and room.
pub(crate) const MOST_FILES: u64 = 2_000_000;
/// The longest target of a link.
const MOST_TARGET: usize = 4096;
/// How much of a target is shown.
const SHOWN_TARGET: usize = 200;

/// A link that was changed.
struct Link<'a> {
    path: &'a [u8],
    /// The object with its target.
    object: &'a str,
}

impl SandboxedTree {
    /// Looks at what `commit` has changed since it parted from `base`: a link that leads out of the repository and a
    /// new submodule are refused. A checkout of either may reach files that are not of the repository.
    pub fn refuse_traps(
        &self,
        base: &CommitId,
        commit: &CommitId,
    ) -> Result<Result<(), BundleError>, GitError> {
        let merge_base = Git::frugal(["merge-base", base.as_str(), commit.as_str()]);
        let found = self.output(&merge_base)?;
        match found.code {
            Some(0) => {}
            Some(1) => return Ok(Err(BundleError::Unrelated)),
            _ => return Err(merge_base.failure(&found)),
        }
        if self.has_too_many_files(commit)? {
            return Ok(Err(BundleError::TooManyFiles));
        }
        let diff = Git::frugal(["diff", "--raw", "-z", "--no-renames", "--no-abbrev"]);
        let diff = diff.args(["--no-ext-diff", "--no-textconv", "--ignore-submodules=none"]);
        let diff = diff.arg(format!("{base}...{commit}")).arg("--");
        let changes = self.success(&diff)?;
        match changed_links(&changes) {
            Ok(links) => self.refuse_links(&links),
            Err(refusal) => Ok(Err(refusal)),
        }
    }

    /// Whether a commit has more than [`MOST_FILES`]. Git prints one byte for each, and ends when nobody reads on.
    fn has_too_many_files(&self, commit: &CommitId) -> Result<bool, GitError> {
        let list = Git::frugal(["ls-tree", "-r", "--format=", commit.as_str()]);
        let list = list.most_output(MOST_FILES);
        let listed = self.output(&list)?;
        match listed.is_cut {
            true => Ok(true),
            false => list.check(listed).map(|_| false),
        }
    }

    fn refuse_links(&self, links: &[Link<'_>]) -> Result<Result<(), BundleError>, GitError> {
        if links.is_empty() {
            return Ok(Ok(()));
        }
        let objects: String = links
            .iter()
            .map(|link| format!("{}\n", link.object))
            .collect();
        // First the sizes: a target may be as long as a file.
        let ask = Git::frugal(["cat-file", "--batch-check=%(objectsize)"]);
        let sizes = self.success(&ask.input(objects.clone()))?;
        for (link, size) in links.iter().zip(sizes.split(|byte| *byte == b'\n')) {
            let size = String::from_utf8_lossy(size);
            if size.parse().is_ok_and(|size: usize| size <= MOST_TARGET) {
                continue;
            }
            return Ok(Err(BundleError::Link {
                path: shown(link.path),
                target: format!("a name of {size} bytes"),
            }));
        }
        let ask = Git::frugal(["cat-file", "--batch=%(objectsize)"]).input(objects);
        let targets = self.success(&ask)?;
        let mut rest = targets.as_slice();
        for link in links {
            let target = next_object(&mut rest);
            let target = target.ok_or_else(|| GitError::unexpected("cat-file", "too little"))?;
            if leads_out(link.path, target) {
                let target = target.get(..SHOWN_TARGET).unwrap_or(target);
                return Ok(Err(BundleError::Link {
                    path: shown(link.path),
                    target: shown(target),
                }));
            }
        }
        Ok(Ok(()))
    }
}

/// The links in the output of `git diff --raw -z`. A new submodule is refused.
fn changed_links(changes: &[u8]) -> Result<Vec<Link<'_>>, BundleError> {
    let mut links = Vec::new();
    let mut parts = split(changes);
    while let (Some(what), Some(path)) = (parts.next(), parts.next()) {
        let mut words = std::str::from_utf8(what).unwrap_or_default().split(' ');
        let (before, after) = (words.next(), words.next());
        let object = words.nth(1).unwrap_or_default();
        match (before, after) {
            (Some(":160000"), Some("160000")) => {}
            (_, Some("160000")) => {
                let path = shown(path);
                return Err(BundleError::Submodule { path });
            }
            (_, Some("120000")) => links.push(Link { path, object }),
            _ => {}
        }
    }
    Ok(links)
}

/// The next object in the output of `git cat-file --batch=%(objectsize)`: its size in a line, and its bytes in one.
fn next_object<'a>(output: &mut &'a [u8]) -> Option<&'a [u8]> {
    let end = output.iter().position(|byte| *byte == b'\n')?;
    let (size, rest) = output.split_at_checked(end)?;
    let size: usize = std::str::from_utf8(size).ok()?.parse().ok()?;
    let (object, rest) = rest.get(1..)?.split_at_checked(size)?;
    *output = rest.strip_prefix(b"\n")?;
    Some(object)
}

/// Whether a link at `path` may lead out of the repository. Only at its beginning may a target lead up: behind a name
/// `..` is the folder above of what the name leads to, if that is a link.
fn leads_out(path: &[u8], target: &[u8]) -> bool {
    if target.first().is_none_or(|byte| *byte == b'/') || target.len() > MOST_TARGET {
        return true;
    }
    let mut depth = path.split(|byte| *byte == b'/').count() - 1;
    let mut has_name = false;
    for part in target.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." if depth == 0 || has_name => return true,
            b".." => depth -= 1,
            // Git's own folder is not of the repository.
            name if name.eq_ignore_ascii_case(b".git") => return true,
            _ => has_name = true,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_that_lead_out_are_recognised() {
        for (path, target) in [
            ("a", "/etc/passwd"),
            ("a", ".."),
            ("a/b", "../../x"),
            ("a/b", "../.git/config"),
            ("a", "x/../../y"),
            ("a", ""),
            // Where `a/b/up` leads to `../..`, this is beside the repository.
            ("x", "a/b/up/../y"),
            ("d/x", "../a/up/.."),
        ] {
            assert!(
                leads_out(path.as_bytes(), target.as_bytes()),
                "{path} -> {target}"
            );
        }
        for (path, target) in [
            ("a", "b"),
            ("a/b", "../c"),
            ("a/b/c", "../../d/e"),
            ("a", "./b"),
            ("a/b", "./../c"),
        ] {
            assert!(
                !leads_out(path.as_bytes(), target.as_bytes()),
                "{path} -> {target}"
            );
        }
    }

    #[test]
    fn objects_are_read_by_their_sizes() {
        let mut output: &[u8] = b"3\na\nb\n0\n\n2\nxy\n9\nshort\n";
        let mut next = || next_object(&mut output);
        assert_eq!(next(), Some(&b"a\nb"[..]));
        assert_eq!(next(), Some(&b""[..]));
        assert_eq!(next(), Some(&b"xy"[..]));
        assert_eq!(next(), None);
    }
}
