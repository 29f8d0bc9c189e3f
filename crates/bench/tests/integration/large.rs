//! A large repository: everything works, and what is done often does not look at its files.

use crate::support::{World, agent};
use protocol::SubmissionStatus::Merged;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;
use test_support::git;

/// Commits this many files in folders of a hundred.
fn add_files(folder: &Path, files: usize) {
    let mut stream = String::from("blob\nmark :1\ndata 5\ntext\n\ncommit refs/heads/main\n");
    stream.push_str("committer Person <person@example.org> 1700000000 +0000\ndata 5\nMany\n\n");
    stream.push_str("from refs/heads/main^0\n");
    for number in 0..files {
        writeln!(stream, "M 100644 :1 folder-{}/{number}.txt", number / 100).unwrap();
    }
    let mut import = Command::new("git")
        .current_dir(folder)
        .args(["fast-import", "--quiet"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = import.stdin.take().unwrap();
    input.write_all(stream.as_bytes()).unwrap();
    drop(input);
    assert!(import.wait().unwrap().success());
    git(folder, ["reset", "--quiet", "--hard", "main"]);
}

/// What took how long, for people.
#[derive(Default)]
struct Times(String);

impl Times {
    fn of<T>(&mut self, what: &str, work: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        let result = work();
        write!(self.0, "{what} {} ms, ", began.elapsed().as_millis()).unwrap();
        result
    }
}

#[test]
fn a_large_repository_has_trees_whose_files_are_not_looked_at_in_vain() {
    let is_long = std::env::var("TEAM_TEST").is_ok_and(|value| value == "long");
    let files = if is_long { 50_000 } else { 1_000 };
    let mut times = Times::default();
    let world = World::without_trees(&["alice"]);
    add_files(world.folder(), files);
    let trees = world.trees();
    let new = times.of("a tree", || trees.ensure_tree(&agent("alice")).unwrap());
    assert!(new.is_new && new.not_included.is_empty());
    let again = times.of("the same again", || trees.ensure_tree(&agent("alice")));
    assert!(!again.unwrap().is_new);
    world.commit("alice", "folder-7/new.txt", "work\n");
    times.of("submit", || world.submit("alice"));
    let ended = times.of("integrate", || world.integrate());
    assert_eq!(ended, [(1, Merged)]);
    let views = times.of("trees", || trees.trees().unwrap());
    assert_eq!(views.len(), 1);
    assert!(views[0].status.uncommitted.is_empty());
    let own = world.team().update_roster(|roster| {
        roster.members[0].spec.tree = Some(protocol::TreeMode::Own);
        Ok::<_, teamdir::RosterError>(())
    });
    own.unwrap();
    // Status, and the question whether there is anything to integrate, work without the trees.
    let aside = world.folder().join("aside");
    fs::rename(world.team().layout().trees_dir(), aside).unwrap();
    let views = times.of("status", || processes::member_views(world.team()).unwrap());
    assert_eq!(
        views[0].submission,
        Some((protocol::SubmissionId(1), Merged))
    );
    let is_due = || integration::Integration::is_queue_due(world.team());
    assert!(!times.of("idle", is_due));
    eprintln!("{files} files: {}", times.0);
}
