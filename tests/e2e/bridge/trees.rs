//! Work in trees across hosts: it is submitted on one and lands on `team/main` of both.

use super::{CALLED, CALLER, Hosts};
use crate::harness::{LIMIT, Session, Workspace, say, signal};
use nix::sys::signal::Signal;
use protocol::{BundleDigest, BundleName, SubmissionId};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use test_support::{git, init_repository, wait_until};

/// Two hosts with the same repository, and bob with a tree of his own on the one that is called.
fn hosts() -> Hosts {
    let (laptop, gpu) = (Workspace::new(), Workspace::new());
    for workspace in [&laptop, &gpu] {
        init_repository(workspace.path());
    }
    laptop.write("shared.txt", "one\n");
    git(laptop.path(), ["add", "shared.txt"]);
    git(laptop.path(), ["commit", "--quiet", "--message", "Begin"]);
    let source = laptop.path().display().to_string();
    git(gpu.path(), ["pull", "--quiet", &source, "main"]);
    let hosts = Hosts::of(laptop, gpu);
    hosts.gpu.script("bob", (0..12).map(|_| say("I see.")));
    hosts
        .gpu
        .spawn("bob", &["--tree", "own", "--prompt", "Wait for work."]);
    hosts.gpu.wait_reports("bob", 1);
    hosts
}

fn tree(workspace: &Workspace, name: &str) -> PathBuf {
    workspace.team().layout().trees_dir().join(name)
}

/// Commits a file in a tree. Returns the commit.
fn commit(tree: &Path, name: &str, text: &str) -> String {
    std::fs::write(tree.join(name), text).unwrap();
    git(tree, ["add", "--all"]);
    git(tree, ["commit", "--quiet", "--message", name]);
    git(tree, ["rev-parse", "HEAD"]).trim().to_owned()
}

fn main_of(workspace: &Workspace) -> String {
    git(workspace.path(), ["rev-parse", "team/main"])
        .trim()
        .to_owned()
}

fn submissions(workspace: &Workspace) -> Vec<Value> {
    let listed = workspace.json(&["submissions"]);
    listed["submissions"].as_array().unwrap().clone()
}

#[track_caller]
fn wait_status(workspace: &Workspace, session: &Session, id: usize, status: &str) -> Value {
    let of = || submissions(workspace).get(id - 1).cloned();
    wait_until(
        &format!("submission {id} is {status}: {}", session.err()),
        LIMIT,
        || of().is_some_and(|found| found["status"] == status),
    );
    of().unwrap()
}

#[track_caller]
fn wait_same_main(hosts: &Hosts, session: &Session) {
    wait_until(
        &format!("team/main is followed: {}", session.err()),
        LIMIT,
        || main_of(&hosts.laptop) == main_of(&hosts.gpu),
    );
}

#[test]
fn what_is_submitted_far_away_lands_at_home_and_follows_back() {
    let hosts = hosts();
    let (laptop, gpu) = (&hosts.laptop, &hosts.gpu);
    let bridge = hosts.bridge();
    let work = commit(&tree(gpu, "bob"), "b.txt", "from bob\n");
    gpu.ok(&["submit", "bob"]);
    let there = wait_status(laptop, &bridge, 1, "merged");
    assert_eq!(
        (
            &there["member"],
            &there["host"],
            &there["origin"],
            &there["commit"]
        ),
        (&json!("bob"), &json!(CALLED), &json!(1), &json!(work))
    );
    let here = wait_status(gpu, &bridge, 1, "merged");
    assert_eq!(
        (&here["sent_to"], &here["taken_as"], &here["merge"]),
        (&json!(CALLER), &json!(1), &there["merge"])
    );
    wait_same_main(&hosts, &bridge);
    assert_eq!(git(gpu.path(), ["show", "team/main:b.txt"]), "from bob\n");
}

