use super::super::intent::{Hire, Intent, Who};
use super::super::names::Known;
use super::parse;

fn intents(text: &str) -> Vec<Intent> {
    let parsed = parse(text, &mut Known::default());
    assert!(parsed.unclear.is_empty(), "{text}: {parsed:?}");
    parsed.intents
}

fn kinds(text: &str) -> Vec<&'static str> {
    intents(text).iter().map(Intent::kind).collect()
}

#[test]
fn every_example_of_the_table_asks_for_what_it_claims() {
    let source = include_str!("../lib.rs");
    let rows = source
        .lines()
        .filter_map(|line| line.strip_prefix("//! | `")?.strip_suffix(" |"));
    let mut count = 0;
    for row in rows {
        let (example, claim) = row.split_once("` | ").unwrap();
        let parsed = parse(example, &mut Known::default());
        let kinds: Vec<_> = parsed.intents.iter().map(Intent::kind).collect();
        assert_eq!(kinds.join(", "), claim, "{example}: {parsed:?}");
        assert!(parsed.unclear.is_empty(), "{example}: {parsed:?}");
        count += 1;
    }
    assert!(count > 30, "{count}");
}

fn hire(name: &str, role: &str, work: Option<&str>) -> Hire {
    Hire {
        name: name.into(),
        role: role.into(),
        work: work.map(str::to_owned),
    }
}

#[test]
fn teammates_are_named_in_many_ways() {
    let coder = || vec![Intent::Spawn(vec![hire("alice", "coder", None)])];
    for text in [
        "Spawn alice (coder)",
        "Spawn alice as a coder.",
        "spawn a coder named alice",
        "Please spawn a teammate called alice as a coder",
        "Spawn alice, a coder",
        "Spawn alice with role coder",
        "Create a teammate named alice (coder)",
        "Spawn teammate alice (role: coder)",
        "Spawn 'alice' (\"coder\")",
        "Could you spawn alice as the coder?",
        "Hire one new teammate: alice (coder)!",
    ] {
        assert_eq!(intents(text), coder(), "{text}");
    }
    assert_eq!(
        intents("Spawn three teammates: a1 (senior coder), b (y) and c (z)"),
        [Intent::Spawn(vec![
            hire("a1", "senior coder", None),
            hire("b", "y", None),
            hire("c", "z", None)
        ])]
    );
    assert_eq!(
        intents("Spawn a frontend teammate and a backend teammate"),
        [Intent::Spawn(vec![
            hire("frontend", "frontend", None),
            hire("backend", "backend", None)
        ])]
    );
    assert_eq!(
        intents("Spawn zoë with the prompt \u{201c}Read a.txt.\u{201d}"),
        [Intent::Spawn(vec![hire(
            "zoë",
            "generalist",
            Some("Read a.txt.")
        )])]
    );
    assert_eq!(
        intents("Spawn bob with a risky refactoring task"),
        [Intent::Spawn(vec![hire(
            "bob",
            "generalist",
            Some("risky refactoring")
        )])]
    );
}

#[test]
fn quotes_of_all_kinds_hold_texts_together() {
    for (open, close) in [
        ("\"", "\""),
        ("'", "'"),
        ("`", "`"),
        ("\u{201c}", "\u{201d}"),
        ("\u{2018}", "\u{2019}"),
        ("\u{ab}", "\u{bb}"),
    ] {
        let text = format!("Broadcast {open}stop. then go, and run it's ok{close} to everyone");
        assert_eq!(
            intents(&text),
            [Intent::Broadcast {
                text: "stop. then go, and run it's ok".into()
            }],
            "{text}"
        );
    }
}

#[test]
fn words_stand_for_those_named_last() {
    let shut = |names: &[&str]| Intent::Shutdown {
        who: Who::Names(names.iter().map(|&name| name.to_owned()).collect()),
    };
    for text in [
        "request her shutdown",
        "shut her down",
        "shut down alice",
        "stop Alice",
        "ask her to shut down",
        "request a shutdown of alice",
        "request alice's shutdown",
    ] {
        let all = intents(&format!("Spawn alice as a coder. Then {text}."));
        assert_eq!(all[1], shut(&["alice"]), "{text}");
    }
    let all = intents("Spawn alice and bob. Ask bob to read a.txt. Then shut them down");
    assert_eq!(all[2], shut(&["alice", "bob"]));
    let parsed = parse("Request her shutdown", &mut Known::default());
    assert_eq!(parsed.unclear, ["Request her shutdown"]);
}

