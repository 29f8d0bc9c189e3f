//! Tells the author how a submission ended.

use crate::{Integration, IntegrationError};
use protocol::{
    CheckReport, MergeConflict, NoticeCause, Party, Recipient, Submission, SubmissionStatus,
    TaskId, TaskStatus,
};
use rules::SubmissionStep;
use team::notice;
use teamdir::SendError;

/// The most bytes of why it was returned. In an inbox each may take six, and a line there has a limit.
const MOST_WHY: usize = 128 << 10;

impl Integration {
    /// Does what follows from the end of a submission, and records that it was done. If the process is
    /// killed in between, the next one repeats it, and nothing happens twice.
    pub(crate) fn tell(&self, submission: &Submission) -> Result<(), IntegrationError> {
        match submission.status {
            SubmissionStatus::Submitted | SubmissionStatus::Checking => return Ok(()),
            SubmissionStatus::Merged => self.complete_task(submission),
            SubmissionStatus::Conflict | SubmissionStatus::Failed => {
                // The member's tree is told where the team's branch is, so that the advice in the mail
                // works. The mail is sent even if this fails.
                let _ = self.refresh(&submission.member);
                let to = Recipient::Member(submission.member.clone());
                let id = format!("submission/{}/{}", submission.id, submission.status);
                let text = text(submission);
                match notice(&self.team, to, NoticeCause::Submission, &id, &text) {
                    Ok(_) => {}
                    // The member has left the team, so the lead is told instead.
                    Err(SendError::UnknownRecipient { .. }) => {
                        notice(
                            &self.team,
                            Recipient::Lead,
                            NoticeCause::Submission,
                            &id,
                            &text,
                        )?;
                    }
                    Err(error) => return Err(error.into()),
                }
            }
        }
        self.step(submission, SubmissionStep::Told).map(drop)
    }

    /// Completes the task whose work was merged, unless somebody else has claimed it in the meantime.
    fn complete_task(&self, submission: &Submission) {
        let (Some(task), Some(result)) = (submission.task, &submission.completes) else {
            return;
        };
        let Ok(found) = self.team.task(task) else {
            return;
        };
        let is_others = match &found.owner.0 {
            Some(Party::Member(owner)) => !owner.same_as(&submission.member),
            Some(Party::Lead | Party::User | Party::System) => true,
            None => false,
        };
        if found.status == TaskStatus::Completed || is_others {
            return;
        }
        let result = Some(result.as_str()).filter(|result| !result.is_empty());
        // The work stays merged, even if the task cannot be completed.
        let _ = team::complete_merged(&self.team, &submission.member, task, result);
    }
}

/// What the author is told.
fn text(submission: &Submission) -> String {
    let Submission { id, commit, .. } = submission;
    let task = submission.task.map(task_text);
    let head = format!(
        "Your submission {id} (commit {}{})",
        commit.short(),
        task.unwrap_or_default()
    );
    let mut why = match (&submission.conflict, &submission.check, &submission.reason) {
        (Some(conflict), _, _) => conflict_text(conflict),
        (_, _, Some(reason)) => format!("cannot be used: {reason}"),
        (_, Some(check), _) => check_text(check),
        (None, None, None) => "was not merged".to_owned(),
    };
    why.truncate(why.floor_char_boundary(MOST_WHY));
    let next = match submission.status {
        SubmissionStatus::Conflict => {
            "In your tree, run `git merge team/main`, resolve the conflicts, commit and submit again."
        }
        SubmissionStatus::Submitted
        | SubmissionStatus::Checking
        | SubmissionStatus::Merged
        | SubmissionStatus::Failed => {
            "In your tree, run `git merge team/main` to get what it was merged with, mend it, commit \
             and submit again."
        }
    };
    format!("{head} {why}\nNothing of it is in team/main, and the work is still yours. {next}")
}

fn task_text(task: TaskId) -> String {
    format!(", task #{task}")
}

fn conflict_text(conflict: &MergeConflict) -> String {
    let mut text = "conflicts with what others have merged into team/main:".to_owned();
    for file in &conflict.files {
        text.push_str(&format!("\n- {}", file.path));
        if !file.authors.is_empty() {
            text.push_str(&format!(" (changed there by {})", file.authors.join(", ")));
        }
        if !file.hunks.is_empty() {
            text.push_str(&format!("\n{}", file.hunks.trim_end()));
        }
    }
    for message in &conflict.messages {
        text.push_str(&format!("\n{message}"));
    }
    text
}

fn check_text(check: &CheckReport) -> String {
    let CheckReport {
        command,
        end,
        output,
        ..
    } = check;
    let mut text = format!("merges, but the check `{command}` {end}.");
    if !output.is_empty() {
        text.push_str(&format!(" The end of its output:\n{output}"));
    }
    text
}
