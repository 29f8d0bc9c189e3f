//! The life of a teammate process.
