//! The states of a submission: `submitted -> checking -> merged | conflict | failed`.
//!
//! Every change is a [`SubmissionStep`]. A step that does not fit the state is refused and changes nothing,
//! so two processes that work on the same queue cannot end a submission twice. The author is told of every
//! final state, and [`SubmissionCount`] counts the submissions by state.

use protocol::{CheckReport, CommitId, MergeConflict, Submission, SubmissionStatus, Timestamp};

/// What has happened to a submission.
#[derive(Debug, Clone, PartialEq)]
pub enum SubmissionStep {
    /// It merges without conflict onto `onto`; `merge` is the result, which is to be checked.
    Began { onto: CommitId, merge: CommitId },
    /// The team's branch is not at `onto` any more: it has to be merged again.
    Overtaken,
    /// The team's branch has the commit: by the move to `merge`, or because it had it before.
    Merged { merge: CommitId },
    /// It does not merge.
    Conflicted(MergeConflict),
    /// The check has failed.
    CheckFailed(CheckReport),
    /// Git cannot use the commit at all; the text says why.
    Unusable(String),
    /// The check has passed; the branch is to be moved.
    CheckPassed(CheckReport),
    /// The author was told how it ended.
    Told,
}

/// A step that does not fit the state of a submission.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("submission {id} is {status}, and this step does not lead on from there")]
pub struct StepRefusal {
    pub id: protocol::SubmissionId,
    pub status: SubmissionStatus,
}

/// Applies a step and returns the changed submission.
pub fn advance(
    submission: &Submission,
    step: SubmissionStep,
    now: Timestamp,
) -> Result<Submission, StepRefusal> {
    use SubmissionStatus::{Checking, Conflict, Failed, Merged, Submitted};
    let mut next = submission.clone();
    let refused = Err(StepRefusal {
        id: submission.id,
        status: submission.status,
    });
    let end = |next: &mut Submission, status| {
        next.status = status;
        next.ended_at = Some(now);
    };
    match (submission.status, step) {
        (Submitted | Checking, SubmissionStep::Began { onto, merge }) => {
            next.status = Checking;
            (next.onto, next.merge) = (Some(onto), Some(merge));
            next.check = None;
        }
        (Checking, SubmissionStep::Overtaken) => {
            next.status = Submitted;
            (next.onto, next.merge, next.check) = (None, None, None);
        }
        (Checking, SubmissionStep::CheckPassed(report)) => next.check = Some(report),
        (Submitted | Checking, SubmissionStep::Merged { merge }) => {
            next.merge = Some(merge);
            end(&mut next, Merged);
        }
        (Submitted | Checking, SubmissionStep::Conflicted(conflict)) => {
            (next.onto, next.merge) = (None, None);
            next.conflict = Some(conflict);
            end(&mut next, Conflict);
        }
        (Checking, SubmissionStep::CheckFailed(report)) => {
            next.check = Some(report);
            end(&mut next, Failed);
        }
        (Submitted | Checking, SubmissionStep::Unusable(reason)) => {
            next.reason = Some(reason);
            end(&mut next, Failed);
        }
        (Merged | Conflict | Failed, SubmissionStep::Told) => next.told = Some(true),
        (Submitted, SubmissionStep::Overtaken)
        | (Submitted, SubmissionStep::CheckPassed(_) | SubmissionStep::CheckFailed(_))
        | (Submitted | Checking, SubmissionStep::Told)
        | (
            Merged | Conflict | Failed,
            SubmissionStep::Began { .. }
            | SubmissionStep::Overtaken
            | SubmissionStep::Merged { .. }
            | SubmissionStep::Conflicted(_)
            | SubmissionStep::CheckFailed(_)
            | SubmissionStep::CheckPassed(_)
            | SubmissionStep::Unusable(_),
        ) => return refused,
    }
    Ok(next)
}

