//! Colours: each teammate has its own, the same in every run.

use highlight::Token;

const RESET: &str = "\u{1b}[0m";
/// Those that can be read on dark and on light ground. Red is left for errors.
const NAMES: [&str; 10] = [
    "\u{1b}[32m",
    "\u{1b}[33m",
    "\u{1b}[34m",
    "\u{1b}[35m",
    "\u{1b}[36m",
    "\u{1b}[92m",
    "\u{1b}[93m",
    "\u{1b}[94m",
    "\u{1b}[95m",
    "\u{1b}[96m",
];

/// Whether there are colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Colour {
    On,
    Off,
}

/// How a part of a line looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Style {
    #[default]
    Plain,
    /// Of less importance.
    Dim,
    Bold,
    Italic,
    Heading,
    /// Code, and the names of files and commands.
    Code,
    Link,
    /// A line that was added, or what went well.
    Added,
    /// A line that was removed, or what went wrong.
    Removed,
    /// What waits for the person.
    Attention,
    /// A part of a block of code.
    Token(Token),
}

impl Style {
    const fn code(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Dim => "\u{1b}[2m",
            Self::Bold => "\u{1b}[1m",
            Self::Italic => "\u{1b}[3m",
            Self::Heading => "\u{1b}[1;4m",
            Self::Code => "\u{1b}[36m",
            Self::Link => "\u{1b}[4m",
            Self::Added => "\u{1b}[32m",
            Self::Removed => "\u{1b}[31m",
            Self::Attention => "\u{1b}[1;33m",
            Self::Token(token) => match token {
                Token::Plain => "",
                Token::Keyword => "\u{1b}[35m",
                Token::String => "\u{1b}[32m",
                Token::Comment => "\u{1b}[2m",
                Token::Constant => "\u{1b}[36m",
                Token::Function => "\u{1b}[34m",
                Token::Type => "\u{1b}[33m",
            },
        }
    }
}

impl Colour {
    /// What the environment says about a stream. <https://no-color.org> asks for nothing but that
    /// the variable is not empty.
    pub(crate) fn choose(is_terminal: bool, no_color: Option<&str>, term: Option<&str>) -> Self {
        let unwanted = no_color.is_some_and(|value| !value.is_empty());
        if is_terminal && !unwanted && term != Some("dumb") {
            Self::On
        } else {
            Self::Off
        }
    }

    /// A name in its colour.
    pub(crate) fn name(self, name: &str) -> String {
        self.wrap(NAMES[place(name)], name)
    }

    /// Text of less importance.
    pub(crate) fn dim(self, text: &str) -> String {
        self.paint(Style::Dim, text)
    }

    /// Text that looks like this.
    pub(crate) fn paint(self, style: Style, text: &str) -> String {
        match style {
            Style::Plain | Style::Token(Token::Plain) => text.to_owned(),
            style => self.wrap(style.code(), text),
        }
    }

    fn wrap(self, code: &str, text: &str) -> String {
        match self {
            Self::On if !text.is_empty() => format!("{code}{text}{RESET}"),
            Self::On | Self::Off => text.to_owned(),
        }
    }
}

/// FNV-1a: the same in every process and version, which the hasher of the standard library is not.
fn place(name: &str) -> usize {
    let mut hash: u32 = 2_166_136_261;
    for byte in name.to_lowercase().bytes() {
        hash = (hash ^ u32::from(byte)).wrapping_mul(16_777_619);
    }
    usize::try_from(hash).unwrap_or_default() % NAMES.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_colour_for_ever() {
        assert_eq!(Colour::On.name("alice"), "\u{1b}[96malice\u{1b}[0m");
        assert_eq!(place("ALICE"), place("alice"));
        assert_ne!(place("alice"), place("bob"));
        assert_eq!(Colour::Off.name("alice"), "alice");
    }

    #[test]
    fn colours_are_for_terminals_whose_user_wants_them() {
        let choose = Colour::choose;
        assert_eq!(choose(true, None, Some("xterm")), Colour::On);
        assert_eq!(choose(true, Some(""), None), Colour::On);
        assert_eq!(choose(true, Some("1"), None), Colour::Off);
        assert_eq!(choose(true, None, Some("dumb")), Colour::Off);
        assert_eq!(choose(false, None, None), Colour::Off);
    }
}
