//! What another host sends as the work of its members is dangerous, too much, or does not fit here.

use crate::support::{World, agent};
use integration::Integration;
use protocol::{
    BundleDigest, BundleHead, BundleName, CommitId, HostId, Member, Submission, SubmissionId,
    SubmissionStatus, TreeFrame,
};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use teamdir::{IncomingBundle, RosterError, SubmissionError, now};
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
    fn object(&self, kind: &str, content: &[u8]) -> String {
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
    fn tree(&self, entries: &[(&str, &str, &str)]) -> String {
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
    fn commit_tree(&self, tree: &str) -> CommitId {
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
        let key = (sent.head.name, &sent.head.digest);
        let stored =
            world
                .team()
                .put_incoming(&guard, &self.host, key, Some(&sent.head), (0, bytes));
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

/// A commit of ten million files in less than a kilobyte.
fn tree_bomb(stranger: &Stranger) -> CommitId {
    let names: Vec<String> = (0..10).map(|digit| digit.to_string()).collect();
    let mut object = stranger.object("blob", b"x");
    let mut mode = "100644";
    for _ in 0..7 {
        let entries: Vec<_> = names
            .iter()
            .map(|name| (mode, name.as_str(), object.as_str()))
            .collect();
        object = stranger.tree(&entries);
        mode = "40000";
    }
    stranger.commit_tree(&object)
}

fn link_to(stranger: &Stranger, target: &[u8]) -> CommitId {
    let target = stranger.object("blob", target);
    let tree = stranger.tree(&[("120000", "link", &target)]);
    stranger.commit_tree(&tree)
}

fn many_links(stranger: &Stranger) -> CommitId {
    let make = "for n in $(seq 500); do ln -s \"../main\" \"link$n\"; done; mkdir d; mv link* d";
    stranger.commit(&format!("{make}; ln -s d/link1/../../x bad"))
}

#[test]
fn what_a_bundle_holds_stops_no_queue() {
    let world = World::new(&["alice"]);
    let mut stranger = Stranger::of(&world);
    type Make = fn(&Stranger) -> CommitId;
    let cases: [(&str, Make); 5] = [
        ("it has more than 2000000 files", tree_bomb),
        ("it leads to a name of 70000000 bytes", |stranger| {
            link_to(stranger, &vec![b'x'; 70_000_000])
        }),
        ("out of the repository", |stranger| {
            link_to(stranger, b"./../b")
        }),
        // `a/b/up` alone is harmless, and through it `x` leads beside the repository.
        ("out of the repository", |stranger| {
            stranger.commit("mkdir -p a/b && ln -s ../.. a/b/up && ln -s a/b/up/../secret x")
        }),
        ("the link bad leads out of the repository", many_links),
    ];
    for (number, (expected, make)) in cases.into_iter().enumerate() {
        let commit = make(&stranger);
        let sent = stranger.bundle(&commit);
        git(
            stranger.folder.path(),
            ["reset", "--quiet", "--hard", stranger.begin.as_str()],
        );
        stranger.deliver(&world, &sent, usize::MAX);
        let file = format!("{number}.txt");
        world.commit("alice", &file, "a\n");
        world.submit("alice");
        world.integrate();
        assert!(world.has_merged(&file), "{expected}");
        assert_eq!(stranger.waiting(&world), [], "{expected}");
        let states = stranger.states(&world);
        let [(id, SubmissionStatus::Failed, reason)] = states.as_slice() else {
            panic!("{expected}: {states:?}");
        };
        assert_eq!(*id, sent.head.submission.unwrap().id.0);
        assert!(reason.contains(expected), "{expected}: {reason}");
        assert!(reason.len() < 10_000, "{}", reason.len());
        assert!(!Integration::is_queue_due(world.team()), "{expected}");
    }
    assert_eq!(world.count().submitted, 5, "nothing of eve's is there");
}

#[test]
fn a_subject_without_end_is_cut() {
    let world = World::new(&[]);
    let mut stranger = Stranger::of(&world);
    let head = git(stranger.folder.path(), ["cat-file", "commit", "HEAD"]);
    let (head, _) = head.split_once("\n\n").unwrap();
    let tree = git(stranger.folder.path(), ["rev-parse", "HEAD^{tree}"]);
    let parent = format!("tree {tree}parent {}\n", stranger.begin);
    let rest = head
        .lines()
        .filter(|line| line.starts_with("author") || line.starts_with("committer"));
    let rest: Vec<&str> = rest.collect();
    let mut commit = format!("{parent}{}\n\n", rest.join("\n")).into_bytes();
    commit.resize(commit.len() + (70 << 20), b'x');
    let commit = CommitId::new(&stranger.object("commit", &commit)).unwrap();
    let sent = stranger.bundle(&commit);
    stranger.deliver(&world, &sent, usize::MAX);
    world.integrate();
    assert!(world.submission(1).subject.len() <= 4096);
    assert_eq!(stranger.waiting(&world), []);
}

#[test]
fn a_bundle_that_is_sent_again_does_not_stay() {
    let world = World::new(&[]);
    let mut stranger = Stranger::of(&world);
    let commit = stranger.commit("echo e > e.txt");
    let sent = stranger.bundle(&commit);
    stranger.deliver(&world, &sent, usize::MAX);
    world.integrate();
    let merged = (1, SubmissionStatus::Merged, String::new());
    assert_eq!(stranger.states(&world), [merged.clone()]);
    // Its bridge was killed before it heard of that, and hears of it before it has sent all of it again.
    for most in [10, usize::MAX] {
        stranger.deliver(&world, &sent, most);
        assert!(Integration::is_queue_due(world.team()), "{most}");
        world.integrate();
        assert_eq!(stranger.states(&world), [merged.clone()], "{most}");
        assert_eq!(stranger.waiting(&world), [], "{most}");
    }
    assert_eq!(world.count().submitted, 1);
    // One that is not known is waited for as long as its author may send the rest.
    let next = stranger.commit("echo f > f.txt");
    let next = stranger.bundle(&next);
    stranger.deliver(&world, &next, 10);
    assert!(!Integration::is_queue_due(world.team()));
    assert!(world.trees().exchange().unwrap());
    assert_eq!(stranger.waiting(&world).len(), 1);
    let left = world.team().update_roster(|roster| {
        roster.members.retain(|member| member.host.is_none());
        Ok::<_, RosterError>(())
    });
    left.unwrap();
    assert!(Integration::is_queue_due(world.team()));
    assert!(world.trees().exchange().unwrap());
    assert_eq!(stranger.waiting(&world), []);
    assert!(!Integration::is_queue_due(world.team()));
}

#[test]
fn a_flood_of_submissions_lets_others_through_and_ends() {
    let world = World::new(&["alice"]);
    let mut stranger = Stranger::of(&world);
    for number in 0..6 {
        let commit = stranger.commit(&format!("echo {number} > e{number}.txt"));
        let sent = stranger.bundle(&commit);
        stranger.deliver(&world, &sent, usize::MAX);
    }
    world.commit("alice", "a.txt", "a\n");
    world.submit("alice");
    let ended = world.integrate();
    assert_eq!(ended.len(), 5, "{ended:?}");
    assert!(world.has_merged("a.txt"));
    assert_eq!(stranger.waiting(&world).len(), 2);
    assert!(Integration::is_queue_due(world.team()));
    assert_eq!(world.integrate().len(), 2);
    assert_eq!(stranger.waiting(&world), []);
    // While nothing is merged, the queue has only so many of one host.
    let commit = stranger.commit("echo more > more.txt");
    for number in 0..32 {
        let made = world.team().create_submission(|id| {
            Ok::<_, SubmissionError>(Submission {
                host: Some(stranger.host.clone()),
                origin: Some(SubmissionId(100 + number)),
                ..Submission::new(id, agent("eve"), commit.clone(), now())
            })
        });
        made.unwrap();
    }
    stranger.said(&world);
    let sent = stranger.bundle(&commit);
    stranger.deliver(&world, &sent, usize::MAX);
    assert!(world.trees().exchange().unwrap());
    let states = stranger.states(&world);
    let [(7, SubmissionStatus::Failed, reason)] = states.as_slice() else {
        panic!("{states:?}");
    };
    assert!(reason.contains("submit it again later"), "{reason}");
    assert_eq!(stranger.waiting(&world), []);
}

#[test]
fn work_for_a_host_that_was_forgotten_waits_until_it_is_met_again() {
    let world = World::new(&["alice"]);
    let stranger = Stranger::of(&world);
    let home = |lead_host: Option<HostId>| {
        let changed = world.team().update_roster(|roster| {
            roster.lead_host.clone_from(&lead_host);
            Ok::<_, RosterError>(())
        });
        changed.unwrap();
    };
    home(Some(stranger.host.clone()));
    world.commit("alice", "a.txt", "a\n");
    world.submit("alice");
    assert!(world.trees().exchange().unwrap());
    let sent = || world.team().outgoing(&stranger.host).unwrap();
    assert_eq!(sent().len(), 1);
    let guard = world.team().lock_bridge().unwrap();
    world.team().forget_peer(&guard, &stranger.host).unwrap();
    home(None);
    assert_eq!(sent(), []);
    assert!(!Integration::is_queue_due(world.team()));
    assert_eq!(world.integrate(), []);
    home(Some(stranger.host.clone()));
    assert!(Integration::is_queue_due(world.team()));
    assert!(world.trees().exchange().unwrap());
    assert_eq!(sent().len(), 1);
    assert!(!Integration::is_queue_due(world.team()));
}

#[test]
fn a_restored_submission_still_knows_whom_to_tell_of_its_end() {
    let world = World::new(&[]);
    let mut stranger = Stranger::of(&world);
    let commit = stranger.commit("echo e > e.txt");
    stranger.bundle(&commit);
    // Its number there is another one than here.
    let sent = stranger.bundle(&commit);
    stranger.deliver(&world, &sent, usize::MAX);
    assert!(world.trees().exchange().unwrap());
    stranger.said(&world);
    let path = world.team().layout().submission(SubmissionId(1));
    fs::write(path, "{").unwrap();
    let restored = world.trees().restore_submission(SubmissionId(1)).unwrap();
    assert!(restored.is_some());
    let merged = SubmissionStatus::Merged;
    assert_eq!(world.integrate(), [(1, merged)]);
    assert_eq!(stranger.states(&world), [(2, merged, String::new())]);
    // It is not taken once more.
    stranger.deliver(&world, &sent, usize::MAX);
    world.integrate();
    assert_eq!(world.count().submitted, 1);
}
