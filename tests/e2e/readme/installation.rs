//! What the real cargo would do with the first command of the README.

use crate::readme::document::root;
use serde_json::Value;
use std::process::Command;

/// A cargo that changes nothing outside of a folder of its own.
fn cargo(args: &[&str]) -> Vec<u8> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(cargo).args(args).current_dir(root()).output();
    let output = output.unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo {args:?}: {errors}");
    output.stdout
}

/// Installing would build everything once more in another profile. So this looks at what it would
/// build and whether the lock file fits; with `TEAM_TEST=long` it is really done.
#[test]
fn both_programs_are_installed_by_one_command() {
    let metadata = cargo(&[
        "metadata",
        "--no-deps",
        "--offline",
        "--format-version",
        "1",
    ]);
    let metadata: Value = serde_json::from_slice(&metadata).unwrap();
    let mut packages = metadata["packages"].as_array().unwrap().iter();
    let package = packages
        .find(|package| package["name"] == "team-lead")
        .unwrap();
    let folder = root().join("Cargo.toml");
    assert_eq!(
        package["manifest_path"],
        folder.to_str().unwrap(),
        "`--path .` means it"
    );
    let targets = package["targets"].as_array().unwrap().iter();
    let programs = targets.filter(|target| target["kind"][0] == "bin");
    let mut names: Vec<&str> = programs
        .map(|target| target["name"].as_str().unwrap())
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["team-lead", "teammate"]);
    // Fails if the lock file would have to change.
    cargo(&["tree", "--locked", "--offline", "--depth", "0"]);
    if std::env::var("TEAM_TEST").is_ok_and(|value| value == "long") {
        let temp = tempfile::tempdir().unwrap();
        let (place, target) = (temp.path().join("root"), temp.path().join("target"));
        let place = place.to_str().unwrap();
        let target = target.to_str().unwrap();
        cargo(&[
            "install",
            "--path",
            ".",
            "--locked",
            "--offline",
            "--root",
            place,
            "--target-dir",
            target,
        ]);
        for name in names {
            assert!(
                temp.path().join("root/bin").join(name).exists(),
                "{name} is installed"
            );
        }
    }
}
