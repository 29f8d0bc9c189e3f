//! `sandbox`: what a sandbox on this machine gives, and a command inside one.

use crate::cli::{Args, workspace};
use crate::failure::{Failure, Kind};
use crate::output::{print, print_stderr};
use anyhow::Context;
use sandbox::workspace::{Place, description};
use sandbox::{Description, Layer, Layers, Level, Network, PrepareError, Session, StartError};
use serde_json::json;
use signal_hook::consts::{SIGINT, SIGQUIT};
use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
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
  team-lead sandbox run --read-only -- git log

Inside, the system and the tools in the home folder are readable, and secrets are not. The workspace
and a private /tmp are writable, except for .team, team.toml, .envrc, .mcp.json, the hooks and settings
of git, and the folders of editors and agents. The command gets only harmless variables, no terminal of
its own, and nothing of it survives. The exit code is that of the command, or 128 and the number of the
signal that killed it; 126 and 127 say that it cannot be executed or does not exist.

The commands of members do not run in this sandbox yet.

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
    /// Whether the command reaches the network.
    #[arg(long, value_enum, default_value_t = Access::Off)]
    network: Access,
    /// Make the whole workspace read-only.
    #[arg(long)]
    read_only: bool,
    /// The command and its arguments.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Access {
    Off,
    On,
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
        return print(&json!({"level": level, "layers": list}).to_string());
    }
    let mut lines = vec![format!("level: {level} ({})", promise(level))];
    lines.extend(list.iter().map(describe));
    print(&lines.join("\n"))
}

fn describe(layer: &Layer) -> String {
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
    let status = match command.status() {
        Ok(status) => status,
        Err(error) => return cannot_start(program, session.explain(error)),
    };
    move_aside(args, &session);
    Ok(code(status))
}

/// The description for the workspace, from what is on the disk.
fn wanted(args: &Args, run: &Run) -> Result<Description, Failure> {
    let workspace = workspace(args)?;
    let cannot = || format!("cannot use the folder {}", workspace.display());
    let workspace = workspace.canonicalize().with_context(cannot)?;
    let home = std::env::home_dir().and_then(|home| home.canonicalize().ok());
    let place = Place {
        workspace: &workspace,
        home: home.as_deref(),
        control: &[teamdir::FOLDER, config::PROJECT_FILE],
        secrets: &own_folders(home.as_deref()),
        writable: !run.read_only,
        network: match run.network {
            Access::Off => Network::Off,
            Access::On => Network::On,
        },
    };
    let exists = |path: &Path| path.symlink_metadata().is_ok();
    let names = names_in(&workspace);
    Ok(description(&place, &names, exists, std::env::vars_os()))
}

/// The names in a folder, and none if it cannot be listed.
fn names_in(folder: &Path) -> Vec<OsString> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name()).collect()
}

/// Where this program keeps the user's settings and history.
fn own_folders(home: Option<&Path>) -> Vec<PathBuf> {
    let named = ["XDG_CONFIG_HOME", "XDG_STATE_HOME"];
    let named = named.into_iter().filter_map(std::env::var_os);
    let usual = [".config", ".local/state"];
    let usual = home
        .into_iter()
        .flat_map(|home| usual.map(|name| home.join(name)));
    let all = named.map(PathBuf::from).chain(usual);
    all.map(|folder| folder.join("team-lead")).collect()
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
fn move_aside(args: &Args, session: &Session) {
    for path in session.created() {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".from-sandbox.{}", std::process::id()));
        let (from, to) = (path.display(), Path::new(&name).display());
        match std::fs::rename(&path, &name) {
            Ok(()) => args.note(&format!(
                "the command created {from}, which other programs trust: it is now {to}"
            )),
            Err(error) => print_stderr(&format!(
                "error: the command created {from}, which other programs trust, and it cannot be \
                 moved to {to}: {error}"
            )),
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
