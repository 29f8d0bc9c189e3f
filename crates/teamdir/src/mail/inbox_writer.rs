//! Appends to an inbox, beside others who do.
//!
//! The lock of the inbox is held in shared mode while a line is written: senders do not wait for each other,
//! because the kernel keeps their writes apart, but whoever holds the lock for itself is alone with the
//! file. What can go wrong without that is noticed afterwards, and the line is sent again under its id:
//!
//! * The sender before was killed in the middle of its line: then the line was glued to a fragment.
//! * The reader has set the file aside meanwhile: then the line is read from there all the same, but it
//!   might be shown after the sender's next one.

use crate::error::Context;
use crate::files::append::{self, AppendError, Tail, Target};
use crate::files::shared_sync::{self, Appended, Name, SharedSync, SyncedFile};
use crate::files::{self, atomic};
use crate::locks::{FileLock, SharedLock};
use crate::mail::unsynced::UnsyncedInboxes;
use crate::team_dir::TeamDir;
use crate::watch::is_on_network;
use crate::{Durability, Options};
use protocol::{JsonLine, Recipient};
use safe_open::Opened;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Seek};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// For how long files are kept open for the next line. A lock file that a person has deleted is not used
/// for longer.
const KEPT: Duration = Duration::from_secs(1);
/// For how many inboxes files are kept open.
const MOST_KEPT: usize = 16;

/// A crowd that shares a lock never leaves it free by itself, and the kernel gives it to nobody before it
/// is free. So all senders of a crowd pause at the same time, at the beginning of each such span.
const SPAN: Duration = Duration::from_millis(10);
const PAUSE: Duration = Duration::from_micros(500);

/// The files of one inbox that stay open between two lines. Never the inbox itself: whoever has it open for
/// writing keeps its reader from deleting it.
#[derive(Debug)]
struct InboxWriter {
    path: PathBuf,
    folder: PathBuf,
    lock: SharedLock,
    /// `None` where syncs are not shared.
    shared_sync: Option<SharedSync>,
    opened_at: Instant,
    /// Where the last line ended, in which file.
    last: Option<(SyncedFile, u64)>,
    /// Whether others have appended at the same time as the last line.
    is_crowded: bool,
}

/// The open files of inboxes, each used by one thread at a time.
#[derive(Debug, Default)]
pub(crate) struct InboxWriters {
    idle: Mutex<HashMap<Recipient, InboxWriter>>,
    /// Whether other machines write to the folder.
    is_remote: OnceLock<bool>,
}

/// What became of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sending {
    Done,
    /// The line is there, but it is not certain that it is read as it should be: send it again.
    Uncertain,
    /// The line is in a file that was set aside meanwhile. It is read from there, but perhaps after the sender's next
    /// one: send it again. If that fails, it was sent all the same.
    SetAside,
}

impl InboxWriters {
    /// Whether other machines may write to the inboxes in `folder`. Then senders take turns: appending is
    /// no single step there.
    pub(crate) fn is_remote(&self, folder: &Path) -> bool {
        *self.is_remote.get_or_init(|| is_on_network(folder))
    }

    /// Appends a line to the inbox of `owner`. It is synced when this returns, or else with `later`.
    pub(crate) fn append(
        &self,
        team: &TeamDir,
        owner: &Recipient,
        line: &JsonLine,
        later: Option<&mut UnsyncedInboxes>,
    ) -> Result<Sending, AppendError> {
        let mut writer = match self.take(owner) {
            Some(writer) => writer,
            None if self.is_remote(&team.layout.inbox_dir()) => {
                append_alone(team, owner, line)?;
                return Ok(Sending::Done);
            }
            None => InboxWriter::open(team, owner)?,
        };
        let sending = writer.append(&team.options, line, later);
        self.keep(owner, writer);
        sending
    }

    fn take(&self, owner: &Recipient) -> Option<InboxWriter> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let writer = idle.remove(owner)?;
        (writer.opened_at.elapsed() < KEPT).then_some(writer)
    }

    fn keep(&self, owner: &Recipient, writer: InboxWriter) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() >= MOST_KEPT {
            idle.clear();
        }
        idle.insert(owner.clone(), writer);
    }
}

/// Appends a line to the inbox of `owner` under its exclusive lock.
pub(crate) fn append_alone(
    team: &TeamDir,
    owner: &Recipient,
    line: &JsonLine,
) -> Result<(), AppendError> {
    append::append_lines(&Target {
        path: team.layout.inbox(owner),
        lock: team.layout.inbox_lock(owner),
        lock_wait: team.options.lock_wait,
        durability: team.options.durability,
        limit: Some(team.options.inbox_limit),
        lines: std::slice::from_ref(line),
    })
}

