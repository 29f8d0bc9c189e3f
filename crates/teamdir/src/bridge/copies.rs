//! Copies of requests that are at home on other hosts, and what was answered to them here.
//!
//! A copy is for reading, and only the bridge writes it. An answer is created by whoever gives it, once, and
//! removed by the bridge when the home of the request has said what became of it.

use super::BridgeGuard;
use crate::error::{Context, PathError};
use crate::files::{self, atomic};
use crate::requests::{encode, read_at};
use crate::team_dir::TeamDir;
use crate::team_files::{self, TeamFileError};
use protocol::{HostId, Request, RequestId, RequestStatus, SentAnswer, ToldRequests};
use std::collections::BTreeSet;
use std::io;
use std::path::Path;

/// What the name of a file in the folder of all requests says that it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Suffix {
    Copy,
    Answer,
}

impl TeamDir {
    /// The copies of requests at home on other hosts, oldest first, each with what was answered to it here.
    /// One that is no request is left out: its home says again what it is when the bridge starts anew.
    pub fn request_copies(&self) -> Result<Vec<Request>, PathError> {
        let listed = self.listed(Suffix::Copy)?.into_iter();
        let mut copies: Vec<Request> = listed
            .filter_map(|(id, host)| self.request_copy_of(&host, &id))
            .collect();
        copies.sort_by_key(|copy| (copy.created_at, copy.id.to_string()));
        Ok(copies)
    }

    /// The copy of a request, whichever host it is at home on.
    pub fn request_copy(&self, id: &RequestId) -> Result<Option<Request>, PathError> {
        let mut listed = self.listed(Suffix::Copy)?.into_iter();
        let found = listed.find(|(other, _)| other == id);
        Ok(found.and_then(|(id, host)| self.request_copy_of(&host, &id)))
    }

    /// The copy of a request at home on `host`.
    pub fn request_copy_of(&self, host: &HostId, id: &RequestId) -> Option<Request> {
        let copy = read_at(&self.layout.request_copy(host, id)).ok()??;
        let copy = Some(copy).filter(|copy| copy.id == *id)?;
        let sent = self.sent_answer(host, id).or(copy.sent);
        let host = Some(host.clone());
        Some(Request { host, sent, ..copy })
    }

    /// Stores a copy. If it is decided, what was answered here is kept in it, and sent no more.
    pub fn put_request_copy(
        &self,
        _: &BridgeGuard,
        host: &HostId,
        copy: &Request,
    ) -> Result<(), PathError> {
        let sent = self.sent_answer(host, &copy.id).or(copy.sent.clone());
        let is_decided = copy.status() != RequestStatus::Pending;
        let copy = Request {
            host: Some(host.clone()),
            sent: sent.filter(|_| is_decided),
            ..copy.clone()
        };
        let path = self.layout.request_copy(host, &copy.id);
        atomic::replace(&path, &encode(&copy), self.options.durability)?;
        if is_decided {
            remove(&self.layout.sent_answer(host, &copy.id))?;
        }
        Ok(())
    }

    /// Removes decided copies of a host but for the newest `kept`.
    pub fn prune_request_copies(
        &self,
        _: &BridgeGuard,
        host: &HostId,
        kept: usize,
    ) -> Result<(), PathError> {
        let mut copies = self.request_copies()?;
        copies.retain(|copy| {
            copy.host.as_ref() == Some(host) && copy.status() != RequestStatus::Pending
        });
        let surplus = copies.len().saturating_sub(kept);
        for copy in copies.iter().take(surplus) {
            remove(&self.layout.request_copy(host, &copy.id))?;
        }
        Ok(())
    }

    /// Records what is answered here to a request at home on `host`. Returns `false`, and changes nothing, if
    /// something was answered before.
    pub fn send_answer(&self, host: &HostId, answer: &SentAnswer) -> Result<bool, PathError> {
        let path = self.layout.sent_answer(host, &answer.request_id);
        atomic::create(&path, &team_files::encode(answer), self.options.durability)
    }

    /// What was answered here to a request at home on `host` and is not recorded there yet.
    pub fn sent_answer(&self, host: &HostId, id: &RequestId) -> Option<SentAnswer> {
        let answer: SentAnswer = team_files::read(&self.layout.sent_answer(host, id)).ok()??;
        Some(answer).filter(|answer| answer.request_id == *id)
    }

    /// All answers that are not recorded yet.
    pub fn sent_answers(&self) -> Result<Vec<(HostId, SentAnswer)>, PathError> {
        let listed = self.listed(Suffix::Answer)?.into_iter();
        let found = listed.filter_map(|(id, host)| {
            let answer = self.sent_answer(&host, &id)?;
            Some((host, answer))
        });
        Ok(found.collect())
    }

    /// This answer has no effect: `why` is shown with the copy, which may be answered again. Returns `false`, and
    /// changes nothing, if another answer was given since.
    pub fn refuse_sent_answer(
        &self,
        guard: &BridgeGuard,
        host: &HostId,
        answer: &SentAnswer,
        why: &str,
    ) -> Result<bool, PathError> {
        let id = &answer.request_id;
        if self.sent_answer(host, id).as_ref() != Some(answer) {
            return Ok(false);
        }
        if let Some(copy) = self.request_copy_of(host, id) {
            let refused = Some(why.to_owned());
            self.put_request_copy(guard, host, &Request { refused, ..copy })?;
        }
        remove(&self.layout.sent_answer(host, id))?;
        Ok(true)
    }

    /// The requests of which other hosts may have a copy that is pending.
    pub fn told_requests(&self) -> Result<BTreeSet<RequestId>, TeamFileError> {
        let told: Option<ToldRequests> = team_files::read(&self.layout.told_requests())?;
        Ok(told.into_iter().flat_map(|told| told.requests).collect())
    }

    /// Replaces that list, for the bridge alone. It is synced when this returns.
    pub fn put_told_requests(&self, told: &BTreeSet<RequestId>) -> Result<(), TeamFileError> {
        let told = ToldRequests {
            requests: told.iter().cloned().collect(),
            extra: protocol::Extra::new(),
        };
        let path = self.layout.told_requests();
        team_files::put(&path, &told, self.options.durability)?;
        Ok(atomic::sync_parent(&path, self.options.durability)?)
    }

    pub(super) fn remove_copies_of(&self, host: &HostId) -> Result<(), PathError> {
        for (id, _) in self
            .listed(Suffix::Copy)?
            .iter()
            .filter(|(_, of)| of == host)
        {
            remove(&self.layout.request_copy(host, id))?;
        }
        for (id, _) in self
            .listed(Suffix::Answer)?
            .iter()
            .filter(|(_, of)| of == host)
        {
            remove(&self.layout.sent_answer(host, id))?;
        }
        Ok(())
    }

    /// The files of this kind, by their names.
    fn listed(&self, suffix: Suffix) -> Result<Vec<(RequestId, HostId)>, PathError> {
        let folder = self.layout.requests_dir();
        let ending = match suffix {
            Suffix::Copy => ".copy",
            Suffix::Answer => ".answer",
        };
        let mut found = Vec::new();
        for entry in files::list(&folder).context("list", &folder)? {
            let name = entry.context("list", &folder)?.file_name();
            let stem = name.to_str().and_then(|name| name.strip_suffix(ending));
            let parts = stem.and_then(|stem| stem.split_once('.'));
            found.extend(
                parts.and_then(|(id, host)| {
                    Some((RequestId::new(id).ok()?, HostId::new(host).ok()?))
                }),
            );
        }
        Ok(found)
    }
}

fn remove(path: &Path) -> Result<(), PathError> {
    match files::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(PathError::new("remove", path, error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}
