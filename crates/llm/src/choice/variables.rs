//! Variables that are passed in.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use super::dotenv::Dotenv;

/// Variables by name, those of the process and those of a `.env` file, which fills what the process
/// lacks. Their values are not printed, since some are keys.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Variables {
    environment: BTreeMap<String, String>,
    file: Option<VariableFile>,
}

#[derive(Clone, PartialEq, Eq)]
struct VariableFile {
    path: PathBuf,
    pairs: BTreeMap<String, String>,
    is_trusted: bool,
}

/// A variable that is set.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Variable<'a> {
    pub value: &'a str,
    pub origin: VariableOrigin<'a>,
}

/// Who set a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariableOrigin<'a> {
    /// The user, in the environment of the process.
    Environment,
    /// Whoever wrote this file.
    File {
        path: &'a Path,
        /// Whether the user has said that the file may be obeyed.
        is_trusted: bool,
    },
}

impl Variables {
    /// The value of a variable. A blank one counts as not set.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.find(name).map(|variable| variable.value)
    }

    /// The value of a variable, and who set it.
    pub fn find(&self, name: &str) -> Option<Variable<'_>> {
        let own = self.environment(name).map(|value| Variable {
            value,
            origin: VariableOrigin::Environment,
        });
        own.or_else(|| {
            let file = self.file.as_ref()?;
            Some(Variable {
                value: set(&file.pairs, name)?,
                origin: VariableOrigin::File {
                    path: &file.path,
                    is_trusted: file.is_trusted,
                },
            })
        })
    }

    /// The value of a variable of the process itself.
    pub fn environment(&self, name: &str) -> Option<&str> {
        set(&self.environment, name)
    }

    /// What the file says of a variable, whether or not the environment has it too.
    pub fn in_file(&self, name: &str) -> Option<&str> {
        set(&self.file.as_ref()?.pairs, name)
    }

    /// The same variables, and those of a file where these lack them. The file is not trusted yet.
    #[must_use]
    pub fn with_file(mut self, path: &Path, dotenv: Dotenv) -> Self {
        self.file = Some(VariableFile {
            path: path.to_path_buf(),
            pairs: dotenv.pairs,
            is_trusted: false,
        });
        self
    }

    /// The user trusts what the file says.
    pub fn trust_file(&mut self) {
        if let Some(file) = &mut self.file {
            file.is_trusted = true;
        }
    }
}

/// A value that is not blank.
fn set<'a>(pairs: &'a BTreeMap<String, String>, name: &str) -> Option<&'a str> {
    let value = pairs.get(name)?;
    (!value.trim().is_empty()).then_some(value.as_str())
}

impl VariableOrigin<'_> {
    /// Whether a key of this origin may be sent to an address of that origin: never to one that is
    /// trusted less than the key itself.
    pub fn may_send_to(self, address: VariableOrigin<'_>) -> bool {
        match (self, address) {
            (_, VariableOrigin::Environment) => true,
            (
                _,
                VariableOrigin::File {
                    is_trusted: true, ..
                },
            ) => true,
            (Self::File { path: key, .. }, VariableOrigin::File { path, .. }) => key == path,
            (Self::Environment, VariableOrigin::File { .. }) => false,
        }
    }
}

impl fmt::Display for VariableOrigin<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Environment => f.write_str("the environment"),
            Self::File { path, .. } => write!(f, "{}", path.display()),
        }
    }
}

impl<K: Into<String>, V: Into<String>> FromIterator<(K, V)> for Variables {
    /// Variables of the process.
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        let pairs = pairs.into_iter();
        Self {
            environment: pairs
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
            file: None,
        }
    }
}

impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.iter().flat_map(|file| file.pairs.keys());
        let names = self.environment.keys().chain(file);
        f.debug_set().entries(names).finish()
    }
}
