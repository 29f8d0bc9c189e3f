//! Ordinary work goes on inside.

use std::process::Stdio;

use sandbox::Level;

use crate::place::Scene;
use crate::runner::{all_conditions, note, run};

/// Runs a script at every level and as every user. `needs` are programs without which it cannot run.
fn works(needs: &[&str], levels: &[Level], script: &str) {
    for conditions in all_conditions() {
        if !levels.contains(&conditions.level) {
            continue;
        }
        let scene = Scene::new(conditions.user);
        let check: String = needs
            .iter()
            .map(|name| format!("command -v {name} >/dev/null || exit 77; "))
            .collect();
        let script = format!("{check} set -e; {script}");
        let output = run(&scene, conditions, &script, Stdio::null());
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        match output.status.code() {
            Some(77) => note(&format!(
                "not run: {needs:?} are missing for {conditions:?}"
            )),
            code => assert_eq!(code, Some(0), "{conditions:?}: {text}"),
        }
    }
}

const BOTH: &[Level] = &[Level::Full, Level::Landlock];
const FULL: &[Level] = &[Level::Full];

#[test]
fn git() {
    works(
        &["git"],
        BOTH,
        "git config --get core.bare; export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; \
         git add src; git commit -qm one; git checkout -q -b two; echo x >> src/lib.rs; git stash -q; git stash pop -q; \
         git commit -qam two; git log --oneline | grep -c . | grep 2; git worktree add -q $TMPDIR/tree main; \
         git clone -q . $TMPDIR/clone; git gc -q; git fsck; git status --short",
    );
}

#[test]
fn make_with_jobs() {
    works(
        &["make", "gcc"],
        BOTH,
        "printf 'all: a b c\\n%%: %%.c\\n\\tgcc -o $@ $<\\n' > Makefile; for f in a b c; do echo 'int main(){return 0;}' > $f.c; done; \
         make -s -j4; ./a && ./b && ./c",
    );
}

#[test]
fn python_environments_and_processes() {
    works(
        &["/usr/bin/python3"],
        BOTH,
        "/usr/bin/python3 -m venv --without-pip env; env/bin/python -c 'import sys; assert sys.prefix.endswith(\"env\")'; \
         env/bin/python -c 'import sqlite3; c = sqlite3.connect(\"a.db\"); c.execute(\"pragma journal_mode=wal\"); c.execute(\"create table t(x)\"); c.commit()'; \
         env/bin/python -c 'import subprocess, threading; t = threading.Thread(target=lambda: subprocess.run([\"true\"], check=True)); t.start(); t.join()'",
    );
}

#[test]
fn a_server_on_loopback_and_local_sockets() {
    works(
        &["/usr/bin/python3"],
        FULL,
        "/usr/bin/python3 -c '
import socket, threading
for family, address in [(socket.AF_INET, (\"127.0.0.1\", 0)), (socket.AF_INET6, (\"::1\", 0)), (socket.AF_UNIX, \"server\")]:
    server = socket.socket(family)
    server.bind(address)
    server.listen()
    threading.Thread(target=lambda: server.accept()[0].sendall(b\"hello\")).start()
    client = socket.socket(family)
    client.connect(server.getsockname())
    assert client.recv(5) == b\"hello\"
import multiprocessing
assert multiprocessing.Pool(2).map(abs, [-1, -2]) == [1, 2]
import pty
assert pty.spawn([\"true\"]) == 0
'; ps aux | grep -c . ; [ $(ls /proc | grep -c '^[0-9]') -lt 10 ]; getent hosts localhost",
    );
}

#[test]
fn node() {
    works(
        &["node"],
        BOTH,
        "printf 'const t = require(\"node:test\"); t(\"a\", () => {}); const { Worker } = require(\"node:worker_threads\"); \
         new Worker(\"\", { eval: true });' > a.test.js; node --test a.test.js > /dev/null",
    );
}

#[test]
fn npm_test_of_a_small_package() {
    works(
        &["node", "npm"],
        BOTH,
        r#"mkdir package; cd package
        echo '{"name":"small","version":"1.0.0","scripts":{"pretest":"touch built","test":"node --test"}}' > package.json
        echo 'module.exports = (a, b) => a + b;' > index.js
        echo 'require("node:test")("sum", () => require("node:assert").equal(require("./index.js")(1, 2), 3));' > index.test.js
        npm test > output 2>&1 || { cat output >&2; exit 1; }
        [ -e built ]; grep -q 'pass 1' output
        sed -i 's/ 3)/ 4)/' index.test.js; if npm test > output 2>&1; then exit 1; fi; grep -q 'fail 1' output"#,
    );
}

#[test]
fn temporary_files_and_standard_names() {
    works(
        &[],
        BOTH,
        "f=$(mktemp); echo x > $f; cat $f; echo x | cat /dev/stdin; echo x > /dev/null; head -c 4 /dev/urandom | wc -c; \
         echo a > a; mv a b; mkdir -p c; mv b c/; ln -s c/b l; cat l; rm -r c; exec 3<>/dev/null",
    );
}

/// The toolchain of whoever runs the tests is linked into the home folder of the scene.
#[test]
fn cargo() {
    let Some(real) = std::env::home_dir().map(|home| home.join(".rustup")) else {
        return note("not run: no home folder");
    };
    for conditions in all_conditions() {
        let scene = Scene::new(conditions.user);
        std::os::unix::fs::symlink(&real, scene.home().join(".rustup")).unwrap();
        let script = "PATH=$(echo $HOME/.rustup/toolchains/*/bin | cut -d' ' -f1):$PATH; \
             command -v cargo >/dev/null || exit 77; set -e; \
             cd $TMPDIR; cargo new --quiet --vcs none --lib small; cd small; cargo build --quiet --offline; \
             cargo test --quiet --offline > /dev/null";
        let output = run(&scene, conditions, script, Stdio::null());
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        match output.status.code() {
            Some(77) => note(&format!("not run: no toolchain visible for {conditions:?}")),
            code => assert_eq!(code, Some(0), "{conditions:?}: {text}"),
        }
    }
}
