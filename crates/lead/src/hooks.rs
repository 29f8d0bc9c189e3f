//! What the lead's agent does differently from a teammate's.

use crate::console::{Said, Speaker};
use crate::jobs::Report;
use crate::prompt;
use agent::{Event, Prompt};
use llm::WaitReason;
use member::{Hooks, MemberRuntime};
use team_tools::Seat;
use teamdir::TeamDir;
use tokio::sync::mpsc::UnboundedSender;

/// The lead's side of a desk's host.
pub(crate) struct LeadHooks {
    team: TeamDir,
    system: String,
    speaker: Speaker,
    reports: UnboundedSender<Report>,
    /// All text of the turn so far.
    said: String,
}

impl LeadHooks {
    pub(crate) fn new(team: TeamDir, speaker: Speaker, reports: UnboundedSender<Report>) -> Self {
        Self {
            system: prompt::system(&team),
            team,
            speaker,
            reports,
            said: String::new(),
        }
    }

    /// Forgets what was said in the turn before.
    pub(crate) fn begin_turn(&mut self) {
        self.said.clear();
    }

    /// Shows the last line of a turn if the program added it: the model never said it.
    pub(crate) fn end_turn(&mut self, text: &str) {
        if let Some(last) = text.trim().lines().last()
            && !self.said.contains(last)
        {
            self.speaker.notice(last);
        }
    }
}

impl Hooks for LeadHooks {
    fn prompt(&mut self) -> Prompt {
        Prompt {
            system: self.system.clone(),
            reminder: Some(prompt::reminder(&self.team)),
        }
    }

    fn see(&mut self, event: &Event) {
        match event {
            Event::Text(text) => {
                self.said.push_str(text);
                self.speaker.say(&Said::Text(text));
            }
            Event::Thinking(_) | Event::ToolStarted { .. } | Event::Compacted { .. } => {}
            Event::Waiting(waiting) => {
                self.speaker.say(&Said::Void);
                self.speaker.notice(&waiting.to_string());
                if waiting.reason == WaitReason::Budget {
                    let _ = self.reports.send(Report::BudgetSpent);
                }
            }
            Event::Replied { .. } => self.speaker.say(&Said::BlockEnd),
            Event::ToolFinished { name, text, .. } => {
                self.speaker.say(&Said::Tool { name, output: text });
            }
            Event::Compacting => self.speaker.notice("Making the conversation shorter."),
        }
    }
}

/// What the lead's tools need from its process.
pub(crate) struct LeadHandle(pub(crate) MemberRuntime);

impl Seat for LeadHandle {
    fn read_inbox(&self) -> Result<String, String> {
        self.0.read_inbox().map_err(|error| error.to_string())
    }
}
