use super::*;
use std::fs::OpenOptions;
use teamdir::Options;
use test_support::TempTeam;
use tracing::{debug, info, trace, warn};

/// What the log says after `write` has run under these options.
fn logged(options: &LogOptions, write: impl FnOnce()) -> String {
    let temp = TempTeam::new(&[], Options::default());
    let file = temp.team().open_log(&Recipient::Lead).unwrap();
    let output = LogOutput::file(Some(file), false);
    tracing::subscriber::with_default(subscriber(options, output), write);
    let path = temp.team().layout().member_log(&Recipient::Lead);
    std::fs::read_to_string(path).unwrap()
}

fn filter(text: &str) -> LogOptions {
    LogOptions {
        filter: text.parse().unwrap(),
        ..LogOptions::default()
    }
}

/// The lines without their times.
fn texts(log: &str) -> Vec<&str> {
    log.lines().filter_map(|line| line.get(9..)).collect()
}

#[test]
fn a_line_has_a_time_and_a_level_only_if_it_is_not_info() {
    let log = logged(&LogOptions::default(), || {
        info!("alice is ready");
        warn!("the report was not sent: {}", "disk full");
        debug!("hidden");
    });
    assert_eq!(
        texts(&log),
        ["alice is ready", "WARN the report was not sent: disk full"]
    );
    let time = log.get(..8).unwrap();
    assert!(
        time.chars().all(|c| c.is_ascii_digit() || c == ':'),
        "{time}"
    );
}

#[test]
fn a_terminal_does_not_act_on_the_text_of_a_model() {
    let log = logged(&LogOptions::default(), || {
        info!("one\u{1b}[2J\u{7}\ntwo\r\u{9b}31m\tthree");
        info!(tool = "\u{1b}]0;title\u{7}", "four");
    });
    let expected =
        "one\u{fffd}[2J\u{fffd}\ntwo\u{fffd}\u{fffd}31m\tthree\nfour tool=\u{fffd}]0;title\u{fffd}";
    assert_eq!(texts(&log).join("\n"), expected);
}

#[test]
fn a_filter_has_levels_per_crate() {
    let write = || {
        debug!(target: "team::mail", "one");
        trace!(target: "team::mail", "two");
        trace!(target: "llm::client", "three");
        info!(target: "agent", "four");
    };
    let log = logged(&filter("team=debug,llm=trace"), write);
    let expected = ["DEBUG team::mail: one", "TRACE llm::client: three"];
    assert_eq!(texts(&log), expected);
    assert_eq!(texts(&logged(&filter("warn"), write)), [""; 0]);
    assert_eq!(texts(&logged(&filter("trace"), write)).len(), 4);
    for (times, lines) in [(0, 1), (1, 2), (2, 4)] {
        let options = LogOptions {
            filter: LogFilter::verbose(times),
            ..LogOptions::default()
        };
        assert_eq!(texts(&logged(&options, write)).len(), lines, "{times}");
    }
    for wrong in ["llm=loud", "debugg", "hyper=trace"] {
        let error = LogFilter::from_str(wrong).unwrap_err();
        assert!(
            error.to_string().contains("team=debug,llm=trace"),
            "{error}"
        );
    }
    assert_eq!("json".parse(), Ok(LogFormat::Json));
    assert!(
        LogFormat::from_str("yaml")
            .unwrap_err()
            .to_string()
            .contains("human or json")
    );
}

/// A library that sends requests could log their headers, and with them a key.
#[test]
fn other_crates_are_never_logged() {
    let log = logged(&filter("trace"), || {
        info!(target: "hyper::proto", key = "sk-secret", "sent");
        trace!(target: "h2::codec", "x-api-key: sk-secret");
        let span = tracing::info_span!(target: "reqwest", "request", key = "sk-secret");
        span.in_scope(|| debug!(target: "llm", "asked"));
    });
    assert_eq!(texts(&log), ["DEBUG llm: asked"]);
}

#[test]
fn spans_say_where_an_event_comes_from() {
    let write = || {
        let incarnation = tracing::info_span!("incarnation", member = "alice", n = 2);
        incarnation.in_scope(|| {
            let turn = tracing::info_span!("turn", n = 7);
            turn.in_scope(|| debug!(target: "agent", millis = 5, "asked"));
        });
    };
    let log = logged(&filter("debug"), write);
    let expected = "DEBUG agent incarnation{member=\"alice\" n=2} turn{n=7}: asked millis=5";
    assert_eq!(texts(&log), [expected]);
    let options = LogOptions {
        format: LogFormat::Json,
        ..filter("debug")
    };
    let log = logged(&options, write);
    let value: serde_json::Value = serde_json::from_str(&log).unwrap();
    assert_eq!(value["level"], "DEBUG");
    assert_eq!(value["target"], "agent");
    assert_eq!(value["fields"]["message"], "asked");
    assert_eq!(value["fields"]["millis"], 5);
    assert_eq!(value["spans"][0]["name"], "incarnation");
    assert_eq!(value["spans"][0]["member"], "alice");
    assert_eq!(value["span"]["name"], "turn");
}

#[test]
fn a_full_disk_loses_lines_and_nothing_else() {
    let full = OpenOptions::new().append(true).open("/dev/full").unwrap();
    for file in [Some(full), None] {
        let output = LogOutput::file(file, false);
        let subscriber = subscriber(&LogOptions::default(), output);
        tracing::subscriber::with_default(subscriber, || info!("lost"));
    }
}
