//! What a sandbox costs per command. Nothing is asserted about time; the figures are printed. They
//! mean something when no other test runs: `cargo test -p sandbox --test inside cost`.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use sandbox::workspace::{WorkspaceNeeds, describe};
use sandbox::{Layers, Network};

use crate::place::Scene;
use crate::runner::note;

const ROUNDS: usize = 60;

/// Both kinds take turns, so that they meet the same load.
#[test]
fn cost_per_command() {
    let scene = Scene::new(None);
    let (workspace, home) = (scene.workspace(), scene.home());
    let needs = WorkspaceNeeds {
        workspace: &workspace,
        home: Some(&home),
        control: &[".team", "team.toml"],
        secrets: &[],
        programs: &[],
        writable: true,
        network: Network::Off,
    };
    let layers = Layers::probe();
    let mut times: [Vec<Duration>; 2] = Default::default();
    let mut processor: [Duration; 2] = Default::default();
    for _ in 0..ROUNDS {
        let kinds = [false, true].into_iter().zip(&mut times);
        for ((sandboxed, times), processor) in kinds.zip(&mut processor) {
            let (start, used) = (Instant::now(), used());
            let mut command = Command::new("/bin/sh");
            command.args(["-c", "/bin/true"]).stdin(Stdio::null());
            let session = sandboxed.then(|| {
                let wanted = describe(&needs);
                sandbox::prepare(&mut command, &wanted, layers).unwrap()
            });
            assert!(command.status().unwrap().success());
            drop(session);
            times.push(start.elapsed());
            *processor += self::used() - used;
        }
    }
    let [bare, sandboxed] = times.map(|mut times| {
        times.sort();
        [times[ROUNDS / 10], times[ROUNDS / 2]]
    });
    let level = layers.level();
    let [bare_used, sandboxed_used] = processor.map(|used| used / u32::try_from(ROUNDS).unwrap());
    note(&format!(
        "cost of sh -c /bin/true, p10 and median, and processor time on average:\n  \
         bare {bare:.1?}, {bare_used:.1?}\n  \
         sandboxed at level {level} {sandboxed:.1?}, {sandboxed_used:.1?}"
    ));
}

/// The processor time of this thread and of all children that have ended.
fn used() -> Duration {
    let of = |who| {
        let usage = getrusage(who).expect("it is known");
        [usage.user_time(), usage.system_time()].map(|time| {
            let micros = time.tv_sec() * 1_000_000 + time.tv_usec();
            Duration::from_micros(micros.unsigned_abs())
        })
    };
    let all = [of(UsageWho::RUSAGE_THREAD), of(UsageWho::RUSAGE_CHILDREN)];
    all.iter().flatten().sum()
}
