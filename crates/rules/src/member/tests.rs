//! The state of a member, fact by fact.

use super::*;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_secs(seconds)
}

fn holder(incarnation: u64) -> Holder {
    let text = format!(r#"{{"pid":1,"start_time":2,"incarnation":{incarnation},"since":10}}"#);
    serde_json::from_str(&text).unwrap()
}

fn live(incarnation: u64, phase: Phase) -> LiveState {
    LiveState::new(Incarnation(incarnation), phase, at(20))
}

/// The state of incarnation 3 of a member at second 30, which is hung after 60 s of silence.
fn state(holder: Option<&Holder>, live: Option<&LiveState>, word: &MemberStatus) -> MemberState {
    state_at(30, holder, live, word)
}

fn state_at(
    now: i64,
    holder: Option<&Holder>,
    live: Option<&LiveState>,
    word: &MemberStatus,
) -> MemberState {
    member_state(&Facts {
        lock_held: holder.is_some(),
        holder,
        live,
        roster_status: word,
        roster_incarnation: Incarnation(3),
        gave_up: None,
        now: at(now),
        silent_after: Duration::from_secs(60),
    })
}

#[test]
fn the_lock_overrides_the_status_in_the_roster() {
    for word in [
        MemberStatus::Working,
        MemberStatus::Idle,
        MemberStatus::Other("busy".into()),
    ] {
        let dead = state(None, Some(&live(3, Phase::Working)), &word);
        let incarnation = Incarnation(3);
        assert_eq!(dead, MemberState::Dead { incarnation });
        assert!(!dead.is_alive());
    }
    let alive = state(
        Some(&holder(3)),
        Some(&live(3, Phase::Idle)),
        &MemberStatus::Shutdown,
    );
    assert_eq!(alive, MemberState::Idle { since: at(20) });
}

#[test]
fn without_a_lock_shutdown_and_never_run_are_shutdown() {
    assert_eq!(
        state(None, None, &MemberStatus::Shutdown),
        MemberState::Shutdown
    );
    let never = member_state(&Facts {
        lock_held: false,
        holder: None,
        live: None,
        roster_status: &MemberStatus::Working,
        roster_incarnation: Incarnation(0),
        gave_up: Some("it never ran"),
        now: at(0),
        silent_after: Duration::from_secs(60),
    });
    assert_eq!(never, MemberState::Shutdown);
}

#[test]
fn a_dead_member_whose_policy_gave_up_has_failed_and_a_running_one_has_not() {
    let (holder, live) = (holder(3), live(3, Phase::Idle));
    let facts = |lock_held: bool, roster_status: &'static MemberStatus| {
        member_state(&Facts {
            lock_held,
            holder: Some(&holder),
            live: Some(&live),
            roster_status,
            roster_incarnation: Incarnation(3),
            gave_up: Some("too many deaths"),
            now: at(30),
            silent_after: Duration::from_secs(60),
        })
    };
    let gave_up = facts(false, &MemberStatus::Working);
    let reason = "too many deaths".to_owned();
    assert_eq!(gave_up, MemberState::GaveUp { reason });
    assert_eq!((gave_up.word(), gave_up.is_alive()), ("failed", false));
    assert_eq!(facts(true, &MemberStatus::Working).word(), "idle");
    assert_eq!(facts(false, &MemberStatus::Shutdown).word(), "shutdown");
}

#[test]
fn the_live_state_of_an_earlier_incarnation_is_ignored() {
    let old = live(2, Phase::Failed);
    let word = MemberStatus::Working;
    let starting = state(Some(&holder(3)), Some(&old), &word);
    let since = Some(at(10));
    assert_eq!(starting, MemberState::Starting { since });
    assert_eq!(state(Some(&holder(3)), None, &word), starting);
}

#[test]
fn each_phase_has_its_state() {
    let phases = [
        (Phase::Starting, "starting"),
        (Phase::Working, "working"),
        (Phase::Waiting, "waiting"),
        (Phase::Idle, "idle"),
        (Phase::Failed, "failed"),
        (Phase::Shutdown, "working"),
    ];
    for (phase, word) in phases {
        let shown = state(
            Some(&holder(3)),
            Some(&live(3, phase)),
            &MemberStatus::Working,
        );
        assert_eq!(shown.to_string(), word);
        assert!(shown.is_alive());
    }
}

#[test]
fn a_silent_working_member_is_hung_and_a_silent_idle_one_is_not() {
    let mut working = live(3, Phase::Working);
    let word = MemberStatus::Working;
    let hung = state_at(80, Some(&holder(3)), Some(&working), &word);
    assert_eq!(
        hung,
        MemberState::Hung {
            silent_for: Duration::from_secs(60),
            activity: None
        }
    );
    working.progress_at = Some(at(50));
    let shown = state_at(80, Some(&holder(3)), Some(&working), &word);
    assert_eq!(shown.word(), "working");
    for phase in [Phase::Idle, Phase::Waiting, Phase::Failed] {
        let shown = state_at(9999, Some(&holder(3)), Some(&live(3, phase)), &word);
        assert_ne!(shown.word(), "hung");
    }
    let never_ready = state_at(9999, Some(&holder(3)), None, &word);
    assert_eq!(never_ready.word(), "hung");
}
