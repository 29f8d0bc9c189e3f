//! Reads the team: its state, its events, and the conversations that pages show.

use super::event_row::{add_outcome, event_row};
use crate::conversation::{Conversation, Entry};
use crate::rows::Rows;
use overview::{Tail, TeamWatch, snapshot};
use protocol::{AgentName, Recipient, RequestKind, Timestamp};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use teamdir::{EventReader, MAX_SLEEP, TeamDir, now};

/// The part of the event log that a page is told of at first.
const EVENT_BYTES: u64 = 64 << 10;
/// The newest events that are kept for new pages, and told of at once.
const MAX_EVENTS: usize = 200;
/// The part of a journal that is read at first. Records may be long.
const JOURNAL_BYTES: u64 = 512 << 10;
/// The shortest wait for the end of a request: one that cannot be ended costs little.
const SHORTEST_WAIT: Duration = Duration::from_secs(1);

pub(super) struct Reader {
    pub(super) watch: TeamWatch,
    team: TeamDir,
    sessions_file: PathBuf,
    events: EventReader,
    newest_events: VecDeque<Value>,
    rows: Rows,
    conversations: BTreeMap<AgentName, Followed>,
    last_message: Instant,
    /// Whether a member was asked to end and has not answered: it may answer by mail alone, which whoever needs
    /// the answer records.
    awaits_shutdown: bool,
    /// When the next request expires.
    next_deadline: Option<Timestamp>,
}

struct Followed {
    tail: Tail,
    conversation: Conversation,
}

/// What is new since the last read.
pub(super) struct News {
    /// For all pages.
    changes: Option<Arc<str>>,
    /// For those that show the conversation of a member.
    conversations: BTreeMap<AgentName, Arc<str>>,
    /// Whether nothing was told for so long that a page may wonder.
    pub(super) is_regular: bool,
}

impl News {
    pub(super) fn of(&self, member: Option<&AgentName>) -> Vec<Arc<str>> {
        let conversation = member.and_then(|member| self.conversations.get(member));
        self.changes.iter().chain(conversation).cloned().collect()
    }
}

impl Reader {
    pub(super) fn new(team: &TeamDir, sessions_file: &Path) -> io::Result<Self> {
        let mut events = team.event_reader();
        // A log that cannot be read has no events.
        let _ = events.skip_to_last(EVENT_BYTES);
        Ok(Self {
            watch: TeamWatch::new(team)?,
            team: team.clone(),
            sessions_file: sessions_file.to_path_buf(),
            events,
            newest_events: VecDeque::new(),
            rows: Rows::default(),
            conversations: BTreeMap::new(),
            last_message: Instant::now(),
            awaits_shutdown: false,
            next_deadline: None,
        })
    }

    /// Repairs what dead members left behind, as every command does.
    pub(super) fn repair(&self) {
        let _ = processes::repair(&self.team);
    }

    /// Whether a request can be brought to its end, which nobody else may do while no lead runs.
    pub(super) fn may_end_requests(&self) -> bool {
        self.awaits_shutdown || self.next_deadline.is_some_and(|deadline| deadline <= now())
    }

    /// How long until a request expires.
    pub(super) fn time_left(&self) -> Option<Duration> {
        let left = |deadline: Timestamp| deadline.since(now()).max(SHORTEST_WAIT);
        self.next_deadline.map(left)
    }

    /// Reads what has changed.
    pub(super) fn read(&mut self, members: &BTreeSet<AgentName>) -> News {
        self.follow(members);
        // Watch before reading, so that no change is missed.
        self.watch.watch_files(&self.team);
        self.watch.watch_file(&self.sessions_file);
        for followed in self.conversations.values() {
            self.watch.watch_file(followed.tail.path());
        }
        let snapshot = snapshot(&self.team);
        self.watch.watch_processes(&self.team, &snapshot);
        let mut requests = snapshot.requests.iter();
        self.awaits_shutdown = requests.any(|request| request.kind == RequestKind::Shutdown);
        let deadlines = snapshot.requests.iter().filter_map(|row| row.deadline);
        self.next_deadline = deadlines.min();
        let rows = Rows::of(&snapshot);
        let mut changes = rows.changes(&self.rows);
        self.rows = rows;
        let events = self.new_events();
        if !events.is_empty() {
            changes.insert("events".to_owned(), Value::Array(events));
        }
        let conversations = self.new_entries();
        let is_regular = self.last_message.elapsed() >= MAX_SLEEP;
        if is_regular || !changes.is_empty() {
            self.last_message = Instant::now();
        }
        News {
            changes: (!changes.is_empty()).then(|| message("change", &Value::Object(changes))),
            conversations,
            is_regular,
        }
    }

