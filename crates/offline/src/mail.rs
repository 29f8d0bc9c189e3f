//! Messages, and what the agent waits for in them.

use protocol::{MAIL_TAG, TextBlock};
use serde::{Deserialize, Serialize};

use crate::plan::READY;
use crate::report::short;

/// A message of a teammate or of the program.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct Mail {
    pub(crate) kind: String,
    pub(crate) from: String,
    pub(crate) content: String,
    /// Why the program sent a notice.
    pub(crate) cause: Option<String>,
    pub(crate) request_id: Option<String>,
    pub(crate) approve: Option<bool>,
    pub(crate) plan: Option<String>,
    pub(crate) feedback: Option<String>,
    /// An instruction went on with it.
    #[serde(skip)]
    pub(crate) used: bool,
    /// The user was told about it.
    #[serde(skip)]
    pub(crate) reported: bool,
}

impl Mail {
    /// The messages in a text of the program.
    pub(crate) fn read_all(text: &str) -> Vec<Self> {
        let blocks = TextBlock::read_all(text, MAIL_TAG);
        blocks.into_iter().map(Self::of).collect()
    }

    fn of(block: TextBlock) -> Self {
        let field = |name: &str| block.get(name).map(str::to_owned);
        let mut mail = Self {
            kind: field("type").unwrap_or_default(),
            from: field("from").unwrap_or_default(),
            cause: field("cause"),
            request_id: field("request_id"),
            approve: field("approve").map(|approve| approve == "true"),
            ..Self::default()
        };
        match mail.kind.as_str() {
            "plan_approval_request" => mail.plan = Some(block.text),
            "plan_approval_response" | "shutdown_response" => mail.feedback = Some(block.text),
            _ => mail.content = block.text,
        }
        mail
    }

    /// What it is about, in short.
    pub(crate) fn text(&self) -> String {
        let texts = [&self.plan, &self.feedback].into_iter().flatten();
        let text = texts.chain([&self.content]).find(|text| !text.is_empty());
        short(text.unwrap_or(&self.content))
    }

    /// Whether a plan is submitted with it.
    pub(crate) fn submits_plan(&self) -> bool {
        self.plan.is_some() && self.approve.is_none()
    }
}

/// Mail that an instruction cannot go on without.
#[derive(Clone, Debug)]
pub(crate) enum Awaited {
    /// The report of a teammate: any, or one about work that was given after so much mail.
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
    pub(crate) fn waiting(&self) -> String {
        self.words(&Mail::default()).0
    }

    /// What is awaited, and what is reported when it has come.
    pub(crate) fn words(&self, mail: &Mail) -> (String, String) {
        let text = mail.text();
        let verb = match mail.approve {
            Some(true) => "approved",
            _ => "rejected",
        };
        match self {
            Self::Report(name, _) => (
                format!("{name} to be done"),
                format!("{name} reports: {text}"),
            ),
            Self::Plan(name) => (format!("{name}'s plan"), format!("Plan of {name}: {text}")),
            Self::Shutdown(name) => (
                format!("{name}'s answer to the shutdown request"),
                format!("{name} {verb} the shutdown ({text})."),
            ),
            Self::Decision(_) => (
                "the lead's decision about my plan".to_owned(),
                format!("My plan was {verb}. {text}"),
            ),
            Self::Background => (
                "the background command to end".to_owned(),
                format!("Background: {text}"),
            ),
        }
    }

    /// The last such message that was not used. A plan is used when it is decided about.
    pub(crate) fn take(&self, inbox: &mut [Mail]) -> Option<Mail> {
        let since = match self {
            Self::Report(_, since) => since.unwrap_or(0),
            _ => 0,
        };
        let mut new = inbox.iter_mut().skip(since).rev();
        let mail = new.find(|mail| !mail.used && self.is(mail))?;
        mail.used = !mail.submits_plan();
        Some(mail.clone())
    }

    fn is(&self, mail: &Mail) -> bool {
        let same = |one: &str, other: &str| one.to_lowercase() == other.to_lowercase();
        let is = |kind: &str, name: &str| mail.kind == kind && same(&mail.from, name);
        // The program reports that the teammate is gone.
        let ends = matches!(mail.cause.as_deref(), Some("death" | "gave_up" | "failed"));
        let content = mail.content.to_lowercase();
        let gone = |name: &str| ends && content.contains(&name.to_lowercase());
        match self {
            Self::Report(name, since) => {
                let ready = mail.content.starts_with(READY) && !mail.content.contains('\n');
                is("idle_notification", name) && !(ready && since.is_some()) || gone(name)
            }
            Self::Plan(name) => mail.submits_plan() && same(&mail.from, name),
            Self::Shutdown(name) => is("shutdown_response", name) || gone(name),
            Self::Decision(id) => {
                let own = mail
                    .request_id
                    .as_ref()
                    .is_none_or(|of| id.is_empty() || of == id);
                mail.kind == "plan_approval_response" && !mail.submits_plan() && own
            }
            Self::Background => mail.kind == "background",
        }
    }
}
