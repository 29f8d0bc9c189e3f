//! `sandbox`: what a sandbox on this machine gives, and a command inside one.

use crate::cli::{Args, workspace};
use crate::failure::{Failure, Kind};
use crate::output::{print, print_json, print_stderr};
use anyhow::Context;
use protocol::NetworkSetting;
use proxy::{Policy, Proxy, Refusal};
use sandbox::{Description, Layer, Layers, Level, PrepareError, Session, StartError};
use serde_json::json;
use signal_hook::consts::{SIGINT, SIGQUIT};
use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Show what a sandbox on this machine gives, or run a command in one.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead sandbox check
  team-lead sandbox run -- make test
  team-lead sandbox run --network on -- npm install
  team-lead sandbox run --network 'example.org,*.example.net' -- git fetch
  team-lead sandbox run --read-only -- git log

Inside, the system and the tools in the home folder are readable, and secrets are not. The workspace
and a private /tmp are writable, except for .team, team.toml, .envrc, .mcp.json, the hooks and settings
of git, and the folders of editors and agents. The command gets only harmless variables, no terminal of
its own, and nothing of it survives. The exit code is that of the command, or 128 and the number of the
signal that killed it; 126 and 127 say that it cannot be executed or does not exist.

With a list of hosts, the command finds a proxy by the usual variables (HTTPS_PROXY and the like), and
nothing else. HOST is example.org, *.example.org for all names below it, or an address; HOST:PORT is that
port alone, HOST ports 80 and 443. Addresses that are not public have to be listed with their port.

The commands of members run in the same sandbox: see --sandbox and --network of run and spawn.

With --json, check prints {\"level\", \"layers\": [{\"name\", \"gives\", \"present\", \"why\", \"how\"}]}.")]
pub(crate) struct Sandbox {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Show the level of protection, each layer, and how to get a missing one.
    Check,
    /// Run a command in the sandbox of the workspace.
    Run(Run),
}

#[derive(clap::Args)]
struct Run {
    /// What the command reaches: nothing, the machine's network, or the listed hosts.
    #[arg(long, value_name = "off|on|HOST,...", default_value_t = NetworkSetting::Off)]
    network: NetworkSetting,
    /// Make the whole workspace read-only.
    #[arg(long)]
    read_only: bool,
    /// The command and its arguments.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

pub(crate) fn run(args: &Args, command: &Sandbox) -> Result<u8, Failure> {
    match &command.what {
        What::Check => check(args).map(|()| protocol::exit::DONE),
        What::Run(run) => run_inside(args, run),
    }
}

fn check(args: &Args) -> Result<(), Failure> {
    let layers = Layers::probe();
    let (level, list) = (layers.level(), layers.list());
    if args.json {
        return print_json(&json!({"level": level, "layers": list}));
    }
    let mut lines = vec![format!("level: {level} ({})", promise(level))];
    lines.extend(list.iter().map(layer_text));
    print(&lines.join("\n"))
}

fn layer_text(layer: &Layer) -> String {
    let (name, gives) = (layer.name, layer.gives);
    match &layer.missing {
        None => format!("  yes  {name}: {gives}"),
        Some(missing) => {
            let (why, how) = (&missing.why, &missing.how);
            format!("  no   {name}: {gives}\n         why: {why}\n         how to get it: {how}")
        }
    }
}

const fn promise(level: Level) -> &'static str {
    match level {
        Level::Full => "all that is promised holds",
        Level::Landlock => {
            "files outside of the workspace are protected; .team, team.toml and other control files \
             inside it are not, and processes may survive"
        }
        Level::None => "files are not protected",
    }
}

fn run_inside(args: &Args, run: &Run) -> Result<u8, Failure> {
    let layers = Layers::probe();
    let level = layers.level();
    if level != Level::Full {
        args.note(&format!("sandbox level {level}: {}", promise(level)));
        args.note("next: team-lead sandbox check");
    }
    let (program, arguments) = run
        .command
        .split_first()
        .ok_or_else(|| Failure::usage("no command"))?;
    let mut command = Command::new(program);
    command.args(arguments);
    let session = sandbox::prepare(&mut command, &wanted(args, run)?, layers)?;
    survive_ctrl_c()?;
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return cannot_start(program, session.explain(error)),
    };
    let proxy = start_proxy(&session, &run.network)?;
    let status = child.wait().context("cannot wait for the command")?;
    rename_new_files(args, &session);
    if let Some(proxy) = proxy {
        tell_refused(args, &proxy, &run.network);
    }
    Ok(code(status))
}

