//! Who may depend on whom, and who may do what. An edge between crates is the only boundary the
//! compiler keeps, so each one is listed here on purpose.

mod table;

use crate::sources::{Source, crates, read, sources};
use std::collections::BTreeMap;
use table::{DEV_EXTERNAL, RULES, Rule};

/// The sections of a manifest with their keys and values.
pub(crate) type Manifest = BTreeMap<String, BTreeMap<String, String>>;

/// Reads as much of a manifest as the rules need: sections, and keys that fit on one line.
fn parse(text: &str) -> Manifest {
    let mut manifest = Manifest::new();
    let mut section = String::new();
    for line in text.lines().map(str::trim) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_matches(['[', ']']).to_owned();
            manifest.entry(section.clone()).or_default();
        } else if let Some((key, value)) = line.split_once('=') {
            let keys = manifest.entry(section.clone()).or_default();
            keys.insert(key.trim().to_owned(), value.trim().to_owned());
        }
    }
    manifest
}

/// Every manifest of the workspace, with the path of each.
pub(crate) fn manifests() -> Vec<(String, Manifest)> {
    let folders = crates().into_iter().map(|name| format!("crates/{name}/"));
    let paths = folders
        .chain([String::new()])
        .map(|folder| format!("{folder}Cargo.toml"));
    paths
        .map(|path| (path.clone(), parse(&read(&path))))
        .collect()
}

fn package_name(manifest: &Manifest) -> &str {
    let name = manifest.get("package").and_then(|keys| keys.get("name"));
    name.expect("a package has a name").trim_matches('"')
}

/// The dependencies in a section. `serde.workspace` and `serde` both name `serde`; a section of
/// its own for one dependency or for one system is read as well.
fn dependencies(manifest: &Manifest, section: &str) -> Vec<String> {
    let mut names = Vec::new();
    for (found, keys) in manifest {
        let found = found
            .rsplit_once("'.")
            .map_or(found.as_str(), |(_, rest)| rest);
        if found == section {
            let keys = keys.keys().map(|key| key.split('.').next());
            names.extend(keys.flatten().map(str::to_owned));
        } else if let Some(name) = found.strip_prefix(section)
            && let Some(name) = name.strip_prefix('.')
        {
            names.push(name.to_owned());
        }
    }
    names
}

fn rule_of(package: &str) -> &'static Rule {
    let rule = RULES.iter().find(|rule| rule.package == package);
    rule.unwrap_or_else(|| {
        panic!("the crate {package} is new: add it to the table in tests/tidy/layers.rs")
    })
}

#[test]
fn crates_depend_only_downwards_and_on_few_others() {
    let manifests = manifests();
    let ours: Vec<&str> = manifests.iter().map(|(_, m)| package_name(m)).collect();
    for (path, manifest) in &manifests {
        let rule = rule_of(package_name(manifest));
        for name in dependencies(manifest, "dependencies") {
            let allowed = if ours.contains(&name.as_str()) {
                rule.ours
            } else {
                rule.external
            };
            assert!(
                allowed.contains(&name.as_str()),
                "{path}: {} may not depend on {name}; see the table in tests/tidy/layers.rs",
                rule.package
            );
        }
        for name in dependencies(manifest, "dev-dependencies") {
            let lists = [rule.ours, rule.external, rule.dev_ours, DEV_EXTERNAL];
            assert!(
                lists.iter().any(|list| list.contains(&name.as_str())),
                "{path}: the tests of {} may not depend on {name}",
                rule.package
            );
        }
        let build = dependencies(manifest, "build-dependencies");
        assert!(build.is_empty(), "{path}: no crate here has a build script");
    }
}

#[test]
fn the_table_has_no_crate_that_is_gone_and_no_edge_upwards() {
    let manifests = manifests();
    for (at, rule) in RULES.iter().enumerate() {
        let exists = manifests
            .iter()
            .any(|(_, m)| package_name(m) == rule.package);
        assert!(exists, "there is no crate {}", rule.package);
        let below: Vec<&str> = RULES.iter().take(at).map(|rule| rule.package).collect();
        for name in rule.ours {
            assert!(
                below.contains(name),
                "{} -> {name} leads upwards",
                rule.package
            );
        }
    }
}

