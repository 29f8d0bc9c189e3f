//! The settings in the files of a workspace that need the user's trust.
//!
//! They are those that run code, move a key, or say what members may do. Each is collected as the file
//! says it, also if the environment or the user's file overrides it: whether a workspace is trusted
//! must not depend on what is exported. A new setting with such a risk (a permission, a check
//! command, a hook) gets a line in [`of_file`], [`of_role`] or [`risky_member_settings`].

use crate::config::{Config, EXPLORE_MODEL, MODEL_VARIABLES, NETWORK, PROJECT_FILE, SANDBOX, WEB};
use crate::file::{FileConfig, MemberEntry, Role};
use crate::hook_tables::{HookTables, shown_entries};
use crate::mcp::{MCP_FILE, McpServer};
use crate::read::DOTENV_FILE;
use crate::rule_tables::CLAUDE_SETTINGS;
use llm::choice::ADDRESS_VARIABLES;
use llm::{Variables, is_script};
use permissions::Rule;
use protocol::{MemberSpec, NetworkSetting, SandboxMode};
use std::collections::BTreeMap;
use std::path::Path;
use trust::{Risk, RiskySetting, RiskySettings};

impl Config {
    /// The settings of the workspace's `team.toml` and `.env` that need trust.
    pub fn risky_settings(&self, variables: &Variables) -> RiskySettings {
        let of_project = self.project().map(of_file).unwrap_or_default();
        let of_claude = self.claude().and_then(|claude| {
            let rules = claude.rules.allow.iter().map(Rule::text);
            allow_rules("", rules, Path::new(CLAUDE_SETTINGS))
        });
        let of_mcp = self.mcp_file().into_iter();
        let of_mcp = of_mcp.flat_map(|file| servers(&file.servers, Path::new(MCP_FILE)));
        let of_hooks = self.claude().into_iter();
        let of_hooks = of_hooks.flat_map(|claude| hooks(&claude.hooks, Path::new(CLAUDE_SETTINGS)));
        let settings = of_project.into_iter().chain(of_dotenv(variables));
        let settings = settings.chain(of_claude).chain(of_mcp);
        settings.chain(of_hooks).collect()
    }
}

/// What the entry of a member in `origin`, a `team.toml` or a roster, says that needs trust, except
/// for its model: the two origins have different keys for that, see [`risky_model`].
pub fn risky_member_settings(spec: &MemberSpec, origin: &Path) -> Vec<RiskySetting> {
    // All fields are named, so that a new one does not compile until somebody has decided about it.
    let MemberSpec {
        name,
        exec,
        engine,
        sandbox,
        network,
        // A tree of one's own allows nothing more, and a shared one nothing that is not the default.
        tree: _,
        role: _,
        model: _,
        require_plan,
        restart: _,
        prompt: _,
        no_claim: _,
        idle_timeout: _,
        max_output: _,
        effort: _,
        thinking: _,
        temperature: _,
        web,
        permissions,
    } = spec;
    let prefix = format!("members.{name}.");
    let exec = exec.as_ref().map(|command| {
        let key = format!("{prefix}exec");
        setting(Risk::Exec, key, command.clone(), origin)
    });
    let engine = engine_use(&prefix, engine.as_ref(), origin);
    let confinement = confinement(&prefix, sandbox.as_ref(), network.as_ref(), origin);
    let plan = without_plan(&prefix, *require_plan, origin);
    let web = web_use(&prefix, *web, origin);
    let rules = permissions.as_ref();
    let allow = rules.map(|rules| allow_rules(&prefix, rules.allow.iter(), origin));
    let yes = rules.filter(|rules| rules.yes).map(|_| {
        let key = format!("{prefix}permissions.yes");
        setting(Risk::Permission, key, "true".to_owned(), origin)
    });
    let settings = exec.into_iter().chain(engine).chain(confinement);
    let settings = settings.chain(plan).chain(web).chain(yes);
    settings.chain(allow.into_iter().flatten()).collect()
}

/// A model, if it is a file of recorded turns.
pub fn risky_model(key: &str, model: Option<&str>, origin: &Path) -> Option<RiskySetting> {
    let model = model.filter(|model| is_script(model))?;
    Some(setting(
        Risk::Script,
        key.to_owned(),
        model.to_owned(),
        origin,
    ))
}

fn of_file(file: &FileConfig) -> Vec<RiskySetting> {
    let origin = Path::new(PROJECT_FILE);
    let (sandbox, network) = (file.sandbox.as_ref(), file.network.as_ref());
    let mut settings = confinement("", sandbox, network, origin);
    settings.extend(risky_model("model", file.model.as_deref(), origin));
    let explore_model = file.explore_model.as_deref();
    settings.extend(risky_model("explore_model", explore_model, origin));
    settings.extend(web_use("", file.web, origin));
    let rules = file.permissions.allow.iter().map(Rule::text);
    settings.extend(allow_rules("", rules, origin));
    settings.extend(asking(file, origin));
    settings.extend(hooks(&file.hooks, origin));
    let commands = [
        ("tree.setup", &file.tree.setup),
        ("tree.check", &file.tree.check),
    ];
    settings.extend(commands.into_iter().filter_map(|(key, command)| {
        let command = command.clone()?;
        Some(setting(Risk::Command, key.to_owned(), command, origin))
    }));
    settings.extend(servers(&file.mcp_servers, origin));
    for (name, role) in &file.roles {
        settings.extend(of_role(name, role, origin));
    }
    for MemberEntry { spec, .. } in &file.members {
        let model_key = format!("members.{}.model", spec.name);
        settings.extend(risky_member_settings(spec, origin));
        settings.extend(risky_model(&model_key, spec.model.as_deref(), origin));
    }
    settings
}

