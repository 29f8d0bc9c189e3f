//! Whatever can be stored can be read again, and whatever was written is kept, known or not.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod values;

use proptest::prelude::*;
use protocol::{
    Activity, DeadLetter, Event, EventLine, FORMAT_VERSION, Holder, JournalLine, Line, LiveState,
    Member, Request, RequestFile, Roster, Task, TaskHistory, Timestamp, decode_line, salvage,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use std::fmt::Debug;

/// Encodes and decodes a value and expects the same.
fn assert_same<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T) {
    let text = serde_json::to_string(value).unwrap();
    let again: T = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in {text}"));
    assert_eq!(&again, value);
}

/// Decodes an object with fields nobody knows, encodes it, and expects all that was there.
fn assert_kept<T: Serialize + DeserializeOwned>(mut object: Map<String, Value>, extra: Extra) {
    object.extend(extra);
    let value: T = serde_json::from_value(object.clone().into()).unwrap();
    let again = serde_json::to_value(&value).unwrap();
    for (key, value) in object {
        assert_eq!(again.get(&key), Some(&value), "field {key:?}");
    }
}

type Extra = protocol::Extra;

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        other => panic!("{other} is no object"),
    }
}

proptest! {
    #[test]
    fn messages_come_back_as_they_were_sent(message in values::message()) {
        let line = message.to_line();
        prop_assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
        let text = line.strip_suffix(b"\n").unwrap();
        prop_assert_eq!(decode_line(text), Line::Message(message));
    }

    #[test]
    fn a_message_keeps_fields_of_other_types(
        message in values::message(),
        leftovers in values::leftovers(),
    ) {
        let own = object(serde_json::to_value(&message).unwrap());
        let mut message = message;
        message.extra.extend(leftovers.into_iter().filter(|(key, _)| !own.contains_key(key)));
        let line = message.to_line();
        prop_assert_eq!(decode_line(&line), Line::Message(message));
    }

    #[test]
    fn rosters_come_back(roster in values::roster()) {
        assert_same(&roster);
    }

    #[test]
    fn tasks_come_back(task in values::task()) {
        assert_same(&task);
    }

    #[test]
    fn requests_come_back(request in values::request()) {
        let file = RequestFile::from(request.clone());
        assert_same(&file);
        prop_assert_eq!(Request::try_from(file).unwrap(), request);
    }

    #[test]
    fn what_a_member_says_of_itself_comes_back(
        holder in values::holder(),
        live in values::live_state(),
    ) {
        assert_same(&holder);
        assert_same(&live);
    }

    #[test]
    fn dead_letters_come_back(dead in values::dead_letter()) {
        assert_same(&dead);
    }

    #[test]
    fn unknown_fields_survive_everywhere(extra in values::extra()) {
        let cases = [
            json!({"members": [], "team_name": "t"}),
            json!({"name": "alice"}),
            json!({"id": 1, "subject": "s"}),
            json!({"at": 1.5, "by": "lead", "action": "created"}),
            json!({"request_id": "a", "kind": "shutdown", "from": "lead", "to": "bob",
                   "status": "pending", "created_at": 1.5}),
            json!({"pid": 1, "start_time": 2}),
            json!({"incarnation": 1, "phase": "idle", "since": 1.5}),
            json!({"name": "bash", "since": 1.5}),
            json!({"id": "a/1/0", "time": 1.5, "inbox": "alice", "reason": "r"}),
        ];
        let [roster, member, task, history, request, holder, live, activity, dead] =
            cases.map(object);
        assert_kept::<Roster>(roster, extra.clone());
        assert_kept::<Member>(member, extra.clone());
        assert_kept::<Task>(task, extra.clone());
        assert_kept::<TaskHistory>(history, extra.clone());
        assert_kept::<RequestFile>(request, extra.clone());
        assert_kept::<Holder>(holder, extra.clone());
        assert_kept::<LiveState>(live, extra.clone());
        assert_kept::<Activity>(activity, extra.clone());
        assert_kept::<DeadLetter>(dead, extra);
    }

    #[test]
    fn unknown_fields_of_a_request_survive_its_resolution(
        request in values::request(),
        extra in values::extra(),
    ) {
        let with_extra = Request { extra: extra.clone(), ..request };
        let file = serde_json::to_value(RequestFile::from(with_extra)).unwrap();
        let file: RequestFile = serde_json::from_value(file).unwrap();
        prop_assert_eq!(Request::try_from(file).unwrap().extra, extra);
    }

    #[test]
    fn no_bytes_make_decoding_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        decode_everything(&bytes);
    }

    #[test]
    fn no_damage_to_a_message_makes_decoding_panic(
        message in values::message(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        cut in any::<bool>(),
    ) {
        let mut line = message.to_line().to_vec();
        let at = at.index(line.len());
        line[at] = byte;
        line.truncate(if cut { at } else { line.len() });
        decode_everything(&line);
    }

    #[test]
    fn inv_08_a_torn_line_never_damages_the_next(
        torn in values::message(),
        next in values::message(),
        at in any::<prop::sample::Index>(),
    ) {
        let torn = torn.to_line();
        // At least the opening bracket, at most all but the closing one.
        let keep = 1 + at.index(torn.len() - 2);
        let mut glued = torn.get(..keep).unwrap().to_vec();
        let next_line = next.to_line();
        glued.extend_from_slice(&next_line);
        let found = salvage(&glued).map(|at| decode_line(glued.get(at..).unwrap()));
        prop_assert_eq!(found, Some(Line::Message(next)));
    }

    #[test]
    fn times_are_kept_to_the_microsecond(time in values::time()) {
        assert_same(&time);
    }

    #[test]
    fn a_newer_version_is_refused_by_both_numbers(version in FORMAT_VERSION + 1..) {
        let text = json!({"version": version, "members": []}).to_string();
        let error = serde_json::from_str::<Roster>(&text).unwrap_err().to_string();
        prop_assert!(error.contains(&format!("version {version} ")), "{}", error);
        prop_assert!(error.contains(&format!("version {FORMAT_VERSION},")), "{}", error);
        prop_assert!(error.contains("`version`"), "{}", error);
    }
}

