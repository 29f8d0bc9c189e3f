//! Everything that can stand in the place of a file.

use super::*;
use nix::fcntl::AT_FDCWD;
use nix::unistd::mkfifo;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;

const LIMIT: u64 = 1 << 20;

/// A folder whose own path has no link in it.
struct Place {
    _temp: tempfile::TempDir,
    root: PathBuf,
}

impl Place {
    fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        Self { _temp: temp, root }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        path
    }
}

fn refusal(result: Result<impl std::fmt::Debug, OpenError>) -> Refusal {
    let error = result.unwrap_err();
    let refusal = error.refusal().cloned();
    refusal.unwrap_or_else(|| panic!("not a refusal: {error}"))
}

/// The three ways to open an existing file.
fn ways(links: Links) -> [Options; 3] {
    [
        Options::read(links),
        Options::write(links),
        Options::append(links).create(),
    ]
}

#[test]
fn a_regular_file_is_read_with_its_owner() {
    let place = Place::new();
    let path = place.file("a", "text");
    for links in [Links::Refuse, Links::Follow] {
        let contents = read(&path, links, LIMIT).unwrap();
        assert_eq!(contents.bytes, b"text");
        assert_eq!(contents.owner(), fs::metadata("/proc/self").unwrap().uid());
        assert_eq!(read_to_string(&path, links, LIMIT).unwrap(), "text");
        assert_eq!(
            Options::read(links).open(&path).unwrap().owner(),
            contents.owner()
        );
    }
    let missing = read(&place.path("none"), Links::Refuse, LIMIT).unwrap_err();
    assert!(missing.is_not_found(), "{missing}");
}

#[test]
fn what_would_block_or_is_no_file_is_refused_at_once() {
    let place = Place::new();
    mkfifo(&place.path("fifo"), Mode::S_IRWXU).unwrap();
    let _listening = UnixListener::bind(place.path("socket")).unwrap();
    fs::create_dir(place.path("folder")).unwrap();
    let kinds = [
        ("fifo", Kind::Fifo),
        ("socket", Kind::Socket),
        ("folder", Kind::Folder),
    ];
    for links in [Links::Refuse, Links::Follow] {
        for (name, kind) in kinds {
            for way in ways(links) {
                let refused = refusal(way.open(&place.path(name)));
                assert_eq!(refused, Refusal::NotRegular(kind), "{name} {way:?}");
            }
        }
    }
}

#[test]
fn a_link_to_a_device_is_refused_also_where_links_are_followed() {
    let place = Place::new();
    symlink("/dev/zero", place.path("env")).unwrap();
    let path = place.path("env");
    let refused = refusal(read(&path, Links::Follow, LIMIT));
    assert_eq!(refused, Refusal::NotRegular(Kind::Device));
    let refused = refusal(read(&path, Links::Refuse, LIMIT));
    assert_eq!(refused, Refusal::Link(path));
}

#[test]
fn a_link_at_the_end_or_in_the_middle_is_named() {
    let place = Place::new();
    fs::create_dir(place.path("real")).unwrap();
    place.file("real/a", "text");
    symlink(place.path("real"), place.path("linked")).unwrap();
    symlink("a", place.path("real/to-a")).unwrap();
    symlink(place.path("nowhere"), place.path("dangling")).unwrap();
    for (path, at) in [
        ("linked/a", "linked"),
        ("real/to-a", "real/to-a"),
        ("dangling", "dangling"),
    ] {
        for way in ways(Links::Refuse) {
            let refused = refusal(way.open(&place.path(path)));
            assert_eq!(refused, Refusal::Link(place.path(at)), "{path} {way:?}");
        }
    }
    let created = refusal(
        Options::append(Links::Refuse)
            .create_new()
            .open(&place.path("linked/new")),
    );
    assert_eq!(created, Refusal::Link(place.path("linked")));
    assert!(!place.path("real/new").exists());
    assert!(!place.path("nowhere").exists(), "created through a link");
    let followed = read_to_string(&place.path("linked/to-a"), Links::Follow, LIMIT);
    assert_eq!(followed.unwrap(), "text");
}

/// Where the kernel has no `openat2`, the walk must come to the same result.
#[test]
fn the_walk_decides_as_the_kernel_does() {
    let place = Place::new();
    fs::create_dir(place.path("real")).unwrap();
    place.file("real/a", "text");
    symlink(place.path("real"), place.path("linked")).unwrap();
    symlink("a", place.path("real/to-a")).unwrap();
    symlink(place.path("nowhere"), place.path("dangling")).unwrap();
    mkfifo(&place.path("fifo"), Mode::S_IRWXU).unwrap();
    let names = [
        "real/a",
        "linked/a",
        "real/to-a",
        "dangling",
        "fifo",
        "none",
        "none/a",
        "real/a/b",
        "real/../real/a",
        "real/./a",
        "linked/../real/a",
    ];
    for flags in [OFlag::O_RDONLY, OFlag::O_WRONLY] {
        let flags = flags | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
        for name in names {
            let path = place.path(name);
            let how = nix::fcntl::OpenHow::new()
                .flags(flags)
                .resolve(nix::fcntl::ResolveFlag::RESOLVE_NO_SYMLINKS);
            let kernel = nix::fcntl::openat2(AT_FDCWD, &path, how).map(|_| ());
            let walked = resolve::walk(AT_FDCWD, &path, flags, Mode::empty()).map(|_| ());
            assert_eq!(walked, kernel, "{name} {flags:?}");
        }
    }
}

