//! The listener: connections with limits of number and time.

use crate::app::{App, router};
use crate::peer;
use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::{Sleep, sleep};

/// The most connections at a time. Further ones wait in the kernel.
const MAX_CONNECTIONS: usize = 600;
/// How long a client has for the head of a request.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// How long a client may take nothing of a reply.
const WRITE_TIME: Duration = Duration::from_secs(30);
/// The largest head of a request, and what is buffered of a reply.
const BUFFER: usize = 64 << 10;
/// How long to wait after the system has refused a connection.
const REFUSED: Duration = Duration::from_millis(100);

/// The whole reply to a command in a sandbox, of whose request nothing is read.
const NOT_SERVED: &[u8] = b"HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nContent-Length: 72\r\n\
    Connection: close\r\n\r\nCommands of members, and what looks like one, are not served this page.\n";

/// Serves until the process ends.
pub(crate) async fn serve(listener: TcpListener, app: Arc<App>) {
    let router = router(&app);
    let connections = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let Ok(permit) = Arc::clone(&connections).acquire_owned().await else {
            return;
        };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(_) => {
                // Descriptors may have run out; some are freed soon.
                sleep(REFUSED).await;
                continue;
            }
        };
        let router = router.clone();
        tokio::spawn(async move {
            connection(stream, router).await;
            drop(permit);
        });
    }
}

async fn connection(mut stream: TcpStream, router: Router) {
    if is_sandboxed(&stream).await {
        // Whoever does not take it misses nothing.
        let _ = stream.write_all(NOT_SERVED).await;
        return;
    }
    let _ = stream.set_nodelay(true);
    let io = TokioIo::new(TimedStream::new(stream));
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(BUFFER)
        .serve_connection(io, TowerToHyperService::new(router));
    // A connection that breaks concerns its client alone.
    let _ = served.await;
}

/// Whether the client is a command in the sandbox of a member.
async fn is_sandboxed(stream: &TcpStream) -> bool {
    let (Ok(peer), Ok(own)) = (stream.peer_addr(), stream.local_addr()) else {
        return true;
    };
    let looked = spawn_blocking(move || peer::is_sandboxed(peer, own)).await;
    looked.unwrap_or(true)
}

/// A connection that fails if its client takes nothing for too long.
struct TimedStream {
    stream: TcpStream,
    /// Runs while a write waits.
    limit: Option<Pin<Box<Sleep>>>,
}

impl TimedStream {
    const fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            limit: None,
        }
    }

    fn timed<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.limit = None;
            return written;
        }
        let limit = self
            .limit
            .get_or_insert_with(|| Box::pin(sleep(WRITE_TIME)));
        ready!(limit.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for TimedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for TimedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.timed(context, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.timed(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
