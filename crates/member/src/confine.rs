//! Confines what a member's model can start, as people chose it and the machine allows.

use crate::runtime::MemberRuntime;
use config::UserFolder;
use nix::sys::prctl::set_dumpable;
use protocol::{NetworkSetting, Phase, SandboxLevel, SandboxMode};
use sandbox::{Layers, Level};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use teamdir::{Layout, PathError};
use tools::{Confinement, Records};
use tracing::warn;

/// The programs of a team, which a command may call to look at it.
const PROGRAMS: [&str; 2] = ["team-lead", "teammate"];

/// How many locks are hidden from a command. Each takes some microseconds.
const MOST_LOCKS: usize = 256;

/// The variable that leaves a member's process open to debuggers and measurements.
const DUMPABLE: &str = "TEAM_DUMPABLE";

/// What people chose about the commands of a member.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SandboxSettings {
    pub mode: SandboxMode,
    pub network: NetworkSetting,
}

/// Why a member's commands cannot be confined as people chose.
#[derive(Debug, thiserror::Error)]
pub enum ConfineError {
    #[error(
        "its sandbox is required to have level full, and this machine gives level {level}: {missing}; \
         see `team-lead sandbox check`, or choose --sandbox auto"
    )]
    LessThanRequired { level: Level, missing: String },
    #[error(
        "its network is a list of hosts, which only a sandbox of level full can keep, and the level is \
         {level}; see `team-lead sandbox check`, or choose --network off or --network on"
    )]
    HostsNeedFull { level: Level },
    #[error("its commands cannot be recorded: {0}; see `team-lead doctor`")]
    Records(#[from] PathError),
}

impl SandboxSettings {
    /// Whether this machine can confine commands like this. What the settings leave open is not tried.
    pub fn check_machine(&self) -> Result<(), ConfineError> {
        match &self.mode {
            SandboxMode::Auto | SandboxMode::Off => {}
            SandboxMode::Required | SandboxMode::Other(_) => require_full()?,
        }
        let NetworkSetting::Hosts(_) = self.network else {
            return Ok(());
        };
        let level = match self.mode {
            SandboxMode::Off => Level::None,
            SandboxMode::Auto | SandboxMode::Required | SandboxMode::Other(_) => {
                Layers::probe().level()
            }
        };
        match level {
            Level::Full => Ok(()),
            Level::Landlock | Level::None => Err(ConfineError::HostsNeedFull { level }),
        }
    }
}

impl MemberRuntime {
    /// Confines the commands of this member. `remedy` is what a person types to allow them more. The
    /// machine is tried out by another thread meanwhile, unless the result decides whether the member
    /// starts.
    pub fn confine(
        &self,
        settings: &SandboxSettings,
        remedy: String,
    ) -> Result<Arc<Confinement>, ConfineError> {
        hide_own_memory();
        settings.check_machine()?;
        let confinement = Confinement {
            records: Some(self.records()?),
            readable: self.readable(),
            ..confinement(&self.folder(), settings, remedy)
        };
        let confinement = Arc::new(confinement);
        self.lock().confinement = Some(Arc::clone(&confinement));
        let (runtime, tried) = (self.clone(), Arc::clone(&confinement));
        let attempt = move || runtime.show_level(tried.level(), tried.has_sandbox);
        // Without the thread the first command tries it out.
        let _ = thread::Builder::new()
            .name("probe".to_owned())
            .spawn(attempt);
        Ok(confinement)
    }

    /// What commands run in, once [`MemberRuntime::confine`] has chosen it.
    pub(crate) fn confinement(&self) -> Option<Arc<Confinement>> {
        self.lock().confinement.clone()
    }

    /// Whether commands can be kept from changing the workspace.
    #[must_use]
    pub fn can_confine(&self) -> bool {
        let confinement = self.confinement();
        confinement.is_some_and(|confinement| confinement.level() == Level::Full)
    }

    /// Where the commands of this member are recorded while they run.
    fn records(&self) -> Result<Records, ConfineError> {
        Ok(Records {
            folder: self.team().commands_folder()?,
            owner: self.owner().to_string(),
        })
    }

    fn show_level(&self, level: Level, has_sandbox: bool) {
        if has_sandbox && let Some(remark) = weakness(level) {
            warn!("{remark}");
        }
        let mut inner = self.lock();
        inner.live.set_sandbox(stored(level));
        // A state that says that the process ends is the last one.
        if inner.live.state().phase != Phase::Shutdown {
            inner.write_state();
        }
    }
}

