//! A server that keeps the connection alive and never answers.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use llm::{
    Anthropic, AnthropicAuth, AnthropicConfig, ClientOptions, Model, OpenAi, OpenAiConfig,
    RetryPolicy, Secret,
};

use crate::harness::{KEY, ask, hello, quick, waits};

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";

/// Serves this line without an end, as fast as it is read, and returns the address.
fn endless(line: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    // The thread ends with the test's process.
    thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            thread::spawn(move || serve(connection, line));
        }
    });
    format!("http://{address}")
}

fn serve(mut connection: TcpStream, line: &str) {
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        match connection.read(&mut buffer) {
            Ok(count @ 1..) => request.extend_from_slice(&buffer[..count]),
            _ => return,
        }
    }
    if connection.write_all(HEAD.as_bytes()).is_ok() {
        while connection.write_all(line.as_bytes()).is_ok() {}
    }
}

fn options() -> ClientOptions {
    ClientOptions {
        idle_timeout: Duration::from_millis(200),
        retry: RetryPolicy {
            max_tries: 2,
            ..quick().retry
        },
        ..quick()
    }
}

#[test]
fn keep_alive_lines_alone_do_not_keep_a_call_going() {
    let key = Secret::new(KEY);
    let anthropic = |line| -> Arc<dyn Model> {
        let auth = AnthropicAuth::ApiKey(key.clone());
        Arc::new(
            Anthropic::new(AnthropicConfig {
                base_url: endless(line),
                options: options(),
                ..AnthropicConfig::new("m", auth)
            })
            .unwrap(),
        )
    };
    let openai = |line| -> Arc<dyn Model> {
        Arc::new(
            OpenAi::new(OpenAiConfig {
                base_url: endless(line),
                options: options(),
                ..OpenAiConfig::new("m", Some(key.clone()))
            })
            .unwrap(),
        )
    };
    for model in [
        anthropic("event: ping\ndata: {\"type\": \"ping\"}\n\n"),
        anthropic("\n"),
        openai(": keep-alive\n\n"),
        openai("data: {\"choices\": []}\n\n"),
        openai("data: {\"choices\": [{\"delta\": {\"content\": \"\"}}]}\n\n"),
    ] {
        let (reply, events) = ask(&model, hello());
        let error = reply.unwrap_err().to_string();
        assert!(error.contains("nothing of a reply came"), "{error}");
        assert_eq!(waits(&events), ["no answer"]);
    }
}
