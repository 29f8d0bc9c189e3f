//! Runs git without the user's settings.

use crate::error::GitError;
use command::Pidfd;
use nix::unistd::Pid;
use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

/// How long a command on a person's repository may take. Checkouts of large repositories take minutes.
const LIMIT: Duration = Duration::from_secs(1800);
/// The most bytes of a command's output that are read.
const MOST_OUTPUT: u64 = 64 << 20;

/// The longest message of git that is kept, in characters.
const MOST_MESSAGE: usize = 4000;
/// What git says where a disk or a quota is full.
const NO_ROOM: [&str; 3] = [
    "No space left on device",
    "Disk quota exceeded",
    "Out of diskspace",
];
/// Settings that make little of a pack visible at once, for commands whose memory is limited.
const FRUGAL: [&str; 6] = [
    "-c",
    "core.packedGitWindowSize=16m",
    "-c",
    "core.packedGitLimit=256m",
    "-c",
    "pack.threads=1",
];

/// Settings that override the files: nothing is run, fetched, signed or maintained.
const SETTINGS: [&str; 15] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.attributesFile=/dev/null",
    "core.sshCommand=false",
    "core.quotePath=false",
    "core.filesRefLockTimeout=5000",
    "core.packedRefsTimeout=5000",
    "protocol.allow=never",
    "submodule.recurse=false",
    "commit.gpgSign=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "advice.detachedHead=false",
    "credential.helper=",
];

/// Variables that override the environment.
const VARIABLES: [(&str, &str); 9] = [
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_ALLOW_PROTOCOL", ""),
    ("LC_ALL", "C"),
];

/// A git command.
#[derive(Clone, Debug)]
pub(crate) struct Git {
    arguments: Vec<OsString>,
    variables: Vec<(OsString, OsString)>,
    folder: Option<PathBuf>,
    input: Vec<u8>,
    limit: Duration,
    most_output: u64,
}

/// What a command wrote, and how it ended.
#[derive(Debug)]
pub(crate) struct Output {
    /// `None` if a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    /// Whether it wrote as much as is read or more, which kills it.
    pub(crate) is_cut: bool,
    pub(crate) stderr: String,
}

impl Git {
    pub(crate) fn new<I: IntoIterator<Item: AsRef<OsStr>>>(arguments: I) -> Self {
        let arguments = arguments.into_iter();
        Self {
            arguments: arguments.map(|word| word.as_ref().to_owned()).collect(),
            variables: Vec::new(),
            folder: None,
            input: Vec::new(),
            limit: LIMIT,
            most_output: MOST_OUTPUT,
        }
    }

    /// A command that needs little memory.
    pub(crate) fn frugal<I: IntoIterator<Item: AsRef<OsStr>>>(arguments: I) -> Self {
        Self::new(FRUGAL).args(arguments)
    }

    #[must_use]
    pub(crate) fn arg(mut self, word: impl AsRef<OsStr>) -> Self {
        self.arguments.push(word.as_ref().to_owned());
        self
    }

    #[must_use]
    pub(crate) fn args<I: IntoIterator<Item: AsRef<OsStr>>>(mut self, words: I) -> Self {
        let words = words.into_iter();
        self.arguments
            .extend(words.map(|word| word.as_ref().to_owned()));
        self
    }

    #[must_use]
    pub(crate) fn variable(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.variables
            .push((name.into(), value.as_ref().to_owned()));
        self
    }

    #[must_use]
    pub(crate) fn folder(mut self, folder: &Path) -> Self {
        self.folder = Some(folder.to_owned());
        self
    }

    #[must_use]
    pub(crate) fn input(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.input = input.into();
        self
    }

    #[must_use]
    pub(crate) fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Reads at most this many bytes of its output.
    #[must_use]
    pub(crate) fn most_output(mut self, most: u64) -> Self {
        self.most_output = most;
        self
    }

    /// The subcommand, for errors.
    pub(crate) fn name(&self) -> String {
        let mut words = self.arguments.iter();
        let mut name = words.next();
        while name.is_some_and(|word| word == "-c") {
            name = words.nth(1);
        }
        name.map_or_else(String::new, |name| name.to_string_lossy().into_owned())
    }

    /// The whole command line behind `git`.
    pub(crate) fn words(&self) -> Vec<OsString> {
        let settings = SETTINGS.iter().flat_map(|setting| ["-c", setting]);
        let settings = settings.map(OsString::from);
        settings.chain(self.arguments.iter().cloned()).collect()
    }

    /// All variables of the command.
    pub(crate) fn environment(&self) -> Vec<(OsString, OsString)> {
        let fixed = VARIABLES.iter();
        let fixed = fixed.map(|(name, value)| (OsString::from(name), OsString::from(value)));
        fixed.chain(self.variables.iter().cloned()).collect()
    }

    /// Runs it outside of any sandbox.
    pub(crate) fn output(&self) -> Result<Output, GitError> {
        let mut command = Command::new("git");
        command.args(self.words()).env_clear();
        let kept = ["PATH", "HOME", "TMPDIR"];
        let kept = kept
            .iter()
            .filter_map(|name| Some((name, std::env::var_os(name)?)));
        command.envs(kept).envs(self.environment());
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        self.run(command)
    }

