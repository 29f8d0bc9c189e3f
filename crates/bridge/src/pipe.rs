//! Frames over two byte streams: those of `ssh HOST team-lead bridge --stdio`, or of any other pipe.
//!
//! Each side says first who it is and how far it has applied the frames of the other, then both send frames
//! and acknowledge those of the other. One JSON object a line.

use crate::transport::TransportError;
use protocol::{AppliedMark, Frame, HostId, MAX_FRAME_BYTES, MAX_FRAMES_UNDER_WAY};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{Mutex, mpsc, watch};
use tokio::time::timeout;

/// The version of what is said on the pipe.
const VERSION: u32 = 1;
/// How long the other side may take to say who it is: a login may ask for much.
const GREETING: Duration = Duration::from_secs(60);
/// The longest line: a frame with what is around it.
const LONGEST_LINE: u64 = MAX_FRAME_BYTES as u64 + 1024;

/// What a side says first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    pub version: u32,
    pub host: HostId,
    /// The name of the team.
    pub team: String,
    /// How far this side has applied the frames of the other. The one who calls does not know whom it will
    /// reach, and says it second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied: Option<AppliedMark>,
}

impl Hello {
    pub const fn new(host: HostId, team: String, applied: Option<AppliedMark>) -> Self {
        Self {
            version: VERSION,
            host,
            team,
            applied,
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Said {
    Hello(Hello),
    Frame(Frame),
    /// All frames up to this one are applied and synced.
    Applied(u64),
    /// This side is there. It is said when nothing else was for a while.
    Alive,
    /// This side does not go on.
    Refused(String),
}

type Shared<W> = Arc<Mutex<W>>;

/// A pipe on which both sides have yet to say who they are.
pub struct Pipe<R, W> {
    reader: BufReader<R>,
    writer: Shared<W>,
}

/// The half that sends.
pub struct PipeSender<W> {
    writer: Shared<W>,
    applied: watch::Receiver<u64>,
    heard: watch::Receiver<Instant>,
    end: watch::Receiver<Option<End>>,
}

/// The half that receives.
pub struct PipeReceiver<W> {
    writer: Shared<W>,
    frames: mpsc::Receiver<Frame>,
    end: watch::Receiver<Option<End>>,
}

/// Why nothing more comes.
#[derive(Debug, Clone)]
enum End {
    Ended(String),
    Refused(String),
}

impl From<End> for TransportError {
    fn from(end: End) -> Self {
        match end {
            End::Ended(why) => Self::Ended(why),
            End::Refused(why) => Self::Refused(why),
        }
    }
}

impl<R, W> Pipe<R, W>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    pub fn new(reader: R, writer: W) -> Self {
        Self {
            reader: BufReader::new(reader),
            writer: Arc::new(Mutex::new(writer)),
        }
    }

    /// Says who this side is.
    pub async fn greet(&mut self, hello: Hello) -> Result<(), TransportError> {
        say(&self.writer, &Said::Hello(hello)).await
    }

    /// Tells the other side why this one does not go on.
    pub async fn refuse(&mut self, why: &str) {
        // Whoever has gone does not need it.
        let _ = say(&self.writer, &Said::Refused(why.to_owned())).await;
    }

    /// Waits for the other side to say who it is.
    pub async fn greeting(&mut self) -> Result<Hello, TransportError> {
        let said = timeout(GREETING, hear(&mut self.reader)).await;
        let said = said.map_err(|_| TransportError::Ended("nobody answered".to_owned()))?;
        match said.map_err(TransportError::from)? {
            Said::Hello(hello) if hello.version == VERSION => Ok(hello),
            Said::Hello(hello) => Err(TransportError::Refused(format!(
                "the other side speaks version {}, this one {VERSION}: install the same team-lead on both",
                hello.version
            ))),
            Said::Refused(why) => Err(TransportError::Refused(why)),
            Said::Frame(_) | Said::Applied(_) | Said::Alive => Err(TransportError::Refused(
                "the other side did not say who it is".to_owned(),
            )),
        }
    }

    /// Both have said who they are: now frames are sent.
    pub fn split(self) -> (PipeSender<W>, PipeReceiver<W>) {
        let (to_frames, frames) = mpsc::channel(MAX_FRAMES_UNDER_WAY);
        let (to_applied, applied) = watch::channel(0);
        let (to_heard, heard) = watch::channel(Instant::now());
        let (to_end, end) = watch::channel(None);
        let mut reader = self.reader;
        tokio::spawn(async move {
            let why = loop {
                let said = hear(&mut reader).await;
                to_heard.send_replace(Instant::now());
                match said {
                    Ok(Said::Frame(frame)) => {
                        if to_frames.send(frame).await.is_err() {
                            return;
                        }
                    }
                    Ok(Said::Applied(seq)) => {
                        to_applied.send_replace(seq);
                    }
                    Ok(Said::Alive) => {}
                    Ok(Said::Refused(why)) => break End::Refused(why),
                    Ok(Said::Hello(_)) => {
                        break End::Refused("the other side began anew".to_owned());
                    }
                    Err(end) => break end,
                }
            };
            to_end.send_replace(Some(why));
        });
        let sender = PipeSender {
            writer: Arc::clone(&self.writer),
            applied,
            heard,
            end: end.clone(),
        };
        let receiver = PipeReceiver {
            writer: self.writer,
            frames,
            end,
        };
        (sender, receiver)
    }
}

impl<W: AsyncWrite + Unpin> PipeSender<W> {
    /// Tells the other side why this one does not go on.
    pub async fn refuse(&self, why: &str) {
        // Whoever has gone does not need it.
        let _ = say(&self.writer, &Said::Refused(why.to_owned())).await;
    }

    /// When the other side was heard last.
    pub(crate) fn heard(&self) -> Instant {
        *self.heard.borrow()
    }

    /// How far the other side has applied the frames.
    pub(crate) fn applied(&mut self) -> u64 {
        *self.applied.borrow_and_update()
    }

    /// Waits until the other side has applied more than [`Self::applied`] said last. Can be dropped at any time.
    pub(crate) async fn progress(&mut self) -> Result<(), TransportError> {
        tokio::select! {
            changed = self.applied.changed() => changed.map_err(|_| ended(&self.end)),
            end = wait_for_end(self.end.clone()) => Err(end),
        }
    }

    /// Tells the other side that this one is there.
    pub(crate) async fn keep_alive(&self) -> Result<(), TransportError> {
        say(&self.writer, &Said::Alive).await
    }

    /// Writes frames. What the other side has applied of them is heard later.
    pub(crate) async fn send(&self, frames: &[Frame]) -> Result<(), TransportError> {
        let mut lines = Vec::new();
        for frame in frames {
            encode(&Said::Frame(frame.clone()), &mut lines)?;
        }
        write(&self.writer, &lines).await
    }
}

impl<W: AsyncWrite + Unpin> PipeReceiver<W> {
    /// Waits for frames. Can be dropped at any time.
    pub(crate) async fn receive(&mut self) -> Result<Vec<Frame>, TransportError> {
        let Some(first) = self.frames.recv().await else {
            return Err(wait_for_end(self.end.clone()).await);
        };
        let mut frames = vec![first];
        while frames.len() < MAX_FRAMES_UNDER_WAY
            && let Ok(frame) = self.frames.try_recv()
        {
            frames.push(frame);
        }
        Ok(frames)
    }

    /// The frames up to the number `seq` are applied and synced: they need not be brought again.
    pub(crate) async fn acknowledge(&self, seq: u64) -> Result<(), TransportError> {
        say(&self.writer, &Said::Applied(seq)).await
    }
}

async fn wait_for_end(mut end: watch::Receiver<Option<End>>) -> TransportError {
    // Whether it was found or cannot come any more, it says what there is to say.
    let _ = end.wait_for(Option::is_some).await;
    ended(&end)
}

fn ended(end: &watch::Receiver<Option<End>>) -> TransportError {
    let found = end.borrow().clone();
    found.map_or_else(
        || TransportError::Ended("the other side has gone".to_owned()),
        TransportError::from,
    )
}

async fn say<W: AsyncWrite + Unpin>(writer: &Mutex<W>, said: &Said) -> Result<(), TransportError> {
    let mut line = Vec::new();
    encode(said, &mut line)?;
    write(writer, &line).await
}

fn lost(error: impl Into<std::io::Error>) -> TransportError {
    TransportError::Ended(error.into().to_string())
}

fn encode(said: &Said, lines: &mut Vec<u8>) -> Result<(), TransportError> {
    serde_json::to_writer(&mut *lines, said).map_err(lost)?;
    lines.push(b'\n');
    Ok(())
}

async fn write<W: AsyncWrite + Unpin>(
    writer: &Mutex<W>,
    lines: &[u8],
) -> Result<(), TransportError> {
    if lines.is_empty() {
        return Ok(());
    }
    let mut writer = writer.lock().await;
    writer.write_all(lines).await.map_err(lost)?;
    writer.flush().await.map_err(lost)
}

async fn hear<R: AsyncRead + Unpin>(reader: &mut BufReader<R>) -> Result<Said, End> {
    let mut line = Vec::new();
    let mut limited = reader.take(LONGEST_LINE);
    let read = limited.read_until(b'\n', &mut line).await;
    read.map_err(|error| End::Ended(error.to_string()))?;
    if !line.ends_with(b"\n") {
        return Err(match line.len() as u64 == LONGEST_LINE {
            true => End::Refused(format!("a line of more than {LONGEST_LINE} bytes came")),
            false => End::Ended("the other side has gone".to_owned()),
        });
    }
    serde_json::from_slice(&line)
        .map_err(|error| End::Refused(format!("what came is no frame: {error}")))
}
