//! Who may use a broker: credentials files, passwords and certificates, right and wrong ones.

use crate::world::{Host, LIMIT, Way, link, server, texts, wait_for_inbox};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use nkeys::KeyPair;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use test_support::{NatsConfig, NatsServer, report_skip};

/// A token of NATS: what `claims` say, signed by `issuer`.
fn token(issuer: &KeyPair, subject: &KeyPair, claims: &Value) -> String {
    let encode = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
    let header = json!({"typ": "JWT", "alg": "ed25519-nkey"});
    let body = json!({
        "jti": "test",
        "iat": 1_700_000_000,
        "iss": issuer.public_key(),
        "sub": subject.public_key(),
        "name": "test",
        "nats": claims,
    });
    let signed = format!("{}.{}", encode(&header), encode(&body));
    let signature = issuer.sign(signed.as_bytes()).unwrap();
    format!("{signed}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature))
}

fn account_token(operator: &KeyPair, account: &KeyPair, with_jetstream: bool) -> String {
    let storage = if with_jetstream { -1 } else { 0 };
    let limits = json!({
        "subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": true, "conn": -1,
        "leaf": -1, "mem_storage": storage, "disk_storage": storage, "streams": -1, "consumer": -1,
    });
    let claims = json!({"type": "account", "version": 2, "limits": limits});
    token(operator, account, &claims)
}

/// Writes the credentials of a new user of an account.
fn credentials(path: &Path, account: &KeyPair) -> PathBuf {
    let user = KeyPair::new_user();
    let claims = json!({"type": "user", "version": 2, "pub": {}, "sub": {}, "subs": -1, "data": -1, "payload": -1});
    let lines = format!(
        "-----BEGIN NATS USER JWT-----\n{}\n------END NATS USER JWT------\n\n\
         -----BEGIN USER NKEY SEED-----\n{}\n------END USER NKEY SEED------\n",
        token(account, &user, &claims),
        user.seed().unwrap()
    );
    fs::write(path, lines).unwrap();
    path.to_path_buf()
}

/// A configuration that admits users of `account` by their credentials.
fn operator_config(account: &KeyPair) -> NatsConfig {
    let (operator, system) = (KeyPair::new_operator(), KeyPair::new_account());
    let claims = json!({"type": "operator", "version": 2, "system_account": system.public_key()});
    let lines = format!(
        "operator: \"{}\"\nsystem_account: {}\nresolver: MEMORY\nresolver_preload: {{\n  {}: \"{}\"\n  {}: \"{}\"\n}}\n",
        token(&operator, &operator, &claims),
        system.public_key(),
        system.public_key(),
        account_token(&operator, &system, false),
        account.public_key(),
        account_token(&operator, account, true),
    );
    NatsConfig {
        jetstream: String::new(),
        lines,
    }
}

/// A bridge ends with an error that has all these words, and does not try again by itself.
#[track_caller]
fn is_refused(place: &Path, way: &Way, words: &[&str]) {
    let mut gpu = Host::new(&place.join("refused"), "gpu1", &["alice"]);
    gpu.start(way);
    let status = gpu.bridge.as_mut().unwrap().wait(LIMIT);
    assert!(!status.success());
    let said = gpu.errors();
    for word in words {
        assert!(said.contains(word), "{word:?} is not in {said}");
    }
    assert!(!said.contains("next try"), "{said}");
    fs::remove_dir_all(place.join("refused")).unwrap();
}

fn mail_crosses(place: &Path, way: &Way) {
    let (laptop, gpu) = link(place, way);
    laptop.send("bob", "alice", "message 0");
    wait_for_inbox(&gpu, "alice", &texts(1));
}

#[test]
fn credentials_open_the_broker_and_wrong_ones_are_named() {
    let place = tempfile::tempdir().unwrap();
    let account = KeyPair::new_account();
    let folder = place.path().join("nats");
    let server = match NatsServer::start(&folder, &operator_config(&account)) {
        Ok(server) => server,
        Err(skip) => return report_skip("credentials_open_the_broker", skip),
    };
    let way = |path: PathBuf| Way {
        address: format!("nats://{}", server.place()),
        credentials: Some(path),
        ..Way::default()
    };
    let wrong = credentials(&place.path().join("wrong.creds"), &KeyPair::new_account());
    let place = place.path();
    let next = "ask whoever runs the broker";
    is_refused(place, &way(wrong), &[&server.place(), "wrong.creds", next]);
    is_refused(
        place,
        &way(place.join("none.creds")),
        &["none.creds", "No such file"],
    );
    let nobody = Way {
        credentials: None,
        ..way(PathBuf::new())
    };
    is_refused(place, &nobody, &["wants to know a user", "--credentials"]);
    let right = credentials(&place.join("right.creds"), &account);
    mail_crosses(place, &way(right));
}

#[test]
fn a_wrong_password_is_refused_and_not_repeated() {
    let place = tempfile::tempdir().unwrap();
    let Some(server) = server(&place.path().join("nats"), "a_wrong_password", "") else {
        return;
    };
    let way = Way {
        address: format!("nats://anna:wr-ong@{}", server.place()),
        ..Way::default()
    };
    is_refused(place.path(), &way, &[&server.place(), "TEAM_NATS_URL"]);
    let log = fs::read_to_string(server.folder().join("log")).unwrap();
    let tries = log.matches("authentication error").count();
    assert_eq!(tries, 1, "{log}");
}

/// A certificate authority, and a certificate of it for this machine: the paths of both, and of the key.
fn certificates(folder: &Path, name: &str) -> Option<[PathBuf; 3]> {
    fs::create_dir_all(folder).unwrap();
    let file = |end: &str| folder.join(format!("{name}{end}"));
    let [root, root_key] = [file("-root.pem"), file("-root.key")];
    let [certificate, key, request] = [file(".pem"), file(".key"), file(".csr")];
    let extensions = file(".ext");
    fs::write(&extensions, "subjectAltName=IP:127.0.0.1\n").unwrap();
    let new_key = "req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    let run = |words: &str, paths: &[(&str, &Path)]| {
        let mut command = Command::new("openssl");
        command.args(words.split(' '));
        for (option, path) in paths {
            command.arg(option).arg(path);
        }
        command
            .output()
            .ok()
            .filter(|output| output.status.success())
    };
    run(
        &format!("{new_key} -x509 -days 2 -subj /CN={name}"),
        &[("-keyout", &root_key), ("-out", &root)],
    )?;
    run(
        &format!("{new_key} -subj /CN=broker"),
        &[("-keyout", &key), ("-out", &request)],
    )?;
    run(
        "x509 -req -days 2 -CAcreateserial",
        &[
            ("-in", &request),
            ("-CA", &root),
            ("-CAkey", &root_key),
            ("-extfile", &extensions),
            ("-out", &certificate),
        ],
    )?;
    Some([root, certificate, key])
}

