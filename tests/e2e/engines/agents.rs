//! The agents of others: where `scripts/install-test-agents` has put them, and how they are pointed at a server on
//! the loopback interface.

use crate::harness::Workspace;
use std::path::PathBuf;
use std::process::Command;

/// An agent of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Agent {
    Claude,
    Codex,
    Gemini,
    Goose,
    Opencode,
    Qwen,
}

impl Agent {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Goose => "goose",
            Self::Opencode => "opencode",
            Self::Qwen => "qwen",
        }
    }

    /// The folders with its programs, if it is installed. If not, whoever runs the tests is told so.
    #[expect(
        clippy::print_stderr,
        reason = "whoever runs the tests is told what was left out"
    )]
    fn programs(self) -> Option<Vec<PathBuf>> {
        let chosen = std::env::var_os("TEAM_TEST_CACHE").map(PathBuf::from);
        let home = || std::env::home_dir().unwrap_or_default();
        let cache = chosen.unwrap_or_else(|| home().join(".cache/team-lead-tests"));
        let folder = cache.join(self.name());
        if !folder.join(".complete").is_file() {
            let name = self.name();
            eprintln!("left out: {name} is not installed, see scripts/install-test-agents");
            return None;
        }
        let packages = folder.join("node_modules");
        Some(vec![
            packages.join("@aaif/goose-binary-linux-x64/bin"),
            packages.join(".bin"),
            cache.join("node22/node_modules/.bin"),
        ])
    }

    pub(super) fn is_installed(self) -> bool {
        self.programs().is_some()
    }

    /// A command in the workspace that finds the agent and its model.
    pub(super) fn set_up(self, workspace: &Workspace, mut command: Command) -> Command {
        let usual = std::env::var_os("PATH").unwrap();
        let paths = self.programs().unwrap().into_iter();
        let paths = paths.chain(std::env::split_paths(&usual));
        command.env("PATH", std::env::join_paths(paths).unwrap());
        command.envs(self.variables(workspace));
        command
    }

    fn variables(self, workspace: &Workspace) -> Vec<(&'static str, String)> {
        let (host, chat) = (
            workspace.server.base_url("carol"),
            workspace.server.openai_base_url("carol"),
        );
        let fixed: &[(&'static str, &str)] = match self {
            Self::Claude => &[
                ("ANTHROPIC_BASE_URL", &host),
                ("ANTHROPIC_API_KEY", "sk-test"),
                ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
                ("DISABLE_AUTOUPDATER", "1"),
            ],
            Self::Codex => &[("OPENAI_API_KEY", "x")],
            Self::Gemini => &[
                ("GEMINI_API_KEY", "x"),
                ("GOOGLE_GEMINI_BASE_URL", &host),
                // Without it another model is asked which one fits.
                ("GEMINI_MODEL", "gemini-2.5-pro"),
            ],
            Self::Goose => &[
                ("GOOSE_PROVIDER", "openai"),
                ("GOOSE_MODEL", "fake-1"),
                ("OPENAI_HOST", &host),
                ("OPENAI_API_KEY", "x"),
                ("GOOSE_DISABLE_KEYRING", "1"),
                ("GOOSE_MODE", "approve"),
            ],
            Self::Opencode => &[
                ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
                ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
            ],
            Self::Qwen => &[
                ("OPENAI_API_KEY", "x"),
                ("OPENAI_BASE_URL", &chat),
                ("OPENAI_MODEL", "fake-1"),
            ],
        };
        let pair = |(name, value): &(&'static str, &str)| (*name, (*value).to_owned());
        fixed.iter().map(pair).collect()
    }

    /// The command with which `docs/engines.md` starts it, without the text of the prompt, and that text. Checks
    /// that the variables of the example are those that are set here.
    pub(super) fn example(self, workspace: &Workspace) -> (Vec<String>, String) {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/engines.md");
        let page = std::fs::read_to_string(page).unwrap();
        let (_, examples) = page.split_once("## An example for each").unwrap();
        let engine = format!("--engine acp:{} ", self.name());
        let mut blocks = examples.split("```").skip(1).step_by(2);
        let block = blocks.find(|block| block.contains(&engine)).unwrap();
        let known = self.variables(workspace);
        for line in block
            .lines()
            .filter_map(|line| line.strip_prefix("export "))
        {
            let (name, _) = line.split_once('=').unwrap();
            assert!(known.iter().any(|(known, _)| *known == name), "{name}");
        }
        let mut lines = block.lines();
        let command = lines.find_map(|line| line.strip_prefix("team-lead "));
        let (args, prompt) = command.unwrap().split_once('\'').unwrap();
        let args = args.split_whitespace().map(str::to_owned).collect();
        (args, prompt.trim_end_matches('\'').to_owned())
    }

    /// Writes the agent's own settings into the home folder.
    pub(super) fn configure(self, workspace: &Workspace) {
        let chat = workspace.server.openai_base_url("carol");
        let (file, text) = match self {
            Self::Claude | Self::Goose => return,
            Self::Codex => (
                ".codex/config.toml",
                format!(
                    "model = 'fake-1'\nmodel_provider = 'fake'\ncheck_for_update_on_startup = false\n\
                     [model_providers.fake]\nname = 'fake'\nbase_url = '{chat}'\nwire_api = 'responses'\n\
                     env_key = 'OPENAI_API_KEY'\n"
                ),
            ),
            Self::Gemini => (".gemini/settings.json", google_settings("gemini-api-key")),
            Self::Qwen => (".qwen/settings.json", google_settings("openai")),
            Self::Opencode => (
                ".config/opencode/opencode.json",
                format!(
                    r#"{{"model":"fake/f1","small_model":"fake/f1","permission":{{"bash":"ask"}},"provider":{{"fake":{{
                    "npm":"@ai-sdk/openai-compatible","options":{{"baseURL":"{chat}","apiKey":"x"}},
                    "models":{{"f1":{{"name":"f1","limit":{{"context":200000,"output":8000}}}}}}}}}}}}"#
                ),
            ),
        };
        workspace.write_home(file, &text);
    }
}

/// The settings of Gemini and of Qwen, which comes from it.
fn google_settings(login: &str) -> String {
    format!(
        r#"{{"security":{{"auth":{{"selectedType":"{login}"}},"folderTrust":{{"enabled":false}}}},
        "general":{{"enableAutoUpdate":false}},"privacy":{{"usageStatisticsEnabled":false}}}}"#
    )
}
