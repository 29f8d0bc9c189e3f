//! The full-screen view at a real terminal: keys, files, processes and signals in, a picture out.
//!
//! One thread waits in one `poll` for everything there is to wait for: the keyboard, the files of the
//! team, the ends of its processes, the ends of commands, and signals. Between two of these nothing
//! runs, but for a look at the clock every few seconds.

mod commands;
mod full_screen;
mod signals;
mod sources;
mod tail;

pub use full_screen::FullScreen;

use crate::look::look;
use crate::screen::{Effect, Input, Key, Screen};
use commands::Commands;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use signals::Signals;
use sources::{Sources, Told, Wake};
use std::io;
use std::path::PathBuf;
use std::time::Duration;
use teamdir::{PathError, TeamDir, now};

/// How the view is used.
#[derive(Debug, Clone)]
pub struct WatchOptions {
    /// Whether words may be coloured.
    pub colors: bool,
    /// The program that commands are given to.
    pub program: PathBuf,
}

/// Why the view was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// By its key.
    ByKey,
    /// With Ctrl-C.
    Interrupted,
    /// Because of this signal. The terminal is as it was.
    Signal(i32),
}

/// Why there is no view.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The terminal cannot be used.
    #[error("cannot use the terminal: {0}")]
    Terminal(#[from] io::Error),
    /// The files cannot be followed.
    #[error(transparent)]
    File(#[from] PathError),
}

/// Shows the team until somebody leaves. Standard input and output must be a terminal, which is as
/// it was when this returns.
pub fn watch(team: &TeamDir, options: &WatchOptions) -> Result<Left, WatchError> {
    let signals = Signals::listen()?;
    let mut view = View {
        screen: Screen::new(options.colors),
        team,
        sources: Sources::new(team)?,
        commands: Commands::new(team, &options.program)?,
        signals,
    };
    let mut terminal = FullScreen::enter()?;
    view.repair_and_look()?;
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
    fn run(&mut self, terminal: &mut FullScreen) -> Result<Left, WatchError> {
        loop {
            self.screen.handle(Input::Tick(now()));
            terminal.draw(&self.screen)?;
            let wake = self.sources.wait(&self.signals, &self.commands)?;
            if let Some(signal) = self.signals.fatal() {
                return Ok(Left::Signal(signal));
            }
            let Wake {
                keyboard,
                files,
                deaths,
            } = wake;
            for (ok, words) in self.commands.ended() {
                self.screen.handle(Input::Done { ok, words });
            }
            if deaths {
                self.repair_and_look()?;
            } else if files {
                self.look()?;
            }
            if keyboard && let Some(left) = self.read_keys(terminal)? {
                return Ok(left);
            }
        }
    }

    /// Whoever looks at a team sets right what the dead left behind.
    fn repair_and_look(&mut self) -> Result<(), WatchError> {
        let _ = processes::repair(self.team);
        self.look()
    }

    fn look(&mut self) -> Result<(), WatchError> {
        // Asked for before looking, so that nothing falls between.
        self.sources.ask(self.team);
        let picture = look(self.team);
        self.sources.attend(self.team, &picture);
        let effects = self.screen.handle(Input::Look(Box::new(picture)));
        self.obey(effects);
        let flow = self.sources.flow()?;
        self.screen.handle(Input::Flow(flow));
        self.show_news();
        Ok(())
    }

    /// Shows what has come of whatever is followed.
    fn show_news(&mut self) {
        let Told {
            is_anew,
            lines,
            running,
        } = self.sources.told();
        if is_anew {
            self.screen.handle(Input::Anew);
        }
        if !lines.is_empty() {
            self.screen.handle(Input::Log(lines));
        }
        self.screen.handle(Input::Running(running));
    }

    /// Does what the screen asks for. Returns whether to leave.
    fn obey(&mut self, effects: Vec<Effect>) -> bool {
        for effect in effects {
            match effect {
                Effect::Quit => return true,
                Effect::Run(words) => {
                    let doing = format!("{} ...", words.join(" "));
                    let words = match self.commands.start(words) {
                        Ok(()) => Input::Done {
                            ok: true,
                            words: doing,
                        },
                        Err(error) => Input::Done {
                            ok: false,
                            words: format!("cannot start the command: {error}"),
                        },
                    };
                    self.screen.handle(words);
                }
                Effect::Follow { member, pane } => {
                    self.sources.follow(self.team, member.as_ref(), pane);
                    self.show_news();
                }
            }
        }
        false
    }

    fn read_keys(&mut self, terminal: &mut FullScreen) -> io::Result<Option<Left>> {
        while event::poll(Duration::ZERO)? {
            let key = match event::read()? {
                Event::Key(key) => key,
                // The next drawing finds out how large the terminal is.
                Event::Resize(..)
                | Event::FocusGained
                | Event::FocusLost
                | Event::Mouse(_)
                | Event::Paste(_) => continue,
            };
            if key.kind == KeyEventKind::Release {
                continue;
            }
            match key_of(&key) {
                Pressed::Key(key) => {
                    let effects = self.screen.handle(Input::Key(key));
                    if self.obey(effects) {
                        return Ok(Some(Left::ByKey));
                    }
                }
                Pressed::Interrupt => return Ok(Some(Left::Interrupted)),
                Pressed::Redraw => terminal.clear()?,
                Pressed::Nothing => {}
            }
        }
        Ok(None)
    }
}

enum Pressed {
    Key(Key),
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
    Pressed::Key(match event.code {
        KeyCode::Char(c) => Key::Char(c),
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Escape,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Tab | KeyCode::BackTab => Key::Tab,
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        _ => return Pressed::Nothing,
    })
}
