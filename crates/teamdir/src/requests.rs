//! Request files: created exclusively, changed under one lock, replaced whole.

use crate::error::PathError;
use crate::events::pending;
use crate::files::{self, atomic};
use crate::locks::LockError;
use crate::team_dir::TeamDir;
use protocol::{Request, RequestFile, RequestId, RequestStatus};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use uuid::Uuid;

/// Why a request could not be stored, read or changed.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// There is no such request.
    #[error("there is no request {0}")]
    Unknown(RequestId),
    /// The identifier is taken.
    #[error("there already is a request {0}")]
    Exists(RequestId),
    /// The file is not a request.
    #[error("{} is not a valid request: {reason}", path.display())]
    Invalid {
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The lock could not be had.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The file could not be read or written.
    #[error(transparent)]
    File(#[from] PathError),
}

impl TeamDir {
    /// Stores a new request and logs its event. Its id must be unused.
    pub fn create_request(&self, request: &Request) -> Result<(), RequestError> {
        let path = self.layout.request(&request.id);
        // The exclusive creation needs no lock; the pending event does.
        let lock = self.lock_requests()?;
        let event = pending::request_event(request);
        lock.prepare(&event)?;
        if !atomic::create(&path, &encode(request), self.options.durability)? {
            return Err(RequestError::Exists(request.id.clone()));
        }
        lock.publish(
            [event]
                .into_iter()
                .chain(pending::resolve_event(request))
                .collect(),
        );
        Ok(())
    }

    /// The request `id` as it is now.
    pub fn request(&self, id: &RequestId) -> Result<Request, RequestError> {
        read(&self.layout.request(id))
            .and_then(|found| found.ok_or_else(|| RequestError::Unknown(id.clone())))
    }

    /// The ids of all requests, in no order.
    pub fn request_ids(&self) -> Result<Vec<RequestId>, PathError> {
        let dir = self.layout.requests_dir();
        let fail = |error| PathError::new("list", &dir, error);
        let mut ids = Vec::new();
        for entry in files::list(&dir).map_err(fail)? {
            let name = entry.map_err(fail)?.file_name();
            let stem = name.to_str().and_then(|name| name.strip_suffix(".json"));
            ids.extend(stem.and_then(|stem| RequestId::new(stem).ok()));
        }
        Ok(ids)
    }

    /// All requests, oldest first, and an error for each file that is not a valid request.
    pub fn requests(&self) -> Result<Vec<Result<Request, RequestError>>, PathError> {
        let mut requests = Vec::new();
        for id in self.request_ids()? {
            requests.extend(read(&self.layout.request(&id)).transpose());
        }
        requests.sort_by_key(|request| match request {
            Ok(request) => (Some(request.created_at), request.id.to_string()),
            Err(error) => (None, error.to_string()),
        });
        Ok(requests)
    }

    /// Changes the request `id` under the lock of all requests, and logs its end. Returns what `change`
    /// returns besides the request; if that is an error nothing is written.
    pub fn update_request<T, E: From<RequestError>>(
        &self,
        id: &RequestId,
        change: impl FnOnce(Request) -> Result<(Request, T), E>,
    ) -> Result<T, E> {
        let lock = self.lock_requests().map_err(RequestError::Lock)?;
        let before = self.request(id)?;
        let was_pending = before.status() == RequestStatus::Pending;
        let (after, outcome) = change(before)?;
        let end = pending::resolve_event(&after).filter(|_| was_pending);
        if let Some(end) = &end {
            lock.prepare(end).map_err(RequestError::File)?;
        }
        atomic::replace(
            &self.layout.request(id),
            &encode(&after),
            self.options.durability,
        )
        .map_err(RequestError::File)?;
        if let Some(end) = end {
            lock.publish(vec![end]);
        }
        Ok(outcome)
    }
}

/// A new id for a request, short enough to type. Creating its file fails if the id is used.
pub fn new_request_id() -> RequestId {
    let digits: String = Uuid::new_v4()
        .simple()
        .to_string()
        .chars()
        .take(8)
        .collect();
    RequestId::new(&digits).expect("hex digits are a valid id")
}

pub(crate) fn encode(request: &Request) -> Vec<u8> {
    let file = RequestFile::from(request.clone());
    let mut bytes = serde_json::to_vec_pretty(&file).expect("text keys and finite numbers encode");
    bytes.push(b'\n');
    bytes
}

pub(crate) fn read(path: &Path) -> Result<Option<Request>, RequestError> {
    let found = read_at(path)?;
    if let Some(request) = &found
        && path.file_stem() != Some(OsStr::new(request.id.as_str()))
    {
        return Err(RequestError::Invalid {
            path: path.to_path_buf(),
            reason: format!("its request_id is {}", request.id),
        });
    }
    Ok(found)
}

/// The request in a file of any name.
pub(crate) fn read_at(path: &Path) -> Result<Option<Request>, RequestError> {
    let bytes = match files::read_whole(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(PathError::new("read", path, error).into()),
    };
    let invalid = |reason: String| RequestError::Invalid {
        path: path.to_path_buf(),
        reason,
    };
    let file: RequestFile =
        serde_json::from_slice(&bytes).map_err(|error| invalid(error.to_string()))?;
    let request = Request::try_from(file).map_err(|error| invalid(error.to_string()))?;
    Ok(Some(request))
}
