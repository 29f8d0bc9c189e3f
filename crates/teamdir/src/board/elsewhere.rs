//! A board that is at home on another host: the copy for reading, what is asked of the home, and the claims that
//! it has granted.
//!
//! An ask is a file that whoever asks creates. The bridge puts it into the outbox of the home, and renames it.
//! How it ended for whoever waits is one more file, which is created once: by the bridge with the answer, or by
//! who waited and does so no more. The other one of the two sees what is there.

use super::{TaskCache, encode, ids_in};
use crate::BridgeGuard;
use crate::error::{Context, PathError};
use crate::files::{self, atomic, create_dir, remove_file};
use crate::layout::Layout;
use crate::roster::RosterError;
use crate::team_dir::{Durability, TeamDir};
use crate::team_files::{self, TeamFileError};
use protocol::{
    AskEnd, BoardAnswer, BoardAsk, BoardClaim, BoardCopy, BoardTasks, HostId, RequestId, TaskId,
};
use serde::Serialize;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// What is left of an ask that has ended, and that nobody has fetched, goes after this time.
const KEEP_ENDED: Duration = Duration::from_secs(600);

/// Where the board of the team is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BoardPlace {
    /// It is at home on this host.
    Here,
    /// It is at home on this other host. What is here is a copy that can only be read.
    On(HostId),
}

impl TeamDir {
    /// Where the board is at home: on the host of the lead.
    pub fn board_place(&self) -> Result<BoardPlace, RosterError> {
        let lead_host = self.roster()?.lead_host.clone();
        Ok(lead_host.map_or(BoardPlace::Here, BoardPlace::On))
    }

    /// The tasks that are read here: the board itself, or the copy.
    pub(super) fn readable_board(&self) -> (&TaskCache, PathBuf) {
        match self.board_place() {
            Ok(BoardPlace::On(_)) => (&self.copied_tasks, self.layout.board_copy_tasks()),
            // Without a roster nothing is decided here.
            Ok(BoardPlace::Here) | Err(_) => (&self.tasks, self.layout.tasks_dir()),
        }
    }

    /// The folder to watch for changes of what is read here.
    pub fn board_news_dir(&self) -> PathBuf {
        match self.board_place() {
            Ok(BoardPlace::On(_)) => self.layout.board_dir(),
            Ok(BoardPlace::Here) | Err(_) => self.layout.tasks_dir(),
        }
    }

    /// What is known of the copy. There is none before the home was reached once.
    pub fn board_copy(&self) -> Result<Option<BoardCopy>, TeamFileError> {
        team_files::read(&self.layout.board_copy())
    }

    /// Begins to keep a copy.
    pub fn prepare_board_copy(&self, _: &BridgeGuard) -> Result<(), PathError> {
        create_dir(&self.layout.board_dir())?;
        create_dir(&self.layout.board_copy_tasks())?;
        create_dir(&self.layout.asks_dir())?;
        create_dir(&self.layout.claims_dir())
    }

    /// Says whether the copy is up to date. Not synced: it is for people, and wakes who waits for the board.
    pub fn put_board_copy(&self, _: &BridgeGuard, copy: &BoardCopy) -> Result<(), TeamFileError> {
        team_files::put(&self.layout.board_copy(), copy, Durability::ProcessDeath)
    }

    /// Takes news of the home into the copy. Not synced: the home tells all of it to a bridge that begins.
    pub fn update_board_copy(&self, _: &BridgeGuard, news: &BoardTasks) -> Result<(), PathError> {
        let folder = self.layout.board_copy_tasks();
        for task in &news.tasks {
            let path = Layout::task_in(&folder, task.id);
            atomic::exchange(&path, &encode(task))?;
        }
        let Some(numbers) = &news.numbers else {
            return Ok(());
        };
        let numbers: BTreeSet<&TaskId> = numbers.iter().collect();
        for id in ids_in(&folder)? {
            if !numbers.contains(&id) {
                remove(&Layout::task_in(&folder, id))?;
            }
        }
        Ok(())
    }

    /// Moves the copy and all that was asked into the trash.
    pub fn forget_board_copy(&self, _: &BridgeGuard) -> Result<Option<PathBuf>, PathError> {
        self.to_trash(&self.layout.board_dir())
    }

    /// Asks the home of the board. It is synced when this returns.
    pub fn put_ask(&self, ask: &BoardAsk) -> Result<(), PathError> {
        create_dir(&self.layout.board_dir())?;
        create_dir(&self.layout.asks_dir())?;
        let path = self.layout.ask(&ask.id);
        atomic::create(&path, &json(ask), self.options.durability).map(|_| ())
    }

    /// What was asked, whether it is in the outbox or not.
    pub fn ask(&self, id: &RequestId) -> Result<Option<BoardAsk>, TeamFileError> {
        match team_files::read(&self.layout.ask(id))? {
            Some(ask) => Ok(Some(ask)),
            None => team_files::read(&self.layout.sent_ask(id)),
        }
    }

