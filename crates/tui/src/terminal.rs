//! The full-screen view on a real terminal.
//!
//! One thread waits in one `poll` for the keyboard, the files of the team, the ends of its processes and
//! of commands, and signals. While a clock is on the screen that counts, it also wakes up when that shows
//! something else, which is once a second at most.

mod commands;
mod full_screen;
mod signals;
mod sources;

pub use full_screen::FullScreen;

use crate::screen::{Effect, Input, Key, MouseInput, Screen};
use commands::Commands;
use overview::snapshot;
use ratatui::crossterm::event::{
    self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEvent,
    MouseEventKind,
};
use signals::Signals;
use sources::{FollowedLines, Sources, Wake};
use std::env::home_dir;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use teamdir::{PathError, TeamDir, now};
use terminal_text::below_home;

/// How long one more key is waited for. Without any time, crossterm does not look for one.
const KEY_WAIT: Duration = Duration::from_millis(1);
/// So many waits must end without a key before there is none. If this process is interrupted for as long as a
/// wait just when the wait begins, crossterm does not look, though it may have read further keys already; these
/// would stay there until somebody presses one more.
const KEY_LOOKS: u32 = 3;

/// The key that begins to use the mouse.
const USE_MOUSE: Key = Key::Char('M');

#[derive(Debug, Clone)]
pub struct WatchOptions {
    pub colors: bool,
    /// Whether the view uses the mouse from the start.
    pub mouse: bool,
    /// The program that runs commands.
    pub program: PathBuf,
}

/// Why the view ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// The user quit.
    Quit,
    /// Ctrl-C.
    Interrupted,
    /// A signal. The terminal is restored.
    Signal(i32),
}

/// Why the view failed.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    #[error("cannot use the terminal: {0}")]
    Terminal(#[from] io::Error),
    #[error(transparent)]
    File(#[from] PathError),
}

/// Shows the team until the user quits. Standard input and output must be a terminal, which is
/// restored when this returns.
pub fn watch(team: &TeamDir, options: &WatchOptions) -> Result<Exit, WatchError> {
    let signals = Signals::listen()?;
    let mut view = View {
        screen: Screen::new(options.colors),
        team,
        sources: Sources::new(team, options.colors)?,
        commands: Commands::new(team, &options.program)?,
        signals,
    };
    let mut terminal = FullScreen::enter()?;
    if options.mouse {
        let effects = view.screen.handle(Input::Key(USE_MOUSE));
        view.apply(&mut terminal, effects)?;
    }
    view.repair_and_update()?;
    view.run(&mut terminal)
}

struct View<'a> {
    screen: Screen,
    team: &'a TeamDir,
    sources: Sources,
    commands: Commands,
    signals: Signals,
}

