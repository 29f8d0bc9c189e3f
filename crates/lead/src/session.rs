//! Which of its sessions the lead goes on with.

use crate::run_error::RunError;
use agent::Conversation;
use member::{MemberRuntime, Recovered, new_session};
use protocol::{SessionId, Timestamp};
use teamdir::PathError;

/// Which conversation a run continues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resume {
    /// None: a new session begins.
    No,
    /// That of the last run.
    Last,
    /// One that was left.
    Session(SessionId),
}

/// Takes up the session that is wanted, if it is not the last one; the last one is kept. A new one is begun
/// when its model is known.
pub(crate) fn choose_session(
    runtime: &MemberRuntime,
    recovered: &mut Recovered,
    written: Timestamp,
    resume: &Resume,
) -> Result<(), RunError> {
    let conversation = &mut recovered.conversation;
    let current = conversation.session().map(|session| &session.id);
    match resume {
        Resume::Last => return Ok(()),
        Resume::Session(id) if current == Some(id) => return Ok(()),
        Resume::Session(id) => {
            runtime.keep_session(conversation, written)?;
            runtime.resume_session(id, conversation)?;
        }
        Resume::No => runtime.keep_session(conversation, written)?,
    }
    // They belong to the conversation that was left.
    recovered.lost_commands.clear();
    Ok(())
}

/// Begins a session if a new one is wanted or there is none, and records the model of one that goes on.
pub(crate) fn begin_session(
    runtime: &MemberRuntime,
    conversation: &mut Conversation,
    resume: &Resume,
    model: &str,
) -> Result<(), PathError> {
    let is_new = *resume == Resume::No;
    match conversation.session() {
        Some(_) if !is_new => runtime.record_session_model(conversation, model),
        // It comes from a program that had no sessions.
        None if !is_new && !conversation.turns().is_empty() => Ok(()),
        Some(_) | None => runtime.start_new_conversation(conversation, Some(new_session(model))),
    }
}
