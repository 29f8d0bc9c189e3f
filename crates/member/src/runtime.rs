//! The desk itself.

use crate::inner::{Inner, MailHandler, Price};
use crate::live::Live;
use crate::logging::{LogOptions, log_to_member};
use crate::mail::MailItem;
use crate::recovered::Recovered;
use crate::status::StatusKeeper;
use agent::Conversation;
use protocol::{
    AgentName, CompactionRecord, EndedRecord, EventKind, Incarnation, JournalRecord, MemberStatus,
    Party, Phase, PlanRecord, Recipient, ReportRecord, TaskId, UserMessage, WaitingFor,
};
use serde_json::Value;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use team::Actor;
use teamdir::{
    Changes, CommitHook, FolderWatch, MemberSession, PathError, ReceiveError, RosterError,
    SessionError, Settled, TeamDir, WatchChoice, WatchMode,
};
use tools::ToolOutput;
use tracing::{info, warn};

/// How much mail a tool's result may hold: a longer one would be cut, and nobody could tell which
/// letters it has said.
const LISTED_BYTES: usize = 40_000;
/// How long to wait after something could not be shown or told: the disk may be full for a while.
const SHOW_AGAIN: Duration = Duration::from_secs(1);

/// Why a member's desk could not be taken.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    /// This process cannot be the member.
    #[error(transparent)]
    MemberSession(#[from] SessionError),
    /// Its memory could not be read.
    #[error(transparent)]
    Recovered(#[from] PathError),
}

/// A member's desk. Clones share it.
#[derive(Clone)]
pub struct MemberRuntime {
    team: TeamDir,
    owner: Recipient,
    incarnation: Incarnation,
    changes: Changes,
    folder: Arc<FolderWatch>,
    pub(crate) inner: Arc<Mutex<Inner>>,
}

impl MemberRuntime {
    /// Makes this process the member `owner` and lets it write the member's log. Returns what earlier
    /// incarnations left.
    pub fn start(
        team: &TeamDir,
        owner: &Recipient,
        log: &LogOptions,
    ) -> Result<(Self, Recovered), RuntimeError> {
        let (runtime, recovered) = Self::open(team, owner)?;
        log_to_member(team, runtime.owner(), log);
        for damage in &recovered.damage {
            warn!("skipped {damage}");
        }
        Ok((runtime, recovered))
    }

    /// Makes this process the member `owner`, and returns what earlier incarnations left.
    pub fn open(team: &TeamDir, owner: &Recipient) -> Result<(Self, Recovered), RuntimeError> {
        let mut session = MemberSession::open(team, owner, WatchChoice::Auto)?;
        // The model's reply is synced before anything comes of it, and the mail along with it.
        session.sync_later();
        let changes = session.changes();
        let folder = FolderWatch::new(team, session.guard().owner(), WatchChoice::Auto);
        let (owner, incarnation) = (
            session.guard().owner().clone(),
            session.guard().incarnation(),
        );
        let mut memory = Recovered::read(team, &owner)?;
        let mut inner = Inner {
            team: team.clone(),
            live: Live::new(incarnation, memory.tally.clone()),
            status: StatusKeeper::new(team, &owner),
            mail_handler: None,
            letters: std::mem::take(&mut memory.letters).into(),
            mail: memory.mail,
            plan: memory.plan.clone(),
            reports: memory.reports,
            is_replaced: false,
            pending_events: Vec::new(),
            is_unshown: false,
            price: None,
            mail_again_at: None,
            session,
        };
        inner.write_state();
        let told = team::recently_told(team).unwrap_or_default();
        inner.events(team::pending_events(&owner, &memory.last_taken, &told));
        let runtime = Self {
            team: team.clone(),
            owner,
            incarnation,
            changes,
            folder: Arc::new(folder),
            inner: Arc::new(Mutex::new(inner)),
        };
        Ok((runtime, memory))
    }

    /// The team.
    pub const fn team(&self) -> &TeamDir {
        &self.team
    }

    /// Whose desk it is.
    pub const fn owner(&self) -> &Recipient {
        &self.owner
    }

    /// Which life of the member this is.
    pub const fn incarnation(&self) -> Incarnation {
        self.incarnation
    }

    /// Who acts at this desk.
    pub fn me(&self) -> Actor {
        Actor {
            party: Party::from(self.owner.clone()),
            incarnation: Some(self.incarnation),
        }
    }

    /// Lets `mail_handler` look at all letters from now on, those that wait included.
    pub fn employ(&self, mail_handler: Box<dyn MailHandler>) {
        let mut inner = self.lock();
        inner.mail_handler = Some(mail_handler);
        let mut letters = std::mem::take(&mut inner.letters);
        for letter in &mut letters {
            inner.look_at(letter);
        }
        inner.letters = letters;
    }

    /// Calls `hook` with each message before the message counts as received.
    pub fn before_commit(&self, hook: CommitHook) {
        self.lock().session.before_commit(hook);
    }

    /// Lets events of model calls say what they cost.
    pub fn price_with(&self, price: Price) {
        self.lock().price = Some(price);
    }

    /// Takes the mail that is there. Returns how many letters wait to be said to the model.
    pub fn take_mail(&self) -> Result<usize, ReceiveError> {
        let mut inner = self.lock();
        inner.take_mail()?;
        Ok(inner.letters.len())
    }

    /// The letters that wait to be said to the model.
    pub fn waiting_letters(&self) -> Vec<MailItem> {
        self.lock().letters.iter().cloned().collect()
    }

    /// The letters that wait, those that come now included, as they are said to the model. They wait
    /// until the journal says that they were said.
    pub fn letters(&self) -> Vec<UserMessage> {
        let mut inner = self.lock();
        if let Err(error) = inner.take_mail() {
            // It stays where it is, and is found by the next try.
            warn!("mail could not be read: {error}");
        }
        inner.said_letters()
    }

    /// The letters that wait, as a JSON list for a tool's result. They count as said when that result
    /// is in the journal.
    pub fn read_inbox(&self) -> Result<ToolOutput, ReceiveError> {
        let mut inner = self.lock();
        inner.take_mail()?;
        // What does not fit into a result is said right after it, like all mail.
        let mut room = LISTED_BYTES;
        let letters = inner.letters.iter();
        let letters = letters.filter_map(|letter| Some((letter.number, letter.listed()?)));
        let (mail, list): (Vec<u64>, Vec<Value>) = letters
            .take_while(|(_, letter)| {
                let size = letter.to_string().len();
                let fits = size <= room;
                room = room.saturating_sub(size);
                fits
            })
            .unzip();
        Ok(ToolOutput {
            text: Value::Array(list).to_string(),
            mail,
            ..ToolOutput::default()
        })
    }

    /// Whether there is mail in the inbox. Takes nothing.
    pub fn has_unread(&self) -> bool {
        let inner = self.lock();
        let is_time = inner.mail_again_at.is_none_or(|at| at <= Instant::now());
        is_time && inner.session.has_unread()
    }

    /// When mail that could not be taken is to be tried again.
    pub fn mail_again_at(&self) -> Option<Instant> {
        self.lock().mail_again_at
    }

    /// Whether mail came that shows that a later life has begun.
    pub fn is_replaced(&self) -> bool {
        self.lock().is_replaced
    }

    /// Enters a phase, and lets the world know.
    pub fn set_phase(&self, phase: Phase, waiting_for: Option<WaitingFor>, reason: Option<String>) {
        self.lock().set_phase(phase, waiting_for, reason);
    }

    /// Says that the member works, and is about to ask its model.
    pub fn begin_turn(&self) {
        self.lock().begin_turn();
    }

    /// The phase now.
    pub fn phase(&self) -> Phase {
        self.lock().live.state().phase
    }

    /// Says which task the member works on.
    pub fn set_task(&self, task: Option<TaskId>) {
        let mut inner = self.lock();
        if inner.live.state().task != task {
            inner.live.set_task(task);
            inner.write_state();
        }
    }

    fn role_of(&self, name: &AgentName) -> Option<String> {
        let roster = self.team.roster().ok()?;
        Some(roster.member(name)?.role.clone())
    }

    /// Says that the process is ready, in the event log.
    pub fn announce(&self) {
        let mut inner = self.lock();
        let pid = std::process::id();
        let role = match &self.owner {
            Recipient::Lead => None,
            Recipient::Member(name) => self.role_of(name),
        };
        inner.event(EventKind::Ready {
            member: self.owner.clone(),
            incarnation: self.incarnation,
            pid,
            role,
        });
        let (owner, incarnation) = (&self.owner, self.incarnation);
        info!("{owner} is ready (process {pid}, incarnation {incarnation})");
        if let WatchMode::Polling(reason) = inner.session.watch_mode() {
            let reason = reason.to_string();
            warn!("polling for mail every 0.2 s: {reason}");
            inner.event(EventKind::Polling {
                member: self.owner.clone(),
                reason,
            });
        }
    }

    /// The plan that was submitted last.
    pub fn plan(&self) -> Option<PlanRecord> {
        self.lock().plan.clone()
    }

    /// Takes note of a plan that was submitted.
    pub fn keep_plan(&self, plan: PlanRecord) -> Result<(), PathError> {
        let mut inner = self.lock();
        let record = <JournalRecord>::Plan(plan.clone());
        inner.session.journal().append_unsynced(&record)?;
        inner.plan = Some(plan);
        Ok(())
    }

    /// The number of the next report.
    pub fn next_report(&self) -> u64 {
        self.lock().reports + 1
    }

    /// Takes note that the report with this number was sent, or need not be.
    pub fn keep_report(&self, n: u64) -> Result<(), PathError> {
        let mut inner = self.lock();
        let record = <JournalRecord>::Report(ReportRecord { n });
        inner.session.journal().append_unsynced(&record)?;
        inner.reports = inner.reports.max(n);
        Ok(())
    }

    /// Begins a new conversation in the same journal. What was said before stays there; letters that
    /// were said are not said again.
    pub fn begin_anew(&self, conversation: &mut Conversation) -> Result<(), PathError> {
        let mut inner = self.lock();
        let fresh = [
            agent::Record::Compaction(CompactionRecord {
                archive: "the journal".to_owned(),
                summarised: false,
                turns: Vec::new(),
                usage: None,
            }),
            agent::Record::Ended(EndedRecord {
                reason: "a new conversation".to_owned(),
            }),
        ];
        for record in fresh {
            inner.session.journal().append_unsynced(&record)?;
            conversation.apply(record);
        }
        Ok(())
    }

    /// Prepares to wait, see [`MemberSession::settle`].
    pub fn settle(&self) -> Result<Settled, ReceiveError> {
        let mut inner = self.lock();
        inner.redate();
        let is_done = inner.catch_up();
        let mut settled = inner.session.settle()?;
        if !is_done {
            let again = Instant::now() + SHOW_AGAIN;
            settled.wake_at = Some(settled.wake_at.map_or(again, |at| at.min(again)));
        }
        Ok(settled)
    }

    /// Returns when a watched file or folder has changed since the last time.
    pub async fn changed(&self) {
        self.changes.changed().await;
    }

    /// Returns when the team folder was removed, moved away or replaced: whatever is written from
    /// then on would go to another team, or nowhere.
    pub async fn team_gone(&self) {
        self.folder.gone().await;
    }

    /// Whether the team folder was removed, moved away or replaced.
    pub fn is_team_gone(&self) -> bool {
        self.folder.is_gone()
    }

    /// Asks for news of the board too.
    pub fn watch_board(&self) {
        let folder = self.team.layout().tasks_dir();
        self.lock().session.watch_folder(&folder);
    }

    /// Asks for news of requests too, or no more.
    pub fn watch_requests(&self, wanted: bool) {
        let folder = self.team.layout().requests_dir();
        let mut inner = self.lock();
        if wanted {
            inner.session.watch_folder(&folder);
        } else {
            inner.session.unwatch_folder(&folder);
        }
    }

    /// Ends in good order: the roster says `shutdown`, the inbox shows unread mail only, and the
    /// lock is free when the last clone is gone.
    pub fn close(&self) -> Result<(), RosterError> {
        let mut inner = self.lock();
        inner.set_phase(Phase::Shutdown, None, None);
        inner.status.finish(&MemberStatus::Shutdown)?;
        let _ = inner.session.set_aside();
        info!("ended cleanly");
        Ok(())
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Inner> {
        // Nothing that is done under the lock leaves a half-done state.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
