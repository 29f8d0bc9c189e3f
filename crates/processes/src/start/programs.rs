//! Finds the `teammate` program.

use std::env;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where `cargo install` puts programs: an environment variable, and the folder below its value.
const INSTALLED: [(&str, &str); 3] = [
    ("CARGO_INSTALL_ROOT", "bin"),
    ("CARGO_HOME", "bin"),
    ("HOME", ".cargo/bin"),
];
const TEAMMATE: &str = "teammate";
/// The variable with the program's path, if it is in none of the usual places.
const TEAMMATE_BIN: &str = "TEAMMATE_BIN";
/// The variable with the seconds that a new process has to become ready.
const READY_TIMEOUT: &str = "TEAM_READY_TIMEOUT";
/// The default. A busy machine needs a while; a person waits no longer.
const READY_WITHIN: Duration = Duration::from_secs(15);

/// The program to start for a teammate, and the time it has to become ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Programs {
    pub teammate: PathBuf,
    pub ready_within: Duration,
    /// Whether the new process begins a new conversation. The old one stays in its journal.
    pub fresh: bool,
    /// Variables that the new process gets besides those of this one, or, without a value, lacks.
    pub variables: Vec<(&'static str, Option<String>)>,
}

/// Why no program was found for a teammate.
#[derive(Debug, thiserror::Error)]
pub enum NoTeammate {
    #[error(
        "there is no program `teammate` beside {}, none on PATH and none that cargo installed; \
         install it with `cargo install --path .`, or set {TEAMMATE_BIN} to its path",
        beside.display()
    )]
    NotFound {
        /// The folder that was searched first.
        beside: PathBuf,
    },
    #[error("{TEAMMATE_BIN} is {}, which is not a program that can be run", .0.display())]
    NotAProgram(PathBuf),
    #[error("{READY_TIMEOUT} is {0:?}: use a number of seconds, such as 30")]
    NotATime(String),
}

impl NoTeammate {
    /// The shell command that fixes it.
    pub const fn fix(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "cargo install --path .",
            Self::NotAProgram(_) => "unset TEAMMATE_BIN",
            Self::NotATime(_) => "unset TEAM_READY_TIMEOUT",
        }
    }
}

impl Programs {
    /// This program, with the usual time to become ready.
    pub const fn new(teammate: PathBuf) -> Self {
        Self {
            teammate,
            ready_within: READY_WITHIN,
            fresh: false,
            variables: Vec::new(),
        }
    }

    /// The program where the environment says it is, else beside this one, else on PATH, else where
    /// cargo installs programs.
    pub fn find() -> Result<Self, NoTeammate> {
        let beside = env::current_exe().ok();
        let beside = beside.as_deref().and_then(Path::parent);
        let on_path = env::var_os("PATH").unwrap_or_default();
        let mut others: Vec<PathBuf> = env::split_paths(&on_path).collect();
        others.extend(INSTALLED.iter().filter_map(|(variable, folder)| {
            let root = env::var_os(variable).filter(|root| !root.is_empty())?;
            Some(Path::new(&root).join(folder))
        }));
        let teammate = locate(env::var_os(TEAMMATE_BIN), beside, &others)?;
        let ready_within = match env::var(READY_TIMEOUT) {
            Err(_) => READY_WITHIN,
            Ok(text) if text.is_empty() => READY_WITHIN,
            Ok(text) => seconds(&text).ok_or(NoTeammate::NotATime(text))?,
        };
        Ok(Self {
            teammate,
            ready_within,
            fresh: false,
            variables: Vec::new(),
        })
    }
}

fn seconds(text: &str) -> Option<Duration> {
    let seconds: f64 = text.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

fn locate(
    given: Option<OsString>,
    beside: Option<&Path>,
    others: &[PathBuf],
) -> Result<PathBuf, NoTeammate> {
    if let Some(given) = given.filter(|given| !given.is_empty()) {
        // The new process starts in another folder.
        let given = std::path::absolute(&given).unwrap_or_else(|_| PathBuf::from(&given));
        return match is_program(&given) {
            true => Ok(given),
            false => Err(NoTeammate::NotAProgram(given)),
        };
    }
    // The meaning of a relative path depends on the current folder.
    let others = others.iter().map(PathBuf::as_path);
    let others = others.filter(|folder| folder.is_absolute());
    let folders = beside.into_iter().chain(others);
    let mut programs = folders.map(|folder| folder.join(TEAMMATE));
    programs
        .find(|program| is_program(program))
        .ok_or_else(|| NoTeammate::NotFound {
            beside: beside.unwrap_or(Path::new(".")).to_path_buf(),
        })
}

fn is_program(path: &Path) -> bool {
    let found = path.metadata();
    found.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn program(folder: &Path) -> PathBuf {
        let path = folder.join(TEAMMATE);
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    #[test]
    fn the_environment_comes_first_then_the_own_folder_then_path() {
        let (own, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let path = [PathBuf::from("."), other.path().to_path_buf()];
        let missing = locate(None, Some(own.path()), &path).unwrap_err();
        assert!(missing.to_string().contains("cargo install"), "{missing}");
        let on_path = program(other.path());
        assert_eq!(locate(None, Some(own.path()), &path).unwrap(), on_path);
        let beside = program(own.path());
        assert_eq!(locate(None, Some(own.path()), &path).unwrap(), beside);
        let given = Some(on_path.clone().into_os_string());
        assert_eq!(locate(given, Some(own.path()), &path).unwrap(), on_path);
    }

    #[test]
    fn a_given_path_that_is_not_a_program_is_an_error() {
        let own = tempfile::tempdir().unwrap();
        program(own.path());
        let given = Some(OsString::from("/nowhere/teammate"));
        let error = locate(given, Some(own.path()), &[])
            .unwrap_err()
            .to_string();
        assert!(error.contains("TEAMMATE_BIN is /nowhere"), "{error}");
    }

    #[test]
    fn times_are_seconds() {
        assert_eq!(seconds("1.5"), Some(Duration::from_millis(1500)));
        for bad in ["-1", "soon", "NaN", "inf"] {
            assert_eq!(seconds(bad), None, "{bad}");
        }
    }
}
