//! Colours of text for people at a terminal.

use clap::builder::styling::Style;

/// Whether and how text is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Colour {
    On,
    Off,
}

impl Colour {
    /// As the user's environment says. Only for a terminal.
    pub(crate) fn of_environment() -> Self {
        let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        match is_set("NO_COLOR") || is_dumb {
            true => Self::Off,
            false => Self::On,
        }
    }

    pub(crate) fn paint(self, style: Style, text: &str) -> String {
        match self {
            Self::On => format!("{style}{text}{style:#}"),
            Self::Off => text.to_owned(),
        }
    }
}
