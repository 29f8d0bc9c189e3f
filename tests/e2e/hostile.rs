//! Hostile files, servers and names: whoever can write to a team folder can put anything there, and a
//! server can answer anything.

mod files;
mod names;
mod servers;
mod text;
