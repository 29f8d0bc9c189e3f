//! `permissions`: shows the rules, and which of them decides about a call.

use crate::cli::{Args, existing_team, open};
use crate::failure::{Failure, Kind};
use crate::names;
use crate::output::{print, print_json};
use crate::sandboxed_caller::Needs;
use crate::trusted_workspace::UncheckedWorkspace;
use ::config::Config;
use permissions::{
    Call, Conditions, ListKind, Origin, Permissions, Reason, Rule, RuleError, RuleList,
};
use protocol::{Effect, Member, Party, RequestId, SandboxMode};
use serde_json::{Value, json};
use terminal_text::one_line;

/// Show what members may do, and which rule decides about a call.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead permissions list
  team-lead permissions list --member alice
  team-lead permissions check 'npm test && git push'
  team-lead permissions check --tool edit_file src/main.rs --member alice
  team-lead permissions check --tool web_fetch https://example.org/
  team-lead permissions revoke 1a2b3c4d

Deny rules come first, then ask rules, then allow rules. Each command of a script must pass. What no rule
mentions is allowed inside a sandbox, and asks where it needs more: docs/permissions.md.

With --json: list prints {\"rules\": [{\"list\": \"deny\", \"ask\" or \"allow\", \"rule\", \"origin\"}], \"web\":
{\"web_search\", \"web_fetch\"}}, where \"web\" is null if the web is not turned on, check
{\"verdict\": \"allow\", \"ask\" or \"deny\", \"reason\", \"rule\", \"origin\", \"part\"}.")]
pub(crate) struct PermissionsVerb {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    /// Show the rules and where they come from.
    List(List),
    /// Say what happens to a call, and why. Nothing is run.
    Check(Check),
    /// Take back a rule that an answer has granted.
    Revoke(Revoke),
}

#[derive(clap::Args)]
struct Revoke {
    /// The id of the answer, as `permissions list` shows it.
    id: RequestId,
}

#[derive(clap::Args)]
struct List {
    /// Only the rules that hold for this member.
    #[arg(long, value_name = "NAME")]
    member: Option<String>,
}

#[derive(clap::Args)]
struct Check {
    /// The command; for other tools a path, a role or an address.
    #[arg(value_name = "COMMAND", allow_hyphen_values = true)]
    what: String,
    /// The tool that is called.
    #[arg(long, value_name = "TOOL", default_value = "bash")]
    tool: String,
    /// The command is to have the network.
    #[arg(long)]
    network: bool,
    /// The member that calls it; otherwise the lead.
    #[arg(long, value_name = "NAME")]
    member: Option<String>,
}

pub(crate) fn run(args: &Args, command: &PermissionsVerb) -> Result<(), Failure> {
    let unchecked = UncheckedWorkspace::find(args)?;
    match &command.action {
        Action::List(list) => show(args, &unchecked, list),
        Action::Check(check) => decide(args, &unchecked, check),
        Action::Revoke(revoke) => take_back(args, &revoke.id),
    }
}

impl PermissionsVerb {
    /// What the command changes.
    pub(crate) fn needs(&self) -> Needs {
        match self.action {
            Action::List(_) | Action::Check(_) => Needs::Nothing,
            Action::Revoke(_) => Needs::Team(None),
        }
    }
}

fn take_back(args: &Args, id: &RequestId) -> Result<(), Failure> {
    let team = open(args)?;
    if team.update_grants(|grants| grants.revoke(id, teamdir::now()))? {
        let shown = json!({"id": id, "revoked": true});
        return args.confirm(&shown, &format!("Revoked the rule of the answer {id}"));
    }
    let message = format!("no rule that counts was granted by the answer {id}");
    Err(Failure::new(Kind::UnknownRequest, message).hint("team-lead permissions list"))
}

/// The rules that answers have granted to a party, or all of them.
fn granted(args: &Args, party: Option<&Party>) -> Result<Vec<RuleList>, Failure> {
    let (_, Some(team)) = existing_team(args)? else {
        return Ok(Vec::new());
    };
    let grants = team.grants()?;
    let counting = grants.rules.iter().filter(|grant| match party {
        Some(party) => grant.is_for(party),
        None => grant.revoked_at.is_none(),
    });
    let lists = counting.map(|grant| {
        let by = grant.by_name.clone();
        let by = by.unwrap_or_else(|| grant.by.to_string());
        let by = match &grant.member {
            Some(member) => format!("{by}, for {member}"),
            None => format!("{by}, for the team"),
        };
        let origin = Origin::Granted {
            id: grant.id.to_string(),
            by,
        };
        Ok(RuleList {
            allow: vec![Rule::parse(&grant.rule)?],
            ..RuleList::new(origin)
        })
    });
    lists.collect()
}

fn show(args: &Args, unchecked: &UncheckedWorkspace, list: &List) -> Result<(), Failure> {
    let config = &unchecked.settings.config;
    let member = member(args, list.member.as_deref())?;
    let mut lists = rule_lists(config, member.as_ref())?;
    let web = uses_web(config, member.as_ref());
    let web = web.then(|| Permissions::new(lists.clone(), Conditions::default()).web());
    if list.member.is_none() {
        lists.extend(config.role_lists());
    }
    let party = member.map(|member| Party::Member(member.spec.name));
    lists.extend(granted(args, party.as_ref())?);
    let kinds = [ListKind::Deny, ListKind::Ask, ListKind::Allow];
    let rules = kinds.into_iter().flat_map(|kind| {
        let lists = lists.iter();
        lists.flat_map(move |list| list.rules(kind).iter().map(move |rule| (kind, rule, list)))
    });
    let rules: Vec<(ListKind, &Rule, &RuleList)> = rules.collect();
    if args.json {
        let rules = rules.iter().map(|(kind, rule, list)| {
            json!({"list": name(*kind), "rule": rule.text(), "origin": list.origin.to_string()})
        });
        let web = web.map(
            |web| json!({"web_search": web.search.to_string(), "web_fetch": web.fetch.to_string()}),
        );
        return print_json(&json!({"rules": rules.collect::<Vec<Value>>(), "web": web}));
    }
    if rules.is_empty() && web.is_none() {
        args.note(
            "There are no rules: what stays inside the sandbox is allowed, and the rest asks.",
        );
        return Ok(());
    }
    let width = rules.iter().map(|(_, rule, _)| rule.text().chars().count());
    let width = width.max().unwrap_or(0);
    let lines = rules.iter().map(|(kind, rule, list)| {
        let (kind, rule, origin) = (name(*kind), rule.text(), &list.origin);
        one_line(&format!("{kind:<5}  {rule:<width$}  {origin}")).into_owned()
    });
    let web = web.iter().flat_map(|web| {
        let tools = [("web_search", &web.search), ("web_fetch", &web.fetch)];
        tools.map(|(name, tool)| one_line(&format!("web    {name:<width$}  {tool}")).into_owned())
    });
    print(&lines.chain(web).collect::<Vec<_>>().join("\n"))?;
    warn_untrusted(args, unchecked)
}

fn decide(args: &Args, unchecked: &UncheckedWorkspace, check: &Check) -> Result<(), Failure> {
    let config = &unchecked.settings.config;
    let member = member(args, check.member.as_deref())?;
    let mode = match &member {
        Some(member) => teammate::sandbox_settings(config, member).mode,
        None => config.sandbox().value.unwrap_or_default(),
    };
    let is_confined =
        mode != SandboxMode::Off && sandbox::Layers::probe().level() != sandbox::Level::None;
    let flags = member
        .as_ref()
        .and_then(|member| member.spec.permissions.as_ref());
    let conditions = Conditions {
        confined: is_confined,
        yes: flags.is_some_and(|flags| flags.yes),
        home: std::env::home_dir(),
        readable: Vec::new(),
    };
    let mut lists = rule_lists(config, member.as_ref())?;
    let name = member.as_ref().map(|member| member.spec.name.clone());
    lists.extend(granted(
        args,
        Some(&name.map_or(Party::Lead, Party::Member)),
    )?);
    let workspace = &unchecked.workspace;
    // Where it cannot be resolved, paths are compared as they are written.
    let workspace = workspace
        .canonicalize()
        .unwrap_or_else(|_| workspace.clone());
    let arguments = arguments(check);
    let call = Call {
        tool: &check.tool,
        arguments: &arguments,
        effect: effect(unchecked, member.as_ref(), &check.tool)?,
        workspace: &workspace,
    };
    let decision = Permissions::new(lists, conditions).decide(&call);
    let (verdict, reason) = (decision.verdict, &decision.reason);
    if args.json {
        let (rule, origin, part) = decided_by(reason);
        let reason = reason.to_string();
        return print_json(&json!({
            "verdict": verdict.to_string(), "reason": reason, "rule": rule, "origin": origin, "part": part,
        }));
    }
    print(&one_line(&format!("{verdict}: {reason}")))?;
    if is_of_web(&check.tool) && !uses_web(config, member.as_ref()) {
        args.note(
            "note: the web is not turned on, so that the tool is not offered anyway; next: --web",
        );
    }
    warn_untrusted(args, unchecked)
}

/// The rule that decided, where it comes from, and the part that it concerns.
fn decided_by(reason: &Reason) -> (Option<&String>, Option<String>, Option<&String>) {
    match reason {
        Reason::Rule { rule, origin, part } | Reason::CouldMatch { rule, origin, part } => {
            (Some(rule), Some(origin.to_string()), part.as_ref())
        }
        Reason::NotInRole { part, .. } | Reason::Unconfined { part } => (None, None, part.as_ref()),
        Reason::NobodyToAsk { rule, origin } => (Some(rule), Some(origin.to_string()), None),
        Reason::NeedsNetwork
        | Reason::OtherHosts
        | Reason::NoHostLeft
        | Reason::WebSetting
        | Reason::OutsideWorkspace(_)
        | Reason::Unparsable
        | Reason::Confined
        | Reason::ReadsOnly
        | Reason::InWorkspace
        | Reason::TeamOnly
        | Reason::Yes => (None, None, None),
    }
}

/// The rules of a member, or of the lead.
fn rule_lists(config: &Config, member: Option<&Member>) -> Result<Vec<RuleList>, Failure> {
    let role = member.map(|member| member.spec.role.as_str());
    let flags = member.and_then(|member| member.spec.permissions.as_ref());
    Ok(config.rule_lists(role, flags)?)
}

fn member(args: &Args, typed: Option<&str>) -> Result<Option<Member>, Failure> {
    let Some(typed) = typed else { return Ok(None) };
    let roster = open(args)?.roster()?;
    let name = names::member(&roster, typed)?;
    Ok(roster.member(&name).cloned())
}

/// Rules of a workspace that is not trusted allow nothing: no member starts there.
fn warn_untrusted(args: &Args, unchecked: &UncheckedWorkspace) -> Result<(), Failure> {
    let check = unchecked.check()?;
    let is_allow = |risky: &trust::RiskySetting| risky.risk == trust::Risk::Permission;
    if check.verdict().added.iter().any(is_allow) {
        args.note(
            "note: the allow rules of the workspace are not trusted yet; next: team-lead trust",
        );
    }
    Ok(())
}

/// Whether the provider runs the tool.
fn is_of_web(tool: &str) -> bool {
    matches!(tool, "web_search" | "web_fetch")
}

/// Whether the web is turned on for a member, or for the lead without flags.
fn uses_web(config: &Config, member: Option<&Member>) -> bool {
    match member {
        Some(member) => teammate::uses_web(config, member),
        None => config.web().value.unwrap_or(false),
    }
}

/// The arguments of a call of the tool.
fn arguments(check: &Check) -> Value {
    let what = &check.what;
    match check.tool.as_str() {
        "bash" | "background_run" => json!({"command": what, "needs_network": check.network}),
        "spawn_teammate" => json!({"role": what}),
        "web_search" => json!({"query": what}),
        "web_fetch" => json!({"url": what}),
        _ => json!({"path": what}),
    }
}

/// What the tool declares that it may change.
fn effect(
    unchecked: &UncheckedWorkspace,
    member: Option<&Member>,
    tool: &str,
) -> Result<Effect, Failure> {
    if is_of_web(tool) {
        // The provider runs it, so that nothing changes here.
        return Ok(Effect::Read);
    }
    let own = match member {
        Some(_) => team_tools::teammate_effect(tool),
        None => team_tools::lead_effect(tool),
    };
    let (workspace, settings) = (&unchecked.workspace, &unchecked.settings);
    let effect = own.or_else(|| member::shared_tool_effect(workspace, settings, tool));
    effect.ok_or_else(|| {
        let owner = member.map_or("lead", |member| member.spec.name.as_str());
        let hint = match member {
            Some(member) => format!("team-lead prompt show {} --tools", member.spec.name),
            None => "team-lead prompt show --tools".to_owned(),
        };
        Failure::new(Kind::Usage, format!("{owner} has no tool {tool:?}")).hint(hint)
    })
}

const fn name(kind: ListKind) -> &'static str {
    match kind {
        ListKind::Deny => "deny",
        ListKind::Ask => "ask",
        ListKind::Allow => "allow",
    }
}

impl From<RuleError> for Failure {
    fn from(error: RuleError) -> Self {
        Self::new(Kind::Usage, error.to_string()).hint("team-lead permissions --help")
    }
}
