//! The balance as text.

use super::Ledger;
use std::fmt;

impl fmt::Display for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, text) in self.rows() {
            writeln!(f, "  {name:<14}{text}")?;
        }
        for problem in &self.problems {
            writeln!(f, "    {problem}")?;
        }
        Ok(())
    }
}

impl Ledger {
    fn rows(&self) -> Vec<(&'static str, String)> {
        let mut rows = self.fault_rows();
        rows.push(("restarts", self.restarts.to_string()));
        rows.extend(self.message_rows());
        let tasks = &self.tasks;
        let done = format!(
            "{} done once, {} twice, {} never ({} worked on again after a kill)",
            tasks.once, tasks.twice, tasks.never, tasks.reworked
        );
        let history = match self.history {
            0 => "the replayed events equal the files".to_owned(),
            count => format!("{count} differences between the replayed events and the files"),
        };
        rows.extend([
            ("tasks", done),
            ("stranded", self.stranded.to_string()),
            ("orphans", self.orphans.to_string()),
            ("history", history),
        ]);
        let left_out = self.left_out.iter();
        rows.extend(left_out.map(|reason| ("left out", reason.clone())));
        let verdict = if self.is_balanced() {
            "balanced"
        } else {
            "NOT BALANCED"
        };
        rows.push(("verdict", verdict.to_owned()));
        rows
    }

    fn fault_rows(&self) -> Vec<(&'static str, String)> {
        let faults = &self.faults;
        let kills = format!(
            "{} members, {} leads, {} commands",
            faults.members_killed, faults.leads_killed, faults.commands_killed
        );
        let others = format!(
            "{} stopped, {} times a full disk, {} errors of the model's server, \
             {} lines of garbage, {} shutdowns",
            faults.stopped,
            faults.disk_full,
            faults.server_errors,
            faults.garbage,
            faults.shutdowns
        );
        vec![("kills", kills), ("other faults", others)]
    }

    fn message_rows(&self) -> [(&'static str, String); 2] {
        let mail = &self.messages;
        let sent = format!(
            "{} sent, {} of unknown outcome ({} arrived), {} injected, {} dead-lettered",
            mail.sent, mail.unknown, mail.unknown_arrived, mail.injected, mail.dead_lettered
        );
        let wrong = format!(
            "{} lost, {} duplicated, {} astray",
            mail.lost, mail.duplicated, mail.astray
        );
        [("messages", sent), ("", wrong)]
    }
}
