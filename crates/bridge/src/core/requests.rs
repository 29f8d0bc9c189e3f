//! What people are asked, across hosts: copies of requests go out, answers come in, and the home of a request
//! records one of them.
//!
//! The files say everything. What was told in this process is only remembered so that it is not told again: the
//! next process tells it once more, which changes nothing.

use super::{ApplyError, CollectError, Core, lock};
use crate::admit::{admit_answer, admit_request, may_answer};
use protocol::{
    HostId, Line, MAX_LINE_BYTES, MailEntry, Party, Payload, Request, RequestFile, RequestId,
    RequestStatus, Roster, SentAnswer,
};
use rules::WhyIgnored;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use team::AnswerError;
use teamdir::{Outbox, PathError, RequestError, TeamDir, TeamFileError};
use tracing::warn;

/// How many decided copies of each host are kept for people.
const KEPT_COPIES: usize = 100;

/// What other hosts were told of the requests that are at home here.
#[derive(Debug, Default)]
pub(crate) struct ToldRequests {
    /// Whether people of every host may answer.
    accepts_answers: bool,
    /// What each host was told in this process, and has to be told again if it has changed.
    hosts: BTreeMap<HostId, BTreeMap<RequestId, Request>>,
    /// The requests of which a host may have a copy that is pending. This is in a file.
    open: BTreeSet<RequestId>,
    /// The requests of which nothing is to be told any more: a decided one never changes.
    done: BTreeSet<RequestId>,
    /// The answers that are on their way to the homes of their requests.
    sent: BTreeSet<(HostId, RequestId)>,
}

impl ToldRequests {
    pub(crate) fn of(team: &TeamDir) -> Result<Self, TeamFileError> {
        let open = team.told_requests()?;
        Ok(Self {
            open,
            ..Self::default()
        })
    }

    /// What is at home here and may have to be told.
    fn current(&mut self, team: &TeamDir, roster: &Roster) -> Result<Vec<Request>, PathError> {
        let mut current = Vec::new();
        for id in team.request_ids()? {
            if self.done.contains(&id) {
                continue;
            }
            // One that cannot be read now is told when it can.
            let Ok(request) = team.request(&id) else {
                continue;
            };
            let is_decided = request.status() != RequestStatus::Pending;
            match (self.open.contains(&id), is_decided) {
                // There may be copies, which are closed even if the author has left since.
                (true, true) => current.push(as_told(request)),
                (_, false) if is_told(roster, &request) => current.push(as_told(request)),
                // Nothing of it is told until it is decided.
                (true, false) => {}
                (false, _) => drop(self.done.insert(id)),
            }
        }
        Ok(current)
    }

    /// Tells one host what it does not know of these.
    fn tell(
        &mut self,
        team: &TeamDir,
        (host, outbox): (&HostId, &Mutex<Outbox>),
        current: &[Request],
    ) -> Result<(), CollectError> {
        let told = self.hosts.entry(host.clone()).or_default();
        let is_new = |request: &&Request| told.get(&request.id) != Some(*request);
        let new: Vec<Request> = current.iter().filter(is_new).cloned().collect();
        if new.is_empty() {
            return Ok(());
        }
        // Before a copy may exist: whoever comes after a kill knows that it has to be closed.
        let pending = new.iter().map(|request| request.id.clone());
        let mut open = self.open.clone();
        open.extend(pending);
        if open.len() != self.open.len() {
            team.put_told_requests(&open)?;
            self.open = open;
        }
        let payloads = new.iter().map(|request| Payload::Request {
            request: Box::new(RequestFile::from(request.clone())),
        });
        lock(outbox).append(payloads.collect())?;
        told.extend(new.into_iter().map(|request| (request.id.clone(), request)));
        Ok(())
    }

    /// Every host was told these: the decided ones are not looked at again.
    fn finish(&mut self, team: &TeamDir, current: &[Request]) -> Result<(), TeamFileError> {
        let decided = current
            .iter()
            .filter(|request| request.status() != RequestStatus::Pending);
        let mut is_changed = false;
        for request in decided {
            is_changed |= self.open.remove(&request.id);
            self.done.insert(request.id.clone());
            for told in self.hosts.values_mut() {
                told.remove(&request.id);
            }
        }
        match is_changed {
            true => team.put_told_requests(&self.open),
            false => Ok(()),
        }
    }

