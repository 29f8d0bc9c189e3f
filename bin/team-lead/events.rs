//! `events`: the history of the team.

mod filter;

use crate::cli::Args;
use crate::failure::Failure;
use crate::interrupt;
use crate::out::print;
use crate::span::Since;
use crate::tail::Tail;
use filter::Filter;
use std::path::PathBuf;
use teamdir::{TeamDir, Watch, WatchChoice};

/// Print what happened in the team, one JSON object a line.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead events -f
  team-lead events --since 10m --member alice
  team-lead events | jq -r 'select(.event == \"death\") | .member'

The objects are those of the event log, as they were written.")]
pub(crate) struct Events {
    /// Go on with what happens, until Ctrl-C.
    #[arg(short, long)]
    follow: bool,
    /// Only what happened since then: so long ago (90s, 10m, 2h, 1d), or seconds since 1970.
    #[arg(long, value_name = "T", value_parser = Since::parse)]
    since: Option<Since>,
    /// Only what a member, `lead`, `user` or `system` did, or what was done to it.
    #[arg(long, value_name = "NAME")]
    member: Option<String>,
}

pub(crate) fn show(team: &TeamDir, args: &Args, wish: &Events) -> Result<(), Failure> {
    let since = wish.since.map(|since| since.point(teamdir::now()));
    let roster = team.roster()?;
    let member = wish.member.as_deref();
    let member = member.map(|name| filter::party(&roster, name));
    let mut filter = Filter::new(since, member.transpose()?);
    let mut parts = parts(team);
    if wish.follow {
        interrupt::at_once()?;
    }
    for part in &mut parts {
        print_part(part, &mut filter)?;
    }
    if wish.follow
        && let Some(live) = parts.pop()
    {
        return follow(team, args, live, filter);
    }
    tell_broken(args, &mut filter);
    Ok(())
}

/// The files that the log consists of, oldest first. The last one is appended to.
fn parts(team: &TeamDir) -> Vec<Tail> {
    let paths: [PathBuf; 1] = [team.layout().events()];
    paths.into_iter().map(Tail::whole).collect()
}

fn print_part(part: &mut Tail, filter: &mut Filter) -> Result<(), Failure> {
    part.read(|line| {
        if filter.wants(line) {
            print(&String::from_utf8_lossy(line))?;
        }
        Ok(())
    })
}

fn follow(team: &TeamDir, args: &Args, mut live: Tail, mut filter: Filter) -> Result<(), Failure> {
    let folder = team.layout().root();
    let mut watch = Watch::new(folder, WatchChoice::Auto);
    loop {
        // Asking comes before looking, so that nothing falls between. The folder tells of a log
        // that comes or is replaced.
        watch.ask_folder(folder);
        watch.ask(live.path());
        print_part(&mut live, &mut filter)?;
        tell_broken(args, &mut filter);
        watch.wait(None);
    }
}

fn tell_broken(args: &Args, filter: &mut Filter) {
    let broken = std::mem::take(&mut filter.broken);
    if broken > 0 {
        args.note(&format!(
            "passed over {broken} broken lines of the event log"
        ));
    }
}
