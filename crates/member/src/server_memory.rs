//! Stores what was learned from the refusals of model servers, for later processes.
//!
//! One small file for each address and model in the user's state folder, private to the user. It is replaced
//! whole, so that a kill leaves the old or the new one. It is a hint: without it, or with a damaged one,
//! the first refusals lead to the same again. Whoever can write it can change the form of requests, and
//! nothing else; after a week it no longer counts, because servers change.

use llm::{
    BoxFuture, CancellationToken, Event, EventSink, LearnedSettings, Model, ModelError, Reply,
    Request,
};
use nix::unistd::geteuid;
use safe_open::Links;
use serde::{Deserialize, Serialize};
use std::fs::{DirBuilder, File};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tracing::debug;

/// The folder of the files in the user's state folder.
const FOLDER: &str = "servers";
/// The largest file that is read.
const MAX_BYTES: u64 = 16 << 10;
/// How long a file counts.
const MAX_AGE: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The settings that were learned for one model at one address.
#[derive(Debug, Clone)]
pub(crate) struct ServerMemory {
    file: PathBuf,
    address: String,
    model: String,
}

/// The file. The address and the model tell people what it is about.
#[derive(Serialize, Deserialize)]
struct Stored {
    address: String,
    model: String,
    /// Seconds since 1970.
    learned_at: u64,
    learned: LearnedSettings,
}

impl ServerMemory {
    /// The memory in the program's folder for the user's state.
    pub(crate) fn new(state: &Path, address: &str, model: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        (address, model).hash(&mut hasher);
        let name = format!("{:016x}.json", hasher.finish());
        Self {
            file: state.join(FOLDER).join(name),
            address: address.to_owned(),
            model: model.to_owned(),
        }
    }

    /// What was learned within the last week.
    pub(crate) fn recall(&self, now: SystemTime) -> LearnedSettings {
        self.read(now).unwrap_or_default()
    }

    fn read(&self, now: SystemTime) -> Option<LearnedSettings> {
        let contents = safe_open::read(&self.file, Links::Follow, MAX_BYTES).ok()?;
        if contents.owner() != geteuid().as_raw() {
            return None;
        }
        let stored: Stored = serde_json::from_slice(&contents.bytes).ok()?;
        let learned_at = UNIX_EPOCH.checked_add(Duration::from_secs(stored.learned_at))?;
        let is_ours = stored.address == self.address && stored.model == self.model;
        let is_fresh = now
            .duration_since(learned_at)
            .is_ok_and(|age| age <= MAX_AGE);
        (is_ours && is_fresh).then(|| stored.learned.plausible())
    }

    /// Remembers what was learned now, beside what was learned before.
    pub(crate) fn keep(&self, learned: &LearnedSettings, now: SystemTime) -> io::Result<()> {
        let learned = self.recall(now).and(learned);
        let stored = Stored {
            address: self.address.clone(),
            model: self.model.clone(),
            learned_at: now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs(),
            learned,
        };
        let mut bytes = serde_json::to_vec_pretty(&stored)?;
        bytes.push(b'\n');
        let folder = self.file.parent().unwrap_or(&self.file);
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
        // A name of this process, so that two of them do not write one file.
        let new = self
            .file
            .with_extension(format!("{}.new", std::process::id()));
        let _ = std::fs::remove_file(&new);
        let replaced = replace(&new, &bytes, &self.file);
        if replaced.is_err() {
            let _ = std::fs::remove_file(&new);
        }
        replaced
    }
}

fn replace(new: &Path, bytes: &[u8], file: &Path) -> io::Result<()> {
    // Not synced: a file that a power cut damages is no loss.
    let mut written = File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(new)?;
    written.write_all(bytes)?;
    std::fs::rename(new, file)
}

/// A model whose server is remembered.
pub(crate) struct RememberedModel {
    pub(crate) inner: Arc<dyn Model>,
    pub(crate) memory: ServerMemory,
}

impl Model for RememberedModel {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn complete<'a>(
        &'a self,
        request: &'a Request,
        events: &'a mut EventSink<'_>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            let mut sink = |event| match event {
                Event::Learned(learned) => {
                    if let Err(error) = self.memory.keep(&learned, SystemTime::now()) {
                        debug!("cannot remember the server of {}: {error}", self.name());
                    }
                }
                event => events(event),
            };
            self.inner.complete(request, &mut sink, cancel).await
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use llm::OpenAiWire;
    use std::fs;

    fn learned() -> LearnedSettings {
        LearnedSettings {
            wire: Some(OpenAiWire::Responses),
            max_output: Some(4_096),
            ..LearnedSettings::default()
        }
    }

    #[test]
    fn what_was_learned_is_kept_for_their_address_and_model_for_a_week() {
        let state = tempfile::tempdir().unwrap();
        let memory = ServerMemory::new(state.path(), "http://a/v1", "openai:m");
        let now = SystemTime::now();
        assert_eq!(memory.recall(now), LearnedSettings::default());
        memory.keep(&learned(), now).unwrap();
        let more = LearnedSettings {
            has_no_web: true,
            ..LearnedSettings::default()
        };
        memory.keep(&more, now).unwrap();
        assert_eq!(memory.recall(now), learned().and(&more));
        let in_a_week = now + MAX_AGE - Duration::from_secs(2);
        assert_eq!(memory.recall(in_a_week), learned().and(&more));
        let later = now + MAX_AGE + Duration::from_secs(2);
        assert_eq!(
            memory.recall(later),
            LearnedSettings::default(),
            "forgotten"
        );
        let earlier = now - Duration::from_secs(60);
        assert_eq!(
            memory.recall(earlier),
            LearnedSettings::default(),
            "not learned yet"
        );
        for (address, model) in [("http://b/v1", "openai:m"), ("http://a/v1", "openai:n")] {
            let mut other = ServerMemory::new(state.path(), address, model);
            assert_eq!(other.recall(now), LearnedSettings::default());
            other.file.clone_from(&memory.file);
            assert_eq!(
                other.recall(now),
                LearnedSettings::default(),
                "a file of another"
            );
        }
        let left = fs::read_dir(state.path().join(FOLDER)).unwrap().count();
        assert_eq!(left, 1, "nothing but the file is left");
    }

    #[test]
    fn a_damaged_or_hostile_file_does_no_harm() {
        let state = tempfile::tempdir().unwrap();
        let memory = ServerMemory::new(state.path(), "http://a", "openai:m");
        let now = SystemTime::now();
        memory.keep(&learned(), now).unwrap();
        let good = fs::read_to_string(&memory.file).unwrap();
        for bad in [
            String::new(),
            "{".to_owned(),
            good.replace("\"responses\"", "\"telepathy\""),
            good.replace("4096", "-1"),
            format!("{good}{}", " ".repeat(1 << 15)),
        ] {
            fs::write(&memory.file, &bad).unwrap();
            assert_eq!(memory.recall(now), LearnedSettings::default(), "{bad}");
        }
        fs::write(&memory.file, good.replace("4096", "1")).unwrap();
        assert_eq!(memory.recall(now).max_output, None, "no server means this");
        fs::remove_file(&memory.file).unwrap();
        let pipe = nix::unistd::mkfifo(&memory.file, nix::sys::stat::Mode::S_IRWXU);
        pipe.unwrap();
        assert_eq!(
            memory.recall(now),
            LearnedSettings::default(),
            "nobody waits for a pipe"
        );
        memory.keep(&learned(), now).unwrap();
        assert_eq!(memory.recall(now), learned(), "and it is replaced");
    }
}
