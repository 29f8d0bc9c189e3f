//! The outbox: the frames to one host, kept until that host has accepted them.

use super::BridgeGuard;
use crate::error::{Context, PathError};
use crate::files::{self, atomic, create_dir};
use crate::team_dir::{Durability, TeamDir};
use crate::team_files::{self, TeamFileError};
use protocol::{
    BoardFrame, Frame, FrameId, HostId, JsonLine, MAX_FRAME_BYTES, Payload, Recipient, RequestId,
    SentMark, StreamEpoch,
};
use safe_open::Opened;
use serde_json::{Map, Value};
use std::collections::{HashSet, VecDeque};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use uuid::Uuid;

/// An outbox of which all was accepted is emptied when it has reached this size.
const EMPTY_FROM: u64 = 1 << 20;
/// In place of a sender, for what is asked about the board. It is no name of anybody.
const ASK: &str = "board/ask";
/// Why an outbox could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OutboxError {
    #[error(transparent)]
    File(#[from] PathError),
    #[error(transparent)]
    Mark(#[from] TeamFileError),
    #[error(
        "{} has the frame {found} where {expected} was to follow: the file was changed by hand or is from an \
         old copy; move the folder {} away on this host and on the other one to begin a new stream",
        path.display(),
        path.parent().unwrap_or(path).display()
    )]
    Gap {
        path: PathBuf,
        expected: u64,
        found: u64,
    },
}

/// The frames to one host that it has not accepted yet.
#[derive(Debug)]
pub struct Outbox {
    team: TeamDir,
    me: HostId,
    peer: HostId,
    path: PathBuf,
    file: File,
    /// Everything before this byte is stored.
    end: u64,
    /// Whether bytes behind `end` may be left over from a failed append.
    is_dirty: bool,
    mark: SentMark,
    /// Whether the mark has moved since it was written.
    is_mark_behind: bool,
    /// With the bytes that each has.
    pending: VecDeque<(Frame, usize)>,
    pending_bytes: usize,
    /// The number and the id of the last frame.
    last: (u64, Option<FrameId>),
    /// The mail that was stored here and that its reader may not have recorded as read.
    uncommitted: HashSet<MailKey>,
    /// Frames with such mail that were accepted: they stay in the file, so that the next process knows of them.
    kept: Vec<Frame>,
}

/// Which mail a frame carries: its recipient, its sender and its id.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct MailKey {
    to: Recipient,
    from: Option<String>,
    id: String,
}

impl MailKey {
    fn of(to: &Recipient, line: &Map<String, Value>) -> Option<Self> {
        let text = |field: &str| Some(line.get(field)?.as_str()?.to_owned());
        Some(Self {
            to: to.clone(),
            from: text("from"),
            id: text("id")?,
        })
    }

    fn of_payload(payload: &Payload) -> Option<Self> {
        match payload {
            Payload::Mail { to, line } => Self::of(to, line),
            Payload::Board(BoardFrame::Ask(ask)) => Some(Self::of_ask(&ask.id)),
            Payload::Members(_)
            | Payload::Board(_)
            | Payload::Request { .. }
            | Payload::Answer { .. }
            | Payload::AnswerRefused { .. }
            | Payload::Spawn(_)
            | Payload::Tree(_) => None,
        }
    }

    /// What is asked about the board is for nobody's inbox.
    fn of_ask(id: &RequestId) -> Self {
        Self {
            to: Recipient::Lead,
            from: Some(ASK.to_owned()),
            id: id.to_string(),
        }
    }
}

impl Outbox {
    /// Opens the frames from `me` to `peer`, and finds how far they were accepted.
    pub fn open(
        team: &TeamDir,
        _: &BridgeGuard,
        me: &HostId,
        peer: &HostId,
    ) -> Result<Self, OutboxError> {
        create_dir(&team.layout.bridge_peer_dir(peer))?;
        let mark_path = team.layout.sent_mark(peer);
        let mark = match team_files::read(&mark_path)? {
            Some(mark) => mark,
            None => {
                let mark = SentMark {
                    epoch: new_epoch(),
                    accepted: 0,
                    id: None,
                    extra: protocol::Extra::new(),
                };
                put_mark(team, peer, &mark)?;
                mark
            }
        };
        let path = team.layout.outbox(peer);
        let Opened { file, metadata } =
            files::open_or_create_to_append(&path).context("open", &path)?;
        atomic::sync_parent(&path, team.options.durability)?;
        let reader = files::open_to_read(&path).context("read", &path)?.file;
        let (frames, end) = read_frames(&reader, &path)?;
        let mail = frames.iter();
        let mail = mail.filter_map(|(frame, _)| MailKey::of_payload(&frame.payload));
        let mut outbox = Self {
            team: team.clone(),
            me: me.clone(),
            peer: peer.clone(),
            file,
            end,
            is_dirty: metadata.len() != end,
            pending: VecDeque::new(),
            pending_bytes: 0,
            last: (mark.accepted, mark.id.clone()),
            mark,
            is_mark_behind: false,
            uncommitted: mail.collect(),
            kept: Vec::new(),
            path,
        };
        for (frame, bytes) in frames {
            outbox.take_up(frame, bytes)?;
        }
        Ok(outbox)
    }

