//! What a process has judged, handed to a process that it starts.

use crate::folder_id::FolderId;
use crate::risky::{Hash, RiskySetting};
use crate::verdict::Facts;
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// The variable in which a process gets its grant.
pub const GRANT_VARIABLE: &str = "TEAM_TRUST";

/// Settings that whoever started this process trusts, without a record of it. Its text form is
/// `FILES/FOLDER/SETTING,SETTING...`, with hashes for the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    pub(crate) files: Hash,
    pub(crate) folder: Option<FolderId>,
    pub(crate) settings: BTreeSet<Hash>,
}

/// A text is not a grant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("it is not a list of trusted settings")]
pub struct ParseGrantError;

impl Grant {
    /// A grant for exactly these facts.
    pub fn of(facts: &Facts) -> Self {
        let folder = facts.folder.as_ref();
        Self {
            files: facts.files.hash(),
            folder: folder.map(|folder| folder.id.clone()),
            settings: folder.map_or_else(BTreeSet::new, |folder| {
                folder.settings.iter().map(RiskySetting::hash).collect()
            }),
        }
    }

    /// Binds the grant to this folder, which was created after the facts were collected.
    #[must_use]
    pub fn in_folder(mut self, folder: FolderId) -> Self {
        self.folder = Some(folder);
        self
    }

    /// Adds settings of the folder to the grant.
    #[must_use]
    pub fn with_settings<'a>(
        mut self,
        settings: impl IntoIterator<Item = &'a RiskySetting>,
    ) -> Self {
        self.settings
            .extend(settings.into_iter().map(RiskySetting::hash));
        self
    }
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/", self.files)?;
        if let Some(folder) = &self.folder {
            write!(f, "{folder}")?;
        }
        for (at, setting) in self.settings.iter().enumerate() {
            write!(f, "{}{setting}", if at == 0 { '/' } else { ',' })?;
        }
        Ok(())
    }
}

impl FromStr for Grant {
    type Err = ParseGrantError;

    fn from_str(text: &str) -> Result<Self, ParseGrantError> {
        let mut parts = text.splitn(3, '/');
        let files = parts.next().and_then(Hash::parse).ok_or(ParseGrantError)?;
        let folder = match parts.next() {
            None | Some("") => None,
            Some(id) => Some(FolderId::parse(id).ok_or(ParseGrantError)?),
        };
        let settings = parts
            .next()
            .into_iter()
            .flat_map(|settings| settings.split(','));
        let settings: Option<BTreeSet<Hash>> = settings.map(Hash::parse).collect();
        let settings = settings.ok_or(ParseGrantError)?;
        Ok(Self {
            files,
            folder,
            settings,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::risky::Risk;

    #[test]
    fn a_grant_survives_its_text() {
        let setting = |value: &str| RiskySetting {
            risk: Risk::Exec,
            key: "k".to_owned(),
            value: value.to_owned(),
            origin: "o".into(),
        };
        let plain = Grant::of(&Facts::default());
        let folder = plain.clone().in_folder(FolderId::parse("12-34").unwrap());
        let full = folder.clone().with_settings(&[setting("a"), setting("b")]);
        for grant in [plain, folder, full] {
            assert_eq!(grant.to_string().parse(), Ok(grant));
        }
        for text in ["", "1", "abc/12-34", "/12-34/"] {
            assert_eq!(text.parse::<Grant>(), Err(ParseGrantError), "{text:?}");
        }
    }
}