    /// Tells a host once more how it stands with a request.
    fn tell_again(&mut self, host: &HostId, id: &RequestId) {
        self.done.remove(id);
        self.open.insert(id.clone());
        if let Some(told) = self.hosts.get_mut(host) {
            told.remove(id);
        }
    }
}

/// Whether people of other hosts are shown a request: what those at home here ask a person.
fn is_told(roster: &Roster, request: &Request) -> bool {
    let is_here = match &request.from {
        Party::Member(name) => roster
            .member(name)
            .is_some_and(|member| member.host.is_none()),
        Party::Lead => roster.lead_host.is_none(),
        Party::User | Party::System => false,
    };
    let is_asked = is_here && request.kind().waits_for_person();
    if !is_asked {
        return false;
    }
    let size = serde_json::to_vec(&RequestFile::from(request.clone()));
    let fits = size.is_ok_and(|bytes| bytes.len() <= MAX_LINE_BYTES);
    if !fits {
        warn!(
            "request {} is too long to be shown on other hosts",
            request.id
        );
    }
    fits
}

/// A request without what only its home needs.
fn as_told(request: Request) -> Request {
    Request {
        notified_at: None,
        ignored: Vec::new(),
        ..request
    }
}

/// Before mail for the lead crosses: what it may be about is told first.
pub(super) fn tell_before_mail(
    told: &Mutex<ToldRequests>,
    team: &TeamDir,
    (host, outbox): (&HostId, &Mutex<Outbox>),
    mail: &[MailEntry],
) -> Result<(), CollectError> {
    for entry in mail {
        // Programs that know nothing of request files only mail their plans.
        if let Line::Message(message) = entry.decode()
            && let Err(error) = team::record_plan(team, &message)
        {
            warn!("a plan is only mailed: {error}");
        }
    }
    let roster = team.roster()?;
    let mut told = lock_told(told);
    let current = told.current(team, &roster)?;
    match may_answer(&roster, host, told.accepts_answers) {
        true => told.tell(team, (host, outbox), &current),
        false => Ok(()),
    }
}

impl Core {
    /// From now on people of every host may answer what is asked here, not only those of the lead's.
    pub fn accept_answers(&mut self) {
        lock_told(&self.requests).accepts_answers = true;
    }

    /// Tells other hosts what those at home here ask, and sends them what was answered here.
    pub(super) fn collect_requests(&self, roster: &Roster) -> Result<(), CollectError> {
        let mut told = lock_told(&self.requests);
        let current = told.current(&self.team, roster)?;
        for (host, outbox) in &self.outboxes {
            if may_answer(roster, host, told.accepts_answers) {
                told.tell(&self.team, (host, outbox), &current)?;
            }
        }
        told.finish(&self.team, &current)?;
        let answers = self.team.sent_answers()?;
        for (host, answer) in answers {
            let key = (host, answer.request_id.clone());
            let Some(outbox) = self
                .outboxes
                .get(&key.0)
                .filter(|_| !told.sent.contains(&key))
            else {
                continue;
            };
            lock(outbox).append(vec![Payload::Answer { answer }])?;
            told.sent.insert(key);
        }
        Ok(())
    }

    pub(super) fn take_request(&self, from: &HostId, said: &RequestFile) -> Result<(), ApplyError> {
        let admitted = admit_request(&*self.team.roster()?, from, said);
        let request = match admitted.or_else(|refusal| self.end_of_copy(from, said).ok_or(refusal))
        {
            Ok(request) => request,
            Err(refusal) => {
                warn!("a request of the host '{from}' is not shown: {refusal}");
                return Ok(());
            }
        };
        let is_taken = self.team.request(&request.id).is_ok()
            || self
                .team
                .request_copy(&request.id)?
                .is_some_and(|known| known.host.as_ref() != Some(from));
        if is_taken {
            let id = &request.id;
            warn!("request {id} of the host '{from}' is not shown: another one has that id");
            return Ok(());
        }
        let known = self.team.request_copy_of(from, &request.id);
        let is_known = |known: &Request| {
            request
                == Request {
                    sent: None,
                    refused: None,
                    ..known.clone()
                }
        };
        // What is decided stays so, whatever its home says later.
        if known
            .as_ref()
            .is_some_and(|known| is_known(known) || known.status() != RequestStatus::Pending)
        {
            return Ok(());
        }
        self.team.put_request_copy(&self.guard, from, &request)?;
        if request.status() != RequestStatus::Pending {
            self.team
                .prune_request_copies(&self.guard, from, KEPT_COPIES)?;
        }
        Ok(())
    }

