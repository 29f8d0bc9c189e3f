//! The sandbox of an agent, and what of the disk its program needs.

use crate::runtime::MemberRuntime;
use acp::EngineChoice;
use command::Surroundings;
use std::path::{Path, PathBuf};

impl MemberRuntime {
    /// The sandbox of an agent: the member's, with the team folder, since the team's tools run inside; with the
    /// agent's own folders in the home folder; and with the variables that are meant for it.
    pub(super) fn engine_surroundings(
        &self,
        choice: &EngineChoice,
        is_writable: bool,
    ) -> Surroundings {
        let confinement = self.confinement();
        let Some(confinement) = confinement.filter(|confinement| confinement.has_sandbox) else {
            return Surroundings::Inherited;
        };
        let mut confinement = (*confinement).clone();
        confinement.control.retain(|name| *name != teamdir::FOLDER);
        confinement.locks = |_| Vec::new();
        let home = confinement.home.clone();
        if let Some(program) = find(choice.program(), &self.folder()) {
            confinement.programs.extend(program_paths(&program));
        }
        let words = choice.command().split_whitespace();
        let words = words.map(|word| PathBuf::from(word.trim_matches(['\'', '"'])));
        let named = words.filter(|path| path.is_absolute() && path.is_file());
        confinement.programs.extend(named);
        let mut surroundings = confinement.program_surroundings(is_writable);
        let variables = std::env::vars_os().filter(|(name, _)| {
            let name = name.to_str();
            name.is_some_and(|name| choice.gets(name))
        });
        let variables: Vec<_> = variables.collect();
        match &mut surroundings {
            Surroundings::Sandbox { description, .. } => {
                let folders = choice.folders().iter();
                let folders = folders.filter_map(|name| Some(home.as_ref()?.join(name)));
                for folder in folders {
                    // An agent that cannot keep its sessions forgets what it was told.
                    let _ = std::fs::create_dir_all(&folder);
                    description
                        .hidden
                        .retain(|hidden| !hidden.starts_with(&folder));
                    description.writable.push(folder);
                }
                if let Ok(team) = self.team().layout().root().canonicalize() {
                    let is_inside = is_writable && team.starts_with(&confinement.workspace);
                    if !is_inside {
                        description.writable.push(team);
                    }
                }
                description.environment.extend(variables);
            }
            Surroundings::Environment(environment) => environment.extend(variables),
            Surroundings::Inherited => {}
        }
        surroundings
    }
}

/// The path of a program, as a shell finds it.
pub(super) fn find(program: &str, folder: &Path) -> Option<PathBuf> {
    if program.contains('/') {
        let path = folder.join(program);
        return path.is_file().then_some(path);
    }
    let folders = std::env::var_os("PATH")?;
    let mut paths = std::env::split_paths(&folders).map(|folder| folder.join(program));
    paths.find(|path| path.is_file())
}

/// What of the disk a program needs besides the system: itself, what it is a link to, and the packages around it.
fn program_paths(program: &Path) -> Vec<PathBuf> {
    let mut paths = vec![program.to_path_buf()];
    let real = program.canonicalize();
    for path in [Some(program.to_path_buf()), real.ok()]
        .into_iter()
        .flatten()
    {
        let mut above = path.ancestors();
        let packages = above.find(|folder| folder.ends_with("node_modules"));
        match packages {
            Some(packages) => paths.push(packages.to_path_buf()),
            None => paths.extend(path.parent().map(Path::to_path_buf)),
        }
        paths.push(path);
    }
    // The interpreter of a script may lie beside it.
    if let Some(node) = find("node", Path::new("/"))
        && let Ok(real) = node.canonicalize()
    {
        paths.extend(real.parent().map(Path::to_path_buf));
        paths.extend(node.parent().map(Path::to_path_buf));
    }
    paths
}
