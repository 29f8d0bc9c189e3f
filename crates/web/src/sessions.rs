//! Who may use the server: a token is exchanged once for a session, which is a cookie and a key.
//!
//! A cookie alone is not enough, because browsers send the cookies of a host to all its ports: a server that a
//! member has started on this machine would get it. The key is kept by the page, in the storage of its own
//! origin; what it makes of it is sent in a header that no form and no other origin can send (`proof`).

use crate::secret::{self, Secret};
use crate::store::{Session, Store, StoreError};
use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};
use teamdir::now;

/// A session that was not used for so long ends.
const LONGEST_REST: Duration = Duration::from_secs(30 * 24 * 3600);
/// How exactly it is kept when a session was used last.
const USE_STEP: Duration = Duration::from_secs(600);
/// The longest text that is kept of a browser or a person.
const MAX_TEXT: usize = 120;

/// Why nobody was let in.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoginError {
    #[error("this link was used before, or there is a newer one: team-lead web --link")]
    WrongToken,
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("cannot make a secret: {0}")]
    Random(#[from] io::Error),
}

pub(crate) struct Sessions {
    store: Store,
    /// The sessions as they were read last.
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// The time at which the file was changed, and its size.
    version: Option<(SystemTime, u64)>,
    sessions: Vec<Session>,
}

impl Sessions {
    pub(crate) fn new(store: Store) -> Self {
        Self {
            store,
            known: Mutex::default(),
        }
    }

    pub(crate) const fn store(&self) -> &Store {
        &self.store
    }

    /// Exchanges the token for a session, and returns its cookie.
    pub(crate) fn login(
        &self,
        token: &str,
        person: &str,
        agent: &str,
    ) -> Result<Secret, LoginError> {
        // One at a time: two that show the same token do not both get in.
        let _known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.store.take_token(token)? {
            return Err(LoginError::WrongToken);
        }
        let cookie = Secret::random()?;
        let session = Session {
            id: secret::random_hex(4)?,
            person: short(person),
            agent: short(agent),
            created: now(),
            used: now(),
            cookie: secret::hash(cookie.as_str()),
        };
        self.store.update(|stored| {
            stored.sessions.retain(is_fresh);
            stored.sessions.push(session);
        })?;
        Ok(cookie)
    }

    /// The session of this cookie.
    pub(crate) fn find(&self, cookie: &str) -> Option<Session> {
        let cookie = secret::hash(cookie);
        let sessions = self.list().into_iter();
        let mut found = sessions.filter(|session| secret::is_same(&session.cookie, &cookie));
        let found = found.next()?;
        if now().since(found.used) > USE_STEP {
            let id = found.id.clone();
            // Only the list of sessions shows this.
            let _ = self.store.update(|stored| {
                let used = stored.sessions.iter_mut().filter(|other| other.id == id);
                used.for_each(|session| session.used = now());
            });
        }
        Some(found)
    }

    /// All sessions that have not ended.
    pub(crate) fn list(&self) -> Vec<Session> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let version = std::fs::metadata(self.store.path());
        let version = version.and_then(|found| Ok((found.modified()?, found.len())));
        let version = version.ok();
        if version != known.version || version.is_none() {
            known.sessions = self.store.read().unwrap_or_default().sessions;
            known.version = version;
        }
        let sessions = known.sessions.iter();
        sessions
            .filter(|session| is_fresh(session))
            .cloned()
            .collect()
    }

    pub(crate) fn is_open(&self, id: &str) -> bool {
        self.list().iter().any(|session| session.id == id)
    }

    /// Ends a session. Returns whether there was one.
    pub(crate) fn revoke(&self, id: &str) -> Result<bool, StoreError> {
        revoke(&self.store, id)
    }

    /// Changes the name of the person.
    pub(crate) fn rename(&self, id: &str, person: &str) -> Result<(), StoreError> {
        self.store.update(|stored| {
            let own = stored.sessions.iter_mut().filter(|other| other.id == id);
            own.for_each(|session| session.person = short(person));
        })
    }
}

/// Ends a session, or all of them. Returns whether there was one.
pub fn revoke(store: &Store, id: &str) -> Result<bool, StoreError> {
    store.update(|stored| {
        let before = stored.sessions.len();
        let is_meant = |session: &Session| id == "all" || session.id == id;
        stored.sessions.retain(|session| !is_meant(session));
        stored.sessions.len() < before
    })
}

fn is_fresh(session: &Session) -> bool {
    now().since(session.used) <= LONGEST_REST
}

fn short(text: &str) -> String {
    let line: Vec<&str> = text.split_whitespace().collect();
    let line = line.join(" ");
    let is_shown = |char: &char| !char.is_control();
    line.chars().filter(is_shown).take(MAX_TEXT).collect()
}
