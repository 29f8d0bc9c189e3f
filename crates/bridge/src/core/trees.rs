//! Bundles of commits and what is said about them. What is in a bundle is not known here.

use super::{ApplyError, CollectError, Core, lock};
use crate::admit::{BundleRefused, admit_bundle, admit_part};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use protocol::{
    BundleAgain, BundleDigest, BundleHead, BundleName, BundlePart, Frame, HostId, JsonLine,
    MAX_FRAME_BYTES, PART_BYTES, Payload, Roster, Submission, TreeFrame,
};
use rules::{as_brought, refused, take_state};
use std::collections::BTreeMap;
use std::sync::Mutex;
use teamdir::{BridgeGuard, NewPart, Outbox, PartError, PathError, SubmissionError, TeamDir, now};
use tracing::warn;

/// How many parts of bundles wait in an outbox at once: mail that is sent meanwhile is not far behind.
const PARTS_AT_ONCE: usize = 8;

/// More than the fields of a frame beside its payload take.
const FRAME_AROUND: usize = 4 << 10;

/// How far the bundles for other hosts are in their outboxes. A bridge that begins sends them from the beginning,
/// and is told from where on.
#[derive(Debug, Default)]
pub(super) struct SentParts {
    cursors: BTreeMap<(HostId, BundleName), (BundleDigest, u64)>,
}

/// Why nothing more is done with the bundle of a part.
#[derive(Debug, thiserror::Error)]
enum BundleNotTaken {
    #[error(transparent)]
    Refused(#[from] BundleRefused),
    #[error("a part of its bundle is damaged")]
    Damaged,
    #[error("its bundle is wrong: {0}")]
    Wrong(PartError),
}

impl SentParts {
    fn of(&self, host: &HostId, head: &BundleHead) -> u64 {
        match self.cursors.get(&(host.clone(), head.name)) {
            Some((digest, sent)) if *digest == head.digest => *sent,
            Some(_) | None => 0,
        }
    }

    fn set(&mut self, host: &HostId, (name, digest): (BundleName, &BundleDigest), sent: u64) {
        let at = (digest.clone(), sent);
        self.cursors.insert((host.clone(), name), at);
    }
}

impl Core {
    /// Moves parts of bundles and what is said about them into the outboxes, behind the mail that is there. What
    /// cannot be moved for one host keeps nothing from the others; the first such error is returned.
    pub(super) fn collect_trees(&mut self) -> Result<(), CollectError> {
        let Self {
            team,
            guard,
            outboxes,
            sent_parts,
            is_behind,
            ..
        } = self;
        let mut first = Ok(());
        for (host, outbox) in outboxes.iter() {
            let collected = collect_bundles(team, sent_parts, (host, outbox));
            let collected = collected.and_then(|found| {
                *is_behind |= found.is_open;
                // Whose work does not merge should find there what it does not merge with.
                match found.is_main_sent {
                    true => collect_notes(team, guard, (host, outbox)),
                    false => Ok(()),
                }
            });
            first = first.and(collected);
        }
        first
    }

    pub(super) fn take_tree(&mut self, from: &HostId, said: &TreeFrame) -> Result<(), ApplyError> {
        match said {
            TreeFrame::Work(part) | TreeFrame::Main(part) => {
                let is_main = matches!(said, TreeFrame::Main(_));
                self.take_part(from, is_main, part)
            }
            TreeFrame::State { submission } => self.take_submission_state(from, submission),
            TreeFrame::Again(again) => self.take_again(from, again),
            TreeFrame::Have(have) => {
                if self.team.roster()?.lead_host.is_some() {
                    warn!(
                        "the host '{from}' tells of its commits, and the queue is not at home here"
                    );
                    return Ok(());
                }
                let have = TreeFrame::Have(have.clone().limited());
                Ok(self.team.put_heard_note(&self.guard, from, "have", &have)?)
            }
        }
    }

