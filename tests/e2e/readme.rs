//! The commands of the README, typed one after the other in an empty folder.

use crate::support::Workspace;
use std::process::Command;

/// The lines of all shell blocks under a heading of the README.
fn commands(heading: &str) -> Vec<String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (_, rest) = text.split_once(heading).expect("the heading is there");
    let section = rest.split("\n## ").next().unwrap();
    let mut lines = Vec::new();
    let mut is_shell = false;
    for line in section.lines() {
        match line {
            "```sh" => is_shell = true,
            "```" => is_shell = false,
            line if is_shell => lines.push(line.to_owned()),
            _ => {}
        }
    }
    assert!(!lines.is_empty(), "{heading} has commands");
    lines
}

/// Types the lines into a shell that stops at the first one that fails.
fn run(workspace: &Workspace, lines: &[String]) -> String {
    let programs = std::path::Path::new(env!("CARGO_BIN_EXE_team-lead"));
    let folder = programs.parent().unwrap().display().to_string();
    let path = std::env::var("PATH").unwrap();
    let script = format!("set -ex\n{}\n", lines.join("\n"));
    let output = Command::new("bash")
        .args(["-c", &script])
        .current_dir(workspace.path())
        .env("PATH", format!("{folder}:{path}"))
        .env("TEAM_MODEL", "offline")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{errors}");
    said
}

#[test]
fn the_first_command_runs_a_team() {
    let workspace = Workspace::new(&[]);
    let mut lines = commands("## Start\n");
    lines.retain(|line| line.starts_with("team-lead run '"));
    assert_eq!(lines.len(), 1, "{lines:?}");
    let said = run(&workspace, &lines);
    assert!(said.contains("Sent message to bob"), "{said}");
}

#[test]
fn the_tour_can_be_typed_as_it_stands() {
    let workspace = Workspace::new(&[]);
    let mut lines = commands("## Five minutes with two terminals\n");
    // The second terminal follows the log for as long as the tour takes.
    lines.retain(|line| line != "team-lead logs alice -f");
    let said = run(&workspace, &lines);
    for done in ["a.txt", "1.txt", "2.txt"] {
        assert!(workspace.path().join(done).exists(), "{done}\n{said}");
    }
    assert!(said.contains("[x] #2: Write two to 2.txt"), "{said}");
    assert!(said.contains("Plan approved for 'carol'"), "{said}");
}
