//! One file with instructions, and where it may be.

use crate::text::readable;
use safe_open::{Links, OpenError, Opened, Options};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The most bytes of all instructions together.
pub(crate) const LIMIT: usize = 32 << 10;

const OWN_NAME: &str = "AGENTS.md";
/// The names in a folder of a repository. Only the first that is there counts: where both are, they say
/// the same.
const NAMES: [&str; 2] = [OWN_NAME, "CLAUDE.md"];

/// Who wrote a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    User,
    Repository,
}

impl Origin {
    /// The word by which a model is told it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Repository => "repository",
        }
    }
}

/// A file with instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InstructionFile {
    pub(crate) origin: Origin,
    /// Its path, as the member can use it.
    pub(crate) shown: String,
    pub(crate) text: String,
    /// The size of the whole file, in bytes.
    size: u64,
}

/// Why a file that is there is not used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Problem {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("{} is not read: {why}", path.display())]
    Refused { path: PathBuf, why: &'static str },
    #[error("cannot read {}: {cause}", path.display())]
    Read { path: PathBuf, cause: io::Error },
}

/// Where a file may be.
pub(crate) struct SearchFolder<'a> {
    origin: Origin,
    folder: &'a Path,
    /// The folder that no link may lead out of.
    root: &'a Path,
    /// The folder that paths are shown relative to.
    workspace: &'a Path,
}

impl<'a> SearchFolder<'a> {
    /// The user's own folder.
    pub(crate) const fn user(folder: &'a Path) -> Self {
        Self {
            origin: Origin::User,
            folder,
            root: folder,
            workspace: folder,
        }
    }

    /// A folder of the repository at `root`.
    pub(crate) const fn repository(folder: &'a Path, root: &'a Path, workspace: &'a Path) -> Self {
        Self {
            origin: Origin::Repository,
            folder,
            root,
            workspace,
        }
    }

    /// The file, if there is one.
    pub(crate) fn read(&self) -> Result<Option<InstructionFile>, Problem> {
        let names: &[&str] = match self.origin {
            Origin::User => &[OWN_NAME],
            Origin::Repository => &NAMES,
        };
        let mut paths = names.iter().map(|name| self.folder.join(name));
        let is_there = |path: &PathBuf| path.symlink_metadata().is_ok();
        let Some(path) = paths.find(is_there) else {
            return Ok(None);
        };
        let opened = match self.origin {
            // People link their own files from where they keep them.
            Origin::User => Options::read(Links::Follow).open(&path)?,
            Origin::Repository => open_within(&path, self.root)?,
        };
        let mut bytes = Vec::new();
        let read = (&opened.file).take(LIMIT as u64).read_to_end(&mut bytes);
        read.map_err(|cause| Problem::Read {
            path: path.clone(),
            cause,
        })?;
        let shown = match self.origin {
            Origin::User => &path,
            Origin::Repository => path.strip_prefix(self.workspace).unwrap_or(&path),
        };
        Ok(Some(InstructionFile {
            origin: self.origin,
            shown: shown.display().to_string(),
            text: readable(&bytes),
            size: opened.metadata.len(),
        }))
    }
}

impl InstructionFile {
    pub(crate) fn is_users(&self) -> bool {
        self.origin == Origin::User
    }

    /// Takes what the file needs from the room that is left, and cuts it at the end of a line if that is
    /// too little.
    pub(crate) fn cut(&mut self, room: &mut usize) {
        let is_whole = self.text.len() <= *room && self.size <= LIMIT as u64;
        if !is_whole {
            let end = self.text.floor_char_boundary(*room);
            let kept = self.text.get(..end).unwrap_or_default();
            let end = kept.rfind('\n').map_or(0, |at| at + 1);
            self.text.truncate(end);
            *room -= end;
            let (size, shown) = (self.size, &self.shown);
            let remark = format!("[cut: {end} of {size} bytes; read {shown} for the rest]");
            self.text.push_str(&remark);
            return;
        }
        *room -= self.text.len();
    }
}

/// Opens a text of the repository at `root`. A link counts for the file it leads to, as where
/// `AGENTS.md` is a link to `CLAUDE.md`; a file elsewhere, or one with another purpose, is refused.
pub(crate) fn open_within(path: &Path, root: &Path) -> Result<Opened, Problem> {
    let refused = |why| Problem::Refused {
        path: path.to_path_buf(),
        why,
    };
    let real = |of: &Path| {
        of.canonicalize().map_err(|cause| Problem::Read {
            path: of.to_path_buf(),
            cause,
        })
    };
    let (target, root) = (real(path)?, real(root)?);
    if !target.starts_with(&root) {
        return Err(refused("it is a link that leads out of the repository"));
    }
    if target.extension().is_none_or(|extension| extension != "md") {
        return Err(refused("it is a link to something else than a text"));
    }
    // From here on the path has no link: one that is put there now is refused.
    let opened = Options::read(Links::Refuse).open(&target)?;
    let owner = root.metadata().map(|found| found.uid());
    if owner.is_ok_and(|owner| opened.owner() != owner && opened.owner() != 0) {
        return Err(refused("it belongs to another user than the repository"));
    }
    Ok(opened)
}
