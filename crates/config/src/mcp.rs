//! Servers of the Model Context Protocol that people have: `[mcp_servers]`, and the file `.mcp.json`.

use crate::config::Config;
use crate::error::ConfigError;
use crate::read::read_workspace_file;
use llm::Variables;
use llm::choice::KEY_VARIABLES;
use protocol::NetworkSetting;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use trust::Owners;

/// The file of a workspace that several programs share.
pub const MCP_FILE: &str = ".mcp.json";
/// How many tokens the schemas of all servers may have before they are left to `tool_search`.
pub const DEFAULT_SCHEMA_TOKENS: u64 = 2_000;
/// How long a call may take.
pub const DEFAULT_CALL_SECONDS: u64 = 120;

/// The keys of a server in `.mcp.json` that are obeyed. Other programs have more.
const KNOWN_KEYS: [&str; 11] = [
    "type",
    "command",
    "args",
    "env",
    "url",
    "headers",
    "network",
    "readable",
    "roles",
    "members",
    "call_seconds",
];

/// A table `[mcp_servers.NAME]`, or an entry of `.mcp.json`. Its `Debug` text has no values that may be secret.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a table [mcp_servers.NAME]")]
pub struct McpServer {
    /// `stdio` or `http`; it follows from the rest if absent.
    pub r#type: Option<String>,
    pub command: Option<String>,
    pub args: Vec<String>,
    /// Variables of the program, besides the few that every command has.
    pub env: BTreeMap<String, String>,
    pub url: Option<String>,
    pub headers: BTreeMap<String, String>,
    /// What the program reaches over the network.
    pub network: Option<NetworkSetting>,
    /// Files and folders outside of the workspace that the program may read.
    pub readable: Vec<String>,
    /// Whose members have it; all if both lists are absent.
    pub roles: Option<Vec<String>>,
    pub members: Option<Vec<String>>,
    /// How long one call may take.
    pub call_seconds: Option<u64>,
}

/// The table `[mcp]`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a table [mcp]")]
pub struct McpTable {
    pub schema_tokens: Option<u64>,
}

/// The servers of `.mcp.json`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct McpFile {
    pub(crate) path: PathBuf,
    pub(crate) servers: BTreeMap<String, McpServer>,
}

/// Why a server cannot be used as it is written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum McpServerError {
    #[error("the variable {0} is not set, and there is no default as in ${{{0}:-value}}")]
    NotSet(String),
    #[error("{0} holds the key of a model, which no MCP server gets")]
    ModelKey(String),
    #[error("it has neither `command` nor `url`, or both")]
    NoTransport,
    #[error("its type {0:?} is not supported: use stdio or http")]
    Type(String),
}

/// How a server is reached, with the values of its variables, which its `Debug` text does not have.
#[derive(Clone, PartialEq, Eq)]
pub enum McpTransport {
    Stdio {
        command: String,
        args: Vec<String>,
        env: Vec<(String, String)>,
        network: NetworkSetting,
        readable: Vec<PathBuf>,
    },
    Http {
        url: String,
        headers: Vec<(String, String)>,
    },
}

impl fmt::Debug for McpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpServer")
            .field("type", &self.r#type)
            .field("command", &self.command)
            .field("env", &self.env.keys())
            .field("headers", &self.headers.keys())
            .field("network", &self.network)
            .field("roles", &self.roles)
            .field("members", &self.members)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for McpTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |pairs: &[(String, String)]| -> Vec<String> {
            pairs.iter().map(|(name, _)| name.clone()).collect()
        };
        match self {
            Self::Stdio { command, env, .. } => f
                .debug_struct("Stdio")
                .field("command", command)
                .field("env", &names(env))
                .finish_non_exhaustive(),
            Self::Http { headers, .. } => f
                .debug_struct("Http")
                .field("headers", &names(headers))
                .finish_non_exhaustive(),
        }
    }
}

/// The part of `.mcp.json` with the servers.
const SERVERS: &str = "mcpServers";

impl McpFile {
    pub(crate) fn read(workspace: &Path, owners: &Owners) -> Result<Option<Self>, ConfigError> {
        let path = workspace.join(MCP_FILE);
        let Some(text) = read_workspace_file(&path, owners)? else {
            return Ok(None);
        };
        let invalid = |error: serde_json::Error| ConfigError::Invalid {
            path: path.clone(),
            line: error.line().max(1),
            message: error.to_string(),
        };
        let mut file: Map<String, Value> = serde_json::from_str(&text).map_err(invalid)?;
        let entries = file.remove(SERVERS).unwrap_or_else(|| json!({}));
        let entries: BTreeMap<String, Map<String, Value>> =
            serde_json::from_value(entries).map_err(invalid)?;
        let mut servers = BTreeMap::new();
        for (name, mut entry) in entries {
            entry.retain(|key, _| KNOWN_KEYS.contains(&key.as_str()));
            let server = serde_json::from_value(Value::Object(entry)).map_err(invalid)?;
            check_name(&name, &path)?;
            servers.insert(name, server);
        }
        Ok(Some(Self { path, servers }))
    }
}

