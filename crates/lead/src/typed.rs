//! Parses what a person types.

/// A parsed line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Typed {
    /// Nothing.
    Blank,
    /// The person wants to leave.
    Leave,
    /// A command to the program.
    Command(Command),
    /// Text in the form of a command that does not exist or is not complete, and what is wrong with it.
    Wrong(String),
    /// A query for the lead.
    Query(String),
}

/// A command to the program itself. None of them asks the model, but for `/compact`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Show(Shown),
    /// Makes the conversation shorter.
    Compact,
    /// Begins a new conversation.
    Clear,
    /// Asks another model from now on.
    UseModel(String),
    /// A verb of the program, with its arguments.
    Verb(Vec<String>),
}

/// What the lead's own process shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// Who is in the team, and in which state.
    Team,
    /// The lead's mail that the model has not seen.
    Inbox,
    /// The board.
    Tasks,
    /// What waits for an answer.
    Requests,
    /// What the models have used.
    Costs,
    /// The model of the lead.
    Model,
    /// What can be typed.
    Help,
}

/// What stands behind a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Argument {
    Member,
    /// A request that waits for the person, or the member that it is from.
    Request,
    Submission,
    Model,
}

/// A command as it is typed.
pub(crate) struct Slash {
    pub(crate) word: &'static str,
    pub(crate) arguments: &'static str,
    /// What the first word behind it is, for completion.
    pub(crate) first: Option<Argument>,
    pub(crate) meaning: &'static str,
    parse: fn(&str) -> Option<Command>,
}

/// All commands, in the order of the help.
pub(crate) const COMMANDS: [Slash; 16] = [
    Slash {
        word: "/team",
        arguments: "",
        first: None,
        meaning: "who is in the team, and in which state",
        parse: |rest| alone(rest, Shown::Team),
    },
    Slash {
        word: "/inbox",
        arguments: "",
        first: None,
        meaning: "mail for the lead that it has not read yet",
        parse: |rest| alone(rest, Shown::Inbox),
    },
    Slash {
        word: "/tasks",
        arguments: "",
        first: None,
        meaning: "the board",
        parse: |rest| alone(rest, Shown::Tasks),
    },
    Slash {
        word: "/requests",
        arguments: "",
        first: None,
        meaning: "what waits for an answer: plans, permissions, questions, shutdowns",
        parse: |rest| alone(rest, Shown::Requests),
    },
    Slash {
        word: "/approve",
        arguments: "ID|NAME [TEXT]",
        first: Some(Argument::Request),
        meaning: "allow a plan or a tool call",
        parse: |rest| {
            let (which, text) = one_and_text(rest)?;
            let feedback = text.map(|text| format!("--feedback={text}"));
            Some(verb(&["approve", which], feedback))
        },
    },
    Slash {
        word: "/reject",
        arguments: "ID|NAME TEXT",
        first: Some(Argument::Request),
        meaning: "refuse a plan or a tool call, and say why",
        parse: |rest| {
            let (which, text) = one_and_text(rest)?;
            Some(verb(
                &["reject", which],
                Some(format!("--feedback={}", text?)),
            ))
        },
    },
    Slash {
        word: "/answer",
        arguments: "ID|NAME TEXT",
        first: Some(Argument::Request),
        meaning: "answer a question of a member",
        parse: |rest| {
            let (which, text) = one_and_text(rest)?;
            Some(verb(&["answer", which], Some(text?.to_owned())))
        },
    },
    Slash {
        word: "/send",
        arguments: "NAME TEXT",
        first: Some(Argument::Member),
        meaning: "send a message to a member",
        parse: |rest| {
            let (name, text) = one_and_text(rest)?;
            Some(verb(&["send", name], Some(text?.to_owned())))
        },
    },
    Slash {
        word: "/logs",
        arguments: "NAME",
        first: Some(Argument::Member),
        meaning: "the last lines of a member's log",
        parse: |rest| Some(verb(&["logs", only(rest)?], None)),
    },
    Slash {
        word: "/diff",
        arguments: "[NAME]",
        first: Some(Argument::Member),
        meaning: "what members have changed in their own trees",
        parse: |rest| optional("diff", rest),
    },
    Slash {
        word: "/submissions",
        arguments: "[ID]",
        first: Some(Argument::Submission),
        meaning: "work that was submitted, and what became of it",
        parse: |rest| optional("submissions", rest),
    },
    Slash {
        word: "/costs",
        arguments: "",
        first: None,
        meaning: "what each member has used of its model",
        parse: |rest| alone(rest, Shown::Costs),
    },
    Slash {
        word: "/model",
        arguments: "[MODEL]",
        first: Some(Argument::Model),
        meaning: "the lead's model, or another one from now on",
        parse: |rest| match rest {
            "" => alone(rest, Shown::Model),
            rest => Some(Command::UseModel(only(rest)?.to_owned())),
        },
    },
    Slash {
        word: "/compact",
        arguments: "",
        first: None,
        meaning: "make the lead's conversation shorter now",
        parse: |rest| rest.is_empty().then_some(Command::Compact),
    },
    Slash {
        word: "/clear",
        arguments: "",
        first: None,
        meaning: "begin a new conversation; `team-lead sessions` has the old one",
        parse: |rest| rest.is_empty().then_some(Command::Clear),
    },
    Slash {
        word: "/help",
        arguments: "",
        first: None,
        meaning: "this text",
        parse: |rest| alone(rest, Shown::Help),
    },
];

fn alone(rest: &str, shown: Shown) -> Option<Command> {
    rest.is_empty().then_some(Command::Show(shown))
}

fn verb(words: &[&str], last: Option<String>) -> Command {
    let words = words.iter().map(|word| (*word).to_owned());
    Command::Verb(words.chain(last).collect())
}

