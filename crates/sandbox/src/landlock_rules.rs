//! The Landlock rules.
//!
//! If a command has a tree of its own, few rules are needed: everything in it may be read, and the writable
//! parts may be written. Without such a tree the rules are the only protection, so they also list what may
//! be read.

use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, Scope,
};

use crate::description::{Description, Network};
use crate::error::PrepareError;

/// Files in `/dev` that may be written where the machine's own `/dev` is visible.
const DEVICES: [&str; 6] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
];

/// The first version that also refuses to truncate a file, without which nothing is protected.
pub(crate) const FIRST_USEFUL: u32 = 3;
/// The first version that confines signals and abstract sockets.
pub(crate) const FIRST_SCOPED: u32 = 6;

/// Rules that lack only the places which exist only inside the sandbox.
#[derive(Debug)]
pub(crate) struct Rules {
    pub(crate) rules: OwnedFd,
    /// What may be done in a place that may be read.
    pub(crate) reading: u64,
    /// What may be done in a place that may be written.
    pub(crate) writing: u64,
}

/// Rules for a command that gets a tree of its own.
pub(crate) fn for_own_tree(
    version: u32,
    wanted: &Description,
) -> Result<Option<Rules>, PrepareError> {
    let abi = abi(version);
    let rules = allow_all(
        create(abi, None)?,
        &wanted.writable,
        AccessFs::from_all(abi),
    )?;
    Ok(finish(rules, abi))
}

/// Rules for a command in the machine's own tree. `tmp` is its private temporary folder.
pub(crate) fn for_shared_tree(
    version: u32,
    wanted: &Description,
    tmp: &Path,
) -> Result<Option<Rules>, PrepareError> {
    let abi = abi(version);
    let reading = AccessFs::from_read(abi);
    let mut rules = create(abi, Some(wanted.network))?;
    for path in &wanted.readable {
        rules = allow_except(rules, path, &wanted.hidden, reading)?;
    }
    rules = allow(rules, Path::new("/proc"), reading)?;
    rules = allow(rules, Path::new("/dev"), AccessFs::ReadDir.into())?;
    let devices: Vec<PathBuf> = DEVICES.iter().map(PathBuf::from).collect();
    let writing = AccessFs::from_all(abi);
    rules = allow_all(rules, &devices, writing)?;
    rules = allow_all(rules, &wanted.writable, writing)?;
    rules = allow(rules, tmp, writing)?;
    Ok(finish(rules, abi))
}

fn create(abi: ABI, network: Option<Network>) -> Result<RulesetCreated, PrepareError> {
    let mut rules = Ruleset::default().handle_access(AccessFs::from_all(abi))?;
    if network.is_some_and(|network| network != Network::On) && abi >= ABI::V4 {
        rules = rules.handle_access(AccessNet::from_all(abi))?;
    }
    if abi >= ABI::V6 {
        rules = rules.scope(Scope::from_all(abi))?;
    }
    Ok(rules.create()?)
}

fn finish(rules: RulesetCreated, abi: ABI) -> Option<Rules> {
    let rules: Option<OwnedFd> = rules.into();
    rules.map(|rules| Rules {
        rules,
        reading: AccessFs::from_read(abi).bits(),
        writing: AccessFs::from_all(abi).bits(),
    })
}

fn allow_all(
    mut rules: RulesetCreated,
    paths: &[PathBuf],
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, PrepareError> {
    for path in paths {
        rules = allow(rules, path, access)?;
    }
    Ok(rules)
}

/// Allows access at and below a path. A path that does not exist needs no rule.
fn allow(
    rules: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, PrepareError> {
    let Ok(metadata) = fs::metadata(path) else {
        return Ok(rules);
    };
    let Ok(place) = PathFd::new(path) else {
        return Ok(rules);
    };
    // Rights that only folders have are refused for files.
    let files = AccessFs::from_file(ABI::V6);
    let access = if metadata.is_dir() {
        access
    } else {
        access & files
    };
    let added: Result<_, RulesetError> = rules.add_rule(PathBeneath::new(place, access));
    Ok(added?)
}

/// Allows reading at and below a path, except in what is hidden. A rule applies to everything below, so a
/// folder with something hidden in it is replaced by its other entries.
fn allow_except(
    mut rules: RulesetCreated,
    path: &Path,
    hidden: &[PathBuf],
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, PrepareError> {
    let Ok(real) = fs::canonicalize(path) else {
        return Ok(rules);
    };
    if hidden.iter().any(|hidden| real.starts_with(hidden)) {
        return Ok(rules);
    }
    let has_hidden =
        |hidden: &PathBuf| hidden.starts_with(&real) && fs::symlink_metadata(hidden).is_ok();
    if !hidden.iter().any(has_hidden) {
        return allow(rules, &real, access);
    }
    // This rule allows listing the names, but not reading the content.
    rules = allow(rules, &real, AccessFs::ReadDir.into())?;
    let Ok(entries) = fs::read_dir(&real) else {
        return Ok(rules);
    };
    for entry in entries.flatten() {
        rules = allow_except(rules, &entry.path(), hidden, access)?;
    }
    Ok(rules)
}

/// The rights that this crate knows and the kernel has.
const fn abi(version: u32) -> ABI {
    match version {
        0 => ABI::Unsupported,
        1 => ABI::V1,
        2 => ABI::V2,
        3 => ABI::V3,
        4 => ABI::V4,
        5 => ABI::V5,
        6 => ABI::V6,
        7 => ABI::V7,
        8 => ABI::V8,
        _ => ABI::V9,
    }
}