/// A name becomes a part of the names of tools.
fn check_name(name: &str, path: &Path) -> Result<(), ConfigError> {
    let is_usable = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let is_usable = (1..=32).contains(&name.len()) && name.chars().all(is_usable);
    if is_usable && !name.contains("__") {
        return Ok(());
    }
    Err(ConfigError::Invalid {
        path: path.to_path_buf(),
        line: 1,
        message: format!(
            "the MCP server {name:?} needs a name of at most 32 of the characters A-Z, a-z, 0-9, - and _, without __"
        ),
    })
}

pub(crate) fn check_names(
    servers: &BTreeMap<String, McpServer>,
    path: &Path,
) -> Result<(), ConfigError> {
    servers.keys().try_for_each(|name| check_name(name, path))
}

impl McpServer {
    /// Whether a member has it. The lead has no role, and every server that is for all.
    pub fn is_for(&self, role: Option<&str>, member: Option<&str>) -> bool {
        let has = |list: &Option<Vec<String>>, name: Option<&str>| {
            let list = list.as_deref().unwrap_or_default();
            name.is_some_and(|name| list.iter().any(|one| one.eq_ignore_ascii_case(name)))
        };
        let is_for_all = self.roles.is_none() && self.members.is_none();
        is_for_all || has(&self.roles, role) || has(&self.members, member)
    }

    /// How it is reached, with the values of the variables that it names.
    pub fn transport(&self, variables: &Variables) -> Result<McpTransport, McpServerError> {
        let expand = |text: &String| expand(text, variables);
        let pairs = |map: &BTreeMap<String, String>| {
            let pairs = map.iter();
            let pairs = pairs.map(|(name, value)| Ok((name.clone(), expand(value)?)));
            pairs.collect::<Result<Vec<_>, McpServerError>>()
        };
        match (self.r#type.as_deref(), &self.command, &self.url) {
            (None | Some("stdio"), Some(command), None) => Ok(McpTransport::Stdio {
                command: expand(command)?,
                args: self.args.iter().map(expand).collect::<Result<_, _>>()?,
                env: pairs(&self.env)?,
                network: self.network.clone().unwrap_or_default(),
                readable: self.readable(variables)?,
            }),
            (None | Some("http" | "streamable-http"), None, Some(url)) => Ok(McpTransport::Http {
                url: expand(url)?,
                headers: pairs(&self.headers)?,
            }),
            (None | Some("stdio" | "http" | "streamable-http"), _, _) => {
                Err(McpServerError::NoTransport)
            }
            (Some(kind), _, _) => Err(McpServerError::Type(kind.to_owned())),
        }
    }

    /// The paths that the program may read, where `~` is the home folder.
    fn readable(&self, variables: &Variables) -> Result<Vec<PathBuf>, McpServerError> {
        let path = |text: &String| {
            let path = expand(text, variables)?;
            let home = variables.environment("HOME");
            Ok(match (path.strip_prefix("~/"), home) {
                (Some(inside), Some(home)) => Path::new(home).join(inside),
                (Some(_) | None, _) => PathBuf::from(path),
            })
        };
        self.readable.iter().map(path).collect()
    }

    /// The server as the file says it, in one line. It is what the user trusts.
    pub fn text(&self) -> String {
        let Self {
            r#type,
            command,
            args,
            env,
            url,
            headers,
            network,
            readable,
            roles,
            members,
            call_seconds,
        } = self;
        let network = network.as_ref().map(ToString::to_string);
        let mut all = json!({
            "type": r#type, "command": command, "args": args, "env": env, "url": url, "headers": headers,
            "network": network, "readable": readable, "roles": roles, "members": members, "call_seconds": call_seconds,
        });
        if let Value::Object(fields) = &mut all {
            let is_empty = |value: &Value| match value {
                Value::Null => true,
                Value::Array(list) => list.is_empty(),
                Value::Object(map) => map.is_empty(),
                Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
            };
            fields.retain(|_, value| !is_empty(value));
        }
        all.to_string()
    }
}