/// Tries every decoder of single lines.
fn decode_everything(bytes: &[u8]) {
    let _ = decode_line(bytes);
    let _ = salvage(bytes);
    if let JournalLine::Known(record) = JournalLine::decode(bytes) {
        serde_json::to_string(&record).unwrap();
    }
    if let EventLine::Known(event) = EventLine::decode(bytes) {
        let Event { .. } = event;
    }
}

#[test]
fn times_that_are_no_times_are_refused() {
    for text in ["9e99", "-9e99", "\"1763251200\"", "null", "true"] {
        assert!(serde_json::from_str::<Timestamp>(text).is_err(), "{text}");
    }
    let whole: Timestamp = serde_json::from_str("1763251200").unwrap();
    assert_eq!(whole, Timestamp::from_secs(1_763_251_200));
}

#[test]
fn a_roster_without_a_version_is_of_the_first() {
    let roster: Roster = serde_json::from_str("{}").unwrap();
    assert_eq!(roster, Roster::default());
    assert_eq!(roster.version.get(), 1);
}

#[test]
fn null_means_absent() {
    let text = r#"{"name":"bob","role":null,"model":null,"incarnation":null,"status":null}"#;
    let member: Member = serde_json::from_str(text).unwrap();
    assert_eq!(member, Member::new("bob".parse().unwrap(), ""));
}

#[test]
fn errors_name_the_field() {
    fn refused<T: DeserializeOwned + Debug>(value: &Value, field: &str) {
        let text = value.to_string();
        let error = serde_json::from_str::<T>(&text).unwrap_err().to_string();
        assert!(error.contains(&format!("`{field}`")), "{error} for {text}");
    }
    refused::<Member>(&json!({"role": "coder"}), "name");
    refused::<Member>(&json!({"name": "../x"}), "name");
    refused::<Member>(&json!({"name": "bob", "incarnation": -1}), "incarnation");
    refused::<Member>(&json!({"name": "bob", "restart": 5}), "restart");
    refused::<Roster>(&json!({"members": {}}), "members");
    refused::<Roster>(&json!({"members": [{"name": "lead"}]}), "members");
    refused::<Task>(&json!({"id": 1}), "subject");
    refused::<Task>(
        &json!({"id": 1, "subject": "s", "priority": 11}),
        "priority",
    );
    refused::<Task>(&json!({"id": 1, "subject": "s", "owner": "a b"}), "owner");
    refused::<Task>(
        &json!({"id": 1, "subject": "s", "blockedBy": ["2"]}),
        "blockedBy",
    );
    refused::<Holder>(&json!({"pid": 1}), "start_time");
    refused::<LiveState>(&json!({"incarnation": 1, "phase": "dreaming"}), "phase");
    refused::<RequestFile>(&json!({"request_id": "a.b"}), "request_id");
    refused::<RequestFile>(&json!({"request_id": "a", "kind": "party"}), "kind");
    refused::<DeadLetter>(&json!({"id": "x", "time": "now"}), "time");
}

#[test]
fn a_request_that_contradicts_itself_names_what_is_missing() {
    let base = json!({"request_id": "a", "from": "alice", "to": "lead", "created_at": 1.5});
    for (kind, status, field) in [
        ("plan", "pending", "plan"),
        ("shutdown", "approved", "resolved_by"),
        ("shutdown", "expired", "resolved_at"),
    ] {
        let mut value = base.clone();
        value["kind"] = kind.into();
        value["status"] = status.into();
        let file: RequestFile = serde_json::from_value(value).unwrap();
        let error = Request::try_from(file).unwrap_err().to_string();
        assert!(error.contains(&format!("`{field}`")), "{error}");
    }
}
