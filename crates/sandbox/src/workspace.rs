//! The default description for work in a folder: the system is readable, secrets are not, and the
//! folder is writable except for the files that make other programs run code.

mod lists;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::description::{Description, Limits, Network, Placeholder};
use lists::{
    CONTROL, EXAMPLES, GIT_CONTROL, GIT_PLACEHOLDERS, HOME_SECRETS, HOME_TOOLS, SYSTEM,
    SYSTEM_SECRETS, VARIABLES,
};

/// What the description depends on.
#[derive(Clone, Debug)]
pub struct Place<'a> {
    /// The folder to work in, without links in its path.
    pub workspace: &'a Path,
    /// The user's home folder, without links in its path.
    pub home: Option<&'a Path>,
    /// More names in the workspace that a command must not change.
    pub control: &'a [&'a str],
    /// More paths that a command must not read, such as the caller's own settings.
    pub secrets: &'a [PathBuf],
    /// Whether the workspace may be changed at all.
    pub writable: bool,
    pub network: Network,
}

/// The description for a place. `names` are those in the workspace, `exists` says whether there is
/// anything at a path, and `variables` is the environment to choose from.
pub fn description(
    place: &Place<'_>,
    names: &[OsString],
    exists: impl Fn(&Path) -> bool,
    variables: impl IntoIterator<Item = (OsString, OsString)>,
) -> Description {
    let workspace = place.workspace;
    let is_secret = |name: &&OsString| is_env(name) && !is_example(name);
    let secrets = names.iter().filter(is_secret);
    let secrets = secrets.map(|name| workspace.join(name)).collect();
    let inside = inside(place, names, &exists);
    let mut readable = readable(place, &exists);
    let mut writable = Vec::new();
    match place.writable {
        true => writable.push(workspace.to_owned()),
        false => readable.push(workspace.to_owned()),
    }
    Description {
        folder: workspace.to_owned(),
        readable,
        writable,
        read_only: inside.read_only,
        hidden: [hidden(place, &exists), secrets].concat(),
        placeholders: inside.placeholders,
        unwanted: inside.unwanted,
        network: place.network,
        environment: environment(place.home, variables),
        limits: Limits {
            processes: Some(4096),
            ..Limits::default()
        },
    }
}

fn readable(place: &Place<'_>, exists: &impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let system = SYSTEM.iter().map(PathBuf::from);
    let tools = place
        .home
        .iter()
        .flat_map(|home| HOME_TOOLS.iter().map(|name| home.join(name)));
    // Often a link to a file that is not part of the system otherwise.
    let resolver = (place.network == Network::On).then(|| "/etc/resolv.conf".into());
    let all = system.chain(tools).chain(resolver);
    all.filter(|path| exists(path)).collect()
}

fn hidden(place: &Place<'_>, exists: &impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let system = SYSTEM_SECRETS.iter().map(PathBuf::from);
    let own = place
        .home
        .iter()
        .flat_map(|home| HOME_SECRETS.iter().map(|name| home.join(name)));
    let all = system.chain(own).chain(place.secrets.iter().cloned());
    all.filter(|path| exists(path)).collect()
}

/// What is special in a writable workspace.
#[derive(Default)]
struct Inside {
    read_only: Vec<PathBuf>,
    unwanted: Vec<PathBuf>,
    placeholders: Vec<Placeholder>,
}

fn inside(place: &Place<'_>, names: &[OsString], exists: &impl Fn(&Path) -> bool) -> Inside {
    if !place.writable {
        return Inside::default();
    }
    let at = |name: &OsStr| place.workspace.join(name);
    let control = CONTROL.iter().chain(place.control).map(OsStr::new);
    let examples = names.iter().filter(|name| is_example(name));
    let control = control.chain(examples.map(OsString::as_os_str));
    let control = control.chain([OsStr::new(".env"), OsStr::new(".env.local")]);
    let (mut read_only, mut unwanted): (Vec<_>, Vec<_>) =
        control.map(at).partition(|path| exists(path));
    let git = at(OsStr::new(".git"));
    let mut placeholders = Vec::new();
    if exists(&git.join("HEAD")) {
        read_only.extend(GIT_CONTROL.map(|name| git.join(name)));
        placeholders.extend(GIT_PLACEHOLDERS.map(|(name, content)| Placeholder {
            path: git.join(name),
            content,
        }));
    } else if exists(&git) {
        // The link of a repository that lies elsewhere.
        read_only.push(git);
    } else {
        unwanted.push(git);
    }
    Inside {
        read_only,
        unwanted,
        placeholders,
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
