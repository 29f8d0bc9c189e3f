//! Brings commits out of a tree.

use crate::error::GitError;
use crate::process::Git;
use crate::repository::Repository;
use crate::sandboxed_tree::SandboxedTree;
use protocol::CommitId;
use std::io::Write;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// How long bringing commits out of a tree may take.
const LIMIT: Duration = Duration::from_secs(600);
/// The most bytes that are brought out at once.
const MOST_BYTES: &str = "--max-input-size=2147483648";

impl Repository {
    /// Copies a commit of a tree, and everything it needs, into the repository. `known` are commits that
    /// the repository has. When this returns, the repository has all objects of `tip`; nothing refers to
    /// them yet.
    pub fn receive(
        &self,
        tree: &SandboxedTree,
        tip: &CommitId,
        known: &[CommitId],
    ) -> Result<(), GitError> {
        self.copy_objects(tree, tip, known)?;
        // A pack can be valid and still lack objects that the commit needs.
        let mut walk = self.neutral(["rev-list", "--objects", "--quiet", tip.as_str(), "--not"]);
        walk = walk.args(known.iter().map(CommitId::as_str));
        let output = walk.output()?;
        match output.code {
            Some(0) => Ok(()),
            _ => Err(walk.failure(&output)),
        }
    }

    fn copy_objects(
        &self,
        tree: &SandboxedTree,
        tip: &CommitId,
        known: &[CommitId],
    ) -> Result<(), GitError> {
        let pack = Git::new(["pack-objects", "--quiet", "--revs", "--thin", "--stdout"]);
        let pack = pack.arg("--delta-base-offset").limit(LIMIT);
        let (mut packer, session) = tree.prepare(&pack)?;
        packer.stdin(Stdio::piped()).stdout(Stdio::piped());
        packer.stderr(Stdio::piped());
        let mut packing = packer.spawn().map_err(|error| match &session {
            Some(session) => GitError::NotStarted {
                command: pack.name(),
                message: session.explain(error).to_string(),
            },
            None => pack.not_started(&error),
        })?;
        let wanted: String = std::iter::once(format!("{tip}\n"))
            .chain(known.iter().map(|commit| format!("^{commit}\n")))
            .collect();
        let input = packing.stdin.take();
        // If the packer does not read its input, it ends and its error says why.
        let writer = thread::spawn(move || input.map(|mut pipe| pipe.write_all(wanted.as_bytes())));
        let index = self.neutral([
            "index-pack",
            "--stdin",
            "--fix-thin",
            "--strict",
            MOST_BYTES,
        ]);
        let index = index.limit(LIMIT);
        let indexed = packing.stdout.take().map(|objects| {
            let mut command = Command::new("git");
            command.args(index.words()).env_clear();
            command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
            command.envs(index.environment()).stdin(objects);
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            let child = command.spawn().map_err(|error| index.not_started(&error));
            child.and_then(|child| index.finish(child))
        });
        let packed = pack.finish(packing);
        let _ = writer.join();
        drop(session);
        // The packer's error comes first: it explains why the index got only a part of the pack.
        pack.check(packed?)?;
        match indexed {
            Some(output) => index.check(output?).map(drop),
            None => Ok(()),
        }
    }
}
