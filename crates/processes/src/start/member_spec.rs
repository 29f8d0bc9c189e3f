//! What a member is to be, and its entry in the roster.

use crate::start::spawn::SpawnError;
use protocol::{
    AgentName, ConversationRecord, Incarnation, JournalLine, JournalRecord, Member, MemberStatus,
    MessageId, MessageSource, Recipient, RestartPolicy,
};
use teamdir::{PathError, RosterError, TeamDir, new_message_id, now};

/// Whom to start, and as what. What is not said stays as it was if the member is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberSpec {
    /// Its name.
    pub name: AgentName,
    /// What it is for.
    pub role: String,
    /// What it is to do first.
    pub prompt: Option<String>,
    /// The model it thinks with.
    pub model: Option<String>,
    /// The program that takes part in its place.
    pub exec: Option<String>,
    /// Whether it needs an approved plan before it may change anything.
    pub require_plan: Option<bool>,
    /// What happens when its process dies.
    pub restart: Option<RestartPolicy>,
    /// Whether it takes no task from the board by itself.
    pub no_claim: Option<bool>,
    /// After how many seconds of idleness it ends by itself.
    pub idle_timeout: Option<u64>,
}

/// What an entry was before a start, so that a start that fails can be undone.
#[derive(Debug)]
pub(crate) enum PreviousEntry {
    Absent,
    Found(Box<Member>),
}

impl PreviousEntry {
    /// The incarnation before the one that is to begin.
    pub(crate) fn incarnation(&self) -> Incarnation {
        match self {
            Self::Absent => Incarnation(0),
            Self::Found(member) => member.incarnation,
        }
    }

    /// Puts an entry back as it was, after the process that was started is gone. The incarnation that
    /// came to nothing stays counted, and is not reaped: whoever tried to start it knows.
    pub(crate) fn restore(&self, team: &TeamDir, name: &AgentName) -> Result<(), RosterError> {
        let Self::Found(before) = self else {
            return Ok(());
        };
        team.update_roster(|roster| {
            if let Some(member) = roster.member_mut(name) {
                let incarnation = member.incarnation;
                *member = Member {
                    incarnation,
                    reaped: Some(incarnation),
                    ..(**before).clone()
                };
            }
            Ok(())
        })
    }
}

impl MemberSpec {
    /// A member about which nothing else is said.
    pub fn new(name: AgentName, role: &str) -> Self {
        Self {
            name,
            role: role.to_owned(),
            prompt: None,
            model: None,
            exec: None,
            require_plan: None,
            restart: None,
            no_claim: None,
            idle_timeout: None,
        }
    }

    /// Enters the member in the roster under `name`, whose start lock the caller holds. `None` if
    /// the roster has the name in another spelling by now.
    pub(crate) fn enter_in_roster(
        &self,
        team: &TeamDir,
        name: &AgentName,
    ) -> Result<Option<PreviousEntry>, SpawnError> {
        let most = team.limits()?.max_members();
        // Outside, because a contested change is made twice.
        let first = self.first_prompt(team, name)?;
        team.update_roster(|roster| {
            let (member, before) = match roster.members.iter().position(|m| m.name.same_as(name)) {
                Some(at) => {
                    let Some(member) = roster.members.get_mut(at).filter(|m| m.name == *name)
                    else {
                        return Ok(None);
                    };
                    let before = PreviousEntry::Found(Box::new(member.clone()));
                    (member, before)
                }
                None if roster.members.len() as u64 >= most => {
                    let name = name.clone();
                    return Err(SpawnError::Full { name, most });
                }
                None => {
                    let mut member = Member::new(name.clone(), &self.role);
                    member.joined_at = Some(now());
                    (roster.members.push_mut(member), PreviousEntry::Absent)
                }
            };
            self.apply(member);
            if let Some((prompt, id)) = &first {
                member.prompt = Some(prompt.clone());
                member.prompt_id = Some(id.clone());
            }
            begin_incarnation(member);
            (member.restarts, member.gave_up) = (None, None);
            Ok(Some(before))
        })
    }

