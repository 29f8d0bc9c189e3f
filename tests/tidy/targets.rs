//! A target that has no tests is not built to look for some, and no test is in such a target.

use crate::layers::{Manifest, manifests};
use crate::sources::{read, root, test_files};

/// What blocks in comments contain that is not Rust.
const OTHER_LANGUAGES: [&str; 4] = ["json", "sh", "text", "toml"];

fn is_off(manifest: &Manifest, section: &str, key: &str) -> bool {
    let value = manifest.get(section).and_then(|keys| keys.get(key));
    value.is_some_and(|value| value == "false")
}

/// Whether rustdoc finds something to compile in the comments of a file.
fn has_example(text: &str) -> bool {
    let lines = text.lines().map(str::trim);
    let comments = lines.filter_map(|line| line.strip_prefix("//!").or(line.strip_prefix("///")));
    let fences = comments.filter_map(|line| line.trim().strip_prefix("```"));
    // Every second one ends a block.
    fences
        .step_by(2)
        .any(|language| !OTHER_LANGUAGES.contains(&language))
}

/// Whether `is_meant` is true of a file below a folder.
fn any_file(folder: &str, is_meant: impl Fn(&str) -> bool) -> bool {
    let files = test_files().into_iter();
    files
        .filter(|path| path.starts_with(folder))
        .any(|path| is_meant(&read(&path)))
}

#[test]
fn examples_in_comments_are_looked_for_where_there_are_some() {
    for (path, manifest) in manifests() {
        let folder = path.trim_end_matches("Cargo.toml");
        if !root().join(folder).join("src/lib.rs").exists() {
            continue;
        }
        let has_examples = any_file(&format!("{folder}src/"), has_example);
        assert_eq!(
            !is_off(&manifest, "lib", "doctest"),
            has_examples,
            "{path}: `doctest = false` in [lib] is for libraries without examples in comments"
        );
    }
}

#[test]
fn targets_without_tests_have_none() {
    let has_tests = |text: &str| text.contains("#[test]") || text.contains("#[cfg(test)]");
    for (path, manifest) in manifests() {
        let folder = path.trim_end_matches("Cargo.toml");
        if is_off(&manifest, "lib", "test") {
            let sources = format!("{folder}src/");
            assert!(!any_file(&sources, has_tests), "{path}: its library");
        }
        if is_off(&manifest, "bin", "test") {
            let main = manifest["bin"]["path"].trim_matches('"');
            let main = read(&format!("{folder}{main}"));
            assert!(!has_tests(&main), "{path}: its program");
        }
    }
}

#[test]
fn an_example_is_found_and_other_blocks_are_not() {
    assert!(has_example("/// ```no_run\n/// f();\n/// ```\n"));
    assert!(has_example(
        "    //! ```text\n    //! ```\n    //! ```\n    //! ```\n"
    ));
    assert!(!has_example("/// ```text\n/// f();\n/// ```\n"));
}
