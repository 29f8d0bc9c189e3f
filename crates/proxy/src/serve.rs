//! Accepts clients, and handles each of them.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::connect::{ConnectError, connect};
use crate::request::{BadRequest, Request, parse};
use crate::respond::{ESTABLISHED, bad_request, no_connection, response};
use crate::{Policy, Refusals, relay};

/// How long to wait after an accept that failed because descriptors or memory ran out.
const PAUSE: Duration = Duration::from_millis(100);
/// How long a client that was refused may go on sending.
const LINGER: Duration = Duration::from_secs(1);
/// The most bytes that are read of what it sends.
const LINGER_BYTES: u64 = 1 << 20;

/// What all connections share.
pub(crate) struct Shared {
    pub(crate) policy: Policy,
    pub(crate) refused: Refusals,
}

/// Serves until `stopped`, and then ends all connections.
pub(crate) async fn serve(
    listener: TcpListener,
    shared: Arc<Shared>,
    stopped: oneshot::Receiver<()>,
) {
    let free = Arc::new(Semaphore::new(shared.policy.limits.connections));
    let mut connections = JoinSet::new();
    let accept = async {
        // The semaphore is never closed.
        while let Ok(permit) = Arc::clone(&free).acquire_owned().await {
            let Ok((client, _)) = listener.accept().await else {
                sleep(PAUSE).await;
                continue;
            };
            let shared = Arc::clone(&shared);
            connections.spawn(async move {
                // An error concerns only this connection, which ends here.
                let _ = handle(client, &shared).await;
                drop(permit);
            });
            while connections.try_join_next().is_some() {}
        }
    };
    tokio::select! {
        () = accept => {}
        _ = stopped => {}
    }
}

async fn handle(mut client: TcpStream, shared: &Shared) -> io::Result<()> {
    let policy = &shared.policy;
    let limits = policy.limits;
    // Small packets are sent at once.
    client.set_nodelay(true)?;
    let read = timeout(limits.head, read_request(&mut client, limits.head_bytes)).await;
    let Ok(read) = read else {
        return refuse(client, "408 Request Timeout", "the request did not arrive").await;
    };
    let (request, rest) = match read? {
        Ok(read) => read,
        Err(error) => return refuse(client, bad_request(&error), &error.to_string()).await,
    };
    let to = match &request {
        Request::Tunnel { to } | Request::Forward { to, .. } => to,
    };
    let mut server = match connect(to, &policy.hosts, limits.connect).await {
        Ok(server) => server,
        Err(error) => {
            let mut text = error.to_string();
            if let ConnectError::Refused(refusal) = &error {
                shared.refused.add(refusal);
                text = format!("{text}\n{}", (policy.advice)(refusal));
            }
            return refuse(client, no_connection(&error), &text).await;
        }
    };
    server.set_nodelay(true)?;
    match request {
        Request::Tunnel { .. } => {
            client.write_all(ESTABLISHED).await?;
            relay::tunnel(&mut client, &mut server, &rest, limits.idle).await;
        }
        Request::Forward { head, body, .. } => {
            let Some(left) = body.checked_sub(rest.len() as u64) else {
                let text = BadRequest::Length.to_string();
                return refuse(client, bad_request(&BadRequest::Length), &text).await;
            };
            let first = [head, rest].concat();
            relay::exchange(&mut client, &mut server, &first, left, limits.idle).await;
        }
    }
    Ok(())
}

type Read = Result<(Request, Vec<u8>), BadRequest>;

/// Reads one head. Returns what came after it too.
async fn read_request(client: &mut TcpStream, most: usize) -> io::Result<Read> {
    let mut bytes = Vec::new();
    loop {
        match parse(&bytes) {
            Ok(Some((request, length))) => {
                return Ok(Ok((request, bytes.split_off(length))));
            }
            Ok(None) if bytes.len() >= most => return Ok(Err(BadRequest::TooLong)),
            Ok(None) => {}
            Err(error) => return Ok(Err(error)),
        }
        if client.read_buf(&mut bytes).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

/// Answers and closes. What the client still sends is read for a moment: a connection that is closed
/// with unread bytes is reset, and the client may lose the answer.
async fn refuse(mut client: TcpStream, status: &str, text: &str) -> io::Result<()> {
    client.write_all(&response(status, text)).await?;
    client.shutdown().await?;
    let mut rest = client.take(LINGER_BYTES);
    let drained = timeout(LINGER, tokio::io::copy(&mut rest, &mut tokio::io::sink())).await;
    drained.map_or(Ok(()), |copied| copied.map(drop))
}
