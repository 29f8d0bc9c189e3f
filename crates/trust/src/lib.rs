//! Which settings of a workspace its user has trusted.
//!
//! A workspace may come from a stranger. Some of what its files say runs code, moves a key, or decides
//! what members may do: these are its [`RiskySetting`]s. [`judge`] compares those that a workspace has now
//! ([`Facts`]) with those that the user has trusted ([`Record`]), and returns what is new and what is
//! missing. It is pure. The [`Store`] keeps the records in the user's state folder, one file per
//! workspace.
//!
//! Settings from two origins are kept apart, because they change in different ways:
//!
//! - Those in files that people write (`team.toml`, `.env`) are trusted as a whole. Any change, a removal
//!   too, needs trust again: to remove a restriction widens what is allowed.
//! - Those in the team folder come one by one, when the user starts a member with them. Each is
//!   trusted by itself. They count only for the folder in which they were trusted ([`FolderId`]): one
//!   that came by `git clone`, or that replaced the folder, is another folder.
//!
//! A [`Grant`] hands a verdict to a process that this one starts, where nothing is kept.
//!
//! **Invariant:** nothing here knows what a team is, or reads the environment.

mod folder_id;
mod grant;
mod lock;
mod owners;
mod risky;
mod store;
mod verdict;

pub use folder_id::FolderId;
pub use grant::{GRANT_VARIABLE, Grant, ParseGrantError};
pub use owners::{OWNERS_VARIABLE, Owners};
pub use risky::{Hash, Risk, RiskySetting, RiskySettings};
pub use store::{LockedRecord, Store, StoreError};
pub use verdict::{Facts, FolderFacts, Record, TrustedFolder, Verdict, judge};
