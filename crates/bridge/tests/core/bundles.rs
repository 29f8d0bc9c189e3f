//! Bundles of commits in parts. What is in them does not matter to a bridge.

use super::{cross, hand_over, host, open, pending, two_hosts};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bridge::Core;
use protocol::{
    AgentName, BundleDigest, BundleHead, BundleName, BundlePart, CommitId, Extra, Frame,
    HaveCommits, MAX_BUNDLE_BYTES, MAX_NAMED_COMMITS, MergeConflict, PART_BYTES, Payload,
    Recipient, Submission, SubmissionId, SubmissionStatus, TreeFrame,
};
use std::io::Read;
use teamdir::{SubmissionError, TeamDir, now};

fn digest(digit: char) -> BundleDigest {
    BundleDigest::new(&digit.to_string().repeat(64)).unwrap()
}

fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(|number| (number % 251) as u8).collect()
}

/// Alice of gpu1 has submitted, and her bundle is offered to the laptop.
fn offered(gpu: &TeamDir, size: usize) -> (Submission, BundleHead) {
    let commit = CommitId::new(&"a".repeat(40)).unwrap();
    let submission = gpu.create_submission(|id| {
        let alice = AgentName::new("alice").unwrap();
        Ok::<_, SubmissionError>(Submission {
            sent_to: Some(host("laptop")),
            ..Submission::new(id, alice, commit.clone(), now())
        })
    });
    let submission = submission.unwrap();
    let head = BundleHead {
        name: BundleName::Submission(submission.id),
        commit,
        size: size as u64,
        digest: digest('d'),
        whole: false,
        submission: Some(Box::new(submission.clone())),
    };
    gpu.prepare_outgoing(&host("laptop")).unwrap();
    let path = gpu
        .layout()
        .outgoing_bundle(&host("laptop"), head.name, &head.digest);
    std::fs::write(path, bytes(size)).unwrap();
    let guard = gpu.try_integrate().unwrap().unwrap();
    gpu.put_outgoing(&guard, &host("laptop"), &head).unwrap();
    (submission, head)
}

fn arrived(laptop: &TeamDir, head: &BundleHead) -> Option<Vec<u8>> {
    let found = laptop.incoming_bundle(&host("gpu1"), head.name)?;
    let mut text = Vec::new();
    let mut file = laptop.open_incoming(&host("gpu1"), &found.head).ok()?;
    file.read_to_end(&mut text).unwrap();
    found.is_complete().then_some(text)
}

/// How many bytes of bundles of gpu1 are here.
fn incoming_bytes(laptop: &TeamDir) -> u64 {
    let all = laptop.incoming(&host("gpu1")).unwrap();
    all.iter().map(|bundle| bundle.here).sum()
}

/// The first part of the bundle of this submission, of one byte.
fn begin(number: u64, head: &BundleHead) -> TreeFrame {
    let name = BundleName::Submission(SubmissionId(number));
    let sent = head.submission.as_deref().cloned();
    let head = BundleHead {
        name,
        submission: sent.map(|sent| {
            let id = SubmissionId(number);
            Box::new(Submission { id, ..sent })
        }),
        ..head.clone()
    };
    TreeFrame::Work(BundlePart {
        name,
        digest: head.digest.clone(),
        offset: 0,
        data: STANDARD.encode([7]),
        head: Some(Box::new(head)),
    })
}

fn is_part(frame: &Frame) -> bool {
    matches!(frame.payload, Payload::Tree(TreeFrame::Work(_)))
}

fn cross_both(a: &mut Core, b: &mut Core) {
    for _ in 0..12 {
        cross(a, b);
        cross(b, a);
    }
}

/// Hands over a frame of gpu1 with this payload, numbered by its outbox.
fn forge(b: &mut Core, a: &mut Core, payload: TreeFrame) {
    b.outbox(&host("laptop"))
        .unwrap()
        .append(vec![Payload::Tree(payload)])
        .unwrap();
    hand_over(b, a);
}

