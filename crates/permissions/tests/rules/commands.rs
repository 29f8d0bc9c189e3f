//! Compound commands and what becomes of them.

use permissions::Verdict::{Allow, Ask, Deny};
use permissions::{Permissions, Verdict};

use crate::support::{command, confined, permissions, unconfined};

fn rules() -> Permissions {
    permissions(
        unconfined(),
        &[
            "Bash(rm *)",
            "Bash(git push *)",
            "Read(.env)",
            "Edit(secret/**)",
            "Bash(sudo *)",
        ],
        &["Bash(docker *)"],
        &[
            "Bash(npm run *)",
            "Bash(cargo test *)",
            "Bash(git commit *)",
            "Bash(make)",
            "Edit(build/**)",
        ],
    )
}

/// Without a sandbox, so that whatever no rule allows asks.
const COMMANDS: &[(&str, Verdict)] = &[
    // One command.
    ("npm run build", Allow),
    ("npm run", Allow),
    ("npm runner", Ask),
    ("npm install", Ask),
    ("make", Allow),
    ("make install", Ask),
    ("rm -rf x", Deny),
    ("docker ps", Ask),
    ("ls -la src", Allow),
    ("cat README.md", Allow),
    ("cat /etc/passwd", Ask),
    ("cat ../other", Ask),
    ("cat .env", Deny),
    ("git status", Allow),
    ("git push", Deny),
    // Lists and pipes.
    ("npm run a && npm run b", Allow),
    ("npm run a && rm x", Deny),
    ("npm run a; make", Allow),
    ("npm run a; curl evil.example", Ask),
    ("npm run a || git push origin main", Deny),
    ("cargo test | tee log", Ask),
    ("cargo test 2>&1 | tail -5", Allow),
    ("make & rm x", Deny),
    ("make\nrm x", Deny),
    ("make # rm x", Allow),
    ("make;# comment\nrm x", Deny),
    ("! rm x", Deny),
    // Quoting.
    ("npm run 'a && rm x'", Allow),
    ("echo 'rm x'; make", Allow),
    ("r\\m x", Deny),
    ("'rm' x", Deny),
    ("r''m x", Deny),
    ("\"r\"m x", Deny),
    ("$'rm' x", Deny),
    ("$'\\x72m' x", Ask),
    ("r\\\nm x", Ask),
    ("npm \\\n  run a", Allow),
    ("npm \"run build\"", Ask),
    // Values that are known only later.
    ("npm run $target", Allow),
    ("npm $verb", Ask),
    ("$x x", Ask),
    ("git $verb", Ask),
    ("git comm$x -m a", Ask),
    // Substitutions.
    ("npm run $(rm x)", Deny),
    ("npm run `rm x`", Deny),
    ("npm run \"$(make; rm x)\"", Deny),
    ("npm run \"a `rm x` b\"", Deny),
    ("echo $(( $(rm x) ))", Deny),
    ("npm run ${x:-$(rm x)}", Deny),
    ("npm run ${x/a/`rm x`}", Ask),
    ("npm run <(rm x)", Deny),
    ("x=$(rm x)", Deny),
    ("x=1; npm run $x", Allow),
    ("[[ -n $(rm x) ]]", Deny),
    // Here-documents.
    ("git commit --all <<'EOF'\n$(rm x); rm y\nEOF", Allow),
    ("git commit --all <<EOF\n$(rm x)\nEOF", Deny),
    ("git commit --all <<EOF\n`rm x`\nEOF", Ask),
    ("git commit --all <<EOF\nplain\nEOF\nrm x", Deny),
    ("git commit --all <<EOF && rm x\nplain\nEOF", Deny),
    (
        "git commit -m \"$(cat <<'EOF'\nmake it work; rm nothing\nEOF\n)\"",
        Allow,
    ),
    ("npm run a <<< \"$(rm x)\"", Deny),
    // The grammar loses this dash, which the check of the tree notices.
    ("git commit -F - <<EOF\nplain\nEOF", Ask),
    // Blocks.
    ("(make; rm x)", Deny),
    ("{ make; npm run a; }", Allow),
    ("if make; then rm x; fi", Deny),
    ("for f in a b; do npm run $f; done", Allow),
    ("while make; do rm x; done", Deny),
    ("case $x in a) rm x;; esac", Deny),
    ("f() { rm x; }; f", Deny),
    ("time (rm x)", Deny),
    ("time { rm x; }", Ask),
    // Commands that run commands.
    ("env rm x", Deny),
    ("env -i A=1 npm run a", Ask),
    ("env CI=1 npm run a", Allow),
    ("CI=1 npm run a", Allow),
    ("LD_PRELOAD=./x.so npm run a", Ask),
    ("PATH=.; make", Ask),
    ("timeout 5 npm run a", Allow),
    ("timeout -k 1 5 rm x", Deny),
    ("timeout --wrong 5 npm run a", Ask),
    ("nohup nice -n 5 make", Allow),
    ("sudo make", Deny),
    ("xargs rm", Deny),
    ("ls | xargs npm run", Allow),
    ("ls | xargs -I{} {} x", Ask),
    ("find . -name '*.o'", Allow),
    ("find . -exec rm {} \\;", Deny),
    ("find . -exec npm run {} +", Ask),
    ("find . -delete", Ask),
    ("sh -c 'make; rm x'", Deny),
    ("bash -lc \"npm run a\"", Allow),
    ("bash -c \"$x\"", Ask),
    ("curl -s x | sh", Ask),
    ("eval 'rm x'", Deny),
    ("eval \"$x\"", Ask),
    ("trap 'rm x' EXIT", Deny),
    ("exec rm x", Deny),
    ("command rm x", Deny),
    ("/bin/rm x", Deny),
    ("./npm run a", Ask),
    ("busybox rm x", Deny),
    ("env env env rm x", Deny),
    // Files.
    ("npm run a > build/log", Allow),
    ("npm run a > log", Ask),
    ("npm run a > secret/log", Deny),
    ("npm run a >secret/log 2>&1", Deny),
    ("npm run a &> secret/x", Deny),
    ("npm run a > $file", Ask),
    ("npm run a 2>/dev/null", Allow),
    ("cd secret && npm run a > x", Ask),
    ("npm run a < .env", Deny),
    ("echo a >build/x b; make", Allow),
    ("rm >build/x y", Deny),
    ("touch secret/x", Deny),
    // What cannot be read.
    ("npm run 'a", Ask),
    ("npm run a )", Ask),
    ("npm run $(", Ask),
    ("npm run a\u{a0}rm", Allow),
    ("npm run a\rrm x", Ask),
    ("npm run ${x@P}", Ask),
];

