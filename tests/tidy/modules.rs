//! Every source file is part of the program or of a test.

use crate::sources::{crates, root};
use std::fs;
use std::path::{Path, PathBuf};

/// The files that cargo compiles by themselves.
fn is_root(path: &Path) -> bool {
    let parent = path.parent().and_then(Path::file_name);
    let stem = path.file_stem().unwrap_or_default();
    let is_program = parent.is_some_and(|parent| parent == "bin");
    let is_test = parent.is_some_and(|parent| parent == "tests");
    is_program || is_test || stem == "main" || stem == "lib"
}

/// The files that may declare the module of this file.
fn parents(path: &Path) -> Vec<PathBuf> {
    let Some(folder) = path.parent() else {
        return Vec::new();
    };
    let own = ["main.rs", "lib.rs", "mod.rs"].map(|name| folder.join(name));
    let beside = folder.with_extension("rs");
    own.into_iter().chain([beside]).collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

#[test]
fn no_file_is_left_out_of_its_crate() {
    let mut files = Vec::new();
    for folder in ["bin", "tests"] {
        collect(&root().join(folder), &mut files);
    }
    for name in crates() {
        for folder in ["src", "tests"] {
            collect(&root().join("crates").join(&name).join(folder), &mut files);
        }
    }
    assert!(files.len() > 300, "{} files", files.len());
    for path in files.iter().filter(|path| !is_root(path)) {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let declaration = format!("mod {stem};");
        let is_declared = parents(path).iter().any(|parent| {
            fs::read_to_string(parent).is_ok_and(|text| {
                let mut lines = text.lines();
                lines.any(|line| line.ends_with(&declaration) && !line.contains("//"))
            })
        });
        assert!(is_declared, "no `mod {stem};` for {}", path.display());
    }
}