    /// Takes up a frame that was found in the file.
    fn take_up(&mut self, frame: Frame, bytes: usize) -> Result<(), OutboxError> {
        // Those of another epoch are from before the mark was made anew.
        if frame.seq <= self.mark.accepted || frame.epoch != self.mark.epoch {
            if MailKey::of_payload(&frame.payload).is_some() {
                self.kept.push(frame);
            }
            return Ok(());
        }
        if frame.seq != self.last.0 + 1 {
            return Err(OutboxError::Gap {
                path: self.path.clone(),
                expected: self.last.0 + 1,
                found: frame.seq,
            });
        }
        self.push(frame, bytes);
        Ok(())
    }

    fn push(&mut self, frame: Frame, bytes: usize) {
        self.last = (frame.seq, Some(frame.id.clone()));
        self.pending_bytes += bytes;
        self.pending.push_back((frame, bytes));
    }

    /// Whether this mail was stored here, and its reader may have to read it once more.
    pub fn has_stored(&self, to: &Recipient, line: &Map<String, Value>) -> bool {
        MailKey::of(to, line).is_some_and(|key| self.uncommitted.contains(&key))
    }

    /// Whether this was stored here, and may not be noted as sent.
    pub fn has_stored_ask(&self, id: &RequestId) -> bool {
        self.uncommitted.contains(&MailKey::of_ask(id))
    }

    /// All readers have recorded what they read: nothing that is stored here is read again.
    pub fn readers_are_done(&mut self) {
        self.uncommitted.clear();
        self.kept.clear();
    }

    /// Stores frames with these payloads, all or none. They are synced when this returns.
    pub fn append(&mut self, payloads: Vec<Payload>) -> Result<(), PathError> {
        let mut frames = Vec::new();
        let mut bytes = Vec::new();
        let mut last = self.last.clone();
        for payload in payloads {
            let frame = Frame {
                from: self.me.clone(),
                to: self.peer.clone(),
                epoch: self.mark.epoch.clone(),
                seq: last.0 + 1,
                id: new_frame_id(),
                prev: last.1,
                payload,
            };
            let line = JsonLine::encode(&frame).map_err(io::Error::other);
            let line = line.context("encode a frame for", &self.path)?;
            if line.len() > MAX_FRAME_BYTES {
                let error = io::Error::from(io::ErrorKind::FileTooLarge);
                return Err(PathError::new("append to", &self.path, error));
            }
            last = (frame.seq, Some(frame.id.clone()));
            frames.push((frame, line.len()));
            bytes.extend_from_slice(&line);
        }
        if frames.is_empty() {
            return Ok(());
        }
        self.write(&bytes)?;
        for (frame, size) in frames {
            self.uncommitted.extend(MailKey::of_payload(&frame.payload));
            self.push(frame, size);
        }
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), PathError> {
        if self.is_dirty {
            self.rewrite()?;
        }
        self.is_dirty = true;
        self.file
            .write_all(bytes)
            .context("append to", &self.path)?;
        if self.team.options.durability == Durability::PowerCut {
            // After a failed sync only writing the bytes again helps, so that they are taken back.
            self.file.sync_data().context("sync", &self.path)?;
        }
        self.is_dirty = false;
        self.end += bytes.len() as u64;
        Ok(())
    }

    /// Replaces the file by one without what a failed or killed append has left at its end, and without the
    /// frames that were accepted, but for those whose mail may be read again.
    fn rewrite(&mut self) -> Result<(), PathError> {
        // Without the frames that it drops, the old mark would not fit.
        self.save_mark()?;
        let mut bytes = Vec::new();
        for frame in self.kept.iter().chain(self.pending()) {
            let line = JsonLine::encode(frame).map_err(io::Error::other);
            bytes.extend_from_slice(&line.context("encode a frame for", &self.path)?);
        }
        atomic::replace(&self.path, &bytes, self.team.options.durability)?;
        let opened = files::open_to_append(&self.path);
        self.file = opened.context("open", &self.path)?.file;
        self.end = bytes.len() as u64;
        self.is_dirty = false;
        Ok(())
    }

