use std::process::Command;

use super::*;

fn settings(text: &str) -> (Vec<String>, Vec<String>, bool) {
    let found = Settings::parse(text);
    let texts = |paths: Vec<PathBuf>| {
        paths
            .iter()
            .map(|path| path.display().to_string())
            .collect()
    };
    (
        texts(found.hooks),
        texts(found.included),
        found.has_long_hashes,
    )
}

#[test]
fn settings_that_name_files_are_found_however_they_are_written() {
    let text = "[core]\n\tbare = false\n\tHooksPath = .husky/_ # comment\n\
         [include] path = \"../a \\\"b\\\"; c\" ; comment\n[includeIf \"gitdir:x\"]\npath=\\\n../d\n\
         [remote \"x\"]\n\tpath = no\n[EXTENSIONS]\nobjectFormat = sha256\n[core]\nhookspath=~/h\n";
    let (hooks, included, long) = settings(text);
    assert_eq!(hooks, [".husky/_"]);
    assert_eq!(included, ["../a \"b\"; c", "../d"]);
    assert!(long);
    assert_eq!(settings("[core\nx"), (Vec::new(), Vec::new(), false));
}

/// Runs git in a folder, without the settings of whoever runs the tests.
fn git(folder: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(arguments).current_dir(folder);
    for (name, value) in [
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_AUTHOR_NAME", "a"),
        ("GIT_AUTHOR_EMAIL", "a@example.org"),
        ("GIT_COMMITTER_NAME", "a"),
        ("GIT_COMMITTER_EMAIL", "a@example.org"),
    ] {
        command.env(name, value);
    }
    let output = command.output().expect("git is here");
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout)
        .expect("it is text")
        .trim()
        .to_owned()
}

fn repository(folder: &Path, format: &str) {
    fs::create_dir_all(folder).unwrap();
    git(
        folder,
        &["init", "-q", "-b", "main", "--object-format", format],
    );
    fs::write(folder.join("file"), "x").unwrap();
    git(folder, &["add", "file"]);
    git(folder, &["commit", "-qm", "one"]);
}

/// Adds an entry of a submodule, whether there is one or not.
fn add_entry(folder: &Path, path: &str) {
    let hash = git(folder, &["rev-parse", "HEAD"]);
    let entry = format!("160000,{hash},{path}");
    git(folder, &["update-index", "--add", "--cacheinfo", &entry]);
}

#[test]
fn submodules_are_found_in_every_form_of_an_index() {
    let folder = tempfile::tempdir().unwrap();
    for format in ["sha1", "sha256"] {
        let root = folder.path().join(format);
        repository(&root, format);
        let hash = if format == "sha256" { 32 } else { 20 };
        let found = || {
            let found = submodules(&root.join(".git"), hash == 32).unwrap();
            found
                .iter()
                .map(|path| path.display().to_string())
                .collect::<Vec<_>>()
        };
        assert_eq!(found(), [""; 0]);
        let expected = ["a/deep/submodule-with-a-name", "b", "ä b"];
        for path in expected {
            add_entry(&root, path);
        }
        fs::write(root.join("b1"), "x").unwrap();
        // An entry with more flags, as only later versions have them.
        git(&root, &["add", "--intent-to-add", "b1"]);
        for arguments in [
            &["--index-version", "2"][..],
            &["--index-version", "3"],
            &["--index-version", "4"],
            &["--split-index"],
            &["--force-write-index"],
        ] {
            git(&root, &[&["update-index"], arguments].concat());
            assert_eq!(found(), expected, "{format} {arguments:?}");
        }
    }
}

