//! `team-lead`: the operator's command line.

mod caps;
mod cli;
mod commands;
mod failure;
mod interrupt;
mod names;
mod out;
mod span;
mod tail;

use crate::commands::{
    budget, clean, completions, config, costs, doctor, events, limits, logs, mail, process,
    requests, run, shutdown, spawn, status, task, up, wait, watch,
};
use cli::{Args, Verb, open};
use failure::Failure;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args = match cli::parse() {
        Ok(args) => args,
        Err(code) => return code,
    };
    match dispatch(&args) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => failure.report(args.json),
    }
}

/// Does what was asked for. Returns the exit code.
fn dispatch(args: &Args) -> Result<u8, Failure> {
    let done = match &args.verb {
        Verb::Run(wish) => return run::run(args, wish),
        Verb::Spawn(wish) => spawn::run(args, wish),
        Verb::Status(wish) => status::run(&open(args)?, args, wish),
        Verb::Send(wish) => mail::send(&open(args)?, args, wish),
        Verb::Broadcast(wish) => mail::broadcast(&open(args)?, args, wish),
        Verb::Inbox(wish) => mail::inbox(&open(args)?, args, wish),
        Verb::Shutdown(wish) => shutdown::run(&open(args)?, args, wish),
        Verb::Requests(wish) => requests::show(&open(args)?, args, wish),
        Verb::Approve(wish) => requests::approve(&open(args)?, args, wish),
        Verb::Reject(wish) => requests::reject(&open(args)?, args, wish),
        Verb::Kill(wish) => process::kill(&open(args)?, args, wish),
        Verb::Restart(wish) => process::restart(&open(args)?, args, wish),
        Verb::Logs(wish) => logs::show(&open(args)?, args, wish),
        Verb::Task(wish) => task::run(args, wish),
        Verb::Wait(wish) => wait::run(&open(args)?, args, wish),
        Verb::Events(wish) => events::show(&open(args)?, args, wish),
        Verb::Costs(wish) => costs::run(&open(args)?, args, wish),
        Verb::Budget(wish) => budget::run(&open(args)?, args, wish),
        Verb::Limits(wish) => limits::run(&open(args)?, args, wish),
        Verb::Up(wish) => up::run(args, wish),
        Verb::Config(wish) => config::run(args, wish),
        Verb::Watch(wish) => return watch::run(&open(args)?, args, wish),
        Verb::Doctor(wish) => return doctor::run(args, wish),
        Verb::Clean(wish) => clean::run(&open(args)?, args, wish),
        Verb::Completions(wish) => completions::completions(wish),
        Verb::Man(wish) => completions::man(wish),
    };
    done.map(|()| protocol::exit::DONE)
}
