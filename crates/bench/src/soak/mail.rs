//! The model of the teammates, which knows every message, and the lead's inbox.

use super::now;
use protocol::Recipient;
use serde_json::json;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use teamdir::{MemberSession, TeamDir, WatchChoice};
use test_support::llm_server::{CapturedRequest, ServerReply};

/// The window that the model says it has, in tokens.
const WINDOW: u64 = 12_000;
/// What the text of a message begins with.
const MARK: &str = "soak-";

/// All messages of a run, and the model that reads them.
#[derive(Debug)]
pub(super) struct Mail {
    teammates: usize,
    sent: AtomicU64,
    compactions: AtomicU64,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    /// The agents that know the size of the window.
    informed: HashSet<String>,
    numbers: HashSet<u64>,
    times: Vec<f64>,
}

/// A message as its text says it.
#[derive(Debug, PartialEq, Eq)]
struct SoakMessage<'a> {
    number: u64,
    sent_at: u64,
    from: &'a str,
}

impl Mail {
    pub(super) fn new(teammates: usize) -> Self {
        Self {
            teammates,
            sent: AtomicU64::new(0),
            compactions: AtomicU64::new(0),
            seen: Mutex::default(),
        }
    }

    /// The text of the next message.
    pub(super) fn next(&self, from: &str) -> String {
        let number = self.sent.fetch_add(1, Ordering::SeqCst);
        format!("{MARK}{number}-{}-{from}", now())
    }

    pub(super) fn sent(&self) -> u64 {
        self.sent.load(Ordering::SeqCst)
    }

    pub(super) fn compactions(&self) -> u64 {
        self.compactions.load(Ordering::SeqCst)
    }

    /// How many messages no model has been shown yet.
    pub(super) fn missing(&self) -> u64 {
        let seen = self.seen().numbers.len() as u64;
        self.sent().saturating_sub(seen)
    }

    /// How long the messages took that were seen since the last call.
    pub(super) fn take_times(&self) -> Vec<f64> {
        std::mem::take(&mut self.seen().times)
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the model answers: to the first request of an agent, that it is too long; to others a
    /// turn, with the size of the request reported as four bytes a token.
    pub(super) fn answer(&self, request: &CapturedRequest) -> ServerReply {
        let arrived = now();
        let size = request.raw_body().len() as u64 / 4;
        // What is summarised is in other requests too.
        if request.asks_for_summary() {
            self.compactions.fetch_add(1, Ordering::SeqCst);
            let summary = ServerReply::summary("Mail came in and was passed on. Nothing is open.");
            return summary.usage(size, 20, 0, 0);
        }
        let agent = crate::measure::agent(request);
        if self.seen().informed.insert(agent.clone()) {
            return too_long();
        }
        let turn = self.turn(request, &agent, arrived);
        turn.usage(size, 20, 0, 0)
    }

    /// The model passes on what a person wrote, once, and else ends its turn.
    fn turn(&self, request: &CapturedRequest, agent: &str, arrived: u64) -> ServerReply {
        let mut seen = self.seen();
        let text = request.last_text();
        let mut is_new = false;
        for message in messages(&text) {
            if seen.numbers.insert(message.number) {
                let took = arrived.saturating_sub(message.sent_at);
                seen.times.push(took as f64 / 1e9);
                is_new |= message.from == "person";
            }
        }
        drop(seen);
        if !is_new {
            return ServerReply::text("Done.");
        }
        let number: usize = agent.trim_start_matches('m').parse().unwrap_or(0);
        let to = format!("m{:03}", (number + 1) % self.teammates);
        let content = self.next("model");
        ServerReply::calls([("send_message", json!({"to": to, "content": content}))])
    }
}

/// A refusal as some servers send it, with the size of the window.
fn too_long() -> ServerReply {
    let error = json!({
        "type": "invalid_request_error",
        "message": format!("prompt is too long: the window has {WINDOW} tokens"),
        "n_ctx": WINDOW,
    });
    let body = json!({"type": "error", "error": error}).to_string();
    ServerReply::raw(400, "application/json", &[&body])
}

/// All messages of a text.
fn messages(text: &str) -> Vec<SoakMessage<'_>> {
    let found = text.split(MARK).skip(1);
    let numbers = |rest: &'_ str| -> Option<(u64, u64)> {
        let mut parts = rest.split('-');
        Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
    };
    found
        .filter_map(|rest| {
            let (number, sent_at) = numbers(rest)?;
            let from = rest.split('-').nth(2)?;
            let from = from
                .split(|sign: char| !sign.is_ascii_alphabetic())
                .next()?;
            Some(SoakMessage {
                number,
                sent_at,
                from,
            })
        })
        .collect()
}

/// Takes the lead's mail, as a lead would.
pub(super) struct Lead {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<u64>>,
}

impl Lead {
    pub(super) fn start(team: &TeamDir) -> anyhow::Result<Self> {
        let mut session = MemberSession::open(team, &Recipient::Lead, WatchChoice::Auto)?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut taken = 0;
            while !stopped.load(Ordering::SeqCst) {
                let deadline = Instant::now() + Duration::from_millis(200);
                match session.next(Some(deadline)) {
                    Ok(Some(delivery)) => taken += delivery.mail.len() as u64,
                    Ok(None) => {}
                    Err(_) => return taken,
                }
            }
            taken
        });
        Ok(Self {
            stop,
            thread: Some(thread),
        })
    }

    /// Ends it, and returns how many messages there were.
    pub(super) fn stop(mut self) -> u64 {
        self.stop.store(true, Ordering::SeqCst);
        let thread = self.thread.take();
        thread.and_then(|thread| thread.join().ok()).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_found_in_a_request_to_the_model() {
        let mail = Mail::new(2);
        let (first, second) = (mail.next("person"), mail.next("model"));
        let text = format!("<mail>\n{first} xxx\n</mail>\n{second}\" soak-x");
        let found = messages(&text);
        let seen: Vec<_> = found
            .iter()
            .map(|message| (message.number, message.from))
            .collect();
        assert_eq!(seen, [(0, "person"), (1, "model")]);
        assert_eq!(mail.missing(), 2);
    }
}
