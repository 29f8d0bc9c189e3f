//! A hijacked member makes its tree as dangerous as it can. Nothing of it runs outside of the sandbox.

use crate::support::{World, agent};
use protocol::SubmissionStatus::{Conflict, Failed, Merged};
use protocol::{Submission, SubmissionId};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use teamdir::SubmissionError;
use test_support::{git, report_skip};

/// A program that leaves a trace in the workspace, which the sandbox of a tree does not show.
fn trap(folder: &Path, trace: &Path) -> String {
    let path = folder.join("trap.sh");
    fs::write(
        &path,
        format!("#!/bin/sh\necho \"$0 $*\" >> {}\ncat\n", trace.display()),
    )
    .unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

fn set_traps(world: &World, name: &str, trace: &Path) {
    let tree = world.tree(name);
    let program = trap(&tree.join(".git"), trace);
    let keys = [
        "core.fsmonitor",
        "core.sshCommand",
        "core.pager",
        "core.editor",
        "core.alternateRefsCommand",
        "diff.external",
        "gpg.program",
        "credential.helper",
        "uploadpack.packObjectsHook",
        "filter.trap.clean",
        "filter.trap.smudge",
        "filter.trap.process",
        "merge.trap.driver",
        "diff.trap.textconv",
        "diff.trap.command",
        "alias.status",
        "alias.pack-objects",
    ];
    for key in keys {
        let value = match key.starts_with("alias") {
            true => format!("!{program}"),
            false => program.clone(),
        };
        git(&tree, ["config", key, &value]);
    }
    git(&tree, ["config", "commit.gpgSign", "true"]);
    let hooks = tree.join(".git/hooks");
    fs::create_dir_all(&hooks).unwrap();
    for hook in [
        "pre-commit",
        "post-checkout",
        "post-merge",
        "post-rewrite",
        "pre-rebase",
        "reference-transaction",
        "post-index-change",
        "fsmonitor-watchman",
    ] {
        fs::copy(&program, hooks.join(hook)).unwrap();
    }
}

#[test]
fn a_hostile_tree_runs_nothing_outside_of_the_sandbox() {
    if sandbox::Layers::probe().level() == sandbox::Level::None {
        return report_skip("hostile trees", "no sandbox can be had here");
    }
    let world = World::new(&["alice", "bob"]);
    let tree = world.tree("alice");
    fs::write(
        tree.join(".gitattributes"),
        "* filter=trap merge=trap diff=trap\n",
    )
    .unwrap();
    fs::write(
        tree.join(".gitmodules"),
        "[submodule \"x\"]\n\tpath = sub\n\turl = ext::sh -c touch% here\n",
    )
    .unwrap();
    world.commit("alice", "with\nnewline\u{1b}[2J", "x\n");
    world.commit("alice", "shared.txt", "ONE\n");
    world.commit("bob", "shared.txt", "TWO\n");
    git(&tree, ["branch", "side"]);
    git(&tree, ["symbolic-ref", "HEAD", "refs/heads/side"]);
    let branch = tree.join(".git/refs/heads/--upload-pack=touch here");
    fs::copy(tree.join(".git/refs/heads/side"), branch).unwrap();
    let trace = world.folder().join("ran");
    set_traps(&world, "alice", &trace);
    // The traps work: git in the tree without a sandbox walks into them.
    git(&tree, ["-c", "alias.status=", "diff", "--stat"]);
    assert!(trace.exists(), "the traps do nothing");
    fs::remove_file(&trace).unwrap();
    fs::write(tree.join("uncommitted.txt"), "u").unwrap();
    let (trees, name) = (world.trees(), agent("alice"));
    trees.trees().unwrap();
    trees.diff(Some(&name)).unwrap();
    trees.refresh(&name).unwrap();
    world.submit("bob");
    world.integrate();
    world.submit("alice");
    world.integrate();
    trees.warn_of_conflicts(&name).unwrap();
    // It may fail, and must run nothing.
    let _ = trees.rebase(&name);
    let _ = trees.remove_tree(&name, true);
    assert!(!trace.exists(), "{}", fs::read_to_string(&trace).unwrap());
    assert!(!world.folder().join("here").exists());
    let mail = world.mail("alice");
    assert!(!mail.contains('\u{1b}'), "{mail}");
}

#[test]
fn a_conflict_with_the_work_of_an_author_of_megabytes_is_told_and_the_queue_goes_on() {
    let world = World::new(&["alice", "bob"]);
    world.commit("alice", "shared.txt", "ONE\n");
    let tree = world.tree("alice");
    let name = "\u{1}é".repeat(1 << 20);
    let text = git(&tree, ["cat-file", "commit", "HEAD"]);
    let text: Vec<String> = text
        .lines()
        .map(|line| match line.starts_with("author ") {
            true => format!("author {name} <a@b> 1700000000 +0000"),
            false => line.to_owned(),
        })
        .collect();
    let file = world.folder().join("commit");
    fs::write(&file, text.join("\n") + "\n").unwrap();
    let file = file.display().to_string();
    let commit = git(&tree, ["hash-object", "-t", "commit", "-w", &file]);
    git(&tree, ["reset", "--quiet", "--hard", commit.trim()]);
    world.commit("bob", "shared.txt", "TWO\n");
    world.submit("alice");
    world.submit("bob");
    assert_eq!(world.integrate(), [(1, Merged), (2, Conflict)]);
    let mail = world.mail("bob");
    assert!(
        mail.contains("shared.txt") && mail.contains("TWO"),
        "{mail}"
    );
    assert!(mail.len() < 64 << 10, "{} bytes", mail.len());
}

#[test]
fn a_reason_of_megabytes_from_another_host_is_told_in_part_and_the_queue_goes_on() {
    let world = World::new(&["alice", "bob"]);
    world.commit("alice", "a.txt", "a\n");
    world.commit("bob", "b.txt", "b\n");
    world.submit("alice");
    world.submit("bob");
    let ended = world.team().update_submission(SubmissionId(1), |current| {
        Ok::<_, SubmissionError>(Submission {
            status: Failed,
            reason: Some("\u{1}é".repeat(1 << 20)),
            ..current.clone()
        })
    });
    ended.unwrap();
    assert_eq!(world.integrate(), [(1, Failed), (2, Merged)]);
    let mail = world.mail("alice");
    assert!(mail.contains("Your submission 1") && mail.contains("git merge team/main"));
}

#[test]
fn a_submodule_is_merged_as_a_pointer_and_never_fetched() {
    let world = World::new(&["alice"]);
    let tree = world.tree("alice");
    let url = "[submodule \"x\"]\n\tpath = sub\n\turl = ext::sh -c touch% here\n";
    fs::write(tree.join(".gitmodules"), url).unwrap();
    let pointer = format!("160000,{},sub", "1".repeat(40));
    git(&tree, ["update-index", "--add", "--cacheinfo", &pointer]);
    git(&tree, ["add", ".gitmodules"]);
    git(&tree, ["commit", "--quiet", "--message", "Submodule"]);
    world.submit("alice");
    world.integrate();
    let listed = world.git(["ls-tree", "refs/heads/team/main", "sub"]);
    assert!(listed.starts_with("160000 commit"), "{listed}");
    world.trees().trees().unwrap();
    assert!(!world.folder().join("here").exists() && !tree.join("here").exists());
}

#[test]
fn a_tree_cannot_show_the_program_objects_from_elsewhere() {
    let secret = World::without_trees(&[]);
    secret.write("secret.txt", "key\n");
    secret.git(["add", "--all"]);
    secret.git(["commit", "--quiet", "--message", "Secret"]);
    let commit = secret.git(["rev-parse", "HEAD"]);
    let world = World::new(&["alice"]);
    if sandbox::Layers::probe().level() != sandbox::Level::Full {
        return report_skip(
            "foreign objects",
            "no sandbox of level full can be had here",
        );
    }
    let tree = world.tree("alice");
    let alternates = tree.join(".git/objects/info/alternates");
    let more = format!(
        "{}{}\n",
        fs::read_to_string(&alternates).unwrap(),
        secret.folder().join(".git/objects").display()
    );
    fs::write(&alternates, more).unwrap();
    fs::write(tree.join(".git/refs/heads/team/alice"), &commit).unwrap();
    let submitted = world
        .trees()
        .submit(&agent("alice"), &integration::Work::default());
    assert!(submitted.is_err(), "{submitted:?}");
    let id = commit.trim().to_owned();
    let known = std::process::Command::new("git")
        .current_dir(world.folder())
        .args(["cat-file", "-e", &id])
        .output()
        .unwrap();
    assert!(!known.status.success(), "the object came in");
}
