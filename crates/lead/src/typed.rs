//! Parses what a person types.

use std::fmt;

/// A parsed line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Typed {
    /// Nothing.
    Blank,
    /// The person wants to leave.
    Leave,
    /// A command to the program.
    Command(Command),
    /// Text in the form of a command that does not exist.
    Unknown(String),
    /// A query for the lead.
    Query(String),
}

/// A command to the program itself. None of them asks the model, but for `/compact`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// Who is in the team, and in which state.
    Team,
    /// The lead's mail that the model has not seen.
    Inbox,
    /// The board.
    Tasks,
    /// What waits for an answer.
    Requests,
    /// Makes the conversation shorter.
    Compact,
    /// What the models have used.
    Costs,
    /// What can be typed.
    Help,
}

impl Command {
    /// All of them, in the order of the help.
    pub(crate) const ALL: [Self; 7] = [
        Self::Team,
        Self::Inbox,
        Self::Tasks,
        Self::Requests,
        Self::Compact,
        Self::Costs,
        Self::Help,
    ];

    /// How it is typed.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Team => "/team",
            Self::Inbox => "/inbox",
            Self::Tasks => "/tasks",
            Self::Requests => "/requests",
            Self::Compact => "/compact",
            Self::Costs => "/costs",
            Self::Help => "/help",
        }
    }

    const fn meaning(self) -> &'static str {
        match self {
            Self::Team => "who is in the team, and in which state",
            Self::Inbox => "mail for the lead that it has not read yet",
            Self::Tasks => "the board",
            Self::Requests => "plans and shutdowns that wait for an answer",
            Self::Compact => "make the lead's conversation shorter now",
            Self::Costs => "what each member has used of its model",
            Self::Help => "this text",
        }
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl Typed {
    /// Reads a line.
    pub(crate) fn parse(line: &str) -> Self {
        let line = line.trim();
        match line.to_lowercase().as_str() {
            "" => return Self::Blank,
            "q" | "exit" | "quit" | "/q" | "/exit" | "/quit" => return Self::Leave,
            _ => {}
        }
        // A path such as /etc/hosts begins a query.
        let looks_like_one = line.strip_prefix('/').is_some_and(|rest| {
            !rest.is_empty()
                && rest
                    .chars()
                    .all(|char| char.is_alphanumeric() || char == '-')
        });
        if !looks_like_one {
            return Self::Query(line.to_owned());
        }
        let mut known = Command::ALL.into_iter();
        match known.find(|command| command.word().eq_ignore_ascii_case(line)) {
            Some(command) => Self::Command(command),
            None => Self::Unknown(line.to_owned()),
        }
    }
}

/// What to say to a command that does not exist.
pub(crate) fn unknown(line: &str) -> String {
    let known: Vec<&str> = Command::ALL.iter().map(|command| command.word()).collect();
    format!(
        "There is no command {line}. There are {}; q or exit leaves.",
        known.join(" ")
    )
}

/// The text of `/help`.
pub(crate) fn help() -> String {
    let mut lines = vec!["Type what the lead should do. It may also be typed ahead.".to_owned()];
    for command in Command::ALL {
        lines.push(format!("  {:<10} {}", command.word(), command.meaning()));
    }
    lines.push("  q, exit    leave; the team is shut down unless --keep was given".to_owned());
    lines.push("  Ctrl-C     the same; a second time ends everything at once".to_owned());
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_told_apart() {
        assert_eq!(Typed::parse("  \t"), Typed::Blank);
        for line in ["q", " exit ", "EXIT", "quit"] {
            assert_eq!(Typed::parse(line), Typed::Leave, "{line}");
        }
        for command in Command::ALL {
            let typed = Typed::parse(&format!(" {command} "));
            assert_eq!(typed, Typed::Command(command));
        }
        assert_eq!(Typed::parse("/teams"), Typed::Unknown("/teams".to_owned()));
        for line in ["/etc/hosts has a bad line", "hello", "quit the job", "/"] {
            assert_eq!(Typed::parse(line), Typed::Query(line.to_owned()));
        }
    }

    #[test]
    fn help_and_errors_name_every_command() {
        let (help, error) = (help(), unknown("/x"));
        for command in Command::ALL {
            assert!(help.contains(command.word()), "{help}");
            assert!(error.contains(command.word()), "{error}");
        }
    }
}
