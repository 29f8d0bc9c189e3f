//! The settings of a workspace that need trust.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

/// A value with more characters is shown in part.
const MAX_SHOWN_CHARS: usize = 240;

/// Why a setting needs trust. To add a risk, add a variant, and collect its settings in
/// `config/src/risky.rs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    /// A program that runs as a member.
    Exec,
    /// A command that is run in trees, to set them up or to check them.
    Command,
    /// A file of recorded turns, which are tool calls that no model has chosen.
    Script,
    /// A server with tools for members, which is a program or an address.
    McpServer,
    /// The server that receives prompts and, perhaps, a key.
    Address,
    /// Whether commands run in a sandbox.
    Sandbox,
    /// What commands reach over the network.
    Network,
    /// Which tools the members of a role have.
    Tools,
    /// What members may do without asking.
    Permission,
    /// That members may change things before a plan of theirs is approved.
    Plan,
    /// A folder of members, mail and conversations that this user's programs did not make.
    Folder,
}

impl Risk {
    /// The name as stored. The hashes of settings depend on it.
    const fn as_str(self) -> &'static str {
        match self {
            Self::Exec => "exec",
            Self::Command => "command",
            Self::Script => "script",
            Self::McpServer => "mcp_server",
            Self::Address => "address",
            Self::Sandbox => "sandbox",
            Self::Network => "network",
            Self::Tools => "tools",
            Self::Permission => "permission",
            Self::Plan => "plan",
            Self::Folder => "folder",
        }
    }

    /// The name for people.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Exec => "program",
            Self::Command => "command",
            Self::Script => "script",
            Self::McpServer => "mcp",
            Self::Address => "address",
            Self::Sandbox => "sandbox",
            Self::Network => "network",
            Self::Tools => "tools",
            Self::Permission => "allow",
            Self::Plan => "plan",
            Self::Folder => "folder",
        }
    }
}

/// A setting in a file of the workspace that needs the user's trust.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RiskySetting {
    pub risk: Risk,
    /// As in `members.alice.exec`, or the name of a variable.
    pub key: String,
    pub value: String,
    /// The file, relative to the workspace.
    pub origin: PathBuf,
}

/// A set of settings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RiskySettings(BTreeSet<RiskySetting>);

/// The SHA-256 of settings, as lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Hash(String);

impl RiskySetting {
    pub fn hash(&self) -> Hash {
        Hash::of([self])
    }
}

impl fmt::Display for RiskySetting {
    /// The value is quoted with escapes, so that no control character of it reaches a terminal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            risk,
            key,
            value,
            origin,
        } = self;
        let risk = risk.label();
        match self.risk {
            Risk::Folder => write!(f, "{risk:<7}  {}: {value}", key.escape_debug()),
            Risk::Exec
            | Risk::Command
            | Risk::Script
            | Risk::McpServer
            | Risk::Address
            | Risk::Sandbox
            | Risk::Network
            | Risk::Tools
            | Risk::Permission
            | Risk::Plan => {
                let (key, origin) = (key.escape_debug(), origin.display().to_string());
                let value = shortened(value);
                write!(f, "{risk:<7}  {key} = {value}  ({})", origin.escape_debug())
            }
        }
    }
}

/// The quoted value. Of a long one the beginning, the end and the length are shown, so that no setting
/// pushes the others off the screen or hides its end.
fn shortened(value: &str) -> String {
    let count = value.chars().count();
    if count <= MAX_SHOWN_CHARS {
        return format!("{value:?}");
    }
    let head: String = value.chars().take(MAX_SHOWN_CHARS / 2).collect();
    let tail: String = value.chars().skip(count - MAX_SHOWN_CHARS / 4).collect();
    format!("{head:?} ... {tail:?} ({count} characters; all: team-lead trust --show --json)")
}

impl RiskySettings {
    /// The hash of exactly these settings, in whatever order they were found.
    pub fn hash(&self) -> Hash {
        Hash::of(&self.0)
    }

    pub fn iter(&self) -> impl Iterator<Item = &RiskySetting> {
        self.0.iter()
    }

