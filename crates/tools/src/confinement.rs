//! How the commands of a model are confined.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use command::{End, Finished, ProxySpec, Surroundings};
use protocol::NetworkSetting;
use proxy::{Policy, Refusal};
use sandbox::workspace::{WorkspaceNeeds, describe, secret_paths};
use sandbox::{Description, Layers, Level, Network};

use crate::access::CommandAccess;
use crate::context::random_id;
use crate::workspace::Forbidden;

/// What a command inside sees, changes and reaches. The description is made anew for each command,
/// from what is on the disk then.
#[derive(Clone, Debug)]
pub struct Confinement {
    pub workspace: PathBuf,
    pub home: Option<PathBuf>,
    /// Names in the workspace that commands must not change, besides those that every workspace has.
    pub control: Vec<&'static str>,
    /// Paths that commands must not read, besides the usual ones.
    pub secrets: Vec<PathBuf>,
    /// Finds files in a workspace that commands must not lock, for each command anew. They are hidden:
    /// whoever may read a file may lock it.
    pub locks: fn(&Path) -> Vec<PathBuf>,
    /// Where a running command is recorded, so that others can finish it if this process is killed.
    pub records: Option<Records>,
    /// Programs that commands may run, wherever they are.
    pub programs: Vec<PathBuf>,
    /// Files and folders outside of the workspace that commands may read.
    pub readable: Vec<PathBuf>,
    pub network: NetworkSetting,
    /// Without it commands run with all rights of this process.
    pub has_sandbox: bool,
    /// What a person types to allow commands more.
    pub remedy: String,
    /// Until when a call is read-only, and what the model can do about it.
    pub read_only_reason: String,
}

/// Where running commands are recorded: in a folder that exists, under names that begin with their owner.
#[derive(Clone, Debug)]
pub struct Records {
    pub folder: PathBuf,
    pub owner: String,
}

impl Records {
    /// The path of a new record.
    fn path(&self) -> PathBuf {
        self.folder.join(format!("{}.{}", self.owner, random_id()))
    }
}

/// The variable that names the level to a command inside.
pub const LEVEL_VARIABLE: &str = "TEAM_SANDBOX_LEVEL";
const TMPDIR: &str = "TMPDIR";

/// What programs write when a layer of a sandbox refuses something. They are hints for a remark, and
/// nothing else depends on them.
const SIGNS: [&str; 12] = [
    "Read-only file system",
    "Permission denied",
    "Operation not permitted",
    "Device or resource busy",
    "Invalid cross-device link",
    "Network is unreachable",
    "Connection refused",
    "Could not resolve host",
    "Temporary failure in name resolution",
    "EROFS",
    "EACCES",
    "ENOTFOUND",
];

impl Confinement {
    /// The level in force. The first call in a process tries it out.
    #[must_use]
    pub fn level(&self) -> Level {
        match self.has_sandbox {
            true => Layers::probe().level(),
            false => Level::None,
        }
    }

    /// What the file tools leave alone outside of the workspace: what commands must not read or change.
    pub(crate) fn forbidden(&self) -> Forbidden {
        let usual = secret_paths(self.home.as_deref());
        Forbidden {
            secrets: usual.chain(self.secrets.iter().cloned()).collect(),
            control: self.control.iter().map(|name| (*name).to_owned()).collect(),
        }
    }

    /// What a command with this network sees, changes and reaches, as the disk is now.
    #[must_use]
    pub fn description(&self, writable: bool, network: &NetworkSetting) -> Description {
        let locks = (self.locks)(&self.workspace);
        let secrets = [self.secrets.as_slice(), &locks].concat();
        let programs = [self.programs.as_slice(), &self.readable].concat();
        let mut description = describe(&WorkspaceNeeds {
            workspace: &self.workspace,
            home: self.home.as_deref(),
            control: &self.control,
            secrets: &secrets,
            programs: &programs,
            writable,
            network: match network {
                NetworkSetting::Off => Network::Off,
                NetworkSetting::On => Network::On,
                NetworkSetting::Hosts(_) => Network::Proxy,
            },
        });
        description.record = self.records.as_ref().map(Records::path);
        if let NetworkSetting::Hosts(hosts) = network {
            let variables = proxy::variables(sandbox::PROXY.into(), hosts);
            description.environment.extend(variables);
        }
        description
    }

    /// What a command with this access runs in. Below level `full` nothing can be read-only.
    #[must_use]
    pub fn surroundings(&self, access: CommandAccess) -> Surroundings {
        let description = match access {
            CommandAccess::Full => self.description(true, &self.network),
            CommandAccess::Network => self.description(true, &NetworkSetting::On),
            CommandAccess::ReadOnly => self.description(false, &NetworkSetting::Off),
        };
        let proxy = match access {
            CommandAccess::Full => self.proxy(),
            CommandAccess::Network | CommandAccess::ReadOnly => None,
        };
        self.in_force(description, proxy)
    }