    /// The end of what was admitted when its author was at home there.
    fn end_of_copy(&self, from: &HostId, said: &RequestFile) -> Option<Request> {
        let ended = Request::try_from(said.clone()).ok()?;
        let known = self.team.request_copy_of(from, &ended.id)?;
        let is_its_end = known.from == ended.from
            && known.to == ended.to
            && known.kind() == ended.kind()
            && ended.status() != RequestStatus::Pending;
        is_its_end.then(|| Request {
            host: Some(from.clone()),
            sent: None,
            refused: None,
            ..as_told(ended)
        })
    }

    pub(super) fn take_answer(&self, from: &HostId, answer: &SentAnswer) -> Result<(), ApplyError> {
        let accepts = lock_told(&self.requests).accepts_answers;
        let id = &answer.request_id;
        let response = match admit_answer(&*self.team.roster()?, from, accepts, answer) {
            Ok(response) => response,
            Err(refusal) => return self.refuse_answer(from, answer, refusal.to_string()),
        };
        match team::record_answer(&self.team, response) {
            // It counts; the author does what is left of what follows.
            Ok(_) | Err(AnswerError::FollowUp { .. }) => {}
            // It counts, and its author has left.
            Err(AnswerError::Send { source, .. }) if source.is_refusal() => {}
            Err(
                error @ (AnswerError::Send { .. }
                | AnswerError::Request(
                    RequestError::Lock(_) | RequestError::File(_) | RequestError::Exists(_),
                )),
            ) => return Err(error.into()),
            // It comes too late, and is told what the state is. Nobody may have noticed that the deadline is over.
            Err(AnswerError::Refused {
                why: WhyIgnored::AlreadyDecided { .. } | WhyIgnored::Late,
                ..
            }) => {
                let _ = team::expire_at_deadline(&self.team, id);
            }
            Err(
                error @ (AnswerError::Refused { .. }
                | AnswerError::WrongKind { .. }
                | AnswerError::NotForPerson { .. }
                | AnswerError::AlreadySent { .. }
                | AnswerError::Request(
                    RequestError::Unknown(_) | RequestError::Invalid { .. },
                )),
            ) => return self.refuse_answer(from, answer, error.to_string()),
        }
        // The host that answers may not know what became of it, if it was decided before.
        if self.team.request(id).is_ok() {
            lock_told(&self.requests).tell_again(from, id);
        }
        Ok(())
    }

    fn refuse_answer(
        &self,
        to: &HostId,
        answer: &SentAnswer,
        reason: String,
    ) -> Result<(), ApplyError> {
        let id = &answer.request_id;
        warn!("an answer of the host '{to}' to request {id} has no effect: {reason}");
        if let Some(outbox) = self.outboxes.get(to) {
            let answer = answer.clone();
            lock(outbox).append(vec![Payload::AnswerRefused { answer, reason }])?;
        }
        Ok(())
    }

    pub(super) fn take_refusal(
        &self,
        from: &HostId,
        answer: &SentAnswer,
        reason: &str,
    ) -> Result<(), ApplyError> {
        let is_taken_back = self
            .team
            .refuse_sent_answer(&self.guard, from, answer, reason)?;
        if is_taken_back {
            let key = (from.clone(), answer.request_id.clone());
            lock_told(&self.requests).sent.remove(&key);
        }
        Ok(())
    }
}

pub(super) fn lock_told(told: &Mutex<ToldRequests>) -> std::sync::MutexGuard<'_, ToldRequests> {
    told.lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
