//! `team-lead`: the operator's command line.

mod budget_args;
mod cli;
mod colour;
mod columns;
mod commands;
mod completing;
mod duration;
mod elsewhere;
mod failure;
mod followed_file;
mod input;
mod interrupt;
#[path = "../log_args.rs"]
mod log_args;
mod names;
mod output;
mod permission_args;
mod sandbox_args;
mod sandboxed_caller;
mod trusted_workspace;
mod tuning_args;
mod wrong_value;

use crate::commands::{
    attach, bridge, budget, clean, completions, config, costs, doctor, events, limits, logs, mail,
    mcp, notes, permissions, process, prompt, requests, run, sandbox, sessions, shutdown, spawn,
    status, submissions, task, team, trees, trust, up, version, wait, watch, web,
};
use cli::{Args, Verb, open};
use failure::Failure;
use std::process::ExitCode;

fn main() -> ExitCode {
    // Commands have keys in their environment too.
    member::hide_own_memory();
    completing::answer_shell();
    let args = match cli::parse() {
        Ok(args) => args,
        Err(code) => return code,
    };
    match dispatch(&args) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => failure.report(args.json),
    }
}

/// Runs a command. Returns the exit code.
fn dispatch(args: &Args) -> Result<u8, Failure> {
    // The lead logs to its own file, and a command to standard error, if it is asked to. A bridge runs for
    // days and prints nothing else: whoever started it must see that a host cannot be reached.
    let is_bridge = matches!(args.verb, Verb::Bridge(_));
    let is_asked = is_bridge || args.log.filter.is_some() || args.log.verbose > 0;
    if is_asked && !matches!(args.verb, Verb::Run(_)) {
        member::log_to_stderr(&args.log.options(false));
        tracing::debug!(version = env!("CARGO_PKG_VERSION"), "started");
    }
    sandboxed_caller::check(args)?;
    let done = match &args.verb {
        Verb::Run(command) => return run::run(args, command),
        Verb::Spawn(command) => spawn::run(args, command),
        Verb::Attach(command) => attach::run(&open(args)?, args, command),
        Verb::Status(command) => status::run(&open(args)?, args, command),
        Verb::Sessions(command) => sessions::run(&open(args)?, args, command),
        Verb::Send(command) => mail::send(&open(args)?, args, command),
        Verb::Broadcast(command) => mail::broadcast(&open(args)?, args, command),
        Verb::Inbox(command) => mail::inbox(&open(args)?, args, command),
        Verb::Shutdown(command) => shutdown::run(&open(args)?, args, command),
        Verb::Requests(command) => requests::show(&open(args)?, args, command),
        Verb::Approve(command) => requests::approve(&open(args)?, args, command),
        Verb::Reject(command) => requests::reject(&open(args)?, args, command),
        Verb::Answer(command) => requests::answer(&open(args)?, args, command),
        Verb::Rm(command) => team::rm(&open(args)?, args, command),
        Verb::Kill(command) => process::kill(&open(args)?, args, command),
        Verb::Restart(command) => process::restart(args, command),
        Verb::Logs(command) => logs::show(&open(args)?, args, command),
        Verb::Task(command) => task::run(args, command),
        Verb::Notes(command) => notes::run(&open(args)?, args, command),
        Verb::Submit(command) => submissions::submit(args, command),
        Verb::Submissions(command) => submissions::show(args, command),
        Verb::Trees(command) => trees::trees(&open(args)?, args, command),
        Verb::Diff(command) => trees::diff(&open(args)?, args, command),
        Verb::Rebase(command) => trees::rebase(&open(args)?, args, command),
        Verb::Land(command) => trees::land(&open(args)?, args, command),
        Verb::Wait(command) => wait::run(&open(args)?, args, command),
        Verb::Events(command) => events::show(&open(args)?, args, command),
        Verb::Costs(command) => costs::run(&open(args)?, args, command),
        Verb::Budget(command) => budget::run(&open(args)?, args, command),
        Verb::Limits(command) => limits::run(&open(args)?, args, command),
        Verb::Init(command) => team::init(args, command),
        Verb::Up(command) => up::run(args, command),
        Verb::Down(command) => team::down(&open(args)?, args, command),
        Verb::Teams(command) => team::teams(args, command),
        Verb::Trust(command) => trust::run(args, command),
        Verb::Config(command) => config::run(args, command),
        Verb::Permissions(command) => permissions::run(args, command),
        Verb::Prompt(command) => prompt::run(args, command),
        Verb::Mcp(command) => mcp::run(args, command),
        Verb::Watch(command) => return watch::run(&open(args)?, args, command),
        Verb::Bridge(command) => bridge::run(&open(args)?, args, command),
        Verb::Web(command) => web::run(&open(args)?, args, command),
        Verb::Doctor(command) => return doctor::run(args, command),
        Verb::Sandbox(command) => return sandbox::run(args, command),
        Verb::Clean(command) => clean::run(&open(args)?, args, command),
        Verb::Completions(command) => completions::completions(command),
        Verb::Man(command) => completions::man(command),
        Verb::Version(command) => version::run(args, command),
    };
    done.map(|()| protocol::exit::DONE)
}
