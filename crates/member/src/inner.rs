//! The state of a runtime, under its lock: pending mail, live state and events.

use crate::explore::HelperModel;
use crate::live::Live;
use crate::logging::excerpt;
use crate::mail::MailItem;
use crate::status::RosterStatus;
use llm::Usage;
use protocol::{
    DeadLetter, Event, EventKind, Extra, Incarnation, Line, LiveState, MemberStatus, Message,
    Money, NoticeCause, Party, Phase, PlanRecord, Recipient, Sender, WaitingFor,
};
use rules::{Conversation, Delivery, judge};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use teamdir::{MemberSession, ReceiveError, TeamDir, now};
use tools::Confinement;
use tracing::{info, warn};

/// How long to wait after mail could not be read: the disk may be full for a while.
const MAIL_RETRY: Duration = Duration::from_secs(1);
/// How many events are kept while the event log cannot be written.
const MAX_PENDING_EVENTS: usize = 10_000;
/// The remark on a message to an incarnation that does not exist.
const NO_SUCH_INCARNATION: &str = "it names an incarnation that does not exist";

/// A tree of a member's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnTree {
    pub path: PathBuf,
    /// Folders outside of it that its commands need to read.
    pub readable: Vec<PathBuf>,
}

/// The models that a member asks, each by the name under which it was chosen.
pub struct AskedModels {
    /// The one that is asked if it can be reached.
    pub first: String,
    /// The one that is asked now.
    pub current: String,
    pub price: PriceOfCall,
}

/// What a call of a model costs, if it is known.
pub type PriceOfCall = Box<dyn Fn(&str, &Usage) -> Option<Money> + Send>;

/// Handles mail before the model sees it.
pub trait MailHandler: Send {
    /// Decides what a message means. Called at least once for each message; again, in the next
    /// incarnation, for one that the model has not seen.
    fn handle(&mut self, message: &Message) -> Treatment;
}

/// Whether the model sees a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Treatment {
    /// The model sees it.
    Show,
    /// The model sees it with a remark.
    ShowWith(String),
    /// The model does not see it.
    Hide,
}

pub(crate) struct Inner {
    pub(crate) team: TeamDir,
    pub(crate) session: MemberSession,
    pub(crate) live: Live,
    pub(crate) status: RosterStatus,
    pub(crate) mail_handler: Option<Box<dyn MailHandler>>,
    pub(crate) pending_mail: VecDeque<MailItem>,
    pub(crate) mail: u64,
    pub(crate) plan: Option<PlanRecord>,
    pub(crate) reports: u64,
    pub(crate) has_later_incarnation: bool,
    /// Events that wait to be written: that a turn begins is written together with its mail, and
    /// what a full disk did not take is tried again.
    pub(crate) pending_events: Vec<Event>,
    /// The live state could not be written.
    pub(crate) is_state_unwritten: bool,
    /// Absent until they are chosen.
    pub(crate) models: Option<AskedModels>,
    /// The model of the member's helpers, once it was chosen.
    pub(crate) helper: Option<HelperModel>,
    /// When mail that could not be read is tried again.
    pub(crate) mail_retry_at: Option<Instant>,
    /// The tree that the member works in, if not in the workspace, and what it borrows from.
    pub(crate) tree: Option<OwnTree>,
    /// What commands run in, once it was chosen.
    pub(crate) confinement: Option<Arc<Confinement>>,
}

impl Inner {
    pub(crate) fn set_phase(
        &mut self,
        phase: Phase,
        waiting_for: Option<WaitingFor>,
        reason: Option<String>,
    ) {
        self.set_phase_with(phase, waiting_for, reason, None);
    }

    /// Enters a phase and, in the same write, begins a tool or model call.
    pub(crate) fn set_phase_with(
        &mut self,
        phase: Phase,
        waiting_for: Option<WaitingFor>,
        reason: Option<String>,
        activity: Option<&str>,
    ) {
        let event = self.enter_phase(phase, waiting_for, reason, activity);
        self.events(event);
        if phase == Phase::Shutdown {
            self.write_state();
        }
    }

    /// Enters the phase `working` for a tool that is about to be started, which writes the live state.
    pub(crate) fn resume(&mut self) {
        if self.live.enter(Phase::Working, None, None) {
            let event = self.phase_entered(Phase::Working, None);
            self.event(event);
        }
    }

