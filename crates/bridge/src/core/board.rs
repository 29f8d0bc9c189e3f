//! The board between its home and other hosts.

use super::{ApplyError, CollectError, Core, lock};
use protocol::{
    AskEnd, BoardAnswer, BoardAsk, BoardChange, BoardClaim, BoardCopy, BoardFrame, BoardOutcome,
    BoardTasks, Extra, Frame, HostId, HostMembers, JsonLine, MAX_LINE_BYTES, NoticeCause, Party,
    Payload, Recipient, RequestId, Roster, Task, TaskId,
};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};
use teamdir::{RosterError, now};
use tracing::{info, warn};

/// About how many bytes of tasks a frame has.
const TASKS_BYTES: usize = 256 << 10;
/// How often the board is read although its folder looks the same: a file may be changed in place.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What other hosts were told of the board that is at home here.
#[derive(Debug, Default)]
pub(super) struct ToldBoard {
    hosts: BTreeMap<HostId, BTreeMap<TaskId, Arc<Task>>>,
    /// When the folder of the board was changed last, and when it was read.
    seen: Option<(SystemTime, Instant)>,
    /// Hosts that may not know all.
    are_behind: bool,
    /// Whether this process has asked the home of the board for all of it.
    has_asked: bool,
}

impl ToldBoard {
    /// Whether there are hosts that may not know all.
    pub(super) const fn are_behind(&self) -> bool {
        self.are_behind
    }
}

impl Core {
    /// How long a host may be silent until the claims of its members end.
    pub fn set_lease(&mut self, time: Duration) {
        self.leases.set_time(time);
    }

    /// Other hosts are heard at least this often.
    pub(crate) fn set_least_lease(&mut self, least: Duration) {
        self.leases.set_least(least);
    }

    /// Another host is heard.
    pub(crate) fn hear(&mut self, host: &HostId) {
        self.hear_at(host, Instant::now());
    }

    pub(crate) fn hear_at(&mut self, host: &HostId, at: Instant) {
        self.leases.hear(host, at);
    }

    /// Whether this host would hear the others now.
    pub(crate) fn set_listening(&mut self, listens: bool) {
        match listens {
            true => self.leases.listen(Instant::now()),
            false => self.leases.stop_listening(),
        }
    }

    /// Moves what concerns the board into the outboxes, and ends the claims of hosts that are silent.
    pub(super) fn collect_board(&mut self, roster: &Roster) -> Result<(), CollectError> {
        match &roster.lead_host {
            Some(home) => self.collect_asks(home, |_| true),
            None => {
                self.end_leases(roster)?;
                self.tell_board()
            }
        }
    }

    /// Keeps a copy of the board of `home` from now on.
    pub(super) fn keep_copy(&self, home: &HostId) -> Result<(), RosterError> {
        self.team.prepare_board_copy(&self.guard)?;
        let copy = self.team.board_copy().ok().flatten();
        if copy.is_none_or(|copy| copy.of != *home) {
            self.note_copy(home, false);
        }
        Ok(())
    }

    /// Says whether the copy of the board of `home` is up to date, which wakes who waits for the board.
    pub(super) fn note_copy(&self, home: &HostId, linked: bool) {
        let known = self.team.board_copy().ok().flatten();
        let at = match known {
            // It is as old as the last news.
            Some(known) if !known.linked && !linked => known.at,
            Some(_) | None => now(),
        };
        let copy = BoardCopy {
            of: home.clone(),
            at,
            linked,
            extra: Extra::new(),
        };
        if let Err(error) = self.team.put_board_copy(&self.guard, &copy) {
            warn!("who waits for the board is not told of news: {error}");
        }
    }

    /// What members have asked that are not at home here any more crosses before they are named no more.
    pub(super) fn collect_last_asks(
        &mut self,
        roster: &Roster,
        here: &HostMembers,
    ) -> Result<(), CollectError> {
        let has_left = |ask: &BoardAsk| match &ask.by {
            Party::Member(name) => !here.members.iter().any(|member| member.name.same_as(name)),
            Party::Lead | Party::User | Party::System => false,
        };
        match &roster.lead_host {
            Some(home) => self.collect_asks(home, has_left),
            None => Ok(()),
        }
    }

