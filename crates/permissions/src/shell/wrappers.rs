//! Commands that run other commands: `env`, `timeout`, `xargs`, `find -exec`, `sh -c` and the like.

mod table;

use super::check::hides_command;
use super::{DEEPEST, Script, SimpleCommand, Unreadable, Word, read_into};
use table::{EVALUATING, OPAQUE, RESERVED, SHELLS, WRAPPERS, Wrapper};

/// What a command runs besides itself.
enum Inner {
    Nothing,
    /// Another command, and whether the outer one needs no rule of its own.
    Command {
        command: SimpleCommand,
        is_free: bool,
    },
    /// Commands in the arguments of one that needs a rule itself.
    Commands(Vec<SimpleCommand>),
    /// A script.
    Text(String),
    Unknown,
}

/// Adds a command to a script, with all that it runs.
pub(super) fn add(
    command: SimpleCommand,
    depth: usize,
    script: &mut Script,
) -> Result<(), Unreadable> {
    // Commands inside of commands are followed in a loop, which needs no stack. The depth is limited,
    // because each level of `env env env ...` repeats all words after it.
    let mut open = vec![(command, 0)];
    while let Some((mut command, level)) = open.pop() {
        if level > DEEPEST {
            return Err(Unreadable);
        }
        let Some(program) = command.program() else {
            if !command.words.is_empty() {
                script.commands.push(command);
            }
            continue;
        };
        if RESERVED.contains(&program.as_str()) {
            return Err(Unreadable);
        }
        script.moves |= matches!(program.as_str(), "cd" | "pushd" | "popd");
        let text = command.text.clone();
        match inner(&command, &program) {
            Inner::Nothing => {}
            Inner::Command {
                command: inside,
                is_free,
            } => {
                command.is_wrapper = is_free;
                open.push((inside, level + 1));
            }
            Inner::Commands(inside) => {
                open.extend(inside.into_iter().map(|inside| (inside, level + 1)));
            }
            Inner::Text(text) => {
                command.is_wrapper = true;
                read_into(&text, depth + 1, script)?;
            }
            Inner::Unknown => script.commands.push(SimpleCommand::unknown(&text)),
        }
        script.commands.push(command);
    }
    Ok(())
}

fn inner(command: &SimpleCommand, program: &str) -> Inner {
    let base = program.rsplit('/').next().unwrap_or(program);
    let is_system = base == program
        || ["/bin/", "/usr/bin/"]
            .iter()
            .any(|folder| program.strip_prefix(folder) == Some(base));
    if let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.name == base) {
        let inside = unwrap(command, wrapper);
        return match inside {
            Inner::Command { command, is_free } => Inner::Command {
                command,
                is_free: is_free && is_system,
            },
            Inner::Nothing | Inner::Commands(_) | Inner::Text(_) | Inner::Unknown => inside,
        };
    }
    let arguments = command.words.get(1..).unwrap_or_default();
    match base {
        "find" => find_commands(command),
        "eval" => match arguments
            .iter()
            .map(Word::text)
            .collect::<Option<Vec<String>>>()
        {
            Some(words) => Inner::Text(words.join(" ")),
            None => Inner::Unknown,
        },
        "trap" => match arguments.first().map(Word::text) {
            None => Inner::Nothing,
            Some(Some(action)) if action.is_empty() || action.starts_with('-') => Inner::Nothing,
            Some(Some(action)) => Inner::Text(action),
            Some(None) => Inner::Unknown,
        },
        _ if SHELLS.contains(&base) && is_system => shell_script(arguments),
        _ if SHELLS.contains(&base) || OPAQUE.contains(&base) => Inner::Unknown,
        _ if EVALUATING.contains(&base) => {
            let hides = |word: &Word| word.text().is_none_or(|text| hides_command(&text));
            let indexes = |word: &Word| word.known_start().contains('[');
            if arguments.iter().any(|word| indexes(word) && hides(word)) {
                Inner::Unknown
            } else {
                Inner::Nothing
            }
        }
        _ => Inner::Nothing,
    }
}

