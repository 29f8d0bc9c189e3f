//! Trees: where they can be, what is in them, and when they go.

use crate::support::{World, agent};
use git::GitError;
use integration::IntegrationError;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use test_support::{git, init_repository};

fn links_of(folder: &Path, found: &mut Vec<u64>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let metadata = entry.path().symlink_metadata().unwrap();
        match metadata.is_dir() {
            true => links_of(&entry.path(), found),
            false => found.push(metadata.nlink()),
        }
    }
}

#[test]
fn a_tree_has_no_hard_links_borrows_objects_and_is_kept() {
    let world = World::new(&["alice"]);
    let tree = world.tree("alice");
    let mut links = Vec::new();
    links_of(&tree, &mut links);
    assert!(!links.is_empty() && links.iter().all(|count| *count == 1));
    assert_eq!(
        git(&tree, ["branch", "--show-current"]).trim(),
        "team/alice"
    );
    assert_eq!(git(&tree, ["config", "user.name"]).trim(), "alice");
    let base = world.git(["rev-parse", "refs/team/base/alice"]);
    assert_eq!(base, git(&tree, ["rev-parse", "HEAD"]));
    // What is not committed is still there when the member comes back.
    fs::write(tree.join("draft.txt"), "half").unwrap();
    let again = world.trees().ensure_tree(&agent("alice")).unwrap();
    assert!(!again.is_new);
    assert_eq!(fs::read_to_string(tree.join("draft.txt")).unwrap(), "half");
    // A prune in the repository leaves the tree whole.
    world.git(["gc", "--quiet", "--prune=now"]);
    git(&tree, ["fsck", "--strict"]);
}

#[test]
fn where_there_can_be_no_tree_the_error_says_why() {
    let world = World::without_trees(&["alice", "main"]);
    let error = world.trees().ensure_tree(&agent("main")).unwrap_err();
    assert!(
        matches!(error, IntegrationError::ReservedName(_)),
        "{error}"
    );
    let empty = tempfile::tempdir().unwrap();
    let neutral = empty.path().join("neutral");
    let open = |folder: &Path| git::Repository::open(folder, &neutral);
    let error = open(empty.path()).unwrap_err();
    assert!(matches!(error, GitError::NoRepository { .. }), "{error}");
    init_repository(empty.path());
    let repository = open(empty.path()).unwrap();
    assert!(matches!(repository.head(), Err(GitError::NoCommit)));
    let below = empty.path().join("below");
    fs::create_dir(&below).unwrap();
    let error = open(&below).unwrap_err();
    assert!(matches!(error, GitError::NotTheTop { .. }), "{error}");
}

#[test]
fn a_new_tree_is_set_up_and_a_failed_setup_leaves_none() {
    let world = World::without_trees(&["alice", "bob"]);
    world.write(
        "team.toml",
        "[tree]\ncopy = ['local', 'absent']\nlink = ['big']\nsetup = 'cat local/a > made; cat big/b >> made'\n",
    );
    fs::create_dir(world.folder().join("local")).unwrap();
    fs::create_dir(world.folder().join("big")).unwrap();
    world.write("local/a", "copied ");
    world.write("big/b", "linked");
    world.trees().ensure_tree(&agent("alice")).unwrap();
    let made = fs::read_to_string(world.tree("alice").join("made")).unwrap();
    assert_eq!(made, "copied linked");
    world.write("team.toml", "[tree]\nsetup = 'echo no luck; exit 3'\n");
    let error = world
        .trees()
        .ensure_tree(&agent("bob"))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("no luck") && error.contains("exit code 3"),
        "{error}"
    );
    assert!(!world.tree("bob").exists());
    for path in ["../outside", "/etc", ".git", ".team/inbox"] {
        world.write("team.toml", &format!("[tree]\ncopy = ['{path}']\n"));
        let error = world.trees().ensure_tree(&agent("bob")).unwrap_err();
        assert!(
            matches!(error, IntegrationError::SetupPath { .. }),
            "{path}: {error}"
        );
    }
}

#[test]
fn a_tree_goes_only_when_nothing_is_lost_with_it() {
    let world = World::new(&["alice"]);
    let (trees, tree) = (world.trees(), world.tree("alice"));
    let name = agent("alice");
    let refused = |what: &str| {
        let error = trees.remove_tree(&name, false).unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, IntegrationError::Unmerged { .. }), "{text}");
        assert!(text.contains(what), "{what} in {text}");
        assert!(tree.exists());
    };
    fs::write(tree.join("new.txt"), "untracked").unwrap();
    refused("new.txt");
    world.commit("alice", "new.txt", "committed");
    refused("team/alice");
    world.submit("alice");
    world.integrate();
    git(&tree, ["stash", "list"]);
    git(&tree, ["checkout", "--quiet", "-b", "side"]);
    world.commit("alice", "side.txt", "aside");
    git(&tree, ["checkout", "--quiet", "team/alice"]);
    refused("side");
    fs::write(tree.join("draft.txt"), "draft").unwrap();
    let removed = trees.remove_tree(&name, true).unwrap();
    assert!(!tree.exists());
    let shown: Vec<String> = removed
        .rescued
        .iter()
        .map(|reference| world.git(["show", "--stat", "--format=", reference]))
        .collect();
    let shown = shown.join("");
    assert!(
        shown.contains("side.txt") && shown.contains("draft.txt"),
        "{shown}"
    );
}

