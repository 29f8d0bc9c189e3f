//! The runtime of a member: its mail, journal, live state and log around an agent.
//!
//! # Theory of operation
//!
//! An agent knows nothing of teams; it asks a [`Host`](agent::Host). A [`MemberRuntime`] with the
//! [`Hooks`] of lead or teammate is such a host. It owns the member's session, so it is the one that
//! receives mail, appends to the journal and says what the member is doing. Model, budget and tools
//! are wired here once for both (`build.rs`), and so is the log (`logging.rs`).
//!
//! **Mail.** A message is committed to the journal when it is received, and given to the model later.
//! Each has a number, its place among all mail of the journal, and is given to the model under the id
//! `mail:<number>`. The agent records which ids it has given; so the next incarnation finds, by
//! reading the journal once ([`Recovered`]), which messages are still pending. Numbers cannot
//! collide, as the ids that senders choose could.
//!
//! **System prompt.** The host keeps it the same from request to request. When the instructions of the
//! repository change, it tells the model at the start of a turn or after the results of tools.
//!
//! **Mail handler.** The program sees every message before the model does. A [`MailHandler`] decides
//! what it means to this member, and whether it is shown.
//!
//! **Live state.** [`MemberRuntime::set_phase`] and the events of the agent keep `state.json`. Two
//! promises about its order let others find out whether a team is idle: the phase `working` is
//! written before mail is received, and everything a turn sends is sent before another phase is
//! written.
//!
//! **Reports.** The report at the end of a turn has a number that is kept in the journal. If the
//! process dies between the end of the turn and the report, the next incarnation sends it, once.
//!
//! **Trust.** `workspace.rs` finds the workspace and reads what is set for it, and refuses what belongs to
//! another user. A [`TrustCheck`] collects what the workspace and the roster say that needs the user's
//! trust. A process that starts members does so with the [`Clearance`] of such a check.
//!
//! **Turns.** An [`AgentRunner`] runs the turns of an agent beside the loop of its process, and says
//! how each ended.

mod asking;
mod build;
mod call_rules;
mod changes;
mod confine;
mod cut;
mod engine;
mod explore;
mod gate;
mod heap;
mod host;
mod images;
mod inner;
mod known_teams;
mod live;
mod logging;
mod mail;
mod mcp;
mod memory;
mod model_settings;
mod open_work;
mod prompt;
mod recovered;
mod runtime;
mod server_memory;
mod sessions;
mod status;
mod trees;
mod trust_check;
mod turn;
mod user_hooks;
mod web_choice;
mod workspace;

pub use asking::AskSettings;
pub use build::{
    AgentTools, BudgetedModels, ChosenModels, ModelError, ModelOptions, NO_MODEL_CHOSEN,
    all_definitions, choose_models,
};
pub use call_rules::CallSettings;
pub use confine::{
    ConfineError, SandboxSettings, confinement, hide_own_memory, weakness, workspace_confinement,
};
pub use engine::{EngineError, EngineOptions};
pub use gate::gate;
pub use heap::trim_heap;
pub use host::{Hooks, RuntimeHost, images_hidden};
pub use inner::{AskedModels, MailHandler, OwnTree, PriceOfCall, Treatment};
pub use known_teams::{known_teams, remember_team};
pub use logging::{LogFilter, LogFormat, LogOptions, LogSettingError, log_to_stderr};
pub use mail::MailItem;
pub use mcp::{checked_servers, server_spec, shared_tool_effect};
pub use memory::memory_lines;
pub use permissions::RuleError;
pub use prompt::{prompt_spec, user_folders};
pub use recovered::Recovered;
pub use runtime::{MemberRuntime, RuntimeError};
pub use sessions::{Session, SessionError, find_session, new_session, sessions};
pub use trees::{log_queue, open_trees, tree_settings};
pub use trust_check::{Clearance, TrustCheck, TrustError, Untrusted};
pub use turn::{AgentRunner, FailureCause, TurnFailure, TurnOutcome};
pub use user_hooks::{TaskHooks, TaskRefused};
pub use workspace::{
    CreatedTeam, FindError, WorkspaceSettings, create_named_team, create_team, find_team,
    load_settings, open_team, owners, state_folder, trust_store,
};
