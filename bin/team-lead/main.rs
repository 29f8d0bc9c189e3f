//! `team-lead`: the operator's command line.

mod cli;
mod failure;
mod mail;
mod status;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args = cli::Args::parse();
    let outcome = cli::open(&args).and_then(|team| match &args.verb {
        cli::Verb::Status => status::show(&team, &args),
        cli::Verb::Send { to, text } => mail::send(&team, &args, to, text),
        cli::Verb::Inbox { name } => mail::inbox(&team, &args, name),
    });
    match outcome {
        Ok(()) => ExitCode::from(protocol::exit::DONE),
        Err(failure) => failure.report(args.json),
    }
}
