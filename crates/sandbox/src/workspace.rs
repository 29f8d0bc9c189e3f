//! The default description for work in a folder: the system is readable, secrets are not, and the
//! folder is writable except for the files that make other programs run code.

mod lists;

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::description::{Description, Limits, Network, Placeholder};
use crate::extend::extend;
use crate::git;
use lists::{
    CONTROL, ENVIRONMENT, EXAMPLES, HOME_SECRETS, HOME_TOOLS, SYSTEM, SYSTEM_SECRETS, VARIABLES,
};

/// What commands that work in a folder need, and what they must not change or read there.
#[derive(Clone, Debug)]
pub struct WorkspaceNeeds<'a> {
    /// The folder to work in, without links in its path.
    pub workspace: &'a Path,
    /// The user's home folder, without links in its path.
    pub home: Option<&'a Path>,
    /// More names in the workspace that a command must not change.
    pub control: &'a [&'a str],
    /// More paths that a command must not read, such as the caller's own settings.
    pub secrets: &'a [PathBuf],
    /// More programs that a command may run, and other files and folders that it may read, wherever they
    /// are.
    pub programs: &'a [PathBuf],
    /// Whether the workspace may be changed at all.
    pub writable: bool,
    pub network: Network,
}

/// The description for these needs as the disk and the environment of this process are now.
#[must_use]
pub fn describe(needs: &WorkspaceNeeds<'_>) -> Description {
    let workspace = Listing::of(needs.workspace);
    let home = needs.home.map(Listing::of);
    let exists = |path: &Path| {
        let mut listed = [Some(&workspace), home.as_ref()].into_iter().flatten();
        let is_there = listed.find_map(|listing| listing.has(path));
        is_there.unwrap_or_else(|| path.symlink_metadata().is_ok())
    };
    let names = workspace.names.iter().flatten().cloned();
    let names: Vec<OsString> = names.collect();
    // A secret, or a link to one, is never visible as a program, even if it is listed as one.
    let secrets = secrets(needs);
    let is_secret = |path: &Path| secrets.iter().any(|secret| path.starts_with(secret));
    let programs = needs.programs.iter().filter(|path| {
        let real = path.canonicalize();
        real.is_ok_and(|real| !is_secret(&real) && !is_secret(path))
    });
    let programs: Vec<PathBuf> = programs.cloned().collect();
    let needs = WorkspaceNeeds {
        programs: &programs,
        ..needs.clone()
    };
    description(&needs, &names, exists, std::env::vars_os())
}

/// The names in a folder. Most names that are looked up do not exist, and one listing costs less than a
/// system call for each.
struct Listing<'a> {
    folder: &'a Path,
    /// `None` if it cannot be read to its end.
    names: Option<BTreeSet<OsString>>,
}

impl<'a> Listing<'a> {
    fn of(folder: &'a Path) -> Self {
        let names = std::fs::read_dir(folder).and_then(|entries| {
            let names = entries.map(|entry| Ok(entry?.file_name()));
            names.collect::<std::io::Result<_>>()
        });
        Self {
            folder,
            names: names.ok(),
        }
    }

    /// Whether a path exists, if the listing says it.
    fn has(&self, path: &Path) -> Option<bool> {
        let names = self.names.as_ref()?;
        let mut parts = path.strip_prefix(self.folder).ok()?.components();
        let is_there = names.contains(parts.next()?.as_os_str());
        (!is_there || parts.next().is_none()).then_some(is_there)
    }
}

/// What commands must leave alone, each path with everything below it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GuardedPaths {
    /// What must not be changed, nor created where it does not exist.
    pub unwritable: Vec<PathBuf>,
    /// What must not be read. It must not be changed either, and is in the other list too.
    pub unreadable: Vec<PathBuf>,
}

/// The paths that a sandbox for these needs guards as the disk is now, for tools that work outside of
/// one. Submodules and the files that the settings of git name are among them.
#[must_use]
pub fn guarded_paths(needs: &WorkspaceNeeds<'_>) -> GuardedPaths {
    let Description {
        read_only,
        hidden,
        unwanted,
        ..
    } = extend(&describe(needs), true).description;
    let mut unwritable = [read_only, unwanted, hidden.clone()].concat();
    let mut unreadable = hidden;
    for list in [&mut unwritable, &mut unreadable] {
        list.sort();
        list.dedup();
    }
    GuardedPaths {
        unwritable,
        unreadable,
    }
}

/// The names in a workspace that no tool may change, and that are protected with everything below
/// them. The names for which [`is_environment`] is true are protected too.
pub fn protected_names() -> impl Iterator<Item = &'static str> {
    CONTROL.into_iter().chain([".git"]).chain(ENVIRONMENT)
}

/// Whether a name in a workspace is that of a file with variables, such as `.env.local`.
#[must_use]
pub fn is_environment(name: &OsStr) -> bool {
    is_env(name)
}

/// Whether a name in a workspace is that of a file with secrets, which no tool may read.
#[must_use]
pub fn is_secret(name: &OsStr) -> bool {
    is_env(name) && !is_example(name)
}

/// The usual paths with secrets, whether they exist or not, each with everything below it.
pub fn secret_paths(home: Option<&Path>) -> impl Iterator<Item = PathBuf> {
    let system = SYSTEM_SECRETS.iter().map(PathBuf::from);
    let own = home.into_iter();
    system.chain(own.flat_map(|home| HOME_SECRETS.iter().map(|name| home.join(name))))
}

