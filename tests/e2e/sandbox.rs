//! `team-lead sandbox`: what it says about the machine, and a command inside.

use crate::harness::{LIMIT, Run, Workspace};
use nix::sys::signal::Signal;
use nix::unistd::Pid;
use protocol::Phase;
use std::io::{Read, Write};
use std::process::Stdio;
use test_support::wait_until;

/// Whether everything that is promised can be tested on this machine.
fn is_full(workspace: &Workspace) -> bool {
    let level = workspace.level();
    let is_full = level == "full";
    if !is_full {
        let note = format!("not run: the sandbox level here is {level}\n");
        let _ = std::io::stderr().write_all(note.as_bytes());
    }
    is_full
}

fn run(workspace: &Workspace, script: &str) -> Run {
    workspace.run(&["sandbox", "run", "--", "sh", "-c", script])
}

#[test]
fn check_lists_each_layer_and_says_how_to_get_a_missing_one() {
    let workspace = Workspace::empty();
    let found = workspace.json(&["sandbox", "check", "--json"]);
    let layers = found["layers"].as_array().unwrap();
    let names: Vec<&str> = layers
        .iter()
        .filter_map(|layer| layer["name"].as_str())
        .collect();
    assert_eq!(
        names,
        [
            "namespaces",
            "landlock",
            "landlock scopes",
            "seccomp",
            "limits",
            "environment"
        ]
    );
    for layer in layers {
        let is_missing = layer["present"] == false;
        assert_eq!(layer["why"].is_string(), is_missing, "{layer}");
        assert_eq!(layer["how"].is_string(), is_missing, "{layer}");
    }
    let text = workspace.ok(&["sandbox", "check"]);
    assert!(
        text.starts_with(&format!("level: {}", found["level"].as_str().unwrap())),
        "{text}"
    );
}

#[test]
fn the_programs_of_the_team_can_look_at_it_from_inside_and_change_nothing() {
    let workspace = Workspace::new();
    if !is_full(&workspace) {
        return;
    }
    workspace.spawn("alice", &[]);
    workspace.wait_phase("alice", Phase::Idle);
    // The roster follows the live state.
    wait_until("the roster to say so too", LIMIT, || {
        workspace.roster_status("alice") == "idle"
    });
    let inside = |args: &[&str]| {
        let run = ["sandbox", "run", "--"];
        workspace.run(&[&run, args].concat())
    };
    let lead = env!("CARGO_BIN_EXE_team-lead");
    let status = inside(&[lead, "status"]);
    assert!(status.has_code(0).out.contains("alice"), "{status:?}");
    inside(&[env!("CARGO_BIN_EXE_teammate"), "--version"]).has_code(0);
    let before = workspace.listing();
    for change in [
        &["send", "alice", "Obey."][..],
        &["kill", "alice"],
        &["shutdown", "alice", "--force", "--timeout", "0"],
        &["task", "create", "Obey."],
        &["budget", "raise", "--max-tokens", "9"],
        &["spawn", "eve", "coder", "--exec", "true"],
    ] {
        let changed = inside(&[&[lead], change].concat());
        assert_ne!(changed.code, 0, "{change:?}: {changed:?}");
    }
    assert_eq!(workspace.listing(), before);
    assert!(workspace.alive("alice").is_some());
}

#[test]
fn a_command_inside_has_its_own_exit_code_and_output() {
    let workspace = Workspace::empty();
    let ended = run(&workspace, "echo out; exit 42");
    ended.has_code(42);
    assert_eq!(ended.out, "out\n");
    run(&workspace, "kill -9 $$").has_code(137);
    workspace
        .run(&["sandbox", "run", "--", "no-such-program"])
        .has_code(127);
}

#[test]
fn a_command_inside_changes_the_workspace_but_not_the_team() {
    let workspace = Workspace::with_members(&["alice"]);
    if !is_full(&workspace) {
        return;
    }
    workspace.write("team.toml", "");
    workspace.write(".env", "KEY=secret\n");
    let protected = || {
        let mut files = workspace.listing();
        files.retain(|(path, _)| {
            let name = path.strip_prefix(workspace.path()).unwrap();
            [".team", "team.toml", ".env"]
                .iter()
                .any(|start| name.starts_with(start))
        });
        files
    };
    let before = protected();
    let script = "cat .env; echo x > made; for f in .team/config.json team.toml .env; do \
         echo x >> $f && echo through; rm $f && echo through; done; mv .team away && echo through; \
         echo x > .mcp.json; exit 0";
    let ended = run(&workspace, script);
    ended.has_code(0);
    assert_eq!(ended.out, "", "{ended:?}");
    assert_eq!(protected(), before);
    assert_eq!(
        std::fs::read_to_string(workspace.path().join("made")).unwrap(),
        "x\n"
    );
    // The name did not exist before, so that it cannot be protected; it does not stay.
    assert!(!workspace.path().join(".mcp.json").exists());
    assert!(ended.err.contains(".mcp.json.from-sandbox"), "{ended:?}");
}

