use super::*;
use crate::{Options, TeamDir};
use protocol::Recipient;
use std::io::Write;
use tokio::time::timeout;

const LIMIT: Duration = Duration::from_secs(30);
const QUIET: Duration = Duration::from_millis(300);

fn append(path: &Path) {
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.create(true).append(true).open(path).unwrap();
    file.write_all(b"line\n").unwrap();
}

/// Waits until nothing changes any more.
fn settle(watcher: &mut Watcher) {
    while watcher.wait(Some(Instant::now() + QUIET)) {}
}

fn soon() -> Option<Instant> {
    Some(Instant::now() + LIMIT)
}

#[test]
fn a_write_wakes_in_both_modes_and_reading_does_not() {
    for choice in [WatchChoice::Auto, WatchChoice::Poll] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        append(&path);
        let mut watcher = Watcher::new(dir.path(), choice);
        watcher.watch_file(&path);
        std::fs::read(&path).unwrap();
        assert!(!watcher.wait(Some(Instant::now() + QUIET)), "{choice:?}");
        append(&path);
        assert!(watcher.wait(soon()), "{choice:?}");
        settle(&mut watcher);
        watcher.unwatch(&path);
        append(&path);
        assert!(!watcher.wait(Some(Instant::now() + QUIET)), "{choice:?}");
    }
}

#[test]
fn a_path_that_names_another_file_is_watched_anew() {
    for choice in [WatchChoice::Auto, WatchChoice::Poll] {
        let dir = tempfile::tempdir().unwrap();
        let (path, moved) = (dir.path().join("f"), dir.path().join("g"));
        append(&path);
        let mut watcher = Watcher::new(dir.path(), choice);
        watcher.watch_file(&path);
        std::fs::rename(&path, &moved).unwrap();
        assert!(watcher.wait(soon()), "{choice:?}");
        append(&path);
        watcher.watch_file(&path);
        settle(&mut watcher);
        append(&path);
        assert!(watcher.wait(soon()), "{choice:?}: the new file");
        settle(&mut watcher);
        // The old file is somebody else's now.
        append(&moved);
        std::fs::remove_file(&moved).unwrap();
        settle(&mut watcher);
        append(&path);
        assert!(watcher.wait(soon()), "{choice:?}: after the old one went");
        settle(&mut watcher);
        // Away and back again: the same file under the same name.
        std::fs::rename(&path, &moved).unwrap();
        std::fs::rename(&moved, &path).unwrap();
        watcher.watch_file(&path);
        settle(&mut watcher);
        watcher.watch_file(&path);
        append(&path);
        assert!(watcher.wait(soon()), "{choice:?}: away and back");
    }
}

#[test]
fn a_folder_reports_names_and_not_what_is_written_to_its_files() {
    let dir = tempfile::tempdir().unwrap();
    let (old, new) = (dir.path().join("f"), dir.path().join("g"));
    append(&old);
    let mut watcher = Watcher::new(dir.path(), WatchChoice::Auto);
    watcher.watch_folder(dir.path());
    if watcher.mode() == WatchMode::Notified {
        append(&old);
        assert!(!watcher.wait(Some(Instant::now() + QUIET)));
    }
    append(&new);
    assert!(watcher.wait(soon()), "created");
    settle(&mut watcher);
    std::fs::rename(&new, &old).unwrap();
    assert!(watcher.wait(soon()), "replaced");
    settle(&mut watcher);
    std::fs::remove_file(&old).unwrap();
    assert!(watcher.wait(soon()), "removed");
}

#[tokio::test]
async fn a_change_wakes_a_task_also_if_it_came_before_the_wait() {
    for choice in [WatchChoice::Auto, WatchChoice::Poll] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        append(&path);
        let mut watcher = Watcher::new(dir.path(), choice);
        let changes = watcher.changes();
        watcher.watch_file(&path);
        append(&path);
        timeout(LIMIT, changes.changed()).await.unwrap();
        while timeout(QUIET, changes.changed()).await.is_ok() {}
        let waiting = async { timeout(LIMIT, changes.changed()).await.unwrap() };
        let writing = async {
            // The other future waits by then.
            tokio::task::yield_now().await;
            append(&path);
        };
        tokio::join!(waiting, writing);
    }
}

#[tokio::test]
async fn the_end_of_the_folder_is_noticed_in_both_modes() {
    for choice in [WatchChoice::Auto, WatchChoice::Poll] {
        for how in ["removed", "moved", "replaced"] {
            let dir = tempfile::tempdir().unwrap();
            let team = TeamDir::create(dir.path(), "t", Options::default()).unwrap();
            let _guard = team.join(&Recipient::Lead).unwrap();
            let mut watcher = Watcher::new(&team.layout().inbox_dir(), choice);
            let folder = watcher.watch_team_folder(&team, &Recipient::Lead);
            let quiet = timeout(Duration::from_millis(700), folder.gone()).await;
            assert!(quiet.is_err(), "{choice:?} {how}: nothing happened yet");
            // Neither the person's files nor the team's concern the folder or the watched files.
            append(&dir.path().join("notes.txt"));
            std::fs::rename(dir.path().join("notes.txt"), dir.path().join("n")).unwrap();
            team.update_roster(|_| Ok::<_, crate::RosterError>(()))
                .unwrap();
            if watcher.mode() == WatchMode::Notified {
                let quiet = timeout(QUIET, folder.changes().changed()).await;
                assert!(quiet.is_err(), "{how}: woken by something else");
                assert!(!watcher.check(), "{how}: no watched file changed");
            }
            let (root, other) = (team.layout().root(), dir.path().join("other"));
            match how {
                "removed" => std::fs::remove_dir_all(root).unwrap(),
                "moved" => std::fs::rename(root, other).unwrap(),
                _ => {
                    std::fs::rename(root, other).unwrap();
                    TeamDir::create(dir.path(), "t", Options::default()).unwrap();
                }
            }
            let noticed = timeout(Duration::from_secs(5), folder.gone()).await;
            assert!(noticed.is_ok(), "{choice:?} {how}");
        }
    }
}

#[test]
fn a_replaced_file_wakes_when_it_is_in_its_place_and_not_before() {
    let dir = tempfile::tempdir().unwrap();
    let mut watcher = Watcher::new(dir.path(), WatchChoice::Auto);
    watcher.watch_folder(dir.path());
    let (temporary, path) = (
        dir.path().join(".f.json.7-0.tmp"),
        dir.path().join("f.json"),
    );
    assert!(atomic::is_temporary(&temporary) && !atomic::is_temporary(&path));
    append(&temporary);
    assert!(!watcher.wait(Some(Instant::now() + QUIET)));
    std::fs::rename(&temporary, &path).unwrap();
    assert!(watcher.wait(soon()));
    settle(&mut watcher);
    atomic::replace(&path, b"new", crate::Durability::ProcessDeath).unwrap();
    assert!(watcher.wait(soon()));
}

/// The thread that receives notifications rests in between, because nobody looks for a while.
#[test]
fn the_last_of_many_writes_wakes_too() {
    const WRITES: u64 = 3000;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("f");
    append(&path);
    let mut watcher = Watcher::new(dir.path(), WatchChoice::Auto);
    watcher.watch_file(&path);
    let size = || std::fs::metadata(&path).unwrap().len();
    let line = size();
    std::thread::scope(|scope| {
        scope.spawn(|| (0..WRITES).for_each(|_| append(&path)));
        while size() < (1 + WRITES) * line {
            assert!(watcher.wait(soon()), "{} bytes", size());
        }
    });
}
