//! The files the rules are about.

use std::fs;
use std::path::{Path, PathBuf};

/// One source file without its tests and comments.
#[derive(Debug)]
pub(crate) struct Source {
    /// The path from the root of the repository, with `/` between its parts.
    pub(crate) path: String,
    /// The lines before the file's own test module.
    pub(crate) lines: Vec<String>,
}

impl Source {
    /// The lines that hold code, with their numbers.
    pub(crate) fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self.lines.iter().enumerate();
        lines
            .map(|(at, line)| (at + 1, line.trim()))
            .filter(|(_, line)| !line.starts_with("//"))
    }

    /// Fails if a line of code contains one of `words`.
    pub(crate) fn assert_free_of(&self, words: &[&str], why: &str) {
        for (number, line) in self.code() {
            for word in words {
                assert!(
                    !contains_word(line, word),
                    "{}:{number} mentions `{word}`: {why}\n    {line}",
                    self.path
                );
            }
        }
    }
}

/// Whether `word` stands in `line` and is not part of a longer word.
pub(crate) fn contains_word(line: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let before = line.get(..at).and_then(|text| text.chars().next_back());
        let after = line
            .get(at + word.len()..)
            .and_then(|text| text.chars().next());
        let starts = !word.starts_with(is_part) || !before.is_some_and(is_part);
        let ends = !word.ends_with(is_part) || !after.is_some_and(is_part);
        starts && ends
    })
}

pub(crate) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

pub(crate) fn read(path: &str) -> String {
    let full = root().join(path);
    fs::read_to_string(&full).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The names of the folders in `crates/`.
pub(crate) fn crates() -> Vec<String> {
    let folder = root().join("crates");
    let entries = fs::read_dir(folder).expect("the crates can be listed");
    let entries = entries.map(|entry| entry.expect("the crates can be listed"));
    let folders = entries.filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> = folders
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// The production sources under a folder: tests in files of their own are left out.
pub(crate) fn sources(folder: &str) -> Vec<Source> {
    let mut found = Vec::new();
    collect(&root().join(folder), &mut found);
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

fn collect(folder: &Path, found: &mut Vec<Source>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries {
        let path = entry.expect("a folder can be listed").path();
        let is_test = path.file_stem().is_some_and(|stem| stem == "tests");
        if is_test {
            continue;
        }
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(load(&path));
        }
    }
}

fn load(path: &Path) -> Source {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let is_test_module = |pair: &[String]| matches!(pair, [cfg, module] if cfg == "#[cfg(test)]" && module == "mod tests {");
    let end = lines.windows(2).position(is_test_module);
    let relative = path.strip_prefix(root()).unwrap_or(path);
    Source {
        path: relative.to_string_lossy().into_owned(),
        lines: lines.into_iter().take(end.unwrap_or(usize::MAX)).collect(),
    }
}

#[test]
fn words_are_found_whole() {
    assert!(contains_word("use std::time::Instant;", "Instant"));
    assert!(!contains_word("fn instantly()", "instant"));
    assert!(contains_word("rand::random()", "rand::"));
    assert!(!contains_word("operand::new()", "rand::"));
    assert!(contains_word(r#"root.join("inbox")"#, r#"join("inbox"#));
}

/// The paths of all files that hold tests, from the root of the repository.
pub(crate) fn test_files() -> Vec<String> {
    let mut folders = vec!["tests".to_owned()];
    for name in crates() {
        folders.push(format!("crates/{name}/tests"));
        folders.push(format!("crates/{name}/src"));
    }
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(root().join(&folder)) else {
            continue;
        };
        for entry in entries.filter_map(Result::ok) {
            let name = format!("{folder}/{}", entry.file_name().to_string_lossy());
            if entry.path().is_dir() {
                folders.push(name);
            } else if name.ends_with(".rs") {
                files.push(name);
            }
        }
    }
    files
}
