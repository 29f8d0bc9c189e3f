//! What a desk keeps, under its lock: mail on its way to the model, and what the world is shown.

use crate::live::Live;
use crate::logging::excerpt;
use crate::mail::MailItem;
use crate::status::StatusKeeper;
use llm::Usage;
use protocol::{
    DeadLetter, Event, EventKind, Extra, Incarnation, Line, LiveState, MemberStatus, Message,
    Money, Party, Phase, PlanRecord, Recipient, Sender, UserMessage, WaitingFor,
};
use rules::{Delivery, Recovered as Recollection, judge};
use std::collections::VecDeque;
use std::time::{Duration, Instant};
use teamdir::{MemberSession, ReceiveError, TeamDir, now};
use tracing::{info, warn};

/// How long to wait after mail could not be taken: the disk may be full for a while.
const MAIL_AGAIN: Duration = Duration::from_secs(1);
/// How many events are kept while the log cannot be written.
const MOST_UNTOLD: usize = 10_000;
/// What is said of a message for a life that has not begun.
const NO_SUCH_INCARNATION: &str = "it names an incarnation that does not exist";

/// What a call of the model costs, if anybody knows.
pub type Price = Box<dyn Fn(&Usage) -> Option<Money> + Send>;

/// Looks at letters before the model does.
pub trait MailHandler: Send {
    /// Decides what a message means. Called at least once for each message; again, in the next
    /// life, for one that was not said to the model.
    fn look(&mut self, message: &Message) -> Treatment;
}

