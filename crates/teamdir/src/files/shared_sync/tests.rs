use super::*;
use proptest::prelude::*;
use std::io::Write;
use std::path::PathBuf;
use tempfile::TempDir;

/// An inbox with its mark.
struct Fixture {
    folder: TempDir,
    inbox: File,
    path: PathBuf,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("inbox");
        let mut options = File::options();
        options.create(true).read(true).append(true);
        let inbox = options.open(&path).unwrap();
        Self {
            folder,
            inbox,
            path,
        }
    }

    fn mark_path(&self) -> PathBuf {
        self.folder.path().join("mark")
    }

    fn mark(&self) -> SharedSync {
        SharedSync::open(&self.mark_path()).unwrap()
    }

    fn id(&self) -> SyncedFile {
        SyncedFile::of(&self.inbox.metadata().unwrap())
    }

    /// Appends a line of ten bytes.
    fn append(&mut self, mark: &SharedSync) -> Appended<'_> {
        let (id, before) = (self.id(), mark.read());
        self.inbox.write_all(b"123456789\n").unwrap();
        let end = self.inbox.metadata().unwrap().len();
        Appended {
            file: &self.inbox,
            id,
            start: end - 10,
            end,
            before,
            folder: Some(self.folder.path()),
            path: &self.path,
        }
    }
}

#[test]
fn a_leader_publishes_what_it_has_synced_for_all() {
    let mut fixture = Fixture::new();
    let mark = fixture.mark();
    fixture.append(&mark);
    let line = fixture.append(&mark);
    mark.sync(&line).unwrap();
    assert_eq!(mark.read().synced_of(line.id), Some(20));
    assert!(line.is_synced(&mark.read()));
    // Of a line behind that it says nothing.
    let line = fixture.append(&mark);
    assert!(!line.is_synced(&mark.read()));
}

#[test]
fn a_follower_returns_as_soon_as_its_leader_has_published() {
    let mut fixture = Fixture::new();
    let (leader, follower) = (fixture.mark(), fixture.mark());
    let line = fixture.append(&follower);
    let lead = leader.try_lead().unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(move || {
            follower.sync(&line).unwrap();
            // The lock is still held: it has neither led nor lost its patience.
            follower.stopped_at.get()
        });
        leader.publish(line.id, line.end);
        let _ = leader.mark.write_all_at(&new_word().to_ne_bytes(), 0);
        leader.word.wake_all();
        assert_eq!(waiting.join().unwrap(), None);
    });
    drop(lead);
}

#[test]
fn a_leader_of_a_file_that_was_set_aside_publishes_nothing() {
    let mut fixture = Fixture::new();
    let mark = fixture.mark();
    let line = fixture.append(&mark);
    assert_eq!(mark.sync(&line).unwrap(), Name::Kept);
    std::fs::rename(&fixture.path, fixture.folder.path().join("aside")).unwrap();
    let line = fixture.append(&mark);
    assert_eq!(mark.sync(&line).unwrap(), Name::Unknown);
    // Another one has the name now.
    std::fs::write(&fixture.path, "").unwrap();
    let line = fixture.append(&mark);
    assert_eq!(mark.sync(&line).unwrap(), Name::Unknown);
    assert_eq!(mark.read().synced_of(line.id), Some(10));
}

#[test]
fn a_stopped_leader_is_waited_for_once() {
    let mut fixture = Fixture::new();
    let (leader, follower) = (fixture.mark(), fixture.mark());
    let lead = leader.try_lead().unwrap();
    let began = Instant::now();
    let line = fixture.append(&follower);
    follower.sync(&line).unwrap();
    assert!(began.elapsed() >= PATIENCE);
    assert!(follower.stopped_at.get().is_some());
    let line = fixture.append(&follower);
    follower.sync(&line).unwrap();
    assert_eq!(
        follower.read().synced_of(line.id),
        None,
        "it does not lead, so it does not publish"
    );
    // Syncs are shared again as soon as the leader goes on.
    drop(lead);
    let line = fixture.append(&follower);
    follower.sync(&line).unwrap();
    assert_eq!(follower.read().synced_of(line.id), Some(30));
    assert_eq!(follower.stopped_at.get(), None);
}

#[test]
fn a_leader_that_was_killed_while_it_led_is_followed_by_the_next() {
    let mut fixture = Fixture::new();
    let (leader, follower) = (fixture.mark(), fixture.mark());
    let word = new_word() | LED;
    // The kernel has freed the lock of the dead.
    leader.write_word(word);
    let line = fixture.append(&follower);
    follower.sync(&line).unwrap();
    assert_eq!(
        follower.read().synced_of(line.id),
        Some(line.end),
        "it has led"
    );
    assert_eq!(follower.stopped_at.get(), None);
    assert!(!follower.read().is_led());
}

