//! What another host has sent does not fit on the disk of this one.

use crate::stranger::{Sent, Stranger};
use crate::support::{World, agent};
use git::GitError;
use integration::{Integration, IntegrationError};
use protocol::{BundleName, CommitId, Submission, SubmissionStatus, Timestamp, TreeFrame};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use teamdir::{RosterError, SubmissionError, now};
use test_support::{SmallDisk, commit_all, report_skip};

/// A host on a disk that has no room for a large bundle, and another host.
struct Full {
    world: World,
    stranger: Stranger,
    /// What fills the disk.
    filler: PathBuf,
    _disk: SmallDisk,
}

impl Full {
    fn new(test: &str) -> Option<Self> {
        let disk = match SmallDisk::tmpfs(24 << 20) {
            Ok(disk) => disk,
            Err(skip) => {
                report_skip(test, skip);
                return None;
            }
        };
        let folder = disk.path().join("team");
        fs::create_dir(&folder).unwrap();
        let world = World::at(&folder);
        Some(Self {
            stranger: Stranger::of(&world),
            filler: disk.path().join("filler"),
            world,
            _disk: disk,
        })
    }

    /// Stores a bundle of three megabytes that do not get smaller, and fills the disk but for one.
    fn deliver(&self, sent: &Sent) {
        self.stranger.deliver(&self.world, sent, usize::MAX);
        fill(&self.filler, 1 << 20);
    }

    fn exchange(&self) -> Result<bool, IntegrationError> {
        self.world.trees().exchange()
    }

    /// The pause until the next try is over.
    fn end_pause(&self, name: BundleName) {
        let (team, host) = (self.world.team(), &self.stranger.host);
        let mut tries = team.bundle_tries(host, name).unwrap();
        tries.last = Timestamp::from_secs(0);
        let guard = team.try_integrate().unwrap().unwrap();
        team.put_bundle_tries(&guard, host, &tries).unwrap();
    }

    fn problem(&self) -> String {
        let problem = self.world.team().main_problem(&self.stranger.host);
        problem.unwrap_or_default()
    }
}

fn fill(path: &Path, left: u64) {
    let mut file = File::create(path).unwrap();
    while file.write_all(&[b'x'; 4096]).is_ok() {}
    let size = file.metadata().unwrap().len();
    file.set_len(size.saturating_sub(left)).unwrap();
}

const NOISE: &str = "head -c 3000000 /dev/urandom > noise";

fn assert_no_room(exchanged: Result<bool, IntegrationError>) {
    let error = exchanged.unwrap_err();
    let is_it = matches!(&error, IntegrationError::Git(GitError::NoRoom { .. }));
    assert!(is_it, "{error:?}");
}

#[test]
fn work_that_finds_no_room_is_tried_again_and_refused_in_the_end() {
    let Some(mut full) = Full::new("work on a full disk") else {
        return;
    };
    let commit = full.stranger.commit(NOISE);
    let sent = full.stranger.bundle(&commit);
    full.deliver(&sent);
    assert_no_room(full.exchange());
    // It is left alone for a while, at no cost.
    assert!(!Integration::is_queue_due(full.world.team()));
    assert!(full.exchange().unwrap());
    assert_eq!(full.stranger.waiting(&full.world).len(), 1);
    fs::remove_file(&full.filler).unwrap();
    full.end_pause(sent.head.name);
    assert!(Integration::is_queue_due(full.world.team()));
    assert_eq!(full.world.integrate(), [(1, SubmissionStatus::Merged)]);
    assert_eq!(full.stranger.waiting(&full.world), []);
    full.stranger.said(&full.world);
    // The next one finds no room at all three times.
    let commit = full.stranger.commit(NOISE);
    let sent = full.stranger.bundle(&commit);
    full.deliver(&sent);
    for _ in 0..2 {
        assert_no_room(full.exchange());
        full.end_pause(sent.head.name);
    }
    assert!(full.exchange().unwrap());
    let states = full.stranger.states(&full.world);
    let [(2, SubmissionStatus::Failed, reason)] = states.as_slice() else {
        panic!("{states:?}");
    };
    assert!(reason.contains("in 3 tries"), "{reason}");
    assert!(reason.contains("No space left on device"), "{reason}");
    assert_eq!(full.stranger.waiting(&full.world), []);
}

/// The other host is the home of the queue.
fn follow(full: &Full) {
    let followed = full.world.team().update_roster(|roster| {
        roster.lead_host = Some(full.stranger.host.clone());
        Ok::<_, RosterError>(())
    });
    followed.unwrap();
}

