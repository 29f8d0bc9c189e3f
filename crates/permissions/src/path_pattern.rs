//! Patterns of paths in the style of `.gitignore`.

use std::path::{Component, Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};

/// A pattern such as `src/**`. It matches a path if it matches the path or a folder above it.
#[derive(Clone, Debug)]
pub(crate) struct PathPattern {
    base: Base,
    glob: GlobMatcher,
}

/// The folder that a pattern starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Base {
    Workspace,
    Home,
    Root,
}

/// A pattern that no path matches.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathPatternError {
    #[error("it is empty")]
    Empty,
    #[error("`!` has no meaning here: use a rule of another list")]
    Negated,
    #[error("`..` leads out of the folder: write an absolute path, which starts with //")]
    Upwards,
    #[error("{0}")]
    Glob(#[from] globset::Error),
}

/// The folders that patterns start from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Folders<'a> {
    pub(crate) workspace: &'a Path,
    pub(crate) home: Option<&'a Path>,
}

impl PathPattern {
    pub(crate) fn parse(text: &str) -> Result<Self, PathPatternError> {
        let text = text.trim();
        if text.starts_with('!') {
            return Err(PathPatternError::Negated);
        }
        let (base, rest) = if let Some(rest) = text.strip_prefix("//") {
            (Base::Root, rest)
        } else if let Some(rest) = text.strip_prefix("~/") {
            (Base::Home, rest)
        } else {
            (Base::Workspace, text.strip_prefix("./").unwrap_or(text))
        };
        if rest.split('/').any(|name| name == "..") {
            return Err(PathPatternError::Upwards);
        }
        let inner = rest.trim_matches('/');
        if inner.is_empty() {
            return Err(PathPatternError::Empty);
        }
        // A single name matches in every folder, as in `.gitignore`.
        let is_anchored =
            base != Base::Workspace || text.starts_with(['/', '.']) || inner.contains('/');
        let is_hidden_name =
            text.starts_with('.') && !text.starts_with("./") && !inner.contains('/');
        let glob = if is_anchored && !is_hidden_name {
            inner.to_owned()
        } else {
            format!("**/{inner}")
        };
        let mut glob = GlobBuilder::new(&glob);
        let glob = glob
            .literal_separator(true)
            .backslash_escape(true)
            .build()?;
        Ok(Self {
            base,
            glob: glob.compile_matcher(),
        })
    }

    /// Whether an absolute path without `.` and `..` matches.
    pub(crate) fn matches(&self, path: &Path, folders: Folders<'_>) -> bool {
        let base = match self.base {
            Base::Workspace => Some(folders.workspace),
            Base::Home => folders.home,
            Base::Root => Some(Path::new("/")),
        };
        let inside = base.and_then(|base| path.strip_prefix(base).ok());
        let Some(inside) = inside else { return false };
        if inside.as_os_str().is_empty() {
            return self.glob.is_match("");
        }
        let mut levels = inside
            .ancestors()
            .filter(|path| !path.as_os_str().is_empty());
        levels.any(|path| self.glob.is_match(path))
    }
}

/// Makes a path absolute and removes `.` and `..`. Links are not resolved: what they lead to is the
/// sandbox's concern.
pub(crate) fn absolute(path: &str, folders: Folders<'_>) -> PathBuf {
    let joined = match (path.strip_prefix("~/"), folders.home) {
        (Some(rest), Some(home)) => home.join(rest),
        (_, _) => folders.workspace.join(path),
    };
    let mut clean = PathBuf::new();
    for component in joined.components() {
        match component {
            Component::ParentDir => {
                clean.pop();
            }
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) | Component::Normal(_) => {
                clean.push(component)
            }
        }
    }
    clean
}

/// The pattern that matches exactly one path, or what is below it if it is a folder.
pub(crate) fn exact(path: &Path, folders: Folders<'_>) -> String {
    let (prefix, rest) = match path.strip_prefix(folders.workspace) {
        Ok(inside) => ("/", inside),
        Err(_) => ("//", path.strip_prefix("/").unwrap_or(path)),
    };
    let mut text = prefix.to_owned();
    if rest.as_os_str().is_empty() {
        text.push_str("**");
    }
    for character in rest.to_string_lossy().chars() {
        if matches!(character, '*' | '?' | '[' | ']' | '{' | '}' | '\\') {
            text.push('\\');
        }
        text.push(character);
    }
    text
}
