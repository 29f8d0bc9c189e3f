//! Works through the queue. Any process of the team may do so, one at a time.

use crate::check::{CheckOutcome, Checking};
use crate::{BRANCH, Integration, IntegrationError, author};
use git::{Blame, Commit, GitError, Merge};
use protocol::{
    CommitId, ConflictPart, Extra, MergeConflict, Submission, SubmissionId, SubmissionStatus,
};
use rules::{SubmissionStep, advance, is_due, short_conflict};
use std::path::PathBuf;
use teamdir::{IntegrationGuard, now};

const CHECKED_AT_ONCE: usize = 4;
/// The committer of merges.
const COMMITTER: (&str, &str) = ("team-lead", "team-lead@team-lead.invalid");

/// The result of working through the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueueOutcome {
    /// The queue is empty. These submissions ended, in this order.
    Done(Vec<(SubmissionId, SubmissionStatus)>),
    /// Another process works through the queue, and will see everything that is in it now.
    Busy,
    /// The team's branch is checked out in this folder. If it moved, the folder would show the reverse of
    /// the merged work as staged.
    Blocked(PathBuf),
}

/// A submission that is merged onto the one before it.
struct Candidate {
    submission: Submission,
    onto: CommitId,
    merge: CommitId,
}

/// The result of merging a submission.
enum Attempt {
    /// The branch already contains it, in this commit.
    IsThere(CommitId),
    /// It merges, as this commit.
    Merges(CommitId),
    Conflicts(git::Conflict),
}

impl Integration {
    /// Whether there is anything to do for [`Integration::run_queue`]. Needs no git.
    pub fn is_queue_due(team: &teamdir::TeamDir) -> bool {
        let all = team.submissions().unwrap_or_default();
        let all: Vec<Submission> = all.into_iter().flatten().collect();
        let is_due = |submission| is_due(submission) || Self::is_unsent(team, submission);
        all.iter().any(is_due) || Self::has_arrivals(team, &all)
    }

    /// Does what there is to do with other hosts, and nothing that runs what people have set. Returns `false` if
    /// another process has the queue.
    pub fn exchange(&self) -> Result<bool, IntegrationError> {
        let Some(guard) = self.team.try_integrate()? else {
            return Ok(false);
        };
        let crossed = self.cross(&guard);
        self.tell_ended(&guard, &mut Vec::new())?;
        crossed.map(|()| true)
    }

    /// Integrates what is in the queue, unless another process does.
    pub fn run_queue(&self) -> Result<QueueOutcome, IntegrationError> {
        let mut ended = Vec::new();
        loop {
            let Some(guard) = self.team.try_integrate()? else {
                return Ok(match ended.is_empty() {
                    true => QueueOutcome::Busy,
                    false => QueueOutcome::Done(ended),
                });
            };
            let blocked = self.drain(&guard, &mut ended)?;
            drop(guard);
            if let Some(folder) = blocked {
                return Ok(QueueOutcome::Blocked(folder));
            }
            // Processes that submitted in the meantime found the lock held, and rely on this one.
            if !self.valid_submissions()?.iter().any(is_due) {
                return Ok(QueueOutcome::Done(ended));
            }
        }
    }

    fn drain(
        &self,
        guard: &IntegrationGuard,
        ended: &mut Vec<(SubmissionId, SubmissionStatus)>,
    ) -> Result<Option<PathBuf>, IntegrationError> {
        // Leftovers of killed processes do no harm if they cannot be removed now.
        let _ = self.team.remove_check_trees(guard);
        // What one host has sent, or a lack of room for it, keeps nobody's work from being merged.
        let crossed = self.cross(guard);
        let blocked = self.merge_open(guard, ended)?;
        crossed.map(|()| blocked)
    }

