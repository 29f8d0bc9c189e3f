use super::*;
use protocol::{AgentName, Incarnation, Recipient, RequestId, RequestStatus, decode_line};
use std::time::Duration;
use team::{Actor, ShutdownOptions, ask_shutdown};
use teamdir::{MemberGuard, Options};
use test_support::TempTeam;

fn mail_handler(temp: &TempTeam) -> LeadMailHandler {
    LeadMailHandler {
        team: temp.team().clone(),
        writer: ConsoleWriter::silent(),
    }
}

/// A team with a living alice whose shutdown the lead has asked for.
fn asked(lead_leaves: bool) -> (TempTeam, MemberGuard, RequestId) {
    let temp = TempTeam::new(&["alice", "bob"], Options::default());
    let alice: Recipient = "alice".parse().unwrap();
    let guard = temp.team().join(&alice).unwrap();
    let wish = ShutdownOptions {
        to: AgentName::new("alice").unwrap(),
        reason: String::new(),
        timeout: Duration::from_secs(600),
        force: false,
        lead_leaves,
    };
    let lead = Actor::lead(Incarnation(4));
    let request = ask_shutdown(temp.team(), &lead, &wish, guard.incarnation()).unwrap();
    (temp, guard, request.id)
}

fn answer(from: &str, id: &RequestId) -> Message {
    let line = format!(
        r#"{{"type":"shutdown_response","from":"{from}","from_incarnation":1,"request_id":"{id}","approve":true,"reason":"fine","content":""}}"#
    );
    match decode_line(line.as_bytes()) {
        Line::Message(message) => message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_answer_counts_before_the_model_sees_it() {
    let (temp, _guard, id) = asked(false);
    let mut mail_handler = mail_handler(&temp);
    let forged = mail_handler.handle(&answer("bob", &id));
    assert!(
        matches!(&forged, Treatment::ShowWith(remark) if remark.contains("no effect")),
        "{forged:?}"
    );
    let status = || temp.team().request(&id).unwrap().status();
    assert_eq!(status(), RequestStatus::Pending);
    assert_eq!(mail_handler.handle(&answer("alice", &id)), Treatment::Show);
    assert_eq!(status(), RequestStatus::Approved);
    // The next incarnation handles pending mail again.
    assert_eq!(mail_handler.handle(&answer("alice", &id)), Treatment::Show);
}

#[test]
fn what_a_lead_asked_when_it_left_is_no_news() {
    let (temp, _guard, id) = asked(true);
    assert_eq!(
        mail_handler(&temp).handle(&answer("alice", &id)),
        Treatment::Hide
    );
    let status = temp.team().request(&id).unwrap().status();
    assert_eq!(status, RequestStatus::Approved);
}

#[test]
fn an_answer_to_nothing_is_shown_as_such() {
    let temp = TempTeam::new(&["alice"], Options::default());
    let id = "1a2b3c4d".parse().unwrap();
    let treatment = mail_handler(&temp).handle(&answer("alice", &id));
    assert!(
        matches!(&treatment, Treatment::ShowWith(remark) if remark.contains("no request 1a2b3c4d")),
        "{treatment:?}"
    );
}

#[test]
fn a_plan_that_came_by_mail_alone_can_be_decided() {
    let temp = TempTeam::new(&["alice"], Options::default());
    let line = r#"{"type":"plan_approval_request","from":"alice","request_id":"1a2b3c4d","plan":"Rewrite it."}"#;
    let Line::Message(message) = decode_line(line.as_bytes()) else {
        panic!("no message");
    };
    assert_eq!(mail_handler(&temp).handle(&message), Treatment::Show);
    let request = temp.team().request(&"1a2b3c4d".parse().unwrap()).unwrap();
    assert_eq!(request.status(), RequestStatus::Pending);
}

fn item(line: &str, shown: bool) -> MailItem {
    MailItem {
        number: 1,
        line: decode_line(line.as_bytes()),
        shown,
        remark: None,
    }
}

#[test]
fn only_what_matters_wakes_the_lead() {
    let waking = [
        r#"{"type":"message","from":"alice","content":"hi"}"#,
        r#"{"type":"idle_notification","from":"alice","content":"done"}"#,
        r#"{"type":"notice","from":"system","id":"death/alice/3","cause":"death","content":"alice died"}"#,
        r#"{"type":"poke","from":"carol"}"#,
        "words typed into the file",
    ];
    for line in waking {
        assert!(wakes(&item(line, true)), "{line}");
        assert!(!wakes(&item(line, false)), "{line}");
    }
    let notice = r#"{"type":"notice","from":"system","id":"other/1","content":"by the way"}"#;
    for line in [notice, "{broken", ""] {
        assert!(!wakes(&item(line, true)), "{line}");
    }
}
