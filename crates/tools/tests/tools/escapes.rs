//! Ways out of the workspace, none of which leads out.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
use serde_json::json;

use crate::bench::{Bench, LONG, picture};

const SECRET: &str = "the secret";

/// A bench with a secret outside, and links of all kinds that lead to it.
fn with_links() -> Bench {
    let bench = Bench::new();
    let outside = bench.beside("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("secret"), SECRET).unwrap();
    let evil = bench.beside("ws-evil");
    fs::create_dir(&evil).unwrap();
    fs::write(evil.join("secret"), SECRET).unwrap();
    bench.file("a/b/file", "inside");
    let root = bench.root();
    let link = |target: &Path, name: &str| symlink(target, root.join(name)).unwrap();
    link(&outside, "abs-folder");
    link(Path::new("../outside"), "rel-folder");
    link(&outside.join("secret"), "abs-file");
    link(Path::new("../outside/secret"), "rel-file");
    link(Path::new("abs-folder"), "second");
    link(Path::new("second"), "third");
    link(Path::new("/"), "slash");
    link(Path::new(".."), "up");
    link(Path::new("../../../outside"), "a/b/deep");
    link(Path::new("/proc/self/root"), "magic-root");
    link(Path::new("/proc/self/cwd"), "magic-cwd");
    link(Path::new("/proc/self/fd/0"), "magic-fd");
    link(Path::new("/dev/zero"), "zero");
    link(&outside.join("new"), "dangling");
    link(Path::new("../outside/new"), "rel-dangling");
    link(Path::new("loop-b"), "loop-a");
    link(Path::new("loop-a"), "loop-b");
    link(&evil.join("secret"), "evil-file");
    link(&root.join("../outside"), "through-root");
    bench
}

/// Paths that would lead out if nobody stopped them.
fn ways_out(bench: &Bench) -> Vec<String> {
    let root = bench.root().display().to_string();
    let outside = bench.beside("outside").display().to_string();
    let fixed = [
        "../outside/secret",
        "../../../../../../../../etc/passwd",
        "/etc/passwd",
        "//etc/passwd",
        "a/../../outside/secret",
        "./././../outside/secret",
        "a//..//..//outside//secret",
        "a/b/../../../outside/secret",
        "missing/../../outside/secret",
        "../ws/a/b/file",
        "abs-folder/secret",
        "abs-folder/../outside/secret",
        "rel-folder/secret",
        "abs-file",
        "rel-file",
        "second/secret",
        "third/secret",
        "third/new/folders/file",
        "slash/etc/passwd",
        "up/outside/secret",
        "up/ws/a/b/file",
        "a/b/deep/secret",
        "a/b/../b/deep/secret",
        "magic-root/etc/passwd",
        "magic-cwd/Cargo.toml",
        "magic-fd",
        "zero",
        "dangling",
        "rel-dangling",
        "dangling/",
        "evil-file",
        "through-root/secret",
        "..",
        "a/../..",
        "/",
    ];
    let made = [
        format!("{outside}/secret"),
        format!("{root}/../outside/secret"),
        format!("{root}-evil/secret"),
        format!("{root}/abs-folder/secret"),
    ];
    fixed
        .iter()
        .map(|path| (*path).to_owned())
        .chain(made)
        .collect()
}

#[test]
fn no_path_leads_out() {
    let bench = with_links();
    let paths = ways_out(&bench);
    assert!(paths.len() >= 25);
    let before = (
        picture(&bench.beside("outside")),
        picture(&bench.beside("ws-evil")),
    );
    for path in &paths {
        let escapes = format!("Error: Path escapes workspace: {path}");
        let read = bench.fails("read_file", json!({"path": path}));
        assert_eq!(read, escapes, "read_file");
        let write = bench.fails("write_file", json!({"path": path, "content": "x"}));
        assert_eq!(write, escapes, "write_file");
        let edit = json!({"path": path, "old_text": "secret", "new_text": "x"});
        assert_eq!(bench.fails("edit_file", edit), escapes, "edit_file");
    }
    let after = (
        picture(&bench.beside("outside")),
        picture(&bench.beside("ws-evil")),
    );
    assert_eq!(before, after);
    assert_eq!(bench.text("a/b/file"), "inside");
}

#[test]
fn paths_inside_work_in_every_form() {
    let bench = with_links();
    let root = bench.root();
    symlink("a/b", root.join("inner")).unwrap();
    symlink(root.join("a"), root.join("abs-inner")).unwrap();
    symlink("../../a/b/file", root.join("a/b/round")).unwrap();
    let absolute = root.join("a/b/file").display().to_string();
    for path in [
        "a/b/file",
        "./a//b/./file",
        "a/b/../b/file",
        "inner/file",
        "inner/../b/file",
        "abs-inner/b/file",
        "a/b/round",
        absolute.as_str(),
    ] {
        assert_eq!(bench.works("read_file", json!({"path": path})), "1→inside");
        let arguments = json!({"path": path, "content": "inside"});
        let wrote = bench.works("write_file", arguments);
        assert_eq!(wrote, format!("Wrote 6 bytes to {path}"));
    }
    // Writing through a link keeps the link.
    assert!(
        fs::symlink_metadata(root.join("a/b/round"))
            .unwrap()
            .is_symlink()
    );
    for name in ["with\nnewline", "~", "*?[x]", "-rf", "ünïcode", " space "] {
        bench.works("write_file", json!({"path": name, "content": "x"}));
        assert_eq!(bench.text(name), "x");
    }
}

#[test]
fn a_workspace_opened_through_a_link_knows_both_of_its_names() {
    let bench = Bench::new();
    bench.file("file", "inside");
    let alias = bench.beside("alias");
    symlink(bench.root(), &alias).unwrap();
    let workspace = tools::Workspace::open(&alias, []).unwrap();
    for root in [&alias, &bench.root()] {
        let path = root.join("file").display().to_string();
        assert!(workspace.open_file(&path).is_ok(), "{path}");
    }
}

#[test]
fn odd_paths_are_refused_in_words() {
    let bench = with_links();
    let long = "x".repeat(300);
    let longer = "y/".repeat(5000);
    for (path, words) in [
        ("", "Path is empty"),
        ("nul\0byte", "NUL"),
        (long.as_str(), "too long"),
        (longer.as_str(), "too long"),
        ("loop-a", "symbolic links"),
        ("loop-a/x", "symbolic links"),
        ("a/b/file/x", "Not a folder"),
        ("a/b/file/", "Not a folder"),
        ("a/b/file/..", "Not a folder"),
        ("a/b", "is a folder"),
        ("a/b/", "is a folder"),
        (".", "is a folder"),
    ] {
        let read = bench.fails("read_file", json!({"path": path}));
        assert!(read.contains(words), "{path:?}: {read}");
        let write = bench.fails("write_file", json!({"path": path, "content": "x"}));
        assert!(write.contains(words), "{path:?}: {write}");
    }
    let write = bench.fails("write_file", json!({"path": "new/", "content": "x"}));
    assert!(write.contains("is a folder"), "{write}");
    assert!(!bench.root().join("new").exists());
    let read = bench.fails("read_file", json!({"path": "no/such/file"}));
    assert_eq!(read, "Error: File not found: no/such/file");
}

#[test]
fn special_files_neither_block_nor_change() {
    let bench = Bench::new();
    let root = bench.root();
    let made = Command::new("mkfifo")
        .arg(root.join("pipe"))
        .status()
        .unwrap();
    assert!(made.success());
    let _listener = UnixListener::bind(root.join("socket")).unwrap();
    let mut names = vec![("pipe", "a named pipe"), ("socket", "a socket")];
    // Only root may do this.
    let mut device = Command::new("mknod");
    device.arg(root.join("device")).args(["c", "1", "5"]);
    if device.output().is_ok_and(|output| output.status.success()) {
        names.push(("device", "a device"));
    }
    for (name, kind) in names {
        let wanted = format!("Error: {name} is {kind}, not a regular file");
        assert_eq!(bench.fails("read_file", json!({"path": name})), wanted);
        let arguments = json!({"path": name, "content": "x"});
        assert_eq!(bench.fails("write_file", arguments), wanted);
        let arguments = json!({"path": name, "old_text": "a", "new_text": "b"});
        assert_eq!(bench.fails("edit_file", arguments), wanted);
    }
}

#[test]
fn a_hard_link_to_the_outside_is_cut_not_followed() {
    let bench = with_links();
    let secret = bench.beside("outside").join("secret");
    fs::hard_link(&secret, bench.root().join("hard")).unwrap();
    let arguments = json!({"path": "hard", "old_text": "secret", "new_text": "changed"});
    bench.works("edit_file", arguments);
    assert_eq!(bench.text("hard"), "the changed");
    bench.works("write_file", json!({"path": "hard", "content": "x"}));
    assert_eq!(fs::read_to_string(secret).unwrap(), SECRET);
}

#[test]
fn protected_paths_are_read_but_not_written() {
    let bench = Bench::new();
    let root = bench.root();
    bench.file(".team/config", "kept");
    bench.file("a/x", "x");
    symlink(".team", root.join("link")).unwrap();
    symlink("../.team", root.join("a/link")).unwrap();
    symlink(".team/config", root.join("to-file")).unwrap();
    symlink(".team/new", root.join("to-new")).unwrap();
    let absolute = root.join(".team/config").display().to_string();
    let before = picture(&root.join(".team"));
    for path in [
        ".team/config",
        ".team/new/deep/file",
        "./a/../.team/config",
        "missing/../.team/config",
        ".team/../.team/config",
        ".team//./config",
        ".TEAM/config",
        ".Team/new",
        ".team",
        "link/config",
        "link/new",
        "a/link/config",
        "a/link/../.team/config",
        "to-file",
        "to-new",
        absolute.as_str(),
    ] {
        let arguments = json!({"path": path, "content": "x"});
        let refused = bench.fails("write_file", arguments);
        assert!(
            refused.contains("must not change .team"),
            "{path}: {refused}"
        );
    }
    let arguments = json!({"path": "link/config", "old_text": "kept", "new_text": "lost"});
    bench.fails("edit_file", arguments);
    assert_eq!(before, picture(&root.join(".team")));
    assert!(!root.join(".TEAM").exists() && !root.join("missing").exists());
    assert_eq!(
        bench.works("read_file", json!({"path": "a/link/config"})),
        "1→kept"
    );
    for path in [".teammate", "sub/.team/x", "team/.x"] {
        bench.works("write_file", json!({"path": path, "content": "x"}));
    }
}

#[test]
fn what_git_runs_or_reads_is_not_written() {
    let bench = Bench::new();
    let root = bench.root();
    bench.file(".git/HEAD", "ref: refs/heads/main\n");
    let config = "[include]\npath = ../more.cfg\n[core]\nhooksPath = own/hooks\n";
    bench.file(".git/config", config);
    bench.file("own/hooks/pre-commit", "kept");
    bench.file("more.cfg", "kept");
    bench.file("sub/.git", "gitdir: ../.git/modules/sub\n");
    symlink("own/hooks", root.join("link")).unwrap();
    let before = picture(&root);
    for path in [
        "own/hooks/pre-commit",
        "own/hooks/new",
        "OWN/Hooks/new",
        "link/pre-commit",
        "more.cfg",
        "sub/.git",
        "sub/.GIT",
        "sub/deep/.git/config",
        "sub/deep/.git",
        "HEAD",
        "Head",
        "./sub/../HEAD",
    ] {
        let refused = bench.fails("write_file", json!({"path": path, "content": "x"}));
        assert!(refused.contains("must not change"), "{path}: {refused}");
    }
    for path in ["own/hooks/pre-commit", "more.cfg"] {
        let edit = json!({"path": path, "old_text": "kept", "new_text": "lost"});
        let refused = bench.fails("edit_file", edit);
        assert!(refused.contains("must not change"), "{path}: {refused}");
        assert_eq!(bench.works("read_file", json!({"path": path})), "1→kept");
    }
    assert_eq!(before, picture(&root));
    for path in ["own/new", "sub/HEAD", "sub/git", ".gitignore"] {
        bench.works("write_file", json!({"path": path, "content": "x"}));
    }
}

#[test]
fn a_protected_path_that_is_a_link_protects_what_it_leads_to() {
    let bench = Bench::new();
    bench.file("real/config", "kept");
    symlink("real", bench.root().join(".team")).unwrap();
    for path in ["real/config", "real/new", ".team/new", "a/../real/x"] {
        let refused = bench.fails("write_file", json!({"path": path, "content": "x"}));
        assert!(
            refused.contains("must not change .team"),
            "{path}: {refused}"
        );
    }
    assert_eq!(fs::read_dir(bench.root().join("real")).unwrap().count(), 1);
}

/// Another thread exchanges a folder and a link to the outside as fast as it can while files are
/// written and read below it.
#[test]
fn no_race_leads_out() {
    let bench = with_links();
    let root = bench.root();
    let (folder, link) = (root.join("swap"), root.join("swap-link"));
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("secret"), "harmless").unwrap();
    symlink("../outside", &link).unwrap();
    let before = picture(&bench.beside("outside"));
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                renameat2(
                    AT_FDCWD,
                    &folder,
                    AT_FDCWD,
                    &link,
                    RenameFlags::RENAME_EXCHANGE,
                )
                .unwrap();
            }
        });
        // Set also if a check below fails, so that the other thread ends.
        let _done = SetOnDrop(&done);
        try_while_swapping(&bench);
    });
    assert_eq!(before, picture(&bench.beside("outside")));
}

struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn try_while_swapping(bench: &Bench) {
    let (mut inside, mut refused) = (0, 0);
    let start = Instant::now();
    while (inside < 60 || refused < 60) && start.elapsed() < LONG {
        let number = inside + refused;
        let path = format!("swap/new-{}/file", number % 7);
        let write = json!({"path": path, "content": "x"});
        let written = crate::bench::block_on(bench.call("write_file", write));
        let edit = json!({"path": "swap/secret", "old_text": "harmless", "new_text": "harmless "});
        let edited = crate::bench::block_on(bench.call("edit_file", edit));
        let read = crate::bench::block_on(bench.call("read_file", json!({"path": "swap/secret"})));
        assert!(!read.text.contains(SECRET), "read the outside: {read:?}");
        for failed in [written.is_error, edited.is_error, read.is_error] {
            if failed {
                refused += 1;
            } else {
                inside += 1;
            }
        }
    }
    assert!(
        inside > 0 && refused > 0,
        "there was no race: {inside}, {refused}"
    );
}
