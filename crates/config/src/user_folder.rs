//! Where this program keeps files of its user.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The folder of this program in each of the user's folders.
const OWN: &str = "team-lead";

/// A folder of this program among the user's own files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserFolder {
    /// The user's settings.
    Config,
    /// What the program remembers: the history of typed lines, and the records of trust.
    State,
}

impl UserFolder {
    pub const ALL: [Self; 2] = [Self::Config, Self::State];

    /// Its path by the variables of the process. A relative path is no answer: it would depend on the
    /// folder in which a command was started, which may be a stranger's.
    pub fn path(self, variable: impl Fn(&'static str) -> Option<OsString>) -> Option<PathBuf> {
        let absolute = |name| {
            let path = PathBuf::from(variable(name)?);
            path.is_absolute().then_some(path)
        };
        match absolute(self.variable()) {
            Some(folder) => Some(folder.join(OWN)),
            None => Some(self.below(&absolute("HOME")?)),
        }
    }

    /// Its usual path in a home folder.
    pub fn below(self, home: &Path) -> PathBuf {
        let usual = match self {
            Self::Config => ".config",
            Self::State => ".local/state",
        };
        home.join(usual).join(OWN)
    }

    const fn variable(self) -> &'static str {
        match self {
            Self::Config => "XDG_CONFIG_HOME",
            Self::State => "XDG_STATE_HOME",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(folder: UserFolder, variables: &[(&str, &str)]) -> Option<String> {
        let variable = |name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| value.into())
        };
        let path = folder.path(variable)?;
        Some(path.display().to_string())
    }

    #[test]
    fn a_variable_with_an_absolute_path_counts_before_the_home_folder() {
        let home = ("HOME", "/home/al");
        let usual = Some("/home/al/.local/state/team-lead".to_owned());
        assert_eq!(path(UserFolder::State, &[home]), usual);
        let named = [home, ("XDG_STATE_HOME", "/s")];
        assert_eq!(
            path(UserFolder::State, &named),
            Some("/s/team-lead".to_owned())
        );
        let usual_config = Some("/home/al/.config/team-lead".to_owned());
        assert_eq!(path(UserFolder::Config, &named), usual_config);
        let relative = [home, ("XDG_STATE_HOME", "s"), ("XDG_CONFIG_HOME", "")];
        assert_eq!(path(UserFolder::State, &relative), usual);
        assert_eq!(path(UserFolder::Config, &relative), usual_config);
        assert_eq!(path(UserFolder::Config, &[("HOME", "al")]), None);
        assert_eq!(path(UserFolder::Config, &[]), None);
    }
}