    /// What a program runs in that works for the member itself, such as the agent of another program: with the
    /// member's network, also where it must not change the workspace.
    #[must_use]
    pub fn program_surroundings(&self, writable: bool) -> Surroundings {
        self.in_force(self.description(writable, &self.network), self.proxy())
    }

    /// A description as far as the machine can keep it.
    fn in_force(&self, mut description: Description, proxy: Option<ProxySpec>) -> Surroundings {
        let level = self.level();
        let variables = &mut description.environment;
        variables.push((LEVEL_VARIABLE.into(), level.to_string().into()));
        if level == Level::None {
            variables.retain(|(name, _)| name != TMPDIR);
            variables.extend(std::env::var_os(TMPDIR).map(|folder| (TMPDIR.into(), folder)));
            return Surroundings::Environment(description.environment);
        }
        Surroundings::Sandbox {
            description: Box::new(description),
            layers: Layers::probe(),
            proxy,
        }
    }

    /// The proxy of commands that reach listed hosts.
    fn proxy(&self) -> Option<ProxySpec> {
        let NetworkSetting::Hosts(hosts) = self.network.clone() else {
            return None;
        };
        let remedy = format!("a person can allow it: {}", self.remedy);
        let policy = move || {
            let remedy = remedy.clone();
            Policy::new(hosts.clone(), move |_: &Refusal| remedy.clone())
        };
        Some(ProxySpec(Arc::new(policy)))
    }

    /// A remark for the model about a command that failed and whose output looks as if a layer of
    /// the sandbox was the cause.
    pub(crate) fn remark(
        &self,
        finished: &Finished,
        output: &str,
        access: CommandAccess,
    ) -> Option<String> {
        let level = self.level();
        let has_failed = matches!(finished.end, End::Exited(1..) | End::Signaled(_));
        let has_sign = || SIGNS.iter().any(|sign| output.contains(sign));
        let remedy = &self.remedy;
        if !finished.refused.is_empty() {
            let refused: Vec<String> = finished.refused.iter().map(Refusal::to_string).collect();
            let refused = refused.join("; ");
            return Some(format!(
                "[the sandbox refused: {refused}. A person can allow more: {remedy}]"
            ));
        }
        if level == Level::None || !has_failed || !has_sign() {
            return None;
        }
        if access == CommandAccess::ReadOnly {
            return Some(format!(
                "[if this was because of the sandbox: only /tmp is writable and there is no network, {}]",
                self.read_only_reason
            ));
        }
        let (network, control) = (&self.network, self.control_files());
        let ask = match (network, access) {
            (NetworkSetting::On, _) | (_, CommandAccess::Network | CommandAccess::ReadOnly) => "",
            (NetworkSetting::Off | NetworkSetting::Hosts(_), CommandAccess::Full) => {
                " For the network once, run it again with needs_network: a person is asked."
            }
        };
        Some(format!(
            "[if this was because of the sandbox: level {level}, network {network}; writable are the \
             workspace, except for {control}, and /tmp.{ask} A person can allow more: {remedy}]"
        ))
    }

    /// The sentences about the sandbox that a model should know before it runs a command.
    #[must_use]
    pub fn facts(&self) -> String {
        let control = self.control_files();
        match self.level() {
            Level::Full => format!(
                "Your commands run in a sandbox (level full): the workspace, except for {control}, and \
                 a private /tmp are writable; most of the home folder is not there; {}; nothing \
                 survives a command.",
                self.network_fact(
                    "there is no network but a loopback interface of the command's own"
                )
            ),
            Level::Landlock => format!(
                "Your commands run in a sandbox (level landlock): only the workspace and $TMPDIR are \
                 writable; {}. Do not change {control}.",
                self.network_fact("there is no network, not even a loopback interface")
            ),
            Level::None => format!(
                "Your commands run without a sandbox (level none), with all rights of the user. Change \
                 nothing outside of the workspace, and do not change {control}."
            ),
        }
    }

    /// What commands reach; `off` says it where they reach nothing.
    fn network_fact(&self, off: &str) -> String {
        match &self.network {
            NetworkSetting::On => "the network can be reached".to_owned(),
            NetworkSetting::Off => off.to_owned(),
            NetworkSetting::Hosts(hosts) => {
                format!("of the network only these hosts are reached, through a proxy: {hosts}")
            }
        }
    }

    fn control_files(&self) -> String {
        let own: String = self
            .control
            .iter()
            .map(|name| format!("{name}, "))
            .collect();
        format!("control files such as {own}.env and .git/config")
    }
}
