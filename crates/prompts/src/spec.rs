//! From what a system prompt is made.

use crate::instructions::{self, Instructions};
use crate::part::{PartKind, SystemPrompt};
use crate::skills::{self, SkillPlaces, SkillTool, Skills};
use crate::text::one_line;
use crate::{base, environment, roles};
use protocol::{AgentName, Timestamp};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tools::Confinement;

/// Whom a prompt is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reader {
    Lead,
    Teammate {
        name: AgentName,
        role: String,
        /// What the configuration says about the role; it counts before what is built in.
        about_role: Option<String>,
    },
}

/// Everything that a system prompt is made from, besides what it reads from disk.
#[derive(Clone)]
pub struct PromptSpec {
    pub reader: Reader,
    /// Where the member works.
    pub workspace: PathBuf,
    /// Whether nobody else works there.
    pub is_own_tree: bool,
    /// What its commands run in.
    pub confinement: Arc<Confinement>,
    pub user: UserFolders,
}

/// The user's own folders.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserFolders {
    /// Of this program, such as `~/.config/team-lead`.
    pub own: Option<PathBuf>,
    pub home: Option<PathBuf>,
}

/// What people wrote down for the members, as it is on disk at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct WrittenTexts {
    instructions: Instructions,
    skills: Skills,
}

impl WrittenTexts {
    /// What is different later, as a model is told it; nothing if nothing is.
    pub(crate) fn changes(&self, later: &Self) -> Option<String> {
        let changes = [
            instructions::changes(&self.instructions, &later.instructions),
            skills::changes(&self.skills, &later.skills),
        ];
        let changes: Vec<String> = changes.into_iter().flatten().collect();
        (!changes.is_empty()).then(|| changes.join("\n"))
    }

    fn problems(&self) -> impl Iterator<Item = String> {
        let problems = self.instructions.problems.iter();
        problems.chain(&self.skills.problems).cloned()
    }
}

/// Which instructions and skills of a workspace and its user are there and cannot be used, with the
/// reasons.
pub fn unusable_texts(workspace: &Path, user: &UserFolders) -> Vec<String> {
    let read = read(workspace, user);
    read.problems().collect()
}

fn read(workspace: &Path, user: &UserFolders) -> WrittenTexts {
    let places = SkillPlaces {
        workspace: workspace.to_path_buf(),
        user: user.clone(),
    };
    WrittenTexts {
        instructions: Instructions::read(workspace, user.own.as_deref()),
        skills: places.find(),
    }
}

impl PromptSpec {
    /// The prompt as it is on disk and by the clock now. Trying out the sandbox may take a moment the
    /// first time.
    pub fn build(&self, now: Timestamp) -> SystemPrompt {
        self.build_with(&self.written_texts(), now)
    }

    /// The same with what was read before.
    pub(crate) fn build_with(&self, written: &WrittenTexts, now: Timestamp) -> SystemPrompt {
        let sandbox = self.confinement.facts();
        let environment = environment::facts(&self.workspace, self.is_own_tree, &sandbox, now);
        let parts = self.base().into_iter().chain([
            (PartKind::Environment, environment),
            (PartKind::Role, self.about_role().to_owned()),
            (PartKind::Name, self.name()),
            (PartKind::Instructions, written.instructions.text()),
            (PartKind::Skills, written.skills.text()),
        ]);
        SystemPrompt::new(parts).with_problems(written.problems())
    }

    /// What the user and the repository wrote down, now.
    pub(crate) fn written_texts(&self) -> WrittenTexts {
        read(&self.workspace, &self.user)
    }

    /// The tool that reads skills, if there are any.
    pub fn skill_tool(&self) -> Option<SkillTool> {
        let places = self.skill_places();
        let has_any = !places.find().is_empty();
        has_any.then(|| SkillTool::new(places))
    }

    fn skill_places(&self) -> SkillPlaces {
        SkillPlaces {
            workspace: self.workspace.clone(),
            user: self.user.clone(),
        }
    }

    /// The first part that is not for every teammate of the team: its role and its name, and where it works if
    /// nobody else works there. The lead has no colleague with the same text.
    pub(crate) const fn first_own_part(&self) -> Option<PartKind> {
        match (&self.reader, self.is_own_tree) {
            (Reader::Lead, _) => None,
            (Reader::Teammate { .. }, true) => Some(PartKind::Environment),
            (Reader::Teammate { .. }, false) => Some(PartKind::Role),
        }
    }

    /// The parts that are the same for all members of a kind.
    fn base(&self) -> [(PartKind, String); 5] {
        match &self.reader {
            Reader::Lead => [
                (PartKind::Identity, base::LEAD.to_owned()),
                (PartKind::Work, [base::WORK, base::LEAD_WORK].join("\n")),
                (PartKind::Team, base::LEAD_TEAM.to_owned()),
                (PartKind::Board, base::LEAD_BOARD.to_owned()),
                (PartKind::Notes, base::NOTES.to_owned()),
            ],
            Reader::Teammate { .. } => [
                (PartKind::Identity, base::TEAMMATE.to_owned()),
                (PartKind::Work, [base::WORK, base::TEAMMATE_WORK].join("\n")),
                (PartKind::Team, base::TEAMMATE_TEAM.to_owned()),
                (PartKind::Board, base::TEAMMATE_BOARD.to_owned()),
                (PartKind::Notes, base::NOTES.to_owned()),
            ],
        }
    }

    fn name(&self) -> String {
        match &self.reader {
            Reader::Lead => String::new(),
            Reader::Teammate { name, role, .. } => {
                format!("You are '{name}', role: {}", one_line(role))
            }
        }
    }

    fn about_role(&self) -> &str {
        match &self.reader {
            Reader::Lead => "",
            Reader::Teammate {
                role, about_role, ..
            } => {
                let configured = about_role.as_deref();
                configured
                    .or_else(|| roles::built_in(role))
                    .unwrap_or_default()
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
