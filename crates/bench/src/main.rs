//! Benchmarks, long runs and the processes of storage tests. Never installed.
//!
//! `bench measure` runs the benchmarks, `bench soak` checks what grows in a long run, and `bench chaos`
//! injects faults into a whole team. `bench record` makes the pictures of the README. `bench work ...` is
//! one process of a storage test: a writer, a reader, a claimer.

mod chaos;
mod measure;
mod record;
mod soak;
mod work;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[derive(Parser)]
#[command(about = "Benchmarks, long runs, and processes for the tests of the team folder")]
struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// One process of a test.
    Work(work::Args),
    /// Measures the team folder beside the bare system calls and the obvious alternative.
    Measure(measure::Args),
    /// Writes the figures and the chart of a page from the report of a run.
    Publish(measure::publish::Args),
    /// Records a command at a terminal as a picture.
    Record(record::Args),
    /// Lets a team work under steady mail, and checks what grows.
    Soak(soak::Args),
    /// Injects every kind of fault into a team at work, and prints the ledger, which must balance.
    Chaos(chaos::Args),
}

#[expect(clippy::print_stderr, reason = "this is the program's edge")]
fn main() -> ExitCode {
    let outcome = match Args::parse().verb {
        Verb::Work(args) => work::run(&args),
        Verb::Measure(args) => measure::run(&args),
        Verb::Publish(args) => measure::publish::run(&args),
        Verb::Record(args) => record::run(&args),
        Verb::Soak(args) => soak::run(&args),
        Verb::Chaos(args) => chaos::run(&args),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
