//! Sleeping until there is something to do.

use member::MemberRuntime;
use protocol::{Party, Recipient};
use rustix::event::epoll;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};
use teamdir::POLL_INTERVAL;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// How long a sleep lasts at most. Notifications are reliable where they work; this is the net
/// below them.
const NET: Duration = Duration::from_secs(120);

/// Sleeps until a file of this member changes, one of the processes in `others` ends, or `until`.
pub(crate) async fn rest(
    runtime: &MemberRuntime,
    others: &[processes::ProcessHandle],
    until: Option<Instant>,
) {
    let settled = match runtime.settle() {
        Ok(settled) if settled.look_again => return,
        Ok(settled) => settled.wake_at,
        Err(error) => {
            runtime.note(&format!("the mailbox could not be tidied up: {error}"));
            Some(Instant::now() + Duration::from_secs(1))
        }
    };
    let net = Instant::now() + NET;
    let until = [settled, until]
        .into_iter()
        .flatten()
        .fold(net, Instant::min);
    match gather(runtime, others) {
        Ok(news) => sleep_on(runtime, &news, until).await,
        // No descriptor to wait for: the files have to be looked at.
        Err(_) => look_again(runtime, others, until).await,
    }
}

async fn sleep_on(runtime: &MemberRuntime, news: &AsyncFd<OwnedFd>, until: Instant) {
    tokio::select! {
        _ = news.readable() => {
            runtime.has_news();
        }
        () = tokio::time::sleep_until(until.into()) => {}
    }
}

async fn look_again(runtime: &MemberRuntime, others: &[processes::ProcessHandle], until: Instant) {
    loop {
        let now = Instant::now();
        if now >= until {
            return;
        }
        tokio::time::sleep_until((now + POLL_INTERVAL).min(until).into()).await;
        if runtime.has_news() || others.iter().any(processes::ProcessHandle::is_gone) {
            return;
        }
    }
}

/// One descriptor that is readable as soon as one of many is.
fn gather(
    runtime: &MemberRuntime,
    others: &[processes::ProcessHandle],
) -> io::Result<AsyncFd<OwnedFd>> {
    let files = runtime
        .descriptor()
        .ok_or_else(|| io::Error::from(io::ErrorKind::Unsupported))?;
    let all = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let data = epoll::EventData::new_u64(0);
    epoll::add(&all, &files, data, epoll::EventFlags::IN)?;
    for other in others {
        epoll::add(&all, other.as_fd(), data, epoll::EventFlags::IN)?;
    }
    // SAFETY: the value owns the descriptor it stands for and never gives it away, so it is the same
    // open file for as long as it is registered.
    let registered = unsafe { AsyncFd::register_with_interest(all, Interest::READABLE) };
    Ok(registered?)
}

/// The owners of tasks in progress, other than this member.
pub(crate) struct Owners {
    /// Those that live: their end would free a task that somebody else could take.
    pub(crate) alive: Vec<processes::ProcessHandle>,
    /// Whether one of them is gone and still has its task.
    pub(crate) is_one_gone: bool,
}

pub(crate) fn owners(runtime: &MemberRuntime) -> Owners {
    let mut owners = Owners {
        alive: Vec::new(),
        is_one_gone: false,
    };
    let Ok(look) = team::list(runtime.team()) else {
        return owners;
    };
    let mut known: Vec<Recipient> = Vec::new();
    for task in look.board.tasks() {
        let Some(Party::Member(name)) = &task.owner.0 else {
            continue;
        };
        let owner = Recipient::Member(name.clone());
        let in_progress = task.status == protocol::TaskStatus::InProgress;
        if !in_progress || owner == *runtime.owner() || known.contains(&owner) {
            continue;
        }
        match processes::ProcessHandle::of(runtime.team(), &owner) {
            Ok(Some(process)) => owners.alive.push(process),
            Ok(None) => owners.is_one_gone = true,
            // It lives, and cannot be watched: the net finds out.
            Err(_) => {}
        }
        known.push(owner);
    }
    owners
}