#[test]
fn a_leader_that_expects_followers_says_that_it_leads() {
    let mut fixture = Fixture::new();
    let (leader, follower) = (fixture.mark(), fixture.mark());
    let lead = leader.try_lead().unwrap();
    leader.write_word(new_word() | LED);
    let line = fixture.append(&follower);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(move || {
            follower.sync(&line).unwrap();
            follower.stopped_at.get()
        });
        leader.publish(line.id, line.end);
        leader.write_word(new_word() & !LED);
        leader.word.wake_all();
        assert_eq!(waiting.join().unwrap(), None);
    });
    drop(lead);
}

#[test]
fn a_mark_from_before_the_write_proves_nothing() {
    let mut fixture = Fixture::new();
    let mark = fixture.mark();
    // As after a power cut that took more of the inbox than of the mark.
    mark.publish(fixture.id(), 1_000);
    let line = fixture.append(&mark);
    assert_eq!(line.before.synced_of(line.id), Some(1_000));
    assert!(!line.is_synced(&mark.read()));
    assert!(line.with(&mark.read()).folder.is_some());
    mark.sync(&line).unwrap();
    assert_eq!(
        mark.read().synced_of(line.id),
        Some(10),
        "its sender has led"
    );
}

#[test]
fn only_a_file_that_the_mark_names_has_a_name_that_lasts() {
    let mut fixture = Fixture::new();
    let mark = fixture.mark();
    let line = fixture.append(&mark);
    assert!(line.with(&mark.read()).folder.is_some());
    mark.begin(line.id);
    assert!(line.with(&mark.read()).folder.is_none());
    let other = SyncedFile {
        born: line.id.born + 1,
        ..line.id
    };
    mark.begin(other);
    assert!(line.with(&mark.read()).folder.is_some());
}

#[test]
fn a_damaged_mark_is_no_mark_and_is_mended_by_the_next_leader() {
    let garbage = [0xa5; 3 * LENGTH];
    let damages: [&dyn Fn(&File); 4] = [
        &|mark| mark.set_len(0).unwrap(),
        &|mark| mark.set_len(LENGTH as u64 - 1).unwrap(),
        &|mark| mark.write_all_at(&garbage, 0).unwrap(),
        &|mark| mark.set_len(1 << 30).unwrap(),
    ];
    for damage in damages {
        let mut fixture = Fixture::new();
        let mark = fixture.mark();
        let line = fixture.append(&mark);
        mark.sync(&line).unwrap();
        let by_others = File::options().write(true).open(fixture.mark_path());
        damage(&by_others.unwrap());
        let line = fixture.append(&mark);
        mark.sync(&line).unwrap();
        assert_eq!(mark.read().synced_of(line.id), Some(20));
        // Those who wait where nobody can wait sync alone.
        let other = fixture.mark();
        let lead = other.try_lead().unwrap();
        damage(&mark.mark);
        let line = fixture.append(&mark);
        mark.sync(&line).unwrap();
        drop(lead);
    }
}

#[test]
fn what_is_no_file_is_refused_and_never_waited_for() {
    let fixture = Fixture::new();
    let path = fixture.mark_path();
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
    SharedSync::open(&path).unwrap_err();
    std::fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink(fixture.folder.path().join("inbox"), &path).unwrap();
    SharedSync::open(&path).unwrap_err();
}

proptest! {
    /// A mark that is a mixture of two, or was changed by chance, names no file.
    #[test]
    fn a_mixed_mark_names_nothing(
        one in any::<[u64; 4]>(),
        other in any::<[u64; 4]>(),
        cut in 1..LENGTH - NUMBERS,
    ) {
        let encode = |[device, inode, born, size]: [u64; 4]| {
            Mark::encode(SyncedFile { device, inode, born }, size)
        };
        let (one, other) = (encode(one), encode(other));
        let mut bytes = [0; LENGTH];
        bytes[NUMBERS..].copy_from_slice(&one);
        prop_assert!(Mark::decode(&bytes).synced.is_some());
        bytes[NUMBERS..][cut..].copy_from_slice(&other[cut..]);
        let is_one = bytes[NUMBERS..] == one || bytes[NUMBERS..] == other;
        prop_assert_eq!(Mark::decode(&bytes).synced.is_some(), is_one);
    }
}
