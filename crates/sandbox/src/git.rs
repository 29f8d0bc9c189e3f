//! Finds what in a repository makes git outside run code: its own settings and hooks, those of submodules
//! and linked work trees, and files that the settings name.

mod index;
mod settings;

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};

use crate::description::{Content, Placeholder};
use settings::Settings;

/// The settings of a repository, and those of one work tree.
const SETTINGS: &str = "config";
const TREE_SETTINGS: &str = "config.worktree";

/// Files of a repository that decide which code git runs.
pub(crate) const CONTROL: [&str; 4] = ["commondir", SETTINGS, TREE_SETTINGS, "hooks"];

/// What is created in a repository so that it can be protected. All of it is harmless: the first
/// says that the repository is complete in itself, the others have no settings and no programs.
pub(crate) const PLACEHOLDERS: [(&str, Content); 3] = [
    ("commondir", Content::File(".\n")),
    (TREE_SETTINGS, Content::File("")),
    ("hooks", Content::Folder),
];

/// Files of a linked work tree that point git to its settings.
const LINKED_CONTROL: [&str; 3] = ["commondir", TREE_SETTINGS, "gitdir"];

/// How deep repositories may lie in each other.
const DEEPEST: usize = 8;
/// How many files of settings may include each other.
const MOST_SETTINGS: usize = 16;
const LONGEST_SETTINGS: u64 = 1 << 20;
/// How many repositories of submodules and linked work trees are protected one by one. Each takes some
/// mounts for every command.
const MOST_REPOSITORIES: usize = 512;
/// Larger than the index of any repository.
const LONGEST_INDEX: u64 = 1 << 30;

/// What was found in a repository.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    pub(crate) read_only: BTreeSet<PathBuf>,
    pub(crate) placeholders: Vec<Placeholder>,
    /// Names that would make git run code if they were created.
    pub(crate) unwanted: BTreeSet<PathBuf>,
    /// The `.git` of each submodule that has one.
    pub(crate) submodules: BTreeSet<PathBuf>,
    /// Folders of submodules that cannot be looked into.
    pub(crate) closed: BTreeSet<PathBuf>,
}

/// Looks at a repository and everything that git visits from it.
pub(crate) fn survey(git: &Path) -> Survey {
    let mut survey = Survey::default();
    if let Some(tree) = git.parent() {
        survey.repository(git, tree, 0);
        let own = std::mem::take(&mut survey.placeholders);
        survey.modules(&git.join("modules"), 0);
        survey.linked_trees(&git.join("worktrees"));
        if survey.placeholders.len() > MOST_REPOSITORIES * PLACEHOLDERS.len() {
            survey.protect_all(&["modules", "worktrees"].map(|name| git.join(name)));
        }
        survey.placeholders.extend(own);
        // The settings may name files anywhere. A command can only create those in the work tree.
        survey.unwanted.retain(|path| path.starts_with(tree));
        survey.forget_what_is_behind_links();
    }
    survey
}

impl Survey {
    /// A repository and its work tree.
    fn repository(&mut self, git: &Path, tree: &Path, depth: usize) {
        let settings = self.settings(git, tree);
        if depth >= DEEPEST {
            return;
        }
        let Some(paths) = submodules(git, settings.has_long_hashes) else {
            // The index cannot be read, so it is unknown what git would visit.
            self.submodules.insert(git.join("index"));
            return;
        };
        for path in paths {
            let folder = tree.join(&path);
            let dot = folder.join(".git");
            // Git does not look into a submodule behind a link.
            if has_link(tree, &path) {
                continue;
            }
            let found = match fs::symlink_metadata(&dot) {
                Ok(found) => found,
                Err(error) => {
                    if error.kind() == io::ErrorKind::PermissionDenied {
                        self.closed.insert(folder);
                    }
                    self.unwanted.insert(dot);
                    continue;
                }
            };
            self.submodules.insert(dot.clone());
            if found.is_dir() {
                self.protect(&dot);
                self.repository(&dot, &folder, depth + 1);
            } else {
                if let Some(git) = linked(&dot) {
                    self.repository(&git, &folder, depth + 1);
                }
                self.read_only.insert(dot);
            }
        }
    }

    /// Protects the repositories of submodules, which are named after the submodules, such as `a` or `a/b`.
    fn modules(&mut self, folder: &Path, depth: usize) {
        if depth >= DEEPEST {
            return;
        }
        for git in folders(folder) {
            if is_file(&git.join("HEAD")) {
                self.protect(&git);
                self.modules(&git.join("modules"), depth + 1);
                self.linked_trees(&git.join("worktrees"));
            } else {
                self.modules(&git, depth + 1);
            }
        }
    }

    fn linked_trees(&mut self, folder: &Path) {
        for git in folders(folder) {
            let files = LINKED_CONTROL.map(|name| git.join(name));
            self.read_only.extend(files);
            self.placeholders.push(Placeholder {
                path: git.join(TREE_SETTINGS),
                content: Content::File(""),
            });
        }
    }

    /// Drops the paths behind links. A mount follows no link, so a command could put one in the way and
    /// keep all later commands from starting. What is behind a link is protected under its own path, or
    /// does not belong to the repository.
    fn forget_what_is_behind_links(&mut self) {
        let is_here = |path: &Path| path.parent().is_some_and(has_no_link);
        self.read_only.retain(|path| is_here(path));
        self.placeholders.retain(|wanted| is_here(&wanted.path));
    }

