//! The bridge of a host without a transport: from the folder into outboxes, and from frames into the folder.

mod answers;
mod board;
mod error;
mod peers;
mod requests;
mod settle;
mod spawns;
mod take;
mod trees;

pub use error::{ApplyError, CollectError, OpenError, SettleError};
pub use spawns::Starter;

use crate::forward::forward;
use crate::home::{Told, at_home};
use crate::judge::{Verdict, judge};
use crate::lease::Leases;
use crate::quota::Quotas;
use board::ToldBoard;
use protocol::{
    AppliedMark, BoardFrame, Extra, Frame, HostId, HostMembers, Payload, Peer, Recipient, Roster,
};
use requests::{ToldRequests, tell_before_mail};
use settle::Unsettled;
use spawns::Spawns;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use teamdir::{BoardPlace, BridgeGuard, MemberSession, Outbox, RosterError, TeamDir, Watcher, now};
use tracing::warn;

/// Mail stays in the inboxes while so many bytes wait in the outbox of its host.
const OUTBOX_LIMIT: usize = 32 << 20;
/// The mail that was moved is in the journal of its reader, which begins anew when it has reached this size.
const JOURNAL_LIMIT: u64 = 4 << 20;
/// How long after mail everything else is looked at, once for all that comes meanwhile. Until then the processors are
/// left to those who carry the mail on.
pub(crate) const REST_AFTER: Duration = Duration::from_millis(2);
/// How many batches of mail are moved before others get their turn.
const BATCHES: usize = 16;

/// The bridge of this host. There is one at a time.
#[derive(Debug)]
pub struct Core {
    team: TeamDir,
    me: HostId,
    outboxes: BTreeMap<HostId, Arc<Mutex<Outbox>>>,
    /// The inboxes of those who are at home elsewhere.
    readers: BTreeMap<Recipient, MemberSession>,
    /// What each host was told of who is at home here.
    told: BTreeMap<HostId, Told>,
    told_board: ToldBoard,
    leases: Leases,
    quotas: Quotas,
    requests: Arc<Mutex<ToldRequests>>,
    unsettled: Unsettled,
    /// See [`Self::is_behind`].
    is_behind: bool,
    spawns: Spawns,
    sent_parts: trees::SentParts,
    guard: BridgeGuard,
}

impl Core {
    /// Becomes the bridge of this host. Its name is the one it has; without one it is called `wanted`, or
    /// else `default`.
    pub fn open(
        team: &TeamDir,
        wanted: Option<&HostId>,
        default: &HostId,
    ) -> Result<Self, OpenError> {
        let guard = team.lock_bridge()?;
        let me = name_host(team, wanted, default)?;
        let mut core = Self {
            team: team.clone(),
            me,
            outboxes: BTreeMap::new(),
            readers: BTreeMap::new(),
            told: BTreeMap::new(),
            told_board: ToldBoard::default(),
            leases: Leases::new(std::time::Instant::now()),
            quotas: Quotas::default(),
            requests: Arc::new(Mutex::new(ToldRequests::of(team)?)),
            unsettled: Unsettled::default(),
            is_behind: false,
            spawns: Spawns::default(),
            sent_parts: trees::SentParts::default(),
            guard,
        };
        team.forget_old_asks(&core.guard)?;
        team.prepare_spawns(&core.guard)?;
        if let Some(home) = &team.roster()?.lead_host {
            core.keep_copy(home)?;
            team.forget_told_commits(&core.guard, home)?;
        }
        for peer in team.peers()? {
            core.meet(&peer)?;
            // What the last bridge said of it counts no more.
            if let Ok(Some(known)) = team.peer(&peer) {
                let (reachable, since) = (false, Some(now()));
                let said = Peer {
                    reachable,
                    since,
                    ..known
                };
                core.show_peer(&peer, &said);
            }
        }
        Ok(core)
    }

    pub const fn me(&self) -> &HostId {
        &self.me
    }

    pub const fn team(&self) -> &TeamDir {
        &self.team
    }

    /// Begins to keep frames for a host.
    pub fn meet(&mut self, peer: &HostId) -> Result<(), OpenError> {
        if *peer == self.me {
            return Err(OpenError::SameName(peer.clone()));
        }
        if !self.outboxes.contains_key(peer) {
            let outbox = Outbox::open(&self.team, &self.guard, &self.me, peer)?;
            let outbox = Arc::new(Mutex::new(outbox));
            self.outboxes.insert(peer.clone(), outbox);
        }
        Ok(())
    }

    /// From now on the lead is at home on `host`: mail for it goes there, unless that is this host.
    pub fn follow_lead(&self, host: &HostId) -> Result<(), RosterError> {
        let lead = (*host != self.me).then_some(host);
        if self.team.roster()?.lead_host.as_ref() == lead {
            return Ok(());
        }
        if let Some(home) = lead {
            self.keep_copy(home)?;
        }
        self.team.update_roster(|roster| {
            roster.lead_host = lead.cloned();
            Ok(())
        })
    }

