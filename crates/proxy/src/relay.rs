//! Copies bytes between a client and a server.

use std::io;
use std::sync::Mutex;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::time::{Instant, sleep_until};

const CHUNK: usize = 32 << 10;

/// When a byte moved last.
struct Activity(Mutex<Instant>);

impl Activity {
    fn new() -> Self {
        Self(Mutex::new(Instant::now()))
    }

    fn note(&self) {
        *self.lock() = Instant::now();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Instant> {
        self.0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Returns when no byte has moved for this long.
    async fn idle(&self, limit: Duration) {
        loop {
            let end = *self.lock() + limit;
            if end <= Instant::now() {
                return;
            }
            sleep_until(end).await;
        }
    }
}

/// Sends `first` to the server and copies both ways until both sides have ended.
pub(crate) async fn tunnel(
    client: &mut TcpStream,
    server: &mut TcpStream,
    first: &[u8],
    idle: Duration,
) {
    let activity = Activity::new();
    let (mut from_client, mut to_client) = client.split();
    let (mut from_server, mut to_server) = server.split();
    let both = async {
        let up = async {
            to_server.write_all(first).await?;
            copy(&mut from_client, &mut to_server, &activity).await
        };
        tokio::try_join!(up, copy(&mut from_server, &mut to_client, &activity))
    };
    // The connections are closed whichever way it ends.
    tokio::select! {
        _ = both => {}
        () = activity.idle(idle) => {}
    }
}

/// Sends `first` and then `body` bytes of the client to the server, and everything back until the server ends. Nothing that a
/// client sends behind the body reaches the server: it would be taken for another request.
pub(crate) async fn exchange(
    client: &mut TcpStream,
    server: &mut TcpStream,
    first: &[u8],
    body: u64,
    idle: Duration,
) {
    let activity = Activity::new();
    let (mut from_client, mut to_client) = client.split();
    let (mut from_server, mut to_server) = server.split();
    let request = async {
        to_server.write_all(first).await?;
        copy_at_most(&mut from_client, &mut to_server, body, &activity).await?;
        // A client that is done may close its side; one that sends more is cut off.
        match from_client.read(&mut [0]).await? {
            0 => std::future::pending().await,
            _ => Err::<(), _>(io::Error::from(io::ErrorKind::InvalidData)),
        }
    };
    tokio::select! {
        _ = request => {}
        _ = copy(&mut from_server, &mut to_client, &activity) => {}
        () = activity.idle(idle) => {}
    }
}

async fn copy(
    from: &mut ReadHalf<'_>,
    to: &mut WriteHalf<'_>,
    activity: &Activity,
) -> io::Result<()> {
    copy_at_most(from, to, u64::MAX, activity).await?;
    to.shutdown().await
}

/// Copies up to the end, but at most so many bytes.
async fn copy_at_most(
    from: &mut ReadHalf<'_>,
    to: &mut WriteHalf<'_>,
    mut most: u64,
    activity: &Activity,
) -> io::Result<()> {
    let mut buffer = vec![0; CHUNK];
    while most > 0 {
        let room = usize::try_from(most).unwrap_or(CHUNK).min(CHUNK);
        let part = buffer.get_mut(..room).unwrap_or_default();
        let count = from.read(part).await?;
        if count == 0 {
            break;
        }
        activity.note();
        to.write_all(part.get(..count).unwrap_or_default()).await?;
        activity.note();
        most = most.saturating_sub(count as u64);
    }
    Ok(())
}
