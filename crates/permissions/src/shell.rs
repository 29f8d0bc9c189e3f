//! The commands and files of a shell script.
//!
//! [`read`] finds every simple command, wherever it stands: behind `&&`, in a substitution, a loop, a
//! here-document, behind `env` or in the text of `sh -c`. Nothing is guessed. A kind of node that is not
//! listed here, a piece of the source that belongs to no node, or a piece that bash would read in another
//! way makes the whole script unreadable.

mod check;
mod collect;
mod word;
mod wrappers;

pub(crate) use word::{Symbol, Word};

use collect::Collector;

/// The longest script that is read.
const LONGEST: usize = 256 * 1024;
/// How deep scripts may be nested, as in `sh -c 'sh -c ls'`.
const DEEPEST: usize = 8;

/// What a script does, as far as its text tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Script {
    pub(crate) commands: Vec<SimpleCommand>,
    pub(crate) files: Vec<FileUse>,
    /// Whether it changes its folder, so that relative paths may lead anywhere.
    pub(crate) moves: bool,
}

/// One command: a program with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SimpleCommand {
    /// The variables that it is given, such as `PATH=.`.
    pub(crate) assignments: Vec<Word>,
    pub(crate) words: Vec<Word>,
    /// Its source, to show.
    pub(crate) text: String,
    /// Whether it only runs another command that is listed too, as `timeout` does.
    pub(crate) is_wrapper: bool,
}

/// A file that a redirection opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileUse {
    pub(crate) writes: bool,
    /// Its path, if it is known.
    pub(crate) path: Option<String>,
}

/// The script has something whose meaning is not certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unreadable;

impl Script {
    /// A script of which nothing is known: it may run any command.
    pub(crate) fn unknown(text: &str) -> Self {
        Self {
            commands: vec![SimpleCommand::unknown(text)],
            files: vec![FileUse::unknown(false), FileUse::unknown(true)],
            moves: true,
        }
    }
}

impl FileUse {
    fn unknown(writes: bool) -> Self {
        Self { writes, path: None }
    }
}

impl SimpleCommand {
    pub(crate) fn unknown(text: &str) -> Self {
        Self {
            assignments: Vec::new(),
            words: vec![Word::unknown()],
            text: text.to_owned(),
            is_wrapper: false,
        }
    }

    /// The name of its program, if it is known.
    pub(crate) fn program(&self) -> Option<String> {
        self.words.first().and_then(Word::text)
    }
}

/// Reads a script.
pub(crate) fn read(source: &str) -> Result<Script, Unreadable> {
    let mut script = Script::default();
    read_into(source, 0, &mut script)?;
    Ok(script)
}

fn read_into(source: &str, depth: usize, script: &mut Script) -> Result<(), Unreadable> {
    if source.len() > LONGEST || depth > DEEPEST || has_control_characters(source) {
        return Err(Unreadable);
    }
    let mut parser = tree_sitter::Parser::new();
    let language = tree_sitter_bash::LANGUAGE.into();
    parser.set_language(&language).map_err(|_| Unreadable)?;
    let tree = parser.parse(source, None).ok_or(Unreadable)?;
    if tree.root_node().has_error() {
        return Err(Unreadable);
    }
    let mut collector = Collector::new(source);
    collector.collect(tree.root_node())?;
    for command in collector.commands {
        wrappers::add(command, depth, script)?;
    }
    script.files.extend(collector.files);
    Ok(())
}

/// Shells treat control characters other than tab and newline as parts of words, and a person does not see
/// them.
fn has_control_characters(source: &str) -> bool {
    let mut characters = source.chars();
    characters.any(|character| character.is_control() && !matches!(character, '\t' | '\n'))
}
