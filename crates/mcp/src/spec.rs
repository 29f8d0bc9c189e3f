//! A server, and how it is reached.

use protocol::NetworkSetting;
use sha2::{Digest, Sha256};
use std::path::PathBuf;
use std::time::Duration;

/// A server, with the values of all variables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerSpec {
    pub name: String,
    pub transport: Transport,
    /// How long a call may take without progress.
    pub call_limit: Duration,
}

#[derive(Clone, PartialEq, Eq)]
pub enum Transport {
    /// A program that is talked with over its standard input and output.
    Stdio {
        command: String,
        args: Vec<String>,
        env: Vec<(String, String)>,
        network: NetworkSetting,
        /// What it may read outside of the workspace.
        readable: Vec<PathBuf>,
    },
    Http {
        url: String,
        headers: Vec<(String, String)>,
    },
}

impl std::fmt::Debug for Transport {
    /// Without the values of variables and headers, which may be secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Stdio { command, args, .. } => write!(f, "{command} {}", args.join(" ")),
            Self::Http { url, .. } => f.write_str(url),
        }
    }
}

impl ServerSpec {
    /// What tells this server from others, without the values of variables and headers.
    pub(crate) fn identity(&self) -> String {
        format!("{}\0{:?}", self.name, self.transport)
    }

    /// The command line of a program, for a shell.
    pub(crate) fn shell_command(command: &str, args: &[String]) -> String {
        let words = std::iter::once(command).chain(args.iter().map(String::as_str));
        let quoted: Vec<String> = words.map(command::shell_word).collect();
        format!("exec {}", quoted.join(" "))
    }
}

/// The SHA-256 of a text, as lower-case hexadecimal digits.
pub(crate) fn digest(text: &str) -> String {
    let bytes = Sha256::digest(text.as_bytes());
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_reach_the_program_as_they_are() {
        let args = ["it's".to_owned(), "$HOME `x`".to_owned()];
        assert_eq!(
            ServerSpec::shell_command("a b", &args),
            r"exec 'a b' 'it'\''s' '$HOME `x`'"
        );
    }

    #[test]
    fn secrets_are_no_part_of_the_identity() {
        let spec = |value: &str| ServerSpec {
            name: "s".to_owned(),
            transport: Transport::Stdio {
                command: "c".to_owned(),
                args: Vec::new(),
                env: vec![("TOKEN".to_owned(), value.to_owned())],
                network: NetworkSetting::Off,
                readable: Vec::new(),
            },
            call_limit: Duration::from_secs(1),
        };
        assert_eq!(spec("a").identity(), spec("b").identity());
        assert!(!format!("{:?}", spec("geheim")).contains("geheim"));
    }
}
