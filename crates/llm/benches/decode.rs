//! What decoding and our client cost, each beside the plainest thing that does
//! the same work in the same run. Run it with `cargo bench -p llm`.

use std::error::Error;
use std::hint::black_box;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use llm::{
    Anthropic, AnthropicAuth, AnthropicConfig, CancellationToken, Decoder, Model, Request, Secret,
    Turn,
};
use serde_json::{Value, json};
use test_support::llm_server::{LlmServer, ServerReply};

/// How many times everything is measured; the best one counts, since noise only
/// adds.
const ROUNDS: usize = 7;
/// About as much as a read from a socket gives.
const PIECE: usize = 16 << 10;
const EVENTS: usize = 60_000;
const EXCHANGES: usize = 300;

fn main() -> Result<(), Box<dyn Error>> {
    // `cargo test --all-targets` starts benches as well, without this word.
    if !std::env::args().any(|argument| argument == "--bench") {
        return Ok(());
    }
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "decoding, beside serde_json::Value of the same payloads"
    )?;
    decoding(
        &mut out,
        "anthropic",
        &anthropic_payloads(),
        Decoder::anthropic,
    )?;
    decoding(&mut out, "openai", &openai_payloads(), || {
        Decoder::openai(1)
    })?;
    writeln!(
        out,
        "one exchange over loopback, beside the same bytes on a raw socket"
    )?;
    exchanges(&mut out)
}

fn decoding(
    out: &mut impl Write,
    name: &str,
    payloads: &[String],
    new_decoder: impl Fn() -> Decoder,
) -> Result<(), Box<dyn Error>> {
    let stream: String = payloads
        .iter()
        .map(|payload| format!("event: x\ndata: {payload}\n\n"))
        .collect();
    let mut ours = Duration::MAX;
    let mut plain = Duration::MAX;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let mut decoder = new_decoder();
        for piece in stream.as_bytes().chunks(PIECE) {
            decoder.push(piece, &mut |event| {
                black_box(event);
            })?;
        }
        black_box(decoder.finish()?);
        ours = ours.min(start.elapsed());

        let start = Instant::now();
        for payload in payloads.iter().filter(|payload| *payload != "[DONE]") {
            black_box(serde_json::from_str::<Value>(payload)?);
        }
        plain = plain.min(start.elapsed());
    }
    let megabytes = stream.len() as f64 / 1e6;
    let (ours, plain) = (ours.as_secs_f64(), plain.as_secs_f64());
    let speed = megabytes / ours;
    let met = if speed >= 200.0 || ours <= 3.0 * plain {
        "met"
    } else {
        "MISSED"
    };
    writeln!(
        out,
        "  {name:<10} {speed:>6.0} MB/s, plain {:>6.0} MB/s: {:.2} times the time of plain (bar: 200 MB/s or 3 times, {met})",
        megabytes / plain,
        ours / plain,
    )?;
    Ok(())
}

/// A reply with a long text and a long tool input, in deltas of a few words.
fn anthropic_payloads() -> Vec<String> {
    let delta = |index: u64, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    let start = |index: u64, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    let mut events = vec![
        json!({"type": "message_start", "message": {"model": "m", "content": [], "usage": {"input_tokens": 1}}}),
        start(0, json!({"type": "text", "text": ""})),
    ];
    let text = |n| delta(0, json!({"type": "text_delta", "text": words(n)}));
    events.extend((0..EVENTS / 2).map(text));
    events.push(start(
        1,
        json!({"type": "tool_use", "id": "t", "name": "write", "input": {}}),
    ));
    let input = |piece: &str| {
        delta(
            1,
            json!({"type": "input_json_delta", "partial_json": piece}),
        )
    };
    events.push(input("{\"content\": \""));
    events.extend((0..EVENTS / 2).map(|n| input(&words(n).replace('\n', "\\n"))));
    events.push(input("\"}"));
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 5}}));
    events.push(json!({"type": "message_stop"}));
    events.iter().map(Value::to_string).collect()
}

fn openai_payloads() -> Vec<String> {
    let chunk = |delta: Value, finish: Value| {
        json!({
            "id": "chatcmpl-0123456789", "object": "chat.completion.chunk", "created": 1_700_000_000,
            "model": "gpt-test",
            "choices": [{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}],
        })
    };
    let mut chunks: Vec<_> = (0..EVENTS)
        .map(|n| chunk(json!({"content": words(n)}), Value::Null))
        .collect();
    chunks.push(chunk(json!({}), json!("stop")));
    let payloads = chunks.iter().map(Value::to_string);
    payloads.chain(["[DONE]".to_owned()]).collect()
}

/// Text of the length of a usual delta, some of it with escapes.
fn words(n: usize) -> String {
    if n.is_multiple_of(8) {
        format!("line {n}\n\tnext")
    } else {
        format!(" and then word {n}")
    }
}

fn exchanges(out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let server = LlmServer::start();
    server.always(
        "bench",
        ServerReply::text("A short reply, as most of them are."),
    );
    let auth = AnthropicAuth::ApiKey(Secret::new("key"));
    let model = Anthropic::new(AnthropicConfig {
        base_url: server.base_url("bench"),
        ..AnthropicConfig::new("m", auth)
    })?;
    let request = Request {
        system: "You are a bench.".repeat(50),
        turns: vec![Turn::user("Say something.".repeat(500))],
        max_tokens: 100,
        ..Request::default()
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let cancel = CancellationToken::new();
    let ask = || runtime.block_on(model.complete(&request, &mut |_| {}, &cancel));
    ask()?;
    let mut raw = RawClient::connect(&server)?;
    raw.exchange()?;
    let mut ours = Vec::new();
    let mut plain = Vec::new();
    // Taking turns, so that both see the same noise.
    for _ in 0..EXCHANGES {
        let start = Instant::now();
        ask()?;
        ours.push(start.elapsed());
        let start = Instant::now();
        raw.exchange()?;
        plain.push(start.elapsed());
    }
    let (ours, plain) = (median(ours), median(plain));
    writeln!(
        out,
        "  ours {:.0} µs, raw {:.0} µs: {:.2} times the time of raw, {:.0} µs more ({} connections)",
        ours.as_secs_f64() * 1e6,
        plain.as_secs_f64() * 1e6,
        ours.as_secs_f64() / plain.as_secs_f64(),
        (ours.as_secs_f64() - plain.as_secs_f64()) * 1e6,
        server.connections(),
    )?;
    Ok(())
}

/// Sends the bytes of our client's request and reads until the last chunk.
struct RawClient {
    stream: TcpStream,
    request: Vec<u8>,
    buffer: Vec<u8>,
}

impl RawClient {
    fn connect(server: &LlmServer) -> Result<Self, Box<dyn Error>> {
        let address = server.base_url("");
        let address = address.trim_start_matches("http://").trim_end_matches('/');
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        let captured = server.last_request("bench");
        let body = captured.raw_body();
        let mut request = format!(
            "POST {} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\nanthropic-version: 2023-06-01\r\nx-api-key: key\r\ncontent-length: {}\r\n\r\n",
            captured.path(),
            body.len()
        )
        .into_bytes();
        request.extend_from_slice(body);
        Ok(Self {
            stream,
            request,
            buffer: vec![0; 64 << 10],
        })
    }

    fn exchange(&mut self) -> io::Result<()> {
        self.stream.write_all(&self.request)?;
        let mut filled = 0;
        while !self.buffer[..filled].ends_with(b"\r\n0\r\n\r\n") {
            match self.stream.read(&mut self.buffer[filled..])? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => filled += count,
            }
        }
        black_box(&self.buffer[..filled]);
        Ok(())
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