/// Whether work on a submission is left on this host: it must be integrated, or its author must be told. One that
/// is decided on another host is not due here before it has ended.
pub fn is_due(submission: &Submission) -> bool {
    match submission.status.is_open() {
        true => submission.sent_to.is_none(),
        false => submission.told != Some(true),
    }
}

/// How many submissions are in which state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SubmissionCount {
    pub submitted: u64,
    /// Those still in the queue.
    pub open: u64,
    pub merged: u64,
    /// Those that went back to their authors.
    pub returned: u64,
}

impl SubmissionCount {
    pub fn of<'a>(submissions: impl IntoIterator<Item = &'a Submission>) -> Self {
        let mut count = Self::default();
        for submission in submissions {
            count.submitted += 1;
            match submission.status {
                SubmissionStatus::Submitted | SubmissionStatus::Checking => count.open += 1,
                SubmissionStatus::Merged => count.merged += 1,
                SubmissionStatus::Conflict | SubmissionStatus::Failed => count.returned += 1,
            }
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::{AgentName, SubmissionId};

    fn commit(digit: char) -> CommitId {
        CommitId::new(&digit.to_string().repeat(40)).unwrap()
    }

    fn new() -> Submission {
        let alice = AgentName::new("alice").unwrap();
        Submission::new(SubmissionId(1), alice, commit('a'), time(1))
    }

    fn time(second: i64) -> Timestamp {
        Timestamp::from_micros(second * 1_000_000)
    }

    fn conflict() -> MergeConflict {
        MergeConflict {
            files: Vec::new(),
            messages: vec!["CONFLICT".to_owned()],
            extra: protocol::Extra::new(),
        }
    }

    fn report(passed: bool) -> CheckReport {
        CheckReport {
            command: "make".to_owned(),
            end: "exit code 1".to_owned(),
            passed,
            seconds: 1,
            output: String::new(),
            file: None,
            extra: protocol::Extra::new(),
        }
    }

    fn steps() -> Vec<SubmissionStep> {
        vec![
            SubmissionStep::Began {
                onto: commit('b'),
                merge: commit('c'),
            },
            SubmissionStep::Overtaken,
            SubmissionStep::Merged { merge: commit('c') },
            SubmissionStep::Conflicted(conflict()),
            SubmissionStep::CheckFailed(report(false)),
            SubmissionStep::CheckPassed(report(true)),
            SubmissionStep::Unusable("no".to_owned()),
            SubmissionStep::Told,
        ]
    }

    #[test]
    fn an_end_is_final_whatever_follows() {
        for end in steps() {
            let begun = advance(&new(), steps().remove(0), time(2)).unwrap();
            let Ok(ended) = advance(&begun, end, time(3)) else {
                continue;
            };
            if ended.status.is_open() {
                continue;
            }
            assert_eq!(ended.ended_at, Some(time(3)));
            for step in steps() {
                let after = advance(&ended, step.clone(), time(4));
                match step {
                    SubmissionStep::Told => assert_eq!(after.unwrap().status, ended.status),
                    _ => assert!(after.is_err(), "{step:?}"),
                }
            }
        }
    }

    #[test]
    fn what_was_overtaken_waits_again_and_has_no_merge() {
        let begun = advance(&new(), steps().remove(0), time(2)).unwrap();
        assert_eq!(begun.status, SubmissionStatus::Checking);
        let again = advance(&begun, SubmissionStep::Overtaken, time(3)).unwrap();
        assert_eq!(again.status, SubmissionStatus::Submitted);
        assert_eq!((again.onto, again.merge), (None, None));
    }

    #[test]
    fn every_submission_is_counted_once() {
        let mut all = vec![new()];
        for step in steps() {
            let begun = advance(&new(), steps().remove(0), time(2)).unwrap();
            all.extend(advance(&begun, step, time(3)));
        }
        let count = SubmissionCount::of(&all);
        assert_eq!(count.submitted, all.len() as u64);
        assert_eq!(count.submitted, count.open + count.merged + count.returned);
        assert_eq!((count.merged, count.returned), (1, 3));
    }
}