    /// Merges what is in the queue. Returns the folder that has the team's branch checked out, if that is why
    /// something is left.
    fn merge_open(
        &self,
        guard: &IntegrationGuard,
        ended: &mut Vec<(SubmissionId, SubmissionStatus)>,
    ) -> Result<Option<PathBuf>, IntegrationError> {
        loop {
            self.tell_ended(guard, ended)?;
            let all = self.valid_submissions()?.into_iter();
            let open = all.filter(|found| found.status.is_open() && is_due(found));
            let open: Vec<Submission> = open.take(CHECKED_AT_ONCE).collect();
            // What a host without the lead still has in its own queue is sent when this is called again.
            if open.is_empty() || self.team.roster()?.lead_host.is_some() {
                self.offer_main_to_all(guard)?;
                return Ok(None);
            }
            let checked_out = self.repository.checked_out(BRANCH)?;
            if let Some(folder) = checked_out.into_iter().next() {
                return Ok(Some(folder));
            }
            self.run_batch(open)?;
        }
    }

    /// Tells the authors of all submissions that have ended.
    fn tell_ended(
        &self,
        guard: &IntegrationGuard,
        ended: &mut Vec<(SubmissionId, SubmissionStatus)>,
    ) -> Result<(), IntegrationError> {
        for submission in self.valid_submissions()? {
            if submission.status.is_open() || !is_due(&submission) {
                continue;
            }
            match &submission.host {
                // Its own host tells its author, who should find there what it was not merged with.
                Some(host) => {
                    let is_returned = submission.status != SubmissionStatus::Merged;
                    self.offer_main(guard, host, is_returned)?;
                    self.tell_host(host, &submission)?;
                    self.step(&submission, SubmissionStep::Told)?;
                }
                None => {
                    self.follow_before(guard, &submission);
                    self.tell(&submission)?;
                }
            }
            ended.push((submission.id, submission.status));
        }
        Ok(())
    }

    /// The author of what has ended on another host should find here what it was not merged with. The home has sent it
    /// before it told how the submission ended, which the bridge may have heard since this process looked.
    fn follow_before(&self, guard: &IntegrationGuard, submission: &Submission) {
        if let Some(home) = &submission.sent_to {
            // After an error the author is told all the same, and the next look at what has come meets it again.
            let _ = self.take_main(guard, home);
        }
    }

    /// Merges each submission onto the one before, checks all, and moves the branch in their order. At
    /// least the first one ends, or the branch was moved by somebody else.
    fn run_batch(&self, open: Vec<Submission>) -> Result<(), IntegrationError> {
        let tip = self.team_branch()?;
        let mut candidates: Vec<Candidate> = Vec::new();
        for submission in open {
            let onto = candidates
                .last()
                .map_or(&tip, |candidate| &candidate.merge)
                .clone();
            match self.attempt(&submission, &tip, &onto) {
                Ok(Attempt::IsThere(merge)) => {
                    self.step(&submission, SubmissionStep::Merged { merge })?;
                }
                Ok(Attempt::Merges(merge)) => {
                    let began = SubmissionStep::Began {
                        onto: onto.clone(),
                        merge: merge.clone(),
                    };
                    let submission = self.step(&submission, began)?;
                    candidates.push(Candidate {
                        submission,
                        onto,
                        merge,
                    });
                }
                Ok(Attempt::Conflicts(conflict)) if candidates.is_empty() => {
                    self.step(&submission, SubmissionStep::Conflicted(stored(conflict)))?;
                }
                // Whether it conflicts depends on whether the submissions before it are merged.
                Ok(Attempt::Conflicts(_)) => break,
                // A submission that git cannot read must not block those after it.
                Err(IntegrationError::Git(error))
                    if error.blame() == Blame::Content
                        || matches!(error, GitError::Killed { .. }) =>
                {
                    self.step(&submission, SubmissionStep::Unusable(error.to_string()))?;
                }
                Err(error) => return Err(error),
            }
        }
        self.move_through(candidates)
    }

    /// Merges a submission, unless the branch already contains it.
    fn attempt(
        &self,
        submission: &Submission,
        tip: &CommitId,
        onto: &CommitId,
    ) -> Result<Attempt, IntegrationError> {
        // This includes what a killed process merged without recording it.
        if self.repository.contains(tip, &submission.commit)? {
            let merge = submission.merge.clone();
            let merge = merge.filter(|merge| self.is_in(tip, merge));
            return Ok(Attempt::IsThere(merge.unwrap_or_else(|| tip.clone())));
        }
        Ok(match self.repository.merge(onto, &submission.commit)? {
            Merge::Clean(tree) => Attempt::Merges(self.merge_commit(submission, &tree, onto)?),
            Merge::Conflict(conflict) => Attempt::Conflicts(conflict),
        })
    }

