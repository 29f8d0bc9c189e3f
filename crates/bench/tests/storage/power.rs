//! Power cuts: a disk image whose file system forgets all that was not synced.

use crate::support::{TestTeam, is_long};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use teamdir::{MemberSession, Options, WatchChoice};
use test_support::{LoopDisk, Rng, Worker, report_skip, try_wait_for, wait_until};

/// How long the lines may take on a machine that is busy with other tests.
const LIMIT: Duration = Duration::from_secs(60);

type Ids = BTreeSet<String>;

#[test]
fn inv_03_power_cuts_lose_and_repeat_no_acknowledged_message() {
    let mut disk = match LoopDisk::ext4() {
        Ok(disk) => disk,
        Err(reason) => return report_skip("power cuts", reason),
    };
    let mut rng = Rng::new(5);
    let mut acknowledged = Ids::new();
    for cut in 0..if is_long() { 500 } else { 100 } {
        let lines = usize::try_from(rng.below(60)).unwrap();
        let pause = Duration::from_micros(rng.below(10_000));
        let moment = Moment { lines, pause };
        acknowledged.extend(work_until_the_power_goes(&mut disk, cut, (3, moment)));
    }
    assert_kept(&disk, &acknowledged);
    assert!(acknowledged.len() > 1_000, "the cuts came before any mail");
}

/// So many writers that most of them rely on the sync of another.
#[test]
fn inv_03_power_cuts_lose_no_message_that_another_sender_has_synced() {
    let mut disk = match LoopDisk::ext4() {
        Ok(disk) => disk,
        Err(reason) => return report_skip("power cuts", reason),
    };
    let mut rng = Rng::new(6);
    let mut acknowledged = Ids::new();
    for cut in 0..if is_long() { 200 } else { 30 } {
        let moment = Moment {
            lines: usize::try_from(100 + rng.below(200)).unwrap(),
            pause: Duration::from_micros(rng.below(10_000)),
        };
        acknowledged.extend(work_until_the_power_goes(&mut disk, cut, (12, moment)));
    }
    assert_kept(&disk, &acknowledged);
    assert!(acknowledged.len() > 3_000, "the cuts came before any mail");
}

/// Each acknowledged message is in the journal once.
fn assert_kept(disk: &LoopDisk, acknowledged: &Ids) {
    let team = TestTeam::at(&disk.path(), Options::default());
    let mut session = MemberSession::open(&team.team, &team.alice, WatchChoice::Auto).unwrap();
    while session.next(Some(Instant::now())).unwrap().is_some() {}
    drop(session);
    let journal = team.journal();
    let distinct: Ids = journal.iter().cloned().collect();
    assert_eq!(journal.len(), distinct.len(), "some mail was repeated");
    let lost: Vec<_> = acknowledged.difference(&distinct).collect();
    let (lost_count, count) = (lost.len(), acknowledged.len());
    assert!(lost.is_empty(), "{lost_count} of {count} lost: {lost:?}");
    assert_eq!(team.team.roster().unwrap().members.len(), 4);
}

/// When the power goes: after so many acknowledged lines, however busy the machine is, and a pause.
struct Moment {
    lines: usize,
    pause: Duration,
}

/// Writers and a reader at work, then the cut. Returns what was acknowledged before it.
fn work_until_the_power_goes(
    disk: &mut LoopDisk,
    cut: u32,
    (writers, moment): (u32, Moment),
) -> Ids {
    let team = TestTeam::at(&disk.path(), Options::default());
    let mut writers: Vec<(String, Worker)> = (0..writers)
        .map(|n| {
            let from = format!("c{cut}w{n}");
            let args = ["write", "--from", &from, "--to", "alice", "--end", "100000"];
            let writer = team.start_quietly(&[&args[..], &["--sync"]].concat());
            (from, writer)
        })
        .collect();
    let reader = ["read", "--name", "alice", "--print", "--sync"];
    let eager = ["--seal-after-ms", "5", "--grace-ms", "20"];
    let later: &[&str] = if cut.is_multiple_of(2) {
        &["--sync-later"]
    } else {
        &[]
    };
    let mut reader = team.start_quietly(&[&reader[..], &eager, later].concat());
    wait_until("acknowledged lines", LIMIT, || {
        let counts = writers.iter_mut().map(|(_, w)| w.lines_so_far().len());
        counts.sum::<usize>() >= moment.lines
    });
    let _ = try_wait_for(moment.pause, || None::<()>);
    // Only what was acknowledged or shown before the cut counts: a sync that is under way while
    // the disk goes may report success.
    let mut acknowledged = Ids::new();
    for (from, writer) in &mut writers {
        let lines = writer.lines_so_far().iter();
        acknowledged.extend(lines.map(|line| format!("{from}-{line}")));
    }
    let shown: Ids = reader.lines_so_far().iter().skip(1).cloned().collect();
    disk.cut().unwrap();
    reader.kill9();
    for (_, writer) in &mut writers {
        writer.kill9();
    }
    disk.remount().unwrap();
    // What was shown must not be forgotten, or it would be shown again (invariant 2).
    let team = TestTeam::at(&disk.path(), Options::default());
    let journal: Ids = team.journal().into_iter().collect();
    let forgotten: Vec<_> = shown.difference(&journal).collect();
    assert!(forgotten.is_empty(), "shown, then forgotten: {forgotten:?}");
    acknowledged
}
