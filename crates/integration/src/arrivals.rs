//! Work that has come from other hosts, on its way into the queue.

use crate::bundles::Unpacked;
use crate::error::FirstError;
use crate::tries::is_left_alone;
use crate::{Integration, IntegrationError};
use protocol::{BundleHead, HostId, Roster, Submission};
use rules::refused;
use teamdir::{IncomingBundle, IntegrationGuard, TeamDir, now};

/// The most bundles of one host that are unpacked before the queue is worked through: none makes the work of
/// others wait long.
const TAKEN_AT_ONCE: usize = 4;
/// The most submissions of one host that are in the queue.
const MOST_OPEN: usize = 32;

impl Integration {
    /// Whether something from another host waits, or is to be removed. `known` are all submissions. Needs no git.
    pub(crate) fn has_arrivals(team: &TeamDir, known: &[Submission]) -> bool {
        let peers = team.peers().unwrap_or_default();
        peers.iter().any(|host| {
            let incoming = team.incoming(host).unwrap_or_default();
            let is_due = |bundle: &IncomingBundle| {
                let is_new =
                    bundle.is_complete() && !is_left_alone(team, host, &bundle.head, now());
                is_new || is_left_over(team, host, &bundle.head, known)
            };
            team.has_heard_notes(host) || incoming.iter().any(is_due)
        })
    }

    /// Does what a host has asked for.
    pub(crate) fn hear_host(
        &self,
        guard: &IntegrationGuard,
        host: &HostId,
    ) -> Result<(), IntegrationError> {
        let heard = self.team.take_heard_notes(guard, host)?;
        let mut errors = FirstError::default();
        for note in &heard.notes {
            errors.note(self.hear(guard, host, note));
        }
        errors.into_result()?;
        Ok(self.team.notes_are_sent(&heard)?)
    }

    /// Puts what has come from a host into the queue, or a part of it, if that is much.
    pub(crate) fn take_bundles(
        &self,
        guard: &IntegrationGuard,
        host: &HostId,
    ) -> Result<(), IntegrationError> {
        let known = self.valid_submissions()?;
        let is_open =
            |found: &&Submission| found.host.as_ref() == Some(host) && found.status.is_open();
        let open = known.iter().filter(is_open).count();
        let mut errors = FirstError::default();
        let mut unpacked = 0;
        for bundle in self.team.incoming(host)? {
            let is_new = find(&known, host, &bundle.head).is_none() && bundle.is_complete();
            if !is_new {
                errors.note(self.drop_left_over(guard, host, &bundle, &known));
            } else if is_left_alone(&self.team, host, &bundle.head, now()) {
                continue;
            } else if open + unpacked >= MOST_OPEN {
                errors.note(self.refuse_too_many(guard, host, &bundle.head));
            } else if unpacked < TAKEN_AT_ONCE {
                unpacked += 1;
                errors.note(self.take_work(guard, host, &bundle.head));
            }
        }
        errors.into_result()
    }

    /// Removes a bundle that is of no use any more, however much of it has come.
    fn drop_left_over(
        &self,
        guard: &IntegrationGuard,
        host: &HostId,
        bundle: &IncomingBundle,
        known: &[Submission],
    ) -> Result<(), IntegrationError> {
        let head = &bundle.head;
        if !is_left_over(&self.team, host, head, known) {
            return Ok(());
        }
        // Its host did not hear of it, and has sent it again. It may never send the rest.
        if let Some(known) = find(known, host, head) {
            self.tell_host(host, known)?;
        }
        self.finish_incoming(guard, host, head)
    }

    fn refuse_too_many(
        &self,
        guard: &IntegrationGuard,
        host: &HostId,
        head: &BundleHead,
    ) -> Result<(), IntegrationError> {
        if let Some(sent) = &head.submission {
            let reason = format!(
                "{MOST_OPEN} submissions of {host} are in the queue already: submit it again later"
            );
            self.tell_host(host, &refused(sent, &reason, now()))?;
        }
        self.finish_incoming(guard, host, head)
    }

    fn take_work(
        &self,
        guard: &IntegrationGuard,
        host: &HostId,
        head: &BundleHead,
    ) -> Result<(), IntegrationError> {
        let Some(sent) = &head.submission else {
            return Ok(());
        };
        if let Some(said) = self.take_new_work(guard, host, head, sent)? {
            self.tell_host(host, &said)?;
        }
        self.finish_incoming(guard, host, head)
    }

    /// Puts a submission of another host into the queue. Returns what its host is told of it; `None` if it is asked
    /// for more.
    fn take_new_work(
        &self,
        guard: &IntegrationGuard,
        host: &HostId,
        head: &BundleHead,
        sent: &Submission,
    ) -> Result<Option<Submission>, IntegrationError> {
        if !is_at_home(&*self.team.roster()?, host, sent) {
            let reason = format!("'{}' is not at home on the host {host}", sent.member);
            return Ok(Some(refused(sent, &reason, now())));
        }
        match self.unpack(guard, host, head, true)? {
            Unpacked::Done => {}
            Unpacked::Missing => {
                self.ask_for_all(host, head)?;
                return Ok(None);
            }
            Unpacked::Refused(refusal) => {
                return Ok(Some(refused(sent, &refusal.to_string(), now())));
            }
        }
        let subject = self.repository.subject_unless_in(None, &head.commit)?;
        let submission = self.team.create_submission(|id| {
            self.keep_submitted(id, &head.commit)?;
            Ok::<_, IntegrationError>(Submission {
                incarnation: sent.incarnation,
                subject: subject.unwrap_or_default(),
                task: sent.task,
                host: Some(host.clone()),
                origin: Some(sent.id),
                ..Submission::new(id, sent.member.clone(), head.commit.clone(), now())
            })
        })?;
        Ok(Some(submission))
    }
}

/// The submission of a bundle, if it is in the queue or was there.
fn find<'a>(known: &'a [Submission], host: &HostId, head: &BundleHead) -> Option<&'a Submission> {
    let sent = head.submission.as_deref()?;
    known.iter().find(|found| {
        found.host.as_ref() == Some(host)
            && found.origin == Some(sent.id)
            && found.commit == head.commit
    })
}

/// Whether a bundle is of no use any more, however much of it has come.
fn is_left_over(team: &TeamDir, host: &HostId, head: &BundleHead, known: &[Submission]) -> bool {
    let has_left = |sent: &Submission| {
        let roster = team.roster();
        roster.is_ok_and(|roster| !is_at_home(&roster, host, sent))
    };
    find(known, host, head).is_some() || head.submission.as_deref().is_some_and(has_left)
}

fn is_at_home(roster: &Roster, host: &HostId, sent: &Submission) -> bool {
    let member = roster.member(&sent.member);
    member.is_some_and(|member| member.host.as_ref() == Some(host))
}
