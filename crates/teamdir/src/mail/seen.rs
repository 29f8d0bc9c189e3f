//! Which messages were seen already.
//!
//! A sender that dies between writing a message and knowing that it did sends it again when it
//! comes back, under the same identifier. It can only be unsure of its latest messages, so the
//! last few of *each sender* are enough to recognise a repeat, however much mail others sent in
//! between, and the memory needed does not grow with history.

use crate::files::hash;
use protocol::{Body, Line, NoticeCause, RequestId, SenderWindow};
use std::collections::{HashMap, HashSet, VecDeque};

/// How many messages of one sender are remembered.
const PER_SENDER: usize = 128;
/// How many lines without an identifier are remembered, by their place in the inbox.
const UNSIGNED: usize = 1024;
/// How many senders are remembered. Anybody may write any name into a line.
const SENDERS: usize = 1024;

/// What makes two lines the same message.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Fingerprint {
    from: Option<String>,
    id: u64,
    text: u64,
}

/// What is known of a message before it is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It was never seen.
    New,
    /// It was seen: same sender, same identifier, same text.
    Repeat,
    /// The sender used the identifier for another text before.
    Reused,
    /// Another sender used the same identifier.
    Shared,
}

/// The messages last seen of each sender.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen {
    windows: HashMap<Option<String>, Window>,
    /// In how many places each identifier is remembered.
    ids: HashMap<u64, u32>,
    uses: u64,
    /// All messages of files that have to be read again.
    again: HashSet<Fingerprint>,
}

#[derive(Debug, Clone, Default)]
struct Window {
    messages: VecDeque<(u64, u64)>,
    last_use: u64,
}

impl Fingerprint {
    /// The fingerprint of a line that goes by the identifier `id`.
    pub(crate) fn of(line: &Line, id: &str) -> Self {
        let (from, text) = match line {
            Line::Message(message) => {
                let from = message.from.as_ref().map(|from| from.as_str().to_owned());
                // Without an identifier of its own a line is known by its place.
                (
                    from.filter(|_| message.id.is_some()),
                    meaning_hash(&message.body),
                )
            }
            Line::Unknown(unknown) => {
                let from = unknown.from().map(|from| from.as_str().to_owned());
                let text = serde_json::to_vec(&unknown.object).unwrap_or_default();
                (from.filter(|_| unknown.id().is_some()), hash(&text))
            }
            Line::Text(text) => (None, hash(text.as_bytes())),
            Line::Corrupt { .. } | Line::Blank => (None, 0),
        };
        let id = hash(id.as_bytes());
        Self { from, id, text }
    }
}

/// A hash of what makes two messages under one id the same: type, request, decision and text. Of a death each process
/// that notices it says what it knows, so that there the id alone counts.
fn meaning_hash(body: &Body) -> u64 {
    let mut parts = vec![body.kind()];
    parts.extend(body.request_id().map(RequestId::as_str));
    match body {
        Body::ShutdownResponse { approve, .. } | Body::PlanApprovalResponse { approve, .. } => {
            parts.push(if *approve { "true" } else { "false" });
        }
        Body::Message { .. }
        | Body::Broadcast { .. }
        | Body::ShutdownRequest { .. }
        | Body::PlanApprovalRequest { .. }
        | Body::IdleNotification { .. }
        | Body::Notice { .. } => {}
    }
    let is_death =
        matches!(body, Body::Notice { cause: Some(cause), .. } if *cause == NoticeCause::Death);
    if !is_death {
        parts.push(body.text());
    }
    hash(parts.join("\0").as_bytes())
}

impl Seen {
    /// What is known of a message.
    pub(crate) fn verdict(&self, message: &Fingerprint) -> Verdict {
        if self.again.contains(message) {
            return Verdict::Repeat;
        }
        let Some(&places) = self.ids.get(&message.id) else {
            return Verdict::New;
        };
        let window = self.windows.get(&message.from);
        let own = window.into_iter().flat_map(|window| &window.messages);
        let mut same_id = own.filter(|(id, _)| *id == message.id).peekable();
        if same_id.peek().is_none() {
            return if places > 0 {
                Verdict::Shared
            } else {
                Verdict::New
            };
        }
        if same_id.any(|(_, text)| *text == message.text) {
            Verdict::Repeat
        } else {
            Verdict::Reused
        }
    }

    /// Remembers a message, forgetting the oldest of its sender.
    pub(crate) fn remember(&mut self, message: Fingerprint) {
        self.uses += 1;
        let limit = if message.from.is_some() {
            PER_SENDER
        } else {
            UNSIGNED
        };
        if !self.windows.contains_key(&message.from) && self.windows.len() >= SENDERS {
            self.forget_a_sender();
        }
        let window = self.windows.entry(message.from).or_default();
        window.last_use = self.uses;
        window.messages.push_back((message.id, message.text));
        *self.ids.entry(message.id).or_default() += 1;
        if window.messages.len() > limit
            && let Some((id, _)) = window.messages.pop_front()
        {
            forget_id(&mut self.ids, id);
        }
    }