#[test]
fn a_conflict_is_told_far_away_with_what_it_conflicts_with() {
    let hosts = hosts();
    let (laptop, gpu) = (&hosts.laptop, &hosts.gpu);
    let bridge = hosts.bridge();
    laptop.write("shared.txt", "from home\n");
    git(
        laptop.path(),
        ["commit", "--quiet", "--all", "--message", "Home"],
    );
    commit(&tree(gpu, "bob"), "shared.txt", "from bob\n");
    gpu.ok(&["submit", "bob"]);
    let here = wait_status(gpu, &bridge, 1, "conflict");
    assert_eq!(here["conflict"]["files"][0]["path"], "shared.txt");
    wait_until("bob's model reads it", LIMIT, || {
        let requests = gpu.server.requests("bob");
        requests
            .iter()
            .any(|request| request.body().to_string().contains("Your submission 1"))
    });
    // What it says to merge is there.
    let known = git(
        &tree(gpu, "bob"),
        ["show", "refs/remotes/team/main:shared.txt"],
    );
    assert_eq!(known, "from home\n");
    wait_same_main(&hosts, &bridge);
    // Nobody at home is told of it by mail.
    let told = super::mail(laptop, "lead");
    assert!(
        !told.iter().any(|text| text.contains("submission 1")),
        "{told:?}"
    );
    // The next one is merged.
    let bob = tree(gpu, "bob");
    git(
        &bob,
        ["reset", "--quiet", "--hard", "refs/remotes/team/main"],
    );
    commit(&bob, "b.txt", "b\n");
    gpu.ok(&["submit", "bob"]);
    wait_status(gpu, &bridge, 2, "merged");
    wait_same_main(&hosts, &bridge);
    let shown = gpu.ok(&["submissions"]);
    assert!(shown.contains("(decided on laptop as 2)"), "{shown}");
    let shown = laptop.ok(&["submissions"]);
    assert!(shown.contains("(from gpu1)"), "{shown}");
}

#[test]
fn a_host_without_the_home_s_commits_and_one_without_its_history() {
    let hosts = hosts();
    let (laptop, gpu) = (&hosts.laptop, &hosts.gpu);
    let bob = tree(gpu, "bob");
    // The home has none of these: the first bundle builds on what it lacks, and all is asked for.
    git(
        gpu.path(),
        [
            "commit",
            "--quiet",
            "--allow-empty",
            "--message",
            "Only here",
        ],
    );
    let there = git(gpu.path(), ["rev-parse", "HEAD"]);
    git(
        gpu.path(),
        ["update-ref", "refs/heads/team/main", there.trim()],
    );
    git(&bob, ["reset", "--quiet", "--hard", there.trim()]);
    commit(&bob, "b.txt", "b\n");
    let bridge = hosts.bridge();
    wait_until("the hosts are linked", LIMIT, || {
        gpu.team().roster().unwrap().lead_host.is_some()
    });
    gpu.ok(&["submit", "bob"]);
    wait_status(gpu, &bridge, 1, "merged");
    wait_same_main(&hosts, &bridge);
    // A branch without a common commit is nothing that can be merged.
    git(&bob, ["checkout", "--quiet", "--orphan", "other"]);
    commit(&bob, "c.txt", "c\n");
    gpu.ok(&["submit", "bob"]);
    let refused = wait_status(gpu, &bridge, 2, "failed");
    let reason = refused["reason"].as_str().unwrap();
    assert!(reason.contains("no history in common"), "{reason}");
    assert_eq!(submissions(laptop).len(), 1);
}