    fn collect_asks(
        &mut self,
        home: &HostId,
        is_meant: impl Fn(&BoardAsk) -> bool,
    ) -> Result<(), CollectError> {
        let Some(outbox) = self.outboxes.get(home) else {
            return Ok(());
        };
        let mut outbox = lock(outbox);
        if !self.told_board.has_asked {
            let asks = |frame: &Frame| frame.payload == Payload::Board(BoardFrame::Want);
            if !outbox.pending().any(asks) {
                outbox.append(vec![Payload::Board(BoardFrame::Want)])?;
            }
            self.told_board.has_asked = true;
        }
        let (mut ids, mut payloads) = (Vec::new(), Vec::new());
        for ask in self.team.unsent_asks()?.into_iter().filter(is_meant) {
            let withdrawn = || matches!(self.team.ask_end(&ask.id), Ok(Some(AskEnd::Withdrawn)));
            if outbox.has_stored_ask(&ask.id) {
                ids.push(ask.id);
            } else if withdrawn() {
                self.team.forget_ask(&ask.id)?;
            } else {
                ids.push(ask.id.clone());
                payloads.push(Payload::Board(BoardFrame::Ask(ask)));
            }
        }
        outbox.append(payloads)?;
        Ok(self.team.mark_asks_sent(&self.guard, &ids)?)
    }

    fn end_leases(&mut self, roster: &Roster) -> Result<(), CollectError> {
        let now = Instant::now();
        self.leases.look(now);
        for host in self.outboxes.keys() {
            let Some(silent) = self.leases.over(host, now) else {
                continue;
            };
            let there = roster.members.iter();
            let there = there.filter(|member| member.host.as_ref() == Some(host));
            let owners: Vec<Party> = there
                .map(|member| Party::Member(member.spec.name.clone()))
                .collect();
            let why = format!("the host {host} was silent for {} s", silent.as_secs());
            for task in team::end_leases(&self.team, &owners, &why)? {
                info!("task #{} is back on the board: {why}", task.id);
            }
        }
        Ok(())
    }

    /// Tells other hosts what has changed on the board. At most one such news waits for each.
    fn tell_board(&mut self) -> Result<(), CollectError> {
        let folder = self.team.layout().tasks_dir();
        let changed = std::fs::metadata(&folder).and_then(|folder| folder.modified());
        let changed = changed.unwrap_or(SystemTime::UNIX_EPOCH);
        let is_same =
            |(at, read): (SystemTime, Instant)| at == changed && read.elapsed() < LOOK_EVERY;
        let knows_all = self.told_board.hosts.len() == self.outboxes.len();
        if knows_all && !self.told_board.are_behind && self.told_board.seen.is_some_and(is_same) {
            return Ok(());
        }
        let tasks: Vec<Arc<Task>> = self.team.tasks()?.into_iter().flatten().collect();
        self.told_board.seen = Some((changed, Instant::now()));
        self.told_board.are_behind = false;
        for (host, outbox) in &self.outboxes {
            let mut outbox = lock(outbox);
            let is_news =
                |frame: &Frame| matches!(frame.payload, Payload::Board(BoardFrame::Tasks(_)));
            if outbox.pending().any(is_news) {
                self.told_board.are_behind = true;
                continue;
            }
            let known = self.told_board.hosts.get(host);
            let news = news(known, &tasks);
            if !news.is_empty() {
                let frames = news.into_iter().map(BoardFrame::Tasks);
                outbox.append(frames.map(Payload::Board).collect())?;
            }
            let told = tasks.iter().map(|task| (task.id, Arc::clone(task)));
            self.told_board.hosts.insert(host.clone(), told.collect());
        }
        Ok(())
    }

    pub(super) fn take_board(
        &mut self,
        from: &HostId,
        said: &BoardFrame,
    ) -> Result<(), ApplyError> {
        let home = self.team.roster()?.lead_host.clone();
        match (said, &home) {
            (BoardFrame::Ask(ask), home) => self.decide(from, ask, home.as_ref()),
            (BoardFrame::Want, None) => {
                self.told_board.hosts.remove(from);
                Ok(())
            }
            (BoardFrame::Answer(answer), Some(home)) if home == from => {
                self.take_board_answer(answer)
            }
            (BoardFrame::Tasks(news), Some(home)) if home == from => {
                self.team.update_board_copy(&self.guard, news)?;
                self.note_copy(home, true);
                Ok(())
            }
            (BoardFrame::Want | BoardFrame::Answer(_) | BoardFrame::Tasks(_), _) => {
                warn!("the host '{from}' tells of a board that is not at home there");
                Ok(())
            }
        }
    }

