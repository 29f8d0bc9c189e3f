//! Searching the workspace by content and by name.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use serde_json::json;

use crate::bench::Bench;

/// A small project with an ignored folder, a hidden one and a binary file.
fn project() -> Bench {
    let bench = Bench::new();
    bench.file(".gitignore", "built/\n");
    bench.file("src/main.rs", "fn main() {\n    greet();\n}\n");
    bench.file(
        "src/greet.rs",
        "pub fn greet() {\n    // TODO: Say hello\n}\n",
    );
    bench.file("docs/guide.md", "# Guide\n\nCall greet().\n");
    bench.file(".github/ci.yml", "run: greet\n");
    bench.file("built/out.rs", "greet greet greet\n");
    bench.file("picture.bin", b"greet\0\x01\x02");
    bench.file(".git/config", "greet\n");
    bench.file(".team/members/alice/log", "greet\n");
    bench
}

#[test]
fn matching_lines_are_shown_by_file_with_their_numbers() {
    let bench = project();
    assert_eq!(
        bench.works("grep", json!({"pattern": "greet"})),
        ".github/ci.yml\n1:run: greet\n\
         docs/guide.md\n3:Call greet().\n\
         src/greet.rs\n1:pub fn greet() {\n\
         src/main.rs\n2:    greet();"
    );
    assert_eq!(
        bench.works(
            "grep",
            json!({"pattern": "GREET\\(\\)", "ignore_case": true, "glob": "*.rs"})
        ),
        "src/greet.rs\n1:pub fn greet() {\nsrc/main.rs\n2:    greet();"
    );
    assert_eq!(
        bench.works(
            "grep",
            json!({"pattern": "greet", "path": "src", "glob": "main.*", "context": 1})
        ),
        "src/main.rs\n1-fn main() {\n2:    greet();\n3-}"
    );
    assert_eq!(
        bench.works("grep", json!({"pattern": "nowhere"})),
        "No matches."
    );
}

#[test]
fn files_and_counts_can_be_shown_instead() {
    let bench = project();
    bench.file("src/many.rs", "greet\n".repeat(7));
    assert_eq!(
        bench.works(
            "grep",
            json!({"pattern": "greet", "show": "files", "path": "src"})
        ),
        "src/greet.rs\nsrc/main.rs\nsrc/many.rs"
    );
    assert_eq!(
        bench.works(
            "grep",
            json!({"pattern": "greet", "show": "counts", "path": "src"})
        ),
        "src/greet.rs: 1\nsrc/main.rs: 1\nsrc/many.rs: 7"
    );
    assert_eq!(
        bench.works(
            "grep",
            json!({"pattern": "greet", "path": "src/many.rs", "limit": 2})
        ),
        "src/many.rs\n1:greet\n2:greet\n... 5 more matches: narrow the search, or raise `limit`"
    );
    assert_eq!(
        bench.works(
            "grep",
            json!({"pattern": "fn main.*?\\}", "multiline": true, "path": "src"})
        ),
        "src/main.rs\n1:fn main() {\n2:    greet();\n3:}"
    );
}

#[test]
fn a_named_path_is_searched_even_if_a_walk_leaves_it_out() {
    let bench = project();
    let found = bench.works("grep", json!({"pattern": "greet", "path": ".team/members"}));
    assert_eq!(found, ".team/members/alice/log\n1:greet");
    let found = bench.works("grep", json!({"pattern": "greet", "path": "built/out.rs"}));
    assert_eq!(found, "built/out.rs\n1:greet greet greet");
}

#[test]
fn long_lines_are_cut_and_mistakes_are_explained() {
    let bench = Bench::new();
    bench.file("wide", format!("needle{}", "x".repeat(5_000)));
    let found = bench.works("grep", json!({"pattern": "needle"}));
    assert!(found.len() < 500 && found.ends_with("x..."), "{found}");
    let wrong = bench.fails("grep", json!({"pattern": "("}));
    assert!(wrong.contains("wrong pattern"), "{wrong}");
    let missing = bench.fails("grep", json!({"pattern": "x", "path": "absent"}));
    assert!(missing.contains("absent"), "{missing}");
}

#[test]
fn files_are_found_by_pattern_the_newest_first() {
    let bench = project();
    let found = bench.works("glob", json!({"pattern": "*.rs"}));
    let mut found: Vec<&str> = found.lines().collect();
    found.sort_unstable();
    assert_eq!(found, ["src/greet.rs", "src/main.rs"]);
    let main = fs::File::open(bench.root().join("src/main.rs")).unwrap();
    let later = SystemTime::now() + Duration::from_secs(60);
    main.set_modified(later).unwrap();
    assert_eq!(
        bench.works("glob", json!({"pattern": "src/**/*.rs"})),
        "src/main.rs\nsrc/greet.rs"
    );
    assert_eq!(
        bench.works("glob", json!({"pattern": "*.{md,yml}", "path": "docs"})),
        "docs/guide.md"
    );
    assert_eq!(
        bench.works("glob", json!({"pattern": "*.py"})),
        "No files match."
    );
    let wrong = bench.fails("glob", json!({"pattern": "{a"}));
    assert!(wrong.contains("wrong pattern"), "{wrong}");
}

