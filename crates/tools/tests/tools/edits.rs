//! Editing files.

use std::fs;
use std::time::Instant;

use serde_json::json;

use crate::bench::{Bench, LONG};

#[test]
fn exactly_one_occurrence_is_replaced_and_shown() {
    let bench = Bench::new();
    let lines: Vec<String> = (1..=20).map(|n| format!("line {n}")).collect();
    bench.file("file", lines.join("\n"));
    let edit = json!({"path": "file", "old_text": "line 10\nline 11", "new_text": "ten\nline 11"});
    let text = bench.works("edit_file", edit);
    let wanted = "Edited file\n@@ -7,7 +7,7 @@\n line 7\n line 8\n line 9\n-line 10\n+ten\n \
                  line 11\n line 12\n line 13";
    assert_eq!(text, wanted);
    assert_eq!(
        bench.text("file"),
        lines.join("\n").replace("line 10", "ten")
    );
}

#[test]
fn edits_at_the_ends_of_a_file_are_shown_right() {
    let bench = Bench::new();
    bench.file("file", "one\ntwo\nthree\n");
    let edit = json!({"path": "file", "old_text": "one\n", "new_text": ""});
    let text = bench.works("edit_file", edit);
    assert_eq!(text, "Edited file\n@@ -1,3 +1,2 @@\n-one\n two\n three");
    let edit = json!({"path": "file", "old_text": "three\n", "new_text": "three\nfour"});
    let text = bench.works("edit_file", edit);
    assert!(
        text.ends_with(" two\n-three\n+three\n+four") || text.ends_with("three\n+four"),
        "{text}"
    );
    assert_eq!(bench.text("file"), "two\nthree\nfour");
    let edit = json!({"path": "file", "old_text": "two\nthree\nfour", "new_text": ""});
    bench.works("edit_file", edit);
    assert_eq!(bench.text("file"), "");
}

#[test]
fn anything_but_one_occurrence_changes_nothing() {
    let bench = Bench::new();
    bench.file("file", "aaa bb bb");
    let try_it = |old: &str, new: &str| {
        let edit = json!({"path": "file", "old_text": old, "new_text": new});
        bench.fails("edit_file", edit)
    };
    assert!(try_it("bb", "c").starts_with("Error: Expected 1 occurrence, found 2"));
    // Two that overlap are two as well.
    assert!(try_it("aa", "c").starts_with("Error: Expected 1 occurrence, found 2"));
    let missing = try_it("zz", "c");
    assert!(
        missing.starts_with("Error: Expected 1 occurrence, found 0"),
        "{missing}"
    );
    assert!(missing.contains("Text not found in file"), "{missing}");
    assert!(try_it("", "c").contains("old_text is empty"));
    assert!(try_it("bb", "bb").contains("are the same"));
    assert_eq!(bench.text("file"), "aaa bb bb");
    let edit = json!({"path": "gone", "old_text": "a", "new_text": "b"});
    assert_eq!(
        bench.fails("edit_file", edit),
        "Error: File not found: gone"
    );
}

#[test]
fn line_ends_and_strange_bytes_are_kept() {
    let bench = Bench::new();
    bench.file("dos", "one\r\ntwo\r\nthree\r\n");
    let edit = json!({"path": "dos", "old_text": "one\ntwo", "new_text": "1\n2\n2b"});
    bench.works("edit_file", edit);
    assert_eq!(bench.text("dos"), "1\r\n2\r\n2b\r\nthree\r\n");
    bench.file("mixed", "one\r\ntwo\nthree\n");
    let edit = json!({"path": "mixed", "old_text": "two\nthree", "new_text": "x\ny"});
    bench.works("edit_file", edit);
    assert_eq!(bench.text("mixed"), "one\r\nx\ny\n");
    let path = bench.file("bytes", b"\xff\xfe old \xff\0");
    let edit = json!({"path": "bytes", "old_text": "old", "new_text": "new"});
    bench.works("edit_file", edit);
    assert_eq!(fs::read(path).unwrap(), b"\xff\xfe new \xff\0");
}

#[test]
fn a_large_edit_shows_both_ends_of_its_difference() {
    let bench = Bench::new();
    bench.file("file", "start\nend\n");
    let new = format!("start\n{}", "more\n".repeat(5000));
    let edit = json!({"path": "file", "old_text": "start\n", "new_text": new});
    let text = bench.works("edit_file", edit);
    assert!(text.chars().count() < 4100, "{}", text.len());
    assert!(
        text.contains("bytes cut out here") && text.ends_with(" end"),
        "{text}"
    );
}

#[test]
fn every_occurrence_is_replaced_on_request() {
    let bench = Bench::new();
    bench.file("file", "one two one\naaa\none");
    let edit = json!({"path": "file", "old_text": "one", "new_text": "1", "replace_all": true});
    let text = bench.works("edit_file", edit);
    assert_eq!(
        text,
        "Edited file\n@@ -1,3 +1,3 @@\n-one two one\n+1 two 1\n aaa\n-one\n+1"
    );
    let edit = json!({"path": "file", "old_text": "aa", "new_text": "b", "replace_all": true});
    bench.works("edit_file", edit);
    assert_eq!(bench.text("file"), "1 two 1\nba\n1");
}

