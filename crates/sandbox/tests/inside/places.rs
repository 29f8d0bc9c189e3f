//! Attacks that need more than a script inside: what was there before, and what happens afterwards.

use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Output, Stdio};

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use sandbox::Level;

use crate::place::Scene;
use crate::runner::{Conditions, all_conditions, note, run, runner_command};

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[track_caller]
fn assert_kept_in(conditions: Conditions, output: &Output) {
    let text = text(output);
    assert_eq!(output.status.code(), Some(0), "{conditions:?}: {text}");
    assert!(text.contains("TRIED"), "{conditions:?}: {text}");
    assert!(!text.contains("THROUGH"), "{conditions:?}: {text}");
}

#[test]
fn the_folder_from_before_leads_nowhere() {
    for conditions in all_conditions() {
        let scene = Scene::new(conditions.user);
        let script = "cat id && echo THROUGH; cat $OLDPWD/id && echo THROUGH; \
             cat /proc/self/cwd/id && echo THROUGH; cd .. ; cat outside/file && echo THROUGH; echo TRIED";
        let mut command = runner_command(&scene, conditions, script);
        command.current_dir(scene.home().join(".ssh"));
        let output = command.stdin(Stdio::null()).output().expect("it starts");
        assert_kept_in(conditions, &output);
    }
}

/// Landlock refuses it in both cases: the folder lies under no rule.
#[test]
fn a_folder_as_standard_input_leads_nowhere() {
    if sandbox::Layers::probe()
        .list()
        .iter()
        .any(|layer| layer.name == "landlock" && !layer.present)
    {
        return note("not run: there is no Landlock");
    }
    for conditions in all_conditions() {
        let scene = Scene::new(conditions.user);
        let script = "cat /proc/self/fd/0/file && echo THROUGH; echo x > /proc/self/fd/0/file && echo THROUGH; \
             cat /dev/stdin/../home/.ssh/id && echo THROUGH; cd /proc/self/fd/0 && cat file && echo THROUGH; \
             echo TRIED";
        let folder = fs::File::open(scene.outside()).expect("it is there");
        let output = run(&scene, conditions, script, folder.into());
        assert_kept_in(conditions, &output);
        let content = fs::read_to_string(scene.outside().join("file"));
        assert_eq!(content.expect("it is there"), "before");
    }
}

/// Mounts the workspace once more inside itself and among the tools, in a mount namespace of the
/// caller's own, as root can.
#[test]
fn a_second_mount_of_the_workspace_is_no_way_around() {
    for conditions in all_conditions() {
        if conditions.level != Level::Full
            || conditions.user.is_some()
            || !nix::unistd::geteuid().is_root()
        {
            continue;
        }
        let scene = Scene::new(None);
        let (work, tools) = (scene.workspace(), scene.home().join(".cargo/copy"));
        let again = work.join("again");
        fs::create_dir(&again).expect("a folder");
        fs::create_dir(&tools).expect("a folder");
        let script = "ls again/src ~/.cargo/copy/src >/dev/null || exit 1; \
             for d in again ~/.cargo/copy; do [ -s $d/.env ] && echo THROUGH read $d; \
             for f in .team/config.json team.toml .env .git/config .git/hooks/new; do \
             (echo x >> $d/$f) 2>/dev/null && echo THROUGH $d/$f; done; \
             mv $d/.team $d/away 2>/dev/null && echo THROUGH mv; done; echo x > again/new || exit 2; echo TRIED";
        let mut command = runner_command(&scene, conditions, script);
        let bind = move || {
            let none: Option<&Path> = None;
            unshare(CloneFlags::CLONE_NEWNS)?;
            let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
            mount(none, "/", none, private, none)?;
            for target in [&again, &tools] {
                mount(Some(&work), target, none, MsFlags::MS_BIND, none)?;
            }
            Ok(())
        };
        // SAFETY: system calls, and copies of paths that fit on the stack.
        unsafe {
            command.pre_exec(bind);
        }
        let output = command.stdin(Stdio::null()).output().expect("it starts");
        assert_kept_in(conditions, &output);
        for (path, content) in scene.protected(true) {
            assert_eq!(content, fs::read_to_string(&path).ok());
        }
    }
}

