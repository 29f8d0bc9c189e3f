//! Bundles that could not be taken for want of room or memory: it may pass, or the bundle may be the reason.
//!
//! A bundle is tried again after a minute, then after two, and so on. Work is refused in the end, for its author
//! can submit it again; `team/main` is waited for, because nobody would send it again.

use crate::bundles::{BundleRefusal, Unpacked};
use crate::{Integration, IntegrationError};
use git::GitError;
use protocol::{BundleHead, BundleTries, HostId, Timestamp};
use std::time::Duration;
use teamdir::{IntegrationGuard, TeamDir, now};

/// How often it is tried to unpack the work of another host.
pub(crate) const MOST_TRIES: u32 = 3;
/// How long is waited after the first try.
const FIRST_PAUSE: Duration = Duration::from_secs(60);
/// The longest pause, in first ones.
const MOST_PAUSES: u32 = 60;

/// Whether a bundle is left alone for now, because it could not be taken a moment ago.
pub(crate) fn is_left_alone(
    team: &TeamDir,
    host: &HostId,
    head: &BundleHead,
    at: Timestamp,
) -> bool {
    tries_of(team, host, head).is_some_and(|tries| {
        let pause = FIRST_PAUSE.saturating_mul(tries.count.min(MOST_PAUSES));
        at.since(tries.last) < pause
    })
}

fn tries_of(team: &TeamDir, host: &HostId, head: &BundleHead) -> Option<BundleTries> {
    let tries = team.bundle_tries(host, head.name);
    tries.filter(|tries| tries.digest == head.digest)
}

impl Integration {
    /// Counts a try that has failed. Returns a refusal after the last one, and the error before.
    pub(crate) fn count_try(
        &self,
        guard: &IntegrationGuard,
        host: &HostId,
        head: &BundleHead,
        error: GitError,
    ) -> Result<Unpacked, IntegrationError> {
        let count = self.note_try(guard, host, head)?;
        match count >= MOST_TRIES && head.submission.is_some() {
            true => Ok(Unpacked::Refused(BundleRefusal::Tries(error.to_string()))),
            false => Err(error.into()),
        }
    }

    /// Remembers that a bundle was not taken. Returns how often that was.
    pub(crate) fn note_try(
        &self,
        guard: &IntegrationGuard,
        host: &HostId,
        head: &BundleHead,
    ) -> Result<u32, IntegrationError> {
        let before = tries_of(&self.team, host, head).map_or(0, |tries| tries.count);
        let tries = BundleTries {
            name: head.name,
            digest: head.digest.clone(),
            count: before.saturating_add(1),
            last: now(),
        };
        self.team.put_bundle_tries(guard, host, &tries)?;
        Ok(tries.count)
    }

    /// Removes a bundle that was taken or refused, with what is remembered of it.
    pub(crate) fn finish_incoming(
        &self,
        guard: &IntegrationGuard,
        host: &HostId,
        head: &BundleHead,
    ) -> Result<(), IntegrationError> {
        self.team.remove_incoming(host, head.name, &head.digest)?;
        Ok(self.team.forget_bundle_tries(guard, host, head.name)?)
    }
}
