//! Extends a description by the files that git reads for its repositories, and by the other mount paths of
//! everything hidden or protected.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::aliases::Mounts;
use crate::description::Description;
use crate::git;

/// A description with the paths that follow from its own.
#[derive(Debug)]
pub(crate) struct Extended {
    pub(crate) description: Description,
    /// The `.git` of each submodule that has one.
    pub(crate) submodules: BTreeSet<PathBuf>,
}

/// Finds what git reads besides the repositories themselves, and other paths of all that is
/// protected or hidden. Without a tree of its own nothing in a writable folder can be protected.
pub(crate) fn extend(wanted: &Description, own_tree: bool) -> Extended {
    let mut description = wanted.clone();
    let mut submodules = BTreeSet::new();
    // A command must neither change the records of commands nor lock them.
    let records = wanted.record.as_deref().and_then(Path::parent);
    description.hidden.extend(records.map(Path::to_owned));
    if !own_tree {
        description.repositories.clear();
    }
    for repository in &wanted.repositories {
        if fs::symlink_metadata(repository).is_ok_and(|found| found.is_symlink()) {
            protect_link(&mut description, repository);
        }
    }
    for repository in &description.repositories {
        let survey = git::survey(repository);
        description.read_only.extend(survey.read_only);
        description.placeholders.extend(survey.placeholders);
        description.unwanted.extend(survey.unwanted);
        submodules.extend(survey.submodules);
    }
    let mounts = Mounts::read();
    for list in [&mut description.hidden, &mut description.read_only] {
        let aliases: Vec<PathBuf> = list.iter().flat_map(|path| mounts.aliases(path)).collect();
        list.extend(aliases);
    }
    Extended {
        description,
        submodules,
    }
}

/// Protects a link together with everything that it leads to, because no mount can be made on a link.
fn protect_link(description: &mut Description, link: &Path) {
    let is_behind = |path: &Path| path != link && path.starts_with(link);
    description.read_only.retain(|path| !is_behind(path));
    description
        .placeholders
        .retain(|wanted| !is_behind(&wanted.path));
    description.repositories.retain(|path| path != link);
    description.read_only.push(link.to_owned());
}