/// The description for these needs. `names` are those in the workspace, `exists` says whether there is
/// anything at a path, and `variables` is the environment to choose from.
pub fn description(
    needs: &WorkspaceNeeds<'_>,
    names: &[OsString],
    exists: impl Fn(&Path) -> bool,
    variables: impl IntoIterator<Item = (OsString, OsString)>,
) -> Description {
    let workspace = needs.workspace;
    let secrets = names.iter().filter(|name| is_secret(name));
    let secrets = secrets.map(|name| workspace.join(name)).collect();
    let protected = protected_paths(needs, names, &exists);
    let mut readable = readable(needs, &exists);
    let mut writable = Vec::new();
    match needs.writable {
        true => writable.push(workspace.to_owned()),
        false => readable.push(workspace.to_owned()),
    }
    Description {
        folder: workspace.to_owned(),
        readable,
        writable,
        read_only: protected.read_only,
        hidden: [hidden(needs, &exists), secrets].concat(),
        placeholders: protected.placeholders,
        unwanted: protected.unwanted,
        variables_unwanted_in: needs.writable.then(|| workspace.to_owned()),
        repositories: protected.repositories,
        record: None,
        network: needs.network,
        environment: environment(needs.home, variables),
        limits: Limits {
            processes: Some(4096),
            ..Limits::default()
        },
    }
}

fn readable(needs: &WorkspaceNeeds<'_>, exists: &impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let system = SYSTEM.iter().map(PathBuf::from);
    let tools = needs
        .home
        .iter()
        .flat_map(|home| HOME_TOOLS.iter().map(|name| home.join(name)));
    // It is often a link to a file outside of the listed system folders.
    let resolver = (needs.network == Network::On).then(|| "/etc/resolv.conf".into());
    let programs = needs.programs.iter().cloned();
    let all = system.chain(tools).chain(resolver).chain(programs);
    all.filter(|path| exists(path)).collect()
}

fn hidden(needs: &WorkspaceNeeds<'_>, exists: &impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    secrets(needs)
        .into_iter()
        .filter(|path| exists(path))
        .collect()
}

/// The paths with secrets, whether they exist or not.
fn secrets(needs: &WorkspaceNeeds<'_>) -> Vec<PathBuf> {
    let usual = secret_paths(needs.home);
    usual.chain(needs.secrets.iter().cloned()).collect()
}

/// What a writable workspace protects.
#[derive(Default)]
struct ProtectedPaths {
    read_only: Vec<PathBuf>,
    unwanted: Vec<PathBuf>,
    placeholders: Vec<Placeholder>,
    repositories: Vec<PathBuf>,
}

fn protected_paths(
    needs: &WorkspaceNeeds<'_>,
    names: &[OsString],
    exists: &impl Fn(&Path) -> bool,
) -> ProtectedPaths {
    if !needs.writable {
        return ProtectedPaths::default();
    }
    let at = |name: &OsStr| needs.workspace.join(name);
    let control = CONTROL.iter().chain(needs.control).map(OsStr::new);
    let examples = names.iter().filter(|name| is_example(name));
    let control = control.chain(examples.map(OsString::as_os_str));
    let control = control.chain(ENVIRONMENT.iter().map(OsStr::new));
    let (mut read_only, mut unwanted): (Vec<_>, Vec<_>) =
        control.map(at).partition(|path| exists(path));
    let git = at(OsStr::new(".git"));
    let mut placeholders = Vec::new();
    let mut repositories = Vec::new();
    if exists(&git.join("HEAD")) {
        read_only.extend(git::CONTROL.map(|name| git.join(name)));
        placeholders.extend(git::placeholders(&git));
        repositories.push(git);
    } else if exists(&git) {
        // A file `.git`, which links to a repository elsewhere.
        read_only.push(git);
    } else {
        unwanted.push(git);
    }
    // A folder with a file `HEAD` and two certain folders is a repository itself if its `.git` is not a
    // valid one. An existing `HEAD`, and the settings that would then apply, are read-only.
    let head = at(OsStr::new("HEAD"));
    if exists(&head) {
        let settings = git::CONTROL.map(|name| at(OsStr::new(name)));
        let (present, absent): (Vec<_>, Vec<_>) = settings.into_iter().partition(|p| exists(p));
        read_only.extend(present.into_iter().chain([head]));
        unwanted.extend(absent);
    } else {
        unwanted.push(head);
    }
    ProtectedPaths {
        read_only,
        unwanted,
        placeholders,
        repositories,
    }
}

/// The allowed variables, the home folder without links in its path, and where temporary files go.
fn environment(
    home: Option<&Path>,
    variables: impl IntoIterator<Item = (OsString, OsString)>,
) -> Vec<(OsString, OsString)> {
    let is_allowed = |name: &OsStr| {
        let name = name.to_str();
        name.is_some_and(|name| VARIABLES.contains(&name) || name.starts_with("LC_"))
    };
    let allowed = variables.into_iter().filter(|(name, _)| is_allowed(name));
    let home = home.map(|home| (OsString::from("HOME"), home.into()));
    let all = allowed.chain(home);
    all.chain([("TMPDIR".into(), "/tmp".into())]).collect()
}

/// The names of files with secrets in a folder.
pub(crate) fn secret_names(folder: &Path) -> BTreeSet<OsString> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name());
    names.filter(|name| is_secret(name)).collect()
}

fn is_env(name: &OsStr) -> bool {
    let name = name.to_str().unwrap_or_default();
    name == ".env" || name.starts_with(".env.")
}

fn is_example(name: &OsStr) -> bool {
    let is_known = |name: &str| EXAMPLES.iter().any(|ending| name.ends_with(ending));
    is_env(name) && name.to_str().is_some_and(is_known)
}

#[cfg(test)]
mod tests;
