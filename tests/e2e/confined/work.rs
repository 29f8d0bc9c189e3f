//! Ordinary work through the bash of a member. The crate `sandbox` has more of it, at every level.

use super::place::{Level, Place, conditions, note};

/// Runs a script as a member at level `full`, or what this machine has. `needs` are programs without
/// which it cannot run.
fn works(needs: &[&str], script: &str) {
    let mut all = conditions(&[Level::Full]);
    if all.is_empty() {
        all = conditions(&[Level::Landlock]);
    }
    // The first is the user that runs the tests, whose toolchains are in reach.
    let Some(first) = all.first() else {
        return;
    };
    let place = Place::new(*first);
    if let Some(home) = std::env::home_dir()
        && home.join(".rustup").exists()
    {
        std::os::unix::fs::symlink(home.join(".rustup"), place.workspace.home().join(".rustup"))
            .unwrap();
    }
    place.spawn(&[]);
    let check: String = needs
        .iter()
        .map(|name| {
            format!("command -v {name} >/dev/null || {{ echo is missing: {name}; exit; }}; ")
        })
        .collect();
    let output = place.bash(&format!(
        "PATH=$(echo $HOME/.rustup/toolchains/*/bin | cut -d' ' -f1):$PATH; {check} set -e; {script}; echo it worked"
    ));
    if output.contains("is missing: ") {
        note(&format!("not run: {needs:?}: {output}"));
    } else {
        assert!(output.contains("it worked"), "{output}");
    }
    place.end();
}

#[test]
fn git_commits_with_the_users_settings() {
    works(
        &["git"],
        "mkdir repository; cd repository; git init -q; git config user.name a; git config user.email a@b; \
         echo x > file; git add file; git commit -qm one; git log --oneline | grep one",
    );
}

#[test]
fn cargo_builds_and_tests() {
    works(
        &["cargo", "cc"],
        "cargo new --quiet --vcs none --lib small; cd small; cargo build --quiet --offline; \
         cargo test --quiet --offline > /dev/null",
    );
}

#[test]
fn node_tests() {
    works(
        &["node"],
        "printf 'const t = require(\"node:test\"); t(\"a\", () => {});' > a.test.js; node --test a.test.js > /dev/null",
    );
}

#[test]
fn python_makes_an_environment_and_serves_on_loopback() {
    works(
        &["/usr/bin/python3", "bash"],
        "/usr/bin/python3 -m venv --without-pip env; env/bin/python -c 'import sys; assert sys.prefix.endswith(\"env\")'; \
         echo served > page; env/bin/python -m http.server 8000 --bind 127.0.0.1 2>/dev/null & \
         for i in $(seq 500); do (exec 3<>/dev/tcp/127.0.0.1/8000) 2>/dev/null && break; sleep 0.02; done; \
         exec 3<>/dev/tcp/127.0.0.1/8000; printf 'GET /page HTTP/1.0\\r\\n\\r\\n' >&3; grep served <&3",
    );
}

#[test]
fn make_runs_jobs() {
    works(
        &["make"],
        "printf 'all: a b c\\na b c:\\n\\techo x > $@\\n' > Makefile; make -s -j4; cat a b c",
    );
}
