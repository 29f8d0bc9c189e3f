//! Checks a merge in a tree of its own, inside a sandbox.

use crate::setup::{Run, end_text, last_output};
use crate::{Integration, IntegrationError, UPSTREAM};
use command::{End, Finished, Job};
use git::NewTree;
use protocol::{CheckReport, CommitId, Extra, SubmissionId};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// How much of a check's output is kept in the submission.
const KEPT: usize = 6_000;

/// A check that runs. Dropping it ends the command.
pub(crate) enum Checking {
    NoCheck,
    /// It could not be started.
    Failed(CheckReport),
    Running {
        _job: Job,
        finished: Receiver<Finished>,
        command: String,
        limit: Duration,
        since: Instant,
        output: PathBuf,
    },
}

pub(crate) enum CheckOutcome {
    NoCheck,
    Passed(CheckReport),
    Failed(CheckReport),
}

impl Checking {
    /// Waits for the end of the check. Its time limit bounds the wait.
    pub(crate) fn wait(self) -> CheckOutcome {
        match self {
            Self::NoCheck => CheckOutcome::NoCheck,
            Self::Failed(report) => CheckOutcome::Failed(report),
            Self::Running {
                _job,
                finished,
                command,
                limit,
                since,
                output,
            } => {
                let Ok(finished) = finished.recv() else {
                    return CheckOutcome::Failed(report(&command, "was lost".to_owned()));
                };
                let passed = matches!(finished.end, End::Exited(0));
                let report = CheckReport {
                    passed,
                    seconds: since.elapsed().as_secs(),
                    output: last_output(&finished, KEPT),
                    file: Some(output.display().to_string()),
                    ..report(&command, end_text(finished.end, limit))
                };
                match passed {
                    true => CheckOutcome::Passed(report),
                    false => CheckOutcome::Failed(report),
                }
            }
        }
    }
}

impl Integration {
    /// Starts the check of a merge, if one is set.
    pub(crate) fn start_check(
        &self,
        id: SubmissionId,
        merge: &CommitId,
    ) -> Result<Checking, IntegrationError> {
        let Some(command) = self.settings.check.clone() else {
            return Ok(Checking::NoCheck);
        };
        let folder = self.team.layout().check_tree(id);
        self.team.trees_folder()?;
        self.remove_check_tree(id);
        self.repository.create_tree(&NewTree {
            path: &folder,
            branch: "team/check",
            base: merge,
            author: ("check", "check@team-lead.invalid"),
            upstream: UPSTREAM,
        })?;
        if let Err(error) = self.set_up(&folder) {
            return Ok(Checking::Failed(report(&command, error.to_string())));
        }
        let limit = self.settings.check_limit;
        let output = self.team.layout().check_output(id);
        let (send, finished) = channel();
        let run = Run {
            folder: &folder,
            command: &command,
            limit,
            output: &output,
        };
        let job = self.start_in(&run, move |ended| {
            // If the check was dropped, nobody receives this.
            let _ = send.send(ended);
        });
        Ok(match job {
            Ok(job) => Checking::Running {
                _job: job,
                finished,
                command,
                limit,
                since: Instant::now(),
                output,
            },
            Err(error) => Checking::Failed(report(&command, error.to_string())),
        })
    }

    /// Removes the tree of a check. If that fails, the next check or queue run removes it.
    pub(crate) fn remove_check_tree(&self, id: SubmissionId) {
        let _ = std::fs::remove_dir_all(self.team.layout().check_tree(id));
    }
}

fn report(command: &str, end: String) -> CheckReport {
    CheckReport {
        command: command.to_owned(),
        end,
        passed: false,
        seconds: 0,
        output: String::new(),
        file: None,
        extra: Extra::new(),
    }
}
