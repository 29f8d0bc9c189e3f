//! The rules of this repository, as tests: who may depend on whom, how large files may grow, and
//! that the documents speak of what exists. They need nothing but `cargo test`.

mod decisions;
mod docs;
mod layers;
mod modules;
mod names;
mod settings;
mod sizes;
mod sources;
mod targets;
