//! Editing files.

use std::fs;

use serde_json::json;

use crate::bench::Bench;

#[test]
fn exactly_one_occurrence_is_replaced_and_shown() {
    let bench = Bench::new();
    let lines: Vec<String> = (1..=20).map(|n| format!("line {n}")).collect();
    bench.file("file", lines.join("\n"));
    let edit = json!({"path": "file", "old_text": "line 10\nline 11", "new_text": "ten\nline 11"});
    let text = bench.works("edit_file", edit);
    let wanted = "Edited file\n@@ -7,8 +7,8 @@\n line 7\n line 8\n line 9\n-line 10\n+ten\n \
                  line 11\n line 12\n line 13\n line 14";
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
