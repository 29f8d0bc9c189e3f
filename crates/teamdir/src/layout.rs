//! The paths of a team folder. **Invariant:** no other code joins a path under it.

mod board;
mod bundles;
mod spawns;
mod trees;

use crate::files::list;
use protocol::{AgentName, ArchiveName, HostId, Recipient, RequestId, SessionId, TaskId};
use std::path::{Path, PathBuf};

/// The name of a team folder.
pub const FOLDER: &str = ".team";

/// The paths of one team folder.
#[derive(Debug, Clone)]
pub struct Layout {
    root: PathBuf,
}

impl Layout {
    /// The layout of the team folder at `root`.
    pub fn new(root: PathBuf) -> Self {
        Self { root }
    }

    /// The team folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folders that every team has.
    pub fn folders(&self) -> [PathBuf; 4] {
        [
            self.inbox_dir(),
            self.requests_dir(),
            self.tasks_dir(),
            self.members_dir(),
        ]
    }

    /// Keeps the folder out of a repository around it.
    pub fn gitignore(&self) -> PathBuf {
        self.root.join(".gitignore")
    }

    /// The roster.
    pub fn roster(&self) -> PathBuf {
        self.root.join("config.json")
    }

    pub(crate) fn roster_lock(&self) -> PathBuf {
        self.root.join(".config.lock")
    }

    /// The folder of all inboxes.
    pub fn inbox_dir(&self) -> PathBuf {
        self.root.join("inbox")
    }

    /// The inbox of `owner`.
    pub fn inbox(&self, owner: &Recipient) -> PathBuf {
        self.inbox_dir().join(format!("{owner}.jsonl"))
    }

    /// The lock of `owner`'s inbox. It is never deleted, renamed or replaced.
    pub fn inbox_lock(&self, owner: &Recipient) -> PathBuf {
        self.inbox_dir().join(format!(".{owner}.lock"))
    }

    /// How much of `owner`'s inbox is known to be synced, for senders that share a sync.
    pub fn inbox_synced(&self, owner: &Recipient) -> PathBuf {
        self.inbox_dir().join(format!(".{owner}.synced"))
    }

    /// A file that was `owner`'s inbox, set aside under `number`.
    pub fn segment(&self, owner: &Recipient, number: u64) -> PathBuf {
        self.inbox_dir().join(format!(".{owner}.{number}.jsonl"))
    }

    /// The number in the name of one of `owner`'s files that were set aside.
    pub(crate) fn segment_number(owner: &Recipient, file_name: &str) -> Option<u64> {
        let rest = file_name.strip_prefix('.')?.strip_prefix(owner.as_str())?;
        let digits = rest.strip_prefix('.')?.strip_suffix(".jsonl")?;
        number(digits)
    }

    /// The folder of all requests.
    pub fn requests_dir(&self) -> PathBuf {
        self.root.join("requests")
    }

    /// The file of one request.
    pub fn request(&self, id: &RequestId) -> PathBuf {
        self.requests_dir().join(format!("{id}.json"))
    }

    /// A copy of a request that is at home on `host`. Whoever watches the requests sees it change.
    pub fn request_copy(&self, host: &HostId, id: &RequestId) -> PathBuf {
        self.requests_dir().join(format!("{id}.{host}.copy"))
    }

    /// What was answered here to such a copy, until its home has recorded it.
    pub fn sent_answer(&self, host: &HostId, id: &RequestId) -> PathBuf {
        self.requests_dir().join(format!("{id}.{host}.answer"))
    }

    pub(crate) fn requests_lock(&self) -> PathBuf {
        self.requests_dir().join(".lock")
    }

    /// The folder of the task board.
    pub fn tasks_dir(&self) -> PathBuf {
        self.root.join("tasks")
    }

    /// The file of one task.
    pub fn task(&self, id: TaskId) -> PathBuf {
        Self::task_in(&self.tasks_dir(), id)
    }

    /// The file of one task in the folder of a board.
    pub(crate) fn task_in(folder: &Path, id: TaskId) -> PathBuf {
        folder.join(format!("task_{id}.json"))
    }

