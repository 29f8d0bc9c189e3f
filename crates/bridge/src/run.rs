//! Moves frames both ways between the core and a transport, until the connection ends.

use crate::core::{ApplyError, CollectError, Core, OpenError, REST_AFTER, SettleError};
use crate::judge::{StreamError, check_peer_mark};
use crate::pipe::{Hello, Pipe, PipeReceiver, PipeSender};
use crate::transport::TransportError;
use protocol::{Extra, Frame, HostId, MAX_FRAMES_UNDER_WAY, Peer};
use std::cell::RefCell;
use std::time::{Duration, Instant};
use teamdir::{PathError, RosterError, TeamFileError, WatchChoice, Watcher, now};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Notify;
use tokio::time::sleep_until;
use tracing::info;

/// How long a bridge sleeps at most before it looks at the folder again.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Why a bridge does not move frames any more.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error(transparent)]
    Transport(#[from] TransportError),
    #[error(transparent)]
    Collect(#[from] CollectError),
    #[error(transparent)]
    Apply(#[from] ApplyError),
    #[error(transparent)]
    Outbox(#[from] PathError),
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Stream(#[from] StreamError),
    #[error(transparent)]
    Mark(#[from] TeamFileError),
    #[error(transparent)]
    Roster(#[from] RosterError),
    #[error(transparent)]
    Settle(#[from] SettleError),
    #[error(
        "the team there is called '{there}' and this one '{here}': only teams of the same name are linked"
    )]
    OtherTeam { here: String, there: String },
    #[error(
        "the lead of this team is at home on the host '{known}', and '{caller}' calls: let it call '{known}' instead"
    )]
    OtherLead { known: HostId, caller: HostId },
}

impl RunError {
    /// Whether a person has to do something before a new connection may work.
    pub const fn is_refusal(&self) -> bool {
        match self {
            Self::Transport(TransportError::Refused(_))
            | Self::Apply(ApplyError::Stream(_))
            | Self::Collect(CollectError::Runs { .. })
            | Self::Open(_)
            | Self::Stream(_)
            | Self::OtherTeam { .. }
            | Self::OtherLead { .. } => true,
            // A lost connection, or a disk that is full.
            Self::Transport(TransportError::Ended(_))
            | Self::Apply(_)
            | Self::Collect(_)
            | Self::Outbox(_)
            | Self::Mark(_)
            | Self::Roster(_)
            | Self::Settle(_) => false,
        }
    }
}

/// Which side of a pipe this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// It has called, and the lead is at home on its host.
    Caller,
    /// It was called.
    Called,
}

/// Moves frames over a pipe until it ends. `address` is how the other host is called.
pub async fn run_pipe<R, W>(
    core: &mut Core,
    side: Side,
    address: Option<&str>,
    (reader, writer): (R, W),
) -> RunError
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let mut pipe = Pipe::new(reader, writer);
    let peer = match greet(core, side, &mut pipe).await {
        Ok(peer) => peer,
        Err(error) => {
            if error.is_refusal() && !matches!(error, RunError::Transport(_)) {
                pipe.refuse(&error.to_string()).await;
            }
            return error;
        }
    };
    show(core, &peer, address, None);
    if let Some(address) = address {
        info!("linked with the host {peer} at {address}");
    }
    let (mut sender, mut receiver) = pipe.split();
    let error = run(core, &peer, &mut sender, &mut receiver).await;
    if error.is_refusal() && !matches!(error, RunError::Transport(_)) {
        sender.refuse(&error.to_string()).await;
    }
    show(core, &peer, address, Some(&error));
    error
}

fn show(core: &Core, peer: &HostId, address: Option<&str>, problem: Option<&RunError>) {
    core.show_peer(
        peer,
        &Peer {
            address: address.map(str::to_owned),
            reachable: problem.is_none(),
            since: Some(now()),
            problem: problem.map(ToString::to_string),
            extra: Extra::new(),
        },
    );
}

/// Finds out who the other side is, and whether the streams fit.
async fn greet<R, W>(core: &mut Core, side: Side, pipe: &mut Pipe<R, W>) -> Result<HostId, RunError>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let team = core.team().roster()?.team_name.0.clone();
    let me = core.me().clone();
    let hello = |applied| Hello::new(me.clone(), team.clone(), applied);
    if side == Side::Caller {
        pipe.greet(hello(None)).await?;
    }
    let mut there = pipe.greeting().await?;
    if there.team != team {
        return Err(RunError::OtherTeam {
            here: team,
            there: there.team,
        });
    }
    let peer = there.host.clone();
    core.meet(&peer)?;
    if side == Side::Called {
        let known = core.team().roster()?.lead_host.clone();
        if let Some(known) = known.filter(|known| *known != peer) {
            let caller = peer;
            return Err(RunError::OtherLead { known, caller });
        }
        core.follow_lead(&peer)?;
    }
    pipe.greet(hello(core.settled(&peer)?)).await?;
    if side == Side::Called {
        there = pipe.greeting().await?;
    }
    if let Some(outbox) = core.outbox(&peer) {
        let mark = outbox.mark();
        let sent = (&mark.epoch, mark.accepted, outbox.last());
        check_peer_mark((core.me(), &peer), sent, there.applied.as_ref())?;
    }
    Ok(peer)
}

