//! What other sites, other programs and careless clients can try.

use super::client::{Client, Stream, connect, login_with, post_text, send};
use super::{parts, serve};
use crate::confined::place::{Level, Place, conditions};
use crate::harness::{LIMIT, Workspace, bash, say};
use serde_json::json;
use std::io::{BufRead, Read, Write};
use std::os::unix::fs::PermissionsExt;

fn with_team() -> Workspace {
    Workspace::with_members(&["alice"])
}

/// The status of a GET with these headers.
fn status(address: &str, head: &str) -> u16 {
    send(address, &format!("{head}Connection: close\r\n\r\n")).status
}

#[test]
fn requests_of_other_sites_and_under_other_names_are_refused() {
    let workspace = with_team();
    let served = serve(&workspace, &[]);
    let client = &served.client;
    let (address, session) = (&client.address, client.headers());
    let get = |host: &str, more: &str| {
        let head = format!("GET /api/sessions HTTP/1.1\r\nHost: {host}\r\n{session}{more}");
        status(address, &head)
    };
    assert_eq!(get(address, ""), 200);
    // DNS rebinding: the name of another leads here.
    for host in ["evil.example", "evil.example:80", "localhost", "127.0.0.1"] {
        assert_eq!(get(host, ""), 421, "{host}");
    }
    let port = address.split(':').next_back().unwrap();
    assert_eq!(get(&format!("evil.example:{port}"), ""), 421);
    for foreign in [
        "Origin: http://evil.example\r\n",
        "Origin: null\r\n",
        "Origin: http://127.0.0.1:1\r\n",
        "Sec-Fetch-Site: cross-site\r\n",
        "Sec-Fetch-Site: same-site\r\n",
    ] {
        assert_eq!(get(address, foreign), 403, "{foreign}");
    }
    // A form of another site, and one that pretends to have no origin.
    let form = |kind: &str, origin: &str| {
        let body = r#"{"to":"alice","text":"evil"}"#;
        let request = format!(
            "POST /api/send HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{session}{origin}\
             Content-Type: {kind}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        send(address, &request).status
    };
    assert_eq!(form("text/plain", ""), 415);
    assert_eq!(form("application/x-www-form-urlencoded", ""), 415);
    let evil = "Origin: http://evil.example\r\n";
    assert_eq!(form("application/json", evil), 403);
    // A preflight gets no permission.
    let preflight = send(
        address,
        &format!(
            "OPTIONS /api/send HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{evil}\
             Access-Control-Request-Method: POST\r\n\r\n"
        ),
    );
    assert_eq!(preflight.status, 403);
    assert!(!preflight.head.to_lowercase().contains("access-control"));
    assert!(
        workspace
            .events()
            .iter()
            .all(|event| event["event"] != "send")
    );
}

#[test]
fn without_the_token_the_cookie_and_the_key_nothing_is_shown() {
    let workspace = with_team();
    let served = serve(&workspace, &[]);
    let (address, token) = parts(&served.url);
    // It counts once.
    assert_eq!(login_with(address, token).status, 401);
    assert_eq!(login_with(address, &"0".repeat(64)).status, 401);
    assert_eq!(login_with(address, "").status, 401);
    let good = &served.client;
    let wrong = [
        Client {
            cookie: String::new(),
            ..good.clone()
        },
        Client {
            page_key: String::new(),
            ..good.clone()
        },
        Client {
            page_key: "0".repeat(64),
            ..good.clone()
        },
        // The key itself is not sent.
        Client {
            page_key: good.key.clone(),
            ..good.clone()
        },
        Client {
            cookie: good.page_key.clone(),
            page_key: good.cookie.clone(),
            ..good.clone()
        },
    ];
    let paths = [
        "sessions",
        "stream",
        "task?id=1",
        "events",
        "costs",
        "work",
        "diff",
    ];
    for client in &wrong {
        for path in paths {
            let reply = client.get(&format!("/api/{path}"));
            assert_eq!(reply.status, 401, "{path}");
            assert!(!reply.body.contains("alice"), "{reply:?}");
        }
        let sent = client.post("/api/send", &json!({"to": "alice", "text": "x"}));
        assert_eq!(sent.status, 401);
    }
}

#[test]
fn the_page_runs_nothing_foreign_and_nothing_else_is_a_file() {
    let workspace = with_team();
    let served = serve(&workspace, &[]);
    let good = &served.client;
    let page = good.get("/");
    assert_eq!(page.status, 200);
    let policy = page.header("content-security-policy").unwrap();
    for part in [
        "default-src 'none'",
        "script-src 'self'",
        "frame-ancestors 'none'",
    ] {
        assert!(policy.contains(part), "{policy}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
    for path in [
        "/../Cargo.toml",
        "/js/../../src/lib.rs",
        "/%2e%2e/%2e%2e/etc/passwd",
        "//etc/passwd",
        "/.team/config.json",
        "/js/",
        "/style.css/..",
    ] {
        let reply = good.get(path);
        assert!(matches!(reply.status, 400 | 404), "{path}: {reply:?}");
        assert!(!reply.body.contains("root:"), "{reply:?}");
    }
}

#[test]
fn the_secrets_are_in_private_files_and_on_no_command_line() {
    let workspace = with_team();
    workspace.write(
        "browser",
        "#!/bin/sh\ncp \"$1\" seen.tmp; echo \"$@\" > args; mv seen.tmp seen\n",
    );
    let browser = workspace.path().join("browser");
    std::fs::set_permissions(&browser, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = workspace.command(&["--json", "web", "--open"]);
    let mut session = workspace.start_command(command.env("BROWSER", &browser));
    let line = session.line(LIMIT);
    let page = workspace.wait_for_file("seen");
    let shown: serde_json::Value = serde_json::from_str(&line).unwrap();
    let url = shown["url"].as_str().unwrap();
    let (_, token) = parts(url);
    assert!(page.contains(url), "{page}");
    let args = workspace.wait_for_file("args");
    assert!(!args.contains(token), "{args}");
    let folder = workspace.home().join(".local/state/team-lead/web");
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    let files: Vec<_> = folder.read_dir().unwrap().flatten().collect();
    assert!(files.len() >= 3);
    for file in files {
        assert_eq!(mode(&file.path()), 0o600, "{file:?}");
    }
    let client = Client::login(url);
    // What is used up is gone, and what is kept opens nothing.
    for file in folder.read_dir().unwrap().flatten() {
        let text = std::fs::read_to_string(file.path()).unwrap();
        let cookie = client.cookie.split_once('=').unwrap().1;
        for secret in [token, cookie, client.key.as_str(), &client.page_key] {
            assert!(!text.contains(secret), "{file:?}");
        }
    }
}

#[test]
fn large_slow_and_many_clients_do_not_stop_the_others() {
    let workspace = with_team();
    let served = serve(&workspace, &[]);
    let client = &served.client;
    let address = &client.address;
    let large = json!({"to": "alice", "text": "x".repeat(1 << 20)});
    assert_eq!(client.post("/api/send", &large).status, 413);
    let head = format!(
        "GET / HTTP/1.1\r\nHost: {address}\r\nX: {}\r\n\r\n",
        "x".repeat(1 << 20)
    );
    let reply = send(address, &head);
    assert!(matches!(reply.status, 0 | 400 | 431), "{}", reply.status);
    // Heads and bodies that never end are given up.
    let mut slow: Vec<_> = (0..20).map(|_| connect(address)).collect();
    for (at, stream) in slow.iter_mut().enumerate() {
        let whole = post_text(
            address,
            "/api/send",
            &client.headers(),
            "{\"to\":\"alice\"}",
        );
        let cut = if at % 2 == 0 { 30 } else { whole.len() - 3 };
        stream
            .write_all(whole.get(..cut).unwrap().as_bytes())
            .unwrap();
    }
    // Pages up to the limit are served; further ones are told.
    let mut streams: Vec<_> = (0..500).map(|_| client.stream("")).collect();
    let is_served = |stream: &mut Stream| {
        let mut line = String::new();
        stream.lines.read_line(&mut line).unwrap();
        match line.split(' ').nth(1) {
            Some("200") => true,
            Some("503") => false,
            other => panic!("{other:?}"),
        }
    };
    let served_now = streams.iter_mut().map(is_served);
    assert_eq!(served_now.filter(|is_served| *is_served).count(), 256);
    drop(streams);
    let told = test_support::try_wait_for(LIMIT, || {
        let mut stream = client.stream("");
        stream.next().filter(|(event, _)| event == "all")
    });
    assert!(told.is_some(), "a new page is served");
    for mut stream in slow {
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("200 OK"), "{text}");
    }
    assert_eq!(client.get("/api/sessions").status, 200);
}

#[test]
fn commands_of_members_do_not_reach_the_server_or_its_secrets() {
    let workspace = with_team();
    if workspace.level() != "full" {
        eprintln!("left out: the sandbox has no network of its own here");
        return;
    }
    let served = serve(&workspace, &[]);
    let (address, _) = parts(&served.url);
    let (ip, port) = address.split_once(':').unwrap();
    let state = workspace.home().join(".local/state/team-lead/web");
    let try_it = format!(
        "(exec 3<>/dev/tcp/{ip}/{port} && echo reached) > result 2>&1; cat {}/* >> result 2>&1; true",
        state.display()
    );
    workspace.script("bob", [bash(&try_it), say("Done.")]);
    workspace.spawn("bob", &["--prompt", "Try it."]);
    workspace.wait_reports("bob", 1);
    let result = workspace.wait_for_file("result");
    assert!(
        !result.contains("reached") && !result.contains("cookie"),
        "{result}"
    );
    assert!(result.contains("refused"), "{result}");
}

/// Tries to reach the server in every way that a command has, and says what came of it.
const REACH: &str = r#"
import os, socket, sys, time
host, port, secret = sys.argv[1], int(sys.argv[2]), sys.argv[3]
ask = f"GET / HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n".encode()
def answer(stream):
    stream.settimeout(60)
    data = b""
    try:
        while piece := stream.recv(65536): data += piece
    except OSError: pass
    return data
def plain(family, address, protocol=0):
    stream = socket.socket(family, socket.SOCK_STREAM, protocol)
    stream.connect((address, port))
    stream.sendall(ask)
    return answer(stream)
def hidden():
    # Nobody reads the descriptors of a process that cannot be dumped.
    import ctypes
    ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
    return plain(socket.AF_INET, host)
def handed_on():
    # The socket is never in one process for long.
    stream = socket.create_connection((host, port))
    for _ in range(300):
        if os.fork(): os._exit(0)
    stream.sendall(ask)
    return answer(stream)
ways = {
    "plain": lambda: plain(socket.AF_INET, host),
    "mapped": lambda: plain(socket.AF_INET6, "::ffff:" + host),
    "multipath": lambda: plain(socket.AF_INET, host, 262),
    "hidden": hidden,
    "handed on": handed_on,
}
for name, way in ways.items():
    if os.fork() == 0:
        try: got = way()
        except OSError as error: got = str(error).encode()
        with open("result", "ab") as file: file.write(name.encode() + b": " + got.replace(b"\n", b" ") + b"\n")
        os._exit(0)
for _ in range(3000):
    if os.path.exists("result") and open("result", "rb").read().count(b"\n") == len(ways): break
    time.sleep(0.02)
try: print(os.listdir(secret))
except OSError as error: print("secrets:", error)
os.rename("result", "reached")
while not os.path.exists("enough"): time.sleep(0.02)
"#;

#[test]
fn commands_with_a_network_are_not_served_while_a_person_is() {
    let workspace = with_team();
    if workspace.level() != "full" {
        eprintln!("left out: the sandbox has no processes of its own here");
        return;
    }
    let served = serve(&workspace, &[]);
    let (address, _) = parts(&served.url);
    let (ip, port) = address.split_once(':').unwrap();
    let secrets = workspace.home().join(".local/state/team-lead/web");
    workspace.write("reach.py", REACH);
    let command = format!("python3 reach.py {ip} {port} {}", secrets.display());
    workspace.script("bob", [bash(&command), say("Done.")]);
    workspace.spawn("bob", &["--network", "on", "--prompt", "Try it."]);
    let reached = workspace.wait_for_file("reached");
    assert_eq!(reached.lines().count(), 5, "{reached}");
    for line in reached.lines() {
        // Some ways do not exist on every kernel. Nobody gets the page.
        assert!(
            !line.contains("200 OK") && !line.contains("<html"),
            "{line}"
        );
    }
    let plain = reached.lines().find(|line| line.starts_with("plain"));
    let plain = plain.unwrap();
    // A reply that was not asked for may be lost with the connection.
    assert!(plain.contains("403") || plain == "plain: ", "{plain}");
    // The command still runs, and a person is served.
    assert_eq!(served.client.get("/api/sessions").status, 200);
    assert_eq!(served.client.get("/").status, 200);
    workspace.write("enough", "");
    workspace.wait_reports("bob", 1);
    let journal = workspace.journal("bob");
    assert!(journal.contains("secrets:"), "{journal}");
}

/// Asks for the page and for what needs a session, and looks for the secrets.
const BELOW_FULL: &str = r#"
for path in / /api/sessions /api/stream '/api/task?id=1'; do
  if (exec 3<>/dev/tcp/$1/$2) 2> /dev/null; then
    exec 3<>/dev/tcp/$1/$2
    printf 'GET %s HTTP/1.1\r\nHost: %s:%s\r\nConnection: close\r\n\r\n' "$path" "$1" "$2" >&3
    read -r status <&3
    echo "$path $status"
  else
    echo "$path not reached"
  fi
done
cat "$3"/* 2> /dev/null || echo secrets hidden
"#;

#[test]
fn below_full_only_a_network_leads_to_the_port_and_no_command_to_the_secrets() {
    for conditions in conditions(&[Level::Landlock]).into_iter().take(1) {
        let place = Place::new(conditions);
        place.workspace.write("ask.sh", BELOW_FULL);
        place.spawn(&[]);
        let served = serve(&place.workspace, &[]);
        let (address, token) = parts(&served.url);
        let (ip, port) = address.split_once(':').unwrap();
        let secrets = place.workspace.home().join(".local/state/team-lead/web");
        let command = format!("bash ask.sh {ip} {port} {}", secrets.display());
        let output = place.bash(&command);
        assert_eq!(output.matches("not reached").count(), 4, "{output}");
        assert!(output.contains("secrets hidden"), "{output}");
        // Without mail, which she might still answer.
        place.run(place.workspace.command(&["kill", "alice"]));
        place.spawn(&["--network", "on"]);
        let output = place.bash(&command);
        assert!(output.contains("/ HTTP/1.1 200"), "{output}");
        assert_eq!(output.matches(" HTTP/1.1 401").count(), 3, "{output}");
        assert!(output.contains("secrets hidden"), "{output}");
        assert!(!output.contains(token), "{output}");
        drop(served);
        place.end();
    }
}
