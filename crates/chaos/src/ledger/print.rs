//! The balance as text.

use super::Ledger;
use std::fmt;

impl fmt::Display for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut row = |name: &str, words: String| writeln!(f, "  {name:<14}{words}");
        let (blows, mail, tasks) = (&self.blows, &self.messages, &self.tasks);
        row(
            "kills",
            format!(
                "{} members, {} leads, {} commands",
                blows.members_killed, blows.leads_killed, blows.commands_killed
            ),
        )?;
        row(
            "other blows",
            format!(
                "{} stopped, {} times a full disk, {} errors of the model's server, {} lines of garbage, {} shutdowns",
                blows.stopped, blows.disk_full, blows.server_errors, blows.garbage, blows.shutdowns
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
        for words in &self.left_out {
            row("left out", words.clone())?;
        }
        let verdict = if self.is_balanced() {
            "balanced"
        } else {
            "NOT BALANCED"
        };
        row("verdict", verdict.to_owned())?;
        for fault in &self.faults {
            writeln!(f, "    {fault}")?;
        }
        Ok(())
    }
}