#[test]
fn a_bundle_is_put_together_and_mail_does_not_wait_for_it() {
    let place = tempfile::tempdir().unwrap();
    let (laptop, gpu, mut a, mut b) = two_hosts(place.path(), &["bob"]);
    cross_both(&mut a, &mut b);
    let size = 20 * PART_BYTES + 17;
    let (_, head) = offered(&gpu, size);
    b.collect().unwrap();
    let parts = pending(&b, "laptop")
        .iter()
        .filter(|it| is_part(it))
        .count();
    assert!((1..=8).contains(&parts), "{parts} parts are under way");
    // Mail that is sent now is behind these, and before all others.
    let alice = super::member("alice");
    team::send(&gpu, &alice, Recipient::Lead, "hello").unwrap();
    cross(&mut b, &mut a);
    assert_eq!(super::inbox(&laptop, "lead"), ["hello"]);
    assert_eq!(arrived(&laptop, &head), None);
    cross_both(&mut a, &mut b);
    assert_eq!(arrived(&laptop, &head), Some(bytes(size)));
}

#[test]
fn bridges_that_begin_again_go_on_where_they_were() {
    let place = tempfile::tempdir().unwrap();
    let (laptop, gpu, mut a, mut b) = two_hosts(place.path(), &[]);
    cross_both(&mut a, &mut b);
    let size = 30 * PART_BYTES;
    let (_, head) = offered(&gpu, size);
    let mut sent = 0;
    for round in 0..40 {
        b.collect().unwrap();
        let frames = pending(&b, "laptop");
        sent += frames.iter().filter(|frame| is_part(frame)).count();
        // Applied, and the sender does not hear of it.
        a.apply(&frames).unwrap();
        if round % 2 == 0 {
            (a, b) = {
                drop((a, b));
                (
                    open(&laptop, "laptop", "gpu1"),
                    open(&gpu, "gpu1", "laptop"),
                )
            };
        }
        cross(&mut b, &mut a);
        cross(&mut a, &mut b);
        if arrived(&laptop, &head).is_some() {
            break;
        }
    }
    assert_eq!(arrived(&laptop, &head), Some(bytes(size)));
    assert!(sent < 30 * 12, "{sent} parts were sent for 30");
}

#[test]
fn a_part_that_does_not_follow_is_asked_for_and_one_that_is_doubled_changes_nothing() {
    let place = tempfile::tempdir().unwrap();
    let (laptop, gpu, mut a, mut b) = two_hosts(place.path(), &[]);
    cross_both(&mut a, &mut b);
    let (_, head) = offered(&gpu, 3 * PART_BYTES);
    let all = bytes(3 * PART_BYTES);
    let part = |number: usize| BundlePart {
        name: head.name,
        digest: head.digest.clone(),
        offset: (number * PART_BYTES) as u64,
        data: STANDARD.encode(&all[number * PART_BYTES..(number + 1) * PART_BYTES]),
        head: (number == 0).then(|| Box::new(head.clone())),
    };
    // Without its beginning nothing is kept.
    forge(&mut b, &mut a, TreeFrame::Work(part(1)));
    assert_eq!(incoming_bytes(&laptop), 0);
    for number in [0, 0, 2, 1, 1, 0] {
        forge(&mut b, &mut a, TreeFrame::Work(part(number)));
    }
    assert_eq!(incoming_bytes(&laptop), 2 * PART_BYTES as u64);
    // The sender was told, and sends the rest.
    cross_both(&mut a, &mut b);
    assert_eq!(arrived(&laptop, &head), Some(all));
}

