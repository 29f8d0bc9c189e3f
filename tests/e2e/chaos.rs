//! Half a minute of faults, after which the ledger must balance. `TEAM_TEST=long` makes it ten minutes.

use chaos::{Programs, Setup};
use std::sync::Arc;
use std::time::Duration;

#[test]
fn chaos_loses_nothing_repeats_nothing_and_leaves_nothing() {
    let is_long = std::env::var_os("TEAM_TEST").is_some_and(|value| value == "long");
    let minutes = if is_long { 10.0 } else { 0.5 };
    let setup = Setup {
        programs: Programs {
            lead: env!("CARGO_BIN_EXE_team-lead").into(),
            teammate: env!("CARGO_BIN_EXE_teammate").into(),
        },
        members: 8,
        time: Duration::from_secs_f64(minutes * 60.0),
        seed: 60,
        dir: None,
        stop: Arc::default(),
    };
    // Shown if the test fails.
    let say = |text: &str| eprintln!("{text}");
    let outcome = chaos::run(&setup, &say).expect("the run can be set up");
    let (ledger, kept) = (&outcome.ledger, &outcome.kept);
    assert!(
        ledger.is_balanced(),
        "scripts/chaos --minutes {minutes} --members 8 --seed 60\n{ledger}\nkept in {kept:?}"
    );
    // There were faults, and there was work.
    assert!(ledger.faults.members_killed > 5, "{ledger}");
    assert!(ledger.messages.sent > 20, "{ledger}");
    assert!(ledger.tasks.once > 0, "{ledger}");
}
