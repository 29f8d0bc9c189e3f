//! `team/main` of other hosts follows that of the home of the queue.

use crate::bundles::{BundleRefusal, Made, NewBundle, Unpacked};
use crate::tries::is_left_alone;
use crate::{BRANCH, HOME_MAIN, Integration, IntegrationError};
use git::GitError;
use protocol::{
    BundleHead, BundleName, CommitId, HaveCommits, HostId, MAX_BUNDLE_BYTES, MAX_NAMED_COMMITS,
    TreeFrame,
};
use std::time::Duration;
use teamdir::{IncomingBundle, IntegrationGuard, now};

/// How long a host is waited for that takes nothing of a bundle of `team/main`, before a newer one takes its place.
const PATIENCE: Duration = Duration::from_secs(600);
/// The bytes of a bundle that cross in a second on the slowest line.
const SLOWEST: u64 = 32 << 10;

impl Integration {
    /// Whether another host is to be told of commits: of `team/main`, or by this one of what is here.
    pub fn is_following_due(&self) -> Result<bool, IntegrationError> {
        if let Some(home) = &self.team.roster()?.lead_host {
            let told = self.team.told_commits(home);
            return Ok(told != Some(self.own_commits()?));
        }
        let Some(tip) = self.repository.reference(BRANCH)? else {
            return Ok(false);
        };
        let is_behind = |host: &HostId| {
            let told = self.team.told_commits(host);
            told.is_some_and(|told| !told.commits.contains(&tip))
                && !self.is_main_on_its_way(host, &tip, false)
        };
        Ok(self.team.peers()?.iter().any(is_behind))
    }

    /// What a host has said.
    pub(crate) fn hear(
        &self,
        guard: &IntegrationGuard,
        host: &HostId,
        note: &TreeFrame,
    ) -> Result<(), IntegrationError> {
        match note {
            TreeFrame::Have(have) => {
                let have = have.clone().limited();
                let offered = self.team.outgoing_head(host, BundleName::Main);
                if let Some(head) = offered.filter(|head| have.commits.contains(&head.commit)) {
                    self.team.remove_outgoing(host, head.name, &head.digest)?;
                }
                Ok(self.team.put_told_commits(guard, host, &have)?)
            }
            TreeFrame::Again(again) if again.whole && again.name == BundleName::Main => {
                self.make_main(guard, host, &[])
            }
            TreeFrame::Again(_)
            | TreeFrame::Work(_)
            | TreeFrame::Main(_)
            | TreeFrame::State { .. } => Ok(()),
        }
    }

    /// Offers `team/main` to a host that has said what it has and may not have this. A bundle that is on its way is
    /// waited for, unless `at_once`. What is in the way with one host stops neither the queue nor the others: people
    /// are shown it.
    pub(crate) fn offer_main(
        &self,
        guard: &IntegrationGuard,
        host: &HostId,
        at_once: bool,
    ) -> Result<(), IntegrationError> {
        match self.try_offer_main(guard, host, at_once) {
            Err(
                error @ (IntegrationError::Git(_)
                | IntegrationError::File { .. }
                | IntegrationError::Path(_)),
            ) => {
                let problem = format!("team/main cannot be offered to {host}: {error}");
                self.note_problem(guard, host, Some(problem))
            }
            offered => offered,
        }
    }

    fn try_offer_main(
        &self,
        guard: &IntegrationGuard,
        host: &HostId,
        at_once: bool,
    ) -> Result<(), IntegrationError> {
        let Some(told) = self.team.told_commits(host) else {
            return Ok(());
        };
        let Some(tip) = self.repository.reference(BRANCH)? else {
            return Ok(());
        };
        if self.is_main_on_its_way(host, &tip, at_once) || told.commits.contains(&tip) {
            return Ok(());
        }
        let mut known = Vec::new();
        // A file from before may have more.
        for commit in told.commits.iter().take(2 * MAX_NAMED_COMMITS) {
            if self.repository.has_commit(commit)? {
                known.push(commit.clone());
            }
        }
        self.make_main(guard, host, &known)
    }

    /// Whether a bundle of `team/main` is offered to a host that it may still take, or that has this tip.
    fn is_main_on_its_way(&self, host: &HostId, tip: &CommitId, at_once: bool) -> bool {
        let Some(head) = self.team.outgoing_head(host, BundleName::Main) else {
            return false;
        };
        let patience = PATIENCE + Duration::from_secs(head.size / SLOWEST);
        let offered_for = self.team.offered_for(host, BundleName::Main);
        let is_given_up = at_once || offered_for.is_some_and(|time| time > patience);
        head.commit == *tip || !is_given_up
    }

    /// The same for all hosts, if the queue is at home here.
    pub(crate) fn offer_main_to_all(
        &self,
        guard: &IntegrationGuard,
    ) -> Result<(), IntegrationError> {
        if self.team.roster()?.lead_host.is_some() {
            return Ok(());
        }
        let peers = self.team.peers()?;
        let mut peers = peers.iter();
        peers.try_for_each(|host| self.offer_main(guard, host, false))
    }

    fn make_main(
        &self,
        guard: &IntegrationGuard,
        host: &HostId,
        known: &[CommitId],
    ) -> Result<(), IntegrationError> {
        let made = self.offer(
            guard,
            &NewBundle {
                host,
                name: BundleName::Main,
                reference: BRANCH,
                known,
                submission: None,
            },
        )?;
        let problem = match made {
            Made::Offered => None,
            Made::Known => None,
            Made::TooLarge(size) => Some(format!(
                "the commits of team/main that {host} has not make a bundle of {} MiB, and at most {} MiB cross: \
                 bring them there with `git push` or `git fetch`",
                size >> 20,
                MAX_BUNDLE_BYTES >> 20
            )),
        };
        self.note_problem(guard, host, problem)?;
        if made != Made::Offered
            && let Some(tip) = self.repository.reference(BRANCH)?
        {
            // It is not looked at again until the branch moves.
            let mut told = self.team.told_commits(host).unwrap_or_default();
            told.add(tip);
            self.team.put_told_commits(guard, host, &told)?;
        }
        Ok(())
    }

