//! A minute of chaos, and a ledger that balances.

use chaos::{Programs, Setup};
use std::sync::Arc;
use std::time::Duration;

#[test]
fn a_minute_of_chaos_loses_nothing_repeats_nothing_and_leaves_nothing() {
    let setup = Setup {
        programs: Programs {
            lead: env!("CARGO_BIN_EXE_team-lead").into(),
            teammate: env!("CARGO_BIN_EXE_teammate").into(),
        },
        members: 8,
        time: Duration::from_secs(60),
        seed: 60,
        dir: None,
        stop: Arc::default(),
    };
    // The last words are shown with a failure.
    let say = |words: &str| eprintln!("{words}");
    let outcome = chaos::run(&setup, &say).expect("the run takes place");
    let (ledger, kept) = (&outcome.ledger, &outcome.kept);
    assert!(
        ledger.is_balanced(),
        "scripts/chaos --members 8 --seed 60\n{ledger}\nkept in {kept:?}"
    );
    // It was chaos, and there was work in it.
    assert!(ledger.blows.members_killed > 5, "{ledger}");
    assert!(ledger.messages.sent > 20, "{ledger}");
    assert!(ledger.tasks.once > 0, "{ledger}");
}
