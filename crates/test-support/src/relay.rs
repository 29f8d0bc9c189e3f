//! A relay of TCP connections on the loopback address, whose network is as bad as a test wants it.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// How often a connection that waits looks again.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// What happens to what goes through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// Everything arrives at once.
    Good,
    /// Everything arrives so much later, and in small pieces.
    Slow(Duration),
    /// Nothing arrives, and nobody is told.
    Stalled,
    /// What is sent next arrives to its half, and then the connection is reset.
    HalfAndReset,
    /// Connections are reset at once, new ones too.
    Refused,
}

/// A relay to one address. It ends with the value.
#[derive(Debug)]
pub struct Relay {
    port: u16,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    network: Network,
    is_over: bool,
    /// Both ends of each connection.
    open: Vec<TcpStream>,
}

impl Relay {
    /// Begins to relay to `target`.
    pub fn start(target: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let state = Arc::new(Mutex::new(State {
            network: Network::Good,
            is_over: false,
            open: Vec::new(),
        }));
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if lock(&shared).is_over {
                    return;
                }
                // Whoever connects again finds out by itself what is wrong.
                let _ = relay(stream, target, &shared);
            }
        });
        Ok(Self { port, state })
    }

    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Changes the network, of open connections too.
    pub fn set(&self, network: Network) {
        let mut state = lock(&self.state);
        state.network = network;
        if network == Network::Refused {
            state.open.drain(..).for_each(|stream| reset(&stream));
        }
    }

    /// How many ends of connections there were since the last reset.
    pub fn ends(&self) -> usize {
        lock(&self.state).open.len()
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        let mut state = lock(&self.state);
        state.is_over = true;
        state.open.drain(..).for_each(|stream| reset(&stream));
        drop(state);
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends a connection as a machine does that knows nothing of it.
fn reset(stream: &TcpStream) {
    let at_once = libc::linger {
        l_onoff: 1,
        l_linger: 0,
    };
    let (value, size) = ((&raw const at_once).cast(), size_of_val(&at_once));
    let size = libc::socklen_t::try_from(size).unwrap_or(0);
    // SAFETY: the value is read before the call returns, and is as long as it is said to be.
    unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_LINGER,
            value,
            size,
        );
    }
    let _ = stream.shutdown(Shutdown::Both);
}

fn relay(near: TcpStream, target: SocketAddr, state: &Arc<Mutex<State>>) -> io::Result<()> {
    if lock(state).network == Network::Refused {
        reset(&near);
        return Ok(());
    }
    let far = TcpStream::connect(target)?;
    for stream in [&near, &far] {
        stream.set_nodelay(true)?;
        lock(state).open.push(stream.try_clone()?);
    }
    for (mut from, mut to) in [(near.try_clone()?, far.try_clone()?), (far, near)] {
        let state = Arc::clone(state);
        thread::spawn(move || {
            let _ = carry(&mut from, &mut to, &state);
            reset(&from);
            reset(&to);
        });
    }
    Ok(())
}

/// Carries bytes one way, until the connection ends.
fn carry(from: &mut TcpStream, to: &mut TcpStream, state: &Mutex<State>) -> io::Result<()> {
    let mut buffer = [0; 16 << 10];
    loop {
        let count = from.read(&mut buffer)?;
        let bytes = buffer.get(..count).unwrap_or_default();
        if bytes.is_empty() {
            return Ok(());
        }
        loop {
            let network = lock(state).network;
            match network {
                Network::Good => to.write_all(bytes)?,
                Network::Slow(delay) => {
                    thread::sleep(delay);
                    for part in bytes.chunks(1000) {
                        to.write_all(part)?;
                        thread::sleep(Duration::from_millis(1));
                    }
                }
                Network::Stalled => {
                    thread::sleep(LOOK_EVERY);
                    if lock(state).is_over {
                        return Ok(());
                    }
                    continue;
                }
                Network::HalfAndReset => {
                    return to.write_all(bytes.get(..count / 2).unwrap_or_default());
                }
                Network::Refused => return Ok(()),
            }
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that sends back what it gets.
    fn echo() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let place = listener.local_addr().expect("a port");
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                thread::spawn(move || {
                    let mut reader = stream.try_clone()?;
                    let mut writer = stream;
                    io::copy(&mut reader, &mut writer)
                });
            }
        });
        place
    }

    fn connect(relay: &Relay) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", relay.port())).expect("the relay");
        let limit = Some(Duration::from_secs(60));
        stream.set_read_timeout(limit).expect("a timeout");
        stream
    }

    fn said(stream: &mut TcpStream, text: &str) -> String {
        let _ = stream.write_all(text.as_bytes());
        let (mut found, mut part) = (Vec::new(), [0; 64]);
        while found.len() < text.len() {
            match stream.read(&mut part) {
                Ok(0) | Err(_) => break,
                Ok(count) => found.extend_from_slice(part.get(..count).unwrap_or_default()),
            }
        }
        String::from_utf8_lossy(&found).into_owned()
    }

    #[test]
    fn what_goes_through_arrives_whole_late_half_or_not_at_all() {
        let relay = Relay::start(echo()).expect("a relay");
        let mut stream = connect(&relay);
        assert_eq!(said(&mut stream, "hello"), "hello");
        relay.set(Network::Slow(Duration::from_millis(20)));
        assert_eq!(said(&mut stream, "slowly"), "slowly");
        relay.set(Network::HalfAndReset);
        let half = said(&mut stream, "half of it");
        assert!(half.len() < "half of it".len(), "{half}");
        relay.set(Network::Refused);
        assert_eq!(said(&mut connect(&relay), "no"), "");
        relay.set(Network::Stalled);
        let mut stream = connect(&relay);
        let waiting = thread::spawn(move || said(&mut stream, "later"));
        thread::sleep(Duration::from_millis(100));
        assert!(!waiting.is_finished());
        relay.set(Network::Good);
        assert_eq!(waiting.join().expect("a text"), "later");
    }
}