    /// Enters the phase of a turn. Its event is written with those of the mail, which come next.
    pub(crate) fn begin_turn(&mut self) {
        let event = self.enter_phase(Phase::Working, None, None, Some("model"));
        let time = now();
        self.pending_events
            .extend(event.map(|kind| Event::new(time, kind)));
    }

    /// Writes a phase to the live state, and returns its event if the phase has changed.
    fn enter_phase(
        &mut self,
        phase: Phase,
        waiting_for: Option<WaitingFor>,
        reason: Option<String>,
        activity: Option<&str>,
    ) -> Option<EventKind> {
        let changed = self.live.enter(phase, waiting_for, reason.clone());
        if activity.is_some() {
            self.live.set_activity(activity);
        }
        // The event of the last phase is written before the live state: whoever reads `shutdown` in
        // the live state checks no further, while a process that dies in between is found dead.
        if phase != Phase::Shutdown {
            self.write_state();
        }
        changed.then(|| self.phase_entered(phase, reason))
    }

    /// Shows a phase that was just entered in the roster, and returns its event.
    fn phase_entered(&mut self, phase: Phase, reason: Option<String>) -> EventKind {
        let status = match phase {
            Phase::Starting | Phase::Working | Phase::Waiting => MemberStatus::Working,
            Phase::Idle | Phase::Failed => MemberStatus::Idle,
            Phase::Shutdown => MemberStatus::Shutdown,
        };
        if phase != Phase::Shutdown {
            self.status.set(status);
        }
        let (member, incarnation) = self.who();
        EventKind::State {
            member,
            incarnation,
            phase,
            reason,
        }
    }

    /// Writes the live state again if the clock was set back since, or if the file says something
    /// else: it may have been edited, or come with a copy of the folder.
    pub(crate) fn correct_dates(&mut self) {
        let is_corrected = self.live.correct_dates(now());
        let owner = self.session.guard().owner().clone();
        let shown = self.team.live_state(&owner).ok().flatten();
        let ours = self.live.state();
        let is_ours = shown.is_some_and(|shown| {
            let same = |a: &LiveState| (a.incarnation, a.phase, a.since, a.progress_at);
            same(&shown) == same(ours)
        });
        if is_corrected || !is_ours {
            self.write_state();
        }
    }

    pub(crate) fn write_state(&mut self) {
        let written = self
            .team
            .write_live_state(self.session.guard(), self.live.state());
        if let Err(error) = &written
            && !self.is_state_unwritten
        {
            warn!("the live state was not written: {error}");
        }
        self.is_state_unwritten = written.is_err();
    }

    /// Tries again what could not be written. Returns whether nothing is left.
    pub(crate) fn retry_writes(&mut self) -> bool {
        if self.is_state_unwritten {
            self.write_state();
        }
        self.events([]);
        !self.is_state_unwritten && self.pending_events.is_empty()
    }

    pub(crate) fn who(&self) -> (Recipient, Incarnation) {
        let guard = self.session.guard();
        (guard.owner().clone(), guard.incarnation())
    }

    /// Writes an event. One that cannot be written now is written later.
    pub(crate) fn event(&mut self, kind: EventKind) {
        self.events([kind]);
    }

    /// Writes events in one go, behind those that are pending.
    pub(crate) fn events(&mut self, kinds: impl IntoIterator<Item = EventKind>) {
        let time = now();
        let events = kinds.into_iter().map(|kind| Event::new(time, kind));
        self.pending_events.extend(events);
        if self.team.log_events(&self.pending_events).is_ok() {
            self.pending_events.clear();
        }
        // They only inform people, so the memory they take is limited.
        let too_many = self.pending_events.len().saturating_sub(MAX_PENDING_EVENTS);
        self.pending_events.drain(..too_many);
    }

    /// Receives all mail that is there. After a failure the next try has to wait.
    pub(crate) fn receive_mail(&mut self) -> Result<(), ReceiveError> {
        let taken = self.receive_all();
        // Where there was no mail to take it along.
        self.events([]);
        self.mail_retry_at = match taken {
            Ok(()) => None,
            Err(_) => Some(Instant::now() + MAIL_RETRY),
        };
        taken
    }

