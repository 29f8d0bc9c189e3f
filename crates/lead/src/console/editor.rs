//! The line editor, on a thread of its own.

use super::Input;
use super::keys::{self, AnswerKeys, Pressed};
use super::printer::AbovePrompt;
use nix::pty::Winsize;
use nix::sys::termios::{SetArg, Termios, tcgetattr, tcsetattr};
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{Config, Editor};
use std::io::{IsTerminal as _, Write, stdin};
use std::os::fd::AsRawFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use tokio::sync::mpsc::Sender;

nix::ioctl_read_bad!(window_size, nix::libc::TIOCGWINSZ, Winsize);

const PROMPT: &str = "team >> ";
/// Back to the start of the line, clear it, and end the mode in which pastes are marked.
const LEAVE_PROMPT: &[u8] = b"\r\x1b[K\x1b[?2004l";

/// The terminal as it was. Dropping this brings it back: the editor's thread may still be reading,
/// with the terminal in a mode that no other program wants.
#[derive(Debug)]
pub(crate) struct Restore(Termios);

impl Restore {
    pub(crate) fn remember() -> Option<Self> {
        tcgetattr(stdin()).ok().map(Self)
    }
}

impl Drop for Restore {
    fn drop(&mut self) {
        let mut out = std::io::stdout();
        let _ = out.write_all(LEAVE_PROMPT).and_then(|()| out.flush());
        let _ = tcsetattr(stdin(), SetArg::TCSADRAIN, &self.0);
    }
}

/// The columns of the terminal.
pub(crate) fn width() -> usize {
    let mut size = Winsize {
        ws_row: 0,
        ws_col: 0,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    let terminal = std::io::stdout();
    // SAFETY: the descriptor is open while `terminal` lives, and the call writes the size only.
    match unsafe { window_size(terminal.as_raw_fd(), &raw mut size) } {
        Ok(_) if size.ws_col > 0 => usize::from(size.ws_col),
        Ok(_) | Err(_) => 80,
    }
}

/// Starts reading. Returns what prints above the prompt; nothing if this terminal cannot be edited
/// on.
pub(crate) fn start(
    history: Option<PathBuf>,
    typed: Sender<Input>,
    keys: AnswerKeys,
) -> Option<AbovePrompt> {
    let (ready, printer) = mpsc::channel();
    thread::spawn(move || {
        let Some((mut editor, printer)) = open(&keys) else {
            return;
        };
        if ready.send(printer).is_ok() {
            read(&mut editor, history.as_deref(), &typed, &keys);
        }
    });
    printer.recv().ok()
}

fn open(keys: &AnswerKeys) -> Option<(Editor<(), FileHistory>, AbovePrompt)> {
    let config = Config::builder().bracketed_paste(true).build();
    let mut editor = Editor::with_config(config).ok()?;
    for key in keys::ALL.chars() {
        editor.bind_sequence(keys::event(key), keys.handler());
    }
    let printer = editor.create_external_printer().ok()?;
    Some((editor, Box::new(printer)))
}

fn read(
    editor: &mut Editor<(), FileHistory>,
    history: Option<&Path>,
    typed: &Sender<Input>,
    keys: &AnswerKeys,
) {
    if let Some(path) = history {
        prepare(path);
        let _ = editor.load_history(path);
    }
    loop {
        let read = editor.readline(PROMPT);
        if let Some(pressed) = keys.take() {
            let answer = answer(editor, pressed);
            if typed.blocking_send(answer).is_err() {
                return;
            }
            continue;
        }
        let input = match read {
            Ok(line) => {
                remember(editor, history, &line);
                Input::Line(line)
            }
            Err(ReadlineError::Interrupted) => Input::Interrupt,
            Err(ReadlineError::Signal(_)) => continue,
            // A closed terminal reads like Ctrl-D, but it is no terminal any more.
            Err(_) if !stdin().is_terminal() => Input::TerminalClosed,
            Err(_) => Input::End,
        };
        let ended = matches!(input, Input::End | Input::TerminalClosed);
        if typed.blocking_send(input).is_err() || ended {
            return;
        }
    }
}

/// The answer that a key began. The text of one that needs it is a line of its own; without it nothing
/// is answered.
fn answer(editor: &mut Editor<(), FileHistory>, pressed: Pressed) -> Input {
    let text = match pressed.key.text {
        None => Some(String::new()),
        Some(prompt) => {
            let line = editor.readline(prompt).ok();
            line.filter(|line| !line.trim().is_empty())
        }
    };
    Input::Answer { pressed, text }
}

/// Keeps a line for the next time. Without a history the lead works all the same.
fn remember(editor: &mut Editor<(), FileHistory>, history: Option<&Path>, line: &str) {
    let added = !line.trim().is_empty() && editor.add_history_entry(line).unwrap_or(false);
    if let (Some(path), true) = (history, added) {
        let _ = editor.append_history(path);
    }
}

fn prepare(path: &Path) {
    if let Some(folder) = path.parent() {
        let mut builder = std::fs::DirBuilder::new();
        let _ = builder.recursive(true).mode(0o700).create(folder);
    }
}