#[test]
fn what_may_not_be_stored_is_refused_with_a_reason_and_nothing_is_left() {
    let place = tempfile::tempdir().unwrap();
    let (laptop, gpu, mut a, mut b) = two_hosts(place.path(), &["bob"]);
    cross_both(&mut a, &mut b);
    type Change = fn(&mut BundleHead, &mut BundlePart);
    let cases: [(&str, Change); 7] = [
        ("bytes, and at most", |head, _| {
            head.size = MAX_BUNDLE_BYTES + 1;
        }),
        ("bytes, and at most", |head, _| head.size = 0),
        ("more bytes than its head says", |head, _| head.size = 3),
        ("'bob' is not at home on the host 'gpu1'", |head, _| {
            if let Some(sent) = &mut head.submission {
                sent.member = AgentName::new("bob").unwrap();
            }
        }),
        ("of another commit", |head, _| {
            head.commit = CommitId::new(&"b".repeat(40)).unwrap();
        }),
        ("is damaged", |_, part| part.data = "no base64!".to_owned()),
        ("brings something else", |head, _| head.digest = digest('e')),
    ];
    for (expected, change) in cases {
        let (submission, mut head) = offered(&gpu, 100);
        let mut part = BundlePart {
            name: head.name,
            digest: head.digest.clone(),
            offset: 0,
            data: STANDARD.encode(bytes(100)),
            head: None,
        };
        change(&mut head, &mut part);
        part.head = Some(Box::new(head.clone()));
        gpu.remove_outgoing(&host("laptop"), part.name, &part.digest)
            .unwrap();
        forge(&mut b, &mut a, TreeFrame::Work(part));
        assert_eq!(laptop.incoming(&host("gpu1")).unwrap(), [], "{expected}");
        cross_both(&mut a, &mut b);
        let ended = gpu.submission(submission.id).unwrap();
        assert_eq!(ended.status, SubmissionStatus::Failed, "{expected}");
        let reason = ended.reason.unwrap();
        assert!(reason.contains(expected), "{reason}");
    }
}

#[test]
fn bundles_that_begin_and_never_end_take_no_more_space_than_whole_ones() {
    let place = tempfile::tempdir().unwrap();
    let (laptop, gpu, mut a, mut b) = two_hosts(place.path(), &[]);
    cross_both(&mut a, &mut b);
    let (_, mut head) = offered(&gpu, 1);
    head.size = MAX_BUNDLE_BYTES;
    for number in 1..=1000 {
        let begun = Payload::Tree(begin(number, &head));
        let outbox = b.outbox(&host("laptop"));
        outbox.unwrap().append(vec![begun]).unwrap();
    }
    hand_over(&mut b, &mut a);
    let begun = laptop.incoming(&host("gpu1")).unwrap();
    let space: u64 = begun.iter().map(|bundle| bundle.head.size).sum();
    assert!(space <= 2 * MAX_BUNDLE_BYTES, "{} begun", begun.len());
    // What is begun last is not shut out by what nobody goes on with.
    let last = BundleName::Submission(SubmissionId(1000));
    assert!(begun.iter().any(|bundle| bundle.head.name == last));
    // One that gave way is asked for from its beginning.
    let TreeFrame::Work(first) = begin(1, &head) else {
        unreachable!()
    };
    let next = BundlePart {
        offset: 1,
        head: None,
        ..first
    };
    forge(&mut b, &mut a, TreeFrame::Work(next));
    let said = pending(&a, "gpu1").pop().unwrap().payload;
    let is_asked = matches!(&said, Payload::Tree(TreeFrame::Again(again)) if again.from == 0);
    assert!(is_asked, "{said:?}");
}

