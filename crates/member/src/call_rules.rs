//! The rules that decide about a member's tool calls, with those that people grant while it runs.

use crate::runtime::MemberRuntime;
use permissions::{Call, Conditions, Origin, Permissions, Reason, Rule, RuleList, Verdict};
use protocol::{Grant, NetworkSetting, Party};
use sandbox::Level;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use teamdir::GrantsReader;
use tools::{Confinement, Effect, FileAccess, IsHidden};
use tracing::warn;

/// The argument with which a call says that it needs the network.
const NEEDS_NETWORK: &str = "needs_network";

/// The argument with the path of a file tool.
const PATH: &str = "path";

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
    /// The folder that the member works in, by the path that people use.
    workspace: PathBuf,
    /// The same folder without links.
    real: PathBuf,
    confinement: Option<Arc<Confinement>>,
    /// Known since the first call: trying out the machine takes longer than a member has to start.
    confined: Option<Confined>,
    grants: GrantsReader,
    /// Made again when somebody grants or revokes a rule.
    effective: Option<Arc<Permissions>>,
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
#[derive(Debug, Clone)]
pub(crate) struct CallDecision {
    pub(crate) verdict: CallVerdict,
    /// Which rule decides, or what the call needs.
    pub(crate) why: String,
    /// What it gets if it runs.
    pub(crate) extent: Extent,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CallVerdict {
    Allow,
    Ask {
        /// The rule that would allow such calls for good.
        grants: Option<String>,
        /// Whether a rule wants a person to be asked, and not just what the call needs.
        by_rule: bool,
    },
    Deny,
}

/// What a call gets besides and instead of what every call has.
#[derive(Debug, Clone, Default)]
pub(crate) struct Extent {
    /// The network, which it asks for and would not have.
    pub(crate) network: bool,
    pub(crate) files: FileAccess,
}

impl CallRules {
    /// The rules of a member whose commands are confined already.
    pub(crate) fn new(runtime: &MemberRuntime, settings: CallSettings) -> Self {
        let workspace = runtime.folder();
        let real = workspace.canonicalize();
        Self {
            settings,
            party: Party::from(runtime.owner().clone()),
            real: real.unwrap_or_else(|_| workspace.clone()),
            workspace,
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
        let confined = self.confined().has_sandbox;
        let confinement = self.confinement.as_ref();
        let conditions = Conditions {
            home: confinement.and_then(|all| all.home.clone()),
            confined,
            yes: self.settings.yes,
            readable: confinement.map_or_else(Vec::new, |all| all.readable.clone()),
        };
        self.effective = Some(Arc::new(Permissions::new(lists, conditions)));
        true
    }

    /// What the rules say about a call now.
    pub(crate) fn decide(&mut self, tool: &str, arguments: &Value, effect: Effect) -> CallDecision {
        self.have_changed();
        let has_network = self.confined().has_network;
        let rules = Arc::clone(self.effective.get_or_insert_default());
        let mut arguments = arguments.clone();
        let network = arguments[NEEDS_NETWORK] == Value::Bool(true) && !has_network;
        if let Value::Object(fields) = &mut arguments {
            if !network {
                fields.remove(NEEDS_NETWORK);
            }
            if let Some(Value::String(path)) = fields.get_mut(PATH) {
                *path = self.by_usual_path(path);
            }
        }
        let call = Call {
            tool,
            arguments: &arguments,
            effect,
            workspace: &self.workspace,
        };
        let decision = rules.decide(&call);
        CallDecision {
            verdict: match decision.verdict {
                Verdict::Allow => CallVerdict::Allow,
                Verdict::Ask => CallVerdict::Ask {
                    grants: grantable(&rules.rule_for(&call)),
                    by_rule: is_rule(&decision.reason),
                },
                Verdict::Deny => CallVerdict::Deny,
            },
            why: decision.reason.to_string(),
            extent: Extent {
                network,
                files: FileAccess {
                    outside: rules.outside(&call),
                    hidden: self.hidden(&rules, &call),
                },
            },
        }
    }

    /// A path that leads into the folder without links, as one that leads there by the path that the rules
    /// know.
    fn by_usual_path(&self, path: &str) -> String {
        match Path::new(path).strip_prefix(&self.real) {
            Ok(inside) => self.workspace.join(inside).display().to_string(),
            Err(_) => path.to_owned(),
        }
    }

    /// What a file tool must not show of the folder that it is called with.
    fn hidden(&self, rules: &Arc<Permissions>, call: &Call<'_>) -> Option<IsHidden> {
        if !rules.hides_files(call) {
            return None;
        }
        let (rules, tool, arguments) = (
            Arc::clone(rules),
            call.tool.to_owned(),
            call.arguments.clone(),
        );
        let (workspace, real, effect) = (self.workspace.clone(), self.real.clone(), call.effect);
        Some(Arc::new(move |path: &Path| {
            let call = Call {
                tool: &tool,
                arguments: &arguments,
                effect,
                workspace: &workspace,
            };
            match path.strip_prefix(&real) {
                Ok(inside) => rules.hides(&call, &workspace.join(inside)),
                Err(_) => rules.hides(&call, path),
            }
        }))
    }
}

/// Whether somebody wrote down what decides.
const fn is_rule(reason: &Reason) -> bool {
    matches!(
        reason,
        Reason::Rule { .. } | Reason::CouldMatch { .. } | Reason::NotInRole { .. }
    )
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