#[test]
fn a_team_main_that_found_no_room_is_followed_when_there_is_some() {
    let Some(full) = Full::new("team/main on a full disk") else {
        return;
    };
    follow(&full);
    let commit = full.stranger.commit(NOISE);
    let sent = full.stranger.bundle_as(BundleName::Main, &commit, None);
    full.deliver(&sent);
    for _ in 0..4 {
        assert_no_room(full.exchange());
        assert!(full.problem().contains("could not be taken yet"));
        assert!(!Integration::is_queue_due(full.world.team()));
        // What happens meanwhile does not make people believe that it was.
        assert!(full.exchange().unwrap());
        assert!(full.problem().contains("could not be taken yet"));
        full.end_pause(BundleName::Main);
    }
    fs::remove_file(&full.filler).unwrap();
    assert!(full.exchange().unwrap());
    assert_eq!(full.problem(), "");
    let main = full.world.git(["rev-parse", "refs/heads/team/main"]);
    assert_eq!(main.trim(), commit.as_str());
    assert_eq!(full.stranger.waiting(&full.world), []);
}

#[test]
fn work_whose_bundle_finds_no_room_stays_in_the_queue_of_its_author() {
    let Some(full) = Full::new("a bundle on a full disk") else {
        return;
    };
    let world = &full.world;
    world.git(["update-ref", "refs/heads/team/main", "HEAD"]);
    let mut noise = std::process::Command::new("sh");
    noise.args(["-c", NOISE]).current_dir(world.folder());
    assert!(noise.status().unwrap().success());
    commit_all(world.folder(), "noise");
    world.git(["update-ref", "refs/team/submissions/1", "HEAD"]);
    let commit = CommitId::new(world.git(["rev-parse", "HEAD"]).trim()).unwrap();
    let made = world.team().create_submission(|id| {
        Ok::<_, SubmissionError>(Submission::new(id, agent("bob"), commit, now()))
    });
    made.unwrap();
    follow(&full);
    fill(&full.filler, 1 << 20);
    assert_no_room(full.exchange());
    assert_eq!(world.submission(1).status, SubmissionStatus::Submitted);
    fs::remove_file(&full.filler).unwrap();
    assert!(full.exchange().unwrap());
    let offered = world.team().outgoing(&full.stranger.host).unwrap();
    assert_eq!(offered.len(), 1);
}

#[test]
fn a_team_main_that_is_damaged_is_asked_for_once_and_said() {
    let Some(full) = Full::new("a damaged team/main") else {
        return;
    };
    follow(&full);
    let commit = full.stranger.commit("echo b > b");
    let mut sent = full.stranger.bundle_as(BundleName::Main, &commit, None);
    let last = sent.bytes.len() - 1;
    sent.bytes[last] ^= 1;
    for is_whole in [false, true] {
        sent.head.whole = is_whole;
        full.stranger.deliver(&full.world, &sent, usize::MAX);
        assert!(full.exchange().unwrap() && full.exchange().unwrap());
        let asked = full.stranger.said(&full.world);
        let is_asked = |note: &TreeFrame| matches!(note, TreeFrame::Again(again) if again.whole);
        assert_eq!(asked.iter().any(is_asked), !is_whole, "{asked:?}");
        assert!(
            full.problem().contains("was not taken"),
            "{}",
            full.problem()
        );
        full.end_pause(BundleName::Main);
    }
    sent.bytes[last] ^= 1;
    full.stranger.deliver(&full.world, &sent, usize::MAX);
    assert!(full.exchange().unwrap());
    assert_eq!(full.problem(), "");
    let main = full.world.git(["rev-parse", "refs/heads/team/main"]);
    assert_eq!(main.trim(), commit.as_str());
}

#[test]
fn a_host_that_has_taken_nothing_for_long_is_offered_the_newer_team_main() {
    let world = World::new(&["alice"]);
    let stranger = Stranger::of(&world);
    let (team, host) = (world.team(), &stranger.host);
    let merge = |file: &str| {
        world.commit("alice", file, "a\n");
        world.submit("alice");
        world.integrate();
        world
            .git(["rev-parse", "refs/heads/team/main"])
            .trim()
            .to_owned()
    };
    let begin = protocol::HaveCommits {
        commits: vec![stranger.begin.clone()],
    };
    let guard = team.try_integrate().unwrap().unwrap();
    team.put_told_commits(&guard, host, &begin).unwrap();
    drop(guard);
    let offered = || {
        let head = team.outgoing_head(host, BundleName::Main).unwrap();
        head.commit.to_string()
    };
    let first = merge("a.txt");
    assert_eq!(offered(), first);
    let second = merge("b.txt");
    assert_eq!(offered(), first, "it is waited for");
    assert!(!world.trees().is_following_due().unwrap());
    let path = team.layout().bundles_out(host).join("main.json");
    let file = File::options().append(true).open(path).unwrap();
    let hour = Duration::from_secs(3600);
    file.set_modified(SystemTime::now() - hour).unwrap();
    assert!(world.trees().is_following_due().unwrap());
    assert!(world.trees().exchange().unwrap());
    assert_eq!(offered(), second);
}
