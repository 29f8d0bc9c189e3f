//! Programs that start other programs.

use super::lexer::Word;
use super::script::is_assignment;

/// What a program starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Inner {
    /// A program with its arguments.
    Program(Vec<Word>),
    /// A text for a shell.
    Script(String),
}

const SHELLS: &[&str] = &["bash", "sh", "dash", "zsh", "ksh", "ash", "fish"];

/// A program that starts the one in its arguments.
struct Wrapper {
    program: &'static str,
    /// The options that are followed by a value.
    with_value: &'static str,
    /// How many words stand between its options and the program.
    operands: usize,
}

const fn wrapper(program: &'static str, with_value: &'static str, operands: usize) -> Wrapper {
    Wrapper {
        program,
        with_value,
        operands,
    }
}

const WRAPPERS: &[Wrapper] = &[
    wrapper("nohup", "", 0),
    wrapper("setsid", "", 0),
    wrapper("time", "fo", 0),
    wrapper("builtin", "", 0),
    wrapper("exec", "a", 0),
    wrapper("nice", "n", 0),
    wrapper("ionice", "cnp", 0),
    wrapper("chrt", "T", 1),
    wrapper("timeout", "sk", 1),
    wrapper("stdbuf", "ioe", 0),
    wrapper("unbuffer", "", 0),
    wrapper("chroot", "", 1),
    wrapper("unshare", "", 0),
    wrapper("nsenter", "tSGr", 0),
    wrapper("xargs", "InPLdasE", 0),
    wrapper("strace", "eopsu", 0),
    wrapper("busybox", "", 0),
    wrapper("toybox", "", 0),
    wrapper("sudo", "ughpCRTD", 0),
    wrapper("doas", "uC", 0),
    wrapper("systemd-run", "pu", 0),
];

/// Whether the program reads the commands it runs from its input.
pub(super) fn reads_script(program: &str, arguments: &[Word]) -> bool {
    if !SHELLS.contains(&program) {
        return false;
    }
    let mut texts = arguments.iter().map(|word| word.text.as_str());
    texts.all(|text| text.starts_with(['-', '+'])) || texts.any(|text| text == "-s")
}

/// What the program starts.
pub(super) fn inner(program: &str, arguments: &[Word]) -> Vec<Inner> {
    match program {
        "env" => env(arguments),
        "command" => {
            let asks = arguments
                .first()
                .is_some_and(|word| word.text.starts_with('-') && word.text.contains(['v', 'V']));
            let rest = after_options(arguments, "");
            if asks { Vec::new() } else { as_program(rest) }
        }
        "eval" => as_script(arguments),
        "watch" => as_script(after_options(arguments, "n")),
        "parallel" => as_script(after_options(arguments, "jIN")),
        "trap" => {
            let script = after_options(arguments, "").first();
            script
                .map(|word| Inner::Script(word.text.clone()))
                .into_iter()
                .collect()
        }
        "find" => find(arguments),
        shell if SHELLS.contains(&shell) || shell == "su" => script_of_shell(arguments),
        other => {
            let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.program == other) else {
                return Vec::new();
            };
            let rest = after_options(arguments, wrapper.with_value);
            as_program(rest.get(wrapper.operands..).unwrap_or_default())
        }
    }
}

fn as_program(words: &[Word]) -> Vec<Inner> {
    if words.is_empty() {
        return Vec::new();
    }
    vec![Inner::Program(words.to_vec())]
}

/// For programs that join their arguments and give them to a shell.
fn as_script(words: &[Word]) -> Vec<Inner> {
    let words: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    vec![Inner::Script(words.join(" "))]
}

/// The words after the options. An option that ends with a character of `with_value` takes the next
/// word with it.
fn after_options<'a>(words: &'a [Word], with_value: &str) -> &'a [Word] {
    let mut rest = words;
    while let Some((first, after)) = rest.split_first() {
        let text = first.text.as_str();
        if text == "--" {
            return after;
        }
        if !text.starts_with('-') || text == "-" {
            break;
        }
        let takes_value = !text.starts_with("--") && text.ends_with(|c| with_value.contains(c));
        rest = match after {
            [_, after @ ..] if takes_value => after,
            after => after,
        };
    }
    rest
}

/// `bash -c 'text'`, also with other options in the same word.
fn script_of_shell(arguments: &[Word]) -> Vec<Inner> {
    let is_command_option = |word: &Word| {
        let text = word.text.as_str();
        text == "--command"
            || (text.starts_with('-') && !text.starts_with("--") && text.contains('c'))
    };
    let Some(at) = arguments.iter().position(is_command_option) else {
        return Vec::new();
    };
    let rest = arguments.get(at + 1..).unwrap_or_default();
    let script = after_options(rest, "oO").first();
    script
        .map(|word| Inner::Script(word.text.clone()))
        .into_iter()
        .collect()
}

fn env(arguments: &[Word]) -> Vec<Inner> {
    let split = arguments
        .iter()
        .position(|word| word.text.starts_with("-S") || word.text.starts_with("--split-string"));
    if let Some(at) = split {
        let words = arguments.iter().skip(at).map(|word| word.text.as_str());
        let text = words.collect::<Vec<_>>().join(" ");
        let text = text
            .trim_start_matches("-S")
            .trim_start_matches("--split-string");
        return vec![Inner::Script(text.trim_start_matches('=').to_owned())];
    }
    let mut rest = after_options(arguments, "uC");
    while let Some((first, after)) = rest.split_first() {
        if first.text != "-" && !is_assignment(first) {
            break;
        }
        rest = after_options(after, "uC");
    }
    as_program(rest)
}

/// The programs after `-exec` and its like. `find`'s own starting points come last among their
/// arguments, because they say what the program works on.
fn find(arguments: &[Word]) -> Vec<Inner> {
    let starts = arguments
        .iter()
        .take_while(|word| !word.text.starts_with(['-', '(', '!']));
    let starts: Vec<Word> = starts.cloned().collect();
    let mut found = Vec::new();
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        if !["-exec", "-execdir", "-ok", "-okdir"].contains(&word.text.as_str()) {
            continue;
        }
        let program = rest
            .by_ref()
            .take_while(|word| word.text != ";" && word.text != "+");
        let words: Vec<Word> = program.cloned().chain(starts.iter().cloned()).collect();
        found.push(Inner::Program(words));
    }
    found
}