    /// Follows the conversations that are shown, and no others.
    fn follow(&mut self, members: &BTreeSet<AgentName>) {
        let watch = &mut self.watch;
        self.conversations.retain(|name, followed| {
            let is_shown = members.contains(name);
            if !is_shown {
                watch.unwatch(followed.tail.path());
            }
            is_shown
        });
        for name in members {
            let layout = self.team.layout();
            self.conversations.entry(name.clone()).or_insert_with(|| {
                let path = layout.transcript(&Recipient::Member(name.clone()));
                let mut followed = Followed {
                    tail: Tail::new(path, JOURNAL_BYTES),
                    conversation: Conversation::default(),
                };
                // Whoever is new gets these with the whole state.
                followed.new_entries();
                followed
            });
        }
    }

    fn new_events(&mut self) -> Vec<Value> {
        let mut events = VecDeque::new();
        let read = self.events.read(|line| {
            events.extend(event_row(line));
            if events.len() > MAX_EVENTS {
                events.pop_front();
            }
        });
        if read.is_err() {
            return Vec::new();
        }
        for event in &mut events {
            add_outcome(event, &self.team);
        }
        for event in &events {
            self.newest_events.push_back(event.clone());
        }
        while self.newest_events.len() > MAX_EVENTS {
            self.newest_events.pop_front();
        }
        events.into()
    }

    fn new_entries(&mut self) -> BTreeMap<AgentName, Arc<str>> {
        let mut conversations = BTreeMap::new();
        for (name, followed) in &mut self.conversations {
            let (is_other, entries) = followed.new_entries();
            if is_other || !entries.is_empty() {
                conversations.insert(name.clone(), conversation(name, is_other, &entries));
            }
        }
        conversations
    }

    /// The whole state, for a page that shows the conversation of `member`.
    pub(super) fn everything(&self, member: Option<&AgentName>) -> Arc<str> {
        let mut all: Map<String, Value> = self.rows.full();
        let events = self.newest_events.iter().cloned().collect();
        all.insert("events".to_owned(), Value::Array(events));
        let state = message("all", &Value::Object(all));
        let followed = member.and_then(|name| Some((name, self.conversations.get(name)?)));
        match followed {
            Some((name, followed)) => {
                let entries: Vec<Entry> = followed.conversation.entries().cloned().collect();
                format!("{state}{}", conversation(name, true, &entries)).into()
            }
            None => state,
        }
    }
}

impl Followed {
    /// Whether the conversation is another one now, and the new entries.
    fn new_entries(&mut self) -> (bool, Vec<Entry>) {
        let new = self.tail.new_lines();
        let is_other = new.is_other_conversation();
        if is_other {
            self.conversation = Conversation::default();
        }
        let lines = new.of_conversation();
        let entries = lines
            .flat_map(|line| self.conversation.read(line))
            .collect();
        (is_other, entries)
    }
}

/// A message of the stream.
fn message(event: &str, data: &Value) -> Arc<str> {
    format!("event: {event}\ndata: {data}\n\n").into()
}

fn conversation(name: &AgentName, is_whole: bool, entries: &[Entry]) -> Arc<str> {
    let entries = entries.iter();
    let entries: Vec<Box<RawValue>> = entries
        .filter_map(|entry| RawValue::from_string(entry.to_string()).ok())
        .collect();
    let entries = serde_json::to_string(&entries).unwrap_or_default();
    let (name, is_whole) = (json!(name), json!(is_whole));
    let data = format!("{{\"member\":{name},\"whole\":{is_whole},\"entries\":{entries}}}");
    format!("event: conversation\ndata: {data}\n\n").into()
}
