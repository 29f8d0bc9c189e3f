//! What becomes of the work of members with trees of their own: nothing is lost, and conflicts are told early.

use crate::measure::report::{Row, Section, Value};
use crate::measure::trees::{commit_file, git, name, repository};
use crate::measure::{Plan, progress, quantile};
use anyhow::ensure;
use config::Config;
use integration::{QueueOutcome, Work};
use member::{SandboxSettings, open_trees};
use protocol::Submission;
use rules::SubmissionCount;
use std::time::Instant;

/// Of so many members two change the same file.
const PER_CONFLICT: usize = 4;

pub(super) fn rows(plan: &Plan<'_>, section: &mut Section) -> anyhow::Result<()> {
    progress("submissions of members who change the same files");
    let members = plan.pick(24, 8);
    let folder = plan.folder("merges")?;
    let team = repository(&folder, 50, members)?;
    let trees = open_trees(&team, &Config::default(), &SandboxSettings::default())?;
    // Members 0 and 1 change the same file, 2 and 3 their own ones, and so on.
    let file = |number: usize| match number % PER_CONFLICT {
        0 | 1 => format!("shared-{}.txt", number / PER_CONFLICT),
        _ => format!("own-{number}.txt"),
    };
    for number in 0..members {
        trees.ensure_tree(&name(number)?)?;
    }
    let mut warned = 0;
    for number in 0..members {
        let member = name(number)?;
        let text = format!("the work of {member}\n");
        commit_file(&team.layout().tree(&member), &file(number), &text)?;
        trees.refresh(&member)?;
        warned += usize::from(!trees.warn_of_conflicts(&member)?.is_empty());
    }
    let mut submitted_at = Vec::new();
    for number in 0..members {
        trees.submit(&name(number)?, &Work::default())?;
        submitted_at.push(Instant::now());
    }
    let ran = trees.run_queue()?;
    ensure!(matches!(ran, QueueOutcome::Done(_)), "{ran:?}");
    let waited: Vec<f64> = submitted_at
        .iter()
        .map(|at| at.elapsed().as_secs_f64())
        .collect();
    let all = team
        .submissions()?
        .into_iter()
        .collect::<Result<Vec<Submission>, _>>()?;
    let count = SubmissionCount::of(&all);
    // Each file is in the team's branch with the work of one of those who changed it.
    let is_lost = |number: &usize| {
        let place = format!("refs/heads/team/main:{}", file(*number));
        git(&folder, &["cat-file", "-e", &place]).is_err()
    };
    let lost = (0..members).filter(is_lost).count();
    let found = Found {
        members,
        count,
        lost,
        warned,
        waited,
    };
    section.rows.extend(found.rows());
    section.note(
        "merges: each member commits in a tree of its own, two of four change the same file in other ways; all submit, \
         and then the queue runs; told = the product's own warning, after the commit of the second of the two",
    );
    Ok(())
}

/// How a queue went.
struct Found {
    members: usize,
    count: SubmissionCount,
    /// Work that is in no branch.
    lost: usize,
    /// Conflicts that were told before the submission.
    warned: usize,
    /// From the submission to the end of the queue, in seconds.
    waited: Vec<f64>,
}

impl Found {
    fn rows(&self) -> [Row; 4] {
        let Self {
            members,
            count,
            lost,
            warned,
            waited,
        } = self;
        let open = count.submitted - count.merged - count.returned;
        let conflicts = members / PER_CONFLICT;
        [
            Row::new(
                format!(
                    "merges: submitted ({}) - merged ({}) - returned ({})",
                    count.submitted, count.merged, count.returned
                ),
                Value::Count(open as f64),
            )
            .bar("none", open == 0),
            Row::new(
                "merges: work that is in no branch",
                Value::Count(*lost as f64),
            )
            .bar("none", *lost == 0),
            Row::new(
                format!("merges: conflicts told before the submission, of {conflicts}"),
                Value::Count(*warned as f64),
            )
            .bar(
                "all",
                *warned >= conflicts && count.returned == conflicts as u64,
            ),
            Row::new(
                format!("merges: from the submission to the end of the queue of {members}, p50"),
                Value::Seconds(quantile(waited, 0.5)),
            ),
        ]
    }
}
