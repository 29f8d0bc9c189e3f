use std::collections::BTreeSet;

use super::*;

/// A file system of names.
fn described(needs: &WorkspaceNeeds<'_>, paths: &[&str]) -> Description {
    let all: BTreeSet<&Path> = paths
        .iter()
        .flat_map(|path| Path::new(path).ancestors())
        .collect();
    let inside = all
        .iter()
        .filter(|path| path.parent() == Some(needs.workspace));
    let names = inside.filter_map(|path| path.file_name());
    let names: Vec<OsString> = names.map(OsStr::to_owned).collect();
    description(needs, &names, |path| all.contains(path), [])
}

fn needs(workspace: &'static str) -> WorkspaceNeeds<'static> {
    WorkspaceNeeds {
        workspace: Path::new(workspace),
        home: Some(Path::new("/home/u")),
        control: &["control.toml"],
        secrets: &[],
        programs: &[],
        writable: true,
        network: Network::Off,
    }
}

const MACHINE: &[&str] = &[
    "/usr/bin",
    "/etc/shadow",
    "/etc/resolv.conf",
    "/home/u/.cargo/credentials.toml",
    "/home/u/.ssh/id_ed25519",
    "/home/u/work/.git/HEAD",
    "/home/u/work/.git/config",
    "/home/u/work/.env",
    "/home/u/work/.env.local",
    "/home/u/work/.env.example",
    "/home/u/work/.environment",
    "/home/u/work/.vscode/settings.json",
    "/home/u/work/control.toml",
    "/home/u/work/src/main.rs",
];

fn has(paths: &[PathBuf], path: &str) -> bool {
    paths.iter().any(|found| found == Path::new(path))
}

#[test]
fn the_system_and_tools_are_readable_and_nothing_else() {
    let found = described(&needs("/home/u/work"), MACHINE);
    let expected = ["/etc", "/usr", "/home/u/.cargo"].map(PathBuf::from);
    assert_eq!(found.readable, expected);
    assert_eq!(found.writable, [PathBuf::from("/home/u/work")]);
    assert_eq!(found.folder, Path::new("/home/u/work"));
}

#[test]
fn secrets_are_hidden_where_they_exist() {
    let found = described(&needs("/home/u/work"), MACHINE);
    for path in [
        "/etc/shadow",
        "/home/u/.ssh",
        "/home/u/.cargo/credentials.toml",
        "/home/u/work/.env",
        "/home/u/work/.env.local",
    ] {
        assert!(has(&found.hidden, path), "{path} is not hidden");
    }
    assert!(!has(&found.hidden, "/home/u/work/.environment"));
    assert!(!has(&found.hidden, "/etc/ssl/private"), "it does not exist");
}

#[test]
fn control_files_are_protected_or_unwanted() {
    let found = described(&needs("/home/u/work"), MACHINE);
    for path in [
        ".git/hooks",
        ".git/config",
        ".git/commondir",
        ".vscode",
        ".env.example",
        "control.toml",
    ] {
        let path = format!("/home/u/work/{path}");
        assert!(has(&found.read_only, &path), "{path} is not protected");
    }
    for path in [".mcp.json", ".envrc", ".claude", ".helix", ".hg", ".jj"] {
        let path = format!("/home/u/work/{path}");
        assert!(has(&found.unwanted, &path), "{path} is not unwanted");
    }
    assert_eq!(found.placeholders.len(), 3);
}

#[test]
fn a_folder_without_a_repository_must_not_become_one_of_the_commands_making() {
    let found = described(&needs("/srv/data"), &["/srv/data/a.txt"]);
    assert!(has(&found.unwanted, "/srv/data/.git"));
    assert!(has(&found.unwanted, "/srv/data/HEAD"));
    assert_eq!(found.placeholders, []);
    let found = described(&needs("/srv/data"), &["/srv/data/HEAD"]);
    assert!(!has(&found.unwanted, "/srv/data/HEAD"), "it is the user's");
}

#[test]
fn a_linked_repository_keeps_its_link() {
    let found = described(&needs("/srv/tree"), &["/srv/tree/.git"]);
    assert!(has(&found.read_only, "/srv/tree/.git"));
}

#[test]
fn a_read_only_workspace_has_nothing_writable_and_gets_no_placeholders() {
    let mut needs = needs("/home/u/work");
    needs.writable = false;
    let found = described(&needs, MACHINE);
    assert!(found.writable.is_empty());
    assert_eq!((found.placeholders, found.unwanted), (vec![], vec![]));
    assert!(has(&found.readable, "/home/u/work"));
    assert!(has(&found.hidden, "/home/u/work/.env"));
}

#[test]
fn with_the_network_names_can_be_resolved() {
    let mut needs = needs("/home/u/work");
    needs.network = Network::On;
    let found = described(&needs, MACHINE);
    assert!(has(&found.readable, "/etc/resolv.conf"));
}

#[test]
fn only_harmless_variables_pass() {
    let variables = [
        ("PATH", "/bin"),
        ("LC_ALL", "C"),
        ("ANTHROPIC_API_KEY", "k"),
        ("SSH_AUTH_SOCK", "/run/agent"),
        ("LD_PRELOAD", "x.so"),
        ("HOME", "/a/link"),
        ("TMPDIR", "/elsewhere"),
    ];
    let variables = variables.map(|(name, value)| (name.into(), value.into()));
    let found = description(&needs("/srv"), &[], |_| false, variables);
    let names: Vec<_> = found
        .environment
        .iter()
        .map(|(name, value)| (name.to_str(), value.to_str()))
        .collect();
    let expected = [
        ("PATH", "/bin"),
        ("LC_ALL", "C"),
        ("HOME", "/home/u"),
        ("TMPDIR", "/tmp"),
    ];
    assert_eq!(
        names,
        expected.map(|(name, value)| (Some(name), Some(value)))
    );
}

#[test]
fn guarded_are_also_the_files_that_git_reads() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    for (path, text) in [
        (".git/HEAD", "ref: refs/heads/main\n"),
        (
            ".git/config",
            "[include]\npath = ../more\n[core]\nhooksPath = own\n",
        ),
        (".git/modules/sub/HEAD", "ref: refs/heads/main\n"),
        ("own/pre-commit", ""),
        (".env", "KEY=1"),
    ] {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let needs = WorkspaceNeeds {
        workspace: &root,
        ..needs("/")
    };
    let found = guarded_paths(&needs);
    for name in [
        "own",
        "more",
        ".env",
        ".envrc",
        "control.toml",
        ".git/hooks",
        ".git/modules/sub/config",
    ] {
        assert!(found.unwritable.contains(&root.join(name)), "{name}");
    }
    assert!(found.unreadable.contains(&root.join(".env")));
    assert!(!found.unreadable.contains(&root.join("own")));
}
