//! The balance as text.

use super::Ledger;
use std::fmt;

impl fmt::Display for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut row = |name: &str, text: String| writeln!(f, "  {name:<14}{text}");
        let (faults, mail, tasks) = (&self.faults, &self.messages, &self.tasks);
        row(
            "kills",
            format!(
                "{} members, {} leads, {} commands",
                faults.members_killed, faults.leads_killed, faults.commands_killed
            ),
        )?;
        row(
            "other faults",
            format!(
                "{} stopped, {} times a full disk, {} errors of the model's server, {} lines of garbage, {} shutdowns",
                faults.stopped,
                faults.disk_full,
                faults.server_errors,
                faults.garbage,
                faults.shutdowns
            ),
        )?;
        row("restarts", self.restarts.to_string())?;
        row(
            "messages",
            format!(
                "{} sent, {} of unknown outcome ({} arrived), {} injected, {} dead-lettered",
                mail.sent, mail.unknown, mail.unknown_arrived, mail.injected, mail.dead_lettered
            ),
        )?;
        row(
            "",
            format!(
                "{} lost, {} duplicated, {} astray",
                mail.lost, mail.duplicated, mail.astray
            ),
        )?;
        row(
            "tasks",
            format!(
                "{} done once, {} twice, {} never ({} worked on again after a kill)",
                tasks.once, tasks.twice, tasks.never, tasks.reworked
            ),
        )?;
        row("stranded", self.stranded.to_string())?;
        row("orphans", self.orphans.to_string())?;
        row(
            "history",
            match self.history {
                0 => "the replayed events equal the files".to_owned(),
                count => format!("{count} differences between the replayed events and the files"),
            },
        )?;
        for reason in &self.left_out {
            row("left out", reason.clone())?;
        }
        let verdict = if self.is_balanced() {
            "balanced"
        } else {
            "NOT BALANCED"
        };
        row("verdict", verdict.to_owned())?;
        for problem in &self.problems {
            writeln!(f, "    {problem}")?;
        }
        Ok(())
    }
}
