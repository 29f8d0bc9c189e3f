//! The team's work in the user's branch.

use crate::support::World;
use integration::{IntegrationError, LandOptions};
use std::fs;

fn options(world: &World) -> LandOptions {
    LandOptions {
        author: world.trees().identity().unwrap(),
        ..LandOptions::default()
    }
}

fn with_work(name: &str) -> World {
    let world = World::new(&["alice"]);
    world.commit("alice", name, "work\n");
    world.submit("alice");
    world.integrate();
    world
}

#[test]
fn a_clean_branch_is_fast_forwarded_with_its_files_and_nothing_is_staged() {
    let world = with_work("a.txt");
    let landed = world.trees().land(&options(&world)).unwrap();
    assert_eq!((landed.branch.as_str(), landed.was_there), ("main", false));
    assert_eq!(
        fs::read_to_string(world.folder().join("a.txt")).unwrap(),
        "work\n"
    );
    assert_eq!(world.git(["status", "--porcelain"]), "");
    let tips = world.git(["rev-parse", "main", "team/main"]);
    let tips: Vec<&str> = tips.lines().collect();
    assert_eq!(tips[0], tips[1]);
    assert!(world.trees().land(&options(&world)).unwrap().was_there);
}

#[test]
fn work_of_the_user_and_of_the_team_is_merged_or_squashed() {
    for squash in [false, true] {
        let world = with_work("a.txt");
        world.write("own.txt", "mine\n");
        world.git(["add", "--all"]);
        world.git(["commit", "--quiet", "--message", "Own"]);
        let options = LandOptions {
            squash,
            ..options(&world)
        };
        world.trees().land(&options).unwrap();
        for name in ["a.txt", "own.txt"] {
            assert!(world.folder().join(name).exists(), "{name}");
        }
        assert_eq!(world.git(["status", "--porcelain"]), "");
        let parents = world.git(["log", "-1", "--format=%P"]);
        assert_eq!(
            parents.split_whitespace().count(),
            if squash { 1 } else { 2 }
        );
        assert!(
            world
                .git(["log", "-1", "--format=%B"])
                .contains("Team: default")
        );
    }
}

#[test]
fn changes_of_the_user_are_never_touched() {
    let world = with_work("a.txt");
    world.write("shared.txt", "edited\n");
    let error = world.trees().land(&options(&world)).unwrap_err();
    assert!(matches!(error, IntegrationError::Dirty(_)), "{error}");
    world.git(["checkout", "--quiet", "shared.txt"]);
    world.write("new.txt", "untracked\n");
    let error = world.trees().land(&options(&world)).unwrap_err();
    assert!(matches!(error, IntegrationError::Dirty(_)), "{error}");
    fs::remove_file(world.folder().join("new.txt")).unwrap();
    world.git(["checkout", "--quiet", "--detach"]);
    let error = world.trees().land(&options(&world)).unwrap_err();
    assert!(matches!(error, IntegrationError::Detached), "{error}");
}

#[test]
fn nothing_lands_in_the_middle_of_a_merge() {
    let world = with_work("a.txt");
    world.git(["branch", "side"]);
    world.write("own.txt", "mine\n");
    world.git(["add", "--all"]);
    world.git(["commit", "--quiet", "--message", "Own"]);
    world.git(["checkout", "--quiet", "side"]);
    world.git(["commit", "--quiet", "--allow-empty", "--message", "Side"]);
    world.git(["merge", "--quiet", "--no-commit", "main"]);
    let before = world.git(["rev-parse", "HEAD"]);
    let error = world.trees().land(&options(&world)).unwrap_err();
    let is_refused = matches!(error, IntegrationError::Operation("a merge"));
    assert!(is_refused, "{error}");
    assert_eq!(world.git(["rev-parse", "HEAD"]), before);
    assert!(!world.folder().join("a.txt").exists());
}

