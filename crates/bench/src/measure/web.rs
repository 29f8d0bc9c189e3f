//! How long an event takes from the disk to the page in a browser, beside the screen of `watch`.

use super::programs::{PATIENCE, team_lead};
use super::report::{Row, Section, Value};
use super::stats::Blocks;
use super::{Plan, end, progress};
use anyhow::{Context as _, ensure};
use protocol::{EventKind, Recipient};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Stdio;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};
use teamdir::{Durability, TeamDir};
use test_support::{AtTerminal, Worker};
use vt100::Parser;

/// The pause before each event: both readers wait so long between two looks.
const PAUSE: Duration = Duration::from_millis(80);
/// How many pages are open at once in the second row.
const CLIENTS: usize = 100;
const SCREEN: (u16, u16) = (40, 140);

/// Who has seen an event, and when.
type Seen = (u64, Instant);

/// An address, and the headers of a session.
struct Login {
    address: String,
    headers: String,
}

pub(super) fn measure(plan: &Plan<'_>) -> anyhow::Result<Section> {
    progress("the web page beside watch");
    let mut section = Section::new(
        "web",
        "from before an event is appended to the log until a reader has it; ours = in the stream of a page, \
         alternative = on the screen of `watch`, for the same events",
    );
    let dir = plan.folder("web")?;
    std::fs::create_dir(super::programs::home(&dir))?;
    end::create_team(&dir, &["alice"])?;
    let team = TeamDir::open(&dir, end::options(Durability::ProcessDeath))?;
    let (_server, login) = serve(&dir)?;
    let (screen_seen, on_screen) = channel();
    let _watch = watch(&dir, screen_seen)?;
    let (page_seen, on_page) = channel();
    open_page(&login, page_seen)?;
    let (mut page, mut screen, mut number) = (Blocks::default(), Blocks::default(), 0);
    for _ in 0..plan.pick(20, 3) {
        let (mut pages, mut screens) = (Vec::new(), Vec::new());
        for _ in 0..plan.pick(20, 5) {
            number += 1;
            let start = event(&team, number)?;
            pages.push(wait(&on_page, number)?.duration_since(start).as_secs_f64());
            screens.push(
                wait(&on_screen, number)?
                    .duration_since(start)
                    .as_secs_f64(),
            );
        }
        page.push(pages);
        screen.push(screens);
    }
    let ratio = page.ratio(&screen, 0.5);
    section.rows.push(
        Row::new("to the stream of one page, p50", Value::Seconds(page.p50()))
            .alternative("watch", Value::Seconds(screen.p50()), ratio)
            .bar("at most 1.2x watch", ratio <= 1.2),
    );
    let all = many_pages(plan, &team, &login, &mut number)?;
    let ratio = all.ratio(&page, 0.5);
    section.rows.push(
        Row::new(
            format!("to the last of {CLIENTS} pages, p50"),
            Value::Seconds(all.p50()),
        )
        .beside("one page", Value::Seconds(page.p50()))
        .bar(
            format!("at most 20x one page (here {ratio:.1}x)"),
            ratio <= 20.0,
        ),
    );
    section
        .note("the pages are connections of this process, which reads them on the same two cores");
    Ok(section)
}

/// The time until all of many pages have an event.
fn many_pages(
    plan: &Plan<'_>,
    team: &TeamDir,
    login: &Login,
    number: &mut u64,
) -> anyhow::Result<Blocks> {
    let (seen, on_pages) = channel();
    for _ in 0..CLIENTS {
        open_page(login, seen.clone())?;
    }
    let mut all = Blocks::default();
    for _ in 0..plan.pick(20, 3) {
        let mut times = Vec::new();
        for _ in 0..plan.pick(5, 2) {
            *number += 1;
            let start = event(team, *number)?;
            let mut last = start;
            for _ in 0..CLIENTS {
                last = last.max(wait(&on_pages, *number)?);
            }
            times.push(last.duration_since(start).as_secs_f64());
        }
        all.push(times);
    }
    Ok(all)
}

/// Appends an event, and returns when that began.
fn event(team: &TeamDir, number: u64) -> anyhow::Result<Instant> {
    std::thread::sleep(PAUSE);
    let start = Instant::now();
    team.log_event(EventKind::Leave {
        member: Recipient::Lead,
        reason: format!("mark{number}end"),
    })?;
    Ok(start)
}

