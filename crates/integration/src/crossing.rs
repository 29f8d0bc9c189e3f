//! Submissions between the host of their author and that of the queue, which is at home with the lead.
//!
//! The bridge moves files and knows nothing of git. Whoever integrates makes the bundles that it sends, and takes
//! those that it has received; both are done again after a kill, and recognised: a submission by its host, its
//! number there and its commit.

use crate::bundles::{Made, NewBundle};
use crate::error::FirstError;
use crate::submit::submission_reference;
use crate::{HOME_MAIN, Integration, IntegrationError};
use git::Blame;
use protocol::{
    BundleAgain, BundleHead, BundleName, HostId, MAX_BUNDLE_BYTES, Submission, TreeFrame,
};
use rules::{SubmissionStep, as_told, send_to};
use std::collections::BTreeSet;
use teamdir::{IntegrationGuard, TeamDir};

impl Integration {
    /// Whether a submission has to be sent to the home of the queue, or sent again. One that was sent to a host that
    /// people have made this one forget waits until it is met again.
    pub(crate) fn is_unsent(team: &TeamDir, submission: &Submission) -> bool {
        let Some(home) = &submission.sent_to else {
            return false;
        };
        let name = BundleName::Submission(submission.id);
        let is_known = || {
            let roster = team.roster();
            roster.is_ok_and(|roster| roster.lead_host.as_ref() == Some(home))
        };
        submission.status.is_open()
            && submission.taken_as.is_none()
            && team.outgoing_head(home, name).is_none()
            && is_known()
    }

    /// Does what there is to do with other hosts.
    pub(crate) fn cross(&self, guard: &IntegrationGuard) -> Result<(), IntegrationError> {
        self.team.remove_unpacked(guard)?;
        match &self.team.roster()?.lead_host {
            Some(home) => self.cross_to_home(guard, home),
            None => self.cross_to_hosts(guard),
        }
    }

    fn cross_to_home(
        &self,
        guard: &IntegrationGuard,
        home: &HostId,
    ) -> Result<(), IntegrationError> {
        let heard = self.team.take_heard_notes(guard, home)?;
        let mut whole = BTreeSet::new();
        for note in &heard.notes {
            if let TreeFrame::Again(again) = note {
                whole.extend(Some(again.name).filter(|_| again.whole));
            }
        }
        let mut errors = FirstError::default();
        errors.note(self.take_main(guard, home));
        for submission in self.valid_submissions()? {
            let submission = match send_to(&submission, home) {
                Some(_) => self.team.update_submission(submission.id, |current| {
                    Ok::<_, IntegrationError>(
                        send_to(current, home).unwrap_or_else(|| current.clone()),
                    )
                })?,
                None => submission,
            };
            let is_whole = whole.contains(&BundleName::Submission(submission.id))
                && submission.taken_as.is_none()
                && submission.status.is_open();
            if is_whole || Self::is_unsent(&self.team, &submission) {
                errors.note(self.send(guard, home, &submission, is_whole));
            }
        }
        errors.note(self.tell_commits(guard, home));
        // What it asked for and was not made is asked for again.
        errors.into_result()?;
        Ok(self.team.notes_are_sent(&heard)?)
    }

    /// Makes the bundle of a submission for the home of the queue.
    fn send(
        &self,
        guard: &IntegrationGuard,
        home: &HostId,
        submission: &Submission,
        is_whole: bool,
    ) -> Result<(), IntegrationError> {
        let home_main = self.repository.reference(HOME_MAIN)?;
        if let Some(main) = &home_main
            && self.repository.contains(main, &submission.commit)?
        {
            let merge = main.clone();
            return self
                .step(submission, SubmissionStep::Merged { merge })
                .map(drop);
        }
        let known = match (is_whole, home_main) {
            (true, _) => None,
            (false, Some(main)) => Some(main),
            // Both hosts have it, if they began with the same repository.
            (false, None) => Some(self.team_branch()?),
        };
        let known: Vec<_> = known.into_iter().collect();
        let reference = submission_reference(submission.id);
        let told = as_told(submission);
        let new = |known| NewBundle {
            host: home,
            name: BundleName::Submission(submission.id),
            reference: &reference,
            known,
            submission: Some(&told),
        };
        let made = match self.offer(guard, &new(&known)) {
            // What this host has merged by itself may not be at the home.
            Ok(Made::Known) => self.offer(guard, &new(&[])),
            made => made,
        };
        let reason = match made {
            Ok(Made::Offered | Made::Known) => return Ok(()),
            Ok(Made::TooLarge(size)) => format!(
                "its commits make a bundle of {} MiB, and at most {} MiB cross to {home}: submit it in smaller \
                 steps, or bring what is large to {home} with `git push` first",
                size >> 20,
                MAX_BUNDLE_BYTES >> 20
            ),
            Err(IntegrationError::Git(error)) if error.blame() == Blame::Content => {
                error.to_string()
            }
            Err(error) => return Err(error),
        };
        self.step(submission, SubmissionStep::Unusable(reason))
            .map(drop)
    }

    fn cross_to_hosts(&self, guard: &IntegrationGuard) -> Result<(), IntegrationError> {
        let mut errors = FirstError::default();
        for host in self.team.peers()? {
            errors.note(self.hear_host(guard, &host));
            errors.note(self.take_bundles(guard, &host));
            errors.note(self.offer_main(guard, &host, false));
        }
        errors.into_result()
    }

    /// Asks a host for a bundle that builds on nothing.
    pub(crate) fn ask_for_all(
        &self,
        host: &HostId,
        head: &BundleHead,
    ) -> Result<(), IntegrationError> {
        let again = TreeFrame::Again(BundleAgain {
            name: head.name,
            digest: head.digest.clone(),
            from: 0,
            whole: true,
        });
        let about = format!("again-{}", head.name);
        Ok(self.team.put_tree_note(host, &about, &again)?)
    }

    /// Tells the host of its author how a submission stands.
    pub(crate) fn tell_host(
        &self,
        host: &HostId,
        submission: &Submission,
    ) -> Result<(), IntegrationError> {
        let Some(origin) = submission.origin else {
            return Ok(());
        };
        let state = TreeFrame::State {
            submission: Box::new(as_told(submission)),
        };
        let about = format!("state-{origin}");
        Ok(self.team.put_tree_note(host, &about, &state)?)
    }
}
