//! Programs that people use, with the variables that they are given.

use std::net::SocketAddr;
use std::process::{Command, Output, Stdio};

use crate::servers::http;
use crate::{note, proxy};

/// Runs a program with the variables of a proxy and nothing else, or says that it is missing.
fn run(program: &str, arguments: &[&str], proxy: SocketAddr, rules: &str) -> Option<Output> {
    let variables = proxy::variables(proxy, &rules.parse().expect("it works"));
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).env_clear();
    command.env("PATH", "/usr/local/bin:/usr/bin:/bin");
    match command.envs(variables).output() {
        Ok(output) => Some(output),
        Err(error) => {
            note(&format!("not run: {program}: {error}"));
            None
        }
    }
}

#[test]
fn curl_goes_through_the_proxy_and_is_told_why_not() {
    let (listed, other) = (http(), http());
    let rules = listed.address().to_string();
    let (proxy, at) = proxy(&rules);
    for more in [
        &["-sS"][..],
        &["-sS", "--proxytunnel"],
        &["-sS", "--data", "x=y"],
    ] {
        let address = format!("http://{}/page", listed.address());
        let Some(output) = run("curl", &[more, &[&address]].concat(), at, &rules) else {
            return;
        };
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.contains("/page HTTP/1.1"), "{more:?}: {output:?}");
    }
    let address = format!("http://{}/", other.address());
    let output = run("curl", &["-sS", &address], at, &rules).expect("it works");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        text.contains("is not in the list of allowed hosts"),
        "{text}"
    );
    let output = run("curl", &["-sS", "https://example.net/"], at, &rules).expect("it works");
    assert!(!output.status.success());
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("403"), "{text}");
    let refused: Vec<String> = proxy
        .refused()
        .iter()
        .map(|r| r.wanted().to_string())
        .collect();
    assert_eq!(
        refused,
        [other.address().to_string(), "example.net:443".to_owned()]
    );
}

#[test]
fn git_and_python_take_the_proxy_from_the_variables() {
    let rules = "example.org";
    for (program, arguments) in [
        ("git", &["ls-remote", "https://example.net/x.git"][..]),
        (
            "/usr/bin/python3",
            &[
                "-c",
                "import urllib.request as u; u.urlopen('https://example.net/')",
            ],
        ),
    ] {
        let (proxy, at) = proxy(rules);
        let Some(output) = run(program, arguments, at, rules) else {
            continue;
        };
        assert!(!output.status.success());
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(text.contains("403"), "{program}: {text}");
        let refused = proxy.refused();
        assert_eq!(refused.len(), 1, "{program}: {refused:?}");
        assert_eq!(
            refused[0].rule().expect("it works").to_string(),
            "example.net"
        );
    }
}

#[test]
fn own_servers_are_reached_directly_unless_their_address_is_listed() {
    let direct = |rules: &str| {
        let at = SocketAddr::from(([127, 0, 0, 1], 3128));
        let variables = proxy::variables(at, &rules.parse().expect("it works"));
        let found = variables.into_iter().find(|(name, _)| name == "NO_PROXY");
        found.expect("it works").1.into_string().expect("it works")
    };
    assert_eq!(direct("example.org"), "localhost,127.0.0.1,::1");
    assert_eq!(direct("127.0.0.1:8080"), "localhost,::1");
    assert_eq!(direct("[::1]:8080,10.0.0.1:1"), "localhost,127.0.0.1");
}
