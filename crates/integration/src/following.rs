//! `team/main` of other hosts follows that of the home of the queue.

use crate::bundles::{Made, NewBundle, Unpacked};
use crate::{BRANCH, HOME_MAIN, Integration, IntegrationError};
use git::GitError;
use protocol::{
    BundleName, CommitId, HaveCommits, HostId, MAX_BUNDLE_BYTES, MAX_NAMED_COMMITS, TreeFrame,
};
use teamdir::IntegrationGuard;

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
                && self.team.outgoing_head(host, BundleName::Main).is_none()
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
        let offered = self.team.outgoing_head(host, BundleName::Main);
        let is_offered = offered.is_some_and(|head| !at_once || head.commit == tip);
        if is_offered || told.commits.contains(&tip) {
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
        if let Some(bundle) = arrived.filter(teamdir::IncomingBundle::is_complete) {
            let head = &bundle.head;
            let tip = self.team_branch()?;
            match self.unpack(home, head, &tip, false)? {
                Unpacked::Done => self.note_home_main(&head.commit)?,
                Unpacked::Missing => self.ask_for_all(home, head)?,
                Unpacked::Refused(refusal) => {
                    let problem = format!("team/main of {home} was not taken: {refusal}");
                    self.note_problem(guard, home, Some(problem))?;
                    self.team.remove_incoming(home, head.name, &head.digest)?;
                    return Ok(());
                }
            }
            self.team.remove_incoming(home, head.name, &head.digest)?;
        }
        let problem = self.follow(home)?;
        self.note_problem(guard, home, problem)
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