    /// The frames to a host.
    pub fn outbox(&self, peer: &HostId) -> Option<MutexGuard<'_, Outbox>> {
        self.outboxes.get(peer).map(|outbox| lock(outbox))
    }

    /// Moves what has to cross into the outboxes. Everything is synced there when this returns; that it was read is
    /// settled later.
    pub fn collect(&mut self) -> Result<(), CollectError> {
        let roster = self.team.roster()?;
        let home = at_home(&roster);
        self.unsettled.read.clear();
        self.is_behind = false;
        self.collect_last_asks(&roster, &home)?;
        self.introduce(&home)?;
        self.collect_requests(&roster)?;
        self.collect_spawns(&roster)?;
        self.follow_inboxes(&roster)?;
        self.collect_board(&roster)?;
        let unread_hosts = self.forward_mail(&roster)?;
        for (owner, reader) in &mut self.readers {
            // Sets aside what was read. Whoever waits for mail watches the inboxes itself.
            reader.prepare_to_wait()?;
            if let Err(error) = reader.forget_forwarded(JOURNAL_LIMIT) {
                warn!("the journal of '{owner}' grows on: {error}");
            }
        }
        // What is wrong with a bundle keeps back nothing else.
        let trees = self.collect_trees();
        self.is_behind |= !unread_hosts.is_empty() || self.told_board.are_behind();
        let done = self.outboxes.iter();
        for (host, outbox) in done.filter(|(host, _)| !unread_hosts.contains(host)) {
            self.unsettled.read.insert(host.clone());
            let mut outbox = lock(outbox);
            // A member sends its mail before it reports that it is idle or has ended, and so do we.
            let is_waiting = outbox
                .pending()
                .any(|frame| matches!(&frame.payload, Payload::Members(said) if !said.names_only));
            let told = self.told.entry(host.clone()).or_default();
            if told.misses_states(&home, is_waiting) {
                outbox.append(vec![Payload::Members(home.clone())])?;
                told.described(&home);
            } else {
                self.is_behind |= is_waiting;
            }
        }
        trees
    }

    /// Moves mail alone, for which somebody may wait. [`Self::collect`] has the rest to do, two milliseconds later.
    pub fn collect_mail(&mut self) -> Result<(), CollectError> {
        let roster = self.team.roster()?;
        // Whether all mail was read is known after the next collection.
        self.unsettled.read.clear();
        self.introduce(&at_home(&roster))?;
        self.forward_mail(&roster)?;
        Ok(())
    }

    /// Moves mail from the inboxes into the outboxes. Returns the hosts for which not all of it was moved.
    fn forward_mail(&mut self, roster: &Roster) -> Result<BTreeSet<HostId>, CollectError> {
        let mut unread_hosts = BTreeSet::new();
        for (owner, reader) in &mut self.readers {
            let Some((host, outbox)) = roster
                .host_of(owner)
                .and_then(|host| Some((host, self.outboxes.get(host)?)))
            else {
                continue;
            };
            let mut is_done = false;
            for _ in 0..BATCHES {
                if lock(outbox).pending_bytes() > OUTBOX_LIMIT {
                    break;
                }
                is_done = reader.try_next()?.is_none();
                if is_done {
                    break;
                }
            }
            if !is_done {
                unread_hosts.insert(host.clone());
            }
            self.unsettled.note(reader.has_unsynced());
        }
        Ok(unread_hosts)
    }

    /// Whether something is not in the outboxes because they hold much, or older news: [`Self::collect`] has more to
    /// do when frames were accepted.
    pub const fn is_behind(&self) -> bool {
        self.is_behind
    }

    /// Watches what [`Self::collect`] reads.
    pub fn watch(&self, watcher: &mut Watcher) {
        let layout = self.team.layout();
        watcher.watch_folder(layout.root());
        watcher.watch_folder(&layout.inbox_dir());
        match self.team.board_place() {
            Ok(BoardPlace::On(_)) => watcher.watch_folder(&layout.asks_dir()),
            Ok(BoardPlace::Here) | Err(_) => watcher.watch_folder(&layout.tasks_dir()),
        }
        watcher.watch_folder(&layout.requests_dir());
        watcher.watch_folder(&layout.sent_spawns_dir());
        watcher.watch_folder(&layout.taken_spawns_dir());
        for host in self.outboxes.keys() {
            watcher.watch_folder(&layout.bundles_out(host));
        }
        for owner in self.readers.keys() {
            watcher.watch_file(&layout.inbox(owner));
        }
    }

    /// Names those at home here to hosts that may not know them all, before mail of theirs crosses.
    fn introduce(&mut self, home: &HostMembers) -> Result<(), CollectError> {
        for (host, outbox) in &self.outboxes {
            let told = self.told.entry(host.clone()).or_default();
            if told.misses_names(home) {
                let names = HostMembers {
                    names_only: true,
                    ..home.clone()
                };
                lock(outbox).append(vec![Payload::Members(names)])?;
                told.named(home);
            }
        }
        Ok(())
    }

    /// Reads the inboxes of exactly those who are at home on a host that is known.
    fn follow_inboxes(&mut self, roster: &Roster) -> Result<(), CollectError> {
        let elsewhere = |owner: &Recipient| {
            let host = roster.host_of(owner)?;
            Some((host.clone(), Arc::clone(self.outboxes.get(host)?)))
        };
        self.readers.retain(|owner, _| elsewhere(owner).is_some());
        let members = roster.members.iter().map(|member| &member.spec.name);
        let all = members.map(|name| Recipient::Member(name.clone()));
        for owner in all.chain([Recipient::Lead]) {
            let Some((host, outbox)) = elsewhere(&owner) else {
                continue;
            };
            if self.readers.contains_key(&owner) {
                continue;
            }
            let opened = MemberSession::open_dead(&self.team, &owner);
            let mut reader = opened.map_err(|error| CollectError::Runs {
                owner: owner.clone(),
                host: host.clone(),
                error,
            })?;
            let (me, to) = (self.me.clone(), owner.clone());
            let (told, team) = (Arc::clone(&self.requests), self.team.clone());
            reader.forward(Box::new(move |mail| {
                if to == Recipient::Lead
                    && let Err(error) = tell_before_mail(&told, &team, (&host, &outbox), mail)
                {
                    // It is told with the next look at the folder.
                    warn!("requests are told after the mail about them: {error}");
                }
                forward(&outbox, &me, &to, mail)
            }));
            // What is in an outbox is recognised when it is read once more.
            reader.sync_later();
            self.readers.insert(owner, reader);
        }
        Ok(())
    }

    /// Applies frames of one host, up to the first error. They are settled later.
    pub fn apply(&mut self, frames: &[Frame]) -> Result<(), ApplyError> {
        let Some(from) = frames.first().map(|frame| frame.from.clone()) else {
            return Ok(());
        };
        self.hear(&from);
        for frame in frames.iter().filter(|frame| frame.from == from) {
            // What was decided is known for the last ask only: the ask before has to count as applied.
            if is_ask(frame) {
                self.settle_applied()?;
            }
            let mark = self.applied(&from)?;
            if self.apply_one(mark.as_ref(), frame)? == Verdict::Apply {
                let mark = AppliedMark {
                    epoch: frame.epoch.clone(),
                    seq: frame.seq,
                    id: frame.id.clone(),
                    extra: Extra::new(),
                };
                let is_full = self.unsettled.apply(&from, mark);
                if is_full || is_ask(frame) {
                    self.settle_applied()?;
                }
            }
        }
        Ok(())
    }

    fn apply_one(
        &mut self,
        mark: Option<&AppliedMark>,
        frame: &Frame,
    ) -> Result<Verdict, ApplyError> {
        let verdict = judge(&self.me, mark, frame)?;
        if verdict == Verdict::Repeat {
            return Ok(verdict);
        }
        self.check_answers(frame)?;
        match &frame.payload {
            Payload::Mail { to, line } => self.take_mail(frame, to, line)?,
            Payload::Members(said) => self.take_members(&frame.from, said)?,
            Payload::Board(said) => self.take_board(&frame.from, said)?,
            Payload::Request { request } => self.take_request(&frame.from, request)?,
            Payload::Answer { answer } => self.take_answer(&frame.from, answer)?,
            Payload::AnswerRefused { answer, reason } => {
                self.take_refusal(&frame.from, answer, reason)?;
            }
            Payload::Spawn(said) => self.take_spawn(&frame.from, said)?,
            Payload::Tree(said) => self.take_tree(&frame.from, said)?,
        }
        Ok(verdict)
    }
}

const fn is_ask(frame: &Frame) -> bool {
    matches!(frame.payload, Payload::Board(BoardFrame::Ask(_)))
}

pub(crate) fn lock(outbox: &Mutex<Outbox>) -> MutexGuard<'_, Outbox> {
    outbox.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives this host its name, once.
fn name_host(
    team: &TeamDir,
    wanted: Option<&HostId>,
    default: &HostId,
) -> Result<HostId, OpenError> {
    if let Some(known) = &team.roster()?.host {
        return match wanted {
            Some(wanted) if wanted != known => Err(OpenError::Renamed {
                known: known.clone(),
                wanted: wanted.clone(),
            }),
            _ => Ok(known.clone()),
        };
    }
    let name = wanted.unwrap_or(default).clone();
    team.update_roster(|roster| {
        roster.host = Some(name.clone());
        Ok::<_, RosterError>(())
    })?;
    Ok(name)
}
