//! One connection of a client.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{Shutdown, TcpStream};

use serde_json::{Value, json};

use super::Shared;
use super::captured::{CapturedRequest, Wire};
use super::reply::{Content, ServerReply};
use super::wire::Rendering;

/// Serves the requests of a connection, one after the other, until the client
/// closes it or a fault does.
pub(super) fn serve(stream: TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut answer = Answer { stream, shared };
    while let Some((path, headers, body)) = read_request(&mut reader)? {
        let Some(request) = CapturedRequest::new(path, headers, body) else {
            answer.head(404, "text/plain", &[])?;
            answer.chunk(b"no agent has such a path")?;
            answer.end()?;
            continue;
        };
        let (number, reply) = shared.answer(request.clone());
        if !answer.send(&request, number, &reply)? {
            return answer.stream.shutdown(Shutdown::Both);
        }
    }
    Ok(())
}

type Parts = (String, Vec<(String, String)>, Vec<u8>);

/// The path, headers and body of the next request; `None` at the end.
fn read_request(reader: &mut impl BufRead) -> io::Result<Option<Parts>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let path = line.split(' ').nth(1).unwrap_or("").to_owned();
    let mut headers = Vec::new();
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        headers.push((name.trim().to_owned(), value.trim().to_owned()));
    }
    let length = headers
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .and_then(|(_, value)| value.parse().ok())
        .unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Some((path, headers, body)))
}

struct Answer<'a> {
    stream: TcpStream,
    shared: &'a Shared,
}

impl Answer<'_> {
    /// Sends a reply. Returns whether the connection can go on.
    fn send(
        &mut self,
        request: &CapturedRequest,
        number: usize,
        reply: &ServerReply,
    ) -> io::Result<bool> {
        let give_up = || self.shared.is_closed();
        if let Some(gate) = &reply.head_gate
            && !gate.pass(give_up)
        {
            return Ok(false);
        }
        let (status, content_type, chunks) = match &reply.content {
            Content::Close => return Ok(false),
            Content::Error {
                status,
                kind,
                message,
            } => {
                let body = error_body(request.wire(), kind, message, number);
                (*status, "application/json", vec![body])
            }
            Content::Raw { status, chunks } => (*status, "text/plain", chunks.clone()),
            Content::Turn(turn) => {
                let rendering = Rendering {
                    turn,
                    wire: request.wire(),
                    number,
                    model: request.model(),
                    with_usage: request.body()["stream_options"]["include_usage"] == true,
                };
                if turn.plain || request.wants_whole() {
                    (200, "application/json", vec![rendering.whole()])
                } else {
                    (200, "text/event-stream", rendering.chunks())
                }
            }
        };
        let mut headers = reply.headers.clone();
        headers.push(("request-id".into(), format!("req_{number}")));
        let content_type = reply.content_type.as_deref().unwrap_or(content_type);
        self.head(status, content_type, &headers)?;
        self.body(reply, chunks)
    }

    fn body(&mut self, reply: &ServerReply, chunks: Vec<Vec<u8>>) -> io::Result<bool> {
        let all = chunks.len();
        for (place, mut chunk) in chunks.into_iter().enumerate() {
            if reply.cut_after == Some(place) {
                return Ok(false);
            }
            if let Some(gate) = reply.gates.get(&place)
                && !gate.pass(|| self.shared.is_closed())
            {
                return Ok(false);
            }
            if reply.corrupt == Some(place) {
                chunk = b"data: {\"type\": \"content_blo\n\n".to_vec();
            }
            self.chunk(&chunk)?;
        }
        if reply.cut_after.is_some_and(|cut| cut >= all) {
            return Ok(false);
        }
        self.end()?;
        Ok(true)
    }

    fn head(
        &mut self,
        status: u16,
        content_type: &str,
        headers: &[(String, String)],
    ) -> io::Result<()> {
        let mut head = format!(
            "HTTP/1.1 {status} Status\r\ncontent-type: {content_type}\r\ntransfer-encoding: chunked\r\n"
        );
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        self.stream.write_all(head.as_bytes())
    }

    fn chunk(&mut self, bytes: &[u8]) -> io::Result<()> {
        // An empty chunk would end the body.
        if bytes.is_empty() {
            return Ok(());
        }
        let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
        chunk.extend_from_slice(bytes);
        chunk.extend_from_slice(b"\r\n");
        self.stream.write_all(&chunk)
    }

    fn end(&mut self) -> io::Result<()> {
        self.stream.write_all(b"0\r\n\r\n")
    }
}

fn error_body(wire: Wire, kind: &str, message: &str, number: usize) -> Vec<u8> {
    let body: Value = match wire {
        Wire::Anthropic => json!({
            "type": "error", "error": {"type": kind, "message": message},
            "request_id": format!("req_{number}"),
        }),
        Wire::OpenAi | Wire::Responses => json!({
            "error": {"message": message, "type": kind, "param": null, "code": null},
        }),
        Wire::Gemini => json!({"error": {"code": 400, "message": message, "status": kind}}),
    };
    body.to_string().into_bytes()
}
