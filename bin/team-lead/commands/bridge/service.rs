//! A unit of systemd that runs a bridge. It is a file that others may read, and has no password in it.

use super::Bridge;
use super::address::{Address, VARIABLE};
use crate::failure::Failure;
use protocol::exit;
use std::path::Path;
use teamdir::TeamDir;

/// A unit of systemd for this user.
pub(super) fn service(
    team: &TeamDir,
    command: &Bridge,
    address: &Address,
) -> Result<String, Failure> {
    let program = std::env::current_exe().map_err(|error| Failure::failed(error.to_string()))?;
    let mut words = vec![
        program.display().to_string(),
        "bridge".to_owned(),
        "--dir".to_owned(),
        team.workspace().display().to_string(),
    ];
    if let Some(name) = &command.name {
        words.extend(["--name".to_owned(), name.to_string()]);
    }
    if command.accept_answers {
        words.push("--accept-answers".to_owned());
    }
    if command.accept_spawns {
        words.push("--accept-spawns".to_owned());
    }
    if command.lease != bridge::LEASE.as_secs() {
        words.extend(["--lease".to_owned(), command.lease.to_string()]);
    }
    words.extend(address_words(command, address)?);
    let environment = match address {
        Address::Nats {
            from_variable: true,
            ..
        } => format!(
            "# A file with the line {VARIABLE}=ADDRESS, which only you may read.\n\
             EnvironmentFile=%h/.config/team-lead/bridge.env\n"
        ),
        Address::Ssh(_) | Address::Nats { .. } => String::new(),
    };
    // Members that were started for another host go on when the bridge ends.
    let kill_mode = match command.accept_spawns {
        true => "KillMode=process\n",
        false => "",
    };
    let words: Vec<String> = words.iter().map(|word| unit_word(word)).collect();
    Ok(format!(
        "[Unit]\nDescription=Bridge of a team to other hosts\nAfter=network-online.target\n\n\
         [Service]\n{environment}ExecStart={}\nRestart=on-failure\nRestartSec=10\n{kill_mode}\
         # What was refused stays refused until a person has done what the log says.\n\
         RestartPreventExitStatus={}\n\n\
         [Install]\nWantedBy=default.target",
        words.join(" "),
        [exit::FAILED, exit::USAGE, exit::NOT_FOUND]
            .map(|code| code.to_string())
            .join(" ")
    ))
}

/// The address, unless the service has it from a variable, and the options that belong to it.
fn address_words(command: &Bridge, address: &Address) -> Result<Vec<String>, Failure> {
    let mut words = Vec::new();
    match address {
        Address::Ssh(address) => {
            for (option, value, usual) in [
                ("--ssh", &command.ssh, "ssh"),
                ("--remote-program", &command.remote_program, "team-lead"),
            ] {
                if value != usual {
                    words.extend([option.to_owned(), value.clone()]);
                }
            }
            words.push(address.to_string());
        }
        Address::Nats {
            settings,
            from_variable,
        } => {
            if let Some(lead) = &settings.lead {
                words.extend(["--lead".to_owned(), lead.to_string()]);
            }
            for (option, file) in [
                ("--credentials", &settings.credentials),
                ("--root-certificates", &settings.root_certificates),
            ] {
                if let Some(file) = file {
                    words.extend([option.to_owned(), absolute(file)?]);
                }
            }
            if !*from_variable {
                words.push(settings.address.to_string());
            }
        }
    }
    Ok(words)
}

/// A service begins in another folder.
fn absolute(file: &Path) -> Result<String, Failure> {
    let path = std::path::absolute(file);
    let path = path.map_err(|error| Failure::failed(format!("{}: {error}", file.display())))?;
    Ok(path.display().to_string())
}

/// A word of a command in a unit: systemd reads quotes, backslashes, `%` and `$`.
fn unit_word(word: &str) -> String {
    let word = word.replace('\\', r"\\").replace('"', "\\\"");
    format!("\"{}\"", word.replace('%', "%%").replace('$', "$$"))
}
