//! What a long conversation costs, with the prompt caches of the providers simulated by their rules.
//!
//! A real agent does a scripted session of 200 requests against a server on the loopback interface,
//! with the real encoders, on every wire. The bytes that it sent go through [`cache`]. The same
//! conversation is then sent again by the rules that the program had before, see [`old_rules`].

pub(super) mod cache;
mod old_rules;
mod session;

use super::report::{Bar, Row, Section, Value};
use super::{Plan, progress};
use anyhow::{Context as _, ensure};
use cache::{Anthropic, Cache, Cost, OpenAi};
use llm::{
    AnthropicAuth, AnthropicConfig, CancellationToken, Model, OpenAiConfig, OpenAiWire, Request,
    Secret,
};
use session::Recorded;
use std::sync::{Arc, Mutex, PoisonError};
use test_support::llm_server::{CapturedRequest, LlmServer, ServerReply};

/// What the costs of the old rules may at least be cut by.
const LEAST_SAVING: f64 = 0.35;

pub(super) fn measure(plan: &Plan<'_>) -> anyhow::Result<Section> {
    let requests = plan.pick(200, 60);
    progress(&format!("a scripted session of {requests} requests"));
    let mut section = Section::new(
        "context",
        "input of a session of one agent in tokens at full price, prompt caches simulated by the \
         providers' rules; other = the same conversation by the rules before: results cleared beyond \
         1/20 of the window, the last cache mark on a reminder that every request has, a summary of \
         an uncached transcript",
    );
    for wire in [Wire::Anthropic, Wire::Chat, Wire::Responses] {
        let (ours, recorded) = run(plan, wire, requests)?;
        let old = replay(wire, &recorded)?;
        section.note(format!(
            "{}: {} requests, {} bytes in the longest; by the old rules {} requests, {} bytes",
            wire.name(),
            ours.len(),
            longest(&ours),
            old.len(),
            longest(&old)
        ));
        for (name, cache) in wire.caches() {
            let (ours, old) = (total(cache(), &ours)?, total(cache(), &old)?);
            section.rows.push(row(name, &ours, &old, wire));
        }
    }
    section.note(
        "Messages API: a mark finds what an earlier request left at a mark within 20 blocks before it, \
         1,024 tokens at least, written at 1.25 and read at 0.1 of the price; the others: the \
         longest start that an earlier request had, in steps of 128 tokens from 1,024 on, at 0.5 or \
         0.1 of the price; four bytes a token; no entry expires",
    );
    section.note(
        "two of three results are files, which the rules before never cleared. A session without files \
         costs more now than before: those rules kept next to nothing of it, and that a model would \
         have to read things again is not counted",
    );
    Ok(section)
}

fn row(name: &str, ours: &Cost, old: &Cost, wire: Wire) -> Row {
    let saving = 1.0 - ours.equivalent() / old.equivalent();
    let mut row = Row::new(name, Value::Count(ours.equivalent()))
        .beside("the rules before", Value::Count(old.equivalent()));
    // The rules before were made for the marks of this wire.
    if wire == Wire::Anthropic {
        row.bar = Some(Bar {
            wanted: format!("at least {:.0} % below", LEAST_SAVING * 100.0),
            ok: saving >= LEAST_SAVING,
        });
    }
    row
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wire {
    Anthropic,
    Chat,
    Responses,
}

type NewCache = fn() -> Box<dyn Cache>;

impl Wire {
    const fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "Messages API",
            Self::Chat => "Chat Completions",
            Self::Responses => "Responses API",
        }
    }

    fn caches(self) -> Vec<(&'static str, NewCache)> {
        match self {
            Self::Anthropic => vec![("Messages API", || Box::new(Anthropic::default()))],
            Self::Chat => vec![
                ("Chat Completions, cached at 0.5", || {
                    Box::new(OpenAi::new(0.5))
                }),
                ("Chat Completions, cached at 0.1", || {
                    Box::new(OpenAi::new(0.1))
                }),
            ],
            Self::Responses => vec![("Responses API, cached at 0.1", || {
                Box::new(OpenAi::new(0.1))
            })],
        }
    }

    fn client(self, server: &LlmServer) -> anyhow::Result<Arc<dyn Model>> {
        let key = Secret::new("bench");
        Ok(match self {
            Self::Anthropic => {
                let mut config = AnthropicConfig::new("frontier", AnthropicAuth::ApiKey(key));
                config.base_url = server.base_url("agent");
                Arc::new(llm::Anthropic::new(config)?)
            }
            Self::Chat | Self::Responses => {
                let mut config = OpenAiConfig::new("frontier", Some(key));
                config.wire = Some(match self {
                    Self::Responses => OpenAiWire::Responses,
                    Self::Anthropic | Self::Chat => OpenAiWire::Chat,
                });
                config.base_url = server.openai_base_url("agent");
                Arc::new(llm::OpenAi::new(config)?)
            }
        })
    }
}

/// The bodies that a server got.
type Bodies = Arc<Mutex<Vec<Vec<u8>>>>;

fn take(bodies: &Bodies) -> Vec<Vec<u8>> {
    std::mem::take(&mut *bodies.lock().unwrap_or_else(PoisonError::into_inner))
}

/// A server that keeps the bodies and answers with this function.
fn server(
    answer: impl Fn(&CapturedRequest) -> ServerReply + Send + Sync + 'static,
) -> (LlmServer, Bodies) {
    let (server, bodies) = (LlmServer::start(), Bodies::default());
    let kept = Arc::clone(&bodies);
    server.decide("agent", move |request| {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push(request.raw_body().to_vec());
        drop(kept);
        let size = request.raw_body().len() as u64 / cache::BYTES_PER_TOKEN as u64;
        answer(&request).usage(size, 100, 0, 0)
    });
    (server, bodies)
}

fn executor() -> anyhow::Result<tokio::runtime::Runtime> {
    let executor = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    executor.context("start the executor")
}

/// The session as the program does it now.
fn run(plan: &Plan<'_>, wire: Wire, requests: usize) -> anyhow::Result<(Vec<Vec<u8>>, Recorded)> {
    let script = session::Script::new(requests);
    let (server, bodies) = server(move |request| script.answer(request));
    let folder = plan.folder("context")?;
    let session = session::run(wire.client(&server)?, &folder, requests);
    let recorded = executor()?.block_on(session)?;
    Ok((take(&bodies), recorded))
}

/// The same conversation by the old rules.
fn replay(wire: Wire, recorded: &Recorded) -> anyhow::Result<Vec<Vec<u8>>> {
    let (server, bodies) = server(|_| ServerReply::text("ok"));
    let client = wire.client(&server)?;
    let executor = executor()?;
    for request in old_rules::requests(recorded) {
        let asked: &Request = &request;
        let cancel = CancellationToken::new();
        executor.block_on(client.complete(asked, &mut |_| {}, &cancel))?;
    }
    Ok(take(&bodies))
}

fn total(mut cache: Box<dyn Cache>, bodies: &[Vec<u8>]) -> anyhow::Result<Cost> {
    ensure!(!bodies.is_empty(), "nothing was sent");
    let mut total = Cost::default();
    for body in bodies {
        total += cache.send(body)?;
    }
    Ok(total)
}

fn longest(bodies: &[Vec<u8>]) -> usize {
    bodies.iter().map(Vec::len).max().unwrap_or(0)
}
