//! Calling another host with `ssh`.

use crate::core::Core;
use crate::run::{RunError, Side, run_pipe};
use crate::transport::TransportError;
use backoff::Backoff;
use protocol::HostId;
use std::process::Stdio;
use std::time::Duration;
use tokio::process::Command;
use tracing::{info, warn};

/// The first and the longest pause between two calls.
const PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(60));

/// How often the folder is looked at between two calls.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// A host that is called with `ssh`, and the workspace there: `ssh://[user@]host[:port]/path`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SshAddress {
    /// `host` or `user@host`.
    host: String,
    port: Option<u16>,
    /// Relative to the home folder there if it begins with `~/`.
    path: String,
}

/// Why a text is no address.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "{0:?} is no address of a host: write ssh://HOST/PATH, such as ssh://gpu1/home/anna/project or ssh://gpu1/~/project"
)]
pub struct AddressError(String);

impl std::str::FromStr for SshAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let fail = || AddressError(text.to_owned());
        let rest = text.strip_prefix("ssh://").ok_or_else(fail)?;
        let (place, path) = rest.split_once('/').ok_or_else(fail)?;
        let (host, port) = match place.rsplit_once(':') {
            Some((host, port)) => (host, Some(port.parse().map_err(|_| fail())?)),
            None => (place, None),
        };
        // It becomes an argument of ssh: it must not be an option, nor anything but a name.
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '@');
        if host.is_empty() || host.starts_with('-') || !host.chars().all(allowed) || path.is_empty()
        {
            return Err(fail());
        }
        let path = match path.strip_prefix("~/") {
            Some(_) => path.to_owned(),
            None => format!("/{path}"),
        };
        let host = host.to_owned();
        Ok(Self { host, port, path })
    }
}

impl std::fmt::Display for SshAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ssh://{}", self.host)?;
        if let Some(port) = self.port {
            write!(f, ":{port}")?;
        }
        let slash = if self.path.starts_with('/') { "" } else { "/" };
        write!(f, "{slash}{}", self.path)
    }
}

impl SshAddress {
    /// A command of `team-lead` for the workspace there, as a person types it here.
    pub fn command_line(&self, command: &str) -> String {
        let port = self.port.map(|port| format!("-p {port} "));
        let command = format!("{command} --dir {}", self.quoted_path());
        let (port, host) = (port.unwrap_or_default(), &self.host);
        format!("ssh {port}{host} {}", quoted(&command))
    }

    /// The workspace as a word of the shell there.
    fn quoted_path(&self) -> String {
        match self.path.strip_prefix("~/") {
            Some(path) => format!("~/{}", plain_or_quoted(path)),
            None => plain_or_quoted(&self.path),
        }
    }

    /// What the host is called if it has no name yet.
    pub fn default_name(&self) -> Option<HostId> {
        let host = self.host.rsplit('@').next().unwrap_or(&self.host);
        HostId::new(host.split('.').next().unwrap_or(host)).ok()
    }
}

/// How hosts are called.
#[derive(Debug, Clone)]
pub struct Ssh {
    /// The program and its first arguments.
    pub command: Vec<String>,
    /// `team-lead` on the other host.
    pub program: String,
    /// Whether members may be started there that are asked for here.
    pub accept_spawns: bool,
}

