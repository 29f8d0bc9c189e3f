//! Compares what a workspace says with what its user has trusted. Pure.

use crate::folder_id::FolderId;
use crate::grant::Grant;
use crate::risky::{RiskySetting, RiskySettings};
use serde::{Deserialize, Serialize};

/// How many settings are listed before a question.
const MAX_LISTED_SETTINGS: usize = 40;

/// What a workspace says now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// The settings of the files that people write.
    pub files: RiskySettings,
    pub folder: Option<FolderFacts>,
}

/// What the team folder says now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderFacts {
    pub id: FolderId,
    /// The folder as a setting, if it has to be trusted as a whole.
    pub itself: RiskySetting,
    pub settings: RiskySettings,
}

/// What the user has trusted in one workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The settings of the files, trusted as a whole. Absent if the user was never asked.
    pub files: Option<RiskySettings>,
    pub folder: Option<TrustedFolder>,
}

/// A folder that this user's programs made, or that the user has trusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustedFolder {
    pub id: FolderId,
    pub settings: RiskySettings,
}

/// What in a workspace is not trusted, or was trusted and is gone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Settings that the user has not trusted.
    pub added: Vec<RiskySetting>,
    /// Settings that the user has trusted and that are gone.
    pub removed: Vec<RiskySetting>,
    /// Whether the user has trusted this workspace before.
    pub was_trusted: bool,
}

impl Verdict {
    pub fn is_trusted(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty()
    }

    /// One line for each setting that is not trusted, the first `MAX_LISTED_SETTINGS` of them. If others were trusted, the
    /// lines show the difference.
    pub fn lines(&self) -> Vec<String> {
        let (plus, minus) = match self.was_trusted {
            true => ("+ ", "- "),
            false => ("", ""),
        };
        let added = self
            .added
            .iter()
            .map(|setting| format!("  {plus}{setting}"));
        let removed = self
            .removed
            .iter()
            .map(|setting| format!("  {minus}{setting}"));
        let mut lines: Vec<String> = added.chain(removed).collect();
        if let Some(more @ 1..) = lines.len().checked_sub(MAX_LISTED_SETTINGS) {
            lines.truncate(MAX_LISTED_SETTINGS);
            lines.push(format!(
                "  and {more} more; `team-lead trust --show` lists all of them"
            ));
        }
        lines
    }
}

impl Record {
    /// The record after the user has trusted all of this.
    #[must_use]
    pub fn trusting(facts: &Facts) -> Self {
        Self {
            files: Some(facts.files.clone()),
            folder: facts.folder.as_ref().map(|folder| TrustedFolder {
                id: folder.id.clone(),
                settings: folder.settings.clone(),
            }),
        }
    }
}

/// Whether everything is trusted, by the record or by the grant; if not, what is different.
pub fn judge(facts: &Facts, record: &Record, grant: Option<&Grant>) -> Verdict {
    let mut verdict = Verdict {
        was_trusted: record.files.is_some(),
        ..Verdict::default()
    };
    if grant.is_none_or(|grant| grant.files != facts.files.hash()) {
        let none = RiskySettings::default();
        let trusted = record.files.as_ref().unwrap_or(&none);
        verdict.added.extend(facts.files.without(trusted));
        verdict.removed.extend(trusted.without(&facts.files));
    }
    if let Some(folder) = &facts.folder {
        let granted = grant.filter(|grant| grant.folder.as_ref() == Some(&folder.id));
        let trusted = record.folder.as_ref().filter(|known| known.id == folder.id);
        if granted.is_none() && trusted.is_none() {
            verdict.added.push(folder.itself.clone());
        }
        let unknown = folder.settings.iter().filter(|setting| {
            let is_trusted = trusted.is_some_and(|trusted| trusted.settings.contains(setting));
            let is_granted = granted.is_some_and(|grant| grant.settings.contains(&setting.hash()));
            !is_trusted && !is_granted
        });
        verdict.added.extend(unknown.cloned());
    }
    verdict
}

#[cfg(test)]
mod tests;
