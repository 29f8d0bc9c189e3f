//! What the output of a hook means.

use crate::event::HookEvent;
use serde::Deserialize;
use serde_json::Value;

/// How much of a hook's text a model gets.
const MAX_CHARS: usize = 10_000;
const NO_REASON: &str = "a hook blocks it and gave no reason";

/// What a hook wants.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reply {
    pub decision: Option<Decision>,
    /// Text for the model.
    pub context: Option<String>,
    /// Text for people.
    pub message: Option<String>,
    /// The arguments with which the call is to be run instead.
    pub updated_input: Option<Value>,
    /// The member shall stop, whatever other hooks want.
    pub stops: bool,
}

/// What a hook decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// It may happen without a question to anybody. Rules that deny it count more.
    Allow(String),
    /// It must not happen, for this reason.
    Block(String),
    /// A person has to be asked.
    Ask(String),
}

/// The output of a hook cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplyError {
    #[error("its output begins like JSON and is none that a hook may print: {0}")]
    Unreadable(String),
    #[error("it decides {0:?}, which is no decision")]
    UnknownDecision(String),
    #[error("it exited with code 2, and {0} cannot be blocked: {1}")]
    CannotBlock(HookEvent, String),
}

/// What a hook may print. Other fields are of no meaning here.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Printed {
    r#continue: Option<bool>,
    stop_reason: Option<String>,
    system_message: Option<String>,
    decision: Option<String>,
    reason: Option<String>,
    additional_context: Option<String>,
    hook_specific_output: Specific,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Specific {
    permission_decision: Option<String>,
    permission_decision_reason: Option<String>,
    updated_input: Option<Value>,
    additional_context: Option<String>,
    decision: Option<Behaviour>,
}

/// The decision of a `PermissionRequest` hook.
#[derive(Deserialize)]
struct Behaviour {
    behavior: String,
    #[serde(default)]
    message: Option<String>,
}

impl Reply {
    /// The reply of a hook that exited with code 0.
    pub fn read(event: HookEvent, output: &str) -> Result<Self, ReplyError> {
        let text = output.trim();
        if !text.starts_with('{') {
            let is_context = event.takes_plain_text() && !text.is_empty();
            return Ok(Self {
                context: is_context.then(|| clipped(text)),
                ..Self::default()
            });
        }
        match serde_json::from_str::<Printed>(text) {
            Ok(printed) => printed.reply(),
            Err(_) if event.takes_plain_text() => Ok(Self {
                context: Some(clipped(text)),
                ..Self::default()
            }),
            Err(error) => Err(ReplyError::Unreadable(error.to_string())),
        }
    }

    /// The reply of a hook that exited with code 2.
    pub fn blocking(event: HookEvent, errors: &str) -> Result<Self, ReplyError> {
        let text = match errors.trim() {
            "" => NO_REASON.to_owned(),
            text => clipped(text),
        };
        if !event.can_block() {
            return Err(ReplyError::CannotBlock(event, text));
        }
        Ok(Self {
            decision: Some(Decision::Block(text)),
            ..Self::default()
        })
    }
}

impl Printed {
    fn reply(self) -> Result<Reply, ReplyError> {
        let specific = self.hook_specific_output;
        let stops = self.r#continue == Some(false);
        let reason = specific.permission_decision_reason.or(self.reason);
        let reason = reason.or_else(|| self.stop_reason.filter(|_| stops));
        let (word, reason) = match specific.decision {
            Some(Behaviour { behavior, message }) => (Some(behavior), message.or(reason)),
            None => (specific.permission_decision.or(self.decision), reason),
        };
        let reason = reason.map(|reason| clipped(&reason));
        let decision = match word.as_deref() {
            None if stops => Some(Decision::Block(reason.unwrap_or_else(no_reason))),
            // Another hook, or the rules, decide.
            None | Some("defer") => None,
            Some("allow" | "approve") => Some(Decision::Allow(reason.unwrap_or_default())),
            Some("deny" | "block") => Some(Decision::Block(reason.unwrap_or_else(no_reason))),
            Some("ask") => Some(Decision::Ask(reason.unwrap_or_default())),
            Some(other) => return Err(ReplyError::UnknownDecision(clipped(other))),
        };
        let context = specific.additional_context.or(self.additional_context);
        Ok(Reply {
            decision,
            context: context.map(|text| clipped(&text)),
            message: self.system_message.map(|text| clipped(&text)),
            updated_input: specific.updated_input,
            stops,
        })
    }
}

fn no_reason() -> String {
    NO_REASON.to_owned()
}

fn clipped(text: &str) -> String {
    text.chars().take(MAX_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use HookEvent::{Notification, PermissionRequest, PreToolUse, SessionStart, Stop};

    fn decision(event: HookEvent, output: &str) -> Option<Decision> {
        Reply::read(event, output).unwrap().decision
    }

    #[test]
    fn the_decisions_of_all_shapes_are_read() {
        let deny = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}"#;
        let block = Some(Decision::Block("no".to_owned()));
        assert_eq!(decision(PreToolUse, deny), block);
        assert_eq!(
            decision(Stop, r#"{"decision":"block","reason":"no"}"#),
            block
        );
        let refused = r#"{"hookSpecificOutput":{"decision":{"behavior":"deny","message":"no"}}}"#;
        assert_eq!(decision(PermissionRequest, refused), block);
        let halted = r#"{"continue":false,"stopReason":"no"}"#;
        assert_eq!(decision(PreToolUse, halted), block);
        assert!(Reply::read(PreToolUse, halted).unwrap().stops);
        let ask = r#"{"hookSpecificOutput":{"permissionDecision":"ask"}}"#;
        assert_eq!(
            decision(PreToolUse, ask),
            Some(Decision::Ask(String::new()))
        );
        let allow = r#"{"decision":"approve"}"#;
        assert_eq!(
            decision(PreToolUse, allow),
            Some(Decision::Allow(String::new()))
        );
        for nothing in ["", "all is well", "{}", r#"{"suppressOutput":true}"#] {
            assert_eq!(decision(PreToolUse, nothing), None, "{nothing}");
        }
    }

    #[test]
    fn plain_text_is_context_where_claude_code_takes_it_so() {
        let context = |event| Reply::read(event, "branch main").unwrap().context;
        assert_eq!(context(SessionStart).as_deref(), Some("branch main"));
        assert_eq!(context(PreToolUse), None);
        let json = r#"{"hookSpecificOutput":{"additionalContext":"x"},"systemMessage":"y"}"#;
        let reply = Reply::read(PreToolUse, json).unwrap();
        assert_eq!(reply.context.as_deref(), Some("x"));
        assert_eq!(reply.message.as_deref(), Some("y"));
    }

    #[test]
    fn what_cannot_be_understood_is_an_error_and_long_texts_are_cut() {
        for broken in ["{", r#"{"decision":7}"#, r#"{"decision":"dance"}"#] {
            assert!(Reply::read(PreToolUse, broken).is_err(), "{broken}");
        }
        assert!(Reply::blocking(Notification, "no").is_err());
        let long = "x".repeat(3 * MAX_CHARS);
        let Some(Decision::Block(text)) = Reply::blocking(Stop, &long).unwrap().decision else {
            panic!("it blocks");
        };
        assert_eq!(text.len(), MAX_CHARS);
    }
}