/// A verb with at most one name or id.
fn optional(name: &str, rest: &str) -> Option<Command> {
    match rest {
        "" => Some(verb(&[name], None)),
        rest => Some(verb(&[name, only(rest)?], None)),
    }
}

/// The only word of a text. A name or an id never begins as an option does.
fn only(rest: &str) -> Option<&str> {
    let is_word = !rest.is_empty() && !rest.contains(char::is_whitespace);
    (is_word && !rest.starts_with('-')).then_some(rest)
}

/// A name or an id, and the text behind it. A dash alone would read from standard input.
fn one_and_text(rest: &str) -> Option<(&str, Option<&str>)> {
    let (word, text) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let text = Some(text.trim()).filter(|text| !text.is_empty() && *text != "-");
    Some((only(word)?, text))
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
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        // A path such as /etc/hosts begins a query.
        let is_query = match word.strip_prefix('/') {
            None => true,
            Some(name) => name.contains(|char: char| !char.is_alphanumeric() && char != '-'),
        };
        if is_query {
            return Self::Query(line.to_owned());
        }
        let mut known = COMMANDS.iter();
        let Some(slash) = known.find(|slash| slash.word.eq_ignore_ascii_case(word)) else {
            return Self::Wrong(unknown(word));
        };
        match (slash.parse)(rest.trim()) {
            Some(command) => Self::Command(command),
            None if slash.arguments.is_empty() => {
                Self::Wrong(format!("{} takes no arguments.", slash.word))
            }
            None => Self::Wrong(format!("Type {} {}.", slash.word, slash.arguments)),
        }
    }
}

/// What to say to a command that does not exist.
fn unknown(word: &str) -> String {
    let known: Vec<&str> = COMMANDS.iter().map(|slash| slash.word).collect();
    format!(
        "There is no command {word}. There are {}; q or exit leaves.",
        known.join(" ")
    )
}

/// The text of `/help`.
pub(crate) fn help() -> String {
    let mut lines = vec![
        "Type what the lead should do. What is typed while it works is in its next request."
            .to_owned(),
    ];
    for slash in &COMMANDS {
        let typed = format!("{} {}", slash.word, slash.arguments);
        lines.push(format!("  {typed:<25} {}", slash.meaning));
    }
    for (key, meaning) in [
        (
            "Tab",
            "completes a command and its argument, and a member or a file behind @",
        ),
        ("Alt-Enter, or \\ and Enter", "begins a new line"),
        ("Ctrl-O", "shows the last tool call in full"),
        ("Esc, or Ctrl-C once", "interrupts the lead's turn"),
        ("Ctrl-C", "leaves; a second time ends everything at once"),
        (
            "q, exit, Ctrl-D",
            "leave; the team is shut down unless --keep was given",
        ),
    ] {
        lines.push(format!("  {key:<25} {meaning}"));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verb_of(line: &str) -> Vec<String> {
        match Typed::parse(line) {
            Typed::Command(Command::Verb(words)) => words,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn lines_are_told_apart() {
        assert_eq!(Typed::parse("  \t"), Typed::Blank);
        for line in ["q", " exit ", "EXIT", "quit", "/q"] {
            assert_eq!(Typed::parse(line), Typed::Leave, "{line}");
        }
        for (line, command) in [
            (" /team ", Command::Show(Shown::Team)),
            ("/TASKS", Command::Show(Shown::Tasks)),
            ("/compact", Command::Compact),
            ("/clear", Command::Clear),
            ("/model", Command::Show(Shown::Model)),
            ("/model offline", Command::UseModel("offline".to_owned())),
        ] {
            assert_eq!(Typed::parse(line), Typed::Command(command));
        }
        for line in ["/etc/hosts has a bad line", "hello", "quit the job", "//x"] {
            assert_eq!(Typed::parse(line), Typed::Query(line.to_owned()));
        }
    }

    #[test]
    fn commands_with_arguments_are_verbs_of_the_program() {
        assert_eq!(
            verb_of("/send alice  do this\nand that"),
            ["send", "alice", "do this\nand that"]
        );
        assert_eq!(verb_of("/approve 1a2b3c4d"), ["approve", "1a2b3c4d"]);
        assert_eq!(
            verb_of("/approve alice but --fast"),
            ["approve", "alice", "--feedback=but --fast"]
        );
        assert_eq!(
            verb_of("/reject alice no"),
            ["reject", "alice", "--feedback=no"]
        );
        assert_eq!(verb_of("/answer alice 8080"), ["answer", "alice", "8080"]);
        assert_eq!(verb_of("/logs alice"), ["logs", "alice"]);
        assert_eq!(verb_of("/diff"), ["diff"]);
        assert_eq!(verb_of("/submissions 3"), ["submissions", "3"]);
    }

    #[test]
    fn what_looks_like_a_command_never_becomes_a_query() {
        for line in [
            "/",
            "/teams",
            "/tema now",
            "/team now",
            "/send alice",
            "/send alice -",
            "/reject alice",
            "/answer",
            "/logs",
            "/logs alice bob",
            "/logs --follow",
            "/diff a b",
            "/model a b",
        ] {
            let typed = Typed::parse(line);
            assert!(matches!(typed, Typed::Wrong(_)), "{line}: {typed:?}");
        }
        let wrong = Typed::Wrong("Type /send NAME TEXT.".to_owned());
        assert_eq!(Typed::parse("/send bob"), wrong);
    }

    #[test]
    fn help_and_errors_name_every_command() {
        let (help, error) = (help(), unknown("/x"));
        for slash in &COMMANDS {
            assert!(help.contains(slash.word), "{help}");
            assert!(error.contains(slash.word), "{error}");
        }
    }
}
