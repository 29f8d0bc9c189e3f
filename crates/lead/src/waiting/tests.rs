use super::*;
use protocol::{Extra, Incarnation, Party, PermissionAsk, QuestionAsk, Recipient, Timestamp};
use serde_json::json;

fn request(id: &str, subject: Subject) -> Request {
    Request {
        id: RequestId::new(id).unwrap(),
        from: "alice".parse::<Party>().unwrap(),
        to: Recipient::Lead,
        from_incarnation: Some(Incarnation(1)),
        to_incarnation: None,
        created_at: Timestamp::from_secs(1),
        deadline: None,
        notified_at: None,
        subject,
        state: RequestState::Pending,
        ignored: Vec::new(),
        host: None,
        sent: None,
        refused: None,
        extra: Extra::new(),
    }
}

fn permission(id: &str) -> Request {
    request(
        id,
        Subject::Permission(PermissionAsk {
            tool: "bash".to_owned(),
            arguments: json!({"command": "npm install"}),
            call_hash: "h".to_owned(),
            cwd: String::new(),
            why: "it needs the network".to_owned(),
            grants: Some("Network(=npm install)".to_owned()),
            lead_decides: false,
        }),
    )
}

#[test]
fn one_request_is_shown_at_a_time_and_again_only_if_asked_for() {
    let mut waiting = Waiting::default();
    let both = [permission("10000001"), permission("10000002")];
    let (shown, offered) = waiting.update(&both).next.unwrap();
    let text = shown.text();
    assert!(
        text.contains("alice asks to run (10000001, and 1 more wait):"),
        "{text}"
    );
    assert!(
        text.contains("npm install") && text.contains("it needs the network"),
        "{text}"
    );
    assert!(
        text.ends_with("[n] no, with a reason  [l] show all"),
        "{text}"
    );
    let keys: String = offered.keys.iter().map(|offered| offered.key).collect();
    assert_eq!(keys, "ymtnl");
    assert_eq!(waiting.update(&both), Change::default());
    waiting.show_again();
    assert_eq!(waiting.update(&both).next.unwrap().1, offered);
    // Somebody else was faster.
    let change = waiting.update(&both[1..]);
    assert_eq!(change.ended, Some(offered.id));
    let next = change.next.unwrap().1.id;
    assert_eq!(next, both[1].id);
    waiting.answered(&next);
    assert_eq!(waiting.update(&[]), Change::default());
}

#[test]
fn a_question_offers_its_choices_and_a_reply() {
    let ask = QuestionAsk {
        question: "Which port?".to_owned(),
        choices: vec!["80".to_owned(), "8080".to_owned()],
        free_text: true,
        call_hash: "h".to_owned(),
        lead_decides: false,
    };
    let question = request("10000003", Subject::Question(ask));
    let (shown, offered) = Waiting::default().update(&[question]).next.unwrap();
    let text = shown.text();
    assert!(
        text.contains("2. 8080") && text.contains("[1-2] choose"),
        "{text}"
    );
    let keys: String = offered.keys.iter().map(|offered| offered.key).collect();
    assert_eq!(keys, "12rnl");
    let second = Said::of('2', String::new());
    let expected = Said::Answer {
        approve: true,
        text: "2".to_owned(),
        scope: None,
    };
    assert_eq!(second, expected);
}