impl Ssh {
    fn command(&self, address: &SshAddress) -> Command {
        let (program, arguments) = match self.command.split_first() {
            Some((program, arguments)) => (program.as_str(), arguments),
            None => ("ssh", [].as_slice()),
        };
        let mut command = Command::new(program);
        command.args(arguments);
        // Nobody is there to be asked, and a connection that is dead must end.
        for option in [
            "BatchMode=yes",
            "ServerAliveInterval=15",
            "ServerAliveCountMax=3",
        ] {
            command.args(["-o", option]);
        }
        if let Some(port) = address.port {
            command.args(["-p", &port.to_string()]);
        }
        command.arg(&address.host).arg(self.remote_command(address));
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    /// What the shell of the other host runs.
    fn remote_command(&self, address: &SshAddress) -> String {
        let path = address.quoted_path();
        let name = address.default_name();
        let name = name.map(|name| format!(" --default-name {name}"));
        format!(
            "{} bridge --stdio --dir {path}{}{}",
            quoted(&self.program),
            name.unwrap_or_default(),
            if self.accept_spawns {
                " --accept-spawns"
            } else {
                ""
            }
        )
    }
}

/// A text as one word of a shell, without quotes where it needs none.
fn plain_or_quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '/');
    match text.chars().all(is_plain) {
        true => text.to_owned(),
        false => quoted(text),
    }
}

/// A text as one word of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Calls a host again and again and moves frames. Returns why that cannot go on.
pub async fn call(core: &mut Core, ssh: &Ssh, address: &SshAddress) -> RunError {
    let mut failures = Backoff::default();
    let shown = address.to_string();
    loop {
        let started = tokio::time::Instant::now();
        let error = call_once(core, ssh, address, &shown).await;
        core.show_unreachable(&shown, &error.to_string());
        if error.is_refusal() {
            return error;
        }
        if started.elapsed() > PAUSES.1 {
            failures.reset();
        }
        let pause = failures.delay(PAUSES.0, PAUSES.1);
        failures.fail();
        warn!("{shown} cannot be reached: {error}; the next try is in {pause:?}");
        let until = tokio::time::Instant::now() + pause;
        while tokio::time::Instant::now() < until {
            // Mail is queued and claims end meanwhile.
            if let Err(error) = core.collect() {
                warn!("mail stays in its inbox: {error}");
            }
            if let Err(error) = core.settle_if_due() {
                warn!("what was read may be read again: {error}");
            }
            let next = tokio::time::Instant::now() + LOOK_EVERY;
            tokio::time::sleep_until(until.min(next)).await;
        }
    }
}

async fn call_once(core: &mut Core, ssh: &Ssh, address: &SshAddress, shown: &str) -> RunError {
    let ended = |why: String| RunError::from(TransportError::Ended(why));
    let mut child = match ssh.command(address).spawn() {
        Ok(child) => child,
        Err(error) => return ended(format!("ssh cannot be started: {error}")),
    };
    let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return ended("ssh has no pipes".to_owned());
    };
    info!("calling {shown}");
    let error = run_pipe(core, Side::Caller, Some(shown), (output, input)).await;
    // It ends with its pipe; nothing of it is needed any more.
    let _ = child.kill().await;
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_never_an_option_or_a_second_command() {
        for text in [
            "ssh://-oProxyCommand=x/p",
            "ssh://a b/p",
            "ssh://a;b/p",
            "ssh:///p",
            "ssh://a",
            "a/p",
            "ssh://a/",
        ] {
            assert!(text.parse::<SshAddress>().is_err(), "{text}");
        }
        let address: SshAddress = "ssh://anna@gpu1.example:2222/srv/it's".parse().unwrap();
        assert_eq!(address.to_string(), "ssh://anna@gpu1.example:2222/srv/it's");
        assert_eq!(address.default_name(), HostId::new("gpu1").ok());
        let ssh = Ssh {
            command: vec!["ssh".to_owned()],
            program: "team-lead".to_owned(),
            accept_spawns: false,
        };
        assert_eq!(
            ssh.remote_command(&address),
            r"'team-lead' bridge --stdio --dir '/srv/it'\''s' --default-name gpu1"
        );
        let home: SshAddress = "ssh://gpu1/~/p".parse().unwrap();
        assert_eq!(home.to_string(), "ssh://gpu1/~/p");
        assert!(ssh.remote_command(&home).contains("--dir ~/p"));
        assert_eq!(
            home.command_line("team-lead kill bob"),
            "ssh gpu1 'team-lead kill bob --dir ~/p'"
        );
    }
}