/// What becomes of a letter.
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
    pub(crate) status: StatusKeeper,
    pub(crate) mail_handler: Option<Box<dyn MailHandler>>,
    pub(crate) letters: VecDeque<MailItem>,
    pub(crate) mail: u64,
    pub(crate) plan: Option<PlanRecord>,
    pub(crate) reports: u64,
    pub(crate) is_replaced: bool,
    /// Events that wait to be written: that a turn begins is written together with its mail, and
    /// what a full disk did not take is tried again.
    pub(crate) pending_events: Vec<Event>,
    /// The live state could not be written.
    pub(crate) is_unshown: bool,
    /// What a call of the model costs.
    pub(crate) price: Option<Price>,
    /// Mail could not be taken; until then nobody tries again.
    pub(crate) mail_again_at: Option<Instant>,
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

    /// Says that a turn begins. The event is written with those of its mail, which comes next.
    pub(crate) fn begin_turn(&mut self) {
        let event = self.enter_phase(Phase::Working, None, None, Some("model"));
        let time = now();
        self.pending_events
            .extend(event.map(|kind| Event { time, kind }));
    }

    /// Shows a phase to the world, and returns the event that tells of it if it is another one.
    fn enter_phase(
        &mut self,
        phase: Phase,
        waiting_for: Option<WaitingFor>,
        reason: Option<String>,
        activity: Option<&str>,
    ) -> Option<EventKind> {
        let changed = self.live.enter(phase, waiting_for, reason.clone());
        if activity.is_some() {
            self.live.act(activity);
        }
        // The last phase is told before it is shown: whoever sees it shown takes it for the truth
        // and looks no further, while a life that dies between the two is found dead.
        if phase != Phase::Shutdown {
            self.write_state();
        }
        if !changed {
            return None;
        }
        let status = match phase {
            Phase::Starting | Phase::Working | Phase::Waiting => MemberStatus::Working,
            Phase::Idle | Phase::Failed => MemberStatus::Idle,
            Phase::Shutdown => MemberStatus::Shutdown,
        };
        if phase != Phase::Shutdown {
            self.status.set(status);
        }
        let (member, incarnation) = self.who();
        Some(EventKind::State {
            member,
            incarnation,
            phase,
            reason,
        })
    }

    /// Says the state anew if the clock was set back since, or if the file says something else: it
    /// may have been edited, or come with a copy of the folder.
    pub(crate) fn redate(&mut self) {
        let is_redated = self.live.redate(now());
        let owner = self.session.guard().owner().clone();
        let shown = self.team.live_state(&owner).ok().flatten();
        let ours = self.live.state();
        let is_ours = shown.is_some_and(|shown| {
            let same = |a: &LiveState| (a.incarnation, a.phase, a.since, a.progress_at);
            same(&shown) == same(ours)
        });
        if is_redated || !is_ours {
            self.write_state();
        }
    }

    pub(crate) fn write_state(&mut self) {
        let written = self
            .team
            .write_live_state(self.session.guard(), self.live.state());
        if let Err(error) = &written
            && !self.is_unshown
        {
            warn!("the live state was not written: {error}");
        }
        self.is_unshown = written.is_err();
    }

    /// Tries again to show and tell what could not be. Returns whether nothing is left of it.
    pub(crate) fn catch_up(&mut self) -> bool {
        if self.is_unshown {
            self.write_state();
        }
        self.events([]);
        !self.is_unshown && self.pending_events.is_empty()
    }

    pub(crate) fn who(&self) -> (Recipient, Incarnation) {
        let guard = self.session.guard();
        (guard.owner().clone(), guard.incarnation())
    }

    /// Notes an event. One that cannot be written now is written later.
    pub(crate) fn event(&mut self, kind: EventKind) {
        self.events([kind]);
    }

    /// Notes events in one go, behind those that wait to be written.
    pub(crate) fn events(&mut self, kinds: impl IntoIterator<Item = EventKind>) {
        let time = now();
        let news = kinds.into_iter().map(|kind| Event { time, kind });
        self.pending_events.extend(news);
        if self.team.log_events(&self.pending_events).is_ok() {
            self.pending_events.clear();
        }
        // They only tell people, so there is a limit to the memory they are worth.
        let too_many = self.pending_events.len().saturating_sub(MOST_UNTOLD);
        self.pending_events.drain(..too_many);
    }

    /// Takes all mail that is there. After a failure nobody should try again at once.
    pub(crate) fn take_mail(&mut self) -> Result<(), ReceiveError> {
        let taken = self.take_all();
        // Where there was no mail to take it along.
        self.events([]);
        self.mail_again_at = match taken {
            Ok(()) => None,
            Err(_) => Some(Instant::now() + MAIL_AGAIN),
        };
        taken
    }

    fn take_all(&mut self) -> Result<(), ReceiveError> {
        while let Some(delivery) = self.session.try_next()? {
            let (owner, _) = self.who();
            for note in &delivery.notes {
                info!("mail: {note}");
            }
            for bad in &delivery.bad {
                warn!("broken mail ({}): {}", bad.reason, excerpt(&bad.raw));
            }
            let delivered = delivery.mail.iter().map(|received| EventKind::Deliver {
                id: received.id.clone(),
                to: owner.clone(),
            });
            self.events(delivered.collect::<Vec<_>>());
            for received in delivery.mail {
                self.mail += 1;
                let mut letter = MailItem::new(self.mail, received.line);
                info!("mail from {}", excerpt(&letter.words()));
                self.look_at(&mut letter);
                self.letters.push_back(letter);
            }
        }
        Ok(())
    }

    /// The letters as they are said to the model. They wait until the journal says that they were
    /// said.
    pub(crate) fn said_letters(&self) -> Vec<UserMessage> {
        self.letters.iter().map(MailItem::said).collect()
    }

    /// Takes note of letters that the journal has as said.
    pub(crate) fn forget_said(&mut self, numbers: &[u64]) {
        self.letters
            .retain(|letter| !numbers.contains(&letter.number));
    }

    pub(crate) fn look_at(&mut self, letter: &mut MailItem) {
        let Line::Message(message) = &letter.line else {
            return;
        };
        let (owner, incarnation) = self.who();
        let treatment = match judge(message, incarnation, Recollection::Kept) {
            Delivery::Deliver => match &mut self.mail_handler {
                Some(mail_handler) => mail_handler.look(message),
                None => Treatment::Show,
            },
            Delivery::DeliverMarked(remark) => Treatment::ShowWith(remark),
            Delivery::DeadLetter { reason } => {
                self.bury(message, &owner, &reason);
                Treatment::Hide
            }
            // Anybody can write any number; whether there is a later life is for the roster to say.
            Delivery::Zombie if self.is_outlived(&owner, incarnation) => {
                self.is_replaced = true;
                Treatment::Show
            }
            Delivery::Zombie if message.body.is_control() => {
                self.bury(message, &owner, NO_SUCH_INCARNATION);
                Treatment::Hide
            }
            Delivery::Zombie => Treatment::ShowWith(NO_SUCH_INCARNATION.to_owned()),
        };
        match treatment {
            Treatment::Show => {}
            Treatment::ShowWith(remark) => letter.remark = Some(remark),
            Treatment::Hide => letter.shown = false,
        }
    }

    /// Whether the roster knows a later life of this member.
    fn is_outlived(&self, owner: &Recipient, incarnation: Incarnation) -> bool {
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
    fn bury(&mut self, message: &Message, owner: &Recipient, reason: &str) {
        let id = message.id.as_ref().map_or("unnamed", |id| id.as_str());
        let letter = DeadLetter {
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
        if self.team.add_dead_letter(&letter).is_err() {
            return;
        }
        let sender = match &message.from {
            Some(Sender::Party(Party::Lead)) => Recipient::Lead,
            Some(Sender::Party(Party::Member(name))) => Recipient::Member(name.clone()),
            Some(Sender::Party(Party::User | Party::System) | Sender::Stranger(_)) | None => return,
        };
        let words = format!(
            "Your {} to {owner} was not delivered: {reason}",
            message.body.kind()
        );
        let _ = team::notice(&self.team, sender, &format!("dead/{owner}/{id}"), &words);
    }
}
