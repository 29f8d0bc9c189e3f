//! After the last blow: everybody is brought back, and all work comes to its end.

use crate::restarter::Nurse;
use crate::world::{World, name};
use processes::Quiet;
use protocol::{AgentName, TaskStatus};
use std::thread;
use std::time::{Duration, Instant};

/// How often the team is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// How often those are reminded whose turn failed with something left to do.
const REMIND_EVERY: Duration = Duration::from_secs(5);

/// Waits until the team is at rest with nothing left to do. Returns why it is not, if the limit passes.
pub(crate) fn settle(
    world: &World,
    nurse: &mut Nurse<'_>,
    limit: Duration,
    say: &dyn Fn(&str),
) -> Vec<String> {
    let start = Instant::now();
    let mut reminded = Instant::now();
    let mut said = Instant::now();
    loop {
        nurse.tend();
        let left = left(world, nurse);
        if left.is_empty() || start.elapsed() > limit {
            return left;
        }
        if said.elapsed() > REMIND_EVERY {
            said = Instant::now();
            say(&format!("coming to rest: {}", left.join("; ")));
        }
        if reminded.elapsed() > REMIND_EVERY {
            remind(world);
            reminded = Instant::now();
        }
        thread::sleep(POLL_INTERVAL);
    }
}

/// What keeps the team from rest, in words.
fn left(world: &World, nurse: &mut Nurse<'_>) -> Vec<String> {
    let mut left = Vec::new();
    if !nurse.all_live() {
        left.push("somebody is gone".to_owned());
    }
    match processes::quiet(&world.team) {
        Ok(Quiet::Yes {
            failed,
            waiting_plan,
        }) => {
            let stuck = failed.iter().chain(&waiting_plan);
            left.extend(stuck.map(|name| format!("'{name}' failed or waits")));
        }
        Ok(Quiet::No { why }) => left.push(why),
        Err(error) => left.push(error.to_string()),
    }
    let open = world.brain.open();
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

/// Writes to those who would not go on by themselves, as a person does.
fn remind(world: &World) {
    let open = world.brain.open();
    let (failed, waiting): (Vec<AgentName>, bool) = match processes::quiet(&world.team) {
        Ok(Quiet::Yes {
            failed,
            waiting_plan,
        }) => (failed, !waiting_plan.is_empty()),
        Ok(Quiet::No { .. }) | Err(_) => (Vec::new(), false),
    };
    if waiting {
        // A lead whose model could not be reached tries again when something comes.
        world.office.run(&["send", "lead", "Go on, please."]);
    }
    let names = (0..world.members).map(name);
    let stuck = names.filter(|name| {
        open.contains_key(name) || failed.iter().any(|failed| failed.as_str() == name)
    });
    for name in stuck {
        world.office.run(&["send", &name, "Go on, please."]);
    }
}
