//! Which level is in force, who is told, and what people can choose.

use super::place::{Level, Place, conditions};
use crate::harness::{KEY, LIMIT, Workspace, agent, bash, spawn_teammate};
use test_support::wait_until;

#[test]
fn the_level_in_force_is_in_status_in_the_prompt_and_in_doctor() {
    for conditions in conditions(&[Level::Full, Level::Landlock, Level::None]) {
        let place = Place::new(conditions);
        place.spawn(&[]);
        let status = || {
            let json = place.workspace.command(&["--json", "status"]);
            place.run(json).json()["members"][0].clone()
        };
        let word = conditions.level.word();
        wait_until("the level", LIMIT, || status()["sandbox"] == word);
        let text = place.run(place.workspace.command(&["status"])).out;
        assert!(text.contains(&format!("sandbox {word}")), "{text}");
        place.bash("true");
        let request = place.workspace.server.last_request("alice");
        let prompt = request.body()["system"].to_string();
        assert!(prompt.contains(&format!("(level {word})")), "{prompt}");
        if conditions.level == Level::Landlock {
            let doctor = place
                .run(place.workspace.command(&["--json", "doctor"]))
                .object();
            assert_eq!(doctor["sandbox"]["level"], word);
            let weakness = doctor["sandbox"]["weakness"].as_str().unwrap();
            assert!(weakness.contains(".team"), "{weakness}");
        }
        place.end();
    }
}

#[test]
fn a_required_sandbox_is_full_or_the_member_does_not_start() {
    for conditions in conditions(&[Level::Full, Level::Landlock]) {
        let place = Place::new(conditions);
        let required = ["--sandbox", "required"];
        let run = place.run(place.workspace.spawn_command("alice", "coder", &required));
        if conditions.level == Level::Full {
            assert_eq!(run.code, 0, "{run:?}");
        } else {
            assert_eq!(run.code, 1, "{run:?}");
            assert!(run.err.contains("namespaces"), "{run:?}");
            assert!(run.err.contains("team-lead sandbox check"), "{run:?}");
            let lead = Place::new(conditions);
            let run = lead.run(
                lead.workspace
                    .command(&["run", "--sandbox", "required", "Hello"]),
            );
            assert_eq!(run.code, 1, "{run:?}");
            assert!(run.err.contains("namespaces"), "{run:?}");
            assert!(!lead.workspace.path().join(".team").exists(), "{run:?}");
            // A note says what is missing, and the member starts.
            let run = place.run(place.workspace.spawn_command("alice", "coder", &[]));
            assert_eq!(run.code, 0, "{run:?}");
            assert!(run.err.contains("level landlock"), "{run:?}");
        }
        place.end();
    }
}

#[test]
fn the_network_is_as_chosen() {
    for conditions in conditions(&[Level::Full]) {
        let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = server.local_addr().unwrap().port();
        let connect = format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo connected");
        let place = Place::new(conditions);
        place.workspace.write(
            "team.toml",
            "network = \"on\"\n[roles.coder]\nnetwork = \"off\"\n",
        );
        place.run(place.workspace.command(&["trust", "--yes"]));
        place.spawn(&[]);
        let output = place.bash(&connect);
        assert!(!output.contains("connected"), "{output}");
        assert!(output.contains("--network on"), "{output}");
        // Without mail, which she might still answer.
        place.run(place.workspace.command(&["kill", "alice"]));
        place.spawn(&["--network", "on"]);
        let output = place.bash(&connect);
        assert!(output.contains("connected"), "{output}");
        place.end();
    }
}

/// The server is a listed address, and everything else is refused with a reason.
#[test]
fn a_list_of_hosts_is_kept_by_a_proxy() {
    for conditions in conditions(&[Level::Full]) {
        let place = Place::new(conditions);
        if place.run(curl_version(&place)).code != 0 {
            super::place::note("not run: curl is missing");
            return;
        }
        let port = place.workspace.server.base_url("x");
        let address = port
            .trim_start_matches("http://")
            .split('/')
            .next()
            .unwrap()
            .to_owned();
        place.spawn(&["--network", &address]);
        let output = place.bash(&format!(
            "curl -s -o /dev/null -w 'code %{{http_code}}\\n' http://{address}/; curl -sS http://example.org/"
        ));
        assert!(
            output.contains("code 4"),
            "the server has no such page: {output}"
        );
        assert!(!output.contains("code 403"), "{output}");
        assert!(
            output.contains("example.org:80 is not in the list"),
            "{output}"
        );
        place.end();
    }
}

fn curl_version(place: &Place) -> std::process::Command {
    place
        .workspace
        .command(&["sandbox", "run", "--", "curl", "--version"])
}

/// A program that is a member itself may change the team, and is confined otherwise.
#[test]
fn exec_members_are_confined_too() {
    for conditions in conditions(&[Level::Full]) {
        let place = Place::new(conditions);
        let home = place.workspace.home();
        let program = format!(
            "cat {}/.ssh/id > leaked; env > variables; echo x > .team/note; echo x > team.toml; echo x > done; sleep 3600",
            home.display()
        );
        place.workspace.write("team.toml", "");
        let spawn = ["spawn", "carol", "coder", "--exec", &program];
        let mut command = place.workspace.command_as("carol", &spawn);
        command.env("TEAM_SECRET", "x");
        assert_eq!(place.run(command).code, 0);
        place.workspace.wait_for_file("done");
        let read = |name: &str| std::fs::read_to_string(place.workspace.path().join(name)).unwrap();
        assert_eq!(
            (read("leaked").as_str(), read(".team/note").as_str()),
            ("", "x\n")
        );
        assert_eq!(read("team.toml"), "");
        let variables = read("variables");
        assert!(!variables.contains(KEY), "{variables}");
        assert!(variables.contains("TEAM_MEMBER=carol"), "{variables}");
        place.end();
    }
}

/// The lead's own commands run in the same sandbox, and its teammates get what its person typed.
#[test]
fn the_lead_is_confined_and_passes_its_options_on() {
    let workspace = Workspace::new();
    workspace.write_home(".ssh/id", "secret of the home folder");
    let secret = workspace.home().join(".ssh/id");
    workspace.reply(bash(&format!("env; cat {}; echo end", secret.display())));
    workspace.reply(spawn_teammate("alice", "", "offline"));
    let run = workspace.run_lead(&["--network", "on", "--keep", "work"], "");
    assert_eq!(run.code, 0, "{run:?}");
    let requests = workspace.lead_requests();
    let result = &requests[1];
    assert!(result.contains("end"), "{result}");
    assert!(!result.contains(KEY), "{result}");
    if workspace.level() != "none" {
        assert!(!result.contains("secret of the home folder"), "{result}");
    }
    let roster = workspace.team().roster().unwrap();
    let alice = roster.member(&agent("alice")).unwrap();
    assert_eq!(alice.spec.network, Some(protocol::NetworkSetting::On));
    workspace.end();
}