/// A terminal of the caller's, which is also its controlling one.
fn terminal() -> (OwnedFd, OwnedFd) {
    let found = nix::pty::openpty(None, None).expect("a terminal");
    (found.master, found.slave)
}

#[test]
fn nothing_is_typed_into_the_terminal_of_the_caller() {
    for conditions in all_conditions() {
        let scene = Scene::new(conditions.user);
        // The filter says EPERM; EIO or EACCES would be the kernel's own refusal.
        let script = r#"/usr/bin/python3 -c '
import errno, fcntl, os
assert os.isatty(0)
for request in (0x5412, 0x541C):
    for fd in (0, 2):
        try:
            fcntl.ioctl(fd, request, b"x" * 8)
            print("THROUGH", request, flush=True)
        except OSError as error:
            if error.errno != errno.EPERM: print("THROUGH the filter", request, error, flush=True)
try:
    os.open("/dev/tty", os.O_RDWR)
    print("THROUGH tty", flush=True)
except OSError: pass
print("TRIED", flush=True)
'"#;
        let (keyboard, screen) = terminal();
        let mut command = runner_command(&scene, conditions, script);
        command.stdin(screen.try_clone().expect("it is open"));
        if let Some(user) = conditions.user {
            nix::unistd::fchown(&screen, Some(user.into()), None).expect("it is ours");
        }
        let number = screen.as_raw_fd();
        let own = move || {
            // SAFETY: the descriptor is that of the terminal, which the parent keeps open.
            unsafe {
                libc::setsid();
                libc::ioctl(number, libc::TIOCSCTTY, 0);
            }
            Ok(())
        };
        // SAFETY: two system calls.
        unsafe {
            command.pre_exec(own);
        }
        let output = command.output().expect("it starts");
        drop(keyboard);
        if conditions.level == Level::Full {
            assert_kept_in(conditions, &output);
        } else {
            // Without a session of its own the command keeps the caller's terminal.
            let text = text(&output).replace("THROUGH tty", "");
            assert!(
                text.contains("TRIED") && !text.contains("THROUGH"),
                "{text}"
            );
        }
    }
}

/// `git status` visits submodules and follows the settings that it finds there.
#[test]
fn git_outside_does_not_visit_a_submodule_of_the_commands_making() {
    const EVIL: &str = "new() { mkdir -p $1; git init -q $1; git -C $1 commit -q --allow-empty -m x; \
         git -C $1 config core.fsmonitor \"touch $PWD/ran; false\"; }; \
         add() { git update-index --add --cacheinfo 160000,$(git -C $1 -c core.fsmonitor= rev-parse HEAD),$2; }; \
         export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b;";
    for (script, expected) in [
        ("new sub; add sub sub", "sub/.git"),
        (
            "new a/b/c; add a/b/c a/b/c; git update-index --split-index",
            "a/b/c/.git",
        ),
        (
            "new sub; add sub sub; git update-index --index-version 4",
            "sub/.git",
        ),
        (
            "new away; mkdir sub; mv away/.git .git/modules/evil; echo gitdir: ../.git/modules/evil > sub/.git; \
          git update-index --add --cacheinfo 160000,$(git -C sub -c core.fsmonitor= rev-parse HEAD),sub",
            "sub/.git",
        ),
        // What is closed is there when a person opens it again.
        ("new sub; add sub sub; chmod 000 sub", "sub/.git"),
        ("new sub; add sub sub; chmod 000 .git", "sub/.git"),
        // The entry is there before, and only the repository is new.
        ("new declared", "declared/.git"),
    ] {
        for conditions in all_conditions() {
            if conditions.level != Level::Full {
                continue;
            }
            let scene = Scene::new(conditions.user);
            let git = |arguments: &[&str]| {
                let mut git = scene.as_user("git");
                let output = git.args(arguments).current_dir(scene.workspace()).output();
                output.expect("git is here")
            };
            let hash = "1".repeat(40);
            let entry = format!("160000,{hash},declared");
            git(&["update-index", "--add", "--cacheinfo", &entry]);
            let output = run(
                &scene,
                conditions,
                &format!("{EVIL} set -e; {script}"),
                Stdio::null(),
            );
            let text = text(&output);
            assert_eq!(output.status.code(), Some(0), "{script}: {text}");
            let created = scene.workspace().join(expected);
            assert!(
                text.contains(&format!("CREATED {}\n", created.display())),
                "{script}: {text}"
            );
            let status = git(&["status", "--short"]);
            assert!(status.status.success(), "{script}: {status:?}");
            assert!(
                !scene.workspace().join("ran").exists(),
                "{script}: {conditions:?}"
            );
        }
    }
}

