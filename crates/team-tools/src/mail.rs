//! Mail for models: `send_message`, `read_inbox`, `broadcast`.

use crate::TeamContext;
use crate::agent_handle::AgentHandle;
use protocol::{NameError, Party, Recipient};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;
use tools::{Effect, Tool, ToolContext, ToolError, ToolOutput};

/// Sends a message.
#[derive(Clone, Debug)]
pub struct SendMessage(TeamContext);

impl SendMessage {
    pub const fn new(context: TeamContext) -> Self {
        Self(context)
    }
}

/// The arguments of [`SendMessage`].
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SendMessageArgs {
    to: String,
    content: String,
    // Models that know other agent programs pass it. Known and refused, it gets an answer that names the
    // right tools; unknown, it would get one about an unknown field. No schema offers it.
    #[schemars(skip)]
    msg_type: Option<String>,
}

impl Tool for SendMessage {
    const NAME: &'static str = "send_message";
    const DESCRIPTION: &'static str = "Write to a teammate, `lead` or `all`.";
    const EFFECT: Effect = Effect::State;
    type Args = SendMessageArgs;

    async fn call(&self, args: SendMessageArgs, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        if let Some(kind) = args.msg_type.as_deref()
            && kind != "message"
        {
            return Err(ToolError::new(format!(
                "'{kind}' cannot be sent with send_message, only plain messages can: use the tools \
                 for shutdowns and plans"
            )));
        }
        let content = args.content;
        if args.to.trim().eq_ignore_ascii_case("all") {
            return broadcast(&self.0, content).await;
        }
        let to = recipient(&args.to, &self.0)?;
        self.0
            .blocking(move |context| {
                let sent = team::send(&context.team, &context.me, to, &content);
                let sent = sent.map_err(|error| ToolError::from_error(&error))?;
                Ok(ToolOutput::ok(format!("Sent message to {}", sent.to)))
            })
            .await
    }
}

/// The recipient that a model named. A message to oneself is refused: it would start a useless turn.
fn recipient(to: &str, context: &TeamContext) -> Result<Recipient, ToolError> {
    let to = to.trim();
    let parsed: Result<Recipient, NameError> = to.parse();
    let recipient = parsed.map_err(|error| match error {
        NameError::Reserved(_) => ToolError::new(format!(
            "'{to}' has no inbox: write to the lead, to a teammate or to all"
        )),
        error => ToolError::from_error(&error),
    })?;
    let is_self = match (&recipient, &context.me.party) {
        (Recipient::Lead, Party::Lead) => true,
        (Recipient::Member(to), Party::Member(me)) => to.same_as(me),
        (Recipient::Lead | Recipient::Member(_), _) => false,
    };
    if is_self {
        return Err(ToolError::new("you cannot send a message to yourself"));
    }
    Ok(recipient)
}

/// Reads the unread mail.
#[derive(Clone)]
pub struct ReadInbox(Arc<dyn AgentHandle>);

impl ReadInbox {
    pub const fn new(handle: Arc<dyn AgentHandle>) -> Self {
        Self(handle)
    }
}

/// No arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoArgs {}

impl Tool for ReadInbox {
    const NAME: &'static str = "read_inbox";
    const DESCRIPTION: &'static str = "Read new mail.";
    const EFFECT: Effect = Effect::State;
    const KEEPS_RESULTS: bool = true;
    type Args = NoArgs;

    async fn call(&self, _: NoArgs, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        let handle = Arc::clone(&self.0);
        let read = tokio::task::spawn_blocking(move || handle.read_inbox()).await;
        match read {
            Ok(read) => read,
            Err(_) => Err(ToolError::cancelled()),
        }
    }
}

/// Sends a message to all members.
#[derive(Clone, Debug)]
pub struct Broadcast(TeamContext);

impl Broadcast {
    pub const fn new(context: TeamContext) -> Self {
        Self(context)
    }
}

/// The arguments of [`Broadcast`].
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BroadcastArgs {
    content: String,
}

impl Tool for Broadcast {
    const NAME: &'static str = "broadcast";
    const DESCRIPTION: &'static str = "Write to all teammates.";
    const EFFECT: Effect = Effect::State;
    type Args = BroadcastArgs;

    async fn call(&self, args: BroadcastArgs, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        broadcast(&self.0, args.content).await
    }
}

async fn broadcast(context: &TeamContext, content: String) -> Result<ToolOutput, ToolError> {
    context
        .blocking(move |context| {
            let reached = team::broadcast(&context.team, &context.me, &content);
            let reached = reached.map_err(|error| ToolError::from_error(&error))?;
            let count = reached.len();
            Ok(ToolOutput::ok(format!("Broadcast to {count} teammates")))
        })
        .await
}