    pub fn contains(&self, setting: &RiskySetting) -> bool {
        self.0.contains(setting)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Those of these settings that the others lack.
    pub fn without(&self, others: &Self) -> Vec<RiskySetting> {
        self.0.difference(&others.0).cloned().collect()
    }
}

impl FromIterator<RiskySetting> for RiskySettings {
    fn from_iter<I: IntoIterator<Item = RiskySetting>>(settings: I) -> Self {
        Self(settings.into_iter().collect())
    }
}

impl Extend<RiskySetting> for RiskySettings {
    fn extend<I: IntoIterator<Item = RiskySetting>>(&mut self, settings: I) {
        self.0.extend(settings);
    }
}

impl Hash {
    fn of<'a>(settings: impl IntoIterator<Item = &'a RiskySetting>) -> Self {
        let mut hasher = Sha256::new();
        // Each part is preceded by its length, so that no two lists of settings give the same bytes.
        let mut add = |bytes: &[u8]| {
            hasher.update((bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        for setting in settings {
            add(setting.risk.as_str().as_bytes());
            add(setting.key.as_bytes());
            add(setting.value.as_bytes());
            add(setting.origin.as_os_str().as_encoded_bytes());
        }
        Self::hex(&hasher.finalize())
    }

    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self::hex(&Sha256::digest(bytes))
    }

    fn hex(digest: &[u8]) -> Self {
        Self(digest.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// The hash in this text, if it is one.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f');
        (text.len() == 64 && text.bytes().all(is_digit)).then(|| Self(text.to_owned()))
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(key: &str, value: &str) -> RiskySetting {
        RiskySetting {
            risk: Risk::Exec,
            key: key.to_owned(),
            value: value.to_owned(),
            origin: "team.toml".into(),
        }
    }

    #[test]
    fn a_setting_is_shown_without_control_characters() {
        let shown = setting("members.e\u{1b}.exec", "sh \"x\"\n\u{1b}[2J\u{202e}").to_string();
        let expected =
            r#"program  members.e\u{1b}.exec = "sh \"x\"\n\u{1b}[2J\u{202e}"  (team.toml)"#;
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_long_value_is_shown_with_its_end_and_its_length() {
        let value = format!("echo hi;{}rm -rf ~", " ".repeat(1_000_000));
        let shown = setting("k", &value).to_string();
        assert!(shown.chars().count() < 350, "{shown}");
        for part in [
            "\"echo hi;",
            "rm -rf ~\" (1000016 characters; all: team-lead trust --show --json)",
        ] {
            assert!(shown.contains(part), "{shown}");
        }
    }

    #[test]
    fn hashes_use_the_stored_names_of_risks() {
        let all = [
            Risk::Exec,
            Risk::Script,
            Risk::McpServer,
            Risk::Address,
            Risk::Sandbox,
            Risk::Network,
            Risk::Tools,
            Risk::Plan,
            Risk::Folder,
        ];
        for risk in all {
            assert_eq!(serde_json::to_value(risk).unwrap(), risk.as_str());
        }
        let mut bytes = Vec::new();
        for part in ["exec", "a", "1", "team.toml"] {
            bytes.extend((part.len() as u64).to_le_bytes());
            bytes.extend(part.as_bytes());
        }
        assert_eq!(setting("a", "1").hash(), Hash::of_bytes(&bytes));
    }

    #[test]
    fn the_hash_depends_on_the_settings_and_not_on_their_order() {
        let (a, b) = (setting("a", "1"), setting("b", "2"));
        let both: RiskySettings = [a.clone(), b.clone()].into_iter().collect();
        let turned: RiskySettings = [b.clone(), a.clone()].into_iter().collect();
        assert_eq!(both.hash(), turned.hash());
        let moved: RiskySettings = [setting("a", "1b"), setting("", "2")].into_iter().collect();
        assert_ne!(both.hash(), moved.hash());
        let one: RiskySettings = [a.clone()].into_iter().collect();
        assert_ne!(one.hash(), both.hash());
        assert_eq!(one.hash(), a.hash());
        assert_eq!(both.without(&one), [b]);
        assert_eq!(Hash::parse(&one.hash().to_string()), Some(one.hash()));
        assert_eq!(Hash::parse("12"), None);
    }
}