#[test]
fn an_index_that_is_cut_off_or_miscounts_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    repository(folder.path(), "sha1");
    add_entry(folder.path(), "a");
    let bytes = fs::read(folder.path().join(".git/index")).unwrap();
    let whole = index::parse(&bytes, 20);
    assert!(whole.is_some());
    for length in 1..bytes.len() {
        // Where an extension ends it may be whole, as the checksum is not compared.
        let found = index::parse(&bytes[..length], 20);
        assert!(found.is_none() || found == whole, "{length}: {found:?}");
    }
    for count in [[0xff; 4], [0, 0, 0, 1]] {
        let mut changed = bytes.clone();
        changed[8..12].copy_from_slice(&count);
        assert_eq!(index::parse(&changed, 20), None);
    }
}

/// An index of version 2 with entries of these modes, claimed lengths and names.
fn made_index(entries: &[(u32, usize, &[u8])], extensions: &[u8]) -> Vec<u8> {
    let count = u32::try_from(entries.len()).unwrap();
    let mut bytes = [&b"DIRC\0\0\0\x02"[..], &count.to_be_bytes()].concat();
    for (mode, length, name) in entries {
        let start = bytes.len();
        bytes.extend([0; 24]);
        bytes.extend(mode.to_be_bytes());
        bytes.extend([0; 12 + 20]);
        bytes.extend(u16::try_from(*length).unwrap().to_be_bytes());
        bytes.extend(*name);
        let padded = start + (bytes.len() - start) / 8 * 8 + 8;
        bytes.resize(padded, 0);
    }
    bytes.extend(extensions);
    bytes.extend([0; 20]);
    bytes
}

#[test]
fn an_index_that_git_would_read_otherwise_is_not_read() {
    let (file, module) = (0o100_644, 0o160_000);
    let parsed = |entries: &[(u32, usize, &[u8])]| index::parse(&made_index(entries, b""), 20);
    let found = parsed(&[(file, 1, b"a"), (module | 0o755, 3, b"sub")]).unwrap();
    assert_eq!(found.submodules, [PathBuf::from("sub")], "any permissions");
    for (entry, why) in [
        ((file, 9, &b"a\0bcdefgh"[..]), "a zero in a name"),
        ((file, 2, b"a"), "longer than it is"),
        ((file, 1, b"abc"), "shorter than it is"),
        ((file, 0xfff, b"a"), "not a long name"),
        ((module, 5, b"./sub"), "a name that is not plain"),
        ((module, 8, b"x/../sub"), "a name that goes up"),
        ((module, 4, b"/sub"), "a name from the root"),
        ((module, 0, b""), "a name of the shared index"),
    ] {
        assert_eq!(parsed(&[entry]), None, "{why}");
    }
    assert_eq!(parsed(&[(file, 1, b"b"), (file, 1, b"a")]), None, "order");
}

/// Threads of git start reading where these extensions say.
#[test]
fn blocks_of_an_index_are_where_the_entries_are() {
    let entries: [(u32, usize, &[u8]); 2] = [(0o100_644, 1, b"a"), (0o100_644, 1, b"b")];
    let parsed = |numbers: [u32; 5], end: u32| {
        let numbers: Vec<u8> = numbers.iter().flat_map(|n| n.to_be_bytes()).collect();
        let blocks = [&b"IEOT\0\0\0\x14"[..], &numbers].concat();
        let last = [&b"EOIE\0\0\0\x18"[..], &end.to_be_bytes(), &[0; 20]].concat();
        index::parse(&made_index(&entries, &[blocks, last].concat()), 20)
    };
    assert!(parsed([1, 12, 1, 76, 1], 140).is_some());
    assert_eq!(parsed([1, 12, 1, 77, 1], 140), None);
    assert_eq!(parsed([1, 12, 2, 76, 1], 140), None);
    assert_eq!(parsed([1, 12, 1, 76, 1], 141), None);
}

fn names(root: &Path, paths: &BTreeSet<PathBuf>) -> Vec<String> {
    let relative = paths
        .iter()
        .map(|path| path.strip_prefix(root).unwrap_or(path));
    relative.map(|path| path.display().to_string()).collect()
}

