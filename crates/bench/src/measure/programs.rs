//! The real programs, as a user runs them, away from the models of this machine.

use anyhow::{Context as _, ensure};
use command::Pidfd;
use nix::sys::signal::Signal;
use nix::unistd::Pid;
use protocol::{Phase, Recipient};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use teamdir::{Liveness, TeamDir};
use test_support::{Worker, wait_until};
use trust::{Facts, FolderId, GRANT_VARIABLE, Grant};

/// How long a step of a real team may take on a busy machine.
pub(super) const PATIENCE: Duration = Duration::from_secs(120);

/// A program that was built beside this one.
pub(super) fn beside(name: &str) -> anyhow::Result<PathBuf> {
    let path = std::env::current_exe()?.with_file_name(name);
    ensure!(
        path.exists(),
        "{} is not there: build it with `cargo build --release --bins`",
        path.display()
    );
    Ok(path)
}

/// A command of `team-lead` in a folder, whose model is at `address`.
pub(super) fn team_lead(dir: &Path, address: &str, arguments: &[&str]) -> anyhow::Result<Command> {
    let mut command = Command::new(beside("team-lead")?);
    command.args(arguments).current_dir(dir);
    clean(&mut command);
    command
        .env("TEAM_MODEL", "anthropic:bench")
        .env("ANTHROPIC_API_KEY", "none")
        .env("ANTHROPIC_BASE_URL", address)
        .env("TEAM_READY_TIMEOUT", "120")
        .env("HOME", home(dir));
    Ok(command)
}

/// The home folder of whoever runs commands in a folder.
pub(super) fn home(dir: &Path) -> PathBuf {
    dir.join("home")
}

/// Takes away what the environment says of models, and lets the processes be measured.
pub(super) fn clean(command: &mut Command) {
    command.env("TEAM_DUMPABLE", "on");
    for variable in [
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "ANTHROPIC_BASE_URL",
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "MODEL_ID",
        "TEAM_MODEL",
        "TEAM_FSYNC",
        "XDG_STATE_HOME",
    ] {
        command.env_remove(variable);
    }
}

/// What tells a teammate that the team of this folder, which no program of a user made, is trusted.
pub(super) fn grant(dir: &Path) -> anyhow::Result<(&'static str, String)> {
    let folder = FolderId::of(&dir.join(teamdir::FOLDER))?;
    let grant = Grant::of(&Facts::default()).in_folder(folder);
    Ok((GRANT_VARIABLE, grant.to_string()))
}

/// Runs a command that has to succeed, and returns what it prints.
pub(super) fn verb(dir: &Path, address: &str, arguments: &[&str]) -> anyhow::Result<String> {
    let output = team_lead(dir, address, arguments)?
        .stdin(Stdio::null())
        .output()?;
    ensure!(
        output.status.success(),
        "team-lead {arguments:?} ended with {}: {}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Starts a lead that waits for input.
pub(super) fn start_lead(dir: &Path, address: &str) -> anyhow::Result<Worker> {
    let mut command = team_lead(dir, address, &["run", "--quiet", "--keep"])?;
    let worker = Worker::spawn(command.stderr(Stdio::null())).context("start team-lead run")?;
    Ok(worker)
}

/// Waits until a living member, or the lead, says that it is in this phase.
pub(super) fn wait_for_phase(team: &TeamDir, owner: &Recipient, phase: Phase) {
    wait_until(&format!("{owner} to be {phase:?}"), PATIENCE, || {
        let incarnation = match team.liveness(owner) {
            Ok(Liveness::Alive(Some(holder))) => holder.incarnation,
            Ok(Liveness::Alive(None) | Liveness::Gone(_)) | Err(_) => return false,
        };
        let state = team.live_state(owner).ok().flatten();
        state.is_some_and(|state| state.incarnation == incarnation && state.phase == phase)
    });
}

/// The process of a member, ready to be killed.
pub(super) struct Victim(Pidfd);

impl Victim {
    pub(super) fn of(team: &TeamDir, owner: &Recipient) -> anyhow::Result<Self> {
        let Liveness::Alive(Some(holder)) = team.liveness(owner)? else {
            anyhow::bail!("{owner} does not live");
        };
        let pid = Pid::from_raw(holder.pid.cast_signed());
        Ok(Self(Pidfd::open(pid)?))
    }

    pub(super) fn kill(&self) -> anyhow::Result<()> {
        Ok(self.0.send_signal(Signal::SIGKILL)?)
    }
}
