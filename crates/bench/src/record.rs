//! Records a command at a terminal as an SVG picture, still or scrolling.
//!
//! The command is really run at a pseudo-terminal. A scrolling picture is drawn once, as one long page of
//! all lines; a style sheet moves a window over it as the lines were printed. It suits commands that print
//! lines, and a viewer that does not play style sheets shows one place of it.

mod page;

use anyhow::{Context, Result, bail};
use page::Page;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};
use test_support::AtTerminal;

/// A still picture is taken when nothing has changed for this long. A clock on it may count seconds.
const QUIET: Duration = Duration::from_millis(600);
/// How long the text of a still picture is waited for.
const LIMIT: Duration = Duration::from_secs(180);
/// How many lines a scrolling picture can have.
const LONGEST_PAGE: u16 = 2000;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The file to write.
    #[arg(long)]
    out: PathBuf,
    /// The title of the picture.
    #[arg(long, default_value = "")]
    title: String,
    #[arg(long, default_value_t = 28)]
    rows: u16,
    #[arg(long, default_value_t = 96)]
    columns: u16,
    /// A still picture, taken when this text is on the screen and the screen does not change.
    #[arg(long, value_name = "TEXT")]
    still: Option<String>,
    /// The last line that a viewer without style sheets shows: the first with this text.
    #[arg(long, value_name = "TEXT")]
    poster: Option<String>,
    /// Keys to type when the picture is taken, to end the command.
    #[arg(long, default_value = "")]
    keys: String,
    #[arg(trailing_var_arg = true, required = true)]
    command: Vec<String>,
}

/// Bytes that the command wrote, and when.
type Output = (Instant, Vec<u8>);

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
    let (sender, output) = mpsc::channel();
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
    let (page, picture) = match &args.still {
        None => {
            let mut page = Page::new(LONGEST_PAGE, args.columns);
            while let Ok((when, bytes)) = output.recv() {
                page.add(when, &bytes);
            }
            let picture = page.scrolling(args.rows, args.poster.as_deref(), &args.title);
            (page, picture)
        }
        Some(text) => {
            let mut page = Page::new(args.rows, args.columns);
            wait_for_text(&mut page, &output, text)?;
            let picture = page.still(&args.title);
            (page, picture)
        }
    };
    person.write_all(args.keys.as_bytes())?;
    // The command could not end if nobody read its last output.
    while output.recv().is_ok() {}
    let status = child.wait()?;
    if !status.success() {
        bail!("the command failed: {status}\n{}", page.text());
    }
    std::fs::write(&args.out, picture).with_context(|| args.out.display().to_string())
}

/// Waits until a text is on the screen and nothing changes any more.
fn wait_for_text(page: &mut Page, output: &Receiver<Output>, text: &str) -> Result<()> {
    let began = Instant::now();
    while began.elapsed() < LIMIT {
        match output.recv_timeout(QUIET) {
            Ok((when, bytes)) => page.add(when, &bytes),
            Err(RecvTimeoutError::Timeout) => {
                if page.text().contains(text) {
                    return Ok(());
                }
            }
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    bail!("{text:?} was not shown:\n{}", page.text())
}
