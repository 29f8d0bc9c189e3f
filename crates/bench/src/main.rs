//! Processes for the tests of the team folder, and its benchmarks. Never installed.
//!
//! `bench work ...` is one process of a test: a writer, a reader, a claimer. `bench measure` measures, `lab
//! chart` draws what was measured, `bench soak` looks what grows in a long run. `bench record` makes the
//! pictures of the README, and `bench chaos` strikes a whole team.

mod chaos;
mod measure;
mod record;
mod soak;
mod work;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[derive(Parser)]
#[command(about = "Processes for the tests of the team folder, and its benchmarks")]
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
    /// Records a command at a terminal as a picture.
    Record(record::Args),
    /// Lets a team work under steady mail, and looks what grows.
    Soak(soak::Args),
    /// Draws the chart of a report that `bench measure --json` has written.
    Chart {
        /// The report.
        report: std::path::PathBuf,
    },
    /// Strikes a whole team at work in every way, and prints the ledger, which must balance.
    Chaos(chaos::Args),
}

#[expect(clippy::print_stderr, reason = "this is the program's edge")]
fn main() -> ExitCode {
    let outcome = match Args::parse().verb {
        Verb::Work(args) => work::run(&args),
        Verb::Measure(args) => measure::run(&args),
        Verb::Record(args) => record::run(&args),
        Verb::Soak(args) => soak::run(&args),
        Verb::Chart { report } => measure::chart(&report),
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