#[test]
fn nothing_lands_in_the_middle_of_a_rebase() {
    let world = with_work("a.txt");
    world.git(["checkout", "--quiet", "-b", "side", "HEAD"]);
    world.write("shared.txt", "side\n");
    world.git(["commit", "--quiet", "--all", "--message", "Side"]);
    world.git(["checkout", "--quiet", "main"]);
    world.write("shared.txt", "main\n");
    world.git(["commit", "--quiet", "--all", "--message", "Main"]);
    let rebase = test_support::git_command(world.folder())
        .args(["rebase", "--quiet", "side"])
        .output();
    assert!(!rebase.unwrap().status.success());
    let before = world.git(["rev-parse", "HEAD"]);
    let error = world.trees().land(&options(&world)).unwrap_err();
    assert!(
        matches!(error, IntegrationError::Operation("a rebase")),
        "{error}"
    );
    // Git would refuse to end the rebase of a branch that has moved.
    let into = LandOptions {
        into: Some("main".to_owned()),
        ..options(&world)
    };
    let error = world.trees().land(&into).unwrap_err();
    let folder = world.folder().canonicalize().unwrap();
    assert!(
        matches!(&error, IntegrationError::CheckedOutElsewhere { folder: found, .. } if *found == folder),
        "{error}"
    );
    assert_eq!(world.git(["rev-parse", "HEAD"]), before);
    world.git(["rebase", "--abort"]);
    world.trees().land(&options(&world)).unwrap();
    assert!(world.folder().join("a.txt").exists());
}

#[test]
fn a_second_landing_takes_nothing_of_the_users_back() {
    for squash in [false, true] {
        let world = with_work("a.txt");
        let options = LandOptions {
            squash,
            ..options(&world)
        };
        world.trees().land(&options).unwrap();
        // The user changes what has landed, and the team goes on with something else.
        world.write("a.txt", "work, corrected by its reader\n");
        world.git(["commit", "--quiet", "--all", "--message", "Correct"]);
        world.commit("alice", "b.txt", "more\n");
        world.submit("alice");
        world.integrate();
        let landed = world.trees().land(&options);
        let text = fs::read_to_string(world.folder().join("a.txt")).unwrap();
        assert_eq!(text, "work, corrected by its reader\n");
        assert_eq!(world.git(["status", "--porcelain"]), "");
        match squash {
            false => assert!(world.folder().join("b.txt").exists()),
            // Git does not know that the two have the same work, and says so.
            true => assert!(
                matches!(landed, Err(IntegrationError::LandConflict { .. })),
                "{landed:?}"
            ),
        }
    }
}

#[test]
fn another_branch_is_moved_unless_somebody_works_in_it() {
    let world = with_work("a.txt");
    world.git(["branch", "other"]);
    let into = |name: &str| LandOptions {
        into: Some(name.to_owned()),
        ..options(&world)
    };
    world.trees().land(&into("other")).unwrap();
    assert_eq!(world.git(["show", "other:a.txt"]), "work\n");
    assert!(!world.folder().join("a.txt").exists());
    let elsewhere = tempfile::tempdir().unwrap();
    let folder = elsewhere.path().join("w");
    world.git(["branch", "busy", "main"]);
    world.git([
        "worktree",
        "add",
        "--quiet",
        folder.to_str().unwrap(),
        "busy",
    ]);
    let error = world.trees().land(&into("busy")).unwrap_err();
    assert!(
        matches!(error, IntegrationError::CheckedOutElsewhere { .. }),
        "{error}"
    );
    let error = world.trees().land(&into("--all")).unwrap_err();
    assert!(matches!(error, IntegrationError::NoBranch(_)), "{error}");
}

#[test]
fn what_conflicts_is_left_to_the_user() {
    let world = with_work("shared.txt");
    world.write("shared.txt", "mine\n");
    world.git(["commit", "--quiet", "--all", "--message", "Mine"]);
    let before = world.git(["rev-parse", "HEAD"]);
    let error = world.trees().land(&options(&world)).unwrap_err();
    assert!(
        matches!(error, IntegrationError::LandConflict { .. }),
        "{error}"
    );
    assert_eq!(world.git(["rev-parse", "HEAD"]), before);
    assert_eq!(world.git(["status", "--porcelain"]), "");
}

#[test]
fn a_hook_that_the_work_brings_is_not_run() {
    let world = World::new(&["alice"]);
    world.git(["config", "core.hooksPath", "hooks"]);
    let tree = world.tree("alice");
    fs::create_dir(tree.join("hooks")).unwrap();
    let ran = world.folder().join("../ran-a-hook");
    let hook = format!("#!/bin/sh\ntouch {}\n", ran.display());
    world.commit("alice", "hooks/post-merge", &hook);
    test_support::git(&tree, ["update-index", "--chmod=+x", "hooks/post-merge"]);
    test_support::git(&tree, ["commit", "--quiet", "--message", "Executable"]);
    world.submit("alice");
    world.integrate();
    world.trees().land(&options(&world)).unwrap();
    assert!(world.folder().join("hooks/post-merge").exists());
    assert!(!ran.exists());
}
