//! Taking a terminal over, and giving it back as it was, whatever happens.

use crate::screen::Screen;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use std::io::{self, Stdout, stdout};
use std::panic;
use std::sync::Once;
use std::thread;

/// A terminal that is ours. Dropping this gives it back.
#[derive(Debug)]
pub struct FullScreen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl FullScreen {
    /// Takes the terminal of this process over.
    pub fn enter() -> io::Result<Self> {
        restore_on_panic();
        enable_raw_mode()?;
        let entered = execute!(stdout(), EnterAlternateScreen)
            .and_then(|()| Terminal::new(CrosstermBackend::new(stdout())));
        match entered {
            Ok(terminal) => Ok(Self { terminal }),
            Err(error) => {
                restore();
                Err(error)
            }
        }
    }

    /// Shows the state. Only what has changed is written.
    pub fn draw(&mut self, screen: &Screen) -> io::Result<()> {
        self.terminal.draw(|frame| screen.draw(frame)).map(|_| ())
    }

    /// Forgets what was drawn, so that everything is drawn anew.
    pub(super) fn clear(&mut self) -> io::Result<()> {
        self.terminal.clear()
    }
}

impl Drop for FullScreen {
    fn drop(&mut self) {
        restore();
    }
}

/// Gives the terminal back. Harmless if it was not taken.
fn restore() {
    // Nothing can be done if this fails: the terminal is gone.
    let _ = execute!(stdout(), LeaveAlternateScreen, Show);
    let _ = disable_raw_mode();
}

/// From now on a panic of this thread gives the terminal back before it says anything, so that
/// what it says can be read.
fn restore_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let ours = thread::current().id();
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if thread::current().id() == ours {
                restore();
            }
            before(info);
        }));
    });
}