impl InboxWriter {
    fn open(team: &TeamDir, owner: &Recipient) -> Result<Self, AppendError> {
        let shared_sync = match team.options.durability {
            // Without a mark everybody syncs alone.
            Durability::PowerCut => SharedSync::open(&team.layout.inbox_synced(owner)).ok(),
            Durability::ProcessDeath => None,
        };
        Ok(Self {
            path: team.layout.inbox(owner),
            folder: team.layout.inbox_dir(),
            lock: SharedLock::open(team.layout.inbox_lock(owner))?,
            shared_sync,
            opened_at: Instant::now(),
            last: None,
            is_crowded: false,
        })
    }

    fn append(
        &mut self,
        options: &Options,
        line: &JsonLine,
        later: Option<&mut UnsyncedInboxes>,
    ) -> Result<Sending, AppendError> {
        let path = self.path.as_path();
        // Who syncs leaves the lock free for that long.
        if self.is_crowded && options.durability == Durability::ProcessDeath {
            leave_the_lock_free();
        }
        let held = self.lock.hold(options.lock_wait)?;
        let Opened { mut file, metadata } = match files::open_to_append(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                drop(held);
                return self.create(options);
            }
            opened => opened.context("open", path)?,
        };
        let size = metadata.len();
        if size >= options.inbox_limit {
            let path = path.to_path_buf();
            return Err(AppendError::Full { path, size });
        }
        let id = SyncedFile::of(&metadata);
        // The file ends with this sender's own line. It has an end, and nobody else has come since.
        let is_alone = self.last.take() == Some((id, size));
        let mark = self.shared_sync.as_ref().filter(|_| !is_alone);
        let before = mark.map(SharedSync::read).unwrap_or_default();
        // In a crowd what is the last line now need not be the last when this one is written: only a look
        // afterwards can tell whether that line had an end.
        let tail = Tail::finished_if(is_alone || self.is_crowded);
        let written = append::write_lines(&mut file, (&metadata, tail), std::slice::from_ref(line));
        let written = written.context("append to", path)?;
        let end = file.stream_position().context("append to", path)?;
        drop(held);
        let start = end - written.len() as u64;
        let is_known = start == size && (is_alone || !self.is_crowded);
        self.is_crowded = start != size;
        if !is_known && !written.starts_with(b"\n") && !follows_a_line(&file, start) {
            // The next try looks at the end first.
            self.is_crowded = false;
            return Ok(Sending::Uncertain);
        }
        let line = Appended {
            file: &file,
            id,
            start,
            end,
            before,
            folder: Some(&self.folder),
            path,
        };
        let syncs = options.durability == Durability::PowerCut;
        let name = match syncs && later.is_none() {
            true => self.sync(&line, is_alone).context("sync", path)?,
            false => Name::Unknown,
        };
        let sending = match name {
            Name::Kept => Sending::Done,
            Name::Unknown => where_it_is(&line),
        };
        // The name of a file that was appended to before lasts, and of one that the mark names.
        let lasts = is_alone || line.with(&before).folder.is_none();
        if let Some(later) = later.filter(|_| syncs) {
            let folder = Some(self.folder.as_path()).filter(|_| !lasts);
            later.add(path, file, id, folder);
        }
        if sending == Sending::Done {
            self.last = Some((id, end));
        }
        Ok(sending)
    }

    fn sync(&self, line: &Appended<'_>, is_alone: bool) -> io::Result<Name> {
        match &self.shared_sync {
            // Nobody could follow, and the name of a file that was appended to before lasts.
            _ if is_alone => line.file.sync_data()?,
            Some(shared_sync) => return shared_sync.sync(line),
            None => shared_sync::sync_alone(line)?,
        }
        Ok(Name::Unknown)
    }

    /// Creates the inbox, so that the next try finds it.
    fn create(&self, options: &Options) -> Result<Sending, AppendError> {
        let path = self.path.as_path();
        let _lock = FileLock::acquire(self.lock.path(), options.lock_wait)?;
        match files::create_new(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => {
                let created = created.context("create", path)?;
                atomic::sync_parent(path, options.durability)?;
                if let Some(shared_sync) = &self.shared_sync {
                    shared_sync.begin(SyncedFile::of(&created.metadata));
                }
            }
        }
        Ok(Sending::Uncertain)
    }
}

/// What became of a line whose file may have been set aside.
fn where_it_is(line: &Appended<'_>) -> Sending {
    match line.name() {
        Name::Kept => Sending::Done,
        Name::Unknown
            if line
                .file
                .metadata()
                .map_or(true, |found| found.nlink() == 0) =>
        {
            Sending::Uncertain
        }
        Name::Unknown => Sending::SetAside,
    }
}

/// Waits until the pause of this span is over. The clock is the same for all processes.
fn leave_the_lock_free() {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let nanos = now.unwrap_or_default().as_nanos() % SPAN.as_nanos();
    let nanos = u64::try_from(nanos).unwrap_or(u64::MAX);
    std::thread::sleep(PAUSE.saturating_sub(Duration::from_nanos(nanos)));
}

/// Whether the byte before `start` ends a line. One that cannot be read may not.
fn follows_a_line(file: &File, start: u64) -> bool {
    let mut before = [0];
    start == 0 || file.read_exact_at(&mut before, start - 1).is_ok() && before == *b"\n"
}