    /// Checks the merges, and moves the branch to each that passes, until one does not.
    fn move_through(&self, candidates: Vec<Candidate>) -> Result<(), IntegrationError> {
        let checks: Vec<Checking> = candidates
            .iter()
            .map(|candidate| self.start_check(candidate.submission.id, &candidate.merge))
            .collect::<Result<_, _>>()?;
        let mut is_overtaken = false;
        // When one fails, the checks after it are dropped, which ends their commands.
        for (candidate, check) in candidates.into_iter().zip(checks) {
            let id = candidate.submission.id;
            if is_overtaken {
                drop(check);
                self.step(&candidate.submission, SubmissionStep::Overtaken)?;
            } else {
                is_overtaken = !self.move_to(&candidate, check)?;
            }
            self.remove_check_tree(id);
        }
        Ok(())
    }

    /// Moves the branch to a merge that passes its check. Returns whether it did.
    fn move_to(&self, candidate: &Candidate, check: Checking) -> Result<bool, IntegrationError> {
        match check.wait() {
            CheckOutcome::NoCheck => {}
            CheckOutcome::Passed(report) => {
                self.step(&candidate.submission, SubmissionStep::CheckPassed(report))?;
            }
            CheckOutcome::Failed(report) => {
                self.step(&candidate.submission, SubmissionStep::CheckFailed(report))?;
                return Ok(false);
            }
        }
        let why = format!("team: merge submission {}", candidate.submission.id);
        let moved =
            self.repository
                .move_reference(BRANCH, &candidate.merge, Some(&candidate.onto), &why);
        let step = match moved {
            Ok(()) => SubmissionStep::Merged {
                merge: candidate.merge.clone(),
            },
            Err(GitError::Moved { .. }) => SubmissionStep::Overtaken,
            Err(error) => return Err(error.into()),
        };
        let is_merged = matches!(step, SubmissionStep::Merged { .. });
        self.step(&candidate.submission, step)?;
        Ok(is_merged)
    }

    fn is_in(&self, tip: &CommitId, commit: &CommitId) -> bool {
        self.repository.contains(tip, commit).unwrap_or(false)
    }

    /// Records what has happened to a submission.
    pub(crate) fn step(
        &self,
        submission: &Submission,
        step: SubmissionStep,
    ) -> Result<Submission, IntegrationError> {
        self.team.update_submission(submission.id, |current| {
            advance(current, step, now()).map_err(IntegrationError::from)
        })
    }

    fn merge_commit(
        &self,
        submission: &Submission,
        tree: &CommitId,
        onto: &CommitId,
    ) -> Result<CommitId, IntegrationError> {
        let team = self.team.roster()?.team_name.0.clone();
        let (name, address) = author(&submission.member);
        Ok(self.repository.commit(&Commit {
            tree,
            parents: &[onto, &submission.commit],
            message: &message(submission, &team),
            author: (&name, &address),
            committer: COMMITTER,
        })?)
    }
}

/// The message of a merge commit. Its trailers say whose work it is and which task it belongs to.
fn message(submission: &Submission, team: &str) -> String {
    let Submission {
        id,
        member,
        subject,
        task,
        ..
    } = submission;
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let task = task.map(|task| format!("Team-Task: {task}\n"));
    format!(
        "Merge team/{member}: {}\n\n{}Team-Member: {member}\nTeam: {}\nTeam-Submission: {id}\n",
        one_line(subject),
        task.unwrap_or_default(),
        one_line(team),
    )
}

fn stored(conflict: git::Conflict) -> MergeConflict {
    let files = conflict.files.into_iter().map(|file| ConflictPart {
        path: file.path,
        hunks: file.hunks,
        authors: file.authors,
        extra: Extra::new(),
    });
    short_conflict(MergeConflict {
        files: files.collect(),
        messages: conflict.messages,
        extra: Extra::new(),
    })
}
