//! Submissions that are decided on another host: what is recorded of them on the host of their author.

use crate::conflict::{first_chars, short_conflict};
use protocol::{CheckReport, Extra, HostId, Submission, SubmissionId, SubmissionStatus, Timestamp};

const MOST_SUBJECT: usize = 1000;
const MOST_REASON: usize = 8000;
/// The most characters of the output of a check that cross.
const MOST_OUTPUT: usize = 64 << 10;

/// An open submission that goes into the queue of another host. `None` if it has ended, or is on its way there.
pub fn send_to(submission: &Submission, home: &HostId) -> Option<Submission> {
    if !submission.status.is_open() || submission.sent_to.as_ref() == Some(home) {
        return None;
    }
    Some(Submission {
        status: SubmissionStatus::Submitted,
        sent_to: Some(home.clone()),
        taken_as: None,
        onto: None,
        merge: None,
        check: None,
        ..submission.clone()
    })
}

/// Applies what `from` says about a submission that was sent there. `None` if that changes nothing: it is another
/// one, was not sent there, or has ended.
pub fn take_state(
    submission: &Submission,
    from: &HostId,
    said: &Submission,
    now: Timestamp,
) -> Option<Submission> {
    let is_it = submission.sent_to.as_ref() == Some(from)
        && said.origin == Some(submission.id)
        && said.commit == submission.commit;
    if !is_it || !submission.status.is_open() {
        return None;
    }
    let mut next = submission.clone();
    // One that was refused has no number there.
    let number = Some(said.id).filter(|id| *id != SubmissionId(0));
    next.taken_as = number.or(submission.taken_as);
    if !said.status.is_open() {
        next.status = said.status;
        next.ended_at = Some(now);
        next.onto.clone_from(&said.onto);
        next.merge.clone_from(&said.merge);
        next.conflict.clone_from(&said.conflict);
        next.check.clone_from(&said.check);
        next.reason.clone_from(&said.reason);
        // The file with the whole output is at the other host.
        next.check.iter_mut().for_each(|check| check.file = None);
    }
    (next != *submission).then_some(next)
}

/// A submission as other hosts are told of it, which fits into a frame.
pub fn as_told(submission: &Submission) -> Submission {
    let check = |check: &CheckReport| CheckReport {
        command: first_chars(&check.command, MOST_SUBJECT),
        end: first_chars(&check.end, MOST_SUBJECT),
        output: first_chars(&check.output, MOST_OUTPUT),
        extra: Extra::new(),
        ..check.clone()
    };
    let reason = submission.reason.as_deref();
    Submission {
        subject: first_chars(&submission.subject, MOST_SUBJECT),
        completes: None,
        conflict: submission.conflict.clone().map(short_conflict),
        reason: reason.map(|reason| first_chars(reason, MOST_REASON)),
        check: submission.check.as_ref().map(check),
        extra: Extra::new(),
        ..submission.clone()
    }
}

/// What counts of a submission that another host brings.
pub fn as_brought(sent: &Submission) -> Submission {
    Submission {
        incarnation: sent.incarnation,
        task: sent.task,
        ..Submission::new(
            sent.id,
            sent.member.clone(),
            sent.commit.clone(),
            sent.created_at,
        )
    }
}

/// A refusal of what never came into the queue, as it is told to the host of its author.
pub fn refused(sent: &Submission, reason: &str, now: Timestamp) -> Submission {
    Submission {
        status: SubmissionStatus::Failed,
        ended_at: Some(now),
        reason: Some(reason.to_owned()),
        origin: Some(sent.id),
        ..Submission::new(
            SubmissionId(0),
            sent.member.clone(),
            sent.commit.clone(),
            sent.created_at,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::is_due;
    use protocol::{AgentName, CommitId};

    fn host(name: &str) -> HostId {
        HostId::new(name).unwrap()
    }

    fn submission(id: u64, digit: char) -> Submission {
        let commit = CommitId::new(&digit.to_string().repeat(40)).unwrap();
        let bob = AgentName::new("bob").unwrap();
        Submission::new(SubmissionId(id), bob, commit, time(1))
    }

    fn time(second: i64) -> Timestamp {
        Timestamp::from_micros(second * 1_000_000)
    }

    fn there(status: SubmissionStatus) -> Submission {
        Submission {
            status,
            origin: Some(SubmissionId(3)),
            host: Some(host("gpu1")),
            merge: Some(submission(1, 'c').commit),
            ..submission(8, 'a')
        }
    }

    #[test]
    fn what_is_sent_is_not_due_here_until_it_has_ended() {
        let sent = send_to(&submission(3, 'a'), &host("laptop")).unwrap();
        assert!(!is_due(&sent));
        assert_eq!(send_to(&sent, &host("laptop")), None);
        let taken = take_state(
            &sent,
            &host("laptop"),
            &there(SubmissionStatus::Submitted),
            time(2),
        );
        let taken = taken.unwrap();
        assert_eq!(taken.taken_as, Some(SubmissionId(8)));
        assert!(taken.status.is_open() && !is_due(&taken));
        let merged = there(SubmissionStatus::Merged);
        let ended = take_state(&taken, &host("laptop"), &merged, time(3)).unwrap();
        assert_eq!(ended.status, SubmissionStatus::Merged);
        assert_eq!(ended.ended_at, Some(time(3)));
        assert_eq!(ended.id, SubmissionId(3));
        assert!(is_due(&ended), "its author is yet to be told");
        // Whatever comes again or later changes nothing.
        for status in [
            SubmissionStatus::Submitted,
            SubmissionStatus::Merged,
            SubmissionStatus::Failed,
        ] {
            assert_eq!(
                take_state(&ended, &host("laptop"), &there(status), time(4)),
                None
            );
        }
    }

    #[test]
    fn only_the_host_it_was_sent_to_says_how_it_stands_and_only_about_this_commit() {
        let sent = send_to(&submission(3, 'a'), &host("laptop")).unwrap();
        let merged = there(SubmissionStatus::Merged);
        assert_eq!(take_state(&sent, &host("other"), &merged, time(2)), None);
        let local = submission(3, 'a');
        assert_eq!(take_state(&local, &host("laptop"), &merged, time(2)), None);
        let other_commit = Submission {
            commit: submission(1, 'b').commit,
            ..merged.clone()
        };
        assert_eq!(
            take_state(&sent, &host("laptop"), &other_commit, time(2)),
            None
        );
        let other_number = Submission {
            origin: Some(SubmissionId(4)),
            ..merged
        };
        assert_eq!(
            take_state(&sent, &host("laptop"), &other_number, time(2)),
            None
        );
    }

    #[test]
    fn a_refusal_ends_it_with_the_reason() {
        let sent = send_to(&submission(3, 'a'), &host("laptop")).unwrap();
        let said = refused(&sent, "its bundle is damaged", time(5));
        let ended = take_state(&sent, &host("laptop"), &said, time(6)).unwrap();
        assert_eq!(ended.status, SubmissionStatus::Failed);
        assert_eq!(ended.reason.as_deref(), Some("its bundle is damaged"));
        assert_eq!(ended.taken_as, None);
    }
}