/// Replaces `${NAME}` and `${NAME:-default}` by what the process has or the default.
fn expand(text: &str, variables: &Variables) -> Result<String, McpServerError> {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((inside, behind)) = after.split_once('}') else {
            break;
        };
        expanded.push_str(before);
        let (name, default) = match inside.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inside, None),
        };
        if KEY_VARIABLES.contains(&name) {
            return Err(McpServerError::ModelKey(name.to_owned()));
        }
        let value = variables.get(name).filter(|value| !value.is_empty());
        match (value, default) {
            (Some(value), _) => expanded.push_str(value),
            (None, Some(default)) => expanded.push_str(default),
            (None, None) => return Err(McpServerError::NotSet(name.to_owned())),
        }
        rest = behind;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

impl Config {
    /// The MCP servers by name, from the user's file, `team.toml` and `.mcp.json`, of which an earlier one
    /// hides those of the same name in a later one.
    pub fn mcp_servers(&self) -> BTreeMap<&str, &McpServer> {
        let file = self.mcp_file().into_iter().flat_map(|file| &file.servers);
        let project = self
            .project()
            .into_iter()
            .flat_map(|file| &file.mcp_servers);
        let user = self.user().into_iter().flat_map(|file| &file.mcp_servers);
        let all = file.chain(project).chain(user);
        all.map(|(name, server)| (name.as_str(), server)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables() -> Variables {
        let pairs = [("HOME_X", "/h"), ("EMPTY", ""), ("OPENAI_API_KEY", "sk")];
        pairs.into_iter().collect()
    }

    #[test]
    fn variables_are_replaced_and_keys_of_models_are_not() {
        let all = |text: &str| expand(text, &variables());
        assert_eq!(all("a ${HOME_X}/b ${NO:-d e} $x").unwrap(), "a /h/b d e $x");
        assert_eq!(all("${EMPTY:-z}${").unwrap(), "z${");
        assert_eq!(all("${NO}"), Err(McpServerError::NotSet("NO".to_owned())));
        let key = "OPENAI_API_KEY".to_owned();
        assert_eq!(
            all("${OPENAI_API_KEY:-x}"),
            Err(McpServerError::ModelKey(key))
        );
    }

    #[test]
    fn a_server_is_for_all_or_for_those_that_are_listed() {
        let server = McpServer::default();
        assert!(server.is_for(None, None) && server.is_for(Some("coder"), Some("al")));
        let listed = McpServer {
            roles: Some(vec!["Coder".to_owned()]),
            members: Some(vec!["bob".to_owned()]),
            ..McpServer::default()
        };
        assert!(listed.is_for(Some("coder"), Some("al")) && listed.is_for(Some("x"), Some("bob")));
        assert!(!listed.is_for(Some("tester"), Some("al")) && !listed.is_for(None, None));
    }

    #[test]
    fn the_debug_text_of_a_server_has_no_secret() {
        let secret = |name: &str| [(name.to_owned(), "s3cret".to_owned())];
        let stdio = McpServer {
            command: Some("npx".to_owned()),
            args: vec!["s3cret".to_owned()],
            env: secret("TOKEN").into(),
            ..McpServer::default()
        };
        let http = McpServer {
            url: Some("http://a/?key=s3cret".to_owned()),
            headers: secret("Authorization").into(),
            ..McpServer::default()
        };
        for (server, name) in [(stdio, "TOKEN"), (http, "Authorization")] {
            let transport = server.transport(&variables()).unwrap();
            for text in [format!("{server:?}"), format!("{transport:?}")] {
                assert!(text.contains(name) && !text.contains("s3cret"), "{text}");
            }
        }
    }

    #[test]
    fn the_file_of_other_programs_is_read_with_their_keys_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let text = r#"{"mcpServers": {"fs": {"command": "npx", "args": ["${HOME_X}"], "autoApprove": []},
            "web": {"type": "http", "url": "http://a/mcp", "headers": {"X": "${NO:-1}"}}, "old": {"type": "sse", "url": "u"}}}"#;
        std::fs::write(folder.path().join(MCP_FILE), text).unwrap();
        let owners = Owners::new(nix::unistd::geteuid().as_raw(), None);
        let file = McpFile::read(folder.path(), &owners).unwrap().unwrap();
        let transport = |name: &str| file.servers[name].transport(&variables());
        let McpTransport::Stdio { args, network, .. } = transport("fs").unwrap() else {
            panic!("not stdio");
        };
        assert_eq!(
            (args, network),
            (vec!["/h".to_owned()], NetworkSetting::Off)
        );
        let McpTransport::Http { headers, .. } = transport("web").unwrap() else {
            panic!("not http");
        };
        assert_eq!(headers, [("X".to_owned(), "1".to_owned())]);
        assert_eq!(
            transport("old"),
            Err(McpServerError::Type("sse".to_owned()))
        );
        std::fs::write(
            folder.path().join(MCP_FILE),
            r#"{"mcpServers": {"a__b": {}}}"#,
        )
        .unwrap();
        McpFile::read(folder.path(), &owners).unwrap_err();
    }
}
