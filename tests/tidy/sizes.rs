//! How large a file may grow. The length of functions is left to clippy.

use crate::sources::{Source, crates, sources};

/// No file of production code is longer.
const LIMIT: usize = 600;
/// A file longer than this should be split soon.
const LARGE: usize = 400;
/// How many such files there may be at a time.
const LARGE_FILES: usize = 3;

fn production() -> Vec<Source> {
    let folders = crates()
        .into_iter()
        .map(|name| format!("crates/{name}/src"));
    let folders = folders.chain(["bin".to_owned()]);
    folders.flat_map(|folder| sources(&folder)).collect()
}

#[test]
fn files_stay_small_enough_to_read() {
    for source in production() {
        let length = source.lines.len();
        assert!(
            length <= LIMIT,
            "{} has {length} lines, more than {LIMIT}: split it",
            source.path
        );
    }
}

#[test]
fn few_files_are_large() {
    let large: Vec<String> = production()
        .into_iter()
        .filter(|source| source.lines.len() > LARGE)
        .map(|source| format!("{} ({} lines)", source.path, source.lines.len()))
        .collect();
    assert!(
        large.len() <= LARGE_FILES,
        "more than {LARGE_FILES} files have over {LARGE} lines: {large:?}"
    );
}
