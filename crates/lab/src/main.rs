//! Processes for the tests of the team folder, and its benchmarks. Never installed.
//!
//! `lab work ...` is one process of a test: a writer, a reader, a claimer. `lab bench` measures, `lab
//! chart` draws what was measured, `lab soak` looks what grows in a long run. `lab record` makes the
//! pictures of the README, and `lab chaos` strikes a whole team.

mod bench;
mod chaos;
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
    Bench(bench::Args),
    /// Records a command at a terminal as a picture.
    Record(record::Args),
    /// Lets a team work under steady mail, and looks what grows.
    Soak(soak::Args),
    /// Draws the chart of a report that `lab bench --json` has written.
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
        Verb::Bench(args) => bench::run(&args),
        Verb::Record(args) => record::run(&args),
        Verb::Soak(args) => soak::run(&args),
        Verb::Chart { report } => bench::chart(&report),
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
