//! Writes what people choose about a member to its roster entry.

use crate::start::spawn::SpawnError;
use protocol::{
    Actor, AgentName, ConversationRecord, Incarnation, JournalLine, JournalRecord, Member,
    MemberSpec, MemberStatus, MessageId, MessageSource, Party, Recipient, Tuning,
};
use rules::check_new_name;
use teamdir::{JoinError, PathError, RosterError, TeamDir, new_message_id, now};

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

    /// Restores an entry after the process that was started has ended. The failed incarnation stays
    /// counted, and counts as reaped: the caller reports why the start failed.
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

/// Enters a member in the roster under `name`, whose start lock the caller holds. `None` if the
/// roster has the name in another spelling by now.
///
/// Only a person resets the count of restarts: a lead's model that keeps spawning a member that keeps
/// dying would otherwise escape the limit of its restart policy.
pub(crate) fn enter_in_roster(
    team: &TeamDir,
    me: &Actor,
    name: &AgentName,
    spec: &MemberSpec,
) -> Result<Option<PreviousEntry>, SpawnError> {
    let most = team.limits()?.max_members();
    // Outside, because a contested change is made twice.
    let (prompt, prompt_id) = first_prompt(team, name, spec)?.unzip();
    let spec = MemberSpec {
        name: name.clone(),
        prompt,
        ..spec.clone()
    };
    team.update_roster(|roster| {
        let (member, before) = match roster
            .members
            .iter()
            .position(|m| m.spec.name.same_as(name))
        {
            Some(at) => {
                let Some(member) = roster.members.get_mut(at).filter(|m| m.spec.name == *name)
                else {
                    return Ok(None);
                };
                if member.incarnation.is_last() {
                    return Err(SpawnError::LastIncarnation(JoinError::LastIncarnation {
                        owner: Recipient::Member(name.clone()),
                        path: team.layout().roster(),
                    }));
                }
                let before = PreviousEntry::Found(Box::new(member.clone()));
                spec.merge_into(&mut member.spec);
                (member, before)
            }
            None if roster.members.len() as u64 >= most => {
                let name = name.clone();
                return Err(SpawnError::Full { name, most });
            }
            None => {
                check_new_name(name, roster.members.iter().map(|member| &member.spec.name))?;
                let mut member = Member::from(spec.clone());
                member.joined_at = Some(now());
                // A message for one of its name that was removed must not act on it.
                let removed = roster.removed.as_mut();
                let removed = removed.and_then(|removed| removed.remove(name));
                member.incarnation = removed.unwrap_or_default();
                (roster.members.push_mut(member), PreviousEntry::Absent)
            }
        };
        if prompt_id.is_some() {
            member.prompt_id.clone_from(&prompt_id);
        }
        begin_incarnation(member);
        member.gave_up = None;
        if me.party == Party::User {
            member.restarts = None;
        }
        Ok(Some(before))
    })
}

/// The first prompt of the next incarnation, and its id. It begins with an earlier prompt that was
/// never given to the model because its process was killed before.
fn first_prompt(
    team: &TeamDir,
    name: &AgentName,
    spec: &MemberSpec,
) -> Result<Option<(String, MessageId)>, SpawnError> {
    let Some(prompt) = spec.prompt.clone() else {
        return Ok(None);
    };
    let known = team.roster()?.member(name).cloned();
    let pending = match known {
        Some(member) if spec.exec.is_none() => pending_prompt(team, &member)?,
        Some(_) | None => None,
    };
    Ok(Some(match pending {
        None => (prompt, new_message_id()),
        // A repeated attempt adds nothing.
        Some((before, id)) if is_in(&prompt, &before) => (before, id),
        Some((before, _)) => (format!("{before}\n\n{prompt}"), new_message_id()),
    }))
}

/// Changes the options of a running member that it reads whenever they matter. Its role, model,
/// program and sandbox stay those with which it was started.
pub(crate) fn change_running(
    team: &TeamDir,
    name: &AgentName,
    spec: &MemberSpec,
) -> Result<(), RosterError> {
    let changed = |current: &MemberSpec| {
        let mut changed = current.clone();
        let spec = MemberSpec {
            role: current.role.clone(),
            prompt: None,
            model: None,
            exec: None,
            sandbox: None,
            network: None,
            tree: None,
            web: None,
            permissions: None,
            ..spec.clone().with_tuning(Tuning::default())
        };
        spec.merge_into(&mut changed);
        changed
    };
    let roster = team.roster()?;
    let current = roster.member(name).map(|member| &member.spec);
    if current.is_none_or(|current| changed(current) == *current) {
        return Ok(());
    }
    team.update_roster(|roster| {
        if let Some(member) = roster.member_mut(name) {
            member.spec = changed(&member.spec);
        }
        Ok(())
    })
}

/// The prompt of a member that does not run, if its model never got it. A program that runs instead of
/// an agent reads the roster itself.
fn pending_prompt(
    team: &TeamDir,
    member: &Member,
) -> Result<Option<(String, MessageId)>, PathError> {
    let (Some(prompt), Some(id), None) =
        (&member.spec.prompt, &member.prompt_id, &member.spec.exec)
    else {
        return Ok(None);
    };
    let owner = Recipient::Member(member.spec.name.clone());
    let source = MessageSource::Prompt(id.clone());
    let mut was_given = false;
    team.read_journal(&owner, |_, line| match line {
        JournalLine::Known(JournalRecord::Conversation(ConversationRecord::User(user))) => {
            let mut sources = user.messages.iter().flat_map(|given| &given.source);
            was_given |= sources.any(|given| *given == source);
        }
        JournalLine::Known(JournalRecord::Cut(cut)) => was_given |= cut.given.contains(&source),
        JournalLine::Known(_) | JournalLine::Other { .. } | JournalLine::Corrupt { .. } => {}
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
