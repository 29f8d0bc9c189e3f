//! A cancelled call ends at once, wherever it is.

use std::time::Duration;

use llm::{CancellationToken, Event, ModelError};
use test_support::llm_server::{Gate, LlmServer, ServerReply};
use test_support::wait_until;

use crate::harness::{Call, LIMIT, both, hello};

/// A shutdown waits no longer than this for a model.
const AT_ONCE: Duration = Duration::from_secs(1);

#[test]
fn before_the_first_byte() {
    let server = LlmServer::start();
    for (agent, model) in both(&server) {
        let gate = Gate::new();
        server.enqueue(agent, ServerReply::text("never").gate_head(&gate));
        let call = Call::start(&model, hello());
        gate.wait_until_reached(LIMIT);
        call.cancel.cancel();
        assert_eq!(call.end(AT_ONCE).0, Err(ModelError::Cancelled));
    }
}

#[test]
fn in_the_middle_of_a_stream() {
    let server = LlmServer::start();
    for (agent, model) in both(&server) {
        let gate = Gate::new();
        server.enqueue(agent, ServerReply::text("half, half").gate(4, &gate));
        let call = Call::start(&model, hello());
        gate.wait_until_reached(LIMIT);
        wait_until("some text", LIMIT, || !call.events().is_empty());
        call.cancel.cancel();
        assert_eq!(call.end(AT_ONCE).0, Err(ModelError::Cancelled));
    }
}

#[test]
fn in_a_wait_of_minutes() {
    let server = LlmServer::start();
    for (agent, model) in both(&server) {
        server.enqueue(agent, ServerReply::rate_limited(Some("10")));
        let call = Call::start(&model, hello());
        wait_until("the wait", LIMIT, || {
            matches!(call.events()[..], [Event::Waiting(_)])
        });
        call.cancel.cancel();
        assert_eq!(call.end(AT_ONCE).0, Err(ModelError::Cancelled));
        assert_eq!(server.requests(agent).len(), 1);
    }
}

#[test]
fn before_it_began() {
    let server = LlmServer::start();
    for (agent, model) in both(&server) {
        let cancelled = CancellationToken::new();
        cancelled.cancel();
        let call = Call::start_with(&model, hello(), cancelled);
        assert_eq!(call.end(AT_ONCE).0, Err(ModelError::Cancelled));
        assert!(server.requests(agent).is_empty());
    }
}
