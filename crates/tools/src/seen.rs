//! What an agent last saw of the files that it works on.
//!
//! A file is replaced only if it is as the agent last read or wrote it, so that nobody's change is
//! lost unnoticed: not that of a colleague, a person or a command. The contents are compared, because a
//! time of change can stay the same. All of this is in memory: after a restart nothing counts as seen,
//! and a file has to be read again before it is overwritten.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use crate::changes::{ChangedBy, Changes};
use crate::edit::{LARGEST, diff};
use crate::tool::ToolError;
use crate::truncate::{Pieces, first_chars, truncate};
use crate::workspace::{OpenFile, Version};

/// The most files that are remembered.
const MOST_FILES: usize = 4_096;
/// The largest file whose text is kept to show what changed.
const LARGEST_KEPT: usize = 256 * 1024;
/// The most bytes that these texts have together.
const MOST_KEPT: usize = 16 * 1024 * 1024;
/// The most commands that are remembered.
const MOST_COMMANDS: usize = 32;
/// The maximum number of characters of the shown difference.
const DIFF_LIMIT: usize = 2_000;

/// What one agent last saw of each file. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct SeenFiles {
    state: Arc<Mutex<State>>,
    /// What others have changed, where several agents work in the workspace.
    changes: Option<Arc<dyn Changes>>,
}

#[derive(Debug, Default)]
struct State {
    /// By their real location, relative to the workspace.
    files: HashMap<PathBuf, Seen>,
    /// The same locations, the one seen longest ago first.
    order: VecDeque<PathBuf>,
    /// The bytes of all kept texts.
    kept: usize,
    commands: VecDeque<OwnCommand>,
    /// Its keys are random, so that no file can be made to look like another.
    hasher: RandomState,
}

#[derive(Debug)]
struct Seen {
    state: FileState,
    text: Option<Vec<u8>>,
}

/// What is compared to find out whether a file has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileState {
    Content {
        bytes: u64,
        hash: u64,
    },
    /// Of a file that is too large to be read whole.
    Large(Version),
}

/// A command of the agent itself, by which it may have changed files.
#[derive(Debug)]
struct OwnCommand {
    command: String,
    started: SystemTime,
    ended: SystemTime,
}

/// A file at one moment.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) location: PathBuf,
    pub(crate) version: Version,
    /// `None` if it is too large.
    pub(crate) content: Option<Vec<u8>>,
}

impl Snapshot {
    /// Reads an open file whole, unless it is too large.
    pub(crate) fn read(opened: &mut OpenFile) -> std::io::Result<Self> {
        let mut content = Vec::new();
        if opened.size <= LARGEST {
            (&mut opened.file)
                .take(LARGEST + 1)
                .read_to_end(&mut content)?;
        }
        let fits = opened.size <= LARGEST && content.len() as u64 <= LARGEST;
        Ok(Self {
            location: opened.location.clone(),
            version: opened.version,
            content: fits.then_some(content),
        })
    }
}

impl SeenFiles {
    /// Remembers a file as the agent sees it now.
    pub(crate) fn saw(&self, snapshot: &Snapshot) {
        let mut state = self.lock();
        let file_state = state.file_state(snapshot);
        state.put(&snapshot.location, file_state, snapshot.content.as_deref());
    }

    /// Nothing is seen yet. `changes` says who has changed a file.
    pub fn shared_with(changes: Arc<dyn Changes>) -> Self {
        Self {
            changes: Some(changes),
            ..Self::default()
        }
    }

    /// Remembers what the agent wrote.
    pub(crate) fn wrote(&self, location: &Path, content: &[u8]) {
        let mut state = self.lock();
        let file_state = state.content_state(content);
        state.put(location, file_state, Some(content));
        drop(state);
        if let Some(changes) = &self.changes {
            changes.record(location);
        }
    }

    /// Remembers a command that the agent ran.
    pub(crate) fn ran(&self, command: &str, started: SystemTime) {
        let mut state = self.lock();
        if state.commands.len() >= MOST_COMMANDS {
            state.commands.pop_front();
        }
        state.commands.push_back(OwnCommand {
            command: first_chars(command, 80).replace('\n', " "),
            started,
            ended: SystemTime::now(),
        });
    }

    /// Whether the agent has seen the file, in any version.
    pub(crate) fn has(&self, location: &Path) -> bool {
        self.lock().files.contains_key(location)
    }

