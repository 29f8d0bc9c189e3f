//! Mail that an instruction cannot go on without.

use crate::conversation::Mail;
use crate::report::{READY, short};

pub(crate) enum Awaited {
    /// The report of a teammate: any, or one about work that was given at this event.
    Report(String, Option<usize>),
    Plan(String),
    /// The answer of a teammate to a shutdown request.
    Shutdown(String),
    /// The lead's decision about the agent's own plan, which has this id.
    Decision(String),
    /// The end of a background command.
    Background,
}

impl Awaited {
    pub(crate) fn in_words(&self) -> String {
        match self {
            Self::Report(name, _) => format!("{name} to be done"),
            Self::Plan(name) => format!("{name}'s plan"),
            Self::Shutdown(name) => format!("{name}'s answer to the shutdown request"),
            Self::Decision(_) => "the lead's decision about my plan".to_owned(),
            Self::Background => "the background command to end".to_owned(),
        }
    }

    /// What is reported when the mail has come.
    pub(crate) fn report(&self, mail: &Mail) -> String {
        let text = short(&mail.text);
        let verb = if mail.approve { "approved" } else { "rejected" };
        match self {
            Self::Report(name, _) => format!("{name} reports: {text}"),
            Self::Plan(name) => format!("Plan of {name}: {text}"),
            Self::Shutdown(name) => format!("{name} {verb} the shutdown ({text})."),
            Self::Decision(_) => format!("My plan was {verb}. {text}"),
            Self::Background => format!("Background: {text}"),
        }
    }

    /// Whether it is this mail, which came at an event.
    pub(crate) fn is_met_by(&self, at: usize, mail: &Mail) -> bool {
        let is = |kind: &str, name: &str| {
            mail.kind == kind && mail.from.to_lowercase() == name.to_lowercase()
        };
        match self {
            Self::Report(name, None) => is("idle_notification", name) || is_gone(name, mail),
            Self::Report(name, Some(since)) => {
                let is_ready = mail.text.starts_with(READY) && !mail.text.contains('\n');
                let reports = is("idle_notification", name) && !is_ready;
                at > *since && (reports || is_gone(name, mail))
            }
            Self::Plan(name) => is("plan_approval_request", name),
            Self::Shutdown(name) => is("shutdown_response", name) || is_gone(name, mail),
            Self::Decision(id) => {
                let of = &mail.request_id;
                let is_own = of.is_empty() || id.is_empty() || of == id;
                mail.kind == "plan_approval_response" && is_own
            }
            Self::Background => mail.kind == "background",
        }
    }
}

/// Whether the program reports that a teammate is gone.
fn is_gone(name: &str, mail: &Mail) -> bool {
    let ends = matches!(mail.cause.as_str(), "death" | "gave_up" | "failed");
    ends && mail.text.to_lowercase().contains(&name.to_lowercase())
}