#[test]
fn several_edits_are_made_in_order_or_not_at_all() {
    let bench = Bench::new();
    bench.file("file", "alpha\nbeta\n");
    let edit = |old: &str, new: &str| json!({"old_text": old, "new_text": new});
    let both = [edit("alpha", "gamma"), edit("gamma\nbeta", "delta")];
    bench.works("edit_file", json!({"path": "file", "edits": both}));
    assert_eq!(bench.text("file"), "delta\n");
    let one_wrong = [edit("delta", "epsilon"), edit("nowhere", "x")];
    let text = bench.fails("edit_file", json!({"path": "file", "edits": one_wrong}));
    assert!(
        text.starts_with("Error: edit 2 of 2, so nothing was changed: Expected 1"),
        "{text}"
    );
    assert_eq!(bench.text("file"), "delta\n");
    for arguments in [
        json!({"path": "file"}),
        json!({"path": "file", "edits": []}),
        json!({"path": "file", "old_text": "delta"}),
        json!({"path": "file", "old_text": "delta", "new_text": "x", "edits": both}),
    ] {
        let text = bench.fails("edit_file", arguments);
        assert!(
            text.contains("either old_text and new_text, or edits"),
            "{text}"
        );
    }
}

#[test]
fn a_text_that_is_not_there_is_answered_with_the_nearest() {
    let bench = Bench::new();
    bench.file(
        "file.rs",
        "fn main() {\n    let total = sum(values);\n    print(total);\n}\n",
    );
    let fail = |old: &str| {
        let edit = json!({"path": "file.rs", "old_text": old, "new_text": "x"});
        bench.fails("edit_file", edit)
    };
    let text = fail("  let total = sum(values);\n  print(total);");
    assert!(
        text.ends_with(
            "the nearest is at line 2 (where only white space differs):\n    \
             let total = sum(values);\n    print(total);"
        ),
        "{text}"
    );
    let text = fail("let totals = sum(value);");
    assert!(
        text.ends_with("at line 2 (similar):\n    let total = sum(values);"),
        "{text}"
    );
    let text = fail("something else entirely");
    assert!(
        text.ends_with("copy the text exactly, with its spaces"),
        "{text}"
    );
}

#[test]
fn a_result_that_is_too_large_is_refused_before_it_is_made() {
    let bench = Bench::new();
    bench.file("file", "a".repeat(1_000_000));
    let large = "b".repeat(100_000);
    let edit = json!({"path": "file", "old_text": "a", "new_text": large, "replace_all": true});
    let refused = bench.fails("edit_file", edit);
    assert!(refused.contains("100000000000 bytes"), "{refused}");
    // Each step is small enough to tempt, the second is not.
    let edits = json!([
        {"old_text": "a", "new_text": "bbbb", "replace_all": true},
        {"old_text": "b", "new_text": "ccccc", "replace_all": true},
    ]);
    let refused = bench.fails("edit_file", json!({"path": "file", "edits": edits}));
    assert!(refused.contains("edit 2 of 2"), "{refused}");
    assert!(refused.contains("20000000 bytes"), "{refused}");
    assert_eq!(bench.text("file"), "a".repeat(1_000_000));
}

#[test]
fn a_long_text_is_searched_in_linear_time() {
    let bench = Bench::new();
    bench.file("file", "a".repeat(4_000_000));
    // Compared at every place, this takes minutes.
    let old = format!("{}b", "a".repeat(1_000_000));
    let started = Instant::now();
    let edit = json!({"path": "file", "old_text": old, "new_text": ""});
    let refused = bench.fails("edit_file", edit);
    assert!(refused.contains("found 0"), "not the expected refusal");
    assert!(started.elapsed() < LONG);
}

#[test]
fn pasted_line_numbers_are_refused_by_name() {
    let bench = Bench::new();
    bench.file("file", "one\ntwo\nthree\n");
    let shown = bench.works("read_file", json!({"path": "file", "limit": 2}));
    let pasted = shown.lines().take(2).collect::<Vec<_>>().join("\n");
    let old = json!({"path": "file", "old_text": pasted, "new_text": "x"});
    let refused = bench.fails("edit_file", old);
    assert!(
        refused.starts_with("Error: the lines of old_text begin with the numbers"),
        "{refused}"
    );
    let new = json!({"path": "file", "old_text": "two", "new_text": "2→zwei\n3→drei"});
    let refused = bench.fails("edit_file", new);
    assert!(
        refused.starts_with("Error: the lines of new_text begin with the numbers"),
        "{refused}"
    );
    assert_eq!(bench.text("file"), "one\ntwo\nthree\n");
    // A file may have such lines of its own.
    bench.file("table", "1→one\n");
    let edit = json!({"path": "table", "old_text": "1→one", "new_text": "1→one\n2→two"});
    bench.works("edit_file", edit);
    assert_eq!(bench.text("table"), "1→one\n2→two\n");
}
