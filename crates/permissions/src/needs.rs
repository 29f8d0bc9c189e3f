//! Splits a call into its parts, each of which must pass.

use std::path::PathBuf;

use crate::call::Call;
use crate::path_pattern::{Folders, absolute};
use crate::shell::{self, Script, SimpleCommand, Word};

/// A call, split into its parts.
#[derive(Clone, Debug)]
pub(crate) struct Needs<'a> {
    pub(crate) call: Call<'a>,
    pub(crate) folders: Folders<'a>,
    pub(crate) parts: Vec<Part>,
    /// Whether its script could not be read, so that it may do anything.
    pub(crate) is_unreadable: bool,
}

/// Something that a call does.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    /// Runs a command.
    Command(SimpleCommand),
    /// Gives a command the network.
    Network(SimpleCommand),
    /// Reads or writes a file.
    File(FilePart),
    /// Calls a tool about which nothing more is known.
    Tool,
}

/// A file that a call uses.
#[derive(Clone, Debug)]
pub(crate) struct FilePart {
    pub(crate) access: Access,
    /// Its absolute path, if it is known.
    pub(crate) path: Option<PathBuf>,
}

/// How a file is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Edit,
    Write,
}

impl<'a> Needs<'a> {
    pub(crate) fn of(call: &Call<'a>, folders: Folders<'a>) -> Self {
        let mut needs = Self {
            call: *call,
            folders,
            parts: Vec::new(),
            is_unreadable: false,
        };
        if let Some(command) = call.command() {
            needs.add_script(command);
        } else {
            needs.add_tool();
        }
        if needs.parts.is_empty() {
            needs.parts.push(Part::Tool);
        }
        needs
    }

    fn add_script(&mut self, command: &str) {
        let script = shell::read(command).unwrap_or_else(|_| {
            self.is_unreadable = true;
            Script::unknown(command)
        });
        for command in script.commands {
            if self.call.needs_network() {
                self.parts.push(Part::Network(command.clone()));
            }
            self.parts.push(Part::Command(command));
        }
        for file in script.files {
            let is_known = |path: &String| path.starts_with('/') || !script.moves;
            let path = file.path.filter(is_known);
            let path = path.map(|path| absolute(&path, self.folders));
            if path.as_ref().is_some_and(|path| is_device(path)) {
                continue;
            }
            let access = if file.writes {
                Access::Write
            } else {
                Access::Read
            };
            self.parts.push(Part::File(FilePart { access, path }));
        }
    }

    fn add_tool(&mut self) {
        let access = match self.call.tool {
            "read_file" | "grep" | "glob" | "list_dir" => Access::Read,
            "edit_file" => Access::Edit,
            "write_file" => Access::Write,
            _ => return,
        };
        let path = self.call.text("path").unwrap_or(".");
        let path = Some(absolute(path, self.folders));
        self.parts.push(Part::File(FilePart { access, path }));
    }
}

/// Whether a path is a device, which holds nobody's data.
fn is_device(path: &std::path::Path) -> bool {
    let names = [
        "/dev/null",
        "/dev/stdin",
        "/dev/stdout",
        "/dev/stderr",
        "/dev/tty",
        "/dev/zero",
    ];
    names.iter().any(|name| path == std::path::Path::new(name)) || path.starts_with("/dev/fd")
}

impl Part {
    /// Its source, if it is a part of a script.
    pub(crate) fn text(&self) -> Option<String> {
        match self {
            Self::Command(command) | Self::Network(command) => Some(command.text.clone()),
            Self::File(file) => file.path.as_ref().map(|path| path.display().to_string()),
            Self::Tool => None,
        }
    }
}

impl SimpleCommand {
    /// The words that an allow rule must match. Assignments that can change what the command does are among
    /// them.
    pub(crate) fn words_to_cover(&self) -> Vec<Word> {
        let assignments = self.assignments.iter().filter(|word| !is_harmless(word));
        assignments.chain(&self.words).cloned().collect()
    }

    /// The known arguments that may name paths.
    pub(crate) fn argument_paths(&self, folders: Folders<'_>) -> Vec<PathBuf> {
        let words = self.words.iter().skip(1).filter_map(Word::text);
        let values = words.filter_map(|word| match word.split_once('=') {
            Some((name, value)) if name.starts_with('-') || name == "of" || name == "if" => {
                Some(value.to_owned())
            }
            Some(_) | None => (!word.starts_with('-')).then_some(word),
        });
        values.map(|value| absolute(&value, folders)).collect()
    }
}

/// Whether an assignment only changes what a program prints.
fn is_harmless(assignment: &Word) -> bool {
    let start = assignment.known_start();
    let name = start.split('=').next().unwrap_or_default();
    let names = [
        "CI",
        "CLICOLOR",
        "COLUMNS",
        "DEBUG",
        "FORCE_COLOR",
        "LANG",
        "LINES",
        "NO_COLOR",
        "NODE_ENV",
        "RUST_BACKTRACE",
        "RUST_LOG",
        "TERM",
        "TZ",
    ];
    start.contains('=') && (names.contains(&name) || name.starts_with("LC_"))
}
