//! Finds the files that a person may mean.

use std::path::Path;

/// The most files that are listed.
const MOST: usize = 200;

/// The paths in a folder that begin like this, folders with a slash at their end. Names that a terminal
/// would act on are left out, and hidden ones unless they are asked for.
pub(crate) fn list_files(root: &Path, start: &str) -> Vec<String> {
    let (folder, name) = match start.rsplit_once('/') {
        Some((folder, name)) => (format!("{folder}/"), name),
        None => (String::new(), start),
    };
    let Ok(entries) = std::fs::read_dir(root.join(&folder)) else {
        return Vec::new();
    };
    let found = entries.flatten().filter_map(|entry| {
        let found = entry.file_name().into_string().ok()?;
        let is_meant =
            found.starts_with(name) && (!found.starts_with('.') || name.starts_with('.'));
        let is_plain = !found.contains(|c: char| terminal_text::is_hostile(c) || c.is_whitespace());
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let end = if is_folder { "/" } else { "" };
        (is_meant && is_plain).then(|| format!("{folder}{found}{end}"))
    });
    let mut found: Vec<String> = found.take(MOST).collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn files_and_folders_that_begin_like_this_are_found() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("src")).unwrap();
        for name in ["src/lib.rs", "src/.hidden", "some.txt", "s\u{1b}x"] {
            fs::write(root.path().join(name), "").unwrap();
        }
        assert_eq!(list_files(root.path(), "s"), ["some.txt", "src/"]);
        assert_eq!(list_files(root.path(), "src/"), ["src/lib.rs"]);
        assert_eq!(list_files(root.path(), "src/."), ["src/.hidden"]);
        assert_eq!(list_files(root.path(), "nowhere/"), [""; 0]);
    }
}
