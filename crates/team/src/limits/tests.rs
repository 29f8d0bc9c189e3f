use super::*;
use crate::{broadcast, send};
use protocol::{AgentName, Incarnation, MemberStatus};
use teamdir::{Options, RosterError};
use test_support::TempTeam;

fn recipient(name: &str) -> Recipient {
    name.parse().unwrap()
}

fn agent(name: &str) -> Actor {
    Actor::member(AgentName::new(name).unwrap(), Incarnation(1))
}

fn team(limits: TeamLimits) -> TempTeam {
    let temp = TempTeam::new(&["alice", "bob", "carol"], Options::default());
    temp.team().set_limits(&limits).unwrap();
    let working = temp.team().update_roster(|roster| {
        for member in &mut roster.members {
            member.status = MemberStatus::Idle;
        }
        Ok::<_, RosterError>(())
    });
    working.unwrap();
    temp
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_secs(1_000_000 + seconds)
}

#[test]
fn a_ping_pong_is_stopped_and_may_continue_after_a_minute() {
    let mut traffic = Traffic::default();
    let (alice, bob) = (recipient("alice"), recipient("bob"));
    for second in 0..4 {
        let (from, to) = if second % 2 == 0 {
            (&alice, &bob)
        } else {
            (&bob, &alice)
        };
        assert_eq!(count(&mut traffic, from, to, 4, at(second)), Count::Counted);
    }
    let stopped = Count::Stopped {
        until: at(64),
        stop: 1,
        notified: false,
    };
    assert_eq!(count(&mut traffic, &alice, &bob, 4, at(4)), stopped);
    assert_eq!(count(&mut traffic, &bob, &alice, 4, at(63)), stopped);
    // Other pairs are not affected.
    assert_eq!(
        count(&mut traffic, &alice, &recipient("carol"), 4, at(5)),
        Count::Counted
    );
    assert_eq!(count(&mut traffic, &bob, &alice, 4, at(64)), Count::Counted);
    assert_eq!(traffic.stops, 1);
}

#[test]
fn a_slow_conversation_is_never_stopped_and_its_count_is_dropped() {
    let mut traffic = Traffic::default();
    let (alice, bob) = (recipient("alice"), recipient("bob"));
    for minute in 0..100 {
        let when = at(minute * 20);
        assert_eq!(count(&mut traffic, &alice, &bob, 4, when), Count::Counted);
        assert!(traffic.pairs[0].sent.len() <= 4);
    }
    drop_expired(&mut traffic, at(100 * 20 + 60));
    assert!(traffic.pairs.is_empty());
}

#[test]
fn a_stop_ends_when_the_clock_is_set_back() {
    let mut traffic = Traffic::default();
    let (alice, bob) = (recipient("alice"), recipient("bob"));
    count(&mut traffic, &alice, &bob, 0, at(100_000));
    assert!(traffic.pairs[0].stopped_until.is_some());
    assert_eq!(count(&mut traffic, &alice, &bob, 1, at(0)), Count::Counted);
}

#[test]
fn the_lead_is_notified_once_and_a_reset_lifts_the_stop() {
    let temp = team(TeamLimits {
        messages_per_minute: Some(3),
        ..TeamLimits::default()
    });
    let team = temp.team();
    for _ in 0..3 {
        send(team, &agent("alice"), recipient("bob"), "ping").unwrap();
    }
    // The same member, however its name is spelled.
    for sender in ["alice", "Alice"] {
        let error = send(team, &agent(sender), recipient("BOB"), "ping").unwrap_err();
        assert!(
            error.to_string().contains("exchanged 3 messages"),
            "{error}"
        );
    }
    send(team, &agent("bob"), recipient("alice"), "pong").unwrap_err();
    send(team, &agent("bob"), recipient("carol"), "hello").unwrap();
    assert_eq!(temp.unread(&recipient("bob")), 3);
    assert_eq!(temp.unread(&Recipient::Lead), 1);
    // A person is never stopped.
    send(team, &Actor::user(), recipient("bob"), "stop that").unwrap();
    let stopped = reset_traffic(team).unwrap();
    assert_eq!(stopped, [(recipient("alice"), recipient("bob"))]);
    send(team, &agent("bob"), recipient("alice"), "pong").unwrap();
}

#[test]
fn a_broadcast_counts_for_each_recipient_and_reaches_those_within_the_limit() {
    let temp = team(TeamLimits {
        messages_per_minute: Some(1),
        ..TeamLimits::default()
    });
    let team = temp.team();
    send(team, &agent("alice"), recipient("bob"), "hello").unwrap();
    let error = broadcast(team, &agent("alice"), "all").unwrap_err();
    assert!(
        matches!(error, LimitedSendError::TooOften { .. }),
        "{error}"
    );
    assert_eq!(temp.unread(&recipient("carol")), 1);
    assert_eq!(temp.unread(&recipient("bob")), 1);
}

#[test]
fn long_messages_and_full_inboxes_are_refused_to_agents_alone() {
    let temp = team(TeamLimits {
        message_bytes: Some(10),
        inbox_bytes: Some(1),
        ..TeamLimits::default()
    });
    let team = temp.team();
    let error = send(team, &agent("alice"), recipient("bob"), "eleven byte").unwrap_err();
    assert!(
        error.to_string().contains("11 bytes, more than the 10"),
        "{error}"
    );
    send(team, &agent("alice"), recipient("bob"), "hello").unwrap();
    let error = send(team, &agent("alice"), recipient("bob"), "hello").unwrap_err();
    assert!(
        matches!(error, LimitedSendError::InboxFull { .. }),
        "{error}"
    );
    send(
        team,
        &Actor::user(),
        recipient("bob"),
        "more than ten bytes",
    )
    .unwrap();
    assert_eq!(temp.unread(&recipient("bob")), 2);
}

#[test]
fn a_message_to_an_unknown_recipient_is_not_counted() {
    let temp = team(TeamLimits::default());
    let error = send(temp.team(), &agent("alice"), recipient("dave"), "hello").unwrap_err();
    assert!(
        matches!(
            error,
            LimitedSendError::Send(SendError::UnknownRecipient { .. })
        ),
        "{error}"
    );
    assert_eq!(temp.team().traffic().unwrap(), Traffic::default());
}
