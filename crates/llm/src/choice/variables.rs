//! Variables that are passed in.

use std::collections::BTreeMap;
use std::fmt;

use super::dotenv::Dotenv;

/// Variables by name. Their values are not printed, since some are keys.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Variables(BTreeMap<String, String>);

impl Variables {
    /// The value of a variable. A blank one counts as not set.
    pub fn get(&self, name: &str) -> Option<&str> {
        let value = self.0.get(name)?;
        (!value.trim().is_empty()).then_some(value)
    }

    /// Adds what a `.env` file has and these lack.
    pub fn fill(&mut self, dotenv: Dotenv) {
        for (name, value) in dotenv.pairs {
            if self.get(&name).is_none() {
                self.0.insert(name, value);
            }
        }
    }
}

impl<K: Into<String>, V: Into<String>> FromIterator<(K, V)> for Variables {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        let pairs = pairs.into_iter();
        Self(
            pairs
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
        )
    }
}

impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