#[test]
fn a_folder_is_listed_with_everything_in_it() {
    let bench = project();
    symlink("src", bench.root().join("link")).unwrap();
    assert_eq!(
        bench.works("list_dir", json!({})),
        ".git/\n.github/\n.gitignore  7\n.team/\nbuilt/\ndocs/\nlink@\npicture.bin  8\nsrc/"
    );
    assert_eq!(
        bench.works("list_dir", json!({"path": "link"})),
        "greet.rs  42\nmain.rs  27"
    );
    fs::create_dir(bench.root().join("hollow")).unwrap();
    assert_eq!(
        bench.works("list_dir", json!({"path": "hollow"})),
        "(empty folder: hollow)"
    );
    bench.fails("list_dir", json!({"path": "src/main.rs"}));
    bench.fails("list_dir", json!({"path": ".."}));
}

#[test]
fn links_out_of_the_workspace_are_not_followed() {
    let bench = Bench::new();
    let outside = bench.beside("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("secret.txt"), "the secret key").unwrap();
    symlink(&outside, bench.root().join("folder")).unwrap();
    symlink(outside.join("secret.txt"), bench.root().join("file.txt")).unwrap();
    assert_eq!(
        bench.works("grep", json!({"pattern": "secret"})),
        "No matches."
    );
    assert_eq!(
        bench.works("glob", json!({"pattern": "*.txt"})),
        "No files match."
    );
    for path in ["folder", "file.txt", "folder/secret.txt", "../outside"] {
        bench.fails("grep", json!({"pattern": "secret", "path": path}));
        bench.fails("glob", json!({"pattern": "*", "path": path}));
        bench.fails("list_dir", json!({"path": path}));
    }
}

#[test]
fn secrets_are_not_searched() {
    let bench = Bench::new();
    bench.file(".env", "OPENAI_API_KEY=needle\n");
    bench.file(".env.local", "KEY=needle\n");
    bench.file("src/a.rs", "// needle\n");
    fs::hard_link(bench.root().join(".env"), bench.root().join("src/copy")).unwrap();
    let found = bench.works("grep", json!({"pattern": "needle"}));
    assert_eq!(found, "src/a.rs\n1:// needle");
    for path in [".env", ".env.local", "src/copy"] {
        let text = bench.fails("grep", json!({"pattern": "needle", "path": path}));
        assert!(text.contains("it holds secrets"), "{path}: {text}");
    }
}

/// A process that exchanges a folder and a link to the outside again and again gets no content out.
#[test]
fn a_folder_that_turns_into_a_link_meanwhile_gives_nothing_away() {
    let bench = Bench::new();
    let outside = bench.beside("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("note.txt"), "secret").unwrap();
    bench.file("swap/note.txt", "harmless");
    let (real, link) = (bench.root().join("swap"), bench.root().join("other"));
    symlink(&outside, &link).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let flags = nix::fcntl::RenameFlags::RENAME_EXCHANGE;
            let here = nix::fcntl::AT_FDCWD;
            while !stop.load(Ordering::Relaxed) {
                nix::fcntl::renameat2(here, &real, here, &link, flags).unwrap();
            }
        });
        let search = |_| bench.works("grep", json!({"pattern": "secret"}));
        let found: Vec<String> = (0..300).map(search).collect();
        // Before anything may panic, or the other thread would never end.
        stop.store(true, Ordering::Relaxed);
        assert!(
            found.iter().all(|found| found == "No matches."),
            "{found:?}"
        );
    });
}

#[test]
fn a_pipe_in_the_tree_does_not_block_a_search() {
    let bench = Bench::new();
    bench.file("a.txt", "needle\n");
    let pipe = bench.root().join("pipe");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert_eq!(
        bench.works("grep", json!({"pattern": "needle"})),
        "a.txt\n1:needle"
    );
    bench.fails("grep", json!({"pattern": "needle", "path": "pipe"}));
}

#[test]
fn a_file_with_an_endless_line_is_not_searched_and_counted() {
    let bench = Bench::new();
    bench.file("small", "needle\n");
    let line = "x".repeat(70 * 1024 * 1024);
    bench.file("large", format!("{line}needle\n"));
    let found = bench.works("grep", json!({"pattern": "needle"}));
    assert_eq!(
        found,
        "small\n1:needle\n[1 file was not searched: a line is too long]"
    );
}
