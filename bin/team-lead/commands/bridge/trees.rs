//! The git side of a bridge, in a thread of its own: bundles for other hosts are made, those that have come are
//! taken, and the queue is worked through if it is at home here.

use integration::{Integration, IntegrationError};
use member::{SandboxSettings, TrustCheck, log_queue, open_trees};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};
use teamdir::{TeamDir, WatchChoice, Watcher};
use tracing::warn;

/// How often is looked at the latest: a missed notification costs this long.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// How long is waited after an error, which may pass by itself.
const PAUSE: Duration = Duration::from_secs(10);

/// The thread. It ends between two steps after this is dropped, and with the process at any step.
pub(super) struct TreeThread {
    is_over: Arc<AtomicBool>,
    _end: mpsc::Sender<()>,
}

impl Drop for TreeThread {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
    }
}

/// Begins to move work in trees.
pub(super) fn start(team: &TeamDir) -> TreeThread {
    let is_over = Arc::new(AtomicBool::new(false));
    let (end, ended) = mpsc::channel();
    let (team, flag) = (team.clone(), Arc::clone(&is_over));
    let started = thread::Builder::new()
        .name("trees".to_owned())
        .spawn(move || run(&team, &flag, &ended));
    if let Err(error) = started {
        warn!("work in trees does not cross: {error}");
    }
    TreeThread { is_over, _end: end }
}

fn run(team: &TeamDir, is_over: &AtomicBool, ended: &mpsc::Receiver<()>) {
    let mut watcher = Watcher::new(team.layout().root(), WatchChoice::Auto);
    let (mut trees, mut problem) = (None, None);
    while !is_over.load(Ordering::Acquire) {
        watch(team, &mut watcher);
        match work(team, &mut trees) {
            Ok(()) => problem = None,
            Err(error) => {
                let text = error.to_string();
                if problem.as_ref() != Some(&text) {
                    warn!("work in trees does not cross: {text}");
                }
                problem = Some(text);
                // Whoever drops the other end has ended.
                let _ = ended.recv_timeout(PAUSE);
                continue;
            }
        }
        watcher.wait(Some(Instant::now() + LOOK_EVERY));
    }
}

fn watch(team: &TeamDir, watcher: &mut Watcher) {
    let layout = team.layout();
    watcher.watch_folder(layout.root());
    watcher.watch_folder(&layout.submissions_dir());
    for host in team.peers().unwrap_or_default() {
        watcher.watch_folder(&layout.bundles_in(&host));
    }
}

/// Does what there is to do now. `known` are the trees as they were opened last.
fn work(team: &TeamDir, known: &mut Option<Integration>) -> Result<(), IntegrationError> {
    let is_due = Integration::is_queue_due(team);
    // Hosts that have nothing to do with trees need no repository.
    if !is_due && !team.workspace().join(".git").exists() {
        return Ok(());
    }
    if let (Some(trees), false) = (known.as_ref(), is_due)
        && !trees.is_following_due()?
    {
        return Ok(());
    }
    *known = None;
    let Ok(settings) = member::load_settings(team.workspace()) else {
        return Ok(());
    };
    let config = &settings.config;
    let sandbox = SandboxSettings {
        mode: config.sandbox().value.unwrap_or_default(),
        network: config.network().value.unwrap_or_default(),
    };
    let trees = known.insert(open_trees(team, config, &sandbox)?);
    if !is_due && !trees.is_following_due()? {
        return Ok(());
    }
    let check = TrustCheck::of_workspace(team.workspace(), &settings, Some(team));
    // What people have set is run only if its user trusts it; the rest needs nothing of it.
    match check.is_ok_and(|check| check.require_trust().is_ok()) {
        true => {
            let ran = trees.run_queue();
            log_queue(&ran);
            ran.map(drop)
        }
        false => trees.exchange().map(drop),
    }
}