/// A folder with `HEAD`, `objects` and `refs` is a repository, with settings beside them.
#[test]
fn git_outside_does_not_take_the_workspace_for_a_repository() {
    for conditions in all_conditions() {
        let scene = Scene::new(conditions.user);
        fs::remove_dir_all(scene.workspace().join(".git")).expect("it is there");
        let script = "mkdir objects refs; echo ref: refs/heads/main > HEAD; \
             printf '[core]\\n\\tworktree = %s\\n\\tfsmonitor = touch %s/ran; false\\n' $PWD $PWD > config";
        let output = run(&scene, conditions, script, Stdio::null());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output));
        let mut git = scene.as_user("git");
        // The tests may run in a repository.
        git.env(
            "GIT_CEILING_DIRECTORIES",
            scene.outside().parent().expect("it has one"),
        );
        git.arg("status").current_dir(scene.workspace());
        let status = git.output().expect("git is here");
        assert!(!status.status.success(), "{status:?}");
        assert!(!scene.workspace().join("ran").exists(), "{conditions:?}");
    }
}

#[test]
fn a_repository_behind_a_link_is_protected_as_a_whole() {
    for conditions in all_conditions() {
        if conditions.level != Level::Full {
            continue;
        }
        let scene = Scene::new(conditions.user);
        let work = scene.workspace();
        fs::rename(work.join(".git"), work.join("real-git")).expect("it is there");
        std::os::unix::fs::symlink("real-git", work.join(".git")).expect("a link");
        scene.give_away();
        let script = "git status --short >/dev/null || exit 1; for f in real-git/config .git/config .git/new; do \
             (echo x >> $f) 2>/dev/null && echo THROUGH $f; done; rm .git 2>/dev/null && echo THROUGH rm; \
             mv real-git away 2>/dev/null && echo THROUGH mv; echo TRIED";
        let output = run(&scene, conditions, script, Stdio::null());
        assert_kept_in(conditions, &output);
    }
}

/// Work in a submodule that was there before goes on.
#[test]
fn a_submodule_can_be_worked_in() {
    for conditions in all_conditions() {
        let scene = Scene::new(conditions.user);
        let git = |folder: &Path, arguments: &[&str]| {
            let mut git = scene.as_user("git");
            git.args([
                "-c",
                "protocol.file.allow=always",
                "-c",
                "user.name=a",
                "-c",
                "user.email=a@b",
            ]);
            let output = git
                .args(arguments)
                .current_dir(folder)
                .output()
                .expect("git is here");
            assert!(output.status.success(), "{output:?}");
        };
        let other = scene.home().join("other");
        git(&scene.home(), &["init", "-q", "other"]);
        git(&other, &["commit", "-q", "--allow-empty", "-m", "x"]);
        let from = other.to_str().expect("it is text");
        git(
            &scene.workspace(),
            &["submodule", "--quiet", "add", from, "lib/real"],
        );
        let script = "set -e; export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; \
             cd lib/real; echo x > f; git add f; git commit -qm two; git log --oneline | grep -c . | grep -qx 2; \
             cd ../..; git add lib/real; git -c core.hooksPath=/dev/null commit -qm sub; git status --short";
        let output = run(&scene, conditions, script, Stdio::null());
        let text = text(&output);
        assert_eq!(output.status.code(), Some(0), "{conditions:?}: {text}");
        assert!(!text.contains("CREATED"), "{conditions:?}: {text}");
    }
}