#[test]
fn everything_is_found_that_git_visits() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let (root, other) = (folder.join("root"), folder.join("other"));
    repository(&root, "sha1");
    repository(&other, "sha1");
    let from = other.to_str().unwrap();
    let allow = "protocol.file.allow=always";
    git(
        &root,
        &["-c", allow, "submodule", "--quiet", "add", from, "lib/sub"],
    );
    git(&root, &["worktree", "add", "-q", "-b", "more", "../more"]);
    repository(&root.join("embedded"), "sha1");
    for path in ["embedded", "absent", "link/inner"] {
        add_entry(&root, path);
    }
    std::os::unix::fs::symlink(&other, root.join("link")).unwrap();
    fs::create_dir(root.join("hooks-here")).unwrap();
    git(&root, &["config", "core.hooksPath", "hooks-here"]);
    git(&root, &["config", "include.path", "../more-settings"]);
    let found = survey(&root.join(".git"));
    let read_only = names(&root, &found.read_only);
    for expected in [
        ".git/modules/lib/sub/config",
        ".git/modules/lib/sub/hooks",
        ".git/modules/lib/sub/commondir",
        ".git/worktrees/more/commondir",
        ".git/worktrees/more/gitdir",
        "embedded/.git/config",
        "hooks-here",
        "lib/sub/.git",
    ] {
        assert!(
            read_only.contains(&expected.to_owned()),
            "{expected}: {read_only:?}"
        );
    }
    assert_eq!(
        names(&root, &found.unwanted),
        ["absent/.git", "more-settings"]
    );
    assert_eq!(
        names(&root, &found.submodules),
        ["embedded/.git", "lib/sub/.git"]
    );
    let placeholders: Vec<&Path> = found
        .placeholders
        .iter()
        .map(|p| p.path.as_path())
        .collect();
    assert!(placeholders.contains(&root.join("embedded/.git/commondir").as_path()));
}

/// None of these may keep the caller waiting, use up its memory, or make the sandbox impossible.
#[test]
fn files_that_are_no_files_are_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    repository(&root, "sha1");
    add_entry(&root, "sub");
    let dot = root.join(".git");
    fs::create_dir(root.join("sub")).unwrap();
    let pipe = |path: &Path| nix::unistd::mkfifo(path, nix::sys::stat::Mode::S_IRWXU).unwrap();
    pipe(&root.join("sub/.git"));
    let found = survey(&dot);
    assert_eq!(names(&root, &found.submodules), ["sub/.git"]);
    for name in ["index", "config"] {
        fs::remove_file(dot.join(name)).unwrap();
    }
    pipe(&dot.join("config"));
    std::os::unix::fs::symlink("/dev/zero", dot.join("index")).unwrap();
    std::os::unix::fs::symlink("/", dot.join("modules")).unwrap();
    let found = survey(&dot);
    assert!(
        found.read_only.is_empty() && found.placeholders.is_empty(),
        "{found:?}"
    );
    fs::remove_file(dot.join("index")).unwrap();
    let index = fs::File::create(dot.join("index")).unwrap();
    index.set_len(LONGEST_INDEX + 1).unwrap();
    assert_eq!(names(&root, &survey(&dot).submodules), [".git/index"]);
}

#[test]
fn repositories_that_a_command_has_multiplied_are_protected_as_a_whole() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    repository(&root, "sha1");
    let git = root.join(".git");
    let few = |count: usize| {
        for number in 0..count {
            let module = git.join(format!("modules/{number}"));
            fs::create_dir_all(&module).unwrap();
            fs::write(module.join("HEAD"), "").unwrap();
        }
        survey(&git)
    };
    let found = few(3);
    assert!(found.read_only.contains(&git.join("modules/2/config")));
    assert_eq!(found.placeholders.len(), 9);
    let found = few(MOST_REPOSITORIES + 1);
    assert!(found.read_only.contains(&git.join("modules")));
    assert!(found.read_only.len() < 10, "{:?}", found.read_only);
    assert_eq!(found.placeholders, []);
}
