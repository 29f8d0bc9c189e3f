//! The prices of a workspace, for a process that runs for long.

use crate::config::load;
use budget::PriceSource;
use catalogue::Catalogue;
use llm::Variables;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use trust::Owners;

/// The current prices of a workspace, read again on each call, because a person may add a price
/// while an agent waits for it. While a file cannot be read, the last prices apply.
pub fn price_source(workspace: &Path, variables: Variables, owners: Owners) -> PriceSource {
    let workspace = workspace.to_path_buf();
    let last = Mutex::new(Catalogue::default());
    Arc::new(move || {
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Ok(config) = load(&workspace, &variables, &owners) {
            *last = config.catalogue();
        }
        last.clone()
    })
}