impl View<'_> {
    fn run(&mut self, terminal: &mut FullScreen) -> Result<Exit, WatchError> {
        loop {
            let (width, height) = terminal.size()?;
            self.screen.handle(Input::Resize { width, height });
            self.screen.handle(Input::Tick(now()));
            terminal.draw(&self.screen)?;
            self.screen.handle(Input::Drawn);
            let tick = self.screen.next_tick();
            let wake = self.sources.wait(&self.signals, &self.commands, tick)?;
            if let Some(signal) = self.signals.fatal() {
                return Ok(Exit::Signal(signal));
            }
            let Wake {
                keyboard,
                files,
                deaths,
            } = wake;
            for (ok, output) in self.commands.finished() {
                self.screen.handle(Input::Done { ok, output });
            }
            if deaths {
                self.repair_and_update()?;
            } else if files {
                self.update()?;
            }
            if keyboard && let Some(exit) = self.read_keys(terminal)? {
                return Ok(exit);
            }
        }
    }

    /// Repairs what dead members left behind, as every command does.
    fn repair_and_update(&mut self) -> Result<(), WatchError> {
        let _ = processes::repair(self.team);
        self.update()
    }

    fn update(&mut self) -> Result<(), WatchError> {
        // Watch before reading, so that no change is missed.
        self.sources.watch_files(self.team);
        let mut snapshot = snapshot(self.team);
        snapshot.folder = below_home(Path::new(&snapshot.folder), home_dir().as_deref());
        self.sources.watch_processes(self.team, &snapshot);
        let effects = self.screen.handle(Input::Snapshot(Box::new(snapshot)));
        self.follow(effects);
        let events = self.sources.events()?;
        self.screen.handle(Input::Events(events));
        self.show_followed();
        Ok(())
    }

    /// Shows the new lines of the followed file.
    fn show_followed(&mut self) {
        let FollowedLines {
            is_new_file,
            lines,
            running,
        } = self.sources.followed_lines();
        if is_new_file {
            self.screen.handle(Input::Reset);
        }
        if !lines.is_empty() {
            self.screen.handle(Input::Lines(lines));
        }
        self.screen.handle(Input::Running(running));
    }

    /// Follows another member if the one that was followed is gone, which is all that a new snapshot asks
    /// for.
    fn follow(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            if let Effect::Follow { member, pane } = effect {
                self.sources.follow(self.team, member.as_ref(), pane);
            }
        }
    }

    /// Applies effects. Returns whether to quit.
    fn apply(&mut self, terminal: &mut FullScreen, effects: Vec<Effect>) -> io::Result<bool> {
        for effect in effects {
            match effect {
                Effect::Quit => return Ok(true),
                Effect::UseMouse(is_used) => {
                    terminal.use_mouse(is_used)?;
                    let output = match is_used {
                        true => "The mouse selects and scrolls; with Shift it marks text",
                        false => "The mouse is left to the terminal",
                    };
                    let output = output.to_owned();
                    self.screen.handle(Input::Done { ok: true, output });
                }
                Effect::Run(args) => {
                    let running = format!("{} ...", args.join(" "));
                    let (ok, output) = match self.commands.start(args) {
                        Ok(()) => (true, running),
                        Err(error) => (false, format!("cannot start the command: {error}")),
                    };
                    self.screen.handle(Input::Done { ok, output });
                }
                Effect::Follow { member, pane } => {
                    self.sources.follow(self.team, member.as_ref(), pane);
                    self.show_followed();
                }
            }
        }
        Ok(false)
    }

    fn read_keys(&mut self, terminal: &mut FullScreen) -> io::Result<Option<Exit>> {
        while is_key_there()? {
            let pressed = match event::read()? {
                Event::Key(key) if key.kind == KeyEventKind::Release => Pressed::Nothing,
                Event::Key(key) => key_of(&key),
                Event::Mouse(mouse) => mouse_of(&mouse),
                // The next drawing determines the new size.
                Event::Resize(..) | Event::FocusGained | Event::FocusLost | Event::Paste(_) => {
                    Pressed::Nothing
                }
            };
            match pressed {
                Pressed::Input(input) => {
                    let effects = self.screen.handle(input);
                    if self.apply(terminal, effects)? {
                        return Ok(Some(Exit::Quit));
                    }
                }
                Pressed::Interrupt => return Ok(Some(Exit::Interrupted)),
                Pressed::Redraw => terminal.clear()?,
                Pressed::Nothing => {}
            }
        }
        Ok(None)
    }
}

fn is_key_there() -> io::Result<bool> {
    for _ in 0..KEY_LOOKS {
        if event::poll(KEY_WAIT)? {
            return Ok(true);
        }
    }
    Ok(false)
}

enum Pressed {
    Input(Input),
    Interrupt,
    Redraw,
    Nothing,
}

fn key_of(event: &KeyEvent) -> Pressed {
    if event.modifiers.contains(KeyModifiers::CONTROL) {
        return match event.code {
            KeyCode::Char('c') => Pressed::Interrupt,
            KeyCode::Char('l') => Pressed::Redraw,
            _ => Pressed::Nothing,
        };
    }
    let key = match event.code {
        KeyCode::Char(c) => Key::Char(c),
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Escape,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Tab => Key::Tab,
        KeyCode::BackTab => Key::BackTab,
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        _ => return Pressed::Nothing,
    };
    Pressed::Input(Input::Key(key))
}

const fn mouse_of(event: &MouseEvent) -> Pressed {
    let MouseEvent { column, row, .. } = *event;
    let input = match event.kind {
        MouseEventKind::Down(MouseButton::Left) => MouseInput::Click { column, row },
        MouseEventKind::ScrollUp => MouseInput::WheelUp { column, row },
        MouseEventKind::ScrollDown => MouseInput::WheelDown { column, row },
        _ => return Pressed::Nothing,
    };
    Pressed::Input(Input::Mouse(input))
}
