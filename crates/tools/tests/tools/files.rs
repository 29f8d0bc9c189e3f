//! Reading and writing files.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::bench::{Bench, block_on};

#[test]
fn lines_are_read_and_the_rest_is_counted() {
    let bench = Bench::new();
    bench.file("five", "one\ntwo\nthree\nfour\nfive\n");
    let read = |arguments| bench.works("read_file", arguments);
    assert_eq!(
        read(json!({"path": "five"})),
        "1→one\n2→two\n3→three\n4→four\n5→five"
    );
    assert_eq!(
        read(json!({"path": "five", "limit": 2})),
        "1→one\n2→two\n... (3 more lines)"
    );
    assert_eq!(
        read(json!({"path": "five", "offset": 2, "limit": 2})),
        "2→two\n3→three\n... (2 more lines)"
    );
    assert_eq!(
        read(json!({"path": "five", "offset": 5, "limit": 9})),
        "5→five"
    );
    assert_eq!(
        read(json!({"path": "five", "limit": 0})),
        "... (5 more lines)"
    );
    let beyond = bench.fails("read_file", json!({"path": "five", "offset": 6}));
    assert!(beyond.contains("five has 5 lines"), "{beyond}");
    bench.file("open", "a\r\nb\r\n\r\nc");
    assert_eq!(
        read(json!({"path": "open", "limit": 3})),
        "1→a\n2→b\n3→\n... (1 more lines)"
    );
    bench.file("empty", "");
    assert_eq!(read(json!({"path": "empty"})), "(empty file: empty)");
    bench.file("latin", b"caf\xe9\n");
    assert_eq!(read(json!({"path": "latin"})), "1→caf\u{fffd}");
}

#[test]
fn a_long_file_can_be_read_piece_by_piece() {
    let bench = Bench::new();
    let lines: Vec<String> = (1..=9000).map(|n| format!("line {n} ünï")).collect();
    bench.file("long", lines.join("\n"));
    let line = |shown: &str| shown.split_once('→').unwrap().1.to_owned();
    let mut got = Vec::new();
    loop {
        let arguments = json!({"path": "long", "offset": got.len() + 1});
        let text = bench.works("read_file", arguments);
        assert!(text.chars().count() <= tools::LIMIT);
        let Some((shown, notes)) = text.split_once("\n... (") else {
            got.extend(text.lines().map(line));
            break;
        };
        got.extend(shown.lines().map(line));
        let left = lines.len() - got.len();
        assert!(notes.starts_with(&format!("{left} more lines)")), "{notes}");
        let next = format!("read on with offset {}]", got.len() + 1);
        assert!(notes.ends_with(&next), "{notes}");
    }
    assert_eq!(got, lines);
}

#[test]
fn an_image_is_shown_whatever_its_name_and_a_large_one_is_described() {
    let bench = Bench::new();
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
    bench.file("shot.txt", png);
    let output = block_on(bench.call("read_file", json!({"path": "shot.txt"})));
    assert_eq!(output.text, "Image shot.txt: image/png, 16 bytes.");
    assert_eq!(output.images.len(), 1);
    assert_eq!(output.images[0].bytes, png);
    let large = bench.file("large.png", png);
    let large = File::options().write(true).open(large).unwrap();
    large.set_len(1 << 30).unwrap();
    let text = bench.fails("read_file", json!({"path": "large.png"}));
    assert!(text.contains("at most 3750000 can be shown"), "{text}");
}

#[test]
fn files_that_are_no_text_or_too_large_are_described() {
    let bench = Bench::new();
    bench.file("program.png", b"\x7fELF\0\0\0\r");
    let text = bench.works("read_file", json!({"path": "program.png"}));
    assert!(
        text.starts_with("Binary file program.png: 8 bytes, an ELF program"),
        "{text}"
    );
    let huge = bench.file("huge", "a line\n".repeat(2000));
    File::options()
        .write(true)
        .open(huge)
        .unwrap()
        .set_len(1 << 40)
        .unwrap();
    let text = bench.works("read_file", json!({"path": "huge", "limit": 2}));
    assert!(
        text.starts_with("1→a line\n2→a line\n... (at least 1999 more lines)"),
        "{text}"
    );
    let edit = json!({"path": "huge", "old_text": "a", "new_text": "b"});
    assert!(bench.fails("edit_file", edit).contains("too large to edit"));
    bench.file("wide", format!("{}\nend", "ü".repeat(3_000_000)));
    let text = bench.works("read_file", json!({"path": "wide"}));
    let cut = format!(
        "1→{}... [line cut, it has 6000000 bytes]\n2→end",
        "ü".repeat(2000)
    );
    assert_eq!(text, cut);
    let exact = "x".repeat(2000);
    bench.file("exact", &exact);
    let text = bench.works("read_file", json!({"path": "exact"}));
    assert_eq!(text, format!("1→{exact}"));
}

#[test]
fn writing_creates_folders_keeps_permissions_and_leaves_no_trace() {
    let bench = Bench::new();
    let text = bench.works(
        "write_file",
        json!({"path": "a/b/c.txt", "content": "grün"}),
    );
    assert_eq!(text, "Wrote 5 bytes to a/b/c.txt");
    let path = bench.root().join("a/b/c.txt");
    let fresh = bench.file("a/b/fresh", "");
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode(&path), mode(&fresh), "a new file is like any other");
    for wanted in [0o755, 0o600, 0o664] {
        fs::set_permissions(&path, fs::Permissions::from_mode(wanted)).unwrap();
        bench.works("write_file", json!({"path": "a/b/c.txt", "content": ""}));
        assert_eq!(
            (mode(&path), bench.text("a/b/c.txt")),
            (wanted, String::new())
        );
        bench.file("a/b/c.txt", "one");
        bench.works("read_file", json!({"path": "a/b/c.txt"}));
        let edit = json!({"path": "a/b/c.txt", "old_text": "one", "new_text": "two"});
        bench.works("edit_file", edit);
        assert_eq!(
            (mode(&path), bench.text("a/b/c.txt")),
            (wanted, "two".to_owned())
        );
    }
    let names = fs::read_dir(bench.root().join("a/b")).unwrap();
    assert_eq!(names.count(), 2, "a temporary file is left");
    let long = "n".repeat(255);
    bench.works("write_file", json!({"path": long, "content": "x"}));
    assert_eq!(bench.text(&long), "x");
}

#[test]
fn readers_never_see_a_half_written_file() {
    let bench = Bench::new();
    let contents = ["a".repeat(200_000), "b".repeat(300_000)];
    bench.file("file", &contents[0]);
    let path = bench.root().join("file");
    bench.works("read_file", json!({"path": "file"}));
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for number in 0..40 {
                let content = &contents[number % 2];
                bench.works("write_file", json!({"path": "file", "content": content}));
            }
        });
        while !writer.is_finished() {
            let seen = fs::read_to_string(&path).unwrap();
            assert!(contents.contains(&seen), "{} bytes", seen.len());
        }
    });
}
