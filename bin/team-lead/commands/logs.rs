//! `logs`: prints and follows the logs of members.

mod line_times;

use crate::cli::Args;
use crate::colour::Colour;
use crate::columns::wrapped;
use crate::failure::Failure;
use crate::followed_file::FollowedFile;
use crate::output::{print, print_json, print_painted, terminal_columns};
use crate::{interrupt, names};
use clap::builder::styling::{AnsiColor, Style};
use line_times::line_times;
use protocol::Recipient;
use serde_json::json;
use teamdir::{TeamDir, WatchChoice, Watcher};
use terminal_text::{clean, fit_name, width};

/// Show the end of the logs of members.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead logs alice -f
  team-lead logs alice bob -n 100
  team-lead logs lead
  team-lead logs

Without names the logs of the lead and all members are shown together, in the order of their times. With
several members, each line begins with the name. With --json: one {\"member\", \"line\"} per line.")]
pub(crate) struct Logs {
    /// Names of members, or `lead`; without them all.
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Keep printing new lines until Ctrl-C.
    #[arg(short, long)]
    follow: bool,
    /// Number of lines to show.
    #[arg(short = 'n', long = "lines", value_name = "N", default_value_t = 20)]
    lines: usize,
}

/// The time at the beginning of a line of a log, and the space after it.
const TIME_COLUMNS: usize = "00:00:00 ".len();
/// Names take at most this part of a terminal, but at least so many columns.
const NAME_SHARE: usize = 5;
const LEAST_NAME: usize = 8;

struct Source {
    owner: Recipient,
    tail: FollowedFile,
}

/// The format of a line.
#[derive(Clone, Copy)]
enum Form {
    Json,
    Named { width: usize },
    Bare,
}

pub(crate) fn show(team: &TeamDir, args: &Args, logs: &Logs) -> Result<(), Failure> {
    let mut sources = sources(team, logs)?;
    let form = form(args, &sources);
    if logs.follow {
        interrupt::exit_on_ctrl_c()?;
        return follow(team, &mut sources, form);
    }
    if logs.names.is_empty() {
        return show_together(&mut sources, form);
    }
    for source in &mut sources {
        source.show(form)?;
        if let Some(partial) = source.tail.take_partial() {
            print_line(&source.owner, &partial, form)?;
        }
        if !source.tail.is_open() {
            args.note(&format!("{} has no log yet", source.owner));
        }
    }
    Ok(())
}

/// The selected logs, each once.
fn sources(team: &TeamDir, logs: &Logs) -> Result<Vec<Source>, Failure> {
    let roster = team.roster()?;
    let mut sources: Vec<Source> = Vec::new();
    let names = logs.names.iter();
    let mut owners = names
        .map(|name| names::recipient(&roster, name))
        .collect::<Result<Vec<Recipient>, Failure>>()?;
    if owners.is_empty() {
        let members = roster.members.iter().map(|member| &member.spec.name);
        owners.push(Recipient::Lead);
        owners.extend(members.cloned().map(Recipient::Member));
    }
    for owner in owners {
        if sources.iter().any(|source| source.owner == owner) {
            continue;
        }
        let tail = FollowedFile::last_lines(team.layout().member_log(&owner), logs.lines)?;
        sources.push(Source { owner, tail });
    }
    Ok(sources)
}

/// Prints the last lines of several logs in the order of their times.
fn show_together(sources: &mut [Source], form: Form) -> Result<(), Failure> {
    let mut all = Vec::new();
    for (at, source) in sources.iter_mut().enumerate() {
        let mut lines = Vec::new();
        source.tail.read(|line| {
            lines.push(line.to_vec());
            Ok(())
        })?;
        lines.extend(source.tail.take_partial());
        let written = std::fs::metadata(source.tail.path());
        let written = written.and_then(|metadata| metadata.modified());
        let written = written.unwrap_or(std::time::SystemTime::UNIX_EPOCH);
        let times = line_times(&lines, written);
        all.extend(
            times
                .into_iter()
                .zip(lines)
                .map(|(time, line)| (time, at, line)),
        );
    }
    // Stable: lines of one log and one second stay in their order.
    all.sort_by_key(|(time, ..)| *time);
    for (_, at, line) in all {
        if let Some(source) = sources.get(at) {
            print_line(&source.owner, &line, form)?;
        }
    }
    Ok(())
}

fn form(args: &Args, sources: &[Source]) -> Form {
    let widths = sources.iter().map(|source| width(source.owner.as_str()));
    let longest = widths.max().unwrap_or(0);
    match sources.len() {
        _ if args.json => Form::Json,
        0 | 1 => Form::Bare,
        _ => Form::Named {
            width: terminal_columns().map_or(longest, |columns| {
                longest.min((columns / NAME_SHARE).max(LEAST_NAME))
            }),
        },
    }
}

fn follow(team: &TeamDir, sources: &mut [Source], form: Form) -> Result<(), Failure> {
    let members = team.layout().members_dir();
    let mut watcher = Watcher::new(&members, WatchChoice::Auto);
    loop {
        // Watch before reading, so that no line is missed. The watches of the folders report logs
        // and member folders that are created or replaced.
        watcher.watch_folder(&members);
        for source in sources.iter_mut() {
            watcher.watch_folder(&team.layout().member_dir(&source.owner));
            watcher.watch_file(source.tail.path());
            source.show(form)?;
        }
        watcher.wait(None);
    }
}

impl Source {
    fn show(&mut self, form: Form) -> Result<(), Failure> {
        let owner = &self.owner;
        self.tail.read(|line| print_line(owner, line, form))
    }
}

fn print_line(owner: &Recipient, line: &[u8], form: Form) -> Result<(), Failure> {
    let line = String::from_utf8_lossy(line);
    let name = match form {
        Form::Json => return print_json(&json!({"member": owner, "line": line})),
        Form::Named { width } => format!("{} | ", fit_name(owner.as_str(), width)),
        Form::Bare => String::new(),
    };
    let line = clean(&line);
    let Some(columns) = terminal_columns() else {
        return print(&format!("{name}{line}"));
    };
    // What does not fit goes on below the text, not below the name or the time.
    let (time, text) = match line.split_at_checked(TIME_COLUMNS) {
        Some((time, text)) if time.ends_with(' ') => (time, text),
        Some(_) | None => ("", &*line),
    };
    let room = columns.saturating_sub(width(&name));
    let colour = Colour::of_environment();
    let name = colour.paint(Style::new().fg_color(Some(AnsiColor::Cyan.into())), &name);
    let lines = wrapped(time, text, room);
    let lines = lines.lines().map(|line| format!("{name}{line}"));
    print_painted(&lines.collect::<Vec<String>>().join("\n"))
}