    /// Decides about a change, once, and puts the answer into the outbox.
    fn decide(
        &mut self,
        from: &HostId,
        ask: &BoardAsk,
        home: Option<&HostId>,
    ) -> Result<(), ApplyError> {
        let known = self.team.decided(from)?;
        let answer = match (known.filter(|known| known.id == ask.id), home) {
            (Some(known), _) => known,
            (None, Some(home)) => refused(&ask.id, &format!("the board is at home on '{home}'")),
            (None, None) => {
                let ends_claim = ask.change.ends_claim();
                let answer = match self.quotas.take(from, ends_claim, Instant::now()) {
                    Ok(()) => fitting(team::decide(&self.team, from, ask)?),
                    Err(why) => too_many(&ask.id, &why.to_string()),
                };
                self.team.put_decided(&self.guard, from, &answer)?;
                answer
            }
        };
        self.answer(from, Payload::Board(BoardFrame::Answer(answer)))?;
        Ok(())
    }

    /// The home has answered: whoever waits gets it, and others get mail.
    fn take_board_answer(&self, answer: &BoardAnswer) -> Result<(), ApplyError> {
        let Some(ask) = self.team.ask(&answer.id)? else {
            return Ok(());
        };
        // Those that are at work under their claims keep them.
        let held = self.team.board_claims()?;
        if self.team.ask_end(&ask.id)? != Some(AskEnd::Withdrawn) {
            self.note_outcome(&ask, &answer.outcome)?;
        }
        let end = AskEnd::Answered(answer.outcome.clone());
        if self.team.end_ask(&ask.id, &end)? {
            return Ok(());
        }
        // A frame that comes again finds its own end, which may have been fetched.
        match self.team.ask_end(&ask.id)? {
            Some(AskEnd::ByMail) => self.tell_outcome(&ask, &answer.outcome)?,
            Some(AskEnd::Withdrawn) => {
                if let (true, BoardOutcome::Done { tasks }) =
                    (ask.change.is_claim(), &answer.outcome)
                {
                    let is_held = |task: &Task| {
                        let mut held = held.iter();
                        held.any(|claim| claim.task == task.id && Some(claim.lease) == task.lease)
                    };
                    for task in tasks.iter().filter(|task| !is_held(task)) {
                        self.team.remove_board_claim(task.id)?;
                        team::give_back_late_claim(&self.team, &ask, task)?;
                    }
                }
            }
            Some(AskEnd::Answered(_)) | None => return Ok(()),
        }
        Ok(self.team.forget_ask(&ask.id)?)
    }

    /// Keeps the copy and the claims of those here as the home says they are.
    fn note_outcome(&self, ask: &BoardAsk, outcome: &BoardOutcome) -> Result<(), ApplyError> {
        let tasks = match outcome {
            BoardOutcome::Done { tasks } => tasks,
            BoardOutcome::Refused {
                is_lease_over,
                missing,
                ..
            } => return self.note_refusal(ask, *is_lease_over || missing.is_some()),
        };
        let news = BoardTasks {
            tasks: match ask.change {
                BoardChange::Delete { .. } => Vec::new(),
                _ => tasks.clone(),
            },
            numbers: None,
        };
        self.team.update_board_copy(&self.guard, &news)?;
        for task in tasks {
            if ask.change.ends_claim() {
                self.team.remove_board_claim(task.id)?;
            } else if let (true, Some(lease)) = (ask.change.is_claim(), task.lease) {
                self.team.put_board_claim(&claim_of(ask, task.id, lease))?;
            }
        }
        Ok(())
    }

    /// What was asked under a claim has no effect: the claim is over, or goes on although whoever asked for its
    /// end did not wait for the answer.
    fn note_refusal(&self, ask: &BoardAsk, is_over: bool) -> Result<(), ApplyError> {
        let (Some(id), Some(lease)) = (ask.change.task(), ask.lease) else {
            return Ok(());
        };
        let claim = self.team.board_claim(id)?;
        match claim {
            Some(claim) if is_over && claim.lease == lease => self.team.remove_board_claim(id)?,
            None if !is_over && ask.change.ends_claim() => {
                self.team.put_board_claim(&claim_of(ask, id, lease))?;
            }
            Some(_) | None => {}
        }
        Ok(())
    }

