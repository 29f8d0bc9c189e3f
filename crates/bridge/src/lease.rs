//! How long the claims of other hosts last: pure decisions.
//!
//! Only the clock of this process counts, which never goes back; the clocks of hosts are not compared.

use protocol::HostId;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How long a host may be silent until its claims end, if nothing else is said.
pub const LEASE: Duration = Duration::from_secs(60);

/// Whoever has not looked for this long has not heard either: the process was stopped, or the host slept.
const STALL: Duration = Duration::from_secs(5);

/// When the other hosts were heard.
#[derive(Debug)]
pub(crate) struct Leases {
    time: Duration,
    /// A host that is there is heard at least this often.
    least: Duration,
    /// Since when this host would hear others; absent while it has no connection itself.
    listening: Option<Instant>,
    heard: BTreeMap<HostId, Instant>,
    /// When it was looked for claims that have ended.
    looked: Instant,
}

impl Leases {
    pub(crate) const fn new(now: Instant) -> Self {
        Self {
            time: LEASE,
            least: Duration::ZERO,
            listening: Some(now),
            heard: BTreeMap::new(),
            looked: now,
        }
    }

    pub(crate) const fn set_time(&mut self, time: Duration) {
        self.time = time;
    }

    /// Hosts are heard at least this often: less silence ends no claim.
    pub(crate) const fn set_least(&mut self, least: Duration) {
        self.least = least;
    }

    /// Begins to listen, if it does not yet: until then nobody could be heard.
    pub(crate) fn listen(&mut self, now: Instant) {
        self.listening.get_or_insert(now);
    }

    /// It is looked for claims that have ended. After a stall everybody has the time of a lease to be heard.
    pub(crate) fn look(&mut self, now: Instant) {
        if now.saturating_duration_since(self.looked) >= STALL {
            self.listening = self.listening.map(|_| now);
        }
        self.looked = now;
    }

    /// Nobody can be heard, which is not their silence.
    pub(crate) const fn stop_listening(&mut self) {
        self.listening = None;
    }

    pub(crate) fn hear(&mut self, host: &HostId, now: Instant) {
        match self.heard.get_mut(host) {
            Some(heard) => *heard = now.max(*heard),
            None => {
                self.heard.insert(host.clone(), now);
            }
        }
    }

    /// For how long a host has been silent, if its claims have ended by that.
    pub(crate) fn over(&self, host: &HostId, now: Instant) -> Option<Duration> {
        let listening = self.listening?;
        let heard = self
            .heard
            .get(host)
            .map_or(listening, |at| listening.max(*at));
        let silent = now.saturating_duration_since(heard);
        (silent >= self.time.max(self.least)).then_some(silent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_ends_when_its_host_was_silent_for_its_time_while_this_one_listened() {
        let begun = Instant::now();
        let at = |seconds| begun + Duration::from_secs(seconds);
        let host = HostId::new("gpu1").unwrap();
        let mut leases = Leases::new(begun);
        assert_eq!(leases.over(&host, at(59)), None);
        assert!(leases.over(&host, at(60)).is_some());
        leases.hear(&host, at(50));
        leases.hear(&host, at(40));
        assert_eq!(leases.over(&host, at(109)), None);
        assert!(leases.over(&host, at(110)).is_some());
        leases.stop_listening();
        assert_eq!(leases.over(&host, at(500)), None);
        leases.listen(at(500));
        leases.listen(at(520));
        assert_eq!(leases.over(&host, at(559)), None);
        assert!(leases.over(&host, at(560)).is_some());
        leases.set_time(Duration::from_secs(5));
        assert!(leases.over(&host, at(505)).is_some());
    }

    #[test]
    fn after_a_stall_of_this_process_other_hosts_have_time_to_be_heard() {
        let begun = Instant::now();
        let at = |seconds| begun + Duration::from_secs(seconds);
        let host = HostId::new("gpu1").unwrap();
        let mut leases = Leases::new(begun);
        for seconds in 0..=60 {
            leases.look(at(seconds));
        }
        assert!(leases.over(&host, at(60)).is_some());
        leases.look(at(120));
        assert_eq!(leases.over(&host, at(120)), None);
        assert!(leases.over(&host, at(180)).is_some());
    }

    #[test]
    fn no_lease_is_shorter_than_the_time_in_which_a_host_is_heard() {
        let begun = Instant::now();
        let at = |seconds| begun + Duration::from_secs(seconds);
        let host = HostId::new("gpu1").unwrap();
        let mut leases = Leases::new(begun);
        leases.set_least(Duration::from_secs(128));
        assert_eq!(leases.over(&host, at(127)), None);
        assert!(leases.over(&host, at(128)).is_some());
    }
}
