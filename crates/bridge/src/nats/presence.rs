//! Which other hosts are there: how often hosts greet, and when one counts as silent. Pure decisions.
//!
//! Every host hears every greeting, so that a team of many hosts must greet less often: each hears about
//! [`HEARD_A_SECOND`] greetings a second, however many hosts there are. Whoever waits for a host does not rely on
//! greetings but asks it, so that only those who talk to each other pay for knowing it soon.

use std::time::{Duration, Instant};

/// How often a host greets at most, and asks about what it has published.
pub(super) const BEAT: Duration = Duration::from_secs(1);
/// About how many greetings a host hears in a second.
const HEARD_A_SECOND: u32 = 32;
/// A host that has not answered for this long cannot be reached.
const SILENT: Duration = Duration::from_secs(15);
/// So many greetings in a row may be missed.
const MISSED: u32 = 4;
/// So many greetings of another process with the name of this host show that it lives: one of a bridge that was
/// killed may still be under way.
const TWIN_GREETINGS: u32 = 3;

/// The time between two greetings of a host that knows so many others.
pub(super) fn greet_every(hosts: usize) -> Duration {
    let hosts = u32::try_from(hosts).unwrap_or(u32::MAX);
    BEAT * hosts.div_ceil(HEARD_A_SECOND).max(1)
}

/// For how long a host that is there may not be heard, if some of its greetings are lost.
pub(super) fn heard_within(hosts: usize) -> Duration {
    greet_every(hosts) * MISSED
}

/// What is known of whether another host is there, in this connection.
#[derive(Debug, Default)]
pub(super) struct Presence {
    heard: Option<Instant>,
    /// The process that greeted.
    instance: Option<String>,
    /// Since when it was asked without an answer.
    asked: Option<Instant>,
}

impl Presence {
    /// It has greeted. Returns whether that is a process that was not heard before.
    pub(super) fn greet(&mut self, instance: &str, now: Instant) -> bool {
        self.heard = Some(now);
        let is_new = self.instance.as_deref() != Some(instance);
        if is_new {
            self.instance = Some(instance.to_owned());
        }
        is_new
    }

    /// It has said something to this host.
    pub(super) const fn answer(&mut self, now: Instant) {
        self.heard = Some(now);
        self.asked = None;
    }

    /// It is asked for an answer.
    pub(super) fn ask(&mut self, now: Instant) {
        self.asked.get_or_insert(now);
    }

    pub(super) const fn was_heard(&self) -> bool {
        self.heard.is_some()
    }

    /// Whether it cannot be reached, for a host that knows so many others and is connected since `begun`.
    pub(super) fn is_silent(&self, hosts: usize, begun: Instant, now: Instant) -> bool {
        let limit = SILENT.max(heard_within(hosts));
        let since = |at: Instant| now.saturating_duration_since(at);
        since(self.heard.unwrap_or(begun)) > limit
            || self.asked.is_some_and(|asked| since(asked) > SILENT)
    }
}

/// Counts the greetings of another process with the name of this host.
#[derive(Debug, Default)]
pub(super) struct Twin {
    instance: String,
    greetings: u32,
}

impl Twin {
    /// Another process than `me` has greeted. Returns whether this one has to go: of two that live, one stays.
    pub(super) fn greet(&mut self, instance: &str, me: &str) -> bool {
        if self.instance != instance {
            self.instance = instance.to_owned();
            self.greetings = 0;
        }
        self.greetings += 1;
        self.greetings >= TWIN_GREETINGS && instance < me
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn each_host_hears_as_much_however_many_there_are() {
        assert_eq!(greet_every(0), SECOND);
        assert_eq!(greet_every(3), SECOND);
        assert_eq!(greet_every(32), SECOND);
        assert_eq!(greet_every(1000), 32 * SECOND);
        for hosts in [100, 1000, 10_000] {
            let heard = hosts as f64 / greet_every(hosts).as_secs_f64();
            assert!(heard <= f64::from(HEARD_A_SECOND), "{hosts}: {heard}");
        }
    }

    #[test]
    fn a_host_that_is_asked_is_known_to_be_silent_sooner() {
        let begun = Instant::now();
        let mut presence = Presence::default();
        assert!(presence.greet("a", begun));
        assert!(!presence.greet("a", begun));
        let later = begun + 40 * SECOND;
        assert!(presence.is_silent(3, begun, later));
        assert!(!presence.is_silent(1000, begun, later));
        presence.ask(begun + 20 * SECOND);
        presence.ask(begun + 39 * SECOND);
        assert!(presence.is_silent(1000, begun, later));
        presence.answer(later);
        assert!(!presence.is_silent(3, begun, later + SECOND));
    }

    #[test]
    fn a_late_greeting_of_a_dead_process_is_not_a_second_one() {
        let mut twin = Twin::default();
        assert!(!twin.greet("a", "b"));
        assert!(!twin.greet("c", "b"));
        assert!(!twin.greet("a", "b"));
        assert!(!twin.greet("a", "b"));
        assert!(twin.greet("a", "b"));
        let stays = (0..9).all(|_| !twin.greet("b", "a"));
        assert!(stays, "of two, one stays");
    }
}
