//! Commands in a confinement, at whatever level this machine has.

use sandbox::Level;
use serde_json::json;
use tools::CommandAccess;

use crate::bench::{Bench, confined};

fn level(bench: &Bench) -> Level {
    bench.context.confinement.as_ref().unwrap().level()
}

#[test]
fn a_command_gets_listed_variables_alone_at_every_level() {
    for has_sandbox in [true, false] {
        let bench = confined(has_sandbox);
        let text = bench.works("bash", json!({"command": "env | cut -d= -f1"}));
        // Cargo sets it for each test.
        assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
        assert!(!text.contains("CARGO_MANIFEST_DIR"), "{text}");
        let names: Vec<&str> = text.lines().collect();
        for name in ["PATH", "TEAM_JOB", "TEAM_SANDBOX_LEVEL"] {
            assert!(names.contains(&name), "{text}");
        }
    }
}

#[test]
fn a_refusal_of_the_sandbox_is_remarked_and_other_failures_are_not() {
    let bench = confined(true);
    bench.file("control.toml", "before");
    if level(&bench) == Level::None {
        return;
    }
    let text = bench.fails("bash", json!({"command": "echo x > /etc/x"}));
    assert!(
        text.contains("if this was because of the sandbox"),
        "{text}"
    );
    assert!(
        text.ends_with("A person can allow more: open the door]"),
        "{text}"
    );
    let text = bench.fails("bash", json!({"command": "exit 3"}));
    assert_eq!(text, "[exit status 3]");
    let text = bench.works("bash", json!({"command": "echo Permission denied"}));
    assert_eq!(text, "Permission denied");
    if level(&bench) == Level::Full {
        let text = bench.fails("bash", json!({"command": "echo x > control.toml"}));
        assert!(
            text.contains("except for control files such as control.toml"),
            "{text}"
        );
    }
}

#[test]
fn a_call_that_may_only_read_changes_nothing_or_is_not_made() {
    let mut bench = confined(true);
    bench.context.access = CommandAccess::ReadOnly.into();
    if level(&bench) == Level::Full {
        let text = bench.fails("bash", json!({"command": "touch new"}));
        assert!(text.contains("no network, until noon]"), "{text}");
        bench.works("bash", json!({"command": "touch /tmp/new"}));
    }
    let without = confined(false).context.confinement.clone();
    for confinement in [without, None] {
        bench.context.confinement = confinement;
        let text = bench.fails("bash", json!({"command": "touch new"}));
        assert!(text.contains("was not run"), "{text}");
    }
    assert!(!bench.root().join("new").exists());
}

#[test]
fn names_that_other_programs_trust_are_told() {
    let bench = confined(true);
    if level(&bench) == Level::None {
        return;
    }
    let text = bench.works("bash", json!({"command": "echo x > .envrc"}));
    assert!(text.contains(".envrc.from-sandbox.1]"), "{text}");
    assert!(!bench.root().join(".envrc").exists());
}