    /// Protects whole folders instead of what was found in them. A command may have created so many files
    /// there that no later command could start.
    fn protect_all(&mut self, folders: &[PathBuf]) {
        let is_inside = |path: &Path| folders.iter().any(|folder| path.starts_with(folder));
        self.read_only.retain(|path| !is_inside(path));
        self.placeholders.retain(|wanted| !is_inside(&wanted.path));
        self.read_only.extend(folders.iter().cloned());
    }

    fn protect(&mut self, git: &Path) {
        self.read_only.extend(CONTROL.map(|name| git.join(name)));
        self.placeholders.extend(placeholders(git));
    }

    /// Protects the files and folders that the settings name.
    fn settings(&mut self, git: &Path, tree: &Path) -> Settings {
        let mut all = Settings::default();
        let mut files = vec![git.join(SETTINGS)];
        let mut next = 0;
        while let Some(file) = files.get(next).cloned()
            && next < MOST_SETTINGS
        {
            next += 1;
            let text = read(&file, LONGEST_SETTINGS).unwrap_or_default();
            let found = Settings::parse(&String::from_utf8_lossy(&text));
            let folder = file.parent().unwrap_or(git);
            files.extend(found.included.iter().map(|path| resolve(folder, path)));
            all.has_long_hashes |= found.has_long_hashes;
            all.hooks.extend(found.hooks);
        }
        let named = files.into_iter().skip(1);
        let hooks = all.hooks.iter().map(|path| hooks_folder(tree, path));
        for path in named.chain(hooks) {
            match fs::symlink_metadata(&path) {
                Ok(_) => self.read_only.insert(path),
                Err(_) => self.unwanted.insert(path),
            };
        }
        all
    }
}

/// What is created in a repository so that it can be protected.
pub(crate) fn placeholders(git: &Path) -> [Placeholder; 3] {
    PLACEHOLDERS.map(|(name, content)| Placeholder {
        path: git.join(name),
        content,
    })
}

/// The paths of submodules in a repository's index, or `None` if the index is too long or malformed.
fn submodules(git: &Path, has_long_hashes: bool) -> Option<BTreeSet<PathBuf>> {
    let hash = if has_long_hashes { 32 } else { 20 };
    let parsed = |path: &Path| index::parse(&read(path, LONGEST_INDEX)?, hash);
    let mut found = parsed(&git.join("index"))?;
    if let Some(shared) = &found.shared {
        let shared = parsed(&git.join(format!("sharedindex.{shared}")))?;
        found.submodules.extend(shared.submodules);
    }
    Some(found.submodules.into_iter().collect())
}

/// Whether a folder on the way from `top` is a link.
fn has_link(top: &Path, path: &Path) -> bool {
    let mut folder = top.to_owned();
    path.components().any(|part| {
        folder.push(part);
        fs::symlink_metadata(&folder).is_ok_and(|found| found.is_symlink())
    })
}

/// The repository that a file `.git` leads to.
fn linked(file: &Path) -> Option<PathBuf> {
    let text = String::from_utf8(read(file, LONGEST_SETTINGS)?).ok()?;
    let path = text.strip_prefix("gitdir:")?.trim();
    Some(resolve(file.parent()?, Path::new(path)))
}

/// A path relative to a folder, without `..` in it.
fn resolve(folder: &Path, path: &Path) -> PathBuf {
    let mut resolved = PathBuf::new();
    for part in folder.join(path).components() {
        match part {
            Component::ParentDir => {
                resolved.pop();
            }
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => resolved.push(part),
        }
    }
    resolved
}

/// The folder of hooks that the settings name. If its name is `_`, the folder above it: the scripts in `_`
/// only call those above.
fn hooks_folder(tree: &Path, path: &Path) -> PathBuf {
    let folder = resolve(tree, path);
    match (folder.file_name(), folder.parent()) {
        (Some(name), Some(above)) if name == "_" && above != tree => above.to_owned(),
        (_, _) => folder,
    }
}

/// The content of a file that a command may have replaced by anything. Reading never waits. What is not a
/// regular file is empty, as it is for git. `None` if it is too long or closed.
fn read(path: &Path, longest: u64) -> Option<Vec<u8>> {
    let mut options = fs::File::options();
    options.read(true).custom_flags(libc::O_NONBLOCK);
    let file = match options.open(path) {
        Ok(file) => file,
        // A command that removed the access can also restore it.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return None,
        Err(_) => return Some(Vec::new()),
    };
    let length = match file.metadata() {
        Ok(found) if found.is_file() => found.len(),
        Ok(_) | Err(_) => return Some(Vec::new()),
    };
    if length > longest {
        return None;
    }
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0).saturating_add(1));
    // After an error, what was read so far is used.
    let _ = file.take(longest).read_to_end(&mut bytes);
    Some(bytes)
}

/// Whether a folder is where its path says.
pub(crate) fn has_no_link(folder: &Path) -> bool {
    fs::canonicalize(folder).is_ok_and(|real| real == folder)
}

/// The folders in a folder that is no link.
fn folders(folder: &Path) -> Vec<PathBuf> {
    if !fs::symlink_metadata(folder).is_ok_and(|found| found.is_dir()) {
        return Vec::new();
    }
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.map(|entry| entry.path()).collect()
}

fn is_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| !found.is_dir())
}

#[cfg(test)]
mod tests;