    /// The number in the name of a task's file.
    pub(crate) fn task_id(file_name: &str) -> Option<TaskId> {
        let digits = file_name.strip_prefix("task_")?.strip_suffix(".json")?;
        number(digits).map(TaskId)
    }

    pub(crate) fn tasks_lock(&self) -> PathBuf {
        self.tasks_dir().join(".lock")
    }

    /// Holds the highest task number ever given out, so that none is given out twice.
    pub(crate) fn last_task(&self) -> PathBuf {
        self.tasks_dir().join(".last")
    }

    /// The folder of all members' own folders.
    pub fn members_dir(&self) -> PathBuf {
        self.root.join("members")
    }

    /// The folder that `owner` alone writes, but for its exit record.
    pub fn member_dir(&self, owner: &Recipient) -> PathBuf {
        self.members_dir().join(owner.as_str())
    }

    /// Held by `owner`'s process while it runs.
    pub fn member_lock(&self, owner: &Recipient) -> PathBuf {
        self.member_dir(owner).join("lock")
    }

    /// The journal of `owner`.
    pub fn transcript(&self, owner: &Recipient) -> PathBuf {
        self.member_dir(owner).join("transcript.jsonl")
    }

    /// What `owner` is doing now.
    pub fn live_state(&self, owner: &Recipient) -> PathBuf {
        self.member_dir(owner).join("state.json")
    }

    /// What `owner` means to do.
    pub fn todo_list(&self, owner: &Recipient) -> PathBuf {
        self.member_dir(owner).join("todo.json")
    }

    /// How the last process of `owner` ended.
    pub fn exit_record(&self, owner: &Recipient) -> PathBuf {
        self.member_dir(owner).join("exit.json")
    }

    /// The log of `owner`'s process.
    pub fn member_log(&self, owner: &Recipient) -> PathBuf {
        self.member_dir(owner).join("log")
    }

    /// The parts of the journal of `owner` from before each compaction.
    pub fn member_archives(&self, owner: &Recipient) -> PathBuf {
        self.member_dir(owner).join("archives")
    }

    /// A part of a member's journal that was cut off.
    pub fn archive(&self, owner: &Recipient, name: ArchiveName) -> PathBuf {
        self.member_archives(owner).join(format!("{name}.jsonl"))
    }

    /// The sessions that `owner` has left.
    pub fn member_sessions(&self, owner: &Recipient) -> PathBuf {
        self.member_dir(owner).join("sessions")
    }

    /// One of them.
    pub fn member_session(&self, owner: &Recipient, id: &SessionId) -> PathBuf {
        self.member_sessions(owner).join(format!("{id}.jsonl"))
    }

    /// The long outputs of `owner`'s tools.
    pub fn member_outputs(&self, owner: &Recipient) -> PathBuf {
        self.member_dir(owner).join("outputs")
    }

    /// What `owner` keeps of its engine: the session, its cost, and what it has asked.
    pub(crate) fn engine_file(&self, owner: &Recipient) -> PathBuf {
        self.member_outputs(owner).join("engine.json")
    }

    /// Held by whoever starts, ends or reaps the process of `name`.
    pub(crate) fn start_lock(&self, name: &AgentName) -> PathBuf {
        self.members_dir().join(format!(".{name}.lock"))
    }

    /// The records of the commands that run now.
    pub fn commands_dir(&self) -> PathBuf {
        self.root.join("commands")
    }

    /// The folder of the bridge to other hosts.
    pub fn bridge_dir(&self) -> PathBuf {
        self.root.join("bridge")
    }

    /// The requests at home here of which other hosts may have a copy that is pending.
    pub(crate) fn told_requests(&self) -> PathBuf {
        self.bridge_dir().join(".requests.json")
    }

    /// Held by the bridge of this host.
    pub(crate) fn bridge_lock(&self) -> PathBuf {
        self.bridge_dir().join(".lock")
    }

    /// What the bridge keeps of one other host.
    pub fn bridge_peer_dir(&self, host: &HostId) -> PathBuf {
        self.bridge_dir().join(host.as_str())
    }

    /// The frames to that host.
    pub fn outbox(&self, host: &HostId) -> PathBuf {
        self.bridge_peer_dir(host).join("out.jsonl")
    }