#[test]
fn a_clean_merged_tree_goes_without_a_word() {
    let world = World::new(&["alice"]);
    world.commit("alice", "a.txt", "a");
    world.submit("alice");
    world.integrate();
    let removed = world.trees().remove_tree(&agent("alice"), false).unwrap();
    assert!(removed.rescued.is_empty() && !world.tree("alice").exists());
}

#[test]
fn odd_repositories_have_trees_too() {
    // A detached head, an untracked file, names with newlines, and a pointer of git LFS.
    let world = World::without_trees(&["alice"]);
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n";
    world.write("big.bin", pointer);
    world.write(
        ".gitattributes",
        "*.bin filter=lfs diff=lfs merge=lfs -text\n",
    );
    world.write("with\nnewline", "x\n");
    world.git(["add", "--all"]);
    world.git(["commit", "--quiet", "--message", "Odd"]);
    world.git(["checkout", "--quiet", "--detach"]);
    world.write("dirty.txt", "dirty");
    let ensured = world.trees().ensure_tree(&agent("alice")).unwrap();
    assert_eq!(ensured.not_included, ["dirty.txt"]);
    let tree = world.tree("alice");
    assert_eq!(fs::read_to_string(tree.join("big.bin")).unwrap(), pointer);
    world.commit("alice", "with\nnewline", "y\n");
    world.submit("alice");
    world.integrate();
    assert_eq!(world.merged("with\nnewline"), "y\n");
    assert_eq!(
        fs::read_to_string(world.folder().join("dirty.txt")).unwrap(),
        "dirty"
    );
}

#[test]
fn shallow_clones_and_linked_work_trees_have_trees_too() {
    let origin = World::without_trees(&[]);
    origin.write("second.txt", "2");
    origin.git(["add", "--all"]);
    origin.git(["commit", "--quiet", "--message", "Second"]);
    let places = tempfile::tempdir().unwrap();
    let url = format!("file://{}", origin.folder().display());
    git(
        places.path(),
        ["clone", "--quiet", "--depth=1", &url, "shallow"],
    );
    let linked = places.path().join("linked");
    origin.git([
        "worktree",
        "add",
        "--quiet",
        "-b",
        "other",
        linked.to_str().unwrap(),
    ]);
    for place in [places.path().join("shallow"), linked] {
        let temp = test_support::TempTeam::at(&place, &["alice"], teamdir::Options::default());
        let config = config::Config::default();
        let settings = member::SandboxSettings::default();
        let trees = member::open_trees(temp.team(), &config, &settings).unwrap();
        trees.ensure_tree(&agent("alice")).unwrap();
        let tree = temp.team().layout().tree(&agent("alice"));
        fs::write(tree.join("mine.txt"), "m").unwrap();
        git(&tree, ["add", "--all"]);
        git(&tree, ["commit", "--quiet", "--message", "Mine"]);
        trees
            .submit(&agent("alice"), &integration::Work::default())
            .unwrap();
        trees.run_queue().unwrap();
        let text = git(&place, ["show", "refs/heads/team/main:mine.txt"]);
        assert_eq!(text, "m", "{}", place.display());
        trees.land(&integration::LandOptions::default()).unwrap();
        assert_eq!(fs::read_to_string(place.join("mine.txt")).unwrap(), "m");
        assert_eq!(
            git(&place, ["status", "--porcelain"]),
            "",
            "nothing is staged"
        );
    }
}

#[test]
fn references_may_be_packed_or_in_a_table() {
    let init = [
        "init",
        "--quiet",
        "--initial-branch=main",
        "--ref-format=reftable",
    ];
    for is_table in [false, true] {
        let world = match is_table {
            false => World::without_trees(&["alice"]),
            true => match World::with(&["alice"], &init) {
                Some(world) => world,
                None => return test_support::report_skip("tables of references", "git is too old"),
            },
        };
        world.trees().ensure_tree(&agent("alice")).unwrap();
        world.git(["pack-refs", "--all"]);
        world.commit("alice", "a.txt", "a");
        world.submit("alice");
        world.git(["checkout", "--quiet", "team/main"]);
        let ran = world.trees().run_queue().unwrap();
        assert!(
            matches!(ran, integration::QueueOutcome::Blocked(_)),
            "{ran:?}"
        );
        world.git(["checkout", "--quiet", "main"]);
        world.git(["pack-refs", "--all"]);
        world.integrate();
        assert_eq!(world.merged("a.txt"), "a", "a table: {is_table}");
    }
}

