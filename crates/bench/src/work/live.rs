//! A member as every agent begins: with its lock, its journal, its conversation and its mail.

use super::{Args, say};
use member::MemberRuntime;
use protocol::Recipient;

/// Begins as a member, and does nothing more until it is killed.
#[derive(clap::Args)]
pub(crate) struct Live {
    #[arg(long)]
    name: Recipient,
}

pub(super) fn run(args: &Args, work: &Live) -> anyhow::Result<()> {
    let started = MemberRuntime::open(&args.team()?, &work.name)?;
    started.0.receive_mail()?;
    say("ready")?;
    loop {
        // The kill comes while this process has everything that it began with.
        std::thread::park();
        std::hint::black_box(&started);
    }
}