/// Starts the proxy of a command that may reach certain hosts.
fn start_proxy(session: &Session, network: &NetworkSetting) -> Result<Option<Proxy>, Failure> {
    let NetworkSetting::Hosts(hosts) = network else {
        return Ok(None);
    };
    let cannot = "cannot start the proxy of the command";
    let Some(listener) = session.listener().context(cannot)? else {
        return Ok(None);
    };
    let setting = network.clone();
    let advice = move |refusal: &Refusal| advice(&setting, &[refusal]);
    let policy = Policy::new(hosts.clone(), advice);
    Ok(Some(proxy::start(listener, policy).context(cannot)?))
}

/// What to type so that refused connections are allowed.
fn advice(network: &NetworkSetting, refused: &[&Refusal]) -> String {
    let rules: Vec<String> = refused
        .iter()
        .filter_map(|refusal| refusal.rule())
        .map(|rule| format!(",{rule}"))
        .collect();
    if rules.is_empty() {
        return "no rule can allow it".to_owned();
    }
    let more = rules.concat();
    format!("next: team-lead sandbox run --network '{network}{more}' -- COMMAND")
}

/// Most programs only say that a connection failed.
fn tell_refused(args: &Args, proxy: &Proxy, network: &NetworkSetting) {
    let refused = proxy.refused();
    for refusal in &refused {
        args.note(&format!("refused: {refusal}"));
    }
    if !refused.is_empty() {
        args.note(&advice(network, &refused.iter().collect::<Vec<_>>()));
    }
}

/// What the commands of members get in this workspace, with the network of this command.
fn wanted(args: &Args, run: &Run) -> Result<Description, Failure> {
    let workspace = workspace(args)?;
    let cannot = || format!("cannot use the folder {}", workspace.display());
    let workspace = workspace.canonicalize().with_context(cannot)?;
    let confinement = member::workspace_confinement(&workspace, run.network.clone());
    Ok(confinement.description(!run.read_only, &run.network))
}

/// Ctrl-C is for the command, which gets it too and decides what it means.
fn survive_ctrl_c() -> Result<(), Failure> {
    for signal in [SIGINT, SIGQUIT] {
        let pressed = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(signal, pressed).context("cannot listen for Ctrl-C")?;
    }
    Ok(())
}

fn cannot_start(program: &OsString, error: StartError) -> Result<u8, Failure> {
    const NOT_EXECUTABLE: u8 = 126;
    const NOT_FOUND: u8 = 127;
    let program = program.display();
    let (code, text) = match (&error.step, error.source.kind()) {
        (None, ErrorKind::NotFound) => (NOT_FOUND, "does not exist in the sandbox"),
        (None, _) => (NOT_EXECUTABLE, "cannot be executed in the sandbox"),
        (Some(_), _) => {
            let message = format!("{error}: {}", error.source);
            return Err(Failure::new(Kind::Failed, message).hint("team-lead sandbox check"));
        }
    };
    print_stderr(&format!("error: {program} {text}: {}", error.source));
    Ok(code)
}

/// The exit code as a shell reports it.
fn code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| Some(128 + status.signal()?));
    code.and_then(|code| u8::try_from(code).ok())
        .unwrap_or(protocol::exit::FAILED)
}

/// Files that would make other programs run code, and that the command has created, get another
/// name. No mount can keep a name from being created that does not exist.
fn rename_new_files(args: &Args, session: &Session) {
    for renamed in session.rename_new_files() {
        match renamed.error {
            None => args.note(&renamed.to_string()),
            Some(_) => print_stderr(&format!("error: {renamed}")),
        }
    }
}

impl From<PrepareError> for Failure {
    fn from(error: PrepareError) -> Self {
        let source = std::error::Error::source(&error);
        let cause = source
            .map(|source| format!(": {source}"))
            .unwrap_or_default();
        Self::new(Kind::Failed, format!("{error}{cause}")).hint("team-lead sandbox check")
    }
}