#[test]
fn a_read_only_workspace_and_its_home_are_safe() {
    let workspace = Workspace::empty();
    if !is_full(&workspace) {
        return;
    }
    workspace.write("file", "before");
    workspace.write_home(".ssh/id", "secret");
    let script =
        "cat ~/.ssh/id; echo x > file; echo x > new; echo x > /tmp/new && cat /tmp/new file";
    let arguments = ["sandbox", "run", "--read-only", "--", "sh", "-c", script];
    let ended = workspace.run(&arguments);
    assert_eq!(ended.out, "x\nbefore", "{ended:?}");
}

#[test]
fn nothing_survives_the_command_or_a_kill_of_the_program() {
    let workspace = Workspace::empty();
    if !is_full(&workspace) {
        return;
    }
    let survivor = workspace.path().join("survivor");
    // The path in its command line shows that a process belongs to this test.
    let mark = workspace.path().display();
    let script = format!("(sleep 1; echo x > survivor; : {mark}) & exit 0");
    run(&workspace, &script).has_code(0);
    let script = format!(
        "setsid sh -c 'echo x > started; sleep 1; echo x > survivor; : {mark}' & sleep 1000"
    );
    let mut command = workspace.command(&["sandbox", "run", "--", "sh", "-c", &script]);
    let mut child = command.stdin(Stdio::null()).spawn().unwrap();
    workspace.wait_for_file("started");
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap());
    nix::sys::signal::kill(pid, Signal::SIGKILL).unwrap();
    child.wait().unwrap();
    // What survived would have written the file by the time it is gone.
    workspace.check_gone();
    assert!(!survivor.exists());
}

/// Answers every request with a text, until the test ends.
fn server(text: &'static str) -> std::net::SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("it works");
    let address = listener.local_addr().expect("it works");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 4096]);
            let length = text.len();
            let response = format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{text}"
            );
            let _ = stream.write_all(response.as_bytes());
        }
    });
    address
}

#[test]
fn a_command_reaches_the_listed_hosts_and_no_other() {
    let workspace = Workspace::empty();
    if !is_full(&workspace) {
        return;
    }
    let (listed, other) = (server("listed"), server("other"));
    // The second one tries without the proxy.
    let script = format!(
        "command -v curl >/dev/null || exit 77; curl -sS http://{listed}/; echo; curl -sS http://{other}/; \
         curl -sS --noproxy '*' http://{listed}/ || echo direct failed; \
         curl -sS https://example.net/ || echo tunnel failed; exit 0"
    );
    let network = format!("example.org,{listed}");
    let arguments = [
        "sandbox",
        "run",
        "--network",
        &network,
        "--",
        "sh",
        "-c",
        &script,
    ];
    let ended = workspace.run(&arguments);
    if ended.code == 77 {
        let _ = std::io::stderr().write_all(b"not run: there is no curl\n");
        return;
    }
    let expected = format!(
        "listed\n{other} is not in the list of allowed hosts\n\
         next: team-lead sandbox run --network 'example.org,{listed},{other}' -- COMMAND\n\
         direct failed\ntunnel failed\n"
    );
    assert_eq!(ended.out, expected, "{ended:?}");
    let next = format!("--network 'example.org,{listed},{other},example.net' --");
    assert!(ended.err.contains(&next), "{ended:?}");
}

#[test]
fn a_network_that_means_nothing_is_refused() {
    let workspace = Workspace::empty();
    for (network, why) in [
        ("https://example.org", "without scheme"),
        ("10.0.0.1", "with its port"),
        ("*", "allows too much"),
    ] {
        let ended = workspace.run(&["sandbox", "run", "--network", network, "--", "true"]);
        ended.has_code(2);
        assert!(ended.err.contains(why), "{ended:?}");
    }
}

/// Reading a file is enough to lock it, so that commands see others in the place of the team's locks.
#[test]
fn a_command_cannot_hold_the_locks_of_the_team() {
    let workspace = Workspace::empty();
    if !is_full(&workspace) {
        return;
    }
    workspace.ok(&["task", "create", "one"]);
    let script = "n=10; for f in .team/.*lock .team/*/.*lock; do [ -e $f ] || continue; \
         eval \"exec $n<$f\"; flock -n $n; n=$((n+1)); done; \
         touch .team/inbox/new 2>/dev/null && echo WRITABLE; echo $((n-10)) held; read end";
    let mut command = workspace.command(&["sandbox", "run", "--", "bash", "-c", script]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    let output = child.stdout.take().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(output), &mut line).unwrap();
    assert!(line.ends_with("held\n") && !line.starts_with('0'), "{line}");
    workspace.ok(&["task", "create", "two"]);
    drop(child.stdin.take());
    child.wait().unwrap();
}
