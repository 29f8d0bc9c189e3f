use super::*;

fn site() -> Site {
    Site {
        provider: Provider::Anthropic,
        model: "claude-x".into(),
        address: "https://host/".into(),
        key_variable: "ANTHROPIC_API_KEY",
        address_variable: "ANTHROPIC_BASE_URL",
        secret: Some(Secret::new("sk-top-secret-0123")),
    }
}

fn outcome(status: u16, body: &str) -> String {
    tell(site().refused(
        status,
        &ErrorInfo::parse(body.as_bytes()),
        RetryHints::default(),
        77,
    ))
}

fn in_reply(body: &str) -> String {
    let error = DecodeError::Server(Box::new(ErrorInfo::parse(body.as_bytes())));
    tell(site().undecoded(&error, 77))
}

fn tell(failure: Failure) -> String {
    match failure {
        Failure::Final(refusal) => format!("{}: {}", refusal.error.kind(), refusal.error),
        Failure::Transient(transient) => {
            format!("again, {}: {}", transient.reason, transient.detail)
        }
    }
}

#[test]
fn permanent_failures_say_what_to_do() {
    let error = |kind: &str, message: &str| {
        format!(
            r#"{{"type":"error","error":{{"type":"{kind}","message":"{message}"}},"request_id":"req_1"}}"#
        )
    };
    for (status, kind, message, expected) in [
        (
            400,
            "invalid_request_error",
            "odd",
            "bad_request: the request was refused (status 400): odd (request req_1); check that the model supports what was asked",
        ),
        (
            401,
            "authentication_error",
            "invalid x-api-key",
            "key_refused: ANTHROPIC_API_KEY was refused by https://host/: invalid x-api-key (request req_1); set ANTHROPIC_API_KEY to a valid key",
        ),
        (
            402,
            "billing_error",
            "pay",
            "billing: the account has no credit: pay (request req_1); add credit at the provider, or use another model",
        ),
        (
            403,
            "permission_error",
            "no",
            "forbidden: the key may not use claude-x: no (request req_1); use a key in ANTHROPIC_API_KEY that may use this model, or another model",
        ),
        (
            404,
            "not_found_error",
            "model: x",
            "model_not_found: https://host/ refused claude-x: model: x (request req_1); check the name of the model and ANTHROPIC_BASE_URL",
        ),
        (
            413,
            "request_too_large",
            "big",
            "request_too_large: the request of 77 bytes is too large: big (request req_1); make the conversation shorter, or give tools less output",
        ),
        (
            400,
            "invalid_request_error",
            "prompt is too long: 9 tokens > 8 maximum",
            "context_too_long: the conversation is too long for the model: prompt is too long: 9 tokens > 8 maximum (request req_1); make the conversation shorter",
        ),
    ] {
        assert_eq!(outcome(status, &error(kind, message)), expected);
        if status != 413 || !kind.is_empty() {
            assert_eq!(in_reply(&error(kind, message)), expected, "inside a reply");
        }
    }
}

#[test]
fn both_error_shapes_and_none_are_read() {
    for (status, body, expected) in [
        (
            429,
            r#"{"error":{"message":"slow","type":"requests","param":null,"code":"rate_limit_exceeded"}}"#,
            "again, rate limit: slow",
        ),
        (
            429,
            r#"{"error":{"message":"pay","type":"insufficient_quota","code":"insufficient_quota"}}"#,
            "billing: the account has no credit: pay; add credit at the provider, or use another model",
        ),
        (
            503,
            r#"{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}"#,
            "again, overloaded: Loading model",
        ),
        (
            529,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            "again, overloaded: Overloaded",
        ),
        (
            500,
            r#"{"error":"plain words"}"#,
            "again, server error 500: plain words",
        ),
        (
            500,
            r#"{"detail":"fast words"}"#,
            "again, server error 500: fast words",
        ),
        (
            502,
            "<html><head><title>502 Bad Gateway</title></head></html>",
            "again, server error 502: 502 Bad Gateway",
        ),
        (504, "", "again, server error 504: no explanation was given"),
        (408, "late", "again, server error 408: late"),
        (500, r#"{"odd":1}"#, r#"again, server error 500: {"odd":1}"#),
    ] {
        assert_eq!(outcome(status, body), expected);
    }
}

#[test]
fn a_window_that_is_full_is_known_on_both_wires() {
    for body in [
        r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":8192}}"#,
        r#"{"error":{"message":"This model's maximum context length is 8192 tokens","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
        r#"{"error":{"message":"This model's maximum context length is 8192 tokens. However, you requested 9000","type":"BadRequestError","code":400}}"#,
    ] {
        assert!(outcome(400, body).starts_with("context_too_long"), "{body}");
        assert!(in_reply(body).starts_with("context_too_long"), "{body}");
    }
    let llama = r#"{"error":{"message":"m","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":8192}}"#;
    assert!(outcome(400, llama).contains("(9000 of 8192 tokens)"));
}

#[test]
fn errors_inside_a_reply_are_judged_by_their_names() {
    for (body, expected) in [
        (
            r#"{"type":"error","error":{"type":"overloaded_error","message":"m"}}"#,
            "again, overloaded: m",
        ),
        (
            r#"{"type":"error","error":{"type":"rate_limit_error","message":"m"}}"#,
            "again, rate limit: m",
        ),
        (
            r#"{"error":{"code":502,"message":"m","metadata":{}}}"#,
            "again, server error 502: m",
        ),
        (
            r#"{"error":{"type":"strange","message":"m"}}"#,
            "again, server error: m",
        ),
    ] {
        assert_eq!(in_reply(body), expected);
    }
}

#[test]
fn the_server_decides_about_another_try() {
    let with = |status, should_retry| {
        let hints = RetryHints {
            should_retry: Some(should_retry),
            ..RetryHints::default()
        };
        tell(site().refused(status, &ErrorInfo::parse(b"m"), hints, 0))
    };
    assert!(with(400, true).starts_with("again"));
    assert!(with(429, false).starts_with("bad_request"));
}

#[test]
fn a_repeated_key_is_removed_and_long_texts_are_cut() {
    let body = format!("{}sk-top-secret-0123 {}", "é".repeat(490), "x".repeat(600));
    let text = outcome(500, &body);
    assert!(!text.contains("sk-top-secret-0123"));
    assert!(text.contains("[secret]"));
    assert!(text.chars().count() < 560, "{text}");
}
