//! `bench chaos`: a team does checked work while faults are injected.

use chaos::{Programs, Setup};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// How long faults are injected, in minutes.
    #[arg(long, default_value_t = 1.0)]
    minutes: f64,
    /// How many members, the lead not counted.
    #[arg(long, default_value_t = 20)]
    members: usize,
    /// Determines the faults and the work; random and printed if it is left out.
    #[arg(long)]
    seed: Option<u64>,
    /// Prints the ledger as JSON.
    #[arg(long)]
    json: bool,
    /// Where the folder of the run goes.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// Runs it and prints the ledger. Fails if it does not balance.
#[expect(clippy::print_stdout, reason = "the ledger is this program's output")]
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let here = std::env::current_exe()?;
    let folder = here.parent().unwrap_or(&here);
    let time = Duration::try_from_secs_f64(args.minutes * 60.0)?;
    anyhow::ensure!(args.members > 0, "a team needs a member");
    let seed = args.seed.unwrap_or_else(random_seed);
    let setup = Setup {
        programs: Programs::beside(folder)?,
        members: args.members,
        time,
        seed,
        dir: args.dir.clone(),
        stop: on_interrupt()?,
    };
    let again = format!(
        "scripts/chaos --minutes {} --members {} --seed {seed}",
        args.minutes, args.members
    );
    say(&format!("to repeat this: {again}"));
    let outcome = chaos::run(&setup, &say)?;
    let is_balanced = outcome.ledger.is_balanced();
    if args.json {
        let mut value = serde_json::to_value(&outcome.ledger)?;
        value["seed"] = seed.into();
        value["balanced"] = is_balanced.into();
        value["command"] = again.into();
        println!("{value:#}");
    } else {
        println!("{again}\n{}", outcome.ledger);
    }
    if let Some(kept) = outcome.kept {
        say(&format!("everything was kept in {}", kept.display()));
    }
    anyhow::ensure!(is_balanced, "the ledger does not balance");
    Ok(())
}

/// A flag that the first Ctrl-C or SIGTERM sets, so that the team is ended and nothing of it is left. The
/// second one ends this process at once.
fn on_interrupt() -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        flag::register_conditional_default(signal, Arc::clone(&stop))?;
        flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
}

/// A seed that is short enough to be typed.
fn random_seed() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    u64::from(now.unwrap_or_default().subsec_nanos()) % 1_000_000
}

/// Prints progress.
#[expect(
    clippy::print_stderr,
    reason = "the ledger alone goes to standard output"
)]
fn say(text: &str) {
    eprintln!("chaos: {text}");
}