    /// What the member is to be told first, under which id: the prompt, behind an earlier one that
    /// was never said because its process was killed before.
    fn first_prompt(
        &self,
        team: &TeamDir,
        name: &AgentName,
    ) -> Result<Option<(String, MessageId)>, SpawnError> {
        let Some(prompt) = self.prompt.clone() else {
            return Ok(None);
        };
        let known = team.roster()?.member(name).cloned();
        let unsaid = match known {
            Some(member) if self.exec.is_none() => unsaid_prompt(team, &member)?,
            Some(_) | None => None,
        };
        Ok(Some(match unsaid {
            None => (prompt, new_message_id()),
            // Whoever tries again says nothing new.
            Some((before, id)) if is_in(&prompt, &before) => (before, id),
            Some((before, _)) => (format!("{before}\n\n{prompt}"), new_message_id()),
        }))
    }

    /// Changes what a living member looks up each time it matters.
    pub(crate) fn change_living(
        &self,
        team: &TeamDir,
        name: &AgentName,
    ) -> Result<(), RosterError> {
        if self.require_plan.is_none()
            && self.no_claim.is_none()
            && self.idle_timeout.is_none()
            && self.restart.is_none()
        {
            return Ok(());
        }
        team.update_roster(|roster| {
            if let Some(member) = roster.member_mut(name) {
                member.require_plan = self.require_plan.or(member.require_plan);
                member.no_claim = self.no_claim.or(member.no_claim);
                member.idle_timeout = self.idle_timeout.or(member.idle_timeout);
                member.restart = self.restart.clone().or_else(|| member.restart.take());
            }
            Ok(())
        })
    }

    fn apply(&self, member: &mut Member) {
        fn set<T: Clone>(field: &mut Option<T>, wish: &Option<T>) {
            if wish.is_some() {
                field.clone_from(wish);
            }
        }
        member.role.clone_from(&self.role);
        set(&mut member.model, &self.model);
        set(&mut member.exec, &self.exec);
        set(&mut member.require_plan, &self.require_plan);
        set(&mut member.restart, &self.restart);
        set(&mut member.no_claim, &self.no_claim);
        set(&mut member.idle_timeout, &self.idle_timeout);
    }
}

/// The prompt of a member that does not run, if its model was never told. A program in the place of a
/// model reads the roster itself.
fn unsaid_prompt(
    team: &TeamDir,
    member: &Member,
) -> Result<Option<(String, MessageId)>, PathError> {
    let (Some(prompt), Some(id), None) = (&member.prompt, &member.prompt_id, &member.exec) else {
        return Ok(None);
    };
    let owner = Recipient::Member(member.name.clone());
    let source = Some(MessageSource::Prompt(id.clone()));
    let mut was_given = false;
    team.read_journal(&owner, |_, line| {
        if let JournalLine::Known(JournalRecord::Conversation(ConversationRecord::User(user))) =
            line
        {
            was_given |= user.messages.iter().any(|given| given.source == source);
        }
    })?;
    Ok((!was_given).then(|| (prompt.clone(), id.clone())))
}

/// Whether a prompt is the earlier one, or the end of it.
fn is_in(prompt: &str, before: &str) -> bool {
    let rest = before.strip_suffix(prompt);
    rest.is_some_and(|rest| rest.is_empty() || rest.ends_with("\n\n"))
}

/// Prepares a roster entry for its next incarnation: earlier ones count as reaped, and the `shutdown` status of
/// the last one must not pass for one of the new incarnation if that dies at once.
pub(crate) fn begin_incarnation(member: &mut Member) {
    if member.incarnation > Incarnation(0) {
        member.reaped = member.reaped.max(Some(member.incarnation));
    }
    member.status = MemberStatus::Working;
}