#[test]
fn an_encrypted_broker_is_checked_with_the_certificates_that_are_named() {
    let test = "an_encrypted_broker_is_checked";
    let place = tempfile::tempdir().unwrap();
    let made = certificates(place.path(), "ours").zip(certificates(place.path(), "other"));
    let Some(([root, certificate, key], [other_root, ..])) = made else {
        return report_skip(test, "openssl is missing: scripts/install-test-tools");
    };
    let config = NatsConfig {
        jetstream: String::new(),
        lines: format!(
            "tls {{ cert_file: \"{}\", key_file: \"{}\" }}\n",
            certificate.display(),
            key.display()
        ),
    };
    let server = match NatsServer::start(&place.path().join("nats"), &config) {
        Ok(server) => server,
        Err(skip) => return report_skip(test, skip),
    };
    let way = |root_certificates: Option<&Path>| Way {
        address: format!("tls://{}", server.place()),
        root_certificates: root_certificates.map(Path::to_path_buf),
        ..Way::default()
    };
    let place = place.path();
    let words = ["certificate", "--root-certificates", &server.place()];
    is_refused(place, &way(None), &words);
    is_refused(place, &way(Some(&other_root)), &words);
    let none = place.join("none.pem");
    is_refused(place, &way(Some(&none)), &["none.pem", "No such file"]);
    mail_crosses(place, &way(Some(&root)));
}
