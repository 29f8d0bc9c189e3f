//! The parts of a system prompt, and their order.

use std::fmt;

/// What a part is about. The order of the variants is the order in the prompt: what differs least
/// between members and days comes as early as it can, and what only one member is told comes last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PartKind {
    /// What the model is: a lead, or a teammate.
    Identity,
    /// How good work is done, and what a report of it looks like.
    Work,
    /// Who is written to when.
    Team,
    /// The tasks of the team.
    Board,
    /// What is written down, for the team and for oneself.
    Notes,
    /// What the user and the repository wrote down about working here.
    Instructions,
    /// What it can read about kinds of work.
    Skills,
    /// Where it works: folder, system, date, repository, sandbox.
    Environment,
    /// What its role asks for.
    Role,
    /// Its name and the name of its role.
    Name,
}

impl PartKind {
    /// The word by which people are shown the part.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Work => "work",
            Self::Team => "team",
            Self::Board => "board",
            Self::Notes => "notes",
            Self::Instructions => "instructions",
            Self::Skills => "skills",
            Self::Environment => "environment",
            Self::Role => "role",
            Self::Name => "name",
        }
    }

    /// The heading above the text; the identity opens the prompt without one.
    const fn heading(self) -> Option<&'static str> {
        match self {
            Self::Identity => None,
            Self::Work => Some("# How to work"),
            Self::Team => Some("# Team"),
            Self::Board => Some("# Board"),
            Self::Notes => Some("# Notes"),
            Self::Instructions => Some("# Instructions"),
            Self::Skills => Some("# Skills"),
            Self::Environment => Some("# Environment"),
            Self::Role => Some("# Your role"),
            Self::Name => Some("# You"),
        }
    }
}

/// A part of a system prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    pub kind: PartKind,
    pub text: String,
}

/// The system prompt of a member.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SystemPrompt {
    parts: Vec<Part>,
    problems: Vec<String>,
}

impl SystemPrompt {
    /// A prompt of these parts, in the fixed order. Empty ones are left out.
    pub fn new(parts: impl IntoIterator<Item = (PartKind, String)>) -> Self {
        let parts = parts.into_iter().map(|(kind, text)| {
            let text = match (kind.heading(), text.trim()) {
                (_, "") => String::new(),
                (None, text) => text.to_owned(),
                (Some(heading), text) => format!("{heading}\n{text}"),
            };
            Part { kind, text }
        });
        let mut parts: Vec<Part> = parts.filter(|part| !part.text.is_empty()).collect();
        parts.sort_by_key(|part| part.kind);
        Self {
            parts,
            problems: Vec::new(),
        }
    }

    /// The same, with what was to be in it and could not be used.
    #[must_use]
    pub fn with_problems(mut self, problems: impl IntoIterator<Item = String>) -> Self {
        self.problems.extend(problems);
        self
    }

    /// What was to be in it and could not be used, for people.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// How many bytes of the text come before the parts of this kind and of later ones.
    pub(crate) fn length_before(&self, kind: PartKind) -> usize {
        let before = self.parts.iter().filter(|part| part.kind < kind);
        let length: usize = before.map(|part| part.text.len() + SEPARATOR.len()).sum();
        length.min(self.to_string().len())
    }
}

/// What stands between two parts.
const SEPARATOR: &str = "\n\n";

impl fmt::Display for SystemPrompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, part) in self.parts.iter().enumerate() {
            if at > 0 {
                f.write_str(SEPARATOR)?;
            }
            f.write_str(&part.text)?;
        }
        Ok(())
    }
}

/// How many tokens a text is likely to be, as long as no model has counted it.
pub fn tokens(text: &str) -> usize {
    text.len().div_ceil(4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_one_order_however_they_are_given() {
        let text = |kind: PartKind| (kind, format!("{}.", kind.name()));
        let kinds = [PartKind::Board, PartKind::Identity, PartKind::Team];
        let prompt = SystemPrompt::new(kinds.map(text));
        assert_eq!(
            prompt.to_string(),
            "identity.\n\n# Team\nteam.\n\n# Board\nboard."
        );
        let reversed = SystemPrompt::new(kinds.into_iter().rev().map(text));
        assert_eq!(reversed, prompt);
    }

    #[test]
    fn a_part_without_a_text_is_left_out_with_its_heading() {
        let prompt = SystemPrompt::new([
            (PartKind::Identity, "I".to_owned()),
            (PartKind::Role, " \n".to_owned()),
        ]);
        assert_eq!(prompt.to_string(), "I");
        assert_eq!(prompt.parts().len(), 1);
    }
}