#[test]
fn a_sparse_file_of_gigabytes_is_refused_by_its_size() {
    let place = Place::new();
    let path = place.file("huge", "");
    let size = 3 << 30;
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(size).unwrap();
    let refused = refusal(read(&path, Links::Refuse, LIMIT));
    assert_eq!(refused, Refusal::TooLarge { size, limit: LIMIT });
    file.set_len(LIMIT).unwrap();
    let contents = read(&path, Links::Refuse, LIMIT).unwrap();
    assert_eq!(contents.bytes.len() as u64, LIMIT);
}

#[test]
fn a_refusal_survives_the_way_through_io_errors() {
    let place = Place::new();
    mkfifo(&place.path("fifo"), Mode::S_IRWXU).unwrap();
    let error = read(&place.path("fifo"), Links::Refuse, LIMIT).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("fifo: it is a FIFO, not a regular file; move it away"),
        "{text}"
    );
    let error = io::Error::from(error);
    assert_eq!(Refusal::of(&error), Some(&Refusal::NotRegular(Kind::Fifo)));
}

#[test]
fn a_file_for_a_child_blocks_again_and_a_new_one_is_private() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let path = place.path("log");
    let opened = Options::append(Links::Refuse)
        .create_new()
        .open(&path)
        .unwrap();
    assert_eq!(opened.metadata.permissions().mode() & 0o777, 0o600);
    let file = opened.for_child().unwrap();
    let flags = OFlag::from_bits_retain(fcntl(&file, FcntlArg::F_GETFL).unwrap());
    assert!(!flags.contains(OFlag::O_NONBLOCK) && flags.contains(OFlag::O_APPEND));
    let error = Options::append(Links::Refuse)
        .create_new()
        .open(&path)
        .unwrap_err();
    assert_eq!(io::Error::from(error).kind(), io::ErrorKind::AlreadyExists);
}

#[test]
fn a_folder_held_open_is_not_exchanged_for_a_link() {
    let place = Place::new();
    for name in ["team", "victim"] {
        fs::create_dir(place.path(name)).unwrap();
        place.file(&format!("{name}/a"), name);
    }
    let folder = Folder::open(&place.path("team"), Links::Refuse).unwrap();
    fs::rename(place.path("team"), place.path("moved")).unwrap();
    symlink(place.path("victim"), place.path("team")).unwrap();
    let (a, b) = (OsStr::new("a"), OsStr::new("b"));
    folder.rename(a, &folder, b).unwrap();
    folder.create_folder(OsStr::new("new")).unwrap();
    let names: Vec<_> = folder
        .list()
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert!(
        names.len() == 2 && names.contains(&b.to_owned()),
        "{names:?}"
    );
    folder.remove_file(b).unwrap();
    assert_eq!(
        fs::read_to_string(place.path("victim/a")).unwrap(),
        "victim"
    );
    assert_eq!(fs::read_dir(place.path("victim")).unwrap().count(), 1);
    let refused = refusal(Folder::open(&place.path("team"), Links::Refuse));
    assert_eq!(refused, Refusal::Link(place.path("team")));
}

#[test]
fn a_tree_is_removed_without_following_its_links() {
    let place = Place::new();
    fs::create_dir_all(place.path("team/outputs/deep/er")).unwrap();
    fs::create_dir(place.path("victim")).unwrap();
    place.file("victim/a", "kept");
    place.file("team/outputs/deep/a", "");
    symlink(place.path("victim"), place.path("team/outputs/deep/link")).unwrap();
    let folder = Folder::open(&place.path("team"), Links::Refuse).unwrap();
    folder.remove_all(OsStr::new("outputs")).unwrap();
    assert!(!place.path("team/outputs").exists());
    assert_eq!(fs::read_to_string(place.path("victim/a")).unwrap(), "kept");
    for name in ["../victim", "..", ".", "", "/"] {
        let error = folder.remove_all(OsStr::new(name)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{name}");
    }
}

#[test]
fn a_second_name_of_a_file_is_refused_on_request() {
    let place = Place::new();
    let path = place.file("a", "text");
    let open = || Options::read(Links::Refuse).open(&path).unwrap();
    open().with_one_name().unwrap();
    fs::hard_link(&path, place.path("b")).unwrap();
    assert_eq!(
        open().with_one_name().unwrap_err(),
        Refusal::SeveralNames(2)
    );
}