/// Programs that run and addresses that get what members say.
fn servers(servers: &BTreeMap<String, McpServer>, origin: &Path) -> Vec<RiskySetting> {
    let servers = servers.iter().map(|(name, server)| {
        let key = format!("mcp_servers.{name}");
        setting(Risk::McpServer, key, server.text(), origin)
    });
    servers.collect()
}

fn of_role(name: &str, role: &Role, origin: &Path) -> Vec<RiskySetting> {
    let prefix = format!("roles.{name}.");
    let tools = role.tools.as_ref();
    let tools = tools.map(|tools| {
        let key = format!("{prefix}tools");
        setting(Risk::Tools, key, tools.join(" "), origin)
    });
    let model = risky_model(&format!("{prefix}model"), role.model.as_deref(), origin);
    let (sandbox, network) = (role.sandbox.as_ref(), role.network.as_ref());
    let confinement = confinement(&prefix, sandbox, network, origin);
    let plan = without_plan(&prefix, role.require_plan, origin);
    let settings = tools.into_iter().chain(model).chain(confinement);
    let web = web_use(&prefix, role.web, origin);
    let engine = engine_use(&prefix, role.engine.as_ref(), origin);
    settings.chain(plan).chain(web).chain(engine).collect()
}

/// The program that takes the place of a model.
fn engine_use(prefix: &str, engine: Option<&String>, origin: &Path) -> Option<RiskySetting> {
    let key = format!("{prefix}engine");
    engine.map(|engine| setting(Risk::Exec, key, engine.clone(), origin))
}

/// The command that runs when something waits for a person, and who may answer in a person's place.
fn asking(file: &FileConfig, origin: &Path) -> Vec<RiskySetting> {
    let notify = file.notify.as_ref();
    let notify =
        notify.map(|command| setting(Risk::Exec, "notify".to_owned(), command.clone(), origin));
    let lead = file.lead_decides.filter(|decides| *decides);
    let lead = lead.map(|_| {
        let key = "lead_decides".to_owned();
        setting(Risk::Permission, key, "true".to_owned(), origin)
    });
    notify.into_iter().chain(lead).collect()
}

/// The commands that run when something happens to a member.
fn hooks(tables: &HookTables, origin: &Path) -> Vec<RiskySetting> {
    let settings = tables.iter().map(|(event, entries)| {
        let key = format!("hooks.{event}");
        setting(Risk::Exec, key, shown_entries(entries), origin)
    });
    settings.collect()
}

/// That no plan is needed where another file may require one.
fn without_plan(prefix: &str, required: Option<bool>, origin: &Path) -> Option<RiskySetting> {
    let key = format!("{prefix}require_plan");
    let waived = required.filter(|required| !required);
    waived.map(|_| setting(Risk::Plan, key, "false".to_owned(), origin))
}

/// Whether models use the web, which may carry what they have read to any address.
fn web_use(prefix: &str, web: Option<bool>, origin: &Path) -> Option<RiskySetting> {
    let key = format!("{prefix}web");
    web.map(|web| setting(Risk::Network, key, web.to_string(), origin))
}

/// What nobody is asked about. Rules that deny or ask narrow what members may do, as all rules of a role
/// do, and need no trust.
fn allow_rules(
    prefix: &str,
    rules: impl Iterator<Item: AsRef<str>>,
    origin: &Path,
) -> Option<RiskySetting> {
    let key = format!("{prefix}permissions.allow");
    let rules: Vec<String> = rules.map(|rule| rule.as_ref().to_owned()).collect();
    (!rules.is_empty()).then(|| setting(Risk::Permission, key, rules.join(" "), origin))
}

fn of_dotenv(variables: &Variables) -> Vec<RiskySetting> {
    let named = |risk: Risk, name: &str| {
        let value = variables.in_file(name)?.to_owned();
        let origin = Path::new(DOTENV_FILE);
        Some(setting(risk, name.to_owned(), value, origin))
    };
    let addresses = ADDRESS_VARIABLES.map(|name| named(Risk::Address, name));
    let models = MODEL_VARIABLES.into_iter().chain([EXPLORE_MODEL]);
    let models = models.map(|name| {
        let model = named(Risk::Script, name)?;
        is_script(&model.value).then_some(model)
    });
    let confinement = [
        named(Risk::Sandbox, SANDBOX),
        named(Risk::Network, NETWORK),
        named(Risk::Network, WEB),
    ];
    let settings = addresses.into_iter().chain(models).chain(confinement);
    settings.flatten().collect()
}