#[test]
fn so_many_bundles_wait_and_no_more_and_little_is_kept_of_each() {
    let place = tempfile::tempdir().unwrap();
    let (laptop, gpu, mut a, mut b) = two_hosts(place.path(), &[]);
    cross_both(&mut a, &mut b);
    let (_, mut head) = offered(&gpu, 1);
    if let Some(sent) = &mut head.submission {
        sent.subject = "x".repeat(100_000);
        sent.extra
            .insert("more".to_owned(), "x".repeat(100_000).into());
    }
    for number in 1..=100 {
        forge(&mut b, &mut a, begin(number, &head));
    }
    let waiting = laptop.incoming(&host("gpu1")).unwrap();
    assert_eq!(waiting.len(), 64);
    assert!(waiting.iter().all(teamdir::IncomingBundle::is_complete));
    let folder = laptop.layout().bundles_in(&host("gpu1"));
    let files = std::fs::read_dir(folder).unwrap().flatten();
    let largest = files.map(|file| file.metadata().unwrap().len()).max();
    assert!(largest < Some(4096), "{largest:?}");
    let said = pending(&a, "gpu1").pop().unwrap().payload;
    let Payload::Tree(TreeFrame::State { submission }) = said else {
        panic!("{said:?}");
    };
    assert_eq!(submission.origin, Some(SubmissionId(100)));
    let reason = submission.reason.unwrap();
    assert!(reason.contains("64 bundles"), "{reason}");
}

#[test]
fn a_bundle_of_the_largest_size_that_is_sent_anew_does_not_count_twice() {
    let place = tempfile::tempdir().unwrap();
    let (laptop, gpu, mut a, mut b) = two_hosts(place.path(), &[]);
    cross_both(&mut a, &mut b);
    let (_, mut head) = offered(&gpu, 1);
    head.size = MAX_BUNDLE_BYTES;
    forge(&mut b, &mut a, begin(1, &head));
    let size = |number| {
        let name = BundleName::Submission(SubmissionId(number));
        let found = laptop.incoming_bundle(&host("gpu1"), name);
        found.map(|bundle| bundle.here)
    };
    let path = |number| {
        let name = BundleName::Submission(SubmissionId(number));
        laptop
            .layout()
            .incoming_bundle(&host("gpu1"), name, &head.digest)
    };
    // All but its end is here, and all of another one.
    forge(&mut b, &mut a, begin(2, &head));
    for (number, length) in [(1, MAX_BUNDLE_BYTES - 1), (2, MAX_BUNDLE_BYTES)] {
        let file = std::fs::OpenOptions::new().write(true).open(path(number));
        file.unwrap().set_len(length).unwrap();
    }
    forge(&mut b, &mut a, begin(1, &head));
    assert_eq!(size(1), Some(MAX_BUNDLE_BYTES - 1));
    assert_eq!(size(2), Some(MAX_BUNDLE_BYTES));
}

/// The home has ended a submission of gpu1, with this conflict.
fn conflicted(origin: u64, message: String) -> TreeFrame {
    let commit = CommitId::new(&"a".repeat(40)).unwrap();
    let alice = AgentName::new("alice").unwrap();
    let conflict = MergeConflict {
        files: Vec::new(),
        messages: vec![message],
        extra: Extra::new(),
    };
    let submission = Submission {
        status: SubmissionStatus::Conflict,
        origin: Some(SubmissionId(origin)),
        conflict: Some(conflict),
        ..Submission::new(SubmissionId(9), alice, commit, now())
    };
    TreeFrame::State {
        submission: Box::new(submission),
    }
}

fn said(core: &Core, peer: &str) -> Vec<TreeFrame> {
    let said = pending(core, peer).into_iter();
    said.filter_map(|frame| match frame.payload {
        Payload::Tree(said) => Some(said),
        _ => None,
    })
    .collect()
}

#[test]
fn a_note_that_fits_into_no_frame_keeps_back_no_other_and_no_mail() {
    let place = tempfile::tempdir().unwrap();
    let (laptop, gpu, mut a, mut b) = two_hosts(place.path(), &["bob"]);
    cross_both(&mut a, &mut b);
    let (long, short) = (
        conflicted(1, "x".repeat(3 << 20)),
        conflicted(2, "x".to_owned()),
    );
    for (about, note) in [("state-1", &long), ("state-2", &short)] {
        laptop.put_tree_note(&host("gpu1"), about, note).unwrap();
    }
    let alice: Recipient = "alice".parse().unwrap();
    team::send(&laptop, &super::member("bob"), alice, "hello").unwrap();
    a.collect().unwrap();
    assert_eq!(said(&a, "gpu1"), [short]);
    cross(&mut a, &mut b);
    assert_eq!(super::inbox(&gpu, "alice"), ["hello"]);
}

