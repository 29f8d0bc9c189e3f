//! After the last fault: all members are restarted, and all work is finished.

use crate::restarter::Restarter;
use crate::world::{World, name};
use processes::IdleCheck;
use protocol::{AgentName, TaskStatus};
use std::thread;
use std::time::{Duration, Instant};

/// How often the team is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// How often members are reminded whose turn failed with work left to do.
const REMIND_EVERY: Duration = Duration::from_secs(5);

/// Waits until the team is idle with nothing left to do. Returns why it is not, if the limit passes.
pub(crate) fn settle(
    world: &World,
    restarter: &mut Restarter<'_>,
    limit: Duration,
    say: &dyn Fn(&str),
) -> Vec<String> {
    let start = Instant::now();
    let mut reminded = Instant::now();
    let mut said = Instant::now();
    loop {
        restarter.restart_dead();
        let left = left(world, restarter);
        if left.is_empty() || start.elapsed() > limit {
            return left;
        }
        if said.elapsed() > REMIND_EVERY {
            said = Instant::now();
            say(&format!("waiting for: {}", left.join("; ")));
        }
        if reminded.elapsed() > REMIND_EVERY {
            remind(world);
            reminded = Instant::now();
        }
        thread::sleep(POLL_INTERVAL);
    }
}

/// The work that is left, as text.
fn left(world: &World, restarter: &mut Restarter<'_>) -> Vec<String> {
    let mut left = Vec::new();
    if !restarter.all_live() {
        left.push("a process is not running".to_owned());
    }
    match processes::check_idle(&world.team) {
        Ok(IdleCheck::Idle {
            failed,
            waiting_plan,
        }) => {
            let stuck = failed.iter().chain(&waiting_plan);
            left.extend(stuck.map(|name| format!("'{name}' failed or waits")));
        }
        Ok(IdleCheck::Busy { why }) => left.push(why),
        Err(error) => left.push(error.to_string()),
    }
    let open = world.model.open();
    left.extend(
        open.iter()
            .map(|(name, count)| format!("{name} has {count} open orders")),
    );
    match world.team.tasks() {
        Ok(tasks) => {
            let open = tasks
                .iter()
                .flatten()
                .filter(|task| task.status != TaskStatus::Completed);
            let count = open.count();
            if count > 0 {
                left.push(format!("{count} tasks are open"));
            }
        }
        Err(error) => left.push(error.to_string()),
    }
    left
}

/// Sends a message to members that would not continue by themselves, as a person does.
fn remind(world: &World) {
    let open = world.model.open();
    let (failed, waiting): (Vec<AgentName>, bool) = match processes::check_idle(&world.team) {
        Ok(IdleCheck::Idle {
            failed,
            waiting_plan,
        }) => (failed, !waiting_plan.is_empty()),
        Ok(IdleCheck::Busy { .. }) | Err(_) => (Vec::new(), false),
    };
    if waiting {
        // A lead whose model could not be reached tries again when mail arrives.
        world.runner.run(&["send", "lead", "Go on, please."]);
    }
    let names = (0..world.members).map(name);
    let stuck = names.filter(|name| {
        open.contains_key(name) || failed.iter().any(|failed| failed.as_str() == name)
    });
    for name in stuck {
        world.runner.run(&["send", &name, "Go on, please."]);
    }
}