#[test]
fn clauses_end_where_a_new_verb_begins() {
    assert_eq!(
        kinds(
            "Spawn alice and ask her to write hello to a.txt and run ls, then list the teammates"
        ),
        ["spawn", "delegate", "list teammates"]
    );
    let work = |intent: &Intent| match intent {
        Intent::Delegate { to, work } => (to.join(","), work.clone()),
        other => panic!("{other:?}"),
    };
    let all = intents("Have alice write hi to a.txt and bob run ls.");
    assert_eq!(work(&all[0]), ("alice".into(), "write hi to a.txt".into()));
    assert_eq!(work(&all[1]), ("bob".into(), "run ls".into()));
    let all = intents("Tell bob to read a.txt and write ok to b.txt; read c.txt");
    assert_eq!(work(&all[0]).1, "read a.txt and write ok to b.txt");
    assert_eq!(
        all[1],
        Intent::ReadFile {
            path: "c.txt".into()
        }
    );
}

#[test]
fn commands_files_and_tasks_keep_their_texts() {
    let file = |path: &str, content: &str| Intent::WriteFile {
        path: path.into(),
        content: content.into(),
    };
    assert_eq!(
        intents("write hello to test.txt"),
        [file("test.txt", "hello")]
    );
    assert_eq!(
        intents("Create a file src/a.md with the text 'two words'"),
        [file("src/a.md", "two words")]
    );
    assert_eq!(
        intents("Create a file called notes.txt containing hello world."),
        [file("notes.txt", "hello world")]
    );
    assert_eq!(
        intents("Run ls -la src/"),
        [Intent::Run {
            command: "ls -la src/".into()
        }]
    );
    assert_eq!(
        intents("Execute the command `echo \"a; b\"`"),
        [Intent::Run {
            command: "echo \"a; b\"".into()
        }]
    );
    assert_eq!(
        intents("run ./go.sh in the background"),
        [Intent::RunBackground {
            command: "./go.sh".into()
        }]
    );
    assert_eq!(
        intents("create tasks: setup project, write code and run tests"),
        [Intent::CreateTasks {
            subjects: vec![
                "setup project".into(),
                "write code".into(),
                "run tests".into()
            ],
            chained: false
        }]
    );
}

#[test]
fn reasons_and_kinds_of_files_are_kept() {
    assert_eq!(
        intents("Reject bob's plan because it lacks tests"),
        [Intent::Decide {
            from: Some("bob".into()),
            id: None,
            approve: false,
            feedback: Some("it lacks tests".into())
        }]
    );
    assert_eq!(
        intents("Read all the Python files under src"),
        [Intent::ReadEvery {
            ending: Some("py".into()),
            dir: "src".into()
        }]
    );
}

#[test]
fn what_is_not_understood_is_named() {
    let parsed = parse(
        "Prove the Riemann hypothesis. Read a.txt.",
        &mut Known::default(),
    );
    assert_eq!(parsed.unclear, ["Prove the Riemann hypothesis"]);
    assert_eq!(parsed.intents.len(), 1);
}

#[test]
fn the_speaker_and_the_shell_are_known() {
    let mut known = Known::default();
    known.speaker = Some("carl".into());
    let parsed = parse("Send me a message.", &mut known);
    assert_eq!(
        parsed.intents[0],
        Intent::Send {
            to: vec!["carl".into()],
            text: None
        }
    );
    let command = "printf '%s\\n' 'it'\\''s' >> 'b.txt'".to_owned();
    assert_eq!(
        intents("Append \"it's\" to b.txt"),
        [Intent::Run { command }]
    );
    assert_eq!(
        intents("Delete x.txt"),
        [Intent::Run {
            command: "rm -- 'x.txt'".into()
        }]
    );
    assert_eq!(
        kinds("Spawn eve. She should write hi to a.txt"),
        ["spawn", "delegate"]
    );
}

#[test]
fn lists_and_fillers_do_not_get_in_the_way() {
    assert_eq!(
        intents("Please ask alice and bob to read README.md"),
        [Intent::Delegate {
            to: vec!["alice".into(), "bob".into()],
            work: "read README.md".into()
        }]
    );
    assert_eq!(
        kinds("Spawn alice and bob, then broadcast 'hi' to everyone, and shut them both down"),
        ["spawn", "broadcast", "shutdown"]
    );
    assert_eq!(kinds("Read Cargo.toml and README.md"), ["read file"; 2]);
    assert_eq!(
        kinds("Please run the command \"ls\" and write done to out.txt"),
        ["run", "write file"]
    );
    assert_eq!(
        kinds("Have bob submit a plan, review it and reject it"),
        ["delegate", "await plan", "reject plan"]
    );
    for text in [
        "Create 2 tasks: A, B in order",
        "Create 2 tasks: 'A', 'B' in that order",
    ] {
        let subjects = vec!["A".into(), "B".into()];
        let chained = true;
        assert_eq!(intents(text), [Intent::CreateTasks { subjects, chained }]);
    }
}