#[test]
fn every_manifest_inherits_from_the_workspace() {
    for (path, manifest) in manifests() {
        let lints = manifest.get("lints").and_then(|keys| keys.get("workspace"));
        assert_eq!(lints.map(String::as_str), Some("true"), "{path}: [lints]");
        let package = manifest.get("package").expect("checked by its name");
        for field in ["version", "edition", "rust-version", "publish"] {
            let inherited = package.get(&format!("{field}.workspace"));
            assert_eq!(
                inherited.map(String::as_str),
                Some("true"),
                "{path}: {field}"
            );
        }
        for section in ["dependencies", "dev-dependencies"] {
            for (key, value) in manifest.get(section).into_iter().flatten() {
                let inherits = key.ends_with(".workspace") || value.contains("workspace = true");
                assert!(inherits, "{path}: {key} = {value} names its own version");
            }
        }
    }
}

#[test]
fn pure_crates_touch_nothing_outside() {
    let outside = [
        "SystemTime",
        "Instant",
        "std::fs",
        "std::io",
        "std::net",
        "std::process",
        "std::env",
        "std::thread",
        "rand::",
        "uuid",
        "nix",
        "libc",
    ];
    for folder in [
        "crates/permissions/src",
        "crates/protocol/src",
        "crates/rules/src",
        "crates/agent/src/context",
    ] {
        let sources = sources(folder);
        assert!(!sources.is_empty(), "{folder} has no sources");
        for source in sources {
            source.assert_free_of(&outside, "facts and time come in as arguments here");
        }
    }
}

/// The production code that is neither `teamdir` nor only for tests.
fn everything_above_teamdir() -> Vec<Source> {
    let others = crates().into_iter();
    let others =
        others.filter(|name| !["teamdir", "bench", "test-support"].contains(&name.as_str()));
    let folders = others.map(|name| format!("crates/{name}/src"));
    let folders = folders.chain(["bin".to_owned()]);
    folders.flat_map(|folder| sources(&folder)).collect()
}

#[test]
fn only_teamdir_joins_paths_under_a_team_folder() {
    let paths = [
        r#"".team"#,
        r#"join("inbox"#,
        r#"join("members"#,
        r#"join("requests"#,
        r#"join("tasks"#,
        r#"join("config"#,
        r#".jsonl""#,
        r#""config.json"#,
    ];
    for source in everything_above_teamdir() {
        source.assert_free_of(&paths, "only `teamdir::Layout` knows where things are");
    }
}

/// Whoever can write to a team folder can put a link or a FIFO in the place of a file or folder in it.
#[test]
fn files_of_a_team_are_opened_and_renamed_in_one_place() {
    let direct = [
        "File::open",
        "File::create",
        "File::options",
        "OpenOptions",
        "DirBuilder",
        "fs::read",
        "fs::read_to_string",
        "fs::write",
        "fs::rename",
        "fs::remove_file",
        "fs::remove_dir",
        "fs::remove_dir_all",
        "fs::create_dir",
        "fs::create_dir_all",
        "fs::copy",
        "fs::hard_link",
        "fs::read_dir",
        "fs::metadata",
        "read_dir",
        ".exists()",
    ];
    // Facts of the system, not files of a team.
    let about_the_system = ["crates/teamdir/src/locks/process.rs"];
    for source in sources("crates/teamdir/src") {
        if !about_the_system.contains(&source.path.as_str()) {
            source.assert_free_of(&direct, "use `crate::files`, which refuses links and FIFOs");
        }
    }
}

#[test]
fn only_programs_print() {
    let printing = ["println!", "eprintln!", "print!", "eprint!", "dbg!"];
    let libraries = crates().into_iter().filter(|name| name != "bench");
    for name in libraries {
        let sources = sources(&format!("crates/{name}/src"));
        let programs = format!("crates/{name}/src/bin/");
        for source in sources.iter().filter(|s| !s.path.starts_with(&programs)) {
            source.assert_free_of(&printing, "only programs print; return the text instead");
        }
    }
}

#[test]
pub(crate) fn manifests_are_read_right() {
    let manifest = parse(
        "[package]\nname = \"x\"\n# [no]\n[dependencies]\nserde.workspace = true\n\
         rustix = { workspace = true }\n[dependencies.libc]\nworkspace = true\n\
         [target.'cfg(unix)'.dependencies]\nnix.workspace = true\n",
    );
    assert_eq!(package_name(&manifest), "x");
    let mut names = dependencies(&manifest, "dependencies");
    names.sort();
    assert_eq!(names, ["libc", "nix", "rustix", "serde"]);
    assert_eq!(dependencies(&manifest, "dev-dependencies"), [""; 0]);
}
