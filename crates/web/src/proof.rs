//! How the page and the server prove to each other who they are.
//!
//! While the server is down, any process of this machine can take its port and wait for a page that connects
//! again. So nothing that the page sends is of use later, and nothing that such a process answers is believed:
//!
//! - The key of a session never leaves the page after the login. The page sends what it makes of it for one run
//!   of the server (its *page key*), and each run has a name that nobody can guess.
//! - Every request carries a number that is used once, and every reply the proof that its sender knows the key
//!   of the session. A reply without it is not looked at.
//!
//! The server makes the key from the cookie and its seed, so neither of its files opens a session.

use crate::secret::{Secret, is_same, keyed_hash, random_hex};
use std::io;

/// The longest number of a request.
const MAX_NONCE: usize = 64;

/// The proofs of one run of a server.
pub(crate) struct Proofs {
    seed: String,
    run: String,
}

impl Proofs {
    /// Those of a new run. `seed` is the secret of all runs at one address.
    pub(crate) fn new(seed: String) -> io::Result<Self> {
        Ok(Self {
            seed,
            run: random_hex(32)?,
        })
    }

    /// The name of this run.
    pub(crate) fn run(&self) -> &str {
        &self.run
    }

    /// The key of the session with this cookie.
    pub(crate) fn session_key(&self, cookie: &str) -> Secret {
        Secret::of(keyed_hash(&self.seed, &format!("session {cookie}")))
    }

    /// Whether a page key belongs to the session with this cookie, and to this run.
    pub(crate) fn is_page_key(&self, cookie: &str, shown: &str) -> bool {
        is_same(
            &page_key(self.session_key(cookie).as_str(), &self.run),
            shown,
        )
    }

    /// The proof of a reply to the request with this number.
    pub(crate) fn of_reply(&self, cookie: &str, nonce: &str, status: u16) -> Option<String> {
        let is_number = nonce.len() <= MAX_NONCE && nonce.bytes().all(|at| at.is_ascii_hexdigit());
        is_number.then(|| {
            let key = self.session_key(cookie);
            let proof = keyed_hash(
                key.as_str(),
                &format!("server {nonce} {} {status}", self.run),
            );
            format!("{} {proof}", self.run)
        })
    }
}

/// What a page sends instead of the key of its session, to one run of the server.
pub fn page_key(session_key: &str, run: &str) -> String {
    keyed_hash(session_key, &format!("page {run}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_key_counts_for_its_session_its_run_and_its_seed_only() {
        let seed = "ab".repeat(32);
        let (first, second) = (
            Proofs::new(seed.clone()).unwrap(),
            Proofs::new(seed).unwrap(),
        );
        let key = first.session_key("cookie");
        let shown = page_key(key.as_str(), first.run());
        assert!(first.is_page_key("cookie", &shown));
        assert!(!first.is_page_key("other", &shown));
        assert!(!second.is_page_key("cookie", &shown), "an earlier run");
        assert!(!first.is_page_key("cookie", key.as_str()));
        assert_eq!(second.session_key("cookie").as_str(), key.as_str());
        let other = Proofs::new("cd".repeat(32)).unwrap();
        assert_ne!(other.session_key("cookie").as_str(), key.as_str());
    }

    #[test]
    fn a_proof_is_bound_to_the_number_and_the_status() {
        let proofs = Proofs::new("ab".repeat(32)).unwrap();
        let proof = |nonce: &str, status| proofs.of_reply("cookie", nonce, status);
        assert_ne!(proof("01", 200), proof("02", 200));
        assert_ne!(proof("01", 200), proof("01", 401));
        assert_eq!(proof("not a number", 200), None);
        assert_eq!(proof(&"0".repeat(65), 200), None);
    }
}