    /// Runs a prepared command with this one's input and limit.
    pub(crate) fn run(&self, mut command: Command) -> Result<Output, GitError> {
        command.stdin(Stdio::piped());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().map_err(|error| self.not_started(&error))?;
        self.finish(child)
    }

    /// The error of a command that did not start.
    pub(crate) fn not_started(&self, error: &io::Error) -> GitError {
        match error.kind() {
            io::ErrorKind::NotFound => GitError::NotInstalled,
            _ => GitError::NotStarted {
                command: self.name(),
                message: error.to_string(),
            },
        }
    }

    /// Waits for a child with pipes, and kills it when its time is up.
    pub(crate) fn finish(&self, mut child: Child) -> Result<Output, GitError> {
        let (input, stdin) = (self.input.clone(), child.stdin.take());
        // A child that does not read its input, or ends early, closes the pipe, and the write fails. Its
        // exit code tells the rest.
        let writer = thread::spawn(move || stdin.map(|mut pipe| pipe.write_all(&input)));
        let stdout = read_all(child.stdout.take(), self.most_output);
        let stderr = read_all(child.stderr.take(), MOST_OUTPUT);
        let status = self.wait(&mut child);
        let _ = writer.join();
        let stdout = stdout.join().unwrap_or_default();
        let stderr = stderr.join().unwrap_or_default();
        Ok(Output {
            code: status?.code(),
            is_cut: stdout.len() as u64 >= self.most_output,
            stdout,
            stderr: String::from_utf8_lossy(&stderr).trim().to_owned(),
        })
    }

    /// Waits for a child, and kills it when its time is up.
    pub(crate) fn wait(&self, child: &mut Child) -> Result<std::process::ExitStatus, GitError> {
        let failed = |error: io::Error| GitError::NotStarted {
            command: self.name(),
            message: error.to_string(),
        };
        // The child is not reaped yet, so its process id cannot belong to another process.
        let handle = Pidfd::open(Pid::from_raw(child.id().cast_signed()));
        let handle = handle.map_err(|error| failed(error.into()))?;
        let has_ended = handle.wait(self.limit);
        if !has_ended {
            let _ = child.kill();
        }
        let status = child.wait().map_err(failed)?;
        match has_ended {
            true => Ok(status),
            false => Err(GitError::TooLong {
                command: self.name(),
                limit: self.limit,
            }),
        }
    }

    /// Runs it, and returns what it wrote if it succeeded.
    pub(crate) fn success(&self) -> Result<Vec<u8>, GitError> {
        let output = self.output()?;
        self.check(output)
    }

    /// Returns what a command wrote, if it succeeded.
    pub(crate) fn check(&self, output: Output) -> Result<Vec<u8>, GitError> {
        match output.code {
            Some(0) => Ok(output.stdout),
            _ => Err(self.failure(&output)),
        }
    }

    /// The error of a command that failed.
    pub(crate) fn failure(&self, output: &Output) -> GitError {
        let command = self.name();
        let message: String = output.stderr.chars().take(MOST_MESSAGE).collect();
        let has_room = !NO_ROOM.iter().any(|sign| output.stderr.contains(sign));
        match output.code {
            _ if !has_room => GitError::NoRoom { command, message },
            _ if output.is_cut => GitError::TooMuchOutput {
                command,
                most: self.most_output,
            },
            None if message.is_empty() => GitError::Killed { command, message },
            None => GitError::Killed {
                command,
                message: format!(": {message}"),
            },
            Some(code) if message.is_empty() => GitError::Failed {
                command,
                message: format!("exit code {code}"),
            },
            Some(_) => GitError::Failed { command, message },
        }
    }

    /// Runs it, and returns its output without the last line break.
    pub(crate) fn line(&self) -> Result<String, GitError> {
        let bytes = self.success()?;
        let text = String::from_utf8(bytes);
        let text =
            text.map_err(|_| GitError::unexpected(&self.name(), "text that is not UTF-8"))?;
        Ok(text.trim_end_matches('\n').to_owned())
    }
}

fn read_all(pipe: Option<impl Read + Send + 'static>, most: u64) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(pipe) = pipe {
            // After an error, what was read so far is used.
            let _ = pipe.take(most).read_to_end(&mut bytes);
        }
        bytes
    })
}

/// The parts of an output between NUL bytes.
pub(crate) fn split(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let bytes = bytes.strip_suffix(&[0]).unwrap_or(bytes);
    let is_empty = bytes.is_empty();
    bytes.split(|byte| *byte == 0).filter(move |_| !is_empty)
}

/// A name for people, without line breaks or anything that a terminal acts on.
pub(crate) fn shown(name: &[u8]) -> String {
    let text = String::from_utf8_lossy(name);
    match text.chars().any(char::is_control) {
        true => format!("{text:?}"),
        false => text.into_owned(),
    }
}