    fn take_part(&self, from: &HostId, is_main: bool, part: &BundlePart) -> Result<(), ApplyError> {
        let roster = self.team.roster()?;
        if let Err(refusal) = admit_part(&roster, from, is_main, part) {
            warn!("a part of a bundle of the host '{from}' is not stored: {refusal}");
            return Ok(());
        }
        let admitted = match &part.head {
            Some(head) => self.admit_begun(&roster, from, (head, part))?,
            None => Ok(()),
        };
        let bytes = STANDARD.decode(&part.data).unwrap_or_default();
        let stored = match admitted {
            Err(refusal) => Err(refusal.into()),
            Ok(()) if bytes.is_empty() || bytes.len() > PART_BYTES => Err(BundleNotTaken::Damaged),
            Ok(()) => self.store_part(from, part, &bytes)?,
        };
        let Err(reason) = stored.map_err(|error| error.to_string()) else {
            return Ok(());
        };
        warn!(
            "the bundle {} of the host '{from}' is not taken: {reason}",
            part.name
        );
        let known = self.team.incoming_bundle(from, part.name);
        let known = known.filter(|known| known.head.digest == part.digest);
        let head = part.head.as_deref().or(known.as_ref().map(|it| &it.head));
        if let Some(sent) = head.and_then(|head| head.submission.as_deref()) {
            let submission = Box::new(refused(sent, &reason, now()));
            self.answer(from, Payload::Tree(TreeFrame::State { submission }))?;
        }
        Ok(self.team.remove_incoming(from, part.name, &part.digest)?)
    }

    /// Whether a bundle that begins with this part is put together. Those that are here only in part give way to it:
    /// whoever goes on with one of them is told to begin anew.
    fn admit_begun(
        &self,
        roster: &Roster,
        from: &HostId,
        (head, part): (&BundleHead, &BundlePart),
    ) -> Result<Result<(), BundleRefused>, ApplyError> {
        let admit = || {
            let others = self.team.incoming_space(from, part.name)?;
            Ok::<_, ApplyError>(admit_bundle(roster, from, (head, part), others))
        };
        let admitted = admit()?;
        if !matches!(admitted, Err(BundleRefused::TooMuchWaits(_))) {
            return Ok(admitted);
        }
        for bundle in self.team.incoming(from)? {
            if bundle.head.name != part.name && !bundle.is_complete() {
                let (name, digest) = (bundle.head.name, &bundle.head.digest);
                self.team.remove_incoming(from, name, digest)?;
            }
        }
        admit()
    }

    /// Stores a part, and says from where on the bundle is missing if it does not follow. The inner error is why the
    /// bundle cannot be taken.
    fn store_part(
        &self,
        from: &HostId,
        part: &BundlePart,
        bytes: &[u8],
    ) -> Result<Result<(), BundleNotTaken>, ApplyError> {
        let head = part.head.as_deref().map(kept_head);
        let new = NewPart {
            name: part.name,
            digest: &part.digest,
            head: head.as_ref(),
            offset: part.offset,
            bytes,
        };
        let stored = self.team.put_incoming(&self.guard, from, &new);
        let missing = match stored {
            // It was sent before: its sender begins anew.
            Ok(here) if part.offset == 0 && here > bytes.len() as u64 => here,
            Ok(_) => return Ok(Ok(())),
            Err(PartError::Missing { from }) => from,
            Err(error @ PartError::TooLong) => {
                return Ok(Err(BundleNotTaken::Wrong(error)));
            }
            Err(PartError::File(error)) => return Err(error.into()),
        };
        let again = TreeFrame::Again(BundleAgain {
            name: part.name,
            digest: part.digest.clone(),
            from: missing,
            whole: false,
        });
        self.answer(from, Payload::Tree(again))?;
        Ok(Ok(()))
    }

    fn take_submission_state(&self, from: &HostId, said: &Submission) -> Result<(), ApplyError> {
        let is_home = self.team.roster()?.lead_host.as_ref() == Some(from);
        let (Some(origin), true) = (said.origin, is_home) else {
            warn!("the host '{from}' tells of a submission that is not in its queue");
            return Ok(());
        };
        let known = match self.team.submission(origin) {
            Ok(known) => known,
            Err(SubmissionError::File(error)) => return Err(error.into()),
            Err(error @ (SubmissionError::Unknown(_) | SubmissionError::Invalid { .. })) => {
                warn!("the host '{from}' tells of submission {origin}: {error}");
                return Ok(());
            }
            Err(error @ SubmissionError::Lock(_)) => return Err(error.into()),
        };
        if take_state(&known, from, said, now()).is_none() {
            return Ok(());
        }
        self.team.update_submission(origin, |current| {
            let next = take_state(current, from, said, now());
            Ok::<_, SubmissionError>(next.unwrap_or_else(|| current.clone()))
        })?;
        Ok(())
    }

