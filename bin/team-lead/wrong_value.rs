//! What is wrong with the value of an option.

use std::fmt;

/// The text that clap shows behind a value that an option does not take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WrongValue(pub(crate) &'static str);

impl fmt::Display for WrongValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for WrongValue {}
