//! Everything that is known to have got through some layer, tried from inside.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::Path;
use std::process::Stdio;

use sandbox::{Level, Network};

use crate::place::{Scene, Targets, input};
use crate::runner::{Conditions, all_conditions, note, run};

const PYTHON: &str = "/usr/bin/python3";
const ATTACK: &str = include_str!("attack.py");
const FORGE: &str = include_str!("forge_index.py");

/// What Landlock and the filter cannot stop without namespaces, by the first part of its name:
/// files in the writable workspace, modes of the user's files, the list of processes and on which
/// processors they run, and processes that go on.
const WITHOUT_NAMESPACES: [&str; 6] = [
    "control_",
    "read_secret_in_workspace",
    "process_see",
    "write_outside_chmod",
    "process_affinity",
    "left_running",
];

/// Whether the attack can run here: it uses numbers of system calls.
fn can_attack() -> bool {
    let can = cfg!(target_arch = "x86_64") && Path::new(PYTHON).exists();
    if !can {
        note("not run: the attacks need x86-64 and /usr/bin/python3");
    }
    can
}

fn attack(conditions: Conditions) {
    let scene = Scene::new(conditions.user);
    let mut targets = Targets::new(&scene);
    let is_full = conditions.level == Level::Full;
    let before = scene.protected(is_full);
    fs::write(scene.workspace().join("attack.py"), ATTACK).expect("it is written");
    scene.give_away();
    let script = format!("exec {PYTHON} attack.py {}", targets.arguments(&scene));
    let stdin = input(&scene.outside().join("file"));
    let output = run(&scene, conditions, &script, stdin);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{conditions:?}: {text}");
    let tried = text.lines().find_map(|line| line.strip_prefix("TRIED "));
    let tried: usize = tried
        .and_then(|count| count.parse().ok())
        .expect("the attack ends");
    assert!(tried > 100, "only {tried} attempts");
    let through = text
        .lines()
        .filter_map(|line| line.strip_prefix("THROUGH "));
    let is_expected = |name: &&str| {
        !is_full
            && WITHOUT_NAMESPACES
                .iter()
                .any(|known| name.starts_with(known))
    };
    let unexpected: BTreeSet<&str> = through.filter(|name| !is_expected(name)).collect();
    assert!(
        unexpected.is_empty(),
        "{conditions:?}: {unexpected:?}\n{text}"
    );
    for (path, content) in before {
        let now = fs::read_to_string(&path).ok();
        assert_eq!(now, content, "{conditions:?}: {} changed", path.display());
    }
    assert!(!scene.outside().join("attack").exists());
    assert!(targets.victim_lives());
    if conditions.network != Network::On {
        assert!(!targets.got_datagram(), "{conditions:?}");
    }
    if is_full {
        // A process that is left holds the lock, and ends two seconds later.
        let lock = File::open(scene.workspace().join("survivor.lock")).expect("it was made");
        lock.lock().expect("it is free in the end");
        assert!(
            !scene.workspace().join("survivor").exists(),
            "{conditions:?}"
        );
    }
}

#[test]
fn nothing_gets_through() {
    if can_attack() {
        all_conditions().into_iter().for_each(attack);
    }
}

#[test]
fn with_the_network_on_nothing_else_gets_through() {
    if !can_attack() {
        return;
    }
    for mut conditions in all_conditions() {
        conditions.network = Network::On;
        attack(conditions);
    }
}

#[test]
fn with_a_proxy_nothing_gets_past_it() {
    if !can_attack() {
        return;
    }
    for mut conditions in all_conditions() {
        conditions.network = Network::Proxy;
        if conditions.level == Level::Full {
            attack(conditions);
        }
    }
}

/// Landlock knows ports and no addresses: a server elsewhere could listen on the proxy's port.
#[test]
fn without_namespaces_a_proxy_is_refused() {
    for mut conditions in all_conditions() {
        if conditions.level == Level::Full {
            continue;
        }
        conditions.network = Network::Proxy;
        let scene = Scene::new(conditions.user);
        let output = run(&scene, conditions, "echo RAN", Stdio::null());
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(125), "{text}");
        let reason = "NOT PREPARED only certain hosts can be allowed at sandbox level full alone";
        assert!(text.contains(reason) && !text.contains("RAN"), "{text}");
    }
}

#[test]
fn a_read_only_workspace_cannot_be_changed() {
    for mut conditions in all_conditions() {
        conditions.read_only = true;
        let scene = Scene::new(conditions.user);
        let script = "for f in src/lib.rs new .git/new .git/HEAD; do echo x >> $f && echo THROUGH $f; done; \
             rm src/lib.rs && echo THROUGH rm; [ -s .env ] && cat .env && echo THROUGH secret; \
             cat src/lib.rs > $TMPDIR/copy && cat $TMPDIR/copy && git log; exit 0";
        let output = run(&scene, conditions, script, Stdio::null());
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!text.contains("THROUGH"), "{conditions:?}: {text}");
        assert!(text.contains("before"), "{conditions:?}: {text}");
    }
}

