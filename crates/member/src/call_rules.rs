//! The rules that decide about a member's tool calls, with those that people grant while it runs.

use crate::runtime::MemberRuntime;
use permissions::{Call, Origin, Permissions, Reason, Rule, RuleList, Surroundings, Verdict};
use protocol::{Grant, NetworkSetting, Party};
use sandbox::Level;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;
use teamdir::GrantsReader;
use tools::{Confinement, Effect};
use tracing::warn;

/// The argument with which a call says that it needs the network.
const NEEDS_NETWORK: &str = "needs_network";

/// What people chose about the calls of a member.
#[derive(Clone, Debug, Default)]
pub struct CallSettings {
    /// All rules that hold for the member, from every place but the granted ones.
    pub lists: Vec<RuleList>,
    /// Whether nobody is asked about commands that run without a sandbox.
    pub yes: bool,
}

/// Decides about the calls of one member.
#[derive(Debug)]
pub(crate) struct CallRules {
    settings: CallSettings,
    party: Party,
    workspace: PathBuf,
    confinement: Option<Arc<Confinement>>,
    /// Known since the first call: trying out the machine takes longer than a member has to start.
    confined: Option<Confined>,
    grants: GrantsReader,
    /// Made again when somebody grants or revokes a rule.
    effective: Option<Permissions>,
    is_warned: bool,
}

/// What the commands of a member run in.
#[derive(Debug, Clone, Copy)]
struct Confined {
    has_sandbox: bool,
    has_network: bool,
}

impl Confined {
    /// The first call in a process tries out what the machine can do.
    fn of(confinement: Option<&Confinement>) -> Self {
        let level = confinement.map_or(Level::None, Confinement::level);
        let network = confinement.map(|all| &all.network);
        Self {
            has_sandbox: level != Level::None,
            has_network: level == Level::None || network == Some(&NetworkSetting::On),
        }
    }
}

/// What the rules say about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CallDecision {
    pub(crate) verdict: CallVerdict,
    /// Which rule decides, or what the call needs.
    pub(crate) why: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CallVerdict {
    /// It may run, with the network if that is what it asks for and has not.
    Allow {
        with_network: bool,
    },
    Ask {
        /// The rule that would allow such calls for good.
        grants: Option<String>,
        with_network: bool,
    },
    Deny,
}

impl CallRules {
    /// The rules of a member whose commands are confined already.
    pub(crate) fn new(runtime: &MemberRuntime, settings: CallSettings) -> Self {
        Self {
            settings,
            party: Party::from(runtime.owner().clone()),
            workspace: runtime.team().workspace().to_path_buf(),
            confinement: runtime.confinement(),
            confined: None,
            grants: GrantsReader::new(runtime.team()),
            effective: None,
            is_warned: false,
        }
    }

    fn confined(&mut self) -> Confined {
        let confinement = self.confinement.as_deref();
        *self
            .confined
            .get_or_insert_with(|| Confined::of(confinement))
    }

    /// Whether somebody has granted or revoked a rule since the last time.
    pub(crate) fn have_changed(&mut self) -> bool {
        let (granted, has_changed) = match self.grants.current() {
            Ok((grants, has_changed)) => {
                let own = grants.of(&self.party).cloned();
                (own.collect::<Vec<Grant>>(), has_changed)
            }
            Err(error) => {
                // Without it nothing is granted, which only asks more.
                if !std::mem::replace(&mut self.is_warned, true) {
                    warn!("granted rules do not count: {error}");
                }
                (Vec::new(), true)
            }
        };
        if !has_changed && self.effective.is_some() {
            return false;
        }
        let mut lists = self.settings.lists.clone();
        lists.extend(granted.iter().filter_map(granted_list));
        let confinement = self.confinement.as_ref();
        let surroundings = Surroundings {
            home: confinement.and_then(|all| all.home.clone()),
            confined: self.confined().has_sandbox,
            yes: self.settings.yes,
        };
        self.effective = Some(Permissions::new(lists, surroundings));
        true
    }

    /// What the rules say about a call now.
    pub(crate) fn decide(&mut self, tool: &str, arguments: &Value, effect: Effect) -> CallDecision {
        self.have_changed();
        let has_network = self.confined().has_network;
        let rules = self.effective.get_or_insert_default();
        let needs_network = arguments[NEEDS_NETWORK] == Value::Bool(true);
        let with_network = needs_network && !has_network;
        let arguments = match needs_network && !with_network {
            true => without_network(arguments),
            false => arguments.clone(),
        };
        let call = Call {
            tool,
            arguments: &arguments,
            effect: judged_as(effect),
            workspace: &self.workspace,
        };
        let decision = rules.decide(&call);
        CallDecision {
            verdict: match decision.verdict {
                Verdict::Allow => CallVerdict::Allow { with_network },
                // No answer could open the boundary of the file tools, which say so themselves.
                Verdict::Ask if is_behind_boundary(&decision.reason, &arguments) => {
                    CallVerdict::Allow { with_network }
                }
                Verdict::Ask => CallVerdict::Ask {
                    grants: grantable(&rules.rule_for(&call)),
                    with_network,
                },
                Verdict::Deny => CallVerdict::Deny,
            },
            why: decision.reason.to_string(),
        }
    }
}

/// Whether a file tool is called with a path outside of the workspace, which it refuses. Commands have no
/// such boundary.
fn is_behind_boundary(reason: &Reason, arguments: &Value) -> bool {
    matches!(reason, Reason::OutsideWorkspace(_)) && arguments["command"].is_null()
}

/// The same call, which asks for nothing that it has anyway.
fn without_network(arguments: &Value) -> Value {
    let mut arguments = arguments.clone();
    if let Value::Object(fields) = &mut arguments {
        fields.remove(NEEDS_NETWORK);
    }
    arguments
}

/// The rule, if it is one: an odd call may have none that allows it alone.
fn grantable(rule: &str) -> Option<String> {
    let parsed = Rule::parse(rule);
    parsed.is_ok().then(|| rule.to_owned())
}

/// A granted rule as a list of its own, because each has an origin of its own.
fn granted_list(grant: &Grant) -> Option<RuleList> {
    let by = grant.by_name.clone();
    let origin = Origin::Granted {
        id: grant.id.to_string(),
        by: by.unwrap_or_else(|| grant.by.to_string()),
    };
    match Rule::parse(&grant.rule) {
        Ok(rule) => Some(RuleList {
            allow: vec![rule],
            ..RuleList::new(origin)
        }),
        Err(error) => {
            warn!("{origin} does not count: {error}");
            None
        }
    }
}

/// What the rules take a tool's effect for.
const fn judged_as(effect: Effect) -> permissions::Effect {
    match effect {
        Effect::Read => permissions::Effect::ReadsOnly,
        Effect::Mutate => permissions::Effect::ChangesFiles,
        Effect::Execute => permissions::Effect::RunsCommands,
        Effect::State | Effect::Ask => permissions::Effect::TeamOnly,
    }
}
