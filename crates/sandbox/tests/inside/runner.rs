//! Runs a script in the default sandbox of a workspace, in a process of its own, because that
//! process may have to be another user or be forbidden to create namespaces.

use std::collections::BTreeMap;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::place::is_reachable;
use sandbox::workspace::{WorkspaceNeeds, describe};
use sandbox::{Layers, Level, Network};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

/// Under which conditions a script runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conditions {
    pub(crate) level: Level,
    /// Another user than the one of the tests.
    pub(crate) user: Option<u32>,
    pub(crate) network: Network,
    pub(crate) read_only: bool,
}

/// An ordinary user that owns nothing else.
pub(crate) const STRANGER: u32 = 4242;
/// Says that this process is a runner, and holds the script.
const SCRIPT: &str = "RUNNER_SCRIPT";

/// The conditions that can be had here. Says what is left out.
pub(crate) fn all_conditions() -> Vec<Conditions> {
    let is_root = nix::unistd::geteuid().is_root();
    if !is_root {
        note("not run as root: the tests run as an unprivileged user");
    }
    let users = [None, Some(STRANGER)];
    if is_root && !is_reachable() {
        note("not run as an unprivileged user: it cannot reach the folder of the tests");
    }
    let has_stranger = is_root && is_reachable();
    let users = users
        .into_iter()
        .filter(|user| user.is_none() || has_stranger);
    let levels = [Level::Full, Level::Landlock];
    let levels = levels.into_iter().filter(|level| {
        let has = Layers::probe().level() >= *level;
        if !has {
            note(&format!("not run at level {level}: this machine has less"));
        }
        has
    });
    let levels: Vec<Level> = levels.collect();
    let all = users.flat_map(|user| {
        levels.iter().map(move |level| Conditions {
            level: *level,
            user,
            network: Network::Off,
            read_only: false,
        })
    });
    all.collect()
}

pub(crate) fn note(text: &str) {
    let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("{text}\n").as_bytes());
}

/// Runs a script for the shell in the workspace. Its output arrives on standard error, because the
/// test harness of the runner uses standard output.
pub(crate) fn run(
    place: &crate::place::Scene,
    conditions: Conditions,
    script: &str,
    stdin: Stdio,
) -> Output {
    let mut command = runner_command(place, conditions, script);
    command.stdin(stdin).output().expect("the runner starts")
}

/// The command that runs a script so.
pub(crate) fn runner_command(
    place: &crate::place::Scene,
    conditions: Conditions,
    script: &str,
) -> Command {
    let mut command = Command::new(place.runner());
    command.args(["--exact", "runner::runner", "--nocapture"]);
    command.env_clear().env(SCRIPT, script);
    command.env("RUNNER_WORKSPACE", place.workspace());
    command.env("HOME", place.home());
    command.env("PATH", "/usr/local/bin:/usr/bin:/bin");
    command.env("SECRET_KEY", "secret");
    command.env(
        "RUNNER_NETWORK",
        match conditions.network {
            Network::Off => "off",
            Network::On => "on",
            Network::Proxy => "proxy",
        },
    );
    command.env("RUNNER_READ_ONLY", conditions.read_only.to_string());
    command.env("RUNNER_LEVEL", conditions.level.to_string());
    command.current_dir("/");
    if let Some(user) = conditions.user {
        command.uid(user).gid(user);
    }
    if conditions.level == Level::Landlock {
        let filter = without_user_namespaces();
        let apply =
            move || seccompiler::apply_filter(&filter).map_err(|_| std::io::Error::last_os_error());
        // SAFETY: installing a filter is two system calls.
        unsafe {
            command.pre_exec(apply);
        }
    }
    command
}

/// What a container's filter does: creating a user namespace is refused.
fn without_user_namespaces() -> BpfProgram {
    let flag = u64::from(libc::CLONE_NEWUSER.cast_unsigned());
    let has_flag = SeccompCmpOp::MaskedEq(flag);
    let rule = SeccompCondition::new(0, SeccompCmpArgLen::Dword, has_flag, flag)
        .and_then(|condition| SeccompRule::new(vec![condition]))
        .expect("the rule is right");
    let rules = BTreeMap::from([
        (libc::SYS_unshare, vec![rule.clone()]),
        (libc::SYS_clone, vec![rule]),
    ]);
    let arch = std::env::consts::ARCH.try_into().expect("it is known");
    let refuse = SeccompAction::Errno(libc::EPERM.cast_unsigned());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch);
    let filter = filter.expect("the filter is right");
    filter.try_into().expect("the filter compiles")
}

/// The other side. It does nothing in an ordinary run of the tests.
#[test]
fn runner() {
    let Ok(script) = std::env::var(SCRIPT) else {
        return;
    };
    let variable = |name: &str| std::env::var(name).expect("the test sets it");
    let (workspace, home) = (variable("RUNNER_WORKSPACE"), variable("HOME"));
    let network = variable("RUNNER_NETWORK");
    let home = Path::new(&home);
    let needs = WorkspaceNeeds {
        workspace: Path::new(&workspace),
        home: Some(home),
        control: &[".team", "team.toml"],
        secrets: &[home.join(".config/program")],
        programs: &[],
        writable: variable("RUNNER_READ_ONLY") == "false",
        network: match network.as_str() {
            "on" => Network::On,
            "proxy" => Network::Proxy,
            _ => Network::Off,
        },
    };
    let layers = Layers::probe();
    assert_eq!(
        layers.level().to_string(),
        variable("RUNNER_LEVEL"),
        "{layers:?}"
    );
    let mut wanted = describe(&needs);
    wanted.environment.push(("NETWORK".into(), network.into()));
    let mut command = Command::new("/bin/bash");
    command.args(["-c", &script]);
    // Two descriptors that a careless caller leaves open.
    let kept = ["/etc/passwd", "/"].map(|path| {
        let flags = nix::fcntl::OFlag::O_RDONLY;
        nix::fcntl::open(path, flags, nix::sys::stat::Mode::empty()).expect("it opens")
    });
    let session = match sandbox::prepare(&mut command, &wanted, layers) {
        Ok(session) => session,
        Err(error) => {
            note(&format!("NOT PREPARED {error}"));
            std::process::exit(125);
        }
    };
    let stderr = std::io::stderr();
    command.stdout(
        std::os::fd::AsFd::as_fd(&stderr)
            .try_clone_to_owned()
            .expect("it is open"),
    );
    let child = command.spawn().map_err(|error| session.explain(error));
    let mut child = child.unwrap_or_else(|error| panic!("{error}: {}", error.source));
    // Nobody accepts what the attack sends there.
    let listener = session.listener().expect("it arrives");
    let status = child.wait().expect("it is our child");
    drop(listener);
    for path in session.created() {
        note(&format!("CREATED {}", path.display()));
    }
    for renamed in session.rename_new_files() {
        assert!(renamed.error.is_none(), "{renamed}");
    }
    drop((session, kept));
    std::process::exit(status.code().unwrap_or(128 + status.signal().unwrap_or(0)));
}
