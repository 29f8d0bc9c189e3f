//! Records a command at a terminal as a picture that moves, or as one that does not.
//!
//! The command is really run at a pseudo-terminal. What it shows becomes an SVG file with its own
//! background and no script in it, so that it can stand in a README.

mod drawing;
mod film;

use anyhow::{Context, Result, bail};
use film::Film;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};
use test_support::AtTerminal;

/// A picture is taken when nothing has changed for this long.
const QUIET: Duration = Duration::from_millis(800);
/// Nothing that is worth a picture takes longer.
const LIMIT: Duration = Duration::from_secs(180);

/// What is recorded, and how.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The file to write.
    #[arg(long)]
    out: PathBuf,
    /// What stands above the screen.
    #[arg(long, default_value = "")]
    title: String,
    #[arg(long, default_value_t = 28)]
    rows: u16,
    #[arg(long, default_value_t = 96)]
    columns: u16,
    /// One picture instead of a film: when this text is on the screen and the screen rests.
    #[arg(long, value_name = "TEXT")]
    still: Option<String>,
    /// Which part of a film is shown where nothing moves: the first screen that has this text.
    #[arg(long, value_name = "TEXT")]
    poster: Option<String>,
    /// Keys to type when the picture is taken, to end the command.
    #[arg(long, default_value = "")]
    keys: String,
    #[arg(trailing_var_arg = true, required = true)]
    command: Vec<String>,
}

/// Something that was shown, and when.
type Shown = (Instant, Vec<u8>);

pub(crate) fn run(args: &Args) -> Result<()> {
    let (program, rest) = args.command.split_first().context("no command")?;
    let mut command = Command::new(program);
    command.args(rest).env("TERM", "xterm-256color");
    command.env("COLORTERM", "").env_remove("NO_COLOR");
    let AtTerminal {
        mut child,
        mut person,
        line,
        ..
    } = AtTerminal::start(command, args.rows, args.columns)?;
    drop(line);
    let (sender, shown) = mpsc::channel();
    let mut screen = person.try_clone()?;
    // The thread ends with the terminal.
    thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(count @ 1..) = screen.read(&mut bytes) {
            let piece = bytes.get(..count).unwrap_or_default().to_vec();
            if sender.send((Instant::now(), piece)).is_err() {
                return;
            }
        }
    });
    let mut film = Film::new(args.rows, args.columns);
    let text = match &args.still {
        None => {
            while let Ok((when, bytes)) = shown.recv() {
                film.add(when, &bytes);
            }
            drawing::moving(&film, args.poster.as_deref(), &args.title)
        }
        Some(text) => {
            wait_for_still(&mut film, &shown, text)?;
            drawing::still(film.screen(), &args.title)
        }
    };
    person.write_all(args.keys.as_bytes())?;
    // Its last words must find a reader, or it could not end.
    while shown.recv().is_ok() {}
    let status = child.wait()?;
    if !status.success() {
        bail!("the command failed: {status}\n{}", film.screen().contents());
    }
    std::fs::write(&args.out, text).with_context(|| args.out.display().to_string())
}

/// Waits until a text is on the screen and nothing changes any more.
fn wait_for_still(film: &mut Film, shown: &Receiver<Shown>, text: &str) -> Result<()> {
    let began = Instant::now();
    while began.elapsed() < LIMIT {
        match shown.recv_timeout(QUIET) {
            Ok((when, bytes)) => film.add(when, &bytes),
            Err(RecvTimeoutError::Timeout) => {
                if film.screen().contents().contains(text) {
                    return Ok(());
                }
            }
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    bail!("{text:?} was not shown:\n{}", film.screen().contents())
}