/// Keeps processes of the same user from reading the keys in this one's environment and memory, also
/// where commands run without a sandbox. Nothing keeps root from it.
pub fn hide_own_memory() {
    if std::env::var_os(DUMPABLE).is_none_or(|value| value != "on") {
        // On a kernel that refuses, everything else works.
        let _ = set_dumpable(false);
    }
}

/// The confinement of a member's commands as people chose it. `remedy` is what a person types to allow
/// them more.
#[must_use]
pub fn confinement(workspace: &Path, settings: &SandboxSettings, remedy: String) -> Confinement {
    Confinement {
        remedy,
        read_only_reason: "until your plan is approved: call plan_approval".to_owned(),
        has_sandbox: settings.mode != SandboxMode::Off,
        ..workspace_confinement(workspace, settings.network.clone())
    }
}

/// The confinement of commands in a workspace, in the best sandbox that the machine has.
#[must_use]
pub fn workspace_confinement(workspace: &Path, network: NetworkSetting) -> Confinement {
    // A folder that is gone is reported when a command is started in it.
    let real = workspace.canonicalize();
    let home = std::env::home_dir().and_then(|home| home.canonicalize().ok());
    Confinement {
        workspace: real.unwrap_or_else(|_| workspace.to_path_buf()),
        control: vec![teamdir::FOLDER, config::PROJECT_FILE],
        secrets: own_folders(home.as_deref()),
        locks,
        records: None,
        programs: own_programs(),
        readable: Vec::new(),
        network,
        has_sandbox: true,
        remedy: String::new(),
        read_only_reason: String::new(),
        home,
    }
}

/// The team's locks in a workspace: a command that held one would keep everybody from sending mail.
fn locks(workspace: &Path) -> Vec<PathBuf> {
    Layout::new(workspace.join(teamdir::FOLDER)).change_locks(MOST_LOCKS)
}

/// The programs of the team, beside this one.
fn own_programs() -> Vec<PathBuf> {
    let own = std::env::current_exe().ok();
    let folder = own.as_deref().and_then(Path::parent);
    let all = folder
        .into_iter()
        .flat_map(|folder| PROGRAMS.map(|name| folder.join(name)));
    all.collect()
}

/// What does not hold at a level, and how to get more; nothing at level `full`.
#[must_use]
pub fn weakness(level: Level) -> Option<String> {
    let lost = match level {
        Level::Full => return None,
        Level::Landlock => {
            "commands can change .team, team.toml and other control files in the workspace, see other \
             processes, and leave processes behind"
        }
        Level::None => "commands have all rights of the user",
    };
    let missing = missing();
    Some(format!(
        "the sandbox here has level {level}: {lost}; missing: {missing}; see `team-lead sandbox check`"
    ))
}

/// The missing layers, each with how to get it.
fn missing() -> String {
    let layers = Layers::probe().list();
    let missing = layers.iter().filter_map(|layer| {
        let missing = layer.missing.as_ref()?;
        Some(format!("{} ({}; {})", layer.name, missing.why, missing.how))
    });
    missing.collect::<Vec<_>>().join(", ")
}

fn require_full() -> Result<(), ConfineError> {
    match Layers::probe().level() {
        Level::Full => Ok(()),
        level @ (Level::Landlock | Level::None) => Err(ConfineError::LessThanRequired {
            level,
            missing: missing(),
        }),
    }
}

const fn stored(level: Level) -> SandboxLevel {
    match level {
        Level::None => SandboxLevel::None,
        Level::Landlock => SandboxLevel::Landlock,
        Level::Full => SandboxLevel::Full,
    }
}

/// Where the programs keep the user's settings, history and records of trust, which no command may
/// read. The usual places count also where variables name others: older files may be there.
fn own_folders(home: Option<&Path>) -> Vec<PathBuf> {
    let used = UserFolder::ALL.into_iter();
    let used = used.filter_map(|folder| folder.path(std::env::var_os));
    // A sandbox needs paths without links.
    let used = used.map(|path| path.canonicalize().unwrap_or(path));
    let usual = home.into_iter();
    let usual = usual.flat_map(|home| UserFolder::ALL.map(|folder| folder.below(home)));
    let mut all: Vec<PathBuf> = used.chain(usual).collect();
    all.sort();
    all.dedup();
    all
}
