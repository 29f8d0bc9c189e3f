//! The file tools keep to the list of the sandbox, at every level.

use super::place::{Level, Place, conditions};
use crate::harness::call;
use serde_json::json;

const CONTROL: [&str; 11] = [
    "team.toml",
    ".env",
    ".env.production",
    ".envrc",
    ".mcp.json",
    ".vscode/tasks.json",
    ".claude/settings.json",
    ".git/hooks/pre-commit",
    ".git/config",
    ".team/config.json",
    ".TEAM/inbox/bob.jsonl",
];

/// The whole of a long output is in a file that the member can read, by its tools and its commands.
#[test]
fn a_long_output_can_be_read_in_full() {
    for conditions in conditions(&[Level::Full, Level::None]) {
        let place = Place::new(conditions);
        place.spawn(&[]);
        let shown = place.bash("seq 1 50000");
        let (_, note) = shown.split_once("the full output is in ").unwrap();
        let (path, _) = note.split_once(" ...]").unwrap();
        let read = json!({"path": path, "offset": 31_234, "limit": 1});
        let by_tool = place.results(vec![call("read_file", read)]).remove(0);
        assert!(by_tool.contains("31234→31234"), "{conditions:?}: {by_tool}");
        let by_command = place.bash(&format!("sed -n 31234p {path}"));
        assert!(by_command.contains("31234"), "{conditions:?}: {by_command}");
        place.end();
    }
}

#[test]
fn control_files_are_not_written_and_secrets_not_read() {
    for conditions in conditions(&[Level::Full, Level::None]) {
        let place = Place::new(conditions);
        place
            .workspace
            .write(".env", "KEY=secret of the workspace\n");
        place
            .workspace
            .write(".env.example", "KEY=put yours here\n");
        std::os::unix::fs::symlink(".env", place.workspace.path().join("link")).unwrap();
        place.spawn(&[]);
        let write = |path: &&str| call("write_file", json!({"path": path, "content": "x"}));
        let results = place.results(CONTROL.iter().map(write).collect());
        for (path, result) in CONTROL.iter().zip(&results) {
            assert!(
                result.contains("cannot be written"),
                "{conditions:?}: {path}: {result}"
            );
        }
        let read = |path: &str| call("read_file", json!({"path": path}));
        let edit = json!({"path": ".env", "old_text": "KEY", "new_text": "K"});
        let results = place.results(vec![
            read(".env"),
            read("link"),
            read(".env.example"),
            call("edit_file", edit),
        ]);
        for secret in [&results[0], &results[1], &results[3]] {
            assert!(!secret.contains("secret of the workspace"), "{secret}");
            assert!(secret.contains("holds secrets"), "{secret}");
        }
        assert!(results[2].contains("put yours here"), "{results:?}");
        place.end();
    }
}
