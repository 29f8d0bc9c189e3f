//! Repositories, work trees that borrow their objects, and merges without a checkout.
//!
//! # Theory of operation
//!
//! A [`Repository`] is the one of a person. A **tree** ([`Tree`]) is a repository of its own with a work
//! tree, made by [`Repository::create_tree`]. It has no hard links to the repository and borrows its
//! objects through `objects/info/alternates`: whoever may write in the tree can change nothing else.
//!
//! Whoever works in a tree may be hostile. Its settings, hooks, attributes and objects are a stranger's
//! word, and git runs programs that such words name. Therefore git runs in a tree only inside a sandbox
//! ([`SandboxedTree`]), and what comes out of it is a pack of objects, which `index-pack --strict` checks on the way
//! in as it does with one from the network ([`Repository::receive`]).
//!
//! The repository's own settings may name programs too: merge drivers, filters, hooks. What is
//! merged is a member's word, and must not reach them. Therefore merges, comparisons and histories run
//! with a **neutral** git folder, which has no settings, and with the objects of the repository. Only
//! commands that read or change references run with the repository's own folder, with hooks and monitors
//! switched off.
//!
//! **Invariants:** no command here changes a file of the person's work tree, but those in [`work_tree`]; a
//! reference is changed only from the value that the caller has seen; every name that git prints is read
//! between NUL bytes, and every name that it is given stands behind `--end-of-options`, `--`, or a full
//! prefix.

mod bundle;
mod error;
mod history;
mod merge;
mod owner;
mod process;
mod receive;
mod references;
mod repository;
mod sandboxed_tree;
mod traps;
mod tree;
pub mod work_tree;

pub use bundle::{BundleError, BundleHeader};
pub use error::{Blame, GitError};
pub use history::{Change, Commit, Distance};
pub use merge::{Conflict, ConflictFile, Merge};
pub use repository::{Repository, version_of};
pub use sandboxed_tree::{SandboxedTree, Status};
pub use tree::{NewTree, Tree};
