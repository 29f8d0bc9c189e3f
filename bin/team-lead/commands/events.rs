//! `events`: prints and follows the event log.

mod filter;

use crate::cli::Args;
use crate::colour::Colour;
use crate::columns::wrapped;
use crate::duration::Since;
use crate::failure::Failure;
use crate::interrupt;
use crate::output::{print, print_json_line, print_painted, terminal_columns};
use clap::builder::styling::{AnsiColor, Style};
use filter::Filter;
use overview::{TimedEvent, Tone};
use std::io::IsTerminal;
use teamdir::{EventReader, TeamDir, WatchChoice, Watcher};

/// Print the event log: in words on a terminal, otherwise one JSON object per line.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead events -f
  team-lead events --since 10m --member alice
  team-lead events --member bob --words      # why was bob restarted?
  team-lead events | jq -r 'select(.event == \"death\") | .member'

On a terminal the events are told in words, and frequent ones are left out; --json prints the objects there
too. Into a pipe or a file go the objects as they are in the log; --words tells them in words.")]
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
    /// One line of text for each event, as `watch` shows it, also into a pipe.
    #[arg(long)]
    words: bool,
}

pub(crate) fn show(team: &TeamDir, args: &Args, command: &Events) -> Result<(), Failure> {
    let since = command.since.map(|since| since.resolve(teamdir::now()));
    let roster = team.roster()?;
    let member = command.member.as_deref();
    let member = member.map(|name| filter::party(&roster, name));
    let filter = Filter::new(since, member.transpose()?);
    let words = !args.json && (command.words || std::io::stdout().is_terminal());
    let log = team.event_reader();
    let mut printer = Printer { log, filter, words };
    if command.follow {
        interrupt::exit_on_ctrl_c()?;
        return follow(team, args, printer);
    }
    printer.print_new()?;
    printer.report_broken(args);
    Ok(())
}

/// Prints the events that match, in one of two forms.
struct Printer {
    log: EventReader,
    filter: Filter,
    words: bool,
}

impl Printer {
    /// Prints the matching events that were not read yet, from all segments of the log.
    fn print_new(&mut self) -> Result<(), Failure> {
        let Self { log, filter, words } = self;
        let mut printed = Ok(());
        log.read(|line| {
            // After a closed output nothing more is printed.
            if printed.is_ok() && filter.matches(line) {
                printed = match words {
                    true => print_words(line),
                    false => print_json_line(&String::from_utf8_lossy(line)),
                };
            }
        })?;
        printed
    }

    fn report_broken(&mut self, args: &Args) {
        let broken = std::mem::take(&mut self.filter.broken);
        if broken > 0 {
            args.note(&format!("skipped {broken} damaged lines of the event log"));
        }
    }
}

/// Prints an event that is worth a line of text: on a terminal in a colour, and where it is long, below itself.
fn print_words(line: &[u8]) -> Result<(), Failure> {
    let Some(TimedEvent { time, text, tone }) = overview::timed_event(line) else {
        return Ok(());
    };
    let Some(columns) = terminal_columns() else {
        return print(&format!("{time} {text}"));
    };
    let text = wrapped(&format!("{time} "), &text, columns);
    let colour = |colour: AnsiColor| Style::new().fg_color(Some(colour.into()));
    let style = match tone {
        Tone::Good => colour(AnsiColor::Green),
        Tone::Bad => colour(AnsiColor::Red),
        Tone::Asks => colour(AnsiColor::Yellow),
        Tone::Plain => Style::new(),
    };
    print_painted(&Colour::of_environment().paint(style, &text))
}

fn follow(team: &TeamDir, args: &Args, mut printer: Printer) -> Result<(), Failure> {
    let folder = team.layout().root();
    let events = team.layout().events();
    let mut watcher = Watcher::new(folder, WatchChoice::Auto);
    loop {
        // Watch before reading, so that no event is missed. The watch of the folder reports a log
        // that is created, rotated or replaced.
        watcher.watch_folder(folder);
        watcher.watch_file(&events);
        printer.print_new()?;
        printer.report_broken(args);
        watcher.wait(None);
    }
}
