//! Which program is the engine of a member.

use std::fmt;
use std::str::FromStr;

const SCHEME: &str = "acp:";

/// The program of an engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineChoice {
    /// As people chose it, without the scheme.
    text: String,
    known: Option<&'static Known>,
}

/// The text names no engine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no engine: acp:claude, acp:codex, acp:gemini, acp:goose, acp:opencode, acp:qwen or acp:'COMMAND'"
)]
pub struct ChoiceError(String);

/// What is known about an agent.
#[derive(Debug, PartialEq, Eq)]
struct Known {
    name: &'static str,
    command: &'static str,
    install: &'static str,
    login: &'static str,
    /// The folders below the home folder in which it keeps its settings, logins and sessions.
    folders: &'static [&'static str],
    /// What the names of the variables begin with that are meant for it.
    variables: &'static [&'static str],
    /// The mode in which it asks before it does something, if it does not begin in it.
    mode: Option<&'static str>,
    /// Whether it stores what a session has cost only when its process ends in order, so that after a kill it goes
    /// on from an older count.
    stores_cost_at_end: bool,
}

const KNOWN: [Known; 6] = [
    Known {
        name: "claude",
        command: "claude-agent-acp",
        install: "npm install -g @agentclientprotocol/claude-agent-acp (with Node 22)",
        login: "set ANTHROPIC_API_KEY",
        folders: &[".claude"],
        variables: &["ANTHROPIC_", "CLAUDE_", "DISABLE_AUTOUPDATER"],
        mode: None,
        stores_cost_at_end: true,
    },
    Known {
        name: "codex",
        command: "codex-acp",
        install: "npm install -g @agentclientprotocol/codex-acp",
        login: "set OPENAI_API_KEY, or run codex login",
        folders: &[".codex"],
        variables: &["OPENAI_", "CODEX_"],
        mode: Some("read-only"),
        stores_cost_at_end: false,
    },
    Known {
        name: "gemini",
        command: "gemini --acp",
        install: "npm install -g @google/gemini-cli",
        login: "set GEMINI_API_KEY",
        folders: &[".gemini"],
        variables: &["GEMINI_", "GOOGLE_"],
        mode: None,
        stores_cost_at_end: false,
    },
    Known {
        name: "goose",
        command: "goose acp",
        install: "npm install -g @aaif/goose",
        login: "run goose configure, or set GOOSE_PROVIDER and the key of the provider",
        folders: &[".config/goose", ".local/share/goose", ".local/state/goose"],
        variables: &["GOOSE_", "OPENAI_", "ANTHROPIC_", "GOOGLE_"],
        mode: None,
        stores_cost_at_end: false,
    },
    Known {
        name: "opencode",
        command: "opencode acp",
        install: "npm install -g opencode-ai",
        login: "run opencode auth login",
        folders: &[
            ".config/opencode",
            ".local/share/opencode",
            ".local/state/opencode",
            ".cache/opencode",
        ],
        variables: &["OPENCODE_", "OPENAI_", "ANTHROPIC_"],
        mode: None,
        stores_cost_at_end: false,
    },
    Known {
        name: "qwen",
        command: "qwen --acp",
        install: "npm install -g @qwen-code/qwen-code (with Node 22)",
        login: "set OPENAI_API_KEY, OPENAI_BASE_URL and OPENAI_MODEL",
        folders: &[".qwen"],
        variables: &["OPENAI_", "QWEN_", "DASHSCOPE_"],
        mode: Some("default"),
        stores_cost_at_end: false,
    },
];

impl EngineChoice {
    /// The command that a shell runs.
    pub fn command(&self) -> &str {
        self.known.map_or(&self.text, |known| known.command)
    }

    /// The program of the command, its first word.
    pub fn program(&self) -> &str {
        let words = self.command().split_whitespace();
        let mut words = words.map(|word| word.trim_matches(['\'', '"']));
        words.find(|word| !word.contains('=')).unwrap_or_default()
    }

    /// What a person does to get the program.
    pub fn install(&self) -> String {
        match self.known {
            Some(known) => known.install.to_owned(),
            None => format!("install {}, or name its path", self.program()),
        }
    }

    /// What a person does to log in.
    pub fn login(&self) -> &str {
        self.known
            .map_or("log in with the program itself", |known| known.login)
    }

    /// Where it keeps its settings, logins and sessions, below the home folder.
    pub fn folders(&self) -> &'static [&'static str] {
        self.known.map_or(&[], |known| known.folders)
    }

    /// Whether a variable of the environment is meant for it. A command of the user's own gets what any known
    /// agent would get.
    pub fn gets(&self, variable: &str) -> bool {
        let fits = |known: &Known| {
            let mut families = known.variables.iter();
            families.any(|family| variable.starts_with(family))
        };
        match self.known {
            Some(known) => fits(known),
            None => KNOWN.iter().any(fits),
        }
    }

    /// Whether it stores what a session has cost only when its process ends in order.
    pub fn stores_cost_at_end(&self) -> bool {
        self.known.is_some_and(|known| known.stores_cost_at_end)
    }

    /// The mode in which it asks, if it has to be set.
    pub fn mode(&self) -> Option<&'static str> {
        self.known?.mode
    }
}

impl FromStr for EngineChoice {
    type Err = ChoiceError;

    fn from_str(text: &str) -> Result<Self, ChoiceError> {
        let error = || ChoiceError(text.to_owned());
        let name = text.trim().strip_prefix(SCHEME).ok_or_else(error)?.trim();
        if name.is_empty() {
            return Err(error());
        }
        let known = KNOWN.iter().find(|known| known.name == name);
        // One word that is no path is a name that somebody took for a known one.
        let is_word = name.chars().all(|c| c.is_ascii_alphanumeric());
        if known.is_none() && is_word {
            return Err(error());
        }
        Ok(Self {
            text: name.to_owned(),
            known,
        })
    }
}

impl fmt::Display for EngineChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}", self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_commands_are_told_apart() {
        let choice: EngineChoice = "acp:gemini".parse().unwrap();
        assert_eq!(
            (choice.command(), choice.program()),
            ("gemini --acp", "gemini")
        );
        let own: EngineChoice = "acp:A=1 './my agent' --acp".parse().unwrap();
        assert_eq!(own.command(), "A=1 './my agent' --acp");
        assert_eq!(own.to_string(), "acp:A=1 './my agent' --acp");
        for wrong in ["claude", "acp:", "acp:cloude", "exec:claude"] {
            assert!(wrong.parse::<EngineChoice>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_agent_gets_its_own_variables_only() {
        let claude: EngineChoice = "acp:claude".parse().unwrap();
        assert!(claude.gets("ANTHROPIC_API_KEY") && !claude.gets("OPENAI_API_KEY"));
    }
}
