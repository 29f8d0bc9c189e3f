//! The version of the folder's format.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The version this program writes, and the newest it reads.
pub const FORMAT_VERSION: u32 = 1;

/// The format version of a stored file, never newer than [`FORMAT_VERSION`].
///
/// A file without a version is of version 1: the lessons this format grew from had none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FormatVersion(u32);

/// A file was written by a newer program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "format version {found} is newer than version {FORMAT_VERSION}, the newest this program \
     knows; use a newer team-lead on this folder"
)]
pub struct UnsupportedVersion {
    /// The version the file claims.
    pub found: u32,
}

impl FormatVersion {
    /// The version this program writes.
    pub const CURRENT: Self = Self(FORMAT_VERSION);

    /// Accepts a version this program can read.
    pub fn new(found: u32) -> Result<Self, UnsupportedVersion> {
        if found == 0 || found > FORMAT_VERSION {
            return Err(UnsupportedVersion { found });
        }
        Ok(Self(found))
    }

    /// The number as stored.
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl Default for FormatVersion {
    fn default() -> Self {
        Self::CURRENT
    }
}

impl Serialize for FormatVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(self.0)
    }
}

impl<'de> Deserialize<'de> for FormatVersion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(u32::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}
