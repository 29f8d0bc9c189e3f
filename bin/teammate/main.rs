//! `teammate`: one member of a team.

mod cli;
#[path = "../log_args.rs"]
mod log_args;
mod start;

use clap::Parser;
use member::{FindError, RuntimeError, Untrusted};
use protocol::exit;
use std::io::Write as _;
use std::process::ExitCode;
use teamdir::{JoinError, OpenError, SessionError};
use teammate::TeammateError;

fn main() -> ExitCode {
    let args = cli::Args::parse();
    match start::run(&args) {
        Ok(()) => ExitCode::from(exit::DONE),
        Err(error) => {
            let (code, next) = advice(&error, &args);
            // On a full disk this cannot be written; the exit code is still right.
            let text = format!("error: {error:#}\nnext: {next}");
            let _ = writeln!(std::io::stderr(), "{}", terminal_text::clean(&text));
            ExitCode::from(code)
        }
    }
}

/// The exit code of an error, and the command to type next.
fn advice(error: &anyhow::Error, args: &cli::Args) -> (u8, String) {
    let (dir, name) = (args.dir.display(), &args.name);
    let join = format!("teammate --dir {dir} --name {name} --role ROLE");
    let status = format!("team-lead -C {dir} status");
    if let Some(FindError::Open(OpenError::NotFound(_))) = error.downcast_ref() {
        return (exit::NOT_FOUND, join);
    }
    if error.is::<Untrusted>() {
        return (exit::FAILED, format!("team-lead -C {dir} trust"));
    }
    match error.downcast_ref() {
        Some(TeammateError::MemberRuntime(RuntimeError::MemberSession(SessionError::Join(
            JoinError::NotAMember(_),
        ))))
        | Some(TeammateError::Dismissed(_) | TeammateError::FolderRemoved(_)) => {
            (exit::NOT_FOUND, join)
        }
        Some(TeammateError::MemberRuntime(RuntimeError::MemberSession(SessionError::Join(
            JoinError::Held { .. },
        )))) => (exit::HELD, status),
        Some(TeammateError::Model(_)) => {
            let spawn = format!("team-lead -C {dir} spawn {name} ROLE --model offline");
            (exit::FAILED, spawn)
        }
        Some(_) | None => (exit::FAILED, status),
    }
}