    /// The frames that were not accepted yet, oldest first.
    pub fn pending(&self) -> impl Iterator<Item = &Frame> {
        self.pending.iter().map(|(frame, _)| frame)
    }

    /// How many bytes they have.
    pub const fn pending_bytes(&self) -> usize {
        self.pending_bytes
    }

    /// The number and the id of the last frame.
    pub const fn last(&self) -> &(u64, Option<FrameId>) {
        &self.last
    }

    /// How far the frames were accepted.
    pub const fn mark(&self) -> &SentMark {
        &self.mark
    }

    /// The other host has accepted all frames up to the number `seq`. Until [`Self::save_mark`] the next process sends
    /// them once more, and they are recognised.
    pub fn accept(&mut self, seq: u64) -> Result<(), PathError> {
        let accepted = self.pending().take_while(|frame| frame.seq <= seq);
        let Some(last) = accepted.last() else {
            return Ok(());
        };
        let seq = last.seq;
        self.mark = SentMark {
            accepted: seq,
            id: Some(last.id.clone()),
            ..self.mark.clone()
        };
        self.is_mark_behind = true;
        let is_accepted = |(frame, _): &mut (Frame, usize)| frame.seq <= seq;
        while let Some((frame, bytes)) = self.pending.pop_front_if(is_accepted) {
            self.pending_bytes -= bytes;
            let key = MailKey::of_payload(&frame.payload);
            if key.is_some_and(|key| self.uncommitted.contains(&key)) {
                self.kept.push(frame);
            }
        }
        if self.pending.is_empty() {
            self.empty_if_large()?;
        }
        Ok(())
    }

    /// Whether there is something that [`Self::readers_are_done`] would forget.
    pub fn has_uncommitted(&self) -> bool {
        !self.uncommitted.is_empty()
    }

    /// Whether the mark was not written since it has moved.
    pub const fn is_mark_behind(&self) -> bool {
        self.is_mark_behind
    }

    /// Writes the mark, if it has moved.
    pub fn save_mark(&mut self) -> Result<(), PathError> {
        if self.is_mark_behind {
            put_mark(&self.team, &self.peer, &self.mark)?;
            self.is_mark_behind = false;
        }
        Ok(())
    }

    /// Everything in the file was accepted, which the mark says: it may go.
    fn empty_if_large(&mut self) -> Result<(), PathError> {
        if self.end < EMPTY_FROM {
            return Ok(());
        }
        self.rewrite()
    }
}

fn put_mark(team: &TeamDir, peer: &HostId, mark: &SentMark) -> Result<(), PathError> {
    let mut bytes = serde_json::to_vec_pretty(mark).expect("text keys encode");
    bytes.push(b'\n');
    let path = team.layout.sent_mark(peer);
    match team.options.durability {
        Durability::PowerCut => atomic::replace(&path, &bytes, Durability::PowerCut),
        // Some file systems write a file to the disk when it takes the name of another one.
        Durability::ProcessDeath => atomic::exchange(&path, &bytes),
    }
}

/// The whole frames of a file with their sizes, and where they end. What follows is what a killed append left.
fn read_frames(file: &File, path: &Path) -> Result<(Vec<(Frame, usize)>, u64), PathError> {
    let mut reader = BufReader::new(file);
    let (mut frames, mut end) = (Vec::new(), 0);
    loop {
        let line = files::read_line(&mut reader, MAX_FRAME_BYTES as u64).context("read", path)?;
        let Some(line) = line.filter(|line| line.ends_with(b"\n")) else {
            return Ok((frames, end));
        };
        let Ok(frame) = serde_json::from_slice(&line) else {
            // Only the last append can be torn: after a power cut it may be zeroes.
            let rest_is_frames = reader.fill_buf().context("read", path)?.starts_with(b"{");
            if rest_is_frames {
                let error = io::Error::other("a line in it is no frame");
                return Err(PathError::new("read", path, error));
            }
            return Ok((frames, end));
        };
        frames.push((frame, line.len()));
        end += line.len() as u64;
    }
}

fn new_epoch() -> StreamEpoch {
    StreamEpoch::new(&Uuid::new_v4().simple().to_string()).expect("hex digits are an epoch")
}

fn new_frame_id() -> FrameId {
    let digits: String = Uuid::new_v4()
        .simple()
        .to_string()
        .chars()
        .take(16)
        .collect();
    FrameId::new(&digits).expect("hex digits are an id")
}