/// When the event of this number was seen.
fn wait(seen: &Receiver<Seen>, number: u64) -> anyhow::Result<Instant> {
    loop {
        let (found, time) = seen.recv_timeout(PATIENCE).context("an event was lost")?;
        if found == number {
            return Ok(time);
        }
    }
}

/// The highest number in a text.
fn newest(text: &str) -> Option<u64> {
    let marks = text.split("mark").skip(1);
    let numbers = marks.filter_map(|rest| rest.split_once("end")?.0.parse().ok());
    numbers.max()
}

/// Starts a server, and gets a session from it.
fn serve(dir: &Path) -> anyhow::Result<(Worker, Login)> {
    let mut command = team_lead(dir, "http://127.0.0.1:9", &["--json", "web"])?;
    let mut server = Worker::spawn(command.stdin(Stdio::null()).stdout(Stdio::piped()))?;
    let shown: serde_json::Value = serde_json::from_str(&server.line(PATIENCE))?;
    let url = shown["url"].as_str().context("an address")?;
    let parts = url
        .strip_prefix("http://")
        .and_then(|url| url.split_once("/#"));
    let (address, token) = parts.context("a token")?;
    let body = format!("{{\"token\":\"{token}\"}}");
    let mut stream = TcpStream::connect(address)?;
    write!(
        stream,
        "POST /api/login HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )?;
    let mut reply = String::new();
    stream.read_to_string(&mut reply)?;
    let cookie = reply.split("set-cookie: ").nth(1);
    let cookie = cookie.and_then(|rest| rest.split(';').next());
    let cookie = cookie.context("a cookie")?;
    let body = reply.split_once("\r\n\r\n").context("a body")?.1;
    let given: serde_json::Value = serde_json::from_str(body)?;
    let field = |name: &str| given[name].as_str().context("a key and a run");
    let key = web::page_key(field("key")?, field("run")?);
    let login = Login {
        address: address.to_owned(),
        headers: format!("Host: {address}\r\nCookie: {cookie}\r\nX-Team-Lead-Key: {key}\r\n"),
    };
    Ok((server, login))
}

/// Opens the stream of a page, whose thread ends with the connection.
fn open_page(login: &Login, seen: Sender<Seen>) -> anyhow::Result<()> {
    let mut stream = TcpStream::connect(&login.address)?;
    write!(stream, "GET /api/stream HTTP/1.1\r\n{}\r\n", login.headers)?;
    let mut lines = BufReader::new(stream);
    let mut line = String::new();
    lines.read_line(&mut line)?;
    ensure!(line.contains("200"), "the stream was refused: {line}");
    // The whole state comes first.
    while !line.starts_with("data: ") {
        line.clear();
        ensure!(lines.read_line(&mut line)? > 0, "the stream has ended");
    }
    std::thread::spawn(move || {
        loop {
            line.clear();
            if lines.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            if let Some(number) = newest(&line)
                && seen.send((number, Instant::now())).is_err()
            {
                return;
            }
        }
    });
    Ok(())
}

/// Starts `watch` at a terminal whose screen is read.
fn watch(dir: &Path, seen: Sender<Seen>) -> anyhow::Result<AtTerminal> {
    let mut command = team_lead(dir, "http://127.0.0.1:9", &["watch"])?;
    command.env("TERM", "xterm-256color");
    let program = AtTerminal::start(command, SCREEN.0, SCREEN.1)?;
    let mut output = program.person.try_clone()?;
    let mut parser = Parser::new(SCREEN.0.try_into()?, SCREEN.1.try_into()?, 0);
    std::thread::spawn(move || {
        let mut bytes = [0; 16 << 10];
        let mut last = 0;
        while let Ok(count @ 1..) = output.read(&mut bytes) {
            let time = Instant::now();
            parser.process(bytes.get(..count).unwrap_or_default());
            let shown = newest(&parser.screen().contents()).unwrap_or(0);
            if shown > last && seen.send((shown, time)).is_err() {
                return;
            }
            last = shown;
        }
    });
    Ok(program)
}
