//! What people set about questions to them.

use crate::config::{Config, Setting};
use crate::file::FileConfig;

/// How many seconds a question to a person waits, where nobody says it.
pub const DEFAULT_ASK_TIMEOUT: u64 = 3600;

impl Config {
    /// The command that tells the user that something waits for a person.
    pub fn notify(&self) -> Setting<String> {
        let command = |file: &FileConfig| file.notify.clone();
        self.pick(
            |_| None,
            |file| command(file).filter(|text| !text.trim().is_empty()),
        )
    }

    /// Whether the lead's model may answer what its teammates ask a person.
    pub fn lead_decides(&self) -> Setting<bool> {
        self.pick(|_| None, |file| file.lead_decides)
    }

    /// How many seconds a question to a person waits; 0 is without limit.
    pub fn ask_timeout(&self) -> Setting<u64> {
        self.pick(|_| None, |file| file.ask_timeout)
    }
}
