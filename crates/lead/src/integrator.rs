//! Integrates submissions that nobody else integrates.

use config::Config;
use integration::Integration;
use member::{SandboxSettings, log_queue, open_trees};
use std::sync::atomic::{AtomicBool, Ordering};
use teamdir::TeamDir;

/// What is needed to integrate submissions.
pub(crate) struct Integrator {
    config: Config,
    sandbox: SandboxSettings,
    is_busy: AtomicBool,
}

impl Integrator {
    pub(crate) const fn new(config: Config, sandbox: SandboxSettings) -> Self {
        Self {
            config,
            sandbox,
            is_busy: AtomicBool::new(false),
        }
    }

    /// Works through the queue, if there is anything in it and this process is not at it already.
    pub(crate) fn run(&self, team: &TeamDir) {
        if !Integration::is_queue_due(team) || self.is_busy.swap(true, Ordering::AcqRel) {
            return;
        }
        let ran = open_trees(team, &self.config, &self.sandbox).and_then(|trees| trees.run_queue());
        self.is_busy.store(false, Ordering::Release);
        log_queue(&ran);
    }
}