/// Whether commands run in a sandbox, and what they reach.
fn confinement(
    prefix: &str,
    sandbox: Option<&SandboxMode>,
    network: Option<&NetworkSetting>,
    origin: &Path,
) -> Vec<RiskySetting> {
    let sandbox = sandbox.map(|mode| {
        let key = format!("{prefix}sandbox");
        setting(Risk::Sandbox, key, mode.to_string(), origin)
    });
    let network = network.map(|access| {
        let key = format!("{prefix}network");
        setting(Risk::Network, key, access.to_string(), origin)
    });
    sandbox.into_iter().chain(network).collect()
}

fn setting(risk: Risk, key: String, value: String, origin: &Path) -> RiskySetting {
    RiskySetting {
        risk,
        key,
        value,
        origin: origin.to_path_buf(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::load;
    use crate::read::with_dotenv;
    use nix::unistd::geteuid;
    use trust::Owners;

    fn settings(toml: &str, dotenv: &str, environment: &[(&str, &str)]) -> Vec<String> {
        let workspace = tempfile::tempdir().unwrap();
        std::fs::write(workspace.path().join(PROJECT_FILE), toml).unwrap();
        std::fs::write(workspace.path().join(DOTENV_FILE), dotenv).unwrap();
        let owners = Owners::new(geteuid().as_raw(), None);
        let environment = environment.iter().copied().collect();
        let variables = with_dotenv(environment, workspace.path(), &owners).unwrap();
        let config = load(workspace.path(), &variables, &owners).unwrap();
        let settings = config.risky_settings(&variables);
        let text = |setting: &RiskySetting| {
            let origin = setting.origin.display();
            format!(
                "{} {}={} ({origin})",
                setting.risk.label(),
                setting.key,
                setting.value
            )
        };
        settings.iter().map(text).collect()
    }

    #[test]
    fn what_runs_code_moves_a_key_or_says_what_members_may_do_is_risky() {
        let toml = "model = 'script:a'\nsandbox = 'auto'\nnetwork = 'off'\n[roles.coder]\nsandbox = 'required'\n\ntools = ['bash', 'read_file']\n\
                    model = 'script:b'\n[[members]]\nname = 'carol'\nrole = 'r'\nexec = './c'\n\
                    [[members]]\nname = 'dora'\nrole = 'r'\nmodel = 'script:d'\nweb = true\n\
                    sandbox = 'off'\nnetwork = ['a.org']\nrequire_plan = false\n";
        let dotenv = "TEAM_MODEL=script:x\nMODEL_ID=script:y\nTEAM_SANDBOX=off\nTEAM_NETWORK=on\nTEAM_WEB=true\n\
                      ANTHROPIC_BASE_URL=http://a\nOPENAI_BASE_URL=http://o\n";
        let expected = [
            "program members.carol.exec=./c (team.toml)",
            "script MODEL_ID=script:y (.env)",
            "script TEAM_MODEL=script:x (.env)",
            "script members.dora.model=script:d (team.toml)",
            "script model=script:a (team.toml)",
            "script roles.coder.model=script:b (team.toml)",
            "address ANTHROPIC_BASE_URL=http://a (.env)",
            "address OPENAI_BASE_URL=http://o (.env)",
            "sandbox TEAM_SANDBOX=off (.env)",
            "sandbox members.dora.sandbox=off (team.toml)",
            "sandbox roles.coder.sandbox=required (team.toml)",
            "sandbox sandbox=auto (team.toml)",
            "network TEAM_NETWORK=on (.env)",
            "network TEAM_WEB=true (.env)",
            "network members.dora.network=a.org (team.toml)",
            "network members.dora.web=true (team.toml)",
            "network network=off (team.toml)",
            "tools roles.coder.tools=bash read_file (team.toml)",
            "plan members.dora.require_plan=false (team.toml)",
        ];
        assert_eq!(settings(toml, dotenv, &[]), expected);
        // What is exported overrides a setting, but does not change which settings there are.
        let exported = [
            ("OPENAI_BASE_URL", "http://mine"),
            ("TEAM_MODEL", "offline"),
        ];
        assert_eq!(settings(toml, dotenv, &exported), expected);
    }

    #[test]
    fn ordinary_settings_are_not_risky() {
        let toml = "model = 'anthropic:x'\nrestart = 'on-failure'\n[budget]\nmax_turns = 3\n\
                    [limits]\nmembers = 3\n[models.x]\nprice = { input = 1, output = 1 }\n[roles.coder]\n\
                    prompt = 'p'\nrequire_plan = true\npermissions = { allow = ['Bash(ls)'] }\n\
                    [permissions]\ndeny = ['Bash(rm *)']\nask = ['Bash(docker *)']\n[[members]]\nname = 'al'\nrole = 'coder'\n";
        let dotenv = "TEAM_MODEL=openai:x\nOPENAI_API_KEY=k\nTEAM_MAX_TURNS=3\nOTHER=1\n";
        assert_eq!(settings(toml, dotenv, &[]), [""; 0]);
    }
}
