//! What a new tree gets besides the files of its commit.

use crate::{Integration, IntegrationError, Purpose};
use command::{End, Finished, Save, SaveWhen, Spec};
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

/// How much of a command's output an error shows.
const SHOWN: usize = 4_000;

/// A command that people have set, in a tree.
pub(crate) struct Run<'a> {
    pub(crate) folder: &'a Path,
    pub(crate) command: &'a str,
    pub(crate) limit: Duration,
    /// The file for its output.
    pub(crate) output: &'a Path,
}

impl Integration {
    /// Copies, links and runs what is set for new trees.
    pub(crate) fn set_up(&self, tree: &Path) -> Result<(), IntegrationError> {
        for (names, is_link) in [(&self.settings.copy, false), (&self.settings.link, true)] {
            for name in names {
                self.bring(tree, name, is_link)?;
            }
        }
        let Some(command) = self.settings.setup.clone() else {
            return Ok(());
        };
        let output = tree.with_extension("setup.log");
        let finished = self.run_in(&Run {
            folder: tree,
            command: &command,
            limit: self.settings.setup_limit,
            output: &output,
        });
        let _ = fs::remove_file(&output);
        let finished = finished?;
        match finished.end {
            End::Exited(0) => Ok(()),
            _ => Err(IntegrationError::Setup {
                what: "the setup command",
                command,
                end: end_text(finished.end, self.settings.setup_limit),
                output: last_output(&finished, SHOWN),
            }),
        }
    }

    /// Copies or links a file or folder of the workspace. One that does not exist is left out, and one that
    /// the tree already has is kept.
    fn bring(&self, tree: &Path, name: &str, is_link: bool) -> Result<(), IntegrationError> {
        let relative = Path::new(name);
        let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_));
        let fault = |why| IntegrationError::SetupPath {
            path: name.to_owned(),
            why,
        };
        if name.is_empty() || !relative.components().all(is_plain) {
            return Err(fault("is not a path inside the workspace"));
        }
        let first = relative.components().next();
        let is_control =
            |part: Component<'_>| part.as_os_str() == ".git" || part.as_os_str() == teamdir::FOLDER;
        if first.is_some_and(is_control) {
            return Err(fault("is a control folder"));
        }
        let (from, to) = (self.team.workspace().join(relative), tree.join(relative));
        if from.symlink_metadata().is_err() || to.symlink_metadata().is_ok() {
            return Ok(());
        }
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder)
                .map_err(|error| IntegrationError::file("create", folder, error))?;
        }
        let done = match is_link {
            true => std::os::unix::fs::symlink(&from, &to),
            false => copy(&from, &to),
        };
        done.map_err(|error| IntegrationError::file("bring into a tree", from, error))
    }

    /// Runs a command that people have set to its end.
    fn run_in(&self, run: &Run<'_>) -> Result<Finished, IntegrationError> {
        let (send, receive) = mpsc::channel();
        let job = self.start_in(run, move |finished| {
            // The receiver lives as long as this function.
            let _ = send.send(finished);
        })?;
        let finished = receive.recv();
        drop(job);
        finished.map_err(|_| run.failed("it was lost"))
    }

    /// Starts a command that people have set, inside a sandbox.
    pub(crate) fn start_in(
        &self,
        run: &Run<'_>,
        done: impl FnOnce(Finished) + Send + 'static,
    ) -> Result<command::Job, IntegrationError> {
        let _ = fs::remove_file(run.output);
        let workspace = self.team.workspace();
        // The mark cannot be a member's, because no member's name begins with a dot.
        let mark = format!(
            "{}:.integration.{}.{}",
            workspace.display(),
            std::process::id(),
            run.folder.file_name().unwrap_or_default().to_string_lossy()
        );
        let save = Save::new(run.output, SaveWhen::Always);
        let mut spec = Spec::new(run.command, run.folder, &mark, save).with_limit(run.limit);
        spec.surroundings = self.surroundings(run.folder, Purpose::Run);
        command::start(&spec, done).map_err(|error| run.failed(error))
    }
}

impl Run<'_> {
    fn failed(&self, why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> IntegrationError {
        IntegrationError::file("run a command in", self.folder, io::Error::other(why))
    }
}

/// Copies a file, a folder or a link as it is.
fn copy(from: &Path, to: &PathBuf) -> io::Result<()> {
    let found = from.symlink_metadata()?;
    if found.is_symlink() {
        return std::os::unix::fs::symlink(fs::read_link(from)?, to);
    }
    if !found.is_dir() {
        // Copying a pipe or a device would wait.
        return match found.is_file() {
            true => fs::copy(from, to).map(drop),
            false => Ok(()),
        };
    }
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        copy(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}

/// How a command ended, for people and models.
pub(crate) fn end_text(end: End, limit: Duration) -> String {
    match end {
        End::Exited(code) => format!("ended with exit code {code}"),
        End::Signaled(signal) => format!("was killed by signal {signal}"),
        End::TimedOut => format!("did not end within {} s", limit.as_secs()),
        End::Cancelled | End::Lost => "was cut off".to_owned(),
    }
}

/// The end of a command's output.
pub(crate) fn last_output(finished: &Finished, most: usize) -> String {
    let output = &finished.output;
    let bytes = match output.tail.is_empty() {
        true => output.head.clone(),
        false => [output.head.as_slice(), &output.tail].concat(),
    };
    let start = bytes.len().saturating_sub(most);
    let text = String::from_utf8_lossy(bytes.get(start..).unwrap_or_default()).into_owned();
    text.trim().to_owned()
}