/// Moves frames both ways between this host and `peer` until something ends it.
async fn run<W: AsyncWrite + Unpin>(
    core: &mut Core,
    peer: &HostId,
    sender: &mut PipeSender<W>,
    receiver: &mut PipeReceiver<W>,
) -> RunError {
    let mut watcher = Watcher::new(&core.team().layout().inbox_dir(), WatchChoice::Auto);
    // Both ways use the core, and neither holds it while it waits.
    let core = RefCell::new(core);
    // What was applied may have an answer.
    let answers = Notify::new();
    // What was applied may be settled by those who send, and is to be acknowledged then.
    let settles = Notify::new();
    let outgoing = async {
        let changes = watcher.changes();
        let (mut sent, mut greeted) = (0, Instant::now());
        let (mut has_news, mut look) = (true, Instant::now());
        loop {
            if has_news {
                core.borrow_mut().collect_mail()?;
                look = look.min(Instant::now() + REST_AFTER);
            }
            if look <= Instant::now() || core.borrow().is_behind() {
                // A missed notification costs this long.
                look = Instant::now() + LOOK_EVERY;
                core.borrow().watch(&mut watcher);
                core.borrow_mut().hear_at(peer, sender.heard());
                core.borrow_mut().collect()?;
            }
            send_new(&core, peer, &mut sent, sender).await?;
            if greeted.elapsed() >= LOOK_EVERY {
                greeted = Instant::now();
                sender.keep_alive().await?;
            }
            core.borrow_mut().settle_if_due()?;
            settles.notify_one();
            let settle = core.borrow_mut().settle_at();
            let wake = settle.map_or(look, |settle| settle.min(look));
            has_news = tokio::select! {
                () = changes.changed() => true,
                () = answers.notified() => false,
                progress = sender.progress() => {
                    progress?;
                    let applied = sender.applied();
                    if let Some(mut outbox) = core.borrow().outbox(peer) {
                        outbox.accept(applied)?;
                    }
                    false
                }
                () = sleep_until(wake.into()) => false,
            };
        }
    };
    let ended: Result<(), RunError> = tokio::select! {
        ended = outgoing => ended,
        ended = take_frames(&core, peer, receiver, (&answers, &settles)) => ended,
    };
    match ended {
        Err(error) => error,
        Ok(()) => TransportError::Ended("it was given up".to_owned()).into(),
    }
}

/// Applies what comes, and acknowledges what is settled, here or by those who send.
async fn take_frames<W: AsyncWrite + Unpin>(
    core: &RefCell<&mut Core>,
    peer: &HostId,
    receiver: &mut PipeReceiver<W>,
    (answers, settles): (&Notify, &Notify),
) -> Result<(), RunError> {
    let mut acknowledged = None;
    loop {
        let settled = core.borrow_mut().settled(peer)?.map(|mark| mark.seq);
        if let Some(seq) = settled.filter(|seq| acknowledged != Some(*seq)) {
            receiver.acknowledge(seq).await?;
            acknowledged = settled;
        }
        let settle = core.borrow_mut().settle_at();
        tokio::select! {
            frames = receiver.receive() => {
                apply(&mut core.borrow_mut(), peer, &frames?)?;
                answers.notify_one();
            }
            () = until(settle) => core.borrow_mut().settle_if_due()?,
            () = settles.notified() => {}
        }
    }
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}

fn apply(core: &mut Core, peer: &HostId, frames: &[Frame]) -> Result<(), RunError> {
    if let Some(frame) = frames.iter().find(|frame| frame.from != *peer) {
        let why = format!("a frame of '{}' came from '{peer}'", frame.from);
        return Err(TransportError::Refused(why).into());
    }
    Ok(core.apply(frames)?)
}

/// Sends the next frames to a host, after the number `sent`.
async fn send_new<W: AsyncWrite + Unpin>(
    core: &RefCell<&mut Core>,
    peer: &HostId,
    sent: &mut u64,
    sender: &mut PipeSender<W>,
) -> Result<(), TransportError> {
    let frames = next_frames(&core.borrow(), peer, *sent);
    if let Some(last) = frames.last() {
        *sent = last.seq;
        sender.send(&frames).await?;
    }
    Ok(())
}

/// The next frames to a host, after those that were sent on this connection.
fn next_frames(core: &Core, peer: &HostId, sent: u64) -> Vec<Frame> {
    let Some(outbox) = core.outbox(peer) else {
        return Vec::new();
    };
    let under_way = outbox.pending().take(MAX_FRAMES_UNDER_WAY);
    let next = under_way.filter(|frame| frame.seq > sent);
    next.cloned().collect()
}