    fn receive_all(&mut self) -> Result<(), ReceiveError> {
        while let Some(delivery) = self.session.try_next()? {
            let (owner, _) = self.who();
            for note in &delivery.notes {
                info!("mail: {note}");
            }
            for bad in &delivery.bad {
                warn!("broken mail ({}): {}", bad.reason, excerpt(&bad.raw));
            }
            let delivered = delivery.mail.iter().map(|entry| EventKind::Deliver {
                id: entry.id.clone(),
                to: owner.clone(),
            });
            self.events(delivered.collect::<Vec<_>>());
            for entry in &delivery.mail {
                self.mail += 1;
                let mut item = MailItem::new(self.mail, entry.decode());
                info!("mail from {}", excerpt(&item.summary()));
                self.handle_item(&mut item);
                self.pending_mail.push_back(item);
            }
        }
        Ok(())
    }

    /// Removes mail that the journal has as given to the model.
    pub(crate) fn mark_delivered(&mut self, numbers: &[u64]) {
        self.pending_mail
            .retain(|item| !numbers.contains(&item.number));
    }

    pub(crate) fn handle_item(&mut self, item: &mut MailItem) {
        let Line::Message(message) = &item.line else {
            return;
        };
        let (owner, incarnation) = self.who();
        let treatment = match judge(message, incarnation, Conversation::Kept) {
            Delivery::Deliver => match &mut self.mail_handler {
                Some(mail_handler) => mail_handler.handle(message),
                None => Treatment::Show,
            },
            Delivery::DeliverMarked(remark) => Treatment::ShowWith(remark),
            Delivery::DeadLetter { reason } => {
                self.dead_letter(message, &owner, &reason);
                Treatment::Hide
            }
            // Anybody can write any number; only the roster says whether there is a later incarnation.
            Delivery::ReaderReplaced if self.is_later_incarnation_known(&owner, incarnation) => {
                self.has_later_incarnation = true;
                Treatment::Show
            }
            Delivery::ReaderReplaced if message.body.is_control() => {
                self.dead_letter(message, &owner, NO_SUCH_INCARNATION);
                Treatment::Hide
            }
            Delivery::ReaderReplaced => Treatment::ShowWith(NO_SUCH_INCARNATION.to_owned()),
        };
        match treatment {
            Treatment::Show => {}
            Treatment::ShowWith(remark) => item.remark = Some(remark),
            Treatment::Hide => item.shown = false,
        }
    }

    /// Whether the roster knows a later incarnation of this member.
    fn is_later_incarnation_known(&self, owner: &Recipient, incarnation: Incarnation) -> bool {
        let Ok(roster) = self.team.roster() else {
            return false;
        };
        let newest = match owner {
            Recipient::Lead => Some(roster.lead_incarnation),
            Recipient::Member(name) => roster.member(name).map(|member| member.incarnation),
        };
        newest.is_some_and(|newest| newest > incarnation)
    }

    /// Puts a message that may not be acted on among the dead letters, and tells its sender.
    fn dead_letter(&mut self, message: &Message, owner: &Recipient, reason: &str) {
        let id = message.id.as_ref().map_or("unnamed", |id| id.as_str());
        let dead_letter = DeadLetter {
            id: id.to_owned(),
            time: now(),
            inbox: owner.clone(),
            reason: reason.to_owned(),
            line: serde_json::to_value(message).ok(),
            raw: None,
            raw_hex: None,
            extra: Extra::new(),
        };
        warn!("dead letter: {reason}");
        if self.team.add_dead_letter(&dead_letter).is_err() {
            return;
        }
        let sender = match &message.from {
            Some(Sender::Party(Party::Lead)) => Recipient::Lead,
            Some(Sender::Party(Party::Member(name))) => Recipient::Member(name.clone()),
            Some(Sender::Party(Party::User | Party::System) | Sender::Stranger(_)) | None => return,
        };
        let text = format!(
            "Your {} to {owner} was not delivered: {reason}",
            message.body.kind()
        );
        let id = format!("dead/{owner}/{id}");
        let _ = team::notice(&self.team, sender, NoticeCause::DeadLetter, &id, &text);
    }
}
