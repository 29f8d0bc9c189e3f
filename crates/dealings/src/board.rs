//! The board on disk.
