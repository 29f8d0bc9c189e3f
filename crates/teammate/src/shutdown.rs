//! Shutdown requests to this incarnation, and their answers.

use protocol::{RequestId, RequestStatus};
use rules::WhyIgnored;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use team::{Actor, AnswerError, answer_shutdown, mail_unrecorded_answer};
use teamdir::{RequestError, SendError, TeamDir};

/// The shutdown requests of this incarnation, shared by the mail handler and the tools.
#[derive(Debug)]
pub(crate) struct ShutdownRequests {
    team: TeamDir,
    me: Actor,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    asked: Vec<Pending>,
    approved: Option<RequestId>,
}

#[derive(Debug)]
struct Pending {
    id: RequestId,
    received_at: Instant,
    is_answered: bool,
    is_reminded: bool,
    /// Whether the model was asked since the request came: its mail was in that request.
    is_told: bool,
}

/// Why an answer was not given. The texts are for the model.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AnswerRefusal {
    #[error("request {id} is not for you; {open} waits for your answer")]
    Other { id: RequestId, open: RequestId },
    #[error("request {0} is not for you: no shutdown request waits for your answer")]
    NotAsked(RequestId),
    #[error("request {0} has your answer already, and that is final")]
    Answered(RequestId),
    #[error("request {id} is already {}: it needs no answer, go on", status.as_str())]
    Decided {
        id: RequestId,
        status: RequestStatus,
    },
    #[error("request {id} was not answered: {why}")]
    Ignored { id: RequestId, why: WhyIgnored },
    #[error("the answer was not sent: {0}")]
    NotSent(#[from] SendError),
    #[error(transparent)]
    NotRecorded(#[from] AnswerError),
}

impl ShutdownRequests {
    pub(crate) fn new(team: &TeamDir, me: Actor) -> Self {
        Self {
            team: team.clone(),
            me,
            state: Mutex::default(),
        }
    }

    /// Adds a request that is valid.
    pub(crate) fn add(&self, id: &RequestId) {
        let mut state = self.lock();
        if state.asked.iter().all(|asked| asked.id != *id) {
            state.asked.push(Pending {
                id: id.clone(),
                received_at: Instant::now(),
                is_answered: false,
                is_reminded: false,
                is_told: false,
            });
        }
    }

    /// Answers a request once, while it is pending: records the answer in the request file, and mails it.
    pub(crate) fn answer(
        &self,
        id: &RequestId,
        approve: bool,
        reason: &str,
    ) -> Result<(), AnswerRefusal> {
        let mut state = self.lock();
        let open = state.open().first().cloned();
        let Some(asked) = state.asked.iter_mut().find(|asked| asked.id == *id) else {
            let id = id.clone();
            return Err(match open {
                Some(open) => AnswerRefusal::Other { id, open },
                None => AnswerRefusal::NotAsked(id),
            });
        };
        if asked.is_answered {
            return Err(AnswerRefusal::Answered(id.clone()));
        }
        self.record(id, approve, reason)?;
        asked.is_answered = true;
        if approve {
            state.approved = Some(id.clone());
        }
        Ok(())
    }

    fn record(&self, id: &RequestId, approve: bool, reason: &str) -> Result<(), AnswerRefusal> {
        match answer_shutdown(&self.team, &self.me, id, approve, reason) {
            Ok(_) => Ok(()),
            // The file says that this process ends, so it does: the asker reads the file too.
            Err(AnswerError::Send { .. }) if approve => Ok(()),
            // A line written by hand has no file.
            Err(AnswerError::Request(RequestError::Unknown(_))) => {
                let sent = mail_unrecorded_answer(&self.team, &self.me, id, approve, reason);
                Ok(sent?)
            }
            Err(AnswerError::Refused { why, .. }) => {
                let id = id.clone();
                Err(match why {
                    WhyIgnored::AlreadyDecided { status, .. } => {
                        AnswerRefusal::Decided { id, status }
                    }
                    WhyIgnored::Late => AnswerRefusal::Decided {
                        id,
                        status: RequestStatus::Expired,
                    },
                    why => AnswerRefusal::Ignored { id, why },
                })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Answers, in the model's place, what it cannot be asked: requests that have waited for so long,
    /// or whose deadline is near. Returns whether there was something.
    pub(crate) fn answer_for_model(&self, why: &str, after: Duration) -> bool {
        let mut open = self.still_open();
        open.retain(|id| self.has_waited(id, after) || self.is_urgent(id));
        let text = format!("answered by the program, since its model cannot be asked: {why}");
        let answered = open
            .iter()
            .filter(|id| self.answer(id, true, &text).is_ok());
        answered.count() > 0
    }

    /// The requests that the model has to be reminded of: each once.
    pub(crate) fn remind(&self) -> Vec<RequestId> {
        let open = self.still_open();
        let mut state = self.lock();
        let mut due = Vec::new();
        for asked in &mut state.asked {
            if !asked.is_reminded && open.contains(&asked.id) {
                asked.is_reminded = true;
                due.push(asked.id.clone());
            }
        }
        due
    }

    /// The requests that the team's state tells the model of: those that wait for an answer and came before
    /// the last time it was asked. A newer one it reads in its mail at the same moment.
    pub(crate) fn told_before(&self) -> Vec<RequestId> {
        let mut open = self.still_open();
        let mut state = self.lock();
        for asked in &mut state.asked {
            if !std::mem::replace(&mut asked.is_told, true) {
                open.retain(|id| *id != asked.id);
            }
        }
        open
    }

    /// The request that this process has approved.
    pub(crate) fn approved(&self) -> Option<RequestId> {
        self.lock().approved.clone()
    }

    /// The requests that wait for an answer, as their files say. One that came without a file waits
    /// for as long as this process runs.
    pub(crate) fn still_open(&self) -> Vec<RequestId> {
        let mut open = self.lock().open();
        open.retain(|id| self.over(id).is_none());
        open
    }

    fn has_waited(&self, id: &RequestId, after: Duration) -> bool {
        let state = self.lock();
        let asked = state.asked.iter().find(|asked| asked.id == *id);
        asked.is_some_and(|asked| asked.received_at.elapsed() >= after)
    }

    /// Whether most of the time for an answer has passed.
    fn is_urgent(&self, id: &RequestId) -> bool {
        let Ok(request) = self.team.request(id) else {
            return false;
        };
        request.deadline.is_some_and(|deadline| {
            let whole = deadline.since(request.created_at);
            deadline.since(teamdir::now()) < whole / 3
        })
    }

    /// How a request ended, if it has.
    fn over(&self, id: &RequestId) -> Option<String> {
        match self.team.request(id) {
            Ok(request) => {
                let late = request.deadline.is_some_and(|at| at <= teamdir::now());
                let late = late.then_some(RequestStatus::Expired);
                let ended = match request.status() {
                    RequestStatus::Pending => late,
                    ended @ (RequestStatus::Approved
                    | RequestStatus::Rejected
                    | RequestStatus::Expired) => Some(ended),
                };
                ended.map(|ended| format!("is already {}", ended.as_str()))
            }
            Err(RequestError::Unknown(_)) => None,
            Err(error) => Some(format!("cannot be read ({error})")),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn open(&self) -> Vec<RequestId> {
        let open = self.asked.iter().filter(|asked| !asked.is_answered);
        open.map(|asked| asked.id.clone()).collect()
    }
}
