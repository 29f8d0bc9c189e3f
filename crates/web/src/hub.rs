//! Tells the open pages what changes, from one thread that reads the team for all of them.
//!
//! The thread sleeps in the notifications that `watch` uses, and is there only while a page is open: a server
//! that nobody looks at has nothing that wakes it. A page that reads too slowly loses what does not fit into its
//! queue, and gets the whole state again once it has caught up; so no page costs more than its queue.

mod event_row;
mod reader;

use protocol::AgentName;
use reader::Reader;
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use teamdir::TeamDir;
use tokio::sync::mpsc;

pub(crate) use event_row::event_row;

/// How many messages wait for a page at most.
const QUEUE: usize = 64;
/// A read of the team may take this part of the time.
const SHARE: u32 = 4;
/// What keeps a connection alive through which nothing was sent for a while.
const STILL_HERE: &str = ": still here\n\n";

/// Whether a session may go on.
pub(crate) type IsOpen = dyn Fn(&str) -> bool + Send + Sync;

pub(crate) struct Hub {
    team: TeamDir,
    /// The file whose changes may end sessions.
    sessions_file: std::path::PathBuf,
    is_open: Arc<IsOpen>,
    thread: Arc<Mutex<Option<Control>>>,
}

/// How the thread is spoken to.
struct Control {
    subscribe: Sender<Subscriber>,
    waker: Arc<UnixStream>,
}

/// An open page, as the thread knows it.
struct Subscriber {
    /// The member whose conversation it shows.
    member: Option<AgentName>,
    session: String,
    queue: mpsc::Sender<Arc<str>>,
    /// Whether it needs the whole state, because it is new or has missed something.
    needs_all: bool,
    /// Set when it has missed something, and reset when it has taken all that was there.
    is_behind: Arc<AtomicBool>,
}

impl Subscriber {
    /// Whether it gets the whole state now.
    fn takes_all(&self) -> bool {
        self.needs_all && self.queue.capacity() == QUEUE
    }
}

/// The messages for an open page.
pub(crate) struct Subscription {
    pub(crate) messages: mpsc::Receiver<Arc<str>>,
    is_behind: Arc<AtomicBool>,
    waker: Arc<UnixStream>,
}

impl Hub {
    pub(crate) fn new(
        team: TeamDir,
        sessions_file: std::path::PathBuf,
        is_open: Arc<IsOpen>,
    ) -> Self {
        Self {
            team,
            sessions_file,
            is_open,
            thread: Arc::default(),
        }
    }

    /// The messages for a page of a session that shows the conversation of `member`.
    pub(crate) fn subscribe(
        &self,
        member: Option<AgentName>,
        session: &str,
    ) -> io::Result<Subscription> {
        let (queue, messages) = mpsc::channel(QUEUE);
        let is_behind = Arc::new(AtomicBool::new(false));
        let subscriber = Subscriber {
            member,
            session: session.to_owned(),
            queue,
            needs_all: true,
            is_behind: Arc::clone(&is_behind),
        };
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        let control = match thread.take() {
            Some(control) => control,
            None => self.start()?,
        };
        // The thread ends only under the lock that is held here, so it gets this.
        let _ = control.subscribe.send(subscriber);
        let waker = Arc::clone(&control.waker);
        wake(&waker);
        *thread = Some(control);
        Ok(Subscription {
            messages,
            is_behind,
            waker,
        })
    }

    fn start(&self) -> io::Result<Control> {
        let (wake, waker) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        waker.set_nonblocking(true)?;
        let (subscribe, subscribers) = channel();
        let reader = Reader::new(&self.team, &self.sessions_file)?;
        let work = Work {
            reader,
            wake,
            new: subscribers,
            subscribers: Vec::new(),
            is_open: Arc::clone(&self.is_open),
        };
        let slot = Arc::clone(&self.thread);
        thread::Builder::new()
            .name("hub".to_owned())
            .spawn(move || work.run(&slot))?;
        Ok(Control {
            subscribe,
            waker: Arc::new(waker),
        })
    }
}

impl Subscription {
    /// Says that the page has taken all messages. If it has missed some, it now gets the whole state.
    pub(crate) fn has_caught_up(&self) {
        if self.is_behind.swap(false, Ordering::Relaxed) {
            wake(&self.waker);
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.messages.close();
        wake(&self.waker);
    }
}

fn wake(waker: &UnixStream) {
    // A full socket wakes the thread anyway.
    let _ = (&*waker).write(&[1]);
}

struct Work {
    reader: Reader,
    wake: UnixStream,
    new: Receiver<Subscriber>,
    subscribers: Vec<Subscriber>,
    is_open: Arc<IsOpen>,
}

impl Work {
    fn run(mut self, slot: &Mutex<Option<Control>>) {
        let mut read_at_once = true;
        // Members may have died while nobody looked.
        self.reader.repair();
        loop {
            self.accept();
            if self.subscribers.is_empty() && self.is_over(slot) {
                return;
            }
            if read_at_once || self.subscribers.iter().any(Subscriber::takes_all) {
                self.read_and_tell();
            }
            let limit = self.reader.time_left();
            let Ok(woken) = self.reader.watch.wait(&[self.wake.as_fd()], limit) else {
                // Without notifications nothing can be told; the pages connect again.
                self.subscribers.clear();
                continue;
            };
            let mut bytes = [0; 64];
            while let Ok(1..) = (&self.wake).read(&mut bytes) {}
            if woken.deaths {
                self.reader.repair();
            }
            read_at_once = woken.files || woken.deaths || self.reader.may_end_requests();
        }
    }

    fn accept(&mut self) {
        self.subscribers.extend(self.new.try_iter());
        let is_open = &self.is_open;
        self.subscribers
            .retain(|page| !page.queue.is_closed() && is_open(&page.session));
    }

    /// Ends the thread, unless a page came just now.
    fn is_over(&mut self, slot: &Mutex<Option<Control>>) -> bool {
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        self.subscribers.extend(self.new.try_iter());
        if self.subscribers.is_empty() {
            *slot = None;
            return true;
        }
        false
    }

    fn read_and_tell(&mut self) {
        let start = Instant::now();
        if self.reader.may_end_requests() {
            self.reader.repair();
        }
        let members = self
            .subscribers
            .iter()
            .filter_map(|page| page.member.clone());
        let news = self.reader.read(&members.collect());
        let took = start.elapsed();
        self.reader
            .watch
            .set_pause((took * (SHARE - 1)).clamp(overview::PAUSE, Duration::from_secs(5)));
        let mut whole = BTreeMap::new();
        for page in &mut self.subscribers {
            let mut messages = match (page.needs_all, page.takes_all()) {
                (true, true) => {
                    let all = whole.entry(page.member.clone());
                    let all = all.or_insert_with(|| self.reader.everything(page.member.as_ref()));
                    vec![Arc::clone(all)]
                }
                // It is still behind.
                (true, false) => continue,
                (false, _) => news.of(page.member.as_ref()),
            };
            if messages.is_empty() && news.is_regular {
                messages.push(STILL_HERE.into());
            }
            let sent = messages
                .into_iter()
                .try_for_each(|message| page.queue.try_send(message));
            page.needs_all = sent.is_err();
            page.is_behind.store(page.needs_all, Ordering::Relaxed);
        }
    }
}