    /// Tells a member what became of what it did not wait for.
    fn tell_outcome(&self, ask: &BoardAsk, outcome: &BoardOutcome) -> Result<(), ApplyError> {
        let Party::Member(name) = &ask.by else {
            return Ok(());
        };
        let what = match ask.change.task() {
            Some(id) => format!("what you changed of task #{id}"),
            None => "what you changed of the board".to_owned(),
        };
        let text = match (outcome, &ask.change) {
            // The program asks for these itself.
            (
                _,
                BoardChange::ReleaseEnded { .. }
                | BoardChange::Release { .. }
                | BoardChange::GiveBack { .. },
            ) => return Ok(()),
            (BoardOutcome::Done { tasks }, BoardChange::Create { .. }) => {
                let ids: Vec<String> = tasks.iter().map(|task| format!("#{}", task.id)).collect();
                format!(
                    "The task that was queued is on the board: {}",
                    ids.join(", ")
                )
            }
            (BoardOutcome::Done { .. }, _) => format!("{what} was queued, and is done now"),
            (BoardOutcome::Refused { reason, .. }, _) => {
                format!("{what} was queued, and was refused: {reason}")
            }
        };
        let id = format!("board/{}", ask.id);
        let to = Recipient::Member(name.clone());
        match team::notice(&self.team, to, NoticeCause::Board, &id, &text) {
            // Whoever has left is told nothing.
            Err(error) if error.is_refusal() => warn!("{what}: its end is not told: {error}"),
            told => drop(told?),
        }
        Ok(())
    }
}

/// The claim under this number of whoever has asked.
fn claim_of(ask: &BoardAsk, task: TaskId, lease: u64) -> BoardClaim {
    BoardClaim {
        task,
        owner: ask.by.clone(),
        owner_incarnation: ask.incarnation,
        lease,
        extra: Extra::new(),
    }
}

/// What to tell a host that was told `known`, in frames.
fn news(known: Option<&BTreeMap<TaskId, Arc<Task>>>, tasks: &[Arc<Task>]) -> Vec<BoardTasks> {
    let is_known = |task: &Arc<Task>| {
        let known = known.and_then(|known| known.get(&task.id));
        known.is_some_and(|known| Arc::ptr_eq(known, task) || known == task)
    };
    let (mut frames, mut bytes) = (Vec::new(), 0);
    let mut current = BoardTasks::default();
    for task in tasks.iter().filter(|task| !is_known(task)) {
        let task = shortened(Task::clone(task));
        let size = size(&task);
        if bytes + size > TASKS_BYTES && !current.tasks.is_empty() {
            frames.push(std::mem::take(&mut current));
            bytes = 0;
        }
        bytes += size;
        current.tasks.push(task);
    }
    let is_gone = |id: &TaskId| tasks.binary_search_by_key(id, |task| task.id).is_err();
    if known.is_none_or(|known| known.keys().any(is_gone)) {
        current.numbers = Some(tasks.iter().map(|task| task.id).collect());
    }
    if current != BoardTasks::default() {
        frames.push(current);
    }
    frames
}

/// A task that fits into a frame. Its file at home has the whole.
fn shortened(mut task: Task) -> Task {
    if size(&task) <= MAX_LINE_BYTES {
        return task;
    }
    "(too long for other hosts)".clone_into(&mut task.description);
    task.history.clear();
    task.extra = Extra::new();
    if size(&task) > MAX_LINE_BYTES {
        task.result = None;
        task.role = None;
        task.subject = task.subject.chars().take(1000).collect();
        task.blocked_by.truncate(1000);
    }
    task
}

/// An answer that fits into a frame. Of many tasks the last ones are left out: the news of the board has them.
fn fitting(answer: BoardAnswer) -> BoardAnswer {
    let mut bytes = 0;
    let mut fits = |task: &Task| {
        let is_first = bytes == 0;
        bytes += size(task);
        is_first || bytes <= MAX_LINE_BYTES
    };
    let outcome = match answer.outcome {
        BoardOutcome::Done { tasks } => BoardOutcome::Done {
            tasks: tasks
                .into_iter()
                .map(shortened)
                .take_while(|task| fits(task))
                .collect(),
        },
        refused @ BoardOutcome::Refused { .. } => refused,
    };
    BoardAnswer { outcome, ..answer }
}

fn size(task: &Task) -> usize {
    JsonLine::encode(task).map_or(0, |line| line.len())
}

fn too_many(id: &RequestId, reason: &str) -> BoardAnswer {
    BoardAnswer {
        id: id.clone(),
        outcome: BoardOutcome::Refused {
            reason: reason.to_owned(),
            missing: None,
            is_lease_over: false,
            is_too_many: true,
        },
    }
}

fn refused(id: &RequestId, reason: &str) -> BoardAnswer {
    BoardAnswer {
        id: id.clone(),
        outcome: BoardOutcome::Refused {
            reason: reason.to_owned(),
            missing: None,
            is_lease_over: false,
            is_too_many: false,
        },
    }
}
