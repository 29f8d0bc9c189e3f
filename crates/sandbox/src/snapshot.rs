//! Records what exists before a command runs, and finds the names that are new when it has ended and that
//! other programs trust.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use crate::extend::Extended;
use crate::git::{Survey, has_no_link, survey};
use crate::rename::{RenamedFile, allow_access, is_renamed, rename_new_file};
use crate::workspace::secret_names;

/// What existed before a command ran.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Snapshot {
    /// Names that did not exist and that the command must not leave behind.
    unwanted: BTreeSet<PathBuf>,
    /// The folder that must not get files with variables, and the names of those it had.
    variables: Option<(PathBuf, BTreeSet<OsString>)>,
    /// The repositories of git that may get submodules.
    repositories: BTreeSet<PathBuf>,
    /// The `.git` of each submodule that there was.
    submodules: BTreeSet<PathBuf>,
}

/// The words at the start of the lines of an encoded [`Snapshot`].
const UNWANTED: &[u8] = b"unwanted";
const FOLDER: &[u8] = b"folder";
const VARIABLES: &[u8] = b"variables";
const REPOSITORY: &[u8] = b"repository";
const SUBMODULE: &[u8] = b"submodule";
/// The first and the last line of the encoded form.
const START: &[u8] = b"snapshot 1";
const END: &[u8] = b"end";

impl Snapshot {
    pub(crate) fn of(extended: &Extended) -> Self {
        let wanted = &extended.description;
        Self {
            unwanted: wanted.unwanted.iter().cloned().collect(),
            variables: wanted.variables_unwanted_in.clone().map(|folder| {
                let names = secret_names(&folder);
                (folder, names)
            }),
            repositories: wanted.repositories.iter().cloned().collect(),
            submodules: extended.submodules.clone(),
        }
    }

    /// Whether there is nothing to look for.
    pub(crate) fn is_empty(&self) -> bool {
        self.unwanted.is_empty() && self.variables.is_none() && self.repositories.is_empty()
    }

    /// The unwanted names that exist now, new files with variables, and `.git` in new submodules: `git
    /// status` outside would follow the settings there.
    pub(crate) fn created(&self) -> Vec<PathBuf> {
        self.allow_access();
        let exists = |path: &&PathBuf| fs::symlink_metadata(path).is_ok();
        let unwanted = self.unwanted.iter().filter(exists).cloned();
        let created = unwanted
            .chain(self.new_submodules())
            .chain(self.new_variables());
        let mut created: Vec<PathBuf> = created.collect();
        created.sort();
        created.dedup();
        // A link that the command made must not redirect whoever renames these.
        created.retain(|path| path.parent().is_some_and(has_no_link));
        created
    }

    /// Renames everything that was created, each within its folder.
    pub(crate) fn rename_new_files(&self) -> Vec<RenamedFile> {
        self.created().into_iter().map(rename_new_file).collect()
    }

    /// Restores access to the folders that are examined, in case the command has removed it.
    fn allow_access(&self) {
        let parents = self.unwanted.iter().filter_map(|path| path.parent());
        let folders = self.variables.iter().map(|(folder, _)| folder.as_path());
        let repositories = self.repositories.iter().map(PathBuf::as_path);
        let all: BTreeSet<&Path> = folders.chain(parents).chain(repositories).collect();
        all.into_iter().for_each(allow_access);
    }

    /// The `.git` of submodules that did not exist before.
    fn new_submodules(&self) -> Vec<PathBuf> {
        let now = self
            .repositories
            .iter()
            .map(|repository| survey_all(repository));
        let found = now.flat_map(|survey| survey.submodules);
        found
            .filter(|path| !self.submodules.contains(path))
            .collect()
    }

    /// The new files with variables. Those that were renamed are not counted, because no program reads
    /// them.
    fn new_variables(&self) -> Vec<PathBuf> {
        let Some((folder, before)) = &self.variables else {
            return Vec::new();
        };
        let now = secret_names(folder);
        let new = now.difference(before).filter(|name| !is_renamed(name));
        new.map(|name| folder.join(name)).collect()
    }

    /// Encodes the record, one line for each path relative to `root`. Paths outside of `root` are left out.
    pub(crate) fn encode(&self, root: &Path) -> Vec<u8> {
        let mut lines = Lines {
            root,
            bytes: [START, b"\n"].concat(),
        };
        lines.add(UNWANTED, &self.unwanted);
        if let Some((folder, names)) = &self.variables {
            lines.add(FOLDER, [folder]);
            lines.add(VARIABLES, names.iter().map(|name| root.join(name)));
        }
        lines.add(REPOSITORY, &self.repositories);
        lines.add(SUBMODULE, &self.submodules);
        [&lines.bytes, END, b"\n"].concat()
    }

