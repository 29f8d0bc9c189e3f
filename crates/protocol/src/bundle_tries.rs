//! What is remembered of a bundle of another host that was not taken.

use crate::{BundleDigest, BundleName, Timestamp};
use serde::{Deserialize, Serialize};

/// How often it was tried in vain to take a bundle. There is one file for each name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BundleTries {
    pub name: BundleName,
    pub digest: BundleDigest,
    pub count: u32,
    pub last: Timestamp,
}