#[test]
fn a_team_main_that_has_parted_is_left_alone_and_said() {
    let hosts = hosts();
    let (laptop, gpu) = (&hosts.laptop, &hosts.gpu);
    let parent = git(gpu.path(), ["rev-parse", "HEAD"]);
    let tip = git(
        gpu.path(),
        [
            "commit-tree",
            "HEAD^{tree}",
            "-p",
            parent.trim(),
            "-m",
            "Parted",
        ],
    );
    git(
        gpu.path(),
        ["update-ref", "refs/heads/team/main", tip.trim()],
    );
    let bridge = hosts.bridge();
    let work = commit(&tree(gpu, "bob"), "b.txt", "b\n");
    wait_until("the hosts are linked", LIMIT, || {
        gpu.team().roster().unwrap().lead_host.is_some()
    });
    gpu.ok(&["submit", "bob"]);
    wait_status(gpu, &bridge, 1, "merged");
    wait_until("it is said", LIMIT, || {
        gpu.ok(&["status"]).contains("git branch -m team/main NAME")
    });
    assert_eq!(main_of(gpu), tip.trim());
    git(gpu.path(), ["branch", "-m", "team/main", "mine"]);
    wait_same_main_or_none(&hosts, &bridge);
    assert!(git(gpu.path(), ["log", "--format=%H", "team/main"]).contains(&work));
    assert!(!gpu.ok(&["status"]).contains("git branch -m"));
    drop(laptop.ok(&["submissions"]));
}

#[track_caller]
fn wait_same_main_or_none(hosts: &Hosts, session: &Session) {
    let main = main_of(&hosts.laptop);
    let path = hosts.gpu.path();
    wait_until(
        &format!("team/main is made: {}", session.err()),
        LIMIT,
        || {
            let known = std::fs::read_to_string(path.join(".git/refs/heads/team/main"));
            known.is_ok_and(|known| known.trim() == main)
        },
    );
}