    /// The other host misses a bundle, or a part of it.
    fn take_again(&mut self, from: &HostId, again: &BundleAgain) -> Result<(), ApplyError> {
        let offered = self.team.outgoing_head(from, again.name);
        let Some(head) = offered.filter(|head| head.digest == again.digest) else {
            return Ok(());
        };
        if !again.whole {
            let sent = again.from.min(head.size);
            self.sent_parts.set(from, (head.name, &head.digest), sent);
            return Ok(());
        }
        // First this: what is made anew in between must stay.
        self.team.remove_outgoing(from, head.name, &head.digest)?;
        let about = format!("again-{}", head.name);
        let note = TreeFrame::Again(again.clone());
        Ok(self.team.put_heard_note(&self.guard, from, &about, &note)?)
    }
}

/// What is kept of the head of a bundle of another host: its submission may be of any size.
fn kept_head(head: &BundleHead) -> BundleHead {
    let submission = head.submission.as_deref().map(as_brought);
    BundleHead {
        submission: submission.map(Box::new),
        ..head.clone()
    }
}

/// The bundles for a host that it may not have taken.
fn open_bundles(team: &TeamDir, host: &HostId) -> Result<Vec<BundleHead>, PathError> {
    let mut heads = Vec::new();
    for head in team.outgoing(host)? {
        let is_done = match head.name {
            BundleName::Main => false,
            BundleName::Submission(id) => match team.submission(id) {
                Ok(found) => {
                    !found.status.is_open()
                        || found.taken_as.is_some()
                        || found.commit != head.commit
                }
                Err(SubmissionError::Unknown(_)) => true,
                Err(_) => false,
            },
        };
        match is_done {
            true => team.remove_outgoing(host, head.name, &head.digest)?,
            false => heads.push(head),
        }
    }
    Ok(heads)
}

/// How far the bundles for a host are in its outbox.
struct Collected {
    is_open: bool,
    /// Whether all of `team/main` is there that is offered.
    is_main_sent: bool,
}

fn collect_bundles(
    team: &TeamDir,
    sent: &mut SentParts,
    (host, outbox): (&HostId, &Mutex<Outbox>),
) -> Result<Collected, CollectError> {
    let heads = open_bundles(team, host)?;
    collect_parts(team, sent, (host, outbox), &heads)?;
    let is_open = |head: &&BundleHead| sent.of(host, head) < head.size;
    let mut open = heads.iter().filter(is_open).peekable();
    Ok(Collected {
        is_open: open.peek().is_some(),
        is_main_sent: open.all(|head| head.name != BundleName::Main),
    })
}

/// Moves what is said about bundles into the outbox. What fits into no frame is dropped, or it would keep back all
/// that follows.
fn collect_notes(
    team: &TeamDir,
    guard: &BridgeGuard,
    (host, outbox): (&HostId, &Mutex<Outbox>),
) -> Result<(), CollectError> {
    let notes = team.take_tree_notes(guard, host)?;
    for note in &notes.notes {
        let payload = Payload::Tree(note.clone());
        let size = JsonLine::encode(&payload).map_or(usize::MAX, |line| line.len());
        match size <= MAX_FRAME_BYTES - FRAME_AROUND {
            true => lock(outbox).append(vec![payload])?,
            false => warn!("what is too long for a frame is not said to the host '{host}'"),
        }
    }
    Ok(team.notes_are_sent(&notes)?)
}

/// Puts the next parts of the first bundle that is not sent into the outbox, when those before were accepted.
fn collect_parts(
    team: &TeamDir,
    sent: &mut SentParts,
    (host, outbox): (&HostId, &Mutex<Outbox>),
    heads: &[BundleHead],
) -> Result<(), CollectError> {
    let Some(head) = heads.iter().find(|head| sent.of(host, head) < head.size) else {
        return Ok(());
    };
    let mut outbox = lock(outbox);
    if outbox.pending().any(is_part) {
        return Ok(());
    }
    let (mut payloads, mut offset) = (Vec::new(), sent.of(host, head));
    while payloads.len() < PARTS_AT_ONCE && offset < head.size {
        let Some(bytes) = team.read_outgoing(host, head, offset, PART_BYTES)? else {
            break;
        };
        let part = BundlePart {
            name: head.name,
            digest: head.digest.clone(),
            offset,
            data: STANDARD.encode(&bytes),
            head: (offset == 0).then(|| Box::new(head.clone())),
        };
        payloads.push(Payload::Tree(match head.name {
            BundleName::Main => TreeFrame::Main(part),
            BundleName::Submission(_) => TreeFrame::Work(part),
        }));
        offset += bytes.len() as u64;
    }
    outbox.append(payloads)?;
    sent.set(host, (head.name, &head.digest), offset);
    Ok(())
}

const fn is_part(frame: &Frame) -> bool {
    matches!(
        frame.payload,
        Payload::Tree(TreeFrame::Work(_) | TreeFrame::Main(_))
    )
}