    /// Refuses a file that is not as the agent last saw it. A file that it never saw passes.
    pub(crate) fn must_be_same(&self, now: &Snapshot, path: &str) -> Result<(), ToolError> {
        let state = self.lock();
        let Some(seen) = state.files.get(&now.location) else {
            return Ok(());
        };
        if seen.state == state.file_state(now) {
            return Ok(());
        }
        let modified = now.version.modified();
        let changes = self.changes.as_ref();
        let others = changes.and_then(|changes| changes.find(&now.location, modified));
        let by = changed_by(others, state.command_at(modified));
        let what = what_changed(seen, now);
        Err(ToolError::new(format!(
            "{path} has changed since you last read or wrote it{by}, so it was left as it is. {what}\n\
             Read it again with read_file before you change it."
        )))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No panic under the lock leaves an inconsistent state.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn content_state(&self, content: &[u8]) -> FileState {
        FileState::Content {
            bytes: content.len() as u64,
            hash: self.hasher.hash_one(content),
        }
    }

    fn file_state(&self, snapshot: &Snapshot) -> FileState {
        match &snapshot.content {
            Some(content) => self.content_state(content),
            None => FileState::Large(snapshot.version),
        }
    }

    fn put(&mut self, location: &Path, state: FileState, content: Option<&[u8]>) {
        self.forget(location);
        while self.files.len() >= MOST_FILES
            && let Some(oldest) = self.order.front().cloned()
        {
            self.forget(&oldest);
        }
        let text = content.filter(|content| content.len() <= LARGEST_KEPT);
        let text = text.map(<[u8]>::to_vec);
        self.kept += text.as_ref().map_or(0, Vec::len);
        self.files.insert(location.to_owned(), Seen { state, text });
        self.order.push_back(location.to_owned());
        self.drop_texts();
    }

    fn forget(&mut self, location: &Path) {
        if let Some(seen) = self.files.remove(location) {
            self.kept -= seen.text.map_or(0, |text| text.len());
            self.order.retain(|other| other != location);
        }
    }

    /// Drops the texts of the files that were seen longest ago, until the others fit.
    fn drop_texts(&mut self) {
        for location in &self.order {
            if self.kept <= MOST_KEPT {
                return;
            }
            let seen = self.files.get_mut(location);
            if let Some(text) = seen.and_then(|seen| seen.text.take()) {
                self.kept -= text.len();
            }
        }
    }

    /// The command of the agent itself that ran at this time.
    fn command_at(&self, time: SystemTime) -> Option<&str> {
        let mut commands = self.commands.iter().rev();
        let own = commands.find(|own| (own.started..=own.ended).contains(&time));
        own.map(|own| own.command.as_str())
    }
}

/// What is known about who changed a file, for the model. That a file tool wrote it is certain; what ran at the
/// same time is a guess.
fn changed_by(others: Option<ChangedBy>, own_command: Option<&str>) -> String {
    match (others, own_command) {
        (Some(ChangedBy::FileTool(name)), _) => format!(" ({name} changed it with a file tool)"),
        (_, Some(command)) => format!(" (while your command `{command}` ran)"),
        (Some(ChangedBy::Command(names)), None) => match names.as_slice() {
            [name] => format!(" (while a command of {name} ran)"),
            names => format!(" (while commands of {} ran)", names.join(" and ")),
        },
        (None, None) => String::new(),
    }
}

/// The difference between what was seen and what is there, as far as it is known.
fn what_changed(seen: &Seen, now: &Snapshot) -> String {
    if let (Some(old), Some(new)) = (&seen.text, &now.content)
        && new.len() <= LARGEST_KEPT
    {
        let diff = diff(old, new);
        let diff = truncate(&Pieces::whole(&diff), DIFF_LIMIT, None);
        return format!("What changed meanwhile:\n{diff}");
    }
    match seen.state {
        FileState::Content { bytes, .. } => {
            format!("It had {bytes} bytes and has {} now.", now.version.size())
        }
        FileState::Large(_) => format!("It has {} bytes now.", now.version.size()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Workspace;
    use std::fs;

    fn snapshot(workspace: &Workspace, path: &str) -> Snapshot {
        Snapshot::read(&mut workspace.open_file(path).unwrap()).unwrap()
    }

    /// The time of change and the size may be the same.
    #[test]
    fn the_content_decides() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(folder.path(), []).unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "one").unwrap();
        let modified = fs::metadata(&path).unwrap().modified().unwrap();
        let seen = SeenFiles::default();
        seen.saw(&snapshot(&workspace, "file"));
        let write = |text: &str| {
            fs::write(&path, text).unwrap();
            let file = fs::File::options().write(true).open(&path).unwrap();
            file.set_modified(modified).unwrap();
        };
        write("two");
        let changed = snapshot(&workspace, "file");
        let refused = seen.must_be_same(&changed, "file").unwrap_err();
        assert!(refused.to_string().contains("-one\n+two"), "{refused}");
        write("one");
        seen.must_be_same(&snapshot(&workspace, "file"), "file")
            .unwrap();
    }

    #[test]
    fn memory_is_bounded_and_what_is_forgotten_counts_as_unseen() {
        let seen = SeenFiles::default();
        for number in 0..=MOST_FILES {
            seen.wrote(Path::new(&number.to_string()), b"x");
        }
        assert!(!seen.has(Path::new("0")));
        assert!(seen.has(Path::new("1")));
        let large = vec![b'x'; LARGEST_KEPT];
        for number in 0..100 {
            seen.wrote(Path::new(&number.to_string()), &large);
        }
        let state = seen.lock();
        assert!(state.kept <= MOST_KEPT, "{}", state.kept);
        let texts = state.files.values().filter_map(|seen| seen.text.as_ref());
        assert_eq!(texts.map(Vec::len).sum::<usize>(), state.kept);
        assert_eq!(state.files.len(), state.order.len());
    }
}
