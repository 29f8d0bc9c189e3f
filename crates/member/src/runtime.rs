//! The runtime itself.

use crate::asking::Asking;
use crate::engine::EngineState;
use crate::inner::{AskedModels, Inner, MailHandler};
use crate::live::Live;
use crate::logging::{LogOptions, log_to_member};
use crate::mail::MailItem;
use crate::mcp::McpState;
use crate::recovered::Recovered;
use crate::status::RosterStatus;
use agent::Conversation;
use protocol::{
    AgentName, EventKind, Incarnation, JournalRecord, MemberStatus, Party, Phase, PlanRecord,
    Recipient, ReportRecord, SessionMark, TaskId, UserMessage, WaitingFor,
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use team::Actor;
use teamdir::{
    Changes, CommitHook, FolderWatch, MemberSession, PathError, ReceiveError, RosterError,
    SessionError, TeamDir, WaitPlan, WatchChoice, WatchMode,
};
use tools::ToolOutput;
use tracing::{info, warn};

/// How much mail a tool's result may hold, in bytes: a compaction before the next request could shorten
/// a longer one, and nobody could tell which messages the model was given.
const MAX_LISTED_BYTES: usize = agent::KEPT_WHOLE - 500;
/// The result of a tool that reads mail, if there is none.
const NO_MAIL: &str = "There is no unread mail.";
/// How long to wait after something could not be written: the disk may be full for a while.
const WRITE_RETRY: Duration = Duration::from_secs(1);

/// Why this process cannot be the member.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    #[error(transparent)]
    MemberSession(#[from] SessionError),
    /// Its journal could not be read.
    #[error(transparent)]
    Recovered(#[from] PathError),
}

/// The runtime of a member. Clones share it.
#[derive(Clone)]
pub struct MemberRuntime {
    team: TeamDir,
    owner: Recipient,
    incarnation: Incarnation,
    pub(crate) changes: Changes,
    folder: Arc<FolderWatch>,
    /// Which calls wait for a person. A lock of its own: deciding takes longer than what the other is for.
    pub(crate) asking: Arc<Mutex<Option<Asking>>>,
    pub(crate) engine: Arc<EngineState>,
    pub(crate) mcp: Arc<McpState>,
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
        // The model's reply is synced before the agent acts on it, and the mail is synced with it.
        session.sync_later();
        let changes = session.changes();
        let folder = session.watch_team_folder(team);
        let (owner, incarnation) = (
            session.guard().owner().clone(),
            session.guard().incarnation(),
        );
        let mut recovered = Recovered::read(team, &owner)?;
        let mut inner = Inner {
            team: team.clone(),
            live: Live::new(incarnation, recovered.tally.clone()),
            status: RosterStatus::new(team, &owner),
            mail_handler: None,
            pending_mail: recovered.take_pending_mail(),
            mail: recovered.mail,
            plan: recovered.plan.clone(),
            reports: recovered.reports,
            has_later_incarnation: false,
            pending_events: Vec::new(),
            is_state_unwritten: false,
            models: None,
            helper: None,
            mail_retry_at: None,
            tree: None,
            confinement: None,
            session,
        };
        inner.write_state();
        let unlogged = team::pending_events_of(team, &owner, &recovered.last_taken);
        inner.events(unlogged);
        let runtime = Self {
            team: team.clone(),
            owner,
            incarnation,
            changes,
            folder: Arc::new(folder),
            asking: Arc::default(),
            engine: Arc::default(),
            mcp: Arc::default(),
            inner: Arc::new(Mutex::new(inner)),
        };
        Ok((runtime, recovered))
    }

    /// The team.
    pub const fn team(&self) -> &TeamDir {
        &self.team
    }

    pub const fn owner(&self) -> &Recipient {
        &self.owner
    }

    pub const fn incarnation(&self) -> Incarnation {
        self.incarnation
    }

    /// The member as an actor.
    pub fn me(&self) -> Actor {
        Actor {
            party: Party::from(self.owner.clone()),
            incarnation: Some(self.incarnation),
        }
    }

    /// Lets `mail_handler` handle all mail from now on, pending mail included.
    pub fn set_mail_handler(&self, mail_handler: Box<dyn MailHandler>) {
        let mut inner = self.lock();
        inner.mail_handler = Some(mail_handler);
        let mut items = std::mem::take(&mut inner.pending_mail);
        for item in &mut items {
            inner.handle_item(item);
        }
        inner.pending_mail = items;
    }

    /// Calls `hook` with each message before the message counts as received.
    pub fn before_commit(&self, hook: CommitHook) {
        self.lock().session.before_commit(hook);
    }

    /// Sets the models whose calls are reported as events.
    pub fn set_models(&self, models: AskedModels) {
        self.lock().models = Some(models);
    }

    /// Receives the mail that is there. Returns how many messages are pending.
    pub fn receive_mail(&self) -> Result<usize, ReceiveError> {
        let mut inner = self.lock();
        inner.receive_mail()?;
        Ok(inner.pending_mail.len())
    }

    /// The mail that the model has not seen.
    pub fn pending_mail(&self) -> Vec<MailItem> {
        self.lock().pending_mail.iter().cloned().collect()
    }

    /// Receives mail, and returns all pending mail as input for the model. It stays pending until
    /// the journal says that the model was given it.
    pub fn mail_for_model(&self) -> Vec<UserMessage> {
        let mut inner = self.lock();
        if let Err(error) = inner.receive_mail() {
            // It stays where it is, and is found by the next try.
            warn!("mail could not be read: {error}");
        }
        let items: Vec<MailItem> = inner.pending_mail.iter().cloned().collect();
        drop(inner);
        // Reading images takes time, in which nobody should wait for the lock.
        items
            .iter()
            .map(|item| self.mail_with_images(item))
            .collect()
    }

    /// The pending mail for a tool's result. It counts as delivered when that result is in the journal.
    pub fn read_inbox(&self) -> Result<ToolOutput, ReceiveError> {
        let mut inner = self.lock();
        inner.receive_mail()?;
        // Mail that does not fit is given to the model right after the result.
        let mut room = MAX_LISTED_BYTES;
        let items = inner.pending_mail.iter();
        let items = items.filter_map(|item| Some((item.number, item.listed()?)));
        let (mail, list): (Vec<u64>, Vec<String>) = items
            .take_while(|(_, item)| {
                let fits = item.len() < room;
                room = room.saturating_sub(item.len() + 1);
                fits
            })
            .unzip();
        let text = match list.is_empty() {
            true => NO_MAIL.to_owned(),
            false => list.join("\n"),
        };
        Ok(ToolOutput {
            text,
            mail,
            ..ToolOutput::default()
        })
    }

    /// Whether there is mail in the inbox. Takes nothing.
    pub fn has_unread(&self) -> bool {
        let inner = self.lock();
        let is_time = inner.mail_retry_at.is_none_or(|at| at <= Instant::now());
        is_time && inner.session.has_unread()
    }

    /// When mail that could not be taken is to be tried again.
    pub fn mail_retry_at(&self) -> Option<Instant> {
        self.lock().mail_retry_at
    }

    /// Whether mail came that shows that a later incarnation runs.
    pub fn has_later_incarnation(&self) -> bool {
        self.lock().has_later_incarnation
    }

    /// Enters a phase, and shows it in live state, roster and event log.
    pub fn set_phase(&self, phase: Phase, waiting_for: Option<WaitingFor>, reason: Option<String>) {
        self.lock().set_phase(phase, waiting_for, reason);
    }

    /// Enters the phase `working`, before mail is received and the model is asked.
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

    pub(crate) fn role_of(&self, name: &AgentName) -> Option<String> {
        let roster = self.team.roster().ok()?;
        Some(roster.member(name)?.spec.role.clone())
    }

    /// Writes to the event log that the process is ready.
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

    /// Records a plan that was submitted.
    pub fn record_plan(&self, plan: PlanRecord) -> Result<(), PathError> {
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

    /// Records that the report with this number was sent, or need not be.
    pub fn record_report(&self, n: u64) -> Result<(), PathError> {
        let mut inner = self.lock();
        let record = <JournalRecord>::Report(ReportRecord { n });
        inner.session.journal().append_unsynced(&record)?;
        inner.reports = inner.reports.max(n);
        Ok(())
    }

    /// Starts a new conversation in the same journal, as this session if the member has sessions. Mail that
    /// the model was given is not given again.
    pub fn start_new_conversation(
        &self,
        conversation: &mut Conversation,
        session: Option<SessionMark>,
    ) -> Result<(), PathError> {
        let mut inner = self.lock();
        for record in agent::new_conversation(session) {
            inner.session.journal().append_unsynced(&record)?;
            conversation.apply(record);
        }
        Ok(())
    }

    /// Prepares to wait, see [`MemberSession::prepare_to_wait`].
    pub fn prepare_to_wait(&self) -> Result<WaitPlan, ReceiveError> {
        let mut inner = self.lock();
        inner.correct_dates();
        let is_done = inner.retry_writes();
        let mut plan = inner.session.prepare_to_wait()?;
        if !is_done {
            let again = Instant::now() + WRITE_RETRY;
            plan.wake_at = Some(plan.wake_at.map_or(again, |at| at.min(again)));
        }
        Ok(plan)
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

    /// Watches the board too.
    pub fn watch_board(&self) {
        let folder = self.team.board_news_dir();
        self.lock().session.watch_folder(&folder);
    }

    /// Watches the requests too, or no more.
    pub fn watch_requests(&self, wanted: bool) {
        let folder = self.team.layout().requests_dir();
        let mut inner = self.lock();
        if wanted {
            inner.session.watch_folder(&folder);
        } else {
            inner.session.unwatch_folder(&folder);
        }
    }

    /// Ends cleanly: the roster says `shutdown`, the inbox shows unread mail only, and the
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
