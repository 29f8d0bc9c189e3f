//! Seeing what goes on and what is wrong, with the real programs.

mod answers;
mod doctor;
mod replay;
mod screen;
mod sizes;