    /// How far they were accepted.
    pub fn sent_mark(&self, host: &HostId) -> PathBuf {
        self.bridge_peer_dir(host).join("out.json")
    }

    /// How far the frames from that host were applied.
    pub fn applied_mark(&self, host: &HostId) -> PathBuf {
        self.bridge_peer_dir(host).join("in.json")
    }

    /// What people are shown of that host.
    pub fn peer(&self, host: &HostId) -> PathBuf {
        self.bridge_peer_dir(host).join("peer.json")
    }

    /// How the last ask of a host about the board was decided.
    pub(crate) fn decided(&self, host: &HostId) -> PathBuf {
        self.bridge_peer_dir(host).join("decided.json")
    }

    /// The budget for models and what was spent.
    pub fn budget(&self) -> PathBuf {
        self.root.join("budget.json")
    }

    pub(crate) fn budget_lock(&self) -> PathBuf {
        self.root.join(".budget.lock")
    }

    /// The rules that people have granted.
    pub fn permissions(&self) -> PathBuf {
        self.root.join("permissions.json")
    }

    pub(crate) fn permissions_lock(&self) -> PathBuf {
        self.root.join(".permissions.lock")
    }

    /// The limits of the team.
    pub fn limits(&self) -> PathBuf {
        self.root.join("limits.json")
    }

    /// The recent count of mail between agents.
    pub fn traffic(&self) -> PathBuf {
        self.root.join("traffic.json")
    }

    pub(crate) fn traffic_lock(&self) -> PathBuf {
        self.root.join(".traffic.lock")
    }

    /// The event log.
    pub fn events(&self) -> PathBuf {
        self.root.join("events.jsonl")
    }

    /// A part of the event log that was set aside under `number`.
    pub fn events_part(&self, number: u64) -> PathBuf {
        self.root.join(format!("events.{number}.jsonl"))
    }

    /// The number in the name of such a part.
    pub(crate) fn events_part_number(file_name: &str) -> Option<u64> {
        let digits = file_name.strip_prefix("events.")?.strip_suffix(".jsonl")?;
        number(digits)
    }

    pub(crate) fn events_lock(&self) -> PathBuf {
        self.root.join(".events.lock")
    }

    /// The shared notes.
    pub fn notes(&self) -> PathBuf {
        self.root.join("notes.jsonl")
    }

    pub(crate) fn notes_lock(&self) -> PathBuf {
        self.root.join(".notes.lock")
    }

    /// Mail that could not be delivered.
    pub fn dead_letters(&self) -> PathBuf {
        self.root.join("dead_letters.jsonl")
    }

    /// The folder of damaged files that were moved out of the way.
    pub fn trash(&self) -> PathBuf {
        self.root.join("trash")
    }

    /// The files that short changes are made under, as many as there are now, but for those by which
    /// members show that they run. At most `most`.
    pub fn change_locks(&self, most: usize) -> Vec<PathBuf> {
        let folders = [self.root.clone()].into_iter().chain(self.folders());
        let paths = folders.flat_map(|folder| {
            let entries = list(&folder).into_iter().flatten().flatten();
            let paths = entries.map(|entry| folder.join(entry.file_name()));
            paths.collect::<Vec<_>>()
        });
        let is_lock = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| name.starts_with('.') && name.ends_with("lock"))
        };
        paths.filter(is_lock).take(most).collect()
    }

    pub(crate) fn dead_letters_lock(&self) -> PathBuf {
        self.root.join(".dead_letters.lock")
    }
}

/// A number in canonical form: `007` is not a name of ours.
fn number(digits: &str) -> Option<u64> {
    let number: u64 = digits.parse().ok()?;
    (number.to_string() == digits).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_owners_own_segments_are_recognised() {
        let owner: Recipient = "al".parse().unwrap();
        assert_eq!(Layout::segment_number(&owner, ".al.17.jsonl"), Some(17));
        for other in [
            ".alice.17.jsonl",
            "al.17.jsonl",
            ".al.jsonl",
            ".al.x.jsonl",
            ".al.007.jsonl",
            ".al.+7.jsonl",
            ".al.lock",
        ] {
            assert_eq!(Layout::segment_number(&owner, other), None, "{other}");
        }
    }
}