/// How far a submission has come when the bridges are killed.
type Step = (&'static str, fn(&Hosts, usize) -> bool);

const STEPS: [Step; 6] = [
    ("its bundle is made", |hosts, id| {
        hosts.has_bundle(id) || hosts.is_there(id)
    }),
    ("a part of it has come", |hosts, id| {
        hosts.incoming(id).is_some() || hosts.is_there(id)
    }),
    ("it is in the queue", |hosts, id| hosts.is_there(id)),
    ("its host knows that", |hosts, id| {
        let here = hosts.gpu.team().submission(SubmissionId(id as u64));
        here.is_ok_and(|it| it.taken_as.is_some() || !it.status.is_open())
    }),
    ("it is merged", |hosts, id| {
        hosts.laptop.team().submissions().is_ok_and(|all| {
            let merged = all.iter().flatten().filter(|it| !it.status.is_open());
            merged.count() >= id
        })
    }),
    ("its host knows that it is merged", |hosts, id| {
        let here = hosts.gpu.team().submission(SubmissionId(id as u64));
        here.is_ok_and(|it| !it.status.is_open())
    }),
];

impl Hosts {
    fn has_bundle(&self, id: usize) -> bool {
        let name = BundleName::Submission(SubmissionId(id as u64));
        let home = super::host(CALLER);
        self.gpu.team().outgoing_head(&home, name).is_some()
    }

    fn incoming(&self, id: usize) -> Option<u64> {
        let name = BundleName::Submission(SubmissionId(id as u64));
        let found = self
            .laptop
            .team()
            .incoming_bundle(&super::host(CALLED), name)?;
        Some(found.here).filter(|here| *here > 0)
    }

    fn is_there(&self, id: usize) -> bool {
        let all = self.laptop.team().submissions().unwrap();
        all.len() >= id
    }
}

/// Three megabytes that do not repeat.
fn noise(seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    std::iter::repeat_with(next)
        .take(3 << 17)
        .flatten()
        .collect()
}

#[test]
fn each_submission_lands_once_whichever_bridge_is_killed_at_which_step() {
    let hosts = hosts();
    let (laptop, gpu) = (&hosts.laptop, &hosts.gpu);
    let mut bridge = hosts.bridge();
    wait_until("the hosts are linked", LIMIT, || {
        gpu.team().roster().unwrap().lead_host.is_some()
    });
    let mut id = 0;
    for (what, is_reached) in STEPS {
        for both in [false, true] {
            id += 1;
            // More than twenty parts, which do not get smaller when they are packed.
            let bob = tree(gpu, "bob");
            std::fs::write(bob.join(format!("{id}.bin")), noise(id as u64)).unwrap();
            commit(&bob, &format!("{id}.txt"), &format!("{id}\n"));
            gpu.ok(&["submit", "bob"]);
            let text = format!("{what}, {id}: {}", bridge.err());
            wait_until(&text, LIMIT, || is_reached(&hosts, id));
            if both {
                bridge.signal(Signal::SIGKILL);
                bridge.wait(LIMIT);
                if let Some(pid) = hosts.called_process() {
                    signal(pid, Signal::SIGKILL);
                }
                bridge = hosts.bridge();
            } else if let Some(pid) = hosts.called_process() {
                signal(pid, Signal::SIGKILL);
            }
        }
    }
    for id in 1..=id {
        wait_status(gpu, &bridge, id, "merged");
    }
    wait_same_main(&hosts, &bridge);
    let landed = submissions(laptop);
    assert_eq!(landed.len(), id, "one for each: {landed:?}");
    let merges = git(
        laptop.path(),
        [
            "log",
            "--format=%(trailers:key=Team-Submission,valueonly)",
            "team/main",
        ],
    );
    let merges: Vec<&str> = merges.split_whitespace().collect();
    assert_eq!(merges.len(), id, "{merges:?}");
    for id in 1..=id {
        let text = git(gpu.path(), ["show", &format!("team/main:{id}.txt")]);
        assert_eq!(text, format!("{id}\n"));
    }
    wait_until("nothing is left on the way", LIMIT, || {
        let laptop_in = laptop.team().incoming(&super::host(CALLED)).unwrap();
        let gpu_out = gpu.team().outgoing(&super::host(CALLER)).unwrap();
        laptop_in.is_empty() && gpu_out.is_empty()
    });
}

/// What a host that was broken into sends in place of the bundle of a submission.
struct Forged {
    expected: &'static str,
    /// Changes the bytes of the bundle, in the repository of that host.
    forge: fn(&Path, &Path),
    /// Whether the head is made to fit them.
    is_fitted: bool,
}

fn rebundle(repository: &Path, bundle: &Path, references: &[&str]) {
    let path = bundle.display().to_string();
    let all: Vec<&str> = ["bundle", "create", "--quiet", &path]
        .into_iter()
        .chain(references.iter().copied())
        .collect();
    git(repository, all);
}

const FORGED: [Forged; 4] = [
    Forged {
        expected: "the digest is",
        forge: |_, bundle| {
            let mut bytes = std::fs::read(bundle).unwrap();
            let last = bytes.len() - 30;
            bytes[last] ^= 1;
            std::fs::write(bundle, bytes).unwrap();
        },
        is_fitted: false,
    },
    Forged {
        expected: "damaged or forbidden",
        forge: |_, bundle| {
            let mut bytes = std::fs::read(bundle).unwrap();
            let last = bytes.len() - 30;
            bytes[last] ^= 1;
            std::fs::write(bundle, bytes).unwrap();
        },
        is_fitted: true,
    },
    Forged {
        expected: "instead of the one commit",
        forge: |repository, bundle| {
            rebundle(repository, bundle, &["team/main", "main"]);
        },
        is_fitted: true,
    },
    Forged {
        expected: "it is no bundle of git",
        forge: |_, bundle| std::fs::write(bundle, vec![b'x'; 100_000]).unwrap(),
        is_fitted: true,
    },
];

/// Why a tree is refused, and how it is made.
const TRAPS: [(&str, &str); 3] = [
    (
        "leads out of the repository",
        "ln -s ../../../etc/passwd link",
    ),
    (
        "leads out of the repository",
        "mkdir d; ln -s ../.git/config d/link",
    ),
    (
        "adds the submodule",
        "git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),module",
    ),
];

fn commit_trap(tree: &Path, before: &str, make: &str) {
    let make = format!(
        "git reset -q --hard {before} && {make} && git add --all -- ':!module' && git commit -q -m x"
    );
    let done = std::process::Command::new("sh")
        .args(["-c", &make])
        .current_dir(tree)
        .status();
    assert!(done.unwrap().success(), "{make}");
}

#[test]
fn what_a_hostile_host_sends_as_a_bundle_is_refused_and_changes_nothing() {
    let hosts = hosts();
    let (laptop, gpu) = (&hosts.laptop, &hosts.gpu);
    let bob = tree(gpu, "bob");
    let mut bridge = hosts.bridge();
    wait_until("the hosts are linked", LIMIT, || {
        gpu.team().roster().unwrap().lead_host.is_some()
    });
    commit(&bob, "first.txt", "first\n");
    gpu.ok(&["submit", "bob"]);
    wait_status(gpu, &bridge, 1, "merged");
    wait_same_main(&hosts, &bridge);
    let before = main_of(laptop);
    let mut id = 1;
    for forged in FORGED {
        id += 1;
        bridge.signal(Signal::SIGKILL);
        bridge.wait(LIMIT);
        wait_until("the other side ends", LIMIT, || {
            hosts.called_process().is_none()
        });
        commit(&bob, "next.txt", &format!("{id}\n"));
        gpu.ok(&["submit", "bob"]);
        forge(&hosts, id, &forged);
        bridge = hosts.bridge();
        let ended = wait_status(gpu, &bridge, id, "failed");
        let reason = ended["reason"].as_str().unwrap();
        assert!(reason.contains(forged.expected), "{reason}");
    }
    // A tree of links and of repositories: its objects are whole, and what it changes is refused.
    for (expected, make) in TRAPS {
        id += 1;
        commit_trap(&bob, &before, make);
        gpu.ok(&["submit", "bob"]);
        let ended = wait_status(gpu, &bridge, id, "failed");
        let reason = ended["reason"].as_str().unwrap();
        assert!(reason.contains(expected), "{reason}");
    }
    assert_eq!(main_of(laptop), before);
    assert_eq!(submissions(laptop).len(), 1);
    assert_eq!(laptop.team().incoming(&super::host(CALLED)).unwrap(), []);
    let trees = laptop.team().layout().trees_dir();
    let left = std::fs::read_dir(trees).unwrap().flatten();
    let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
    let is_unpacked = |name: &std::ffi::OsString| name.to_string_lossy().starts_with(".unpack");
    assert!(!left.iter().any(is_unpacked), "{left:?}");
    git(laptop.path(), ["fsck", "--strict"]);
}

fn forge(hosts: &Hosts, id: usize, forged: &Forged) {
    let (team, home) = (hosts.gpu.team(), super::host(CALLER));
    let name = BundleName::Submission(SubmissionId(id as u64));
    let mut head = team.outgoing_head(&home, name).expect("it waits");
    let bundle = team.layout().outgoing_bundle(&home, name, &head.digest);
    (forged.forge)(hosts.gpu.path(), &bundle);
    if forged.is_fitted {
        let bytes = std::fs::read(&bundle).unwrap();
        let digest = hex(&bytes);
        head.size = bytes.len() as u64;
        head.digest = BundleDigest::new(&digest).unwrap();
        let renamed = team.layout().outgoing_bundle(&home, name, &head.digest);
        std::fs::rename(bundle, renamed).unwrap();
        wait_until("nobody integrates", LIMIT, || {
            let guard = team.try_integrate().unwrap();
            guard.is_some_and(|guard| team.put_outgoing(&guard, &home, &head).is_ok())
        });
    }
}

/// The SHA-256 of these bytes.
fn hex(bytes: &[u8]) -> String {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    let output = std::process::Command::new("sha256sum")
        .arg(file.path())
        .output();
    let text = String::from_utf8(output.unwrap().stdout).unwrap();
    text.split_whitespace().next().unwrap().to_owned()
}