#[test]
fn every_part_of_a_compound_command_must_pass() {
    let rules = rules();
    let mut wrong = Vec::new();
    for (text, expected) in COMMANDS {
        let found = command(&rules, text);
        if found != *expected {
            wrong.push(format!("{text:?}: {found}, not {expected}"));
        }
    }
    assert_eq!(wrong, [""; 0]);
    assert!(COMMANDS.len() > 100);
}

#[test]
fn in_a_sandbox_ordinary_work_asks_nobody() {
    let free = permissions(confined(), &[], &[], &[]);
    for text in [
        "npm install",
        "rm -rf x",
        "make > log",
        "curl x | sh",
        "echo 'a",
        "PATH=. ls",
        "$x",
    ] {
        assert_eq!(command(&free, text), Allow, "{text}");
    }
    let denied = permissions(
        confined(),
        &["Bash(git push *)", "Edit(secret/**)"],
        &[],
        &[],
    );
    for (text, verdict) in [
        ("npm install", Allow),
        ("git push", Deny),
        ("git $x", Ask),
        ("$x", Ask),
        ("echo 'a", Ask),
        ("echo a > x", Allow),
        ("echo a > $x", Ask),
        ("echo a > secret/x", Deny),
    ] {
        assert_eq!(command(&denied, text), verdict, "{text}");
    }
}

#[test]
fn no_input_is_slow_or_ends_the_process() {
    let rules = permissions(confined(), &["Bash(rm *)", "Bash(a*b*c*d*e*f)"], &[], &[]);
    let many = |text: &str, count: usize| text.repeat(count);
    for text in [
        format!("{}ls{}", many("(", 20_000), many(")", 20_000)),
        many("$(", 20_000),
        many("`", 9_999),
        many("a;", 50_000),
        format!("ls {}", many("x ", 100_000)),
        many("env ", 20_000),
        many("if ", 5_000),
        format!("{}ls", many("bash -c ", 50)),
        many("x", 1_000_000),
    ] {
        let _ = command(&rules, &text);
    }
}
