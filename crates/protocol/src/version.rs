//! The version of the folder's format.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The version this program writes, and the newest it reads.
pub const FORMAT_VERSION: u32 = 1;

/// The format version of a stored file, never newer than [`FORMAT_VERSION`].
///
/// A file without a version is of version 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FormatVersion(u32);

/// Why a file of some version cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UnsupportedVersion {
    /// It was written by a newer program.
    #[error(
        "format version {0} is newer than version {FORMAT_VERSION}, the newest this program \
         knows; use a newer team-lead on this folder"
    )]
    Newer(u64),
    /// There never was such a version.
    #[error("there is no format version 0; the first is 1")]
    Zero,
}

impl FormatVersion {
    /// The version this program writes.
    pub const CURRENT: Self = Self(FORMAT_VERSION);

    /// Accepts a version this program can read.
    pub fn new(found: u64) -> Result<Self, UnsupportedVersion> {
        match u32::try_from(found) {
            Ok(0) => Err(UnsupportedVersion::Zero),
            Ok(version) if version <= FORMAT_VERSION => Ok(Self(version)),
            _ => Err(UnsupportedVersion::Newer(found)),
        }
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
        Self::new(u64::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}
