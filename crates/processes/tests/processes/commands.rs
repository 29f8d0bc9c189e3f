//! Commands whose member was killed.

use crate::support::Members;
use std::fs;
use std::os::unix::fs::symlink;

#[test]
fn something_odd_among_the_records_keeps_no_other_from_being_finished() {
    let members = Members::new();
    let team = members.team();
    let folder = team.commands_folder().unwrap();
    let outside = team.workspace().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("kept"), "").unwrap();
    symlink(outside.join("kept"), folder.join("a.1")).unwrap();
    symlink(&outside, team.workspace().join("link")).unwrap();
    fs::create_dir(folder.join("a.2")).unwrap();
    // These lead elsewhere, or behind a link.
    for (name, path) in [("a.3", "../outside/kept"), ("a.4", "link/kept")] {
        let text = format!("snapshot 1\nunwanted {path}\nend\n");
        fs::write(folder.join(name), text).unwrap();
    }
    // More of them than a process may have open files.
    for number in 0..1100 {
        fs::write(folder.join(format!("m.{number}")), "snapshot 1\nend\n").unwrap();
    }
    fs::write(
        folder.join("z.1"),
        "snapshot 1\nunwanted .envrc\nunwanted none\nend\n",
    )
    .unwrap();
    fs::write(team.workspace().join(".envrc"), "").unwrap();
    let problems = processes::repair(team).problems;
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(
        problems
            .iter()
            .all(|problem| problem.contains("commands/a."))
    );
    assert!(team.workspace().join(".envrc.from-sandbox.1").exists());
    assert!(outside.join("kept").exists());
    let left = fs::read_dir(&folder).unwrap().count();
    assert_eq!(left, 2, "the link and the folder");
    let mut told: Vec<String> = members.notices().into_iter().map(|(id, _)| id).collect();
    told.sort();
    assert_eq!(told, ["left_files/a.3", "left_files/z.1"]);
}