/// The file does not exist before, so that nothing can protect it; it is found afterwards.
#[test]
fn control_files_that_a_command_creates_are_found() {
    for conditions in all_conditions() {
        let scene = Scene::new(conditions.user);
        let script = "echo x > .envrc; mkdir .claude; echo x > harmless; echo x > .env.sample; \
             echo x > .env.production; ln -s harmless .env.development.local";
        let output = run(&scene, conditions, script, Stdio::null());
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        let created: BTreeSet<_> = text
            .lines()
            .filter_map(|line| line.strip_prefix("CREATED "))
            .collect();
        let expected = [
            ".claude",
            ".envrc",
            ".env.production",
            ".env.development.local",
        ];
        let expected = expected.map(|name| scene.workspace().join(name));
        let expected: BTreeSet<_> = expected.iter().filter_map(|path| path.to_str()).collect();
        assert_eq!(created, expected, "{conditions:?}");
    }
}

/// What a closed folder hides would be there when a person opens it again.
#[test]
fn control_files_in_folders_that_a_command_closes_are_found() {
    for script in [
        "echo x > .envrc; chmod 555 .",
        "echo x > .envrc; chmod 000 .",
        "for i in {1..12000}; do : > .envrc.from-sandbox.$i; done; echo x > .envrc",
    ] {
        for conditions in all_conditions() {
            let scene = Scene::new(conditions.user);
            let output = run(&scene, conditions, script, Stdio::null());
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(0), "{script}: {text}");
            assert!(text.contains("CREATED "), "{conditions:?}: {text}");
            assert!(!scene.workspace().join(".envrc").exists(), "{script}");
            scene.workspace().read_dir().unwrap_or_else(|error| {
                panic!("{script}: {error}");
            });
        }
    }
}

/// A forged `commondir` would make git outside run a program of the command's choice.
#[test]
fn git_outside_runs_nothing_of_the_commands_choice() {
    for conditions in all_conditions() {
        if conditions.level != Level::Full {
            continue;
        }
        let scene = Scene::new(conditions.user);
        let script = "mkdir -p forged/objects forged/refs; cp .git/HEAD forged/; \
             printf '[core]\\n\\tfsmonitor = touch %s/ran\\n' $PWD > forged/config; \
             echo ../forged > .git/commondir; rm -f .git/commondir; mv .git .git-away; \
             mkdir -p .git/hooks; git config core.fsmonitor \"touch $PWD/ran\"; exit 0";
        run(&scene, conditions, script, Stdio::null());
        let mut git = scene.as_user("git");
        let status = git
            .arg("status")
            .current_dir(scene.workspace())
            .output()
            .unwrap();
        assert!(status.status.success(), "{status:?}");
        assert!(!scene.workspace().join("ran").exists(), "{conditions:?}");
    }
}

/// Without a valid `.git`, git takes the workspace itself for a repository if it looks like one.
#[test]
fn a_workspace_does_not_become_a_repository_without_a_work_tree() {
    for conditions in all_conditions() {
        for has_head in [false, true] {
            if has_head && conditions.level != Level::Full {
                continue;
            }
            let scene = Scene::new(conditions.user);
            let workspace = scene.workspace();
            if has_head {
                fs::write(workspace.join("HEAD"), "ref: refs/heads/main\n").unwrap();
                scene.give_away();
            }
            let script = "mv .git/HEAD .git/HEAD.bak; mkdir objects refs; \
                 echo 'ref: refs/heads/main' > HEAD; \
                 printf '[core]\\n\\trepositoryformatversion = 0\\n\\tbare = false\\n\\tworktree = %s\\n\\tfsmonitor = touch %s/ran\\n' \
                 $PWD $PWD > config; git status; [ -e ran ] && echo WORKS; rm -f ran";
            let output = run(&scene, conditions, script, Stdio::null());
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(text.contains("WORKS"), "{conditions:?}: {text}");
            let mut git = scene.as_user("git");
            let status = git.arg("status").current_dir(&workspace).output();
            let status = status.expect("git is here");
            assert!(
                !workspace.join("ran").exists(),
                "{conditions:?} {has_head}: {text}{status:?}"
            );
        }
    }
}

/// Git reads the length of a name from the flags and sees a submodule that a search for the zero at
/// the end of each name does not see.
#[test]
fn a_submodule_that_an_index_hides_is_not_followed() {
    if !Path::new(PYTHON).exists() {
        return note("not run: it needs /usr/bin/python3");
    }
    for conditions in all_conditions() {
        if conditions.level != Level::Full {
            continue;
        }
        let scene = Scene::new(conditions.user);
        let workspace = scene.workspace();
        fs::write(workspace.join("forge.py"), FORGE).expect("it is written");
        scene.give_away();
        let script = format!(
            "set -e; mkdir sub; git -C sub init -q; git -C sub -c user.name=a -c user.email=a@b commit -q --allow-empty -m one; \
             git -C sub config core.fsmonitor \"touch $PWD/ran\"; \
             {PYTHON} forge.py; git status || true; [ -e ran ] && echo WORKS; rm -f ran"
        );
        let output = run(&scene, conditions, &script, Stdio::null());
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(text.contains("WORKS"), "{conditions:?}: {text}");
        let mut git = scene.as_user("git");
        let status = git.arg("status").current_dir(&workspace).output();
        let status = status.expect("git is here");
        assert!(
            !workspace.join("ran").exists(),
            "{conditions:?}: {text}{status:?}"
        );
    }
}
