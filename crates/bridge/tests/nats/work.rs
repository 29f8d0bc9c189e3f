//! Tasks for the members of all hosts: each is completed once, whoever is killed and whatever is cut.

use crate::world::{Host, options};
use protocol::{Actor, AgentName, AskEnd, Incarnation, Party, TaskStatus};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::time::Duration;
use team::{BoardError, Worker};
use teamdir::{BoardPlace, TeamDir};
use test_support::try_wait_for;

/// A member creates a task after each so many that it has completed.
const CREATES_AFTER: usize = 10;
/// How long a member waits before it looks for a task again.
const PAUSE: Duration = Duration::from_millis(50);
/// The same for a member on the host of the board, after each task.
const PAUSE_AT_HOME: Duration = Duration::from_secs(2);

/// What the members of a host have created for sure.
const LEDGER: &str = "created";

/// The work of a member, for ever.
pub(crate) fn work(place: &Path, name: &AgentName, incarnation: Incarnation) {
    let team = TeamDir::open(place, options()).unwrap();
    let worker = Worker {
        me: Actor::member(name.clone(), incarnation),
        role: "coder".to_owned(),
    };
    let mut ledger = OpenOptions::new()
        .append(true)
        .create(true)
        .open(place.join(LEDGER))
        .unwrap();
    for count in 1.. {
        let held = team::unfinished(&team, &worker.me).unwrap_or_default();
        let task = match held.into_iter().next() {
            Some(task) => Some(task),
            None => team::claim_next(&team, &worker).ok().flatten(),
        };
        let Some(task) = task else {
            let _ = try_wait_for(PAUSE, || None::<()>);
            continue;
        };
        // Whatever the answer is, what comes of it is on the board.
        let _ = team::complete(&team, &worker.me, task.id, Some(name.as_str()));
        if team.board_place().unwrap() == BoardPlace::Here {
            // Most of the work is for the other hosts.
            let _ = try_wait_for(PAUSE_AT_HOME, || None::<()>);
        }
        if count % CREATES_AFTER == 0 {
            create(&team, &worker, &mut ledger, count);
        }
    }
}

fn create(team: &TeamDir, worker: &Worker, ledger: &mut File, count: usize) {
    let incarnation = worker.me.incarnation.unwrap_or_default();
    let subject = format!("{} {incarnation} {count}", worker.me.party);
    let new = rules::NewTask {
        subject: subject.clone(),
        ..rules::NewTask::default()
    };
    match team::create(team, &worker.me, &new) {
        Ok(_) | Err(BoardError::Queued { .. }) => {
            ledger.write_all(format!("{subject}\n").as_bytes()).unwrap();
        }
        Err(_) => {}
    }
}

/// What the process that finds a member dead does about its tasks.
pub(crate) fn reap(host: &Host, name: &str, incarnation: u64) {
    let name = AgentName::new(name).unwrap();
    let reaped = || team::release_all(&host.team, &name, Incarnation(incarnation), "killed").ok();
    try_wait_for(Duration::from_secs(30), reaped).expect("the board can be written");
}

/// What is on the board at home, and what is wrong with it.
#[derive(Debug, Default)]
pub(crate) struct Work {
    pub(crate) tasks: usize,
    pub(crate) elsewhere: usize,
    pub(crate) ended_leases: usize,
    pub(crate) lost: usize,
    pub(crate) doubled: usize,
    pub(crate) open: usize,
    pub(crate) done_twice: usize,
    pub(crate) open_asks: usize,
}

impl Work {
    pub(crate) fn is_wrong(&self) -> bool {
        self.lost + self.doubled + self.open + self.done_twice + self.open_asks > 0
    }

    /// Reads the board of the first host, and what all have asked. `created` were made there.
    pub(crate) fn of(hosts: &[Host], created: usize) -> Self {
        let mut work = Self::default();
        let mut subjects: BTreeMap<String, usize> = BTreeMap::new();
        for task in hosts[0].team.tasks().unwrap().into_iter().flatten() {
            work.tasks += 1;
            let of = |action: &str| task.history.iter().filter(|e| e.action == action).count();
            let ended = task.history.iter().filter(|entry| {
                let note = entry.note.as_deref().unwrap_or_default();
                entry.by == Party::System && note.contains("was silent")
            });
            work.ended_leases += ended.count();
            work.elsewhere += usize::from(task.history.last().unwrap().host.is_some());
            work.open += usize::from(task.status != TaskStatus::Completed);
            work.done_twice += of("completed").saturating_sub(1);
            *subjects.entry(task.subject.clone()).or_default() += 1;
        }
        work.doubled = subjects.values().map(|count| count - 1).sum();
        let ours = (0..created).map(|number| format!("task {number}"));
        let theirs = hosts.iter().flat_map(|host| {
            let ledger = std::fs::read_to_string(host.team.workspace().join(LEDGER));
            let ledger = ledger.unwrap_or_default();
            ledger.lines().map(str::to_owned).collect::<Vec<_>>()
        });
        let missing = ours
            .chain(theirs)
            .filter(|subject| !subjects.contains_key(subject));
        work.lost = missing.count();
        work.open_asks = hosts.iter().map(open_asks).sum();
        work
    }
}

/// The asks of a host that have not ended.
fn open_asks(host: &Host) -> usize {
    let Ok(listed) = std::fs::read_dir(host.team.layout().asks_dir()) else {
        return 0;
    };
    let names = listed.flatten().map(|entry| entry.file_name());
    let names = names.filter_map(|name| name.to_str().map(str::to_owned));
    let asks = names.filter_map(|name| {
        let stem = name.strip_suffix(".json").or(name.strip_suffix(".sent"))?;
        protocol::RequestId::new(stem).ok()
    });
    let is_open =
        |id: &protocol::RequestId| !matches!(host.team.ask_end(id), Ok(Some(AskEnd::Answered(_))));
    asks.filter(is_open).count()
}