/// The command in the arguments of a wrapper.
fn unwrap(command: &SimpleCommand, wrapper: &Wrapper) -> Inner {
    let mut assignments = command.assignments.clone();
    let mut words = command.words.iter().skip(1).peekable();
    while let Some(word) = words.peek() {
        let start = word.known_start();
        if wrapper.name != "env" && (start == "-" || !start.starts_with('-')) {
            break;
        }
        if start.starts_with('-') {
            let Some(option) = word.text() else {
                return Inner::Unknown;
            };
            words.next();
            if option == "--" {
                break;
            }
            match option_kind(&option, wrapper) {
                OptionKind::Flag => {}
                OptionKind::Valued => {
                    words.next();
                }
                OptionKind::Unknown => return Inner::Unknown,
            }
        } else if is_assignment(&start) {
            assignments.push((*word).clone());
            words.next();
        } else {
            break;
        }
    }
    let assigns = matches!(wrapper.name, "env" | "sudo");
    let mut rest: Vec<Word> = words.skip(wrapper.operands).cloned().collect();
    while assigns
        && rest
            .first()
            .is_some_and(|word| is_assignment(&word.known_start()))
    {
        assignments.push(rest.remove(0));
    }
    if rest.is_empty() {
        return Inner::Nothing;
    }
    if wrapper.name == "xargs" {
        rest.push(Word::unknown());
        // With -I any word may be replaced.
        if command.words.iter().any(|word| {
            word.known_start().starts_with("-I") || word.known_start().starts_with("--replace")
        }) {
            rest = rest.into_iter().take(1).chain([Word::unknown()]).collect();
        }
    }
    let command = SimpleCommand {
        assignments,
        words: rest,
        text: command.text.clone(),
        is_wrapper: false,
    };
    Inner::Command {
        command,
        is_free: wrapper.is_free,
    }
}

enum OptionKind {
    Flag,
    Valued,
    Unknown,
}

fn option_kind(option: &str, wrapper: &Wrapper) -> OptionKind {
    if wrapper.flags.contains(&option) {
        return OptionKind::Flag;
    }
    if wrapper.valued.contains(&option) {
        return OptionKind::Valued;
    }
    let is_attached = wrapper.valued.iter().any(|valued| {
        let rest = option.strip_prefix(valued);
        rest.is_some_and(|rest| !valued.starts_with("--") || rest.starts_with('='))
    });
    let is_number = option.len() > 1 && option.chars().skip(1).all(|digit| digit.is_ascii_digit());
    if is_attached || (is_number && wrapper.name == "nice") {
        return OptionKind::Flag;
    }
    OptionKind::Unknown
}

fn is_assignment(start: &str) -> bool {
    start.split_once('=').is_some_and(|(name, _)| {
        let is_sign = |sign: char| sign.is_ascii_alphanumeric() || sign == '_';
        !name.is_empty() && name.chars().all(is_sign)
    })
}

/// The commands of `-exec`, `-ok` and similar options. The `find` itself is a separate command.
fn find_commands(command: &SimpleCommand) -> Inner {
    let mut inside = Vec::new();
    let mut words = command.words.iter().skip(1);
    while let Some(word) = words.next() {
        let Some(text) = word.text() else { continue };
        if !matches!(text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir") {
            continue;
        }
        let mut found = Vec::new();
        loop {
            let Some(word) = words.next() else {
                return Inner::Unknown;
            };
            match word.text().as_deref() {
                Some(";") => break,
                Some("+") if found.last() == Some(&Word::unknown()) => break,
                Some(text) if text.contains("{}") => found.push(Word::unknown()),
                Some(_) | None => found.push(word.clone()),
            }
        }
        inside.push(SimpleCommand {
            assignments: command.assignments.clone(),
            words: found,
            text: command.text.clone(),
            is_wrapper: false,
        });
    }
    if inside.is_empty() {
        Inner::Nothing
    } else {
        Inner::Commands(inside)
    }
}

/// What a shell runs: the text of `-c`, a file, or its standard input.
fn shell_script(arguments: &[Word]) -> Inner {
    let mut takes_text = false;
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let Some(text) = word.text() else {
            return Inner::Unknown;
        };
        if !text.starts_with(['-', '+']) {
            return if takes_text {
                Inner::Text(text)
            } else {
                Inner::Nothing
            };
        }
        match text.as_str() {
            "--" | "--login" | "--norc" | "--noprofile" | "--posix" => {}
            "--version" | "--help" => return Inner::Nothing,
            "-o" | "+o" | "-O" | "+O" => {
                words.next();
            }
            _ if text.starts_with("--") => return Inner::Unknown,
            short
                if short
                    .chars()
                    .skip(1)
                    .all(|flag| "abcefhklmnprtuvxBCEHP".contains(flag)) =>
            {
                takes_text |= short.starts_with('-') && short.contains('c');
            }
            _ => return Inner::Unknown,
        }
    }
    Inner::Unknown
}
