//! What file tools are told besides the verdict: the path outside, and what stays hidden.

use std::path::{Path, PathBuf};

use permissions::{Conditions, Permissions, Verdict};
use serde_json::{Value, json};

use crate::support::{call, confined, decide, permissions};

fn outside(rules: &Permissions, tool: &str, path: &str) -> Option<PathBuf> {
    let arguments = json!({ "path": path });
    rules.outside(&call(tool, &arguments))
}

fn hides(rules: &Permissions, tool: &str, start: &str, path: &str) -> bool {
    let arguments: Value = json!({ "path": start, "pattern": "x" });
    let call = call(tool, &arguments);
    rules.hides_files(&call) && rules.hides(&call, Path::new(path))
}

#[test]
fn a_path_outside_is_told_in_full_and_others_are_not() {
    let none = permissions(confined(), &[], &[], &[]);
    let found = |path: &str| outside(&none, "read_file", path);
    assert_eq!(found("../x/./y"), Some("/work/x/y".into()));
    assert_eq!(found("~/notes"), Some("/home/user/notes".into()));
    assert_eq!(found("/etc/hosts"), Some("/etc/hosts".into()));
    assert_eq!(found("/work/spaceship"), Some("/work/spaceship".into()));
    for inside in ["a/b", ".", "/work/space", "/work/space/a", "a/../b"] {
        assert_eq!(found(inside), None, "{inside}");
    }
    let command = json!({"command": "cat /etc/hosts"});
    assert_eq!(none.outside(&call("bash", &command)), None);
}

#[test]
fn what_commands_may_read_anyway_is_read_without_a_question() {
    let conditions = Conditions {
        readable: vec!["/work/outputs".into()],
        ..confined()
    };
    let rules = permissions(conditions, &["Read(//work/outputs/x)"], &[], &[]);
    let verdict = |tool, path| decide(&rules, tool, &json!({ "path": path })).verdict;
    assert_eq!(verdict("read_file", "/work/outputs/a.txt"), Verdict::Allow);
    assert_eq!(verdict("read_file", "/work/outputs/x"), Verdict::Deny);
    assert_eq!(verdict("read_file", "/work/outputs2/a"), Verdict::Ask);
    assert_eq!(verdict("write_file", "/work/outputs/a.txt"), Verdict::Ask);
}

#[test]
fn what_is_denied_below_an_allowed_folder_is_hidden_from_a_search() {
    let rules = permissions(confined(), &["Read(/keys/**)", "Read(*.pem)"], &[], &[]);
    for tool in ["grep", "glob", "list_dir", "read_file"] {
        for hidden in ["/work/space/keys/a", "/work/space/deep/b.pem"] {
            assert!(hides(&rules, tool, ".", hidden), "{tool} {hidden}");
        }
        for shown in ["/work/space/a", "/work/space/keyring", "/etc/x.txt"] {
            assert!(!hides(&rules, tool, ".", shown), "{tool} {shown}");
        }
    }
    let only_grep = permissions(confined(), &["grep(/keys/**)"], &[], &[]);
    assert!(hides(&only_grep, "grep", ".", "/work/space/keys/a"));
    assert!(!hides(&only_grep, "glob", ".", "/work/space/keys/a"));
    let writes = permissions(confined(), &["Edit(/keys/**)"], &[], &[]);
    assert!(!hides(&writes, "grep", ".", "/work/space/keys/a"));
}

#[test]
fn what_asks_is_hidden_unless_the_call_itself_asked_about_it() {
    let rules = permissions(confined(), &[], &["Read(/drafts/**)"], &[]);
    let file = "/work/space/drafts/a";
    assert!(hides(&rules, "grep", ".", file));
    assert!(hides(&rules, "grep", "/work/space", file));
    assert!(!hides(&rules, "grep", "drafts/a", file));
    // A path outside asks as a whole, and what is below it was meant.
    let none = permissions(confined(), &["Read(x)"], &[], &[]);
    assert!(!hides(&none, "grep", "/etc", "/etc/hosts"));
}
