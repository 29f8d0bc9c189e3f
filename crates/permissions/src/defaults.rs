//! Commands that only read. They need no rule, even without a sandbox.

use crate::path_pattern::{Folders, absolute};
use crate::shell::{SimpleCommand, Word};

/// A program that only reads, unless it has one of these options.
struct Reader {
    name: &'static str,
    /// The beginnings of options with which it does more than read.
    except: &'static [&'static str],
}

const fn reader(name: &'static str, except: &'static [&'static str]) -> Reader {
    Reader { name, except }
}

const READERS: &[Reader] = &[
    reader(":", &[]),
    reader("basename", &[]),
    reader("cat", &[]),
    reader("cmp", &[]),
    reader("comm", &[]),
    reader("cut", &[]),
    reader("date", &["-s", "--s", "-f", "--f"]),
    reader("df", &[]),
    reader("diff", &[]),
    reader("dirname", &[]),
    reader("du", &[]),
    reader("echo", &[]),
    reader("egrep", &[]),
    reader("exit", &[]),
    reader("expr", &[]),
    reader("false", &[]),
    reader("fgrep", &[]),
    reader(
        "find",
        &["-delete", "-exec", "-fls", "-fprint", "-ok", "-files0-from"],
    ),
    reader("grep", &[]),
    reader("head", &[]),
    reader("hexdump", &[]),
    reader("id", &[]),
    reader("ls", &[]),
    reader("md5sum", &[]),
    reader("nl", &[]),
    reader("od", &[]),
    reader("printf", &["-v"]),
    reader("pwd", &[]),
    reader("readlink", &[]),
    reader("realpath", &[]),
    reader("rg", &["--pre", "--hostname-bin", "--search-zip", "-z"]),
    reader("seq", &[]),
    reader("sha256sum", &[]),
    reader("sleep", &[]),
    reader("sort", &["-o", "--o", "--compress", "-T", "--temp"]),
    reader("stat", &[]),
    reader("tac", &[]),
    reader("tail", &[]),
    reader("test", &[]),
    reader("tr", &[]),
    reader("true", &[]),
    reader("type", &[]),
    reader("uname", &[]),
    reader("wc", &[]),
    reader("which", &[]),
    reader("whoami", &[]),
    reader("[", &[]),
];

const GIT_READERS: &[&str] = &[
    "blame",
    "diff",
    "log",
    "ls-files",
    "rev-parse",
    "shortlog",
    "show",
    "status",
];
const GIT_EXCEPT: &[&str] = &[
    "--output",
    "--ext-diff",
    "--textconv",
    "-O",
    "--no-index",
    "--contents",
];

/// Commands that change or remove the files that they are given.
const WRITERS: &[&str] = &[
    "chmod", "chown", "cp", "dd", "install", "ln", "mkdir", "mv", "rm", "rmdir", "sed", "shred",
    "tee", "touch", "truncate", "unlink",
];

/// Whether a command only reads inside the workspace.
pub(crate) fn only_reads(command: &SimpleCommand, folders: Folders<'_>) -> bool {
    let words: Option<Vec<String>> = command.words.iter().map(Word::text).collect();
    let Some(words) = words else {
        return is_saying(command);
    };
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let has_variables = !command.words_to_cover().starts_with(&command.words);
    let stays = words.iter().skip(1).all(|word| stays_inside(word, folders));
    if has_variables || !stays {
        return false;
    }
    let has_none_of = |rest: &[&str], except: &[&str]| {
        let is_free = |word: &&str| !except.iter().any(|start| word.starts_with(start));
        rest.iter().all(is_free)
    };
    match words.as_slice() {
        ["cd", folder] => !folder.starts_with('-'),
        ["git", verb, rest @ ..] if GIT_READERS.contains(verb) => has_none_of(rest, GIT_EXCEPT),
        [name, rest @ ..] => {
            let reader = READERS.iter().find(|reader| reader.name == *name);
            reader.is_some_and(|reader| has_none_of(rest, reader.except))
        }
        [] => true,
    }
}

/// Whether a command only prints its arguments, whatever they are.
fn is_saying(command: &SimpleCommand) -> bool {
    let is_plain = command.assignments.is_empty();
    is_plain
        && command
            .program()
            .is_some_and(|name| name == "echo" || name == "test" || name == "[")
}

fn stays_inside(word: &str, folders: Folders<'_>) -> bool {
    let value = word.split_once('=').map_or(word, |(_, value)| value);
    [word, value]
        .iter()
        .all(|path| absolute(path, folders).starts_with(folders.workspace))
}

pub(crate) fn writes_arguments(command: &SimpleCommand) -> bool {
    let name = command.program().unwrap_or_default();
    let base = name.rsplit('/').next().unwrap_or_default();
    WRITERS.contains(&base)
}
