//! Another host that is linked, and what it sends.

use crate::support::{World, agent};
use protocol::{
    BundleDigest, BundleHead, BundleName, CommitId, HostId, Member, Submission, SubmissionId,
    SubmissionStatus, TreeFrame,
};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use teamdir::{IncomingBundle, NewPart, RosterError, now};
use test_support::{commit_all, git, git_command, init_repository};

/// The other host, whose member is eve.
pub(crate) struct Stranger {
    pub(crate) host: HostId,
    pub(crate) folder: tempfile::TempDir,
    /// The commit that both hosts began with.
    pub(crate) begin: CommitId,
    /// The number of its last submission.
    last: u64,
}

/// What it sends.
pub(crate) struct Sent {
    pub(crate) head: BundleHead,
    pub(crate) bytes: Vec<u8>,
}

impl Stranger {
    /// A host with a copy of the repository of the world, which knows it.
    pub(crate) fn of(world: &World) -> Self {
        let host = HostId::new("gpu1").unwrap();
        let folder = tempfile::tempdir().unwrap();
        init_repository(folder.path());
        let source = world.folder().display().to_string();
        git(folder.path(), ["pull", "--quiet", &source, "main"]);
        let added = world.team().update_roster(|roster| {
            roster.members.push(Member {
                host: Some(host.clone()),
                ..Member::new(agent("eve"), "tester")
            });
            Ok::<_, RosterError>(())
        });
        added.unwrap();
        world.team().prepare_outgoing(&host).unwrap();
        let begin = head_of(folder.path());
        Self {
            host,
            folder,
            begin,
            last: 0,
        }
    }

    /// Commits what a shell command makes of the work tree. Returns the commit.
    pub(crate) fn commit(&self, command: &str) -> CommitId {
        let done = std::process::Command::new("sh")
            .args(["-c", command])
            .current_dir(self.folder.path())
            .status();
        assert!(done.unwrap().success(), "{command}");
        commit_all(self.folder.path(), "x");
        head_of(self.folder.path())
    }

    /// Writes an object with this content. Returns its name.
    pub(crate) fn object(&self, kind: &str, content: &[u8]) -> String {
        let mut command = git_command(self.folder.path());
        command.args(["hash-object", "-w", "--stdin", "--literally", "-t", kind]);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(content).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// A tree with these entries: mode, name and object.
    pub(crate) fn tree(&self, entries: &[(&str, &str, &str)]) -> String {
        let mut content = Vec::new();
        for (mode, name, object) in entries {
            content.extend(format!("{mode} {name}\0").bytes());
            let pairs = object.as_bytes().chunks(2);
            let byte = |pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
            content.extend(pairs.map(byte));
        }
        self.object("tree", &content)
    }

    /// Commits a tree onto the current commit, and leaves the work tree as it is.
    pub(crate) fn commit_tree(&self, tree: &str) -> CommitId {
        let at = self.folder.path();
        let made = git(at, ["commit-tree", tree, "-p", "HEAD", "-m", "x"]);
        CommitId::new(made.trim()).unwrap()
    }

    /// A bundle of a commit for the next submission, on top of the one that both hosts began with.
    pub(crate) fn bundle(&mut self, commit: &CommitId) -> Sent {
        self.last += 1;
        let id = SubmissionId(self.last);
        let eve = agent("eve");
        let submission = Submission::new(id, eve, commit.clone(), now());
        let name = BundleName::Submission(id);
        self.bundle_as(name, commit, Some(submission))
    }

    pub(crate) fn bundle_as(
        &self,
        name: BundleName,
        commit: &CommitId,
        submission: Option<Submission>,
    ) -> Sent {
        let at = self.folder.path();
        git(at, ["update-ref", "refs/heads/sent", commit.as_str()]);
        let without = format!("^{}", self.begin);
        let make = ["bundle", "create", "--quiet", "b.bundle", "sent", &without];
        git(at, make);
        let path = at.join("b.bundle");
        let bytes = fs::read(&path).unwrap();
        let sum = std::process::Command::new("sha256sum").arg(&path).output();
        let sum = String::from_utf8(sum.unwrap().stdout).unwrap();
        fs::remove_file(path).unwrap();
        let digest = BundleDigest::new(sum.split_whitespace().next().unwrap()).unwrap();
        let head = BundleHead {
            name,
            commit: commit.clone(),
            size: bytes.len() as u64,
            digest,
            whole: false,
            submission: submission.map(Box::new),
        };
        Sent { head, bytes }
    }

    /// What the bridge of the world stores of a bundle, up to this many bytes.
    pub(crate) fn deliver(&self, world: &World, sent: &Sent, most: usize) {
        let guard = world.team().lock_bridge().unwrap();
        let bytes = &sent.bytes[..most.min(sent.bytes.len())];
        let part = NewPart {
            name: sent.head.name,
            digest: &sent.head.digest,
            head: Some(&sent.head),
            offset: 0,
            bytes,
        };
        let stored = world.team().put_incoming(&guard, &self.host, &part);
        stored.unwrap();
    }

    pub(crate) fn waiting(&self, world: &World) -> Vec<IncomingBundle> {
        world.team().incoming(&self.host).unwrap()
    }

    /// What the world has said since it was asked last.
    pub(crate) fn said(&self, world: &World) -> Vec<TreeFrame> {
        let guard = world.team().lock_bridge().unwrap();
        let notes = world.team().take_tree_notes(&guard, &self.host).unwrap();
        world.team().notes_are_sent(&notes).unwrap();
        notes.notes
    }

    /// How the world says that submissions stand: number here, status and reason.
    pub(crate) fn states(&self, world: &World) -> Vec<(u64, SubmissionStatus, String)> {
        let mut states: Vec<_> = self
            .said(world)
            .into_iter()
            .filter_map(|note| match note {
                TreeFrame::State { submission } => Some((
                    submission.origin?.0,
                    submission.status,
                    submission.reason.unwrap_or_default(),
                )),
                _ => None,
            })
            .collect();
        states.sort_by_key(|(id, ..)| *id);
        states
    }
}

fn head_of(repository: &Path) -> CommitId {
    CommitId::new(git(repository, ["rev-parse", "HEAD"]).trim()).unwrap()
}
