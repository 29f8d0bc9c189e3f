//! The sessions that a lead has left, one file each: a line about it, and its conversation.

use crate::error::{Context, PathError};
use crate::files::{self, atomic, create_dir};
use crate::members::lock::MemberGuard;
use crate::team_dir::TeamDir;
use protocol::{JsonLine, Recipient, SessionHeader, SessionId};
use std::io::{self, BufReader};
use std::path::PathBuf;
use uuid::Uuid;

/// The longest line. A conversation may have many images in it.
const LONGEST_LINE: u64 = 256 << 20;

/// A new id for a session, short enough to type.
pub fn new_session_id() -> SessionId {
    let digits = Uuid::new_v4().simple().to_string();
    let digits: String = digits.chars().take(8).collect();
    SessionId::new(&digits).expect("hex digits are a valid id")
}

impl TeamDir {
    /// Keeps a session. One that was kept before under the same id is replaced, all at once.
    pub fn keep_session(
        &self,
        guard: &MemberGuard,
        header: &SessionHeader,
        conversation: &impl serde::Serialize,
    ) -> Result<(), PathError> {
        let owner = guard.owner();
        create_dir(&self.layout.member_sessions(owner))?;
        let path = self.layout.member_session(owner, &header.session.id);
        let fail = |error| PathError::new("encode a session for", &path, io::Error::other(error));
        let header = JsonLine::encode(header).map_err(fail)?;
        let conversation = JsonLine::encode(conversation).map_err(fail)?;
        let bytes = [&header[..], &conversation[..]].concat();
        atomic::replace(&path, &bytes, self.options.durability)?;
        atomic::sync_parent(&path, self.options.durability)
    }

    /// What is known of the sessions that were kept. Files that say nothing of a session are passed over.
    pub fn kept_sessions(&self, owner: &Recipient) -> Result<Vec<SessionHeader>, PathError> {
        let folder = self.layout.member_sessions(owner);
        let listed = match files::list(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            listed => listed.context("list", &folder)?,
        };
        let mut found = Vec::new();
        for entry in listed {
            let name = entry.context("list", &folder)?.file_name();
            let id = name.to_str().and_then(|name| name.strip_suffix(".jsonl"));
            let Some(id) = id.and_then(|id| SessionId::new(id).ok()) else {
                continue;
            };
            let mut lines = self.session_lines(owner, &id, 1)?.into_iter();
            let header = lines.next().map(|line| serde_json::from_slice(&line));
            found.extend(
                header
                    .and_then(Result::ok)
                    .filter(|header: &SessionHeader| header.session.id == id),
            );
        }
        found.sort_by_key(|header| header.session.started);
        Ok(found)
    }

    /// The conversation of a session that was kept, as it was encoded.
    pub fn kept_conversation(
        &self,
        owner: &Recipient,
        id: &SessionId,
    ) -> Result<Option<Vec<u8>>, PathError> {
        Ok(self.session_lines(owner, id, 2)?.into_iter().nth(1))
    }

    /// The first lines of a file.
    fn session_lines(
        &self,
        owner: &Recipient,
        id: &SessionId,
        count: usize,
    ) -> Result<Vec<Vec<u8>>, PathError> {
        let path = self.layout.member_session(owner, id);
        let file = match files::open_to_read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            opened => opened.context("open", &path)?.file,
        };
        let mut reader = BufReader::new(file);
        let mut lines = Vec::new();
        for _ in 0..count {
            let line = files::read_line(&mut reader, LONGEST_LINE);
            lines.extend(line.context("read", &path)?);
        }
        Ok(lines)
    }

    /// When the journal of a member was last written.
    pub fn journal_written(&self, owner: &Recipient) -> Option<protocol::Timestamp> {
        let path: PathBuf = self.layout.transcript(owner);
        let written = std::fs::symlink_metadata(path).ok()?.modified().ok()?;
        let since = written.duration_since(std::time::UNIX_EPOCH).ok()?;
        let micros = i64::try_from(since.as_micros()).ok()?;
        Some(protocol::Timestamp::from_micros(micros))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;
    use crate::clock::now;
    use protocol::SessionMark;

    #[test]
    fn a_session_is_kept_whole_and_replaced_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let team = TeamDir::create(dir.path(), "t", Options::default()).unwrap();
        let guard = team.join(&Recipient::Lead).unwrap();
        let header = |last: i64, words: &str| SessionHeader {
            session: SessionMark::new(SessionId::new("1a2b3c4d").unwrap(), now(), "offline"),
            last: protocol::Timestamp::from_secs(last),
            first_words: words.to_owned(),
        };
        assert_eq!(team.kept_sessions(&Recipient::Lead).unwrap(), []);
        let conversation = serde_json::json!({"turns": []});
        for words in ["one", "two"] {
            let header = header(7, words);
            team.keep_session(&guard, &header, &conversation).unwrap();
            let kept = team.kept_sessions(&Recipient::Lead).unwrap();
            assert_eq!((kept.len(), kept[0].first_words.as_str()), (1, words));
        }
        let id = SessionId::new("1a2b3c4d").unwrap();
        let read = team.kept_conversation(&Recipient::Lead, &id).unwrap();
        assert_eq!(read.unwrap(), b"{\"turns\":[]}\n");
        let other = SessionId::new("zz").unwrap();
        assert_eq!(
            team.kept_conversation(&Recipient::Lead, &other).unwrap(),
            None
        );
        // What somebody else puts there is no session.
        let folder = team.layout().member_sessions(&Recipient::Lead);
        std::fs::write(folder.join("ffff.jsonl"), "{}\n").unwrap();
        std::fs::write(folder.join("x y.jsonl"), "{}\n").unwrap();
        assert_eq!(team.kept_sessions(&Recipient::Lead).unwrap().len(), 1);
    }
}
