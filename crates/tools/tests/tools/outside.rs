//! Calls that were allowed a path outside of the workspace, and calls from which some files are hidden.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use tools::FileAccess;

use crate::bench::{Bench, confined};

fn put(path: &Path, content: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

/// Allows the next calls a path outside.
fn allow(bench: &mut Bench, path: &Path) {
    bench.context.access.files = FileAccess {
        outside: Some(path.to_owned()),
        hidden: None,
    };
}

#[test]
fn an_allowed_path_outside_is_read_and_written() {
    let mut bench = confined(false);
    let folder = bench.beside("notes");
    let file = folder.join("a.txt");
    put(&file, "one\ntwo\n");
    // The model may have written it in any way; what was allowed counts.
    let given = json!({"path": "../notes/a.txt"});
    let text = bench.fails("read_file", given.clone());
    assert!(text.contains("Path escapes workspace"), "{text}");
    allow(&mut bench, &file);
    let text = bench.works("read_file", given);
    assert!(text.contains("one") && text.contains("two"), "{text}");
    let edit = json!({"path": file, "old_text": "two", "new_text": "three"});
    bench.works("edit_file", edit);
    assert_eq!(fs::read_to_string(&file).unwrap(), "one\nthree\n");
    // What was seen outside is not taken for a file of the workspace with the same name.
    let inside = file.strip_prefix("/").unwrap().to_str().unwrap();
    bench.file(inside, "another");
    bench.context.access.files = FileAccess::default();
    let text = bench.fails("write_file", json!({"path": inside, "content": "x"}));
    assert!(text.contains("you have not read it"), "{text}");
    let new = folder.join("deep/new.txt");
    allow(&mut bench, &new);
    bench.works("write_file", json!({"path": new, "content": "fresh"}));
    assert_eq!(fs::read_to_string(&new).unwrap(), "fresh");
    allow(&mut bench, &folder);
    let at = json!({"path": folder});
    assert_eq!(bench.works("list_dir", at), "a.txt  10\ndeep/");
    let found = bench.works("grep", json!({"pattern": "fre.h", "path": folder}));
    assert_eq!(found, format!("{}\n1:fresh", new.display()));
    let found = bench.works("glob", json!({"pattern": "*.txt", "path": folder}));
    let mut found: Vec<PathBuf> = found.lines().map(PathBuf::from).collect();
    found.sort();
    assert_eq!(found, [file, new]);
}

#[test]
fn nothing_but_the_allowed_path_is_used_whatever_links_there_are() {
    let mut bench = confined(false);
    let (folder, other) = (bench.beside("notes"), bench.beside("other/secret"));
    let file = folder.join("a.txt");
    put(&file, "mine");
    put(&other, "not allowed");
    allow(&mut bench, &file);
    // A call that names another path gets the allowed one.
    let text = bench.works("read_file", json!({"path": other}));
    assert!(text.contains("mine"), "{text}");
    // Somebody replaces the allowed file, or a folder on the way, by a link after the answer.
    fs::remove_file(&file).unwrap();
    symlink(&other, &file).unwrap();
    let calls: [(&str, Value); 4] = [
        ("read_file", json!({"path": file})),
        (
            "edit_file",
            json!({"path": file, "old_text": "not", "new_text": "x"}),
        ),
        ("write_file", json!({"path": file, "content": "x"})),
        ("grep", json!({"path": file, "pattern": "."})),
    ];
    for (tool, arguments) in calls {
        let text = bench.fails(tool, arguments);
        assert!(text.contains("is a link to"), "{tool}: {text}");
        assert!(text.contains(other.to_str().unwrap()), "{tool}: {text}");
    }
    fs::remove_dir_all(&folder).unwrap();
    symlink(bench.beside("other"), &folder).unwrap();
    let below = folder.join("secret");
    allow(&mut bench, &below);
    let calls = [
        ("read_file", json!({"path": below})),
        ("write_file", json!({"path": below, "content": "x"})),
    ];
    for (tool, arguments) in calls {
        let text = bench.fails(tool, arguments);
        assert!(text.contains("is a link to"), "{tool}: {text}");
    }
    assert_eq!(fs::read_to_string(&other).unwrap(), "not allowed");
}

#[test]
fn secrets_and_control_files_stay_out_of_reach_though_they_were_allowed() {
    let mut bench = confined(false);
    let home = bench.beside("home");
    let project = bench.beside("project");
    let secrets = [
        home.join(".ssh/id_ed25519"),
        home.join(".aws/credentials"),
        home.join(".SSH/id_ed25519"),
        project.join(".env"),
        project.join("deep/.env.local"),
    ];
    for path in &secrets {
        put(path, "KEY=1");
    }
    let kernel = ["/proc/self/environ", "/proc/self/maps", "/etc/shadow"].map(PathBuf::from);
    for path in secrets.iter().chain(&kernel) {
        allow(&mut bench, path);
        // A part of /proc is a link.
        let text = bench.fails("read_file", json!({"path": path}));
        let is_refused = text.contains("it holds secrets") || text.contains("is a link to");
        assert!(is_refused, "{path:?}: {text}");
        for tool in ["grep", "glob"] {
            bench.fails(tool, json!({"path": path, "pattern": "."}));
        }
        bench.fails("write_file", json!({"path": path, "content": "x"}));
    }
    let own = PathBuf::from(format!("/proc/{}/environ", std::process::id()));
    allow(&mut bench, &own);
    let text = bench.fails("read_file", json!({"path": own}));
    assert!(text.contains("it holds secrets"), "{text}");
    put(&project.join("a.txt"), "KEY=2");
    for folder in [&home, &project] {
        allow(&mut bench, folder);
        let found = bench.works("grep", json!({"path": folder, "pattern": "KEY"}));
        assert!(!found.contains("KEY=1"), "{found}");
        let found = bench.works("glob", json!({"path": folder, "pattern": "**"}));
        assert!(
            !found.contains(".env") && !found.contains("id_ed"),
            "{found}"
        );
    }
    let control = [
        ".git/hooks/pre-commit",
        "deep/.claude/settings.json",
        ".vscode/tasks.json",
        ".env.example",
        "control.toml",
        ".MCP.json",
    ];
    for name in control {
        let path = project.join(name);
        allow(&mut bench, &path);
        let text = bench.fails("write_file", json!({"path": path, "content": "x"}));
        assert!(text.contains("must not change"), "{name}: {text}");
        assert!(!path.exists(), "{name}");
    }
}

#[test]
fn hidden_files_are_neither_read_nor_shown() {
    let mut bench = Bench::new();
    for name in ["src/a.rs", "src/private/b.rs", "keys/c.key", "d.key"] {
        bench.file(name, "needle");
    }
    symlink("d.key", bench.root().join("innocent")).unwrap();
    bench.context.access.files.hidden = Some(Arc::new(|path: &Path| {
        path.iter().any(|name| name == "private")
            || path.extension().is_some_and(|ending| ending == "key")
    }));
    let everything: [(&str, Value, &str); 5] = [
        ("grep", json!({"pattern": "needle"}), "src/a.rs\n1:needle"),
        ("glob", json!({"pattern": "**"}), "src/a.rs"),
        ("list_dir", json!({}), "innocent@\nkeys/\nsrc/"),
        ("list_dir", json!({"path": "src"}), "a.rs  6"),
        ("list_dir", json!({"path": "keys"}), "(empty folder: keys)"),
    ];
    for (tool, arguments, expected) in everything {
        assert_eq!(bench.works(tool, arguments), expected, "{tool}");
    }
    for path in ["d.key", "src/private/b.rs", "innocent"] {
        let text = bench.fails("read_file", json!({"path": path}));
        assert!(text.contains("a rule of the team denies it"), "{text}");
    }
}