    /// Decodes what [`Snapshot::encode`] wrote. Whatever the bytes say, no path leads out of `root`. `None`
    /// if they are not complete.
    pub(crate) fn decode(bytes: &[u8], root: &Path) -> Option<Self> {
        let lines = bytes.strip_prefix(START)?.strip_prefix(b"\n")?;
        let lines = lines.strip_suffix(b"\n")?.strip_suffix(END)?;
        let mut snapshot = Self::default();
        let mut names = BTreeSet::new();
        let mut folder = None;
        for line in lines.split(|byte| *byte == b'\n') {
            if line.is_empty() {
                continue;
            }
            let space = line.iter().position(|byte| *byte == b' ')?;
            let (word, rest) = line.split_at(space);
            let path = decode_path(rest.strip_prefix(b" ")?, root)?;
            match word {
                UNWANTED => drop(snapshot.unwanted.insert(path)),
                FOLDER => folder = Some(path),
                VARIABLES => drop(names.insert(path.file_name()?.to_owned())),
                REPOSITORY => drop(snapshot.repositories.insert(path)),
                SUBMODULE => drop(snapshot.submodules.insert(path)),
                _ => return None,
            }
        }
        snapshot.variables = folder.map(|folder| (folder, names));
        Some(snapshot)
    }
}

/// Surveys a repository, restores the access to folders that it finds closed, and repeats this until no new
/// ones are found.
fn survey_all(repository: &Path) -> Survey {
    let mut found = survey(repository);
    let mut known = BTreeSet::new();
    while !found.closed.is_subset(&known) {
        found.closed.iter().for_each(|folder| allow_access(folder));
        known.append(&mut found.closed);
        found = survey(repository);
    }
    found
}

struct Lines<'a> {
    root: &'a Path,
    bytes: Vec<u8>,
}

impl Lines<'_> {
    fn add(&mut self, word: &[u8], paths: impl IntoIterator<Item = impl AsRef<Path>>) {
        for path in paths {
            let Ok(relative) = path.as_ref().strip_prefix(self.root) else {
                continue;
            };
            self.bytes.extend_from_slice(word);
            self.bytes.push(b' ');
            for byte in relative.as_os_str().as_bytes() {
                match byte {
                    b'\n' => self.bytes.extend_from_slice(b"\\n"),
                    b'\\' => self.bytes.extend_from_slice(b"\\\\"),
                    other => self.bytes.push(*other),
                }
            }
            self.bytes.push(b'\n');
        }
    }
}

/// The path below `root` that the bytes name; `root` itself if there are none.
fn decode_path(bytes: &[u8], root: &Path) -> Option<PathBuf> {
    let mut plain = Vec::with_capacity(bytes.len());
    let mut rest = bytes.iter();
    while let Some(byte) = rest.next() {
        plain.push(match byte {
            b'\\' => match rest.next()? {
                b'n' => b'\n',
                b'\\' => b'\\',
                _ => return None,
            },
            other => *other,
        });
    }
    let relative = PathBuf::from(OsString::from_vec(plain));
    let is_name = |part: Component<'_>| matches!(part, Component::Normal(_));
    if relative.as_os_str() == OsStr::new("") {
        return Some(root.to_owned());
    }
    relative
        .components()
        .all(is_name)
        .then(|| root.join(relative))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &[&str]) -> BTreeSet<PathBuf> {
        names
            .iter()
            .map(|name| Path::new("/w").join(name))
            .collect()
    }

    fn example() -> Snapshot {
        let strange = OsString::from_vec(b"sub\n\\\xff/.git".to_vec());
        Snapshot {
            unwanted: set(&[".envrc", ".vscode", "a/.git"]),
            variables: Some(("/w".into(), [".env.local".into()].into())),
            repositories: set(&[".git"]),
            submodules: [Path::new("/w").join(strange)].into(),
        }
    }

    #[test]
    fn what_is_encoded_is_decoded_wherever_the_folder_is() {
        let bytes = example().encode(Path::new("/w"));
        assert_eq!(Snapshot::decode(&bytes, Path::new("/w")), Some(example()));
        let moved = Snapshot::decode(&bytes, Path::new("/v")).unwrap();
        assert!(moved.unwanted.contains(Path::new("/v/.envrc")));
        assert_eq!(moved.variables.unwrap().0, Path::new("/v"));
        let none = Snapshot::default();
        assert_eq!(
            Snapshot::decode(&none.encode(Path::new("/w")), Path::new("/w")),
            Some(none)
        );
    }

    #[test]
    fn half_a_text_is_none() {
        let bytes = example().encode(Path::new("/w"));
        for end in 0..bytes.len() {
            let half = bytes.get(..end).unwrap();
            assert_eq!(Snapshot::decode(half, Path::new("/w")), None, "{end}");
        }
    }

    #[test]
    fn no_path_leads_out_of_the_folder() {
        for path in ["../x", "/etc/passwd", "a/../../x", "./x", "a\\x"] {
            for word in ["unwanted", "folder", "variables", "repository", "other"] {
                let text = format!("snapshot 1\n{word} {path}\nend\n");
                assert_eq!(
                    Snapshot::decode(text.as_bytes(), Path::new("/w")),
                    None,
                    "{text}"
                );
            }
        }
        let elsewhere = Snapshot {
            unwanted: ["/elsewhere/x".into()].into(),
            ..Snapshot::default()
        };
        let bytes = elsewhere.encode(Path::new("/w"));
        assert_eq!(
            Snapshot::decode(&bytes, Path::new("/w")),
            Some(Snapshot::default())
        );
    }
}
