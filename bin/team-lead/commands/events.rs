//! `events`: the history of the team.

mod filter;

use crate::cli::Args;
use crate::failure::Failure;
use crate::interrupt;
use crate::out::print;
use crate::span::Since;
use filter::Filter;
use teamdir::{EventReader, TeamDir, WatchChoice, Watcher};

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
    let mut log = team.event_reader();
    if wish.follow {
        interrupt::at_once()?;
        return follow(team, args, log, filter);
    }
    print_new(&mut log, &mut filter)?;
    tell_broken(args, &mut filter);
    Ok(())
}

/// Prints what is wanted of the events that were not read yet, in all parts of the log.
fn print_new(log: &mut EventReader, filter: &mut Filter) -> Result<(), Failure> {
    let mut printed = Ok(());
    log.read(|line| {
        // Once nobody reads any more there is nothing left to do.
        if printed.is_ok() && filter.wants(line) {
            printed = print(&String::from_utf8_lossy(line));
        }
    })?;
    printed
}

fn follow(
    team: &TeamDir,
    args: &Args,
    mut log: EventReader,
    mut filter: Filter,
) -> Result<(), Failure> {
    let folder = team.layout().root();
    let events = team.layout().events();
    let mut watcher = Watcher::new(folder, WatchChoice::Auto);
    loop {
        // Asking comes before looking, so that nothing falls between. The folder tells of a log
        // that comes, is set aside or is replaced.
        watcher.watch_folder(folder);
        watcher.watch_file(&events);
        print_new(&mut log, &mut filter)?;
        tell_broken(args, &mut filter);
        watcher.wait(None);
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