#[test]
fn trouble_with_the_bundles_of_one_host_keeps_back_nothing_from_others() {
    let place = tempfile::tempdir().unwrap();
    let (laptop, _gpu, mut a, mut b) = two_hosts(place.path(), &["bob"]);
    let third = super::team(&place.path().join("c"), &["carol"]);
    let mut c = open(&third, "gpu2", "laptop");
    a.meet(&host("gpu2")).unwrap();
    cross_both(&mut a, &mut b);
    cross_both(&mut a, &mut c);
    let note = conflicted(1, "x".to_owned());
    laptop
        .put_tree_note(&host("gpu2"), "state-1", &note)
        .unwrap();
    let carol: Recipient = "carol".parse().unwrap();
    team::send(&laptop, &super::member("bob"), carol, "hello").unwrap();
    let broken = laptop.layout().bundles_out(&host("gpu1"));
    std::fs::write(&broken, "no folder").unwrap();
    a.collect().unwrap_err();
    assert_eq!(said(&a, "gpu2"), [note]);
    hand_over(&mut a, &mut c);
    assert_eq!(super::inbox(&third, "carol"), ["hello"]);
    // What was read is settled, so that the outbox does not remember it for ever.
    a.settle().unwrap();
    assert!(!a.outbox(&host("gpu2")).unwrap().has_uncommitted());
}

#[test]
fn of_the_commits_that_a_host_names_few_are_kept() {
    let place = tempfile::tempdir().unwrap();
    let (laptop, _gpu, mut a, mut b) = two_hosts(place.path(), &[]);
    cross_both(&mut a, &mut b);
    let commit = |number: usize| CommitId::new(&format!("{number:040x}")).unwrap();
    let have = HaveCommits {
        commits: (0..50_000).map(commit).collect(),
    };
    forge(&mut b, &mut a, TreeFrame::Have(have));
    let guard = laptop.try_integrate().unwrap().unwrap();
    let heard = laptop.take_heard_notes(&guard, &host("gpu1")).unwrap();
    let commits = (0..MAX_NAMED_COMMITS).map(commit).collect();
    assert_eq!(heard.notes, [TreeFrame::Have(HaveCommits { commits })]);
}

#[test]
fn only_the_home_brings_team_main_and_decides() {
    let place = tempfile::tempdir().unwrap();
    let (laptop, gpu, mut a, mut b) = two_hosts(place.path(), &[]);
    cross_both(&mut a, &mut b);
    let (submission, head) = offered(&gpu, 10);
    let main = BundleHead {
        name: BundleName::Main,
        submission: None,
        ..head.clone()
    };
    let part = |head: &BundleHead| BundlePart {
        name: head.name,
        digest: head.digest.clone(),
        offset: 0,
        data: STANDARD.encode(bytes(10)),
        head: Some(Box::new(head.clone())),
    };
    forge(&mut b, &mut a, TreeFrame::Main(part(&main)));
    // Its name is that of another bundle.
    forge(&mut b, &mut a, TreeFrame::Work(part(&main)));
    forge(&mut b, &mut a, TreeFrame::Main(part(&head)));
    assert_eq!(laptop.incoming(&host("gpu1")).unwrap(), []);
    // A host does not decide about what is in the queue of another one.
    let local = laptop.create_submission(|id| {
        Ok::<_, SubmissionError>(Submission {
            id,
            sent_to: None,
            ..submission.clone()
        })
    });
    let local = local.unwrap();
    let state = Submission {
        status: SubmissionStatus::Merged,
        origin: Some(local.id),
        id: SubmissionId(9),
        ..local.clone()
    };
    let submission = Box::new(state);
    forge(&mut b, &mut a, TreeFrame::State { submission });
    assert_eq!(laptop.submission(local.id).unwrap(), local);
}
