//! `events`: prints and follows the event log.

mod filter;

use crate::cli::Args;
use crate::duration::Since;
use crate::failure::Failure;
use crate::interrupt;
use crate::output::print;
use filter::Filter;
use teamdir::{EventReader, TeamDir, WatchChoice, Watcher};

/// Print the event log, one JSON object per line.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead events -f
  team-lead events --since 10m --member alice
  team-lead events | jq -r 'select(.event == \"death\") | .member'

The objects are printed as they are in the log.")]
pub(crate) struct Events {
    /// Keep printing new events until Ctrl-C.
    #[arg(short, long)]
    follow: bool,
    /// Only events since then: a time ago (90s, 10m, 2h, 1d), or seconds since 1970.
    #[arg(long, value_name = "T", value_parser = Since::parse)]
    since: Option<Since>,
    /// Only events that name this member, or `lead`, `user` or `system`.
    #[arg(long, value_name = "NAME")]
    member: Option<String>,
}

pub(crate) fn show(team: &TeamDir, args: &Args, command: &Events) -> Result<(), Failure> {
    let since = command.since.map(|since| since.resolve(teamdir::now()));
    let roster = team.roster()?;
    let member = command.member.as_deref();
    let member = member.map(|name| filter::party(&roster, name));
    let mut filter = Filter::new(since, member.transpose()?);
    let mut log = team.event_reader();
    if command.follow {
        interrupt::exit_on_ctrl_c()?;
        return follow(team, args, log, filter);
    }
    print_new(&mut log, &mut filter)?;
    report_broken(args, &mut filter);
    Ok(())
}

/// Prints the matching events that were not read yet, from all segments of the log.
fn print_new(log: &mut EventReader, filter: &mut Filter) -> Result<(), Failure> {
    let mut printed = Ok(());
    log.read(|line| {
        // After a closed output nothing more is printed.
        if printed.is_ok() && filter.matches(line) {
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
        // Watch before reading, so that no event is missed. The watch of the folder reports a log
        // that is created, rotated or replaced.
        watcher.watch_folder(folder);
        watcher.watch_file(&events);
        print_new(&mut log, &mut filter)?;
        report_broken(args, &mut filter);
        watcher.wait(None);
    }
}

fn report_broken(args: &Args, filter: &mut Filter) {
    let broken = std::mem::take(&mut filter.broken);
    if broken > 0 {
        args.note(&format!("skipped {broken} damaged lines of the event log"));
    }
}
