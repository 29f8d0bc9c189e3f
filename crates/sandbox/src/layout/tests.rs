use super::*;

fn wanted(root: &Path) -> Description {
    Description {
        writable: vec![root.to_owned()],
        ..Description::new(root)
    }
}

fn targets(mounts: &[Mount], kind: impl Fn(&Mount) -> bool) -> Vec<String> {
    let found = mounts.iter().filter(|mount| kind(mount));
    let found = found.map(|mount| mount.target().to_string_lossy().into_owned());
    found.collect()
}

#[test]
fn parents_come_first_and_the_way_to_a_protected_file_is_pinned() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    fs::create_dir_all(root.join("a/b")).unwrap();
    fs::write(root.join("a/b/c"), "").unwrap();
    let mut wanted = wanted(&root);
    wanted.read_only = vec![root.join("a/b/c"), root.join("missing")];
    let mounts = mounts(&wanted).unwrap();
    let again = targets(&mounts, |mount| matches!(mount, Mount::Again { .. }));
    let expected = ["a", "a/b", "a/b/c"].map(|name| {
        let path = root.join(name);
        path.strip_prefix("/").unwrap().to_str().unwrap().to_owned()
    });
    assert_eq!(again, expected);
    let all = targets(&mounts, |_| true);
    let at = |name: &str| all.iter().position(|target| target == name);
    assert!(at("tmp") < at(&expected[0]), "{all:?}");
}

#[test]
fn what_lies_in_a_readable_folder_needs_no_mount_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    fs::create_dir_all(root.join("a/b")).unwrap();
    let mut wanted = wanted(&root);
    wanted.writable = Vec::new();
    wanted.readable = vec![root.join("a"), root.join("a/b")];
    wanted.hidden = vec![root.join("a/b")];
    let mounts = mounts(&wanted).unwrap();
    let name = |name: &str| {
        root.join(name)
            .strip_prefix("/")
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned()
    };
    let trees = targets(&mounts, |mount| matches!(mount, Mount::Tree { .. }));
    assert!(trees.contains(&name("a")) && !trees.contains(&name("a/b")));
    let covers = targets(&mounts, |mount| matches!(mount, Mount::Cover(_)));
    assert_eq!(covers, [name("a/b")]);
}

#[test]
fn a_link_is_made_anew_and_its_target_mounted() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    fs::create_dir(root.join("real")).unwrap();
    std::os::unix::fs::symlink("real", root.join("link")).unwrap();
    let mut wanted = wanted(&root);
    wanted.writable = Vec::new();
    wanted.readable = vec![root.join("link")];
    let mounts = mounts(&wanted).unwrap();
    let is_link =
        |mount: &Mount| matches!(mount, Mount::Link { to, .. } if to.as_c_str() == c"real");
    assert_eq!(targets(&mounts, is_link).len(), 1);
    let trees = targets(&mounts, |mount| matches!(mount, Mount::Tree { .. }));
    assert!(trees.iter().any(|target| target.ends_with("/real")));
}

#[test]
fn the_root_and_missing_folders_cannot_be_writable() {
    let root = mounts(&wanted(Path::new("/")));
    assert!(matches!(root, Err(PrepareError::Root(_))), "{root:?}");
    let missing = mounts(&wanted(Path::new("/missing/folder")));
    assert!(
        matches!(missing, Err(PrepareError::Path { .. })),
        "{missing:?}"
    );
}
