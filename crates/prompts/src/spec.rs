//! From what a system prompt is made.

use crate::part::{PartKind, SystemPrompt};
use crate::{base, environment};
use protocol::{AgentName, Timestamp};
use std::path::PathBuf;
use std::sync::Arc;
use tools::Confinement;

/// Whom a prompt is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reader {
    Lead,
    Teammate {
        name: AgentName,
        role: String,
        /// What its role asks for, if the configuration says so.
        about_role: Option<String>,
    },
}

/// Everything that a system prompt is made from, besides what it reads from disk.
#[derive(Clone)]
pub struct PromptSpec {
    pub reader: Reader,
    /// Where the member works.
    pub workspace: PathBuf,
    /// What its commands run in.
    pub confinement: Arc<Confinement>,
}

impl PromptSpec {
    /// The prompt as it is on disk and by the clock now. Trying out the sandbox may take a moment the
    /// first time.
    pub fn build(&self, now: Timestamp) -> SystemPrompt {
        let sandbox = self.confinement.facts();
        let environment = environment::facts(&self.workspace, &sandbox, now);
        SystemPrompt::new(self.base().into_iter().chain([
            (PartKind::Environment, environment),
            (PartKind::Role, self.about_role().to_owned()),
        ]))
    }

    /// The parts that are the same for all members of a kind, but for their names.
    fn base(&self) -> [(PartKind, String); 4] {
        match &self.reader {
            Reader::Lead => [
                (PartKind::Identity, base::LEAD.to_owned()),
                (PartKind::Work, [base::WORK, base::LEAD_WORK].join("\n")),
                (PartKind::Team, base::LEAD_TEAM.to_owned()),
                (PartKind::Board, base::LEAD_BOARD.to_owned()),
            ],
            Reader::Teammate { name, role, .. } => [
                (
                    PartKind::Identity,
                    format!("You are '{name}', role: {role}\n{}", base::TEAMMATE),
                ),
                (PartKind::Work, [base::WORK, base::TEAMMATE_WORK].join("\n")),
                (PartKind::Team, base::TEAMMATE_TEAM.to_owned()),
                (PartKind::Board, base::TEAMMATE_BOARD.to_owned()),
            ],
        }
    }

    fn about_role(&self) -> &str {
        match &self.reader {
            Reader::Lead => "",
            Reader::Teammate { about_role, .. } => about_role.as_deref().unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests;
