//! The two programs as a person uses them, and the folder as other programs see it.

mod cli;