    /// Knows messages beyond the last of each sender, until this process ends.
    pub(crate) fn know(&mut self, messages: impl Iterator<Item = Fingerprint>) {
        self.again.extend(messages);
    }

    /// Whether a message is from a file that has to be read again.
    pub(crate) fn is_read_again(&self, message: &Fingerprint) -> bool {
        self.again.contains(message)
    }

    fn forget_a_sender(&mut self) {
        let longest_ago = self
            .windows
            .iter()
            .min_by_key(|(_, window)| window.last_use);
        let Some(from) = longest_ago.map(|(from, _)| from.clone()) else {
            return;
        };
        let window = self.windows.remove(&from).unwrap_or_default();
        for (id, _) in window.messages {
            forget_id(&mut self.ids, id);
        }
    }

    pub(crate) fn to_windows(&self) -> Vec<SenderWindow> {
        let mut windows: Vec<_> = self.windows.iter().collect();
        windows.sort_by_key(|(_, window)| window.last_use);
        let stored = windows.into_iter().map(|(from, window)| SenderWindow {
            from: from.clone(),
            seen: window.messages.iter().copied().collect(),
        });
        stored.collect()
    }

    pub(crate) fn from_windows(windows: &[SenderWindow]) -> Self {
        let mut seen = Self::default();
        for window in windows {
            for (id, text) in &window.seen {
                seen.remember(Fingerprint {
                    from: window.from.clone(),
                    id: *id,
                    text: *text,
                });
            }
        }
        seen
    }
}

fn forget_id(ids: &mut HashMap<u64, u32>, id: u64) {
    if let Some(places) = ids.get_mut(&id) {
        *places -= 1;
        if *places == 0 {
            ids.remove(&id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(from: &str, id: u64, text: u64) -> Fingerprint {
        Fingerprint {
            from: Some(from.to_owned()),
            id,
            text,
        }
    }

    #[test]
    fn a_repeat_is_known_however_much_others_sent_since() {
        let mut seen = Seen::default();
        seen.remember(message("bob", 1, 1));
        for n in 0..100_000 {
            seen.remember(message(&format!("other{}", n % 50), n, n));
        }
        assert_eq!(seen.verdict(&message("bob", 1, 1)), Verdict::Repeat);
        assert_eq!(seen.verdict(&message("bob", 1, 2)), Verdict::Reused);
        assert_eq!(seen.verdict(&message("bob", 99_999, 1)), Verdict::Shared);
        assert_eq!(seen.verdict(&message("bob", 200_000, 1)), Verdict::New);
    }

    #[test]
    fn answers_that_differ_only_in_their_verdict_are_two_messages() {
        let answer = |approve: bool| {
            let line =
                format!(r#"{{"type":"shutdown_response","request_id":"1","approve":{approve}}}"#);
            Fingerprint::of(&protocol::decode_line(line.as_bytes()), "a")
        };
        assert_ne!(answer(true), answer(false));
        assert_eq!(answer(true), answer(true));
    }

    #[test]
    fn a_death_is_one_whatever_the_processes_that_notice_it_know() {
        let notice = |cause: &str, content: &str| {
            let line = format!(
                r#"{{"type":"notice","from":"system","id":"a","cause":"{cause}","content":"{content}"}}"#
            );
            Fingerprint::of(&protocol::decode_line(line.as_bytes()), "a")
        };
        assert_eq!(
            notice("death", "m00 died"),
            notice("death", "m00 died (killed by signal 9)")
        );
        assert_ne!(
            notice("failed", "m00"),
            notice("failed", "m00 cannot go on")
        );
        assert_ne!(notice("death", "m00 died"), notice("failed", "m00 died"));
    }

    #[test]
    fn memory_is_bounded_whatever_is_written() {
        let mut seen = Seen::default();
        for n in 0..20_000 {
            seen.remember(message(&format!("stranger{n}"), n, n));
            seen.remember(message("bob", 1_000_000 + n, n));
        }
        assert!(seen.windows.len() <= SENDERS);
        assert!(seen.ids.len() <= SENDERS + PER_SENDER + 1);
    }

    #[test]
    fn a_checkpoint_keeps_what_is_remembered() {
        let mut seen = Seen::default();
        for n in 0..300 {
            seen.remember(message("bob", n, n));
        }
        let again = Seen::from_windows(&seen.to_windows());
        assert_eq!(again.verdict(&message("bob", 299, 299)), Verdict::Repeat);
        assert_eq!(again.verdict(&message("bob", 0, 0)), Verdict::New);
        assert_eq!(again.ids.len(), seen.ids.len());
    }
}