#[test]
fn two_teams_in_one_repository_do_not_share_a_branch() {
    let world = World::new(&["alice"]);
    let places = tempfile::tempdir().unwrap();
    let linked = places.path().join("linked");
    world.git(["worktree", "add", "--quiet", linked.to_str().unwrap()]);
    let other = test_support::TempTeam::at(&linked, &["bob"], teamdir::Options::default());
    let config = config::Config::default();
    let open = || member::open_trees(other.team(), &config, &member::SandboxSettings::default());
    let error = open().unwrap().ensure_tree(&agent("bob")).unwrap_err();
    let text = error.to_string();
    let claimed = matches!(error, IntegrationError::Git(GitError::Claimed { .. }));
    assert!(claimed, "{text}");
    let folder = world.folder().canonicalize().unwrap();
    assert!(text.contains(&format!("rm -r {}/.team", folder.display())));
    let error = open().unwrap().land(&integration::LandOptions::default());
    assert!(error.is_err(), "{error:?}");
    assert!(!other.team().layout().tree(&agent("bob")).exists());
    // The team that has the branch goes on.
    world.commit("alice", "a.txt", "a");
    world.submit("alice");
    world.integrate();
    assert!(world.has_merged("a.txt"));
    // When it is gone, the other one may have it, and keeps it.
    let aside = world.folder().join("team-of-before");
    fs::rename(world.folder().join(".team"), &aside).unwrap();
    open().unwrap().ensure_tree(&agent("bob")).unwrap();
    fs::rename(&aside, world.folder().join(".team")).unwrap();
    let error = world.trees().team_branch().unwrap_err().to_string();
    assert!(error.contains("linked"), "{error}");
}

#[test]
fn no_tree_begins_in_the_middle_of_a_rebase() {
    let world = World::without_trees(&["alice"]);
    world.git(["checkout", "--quiet", "-b", "side"]);
    world.write("shared.txt", "side\n");
    world.git(["commit", "--quiet", "--all", "--message", "Side"]);
    world.git(["checkout", "--quiet", "main"]);
    world.write("shared.txt", "main\n");
    world.git(["commit", "--quiet", "--all", "--message", "Main"]);
    let rebase = std::process::Command::new("git")
        .current_dir(world.folder())
        .args(["rebase", "--quiet", "side"])
        .output()
        .unwrap();
    assert!(!rebase.status.success());
    let error = world.trees().ensure_tree(&agent("alice")).unwrap_err();
    assert!(
        matches!(error, IntegrationError::Operation("a rebase")),
        "{error}"
    );
}

#[test]
fn a_branch_of_the_user_in_the_way_of_the_teams_is_named_and_kept() {
    for branch in ["team", "team/main/old"] {
        let world = World::without_trees(&["alice"]);
        world.git(["branch", branch]);
        for _ in 0..2 {
            let error = world.trees().ensure_tree(&agent("alice")).unwrap_err();
            let text = error.to_string();
            assert!(
                text.contains(&format!("git branch -m {branch} OTHER")),
                "{text}"
            );
            world.git(["pack-refs", "--all"]);
        }
        assert!(!world.tree("alice").exists());
        assert_eq!(
            world.git(["rev-parse", branch]),
            world.git(["rev-parse", "main"])
        );
        world.git(["branch", "-m", branch, "other"]);
        world.trees().ensure_tree(&agent("alice")).unwrap();
        world.commit("alice", "a.txt", "A\n");
        world.submit("alice");
        world.integrate();
        assert!(world.has_merged("a.txt"), "{branch}");
    }
}

#[test]
fn a_rebase_of_a_member_works_or_changes_nothing() {
    let world = World::new(&["alice", "bob"]);
    world.commit("alice", "a.txt", "a");
    world.commit("bob", "b.txt", "b");
    world.submit("alice");
    world.integrate();
    world.trees().rebase(&agent("bob")).unwrap();
    assert!(world.tree("bob").join("a.txt").exists());
    world.commit("bob", "shared.txt", "bob");
    world.commit("alice", "shared.txt", "alice");
    world.submit("alice");
    world.integrate();
    let before = git(&world.tree("bob"), ["rev-parse", "HEAD"]);
    world.trees().rebase(&agent("bob")).unwrap_err();
    assert_eq!(git(&world.tree("bob"), ["rev-parse", "HEAD"]), before);
    assert_eq!(git(&world.tree("bob"), ["status", "--porcelain"]), "");
}