    /// What is asked and not in the outbox yet. A file that is no ask is left alone.
    pub fn unsent_asks(&self) -> Result<Vec<BoardAsk>, PathError> {
        let folder = self.layout.asks_dir();
        let listed = match files::list(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            listed => listed.context("list", &folder)?,
        };
        let names = listed.flatten().map(|entry| entry.file_name());
        let ids =
            names.filter_map(|name| RequestId::new(name.to_str()?.strip_suffix(".json")?).ok());
        let mut asks: Vec<(SystemTime, BoardAsk)> = Vec::new();
        for id in ids {
            let path = self.layout.ask(&id);
            let at = std::fs::symlink_metadata(&path).and_then(|metadata| metadata.modified());
            if let (Ok(at), Ok(Some(ask))) = (at, team_files::read::<BoardAsk>(&path))
                && ask.id == id
            {
                asks.push((at, ask));
            }
        }
        asks.sort_by_key(|(at, _)| *at);
        Ok(asks.into_iter().map(|(_, ask)| ask).collect())
    }

    /// These are in the outbox.
    pub fn mark_asks_sent(&self, _: &BridgeGuard, ids: &[RequestId]) -> Result<(), PathError> {
        for id in ids {
            let (from, to) = (self.layout.ask(id), self.layout.sent_ask(id));
            files::rename(&from, &to).context("rename", &from)?;
        }
        match ids.last() {
            Some(id) => atomic::sync_parent(&self.layout.ask(id), self.options.durability),
            None => Ok(()),
        }
    }

    /// Says how an ask has ended. Returns `false` if that is said already.
    pub fn end_ask(&self, id: &RequestId, end: &AskEnd) -> Result<bool, PathError> {
        atomic::create(
            &self.layout.ask_end(id),
            &json(end),
            Durability::ProcessDeath,
        )
    }

    /// How an ask has ended, if it has.
    pub fn ask_end(&self, id: &RequestId) -> Result<Option<AskEnd>, TeamFileError> {
        team_files::read(&self.layout.ask_end(id))
    }

    /// Removes what is left of an ask.
    pub fn forget_ask(&self, id: &RequestId) -> Result<(), PathError> {
        let layout = &self.layout;
        // The end goes last: without it, what is left would be asked again or waited for.
        for path in [layout.ask(id), layout.sent_ask(id), layout.ask_end(id)] {
            remove(&path)?;
        }
        Ok(())
    }

    /// Removes what nobody has fetched of asks that were answered.
    pub fn forget_old_asks(&self, _: &BridgeGuard) -> Result<(), PathError> {
        let folder = self.layout.asks_dir();
        let listed = match files::list(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            listed => listed.context("list", &folder)?,
        };
        for entry in listed.flatten() {
            let name = entry.file_name();
            let id = name.to_str().and_then(|name| name.strip_suffix(".end"));
            let Some(id) = id.and_then(|id| RequestId::new(id).ok()) else {
                continue;
            };
            let modified = entry.metadata().and_then(|metadata| metadata.modified());
            let is_old = modified.is_ok_and(|at| at.elapsed().is_ok_and(|age| age > KEEP_ENDED));
            if is_old && matches!(self.ask_end(&id), Ok(Some(AskEnd::Answered(_)))) {
                self.forget_ask(&id)?;
            }
        }
        Ok(())
    }

    /// The claim of a task by somebody on this host.
    pub fn board_claim(&self, id: TaskId) -> Result<Option<BoardClaim>, TeamFileError> {
        team_files::read(&self.layout.claim(id))
    }

    /// Keeps a claim that the home has granted.
    pub fn put_board_claim(&self, claim: &BoardClaim) -> Result<(), TeamFileError> {
        let path = self.layout.claim(claim.task);
        team_files::put(&path, claim, self.options.durability)?;
        Ok(atomic::sync_parent(&path, self.options.durability)?)
    }

    /// A claim has ended.
    pub fn remove_board_claim(&self, id: TaskId) -> Result<(), PathError> {
        remove(&self.layout.claim(id))
    }

    /// All claims of those on this host.
    pub fn board_claims(&self) -> Result<Vec<BoardClaim>, PathError> {
        let found = match ids_in(&self.layout.claims_dir()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            found => found?,
        };
        let claims = found.into_iter().map(|id| self.board_claim(id));
        Ok(claims.filter_map(|claim| claim.ok().flatten()).collect())
    }

    /// How the last ask of a host was decided, for a frame that comes again.
    pub fn decided(&self, host: &HostId) -> Result<Option<BoardAnswer>, TeamFileError> {
        team_files::read(&self.layout.decided(host))
    }

    /// Keeps how an ask of a host was decided. It is synced when this returns.
    pub fn put_decided(
        &self,
        _: &BridgeGuard,
        host: &HostId,
        answer: &BoardAnswer,
    ) -> Result<(), TeamFileError> {
        create_dir(&self.layout.bridge_peer_dir(host))?;
        let path = self.layout.decided(host);
        team_files::put(&path, answer, self.options.durability)?;
        Ok(atomic::sync_parent(&path, self.options.durability)?)
    }
}

fn json(value: &impl Serialize) -> Vec<u8> {
    let mut bytes = serde_json::to_vec_pretty(value).expect("text keys and finite numbers encode");
    bytes.push(b'\n');
    bytes
}

fn remove(path: &Path) -> Result<(), PathError> {
    match remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed.context("remove", path),
    }
}