    /// Takes what has come of `team/main` of the home, and follows it.
    pub(crate) fn take_main(
        &self,
        guard: &IntegrationGuard,
        home: &HostId,
    ) -> Result<(), IntegrationError> {
        let arrived = self.team.incoming_bundle(home, BundleName::Main);
        let is_due = |bundle: &IncomingBundle| {
            bundle.is_complete() && !is_left_alone(&self.team, home, &bundle.head, now())
        };
        if let Some(bundle) = arrived.filter(is_due) {
            let head = &bundle.head;
            match self.unpack(guard, home, head, false) {
                Ok(Unpacked::Done) => {
                    self.note_home_main(&head.commit)?;
                    self.finish_incoming(guard, home, head)?;
                }
                Ok(Unpacked::Missing) => {
                    self.ask_for_all(home, head)?;
                    self.finish_incoming(guard, home, head)?;
                }
                Ok(Unpacked::Refused(refusal)) => {
                    return self.refuse_main(guard, home, head, &refusal);
                }
                Err(error) => {
                    let problem = format!("team/main of {home} could not be taken yet: {error}");
                    // The disk may be too full to say so.
                    let _ = self.note_problem(guard, home, Some(problem));
                    return Err(error);
                }
            }
        }
        let problem = self.follow(home)?;
        let is_untaken = self.team.bundle_tries(home, BundleName::Main).is_some();
        if problem.is_none() && is_untaken {
            // Why it was not taken stays said until one is.
            return Ok(());
        }
        self.note_problem(guard, home, problem)
    }

    /// Says that a bundle of `team/main` cannot be used, and asks for one that builds on nothing in its place.
    fn refuse_main(
        &self,
        guard: &IntegrationGuard,
        home: &HostId,
        head: &BundleHead,
        refusal: &BundleRefusal,
    ) -> Result<(), IntegrationError> {
        self.note_try(guard, home, head)?;
        let problem = format!("team/main of {home} was not taken: {refusal}");
        self.note_problem(guard, home, Some(problem))?;
        // One that builds on nothing would be the same again. A newer one comes in any case.
        if !head.whole {
            self.ask_for_all(home, head)?;
        }
        Ok(self.team.remove_incoming(home, head.name, &head.digest)?)
    }

    fn note_home_main(&self, commit: &CommitId) -> Result<(), IntegrationError> {
        let before = self.repository.reference(HOME_MAIN)?;
        if before.as_ref() == Some(commit) {
            return Ok(());
        }
        let why = "team: heard of it";
        Ok(self
            .repository
            .move_reference(HOME_MAIN, commit, before.as_ref(), why)?)
    }

    /// Moves `team/main` forward to that of the home. Returns why it cannot be done.
    fn follow(&self, home: &HostId) -> Result<Option<String>, IntegrationError> {
        let Some(theirs) = self.repository.reference(HOME_MAIN)? else {
            return Ok(None);
        };
        let ours = self.repository.reference(BRANCH)?;
        if let Some(ours) = &ours {
            // What is here and not there yet goes there with the next submission.
            if self.repository.contains(ours, &theirs)? {
                return Ok(None);
            }
            if !self.repository.contains(&theirs, ours)? {
                return Ok(Some(format!(
                    "team/main here is no part of team/main of {home}, and is left as it is: give it another name, \
                     with `git branch -m team/main NAME`, and team/main follows again"
                )));
            }
            if let Some(folder) = self.repository.checked_out(BRANCH)?.first() {
                return Ok(Some(format!(
                    "team/main cannot follow that of {home} while it is checked out in {}: `git switch -` there",
                    folder.display()
                )));
            }
        }
        let why = format!("team: follow {home}");
        match self
            .repository
            .move_reference(BRANCH, &theirs, ours.as_ref(), &why)
        {
            // Whoever moved it will be seen next time.
            Ok(()) | Err(GitError::Moved { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn note_problem(
        &self,
        guard: &IntegrationGuard,
        host: &HostId,
        problem: Option<String>,
    ) -> Result<(), IntegrationError> {
        if self.team.main_problem(host) == problem {
            return Ok(());
        }
        Ok(self
            .team
            .put_main_problem(guard, host, problem.as_deref())?)
    }

    /// Tells the home which commits are here, if they have changed: what it sends builds on them.
    pub(crate) fn tell_commits(
        &self,
        guard: &IntegrationGuard,
        home: &HostId,
    ) -> Result<(), IntegrationError> {
        let own = self.own_commits()?;
        if self.team.told_commits(home).as_ref() == Some(&own) {
            return Ok(());
        }
        let note = TreeFrame::Have(own.clone());
        self.team.put_tree_note(home, "have", &note)?;
        Ok(self.team.put_told_commits(guard, home, &own)?)
    }

    fn own_commits(&self) -> Result<HaveCommits, IntegrationError> {
        let references = [HOME_MAIN, BRANCH];
        let mut commits = Vec::new();
        for name in references {
            commits.extend(self.repository.reference(name)?);
        }
        commits.push(self.repository.head()?);
        commits.dedup();
        commits.truncate(MAX_NAMED_COMMITS);
        Ok(HaveCommits { commits })
    }
}
