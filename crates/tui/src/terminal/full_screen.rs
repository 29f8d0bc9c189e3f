//! Enters full-screen mode and restores the terminal, even after a panic.

use crate::screen::Screen;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{DisableMouseCapture, EnableMouseCapture};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use std::io::{self, Stdout, stdout};
use std::panic;
use std::sync::Once;
use std::thread;

/// A terminal in full-screen mode. Dropping this restores it.
#[derive(Debug)]
pub struct FullScreen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl FullScreen {
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

    /// Draws the state. Only changed cells are written.
    pub fn draw(&mut self, screen: &Screen) -> io::Result<()> {
        self.terminal.draw(|frame| screen.draw(frame)).map(|_| ())
    }

    /// The width and the height of the terminal.
    pub(super) fn size(&self) -> io::Result<(u16, u16)> {
        let size = self.terminal.size()?;
        Ok((size.width, size.height))
    }

    /// Asks the terminal to report what the mouse does, or to keep that for its own selection of text.
    pub(super) fn use_mouse(&mut self, is_used: bool) -> io::Result<()> {
        match is_used {
            true => execute!(stdout(), EnableMouseCapture),
            false => execute!(stdout(), DisableMouseCapture),
        }
    }

    /// Clears the terminal, so that the next drawing is complete.
    pub(super) fn clear(&mut self) -> io::Result<()> {
        self.terminal.clear()
    }
}

impl Drop for FullScreen {
    fn drop(&mut self) {
        restore();
    }
}

/// Restores the terminal. Does nothing if it was not changed.
fn restore() {
    // Nothing can be done if this fails: the terminal is gone.
    let _ = execute!(stdout(), DisableMouseCapture, LeaveAlternateScreen, Show);
    let _ = disable_raw_mode();
}

/// From now on a panic of this thread restores the terminal before it prints its message.
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
