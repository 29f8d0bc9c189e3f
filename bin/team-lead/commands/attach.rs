//! `attach`: talks to one member, and leaves it running.

use crate::cli::Args;
use crate::colour::Colour;
use crate::elsewhere::require_here;
use crate::failure::{Failure, Kind};
use crate::followed_file::FollowedFile;
use crate::output::print_painted;
use crate::{interrupt, names};
use clap::builder::styling::{AnsiColor, Style};
use protocol::{AgentName, Recipient};
use std::io::{BufRead, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use team::Actor;
use teamdir::{Liveness, TeamDir, WatchChoice, Watcher};
use tui::{Conversation, LineKind, TextLine};

/// How long a wait for new records lasts at most: the input may end in the meantime.
const LONGEST_WAIT: Duration = Duration::from_millis(200);

/// Talk to one member: see its conversation as it goes on, and type messages to it.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead attach alice
  team-lead attach alice -n 0
  echo 'Please check the tests too.' | team-lead attach alice

Each line that is typed is a message from you. Ctrl-D or Ctrl-C leaves, and the member goes on. From a pipe,
the lines are sent and the command leaves when the team is quiet.")]
pub(crate) struct Attach {
    /// The member to talk to.
    name: String,
    /// How many records of the conversation so far to show.
    #[arg(short = 'n', long = "records", value_name = "N", default_value_t = 20)]
    records: usize,
}

pub(crate) fn run(team: &TeamDir, args: &Args, command: &Attach) -> Result<(), Failure> {
    let name = names::member(&*team.roster()?, &command.name)?;
    let owner = Recipient::Member(name.clone());
    require_here(team, &owner, &format!("team-lead attach {name}"))?;
    if let Liveness::Gone(_) = team.liveness(&owner)? {
        let message = format!("'{name}' is not running");
        return Err(Failure::new(Kind::Refused, message).hint(format!("team-lead restart {name}")));
    }
    args.note(&format!(
        "attached to {name}: type a message and Enter; Ctrl-D leaves, and {name} goes on"
    ));
    let input = Input::read(team, &name, interrupt::flag_on_ctrl_c()?);
    follow(team, command, &owner, &input)?;
    args.note(&format!("left; {name} goes on"));
    Ok(())
}

/// What is typed, sent by a thread of its own.
struct Input {
    /// Whether the person has pressed Ctrl-C.
    is_interrupted: Arc<AtomicBool>,
    /// Whether the last line was sent.
    has_ended: Arc<AtomicBool>,
    failure: std::sync::mpsc::Receiver<Failure>,
}

impl Input {
    fn read(team: &TeamDir, name: &AgentName, is_interrupted: Arc<AtomicBool>) -> Self {
        let has_ended = Arc::new(AtomicBool::new(false));
        let (failed, failure) = std::sync::mpsc::channel();
        let (team, to, flag) = (team.clone(), name.clone(), Arc::clone(&has_ended));
        std::thread::spawn(move || {
            for line in std::io::stdin().lock().lines().map_while(Result::ok) {
                if line.trim().is_empty() {
                    continue;
                }
                let to = Recipient::Member(to.clone());
                if let Err(error) = team::send(&team, &Actor::user(), to, &line) {
                    // The other side ends with the command.
                    let _ = failed.send(error.into());
                    break;
                }
            }
            flag.store(true, Ordering::Release);
        });
        Self {
            is_interrupted,
            has_ended,
            failure,
        }
    }
}

/// Prints the conversation until the person leaves, the member ends, or a pipe is at its end and the work
/// done.
fn follow(
    team: &TeamDir,
    command: &Attach,
    owner: &Recipient,
    input: &Input,
) -> Result<(), Failure> {
    let is_typed = std::io::stdin().is_terminal();
    let mut shown = Shown::new();
    let path = team.layout().transcript(owner);
    let mut tail = FollowedFile::last_lines(path.clone(), command.records)?;
    let mut conversation = Conversation::new(false);
    let mut watcher = Watcher::new(&team.layout().member_dir(owner), WatchChoice::Auto);
    loop {
        // Watch before reading, so that no record is missed.
        watcher.watch_file(&path);
        // Read before looking at the state: what was written before it is shown.
        let has_ended = input.has_ended.load(Ordering::Acquire);
        let is_gone = matches!(team.liveness(owner)?, Liveness::Gone(_));
        let is_done = has_ended && (is_typed || is_quiet(team)?);
        tail.read(|record| {
            let lines = conversation.read(record);
            lines.iter().try_for_each(|line| shown.print(line))
        })?;
        shown.print_running(&conversation.running())?;
        if let Ok(failure) = input.failure.try_recv() {
            return Err(failure);
        }
        if is_gone {
            let message = format!("'{owner}' has ended");
            return Err(
                Failure::new(Kind::TeamFailed, message).hint(format!("team-lead logs {owner}"))
            );
        }
        if is_done || input.is_interrupted.load(Ordering::Relaxed) {
            return Ok(());
        }
        watcher.wait(Some(Instant::now() + LONGEST_WAIT));
    }
}

/// What was printed of the conversation.
struct Shown {
    is_terminal: bool,
    colour: Colour,
    /// The unfinished calls that were printed.
    running: Vec<TextLine>,
}

impl Shown {
    fn new() -> Self {
        let is_terminal = std::io::stdout().is_terminal();
        let colour = match is_terminal {
            true => Colour::of_environment(),
            false => Colour::Off,
        };
        let running = Vec::new();
        Self {
            is_terminal,
            colour,
            running,
        }
    }

    fn print(&self, line: &TextLine) -> Result<(), Failure> {
        // The text of a line is clean.
        print_painted(&self.colour.paint(style_of(line.kind), &line.text))
    }

    /// Prints the calls that have begun since the last time, so that a person sees why nothing comes. With
    /// their results, calls are printed anyhow.
    fn print_running(&mut self, running: &[TextLine]) -> Result<(), Failure> {
        if self.is_terminal {
            let new = running.iter().filter(|line| !self.running.contains(line));
            new.map(|line| &line.text).try_for_each(|text| {
                print_painted(&self.colour.paint(Style::new().dimmed(), text))
            })?;
        }
        self.running = running.to_vec();
        Ok(())
    }
}

/// As in `watch`.
fn style_of(kind: LineKind) -> Style {
    let style = Style::new();
    let colour = |colour: AnsiColor| style.fg_color(Some(colour.into()));
    match kind {
        LineKind::Said => style,
        LineKind::Told => colour(AnsiColor::Cyan),
        LineKind::Call => style.bold(),
        LineKind::Output => style.dimmed(),
        LineKind::Failure | LineKind::Removed => colour(AnsiColor::Red),
        LineKind::Added => colour(AnsiColor::Green),
        LineKind::Note => colour(AnsiColor::Yellow),
    }
}

/// Whether nothing is left to do, so that no answer is on its way.
fn is_quiet(team: &TeamDir) -> Result<bool, Failure> {
    let check = processes::check_idle(team)?;
    Ok(matches!(check, processes::IdleCheck::Idle { .. }))
}
