//! Attacks from inside a sandbox, and real work in it: with all layers and without namespaces, as
//! this user and, where the tests run as root, as an unprivileged one.

mod attacks;
mod cost;
mod place;
mod places;
mod runner;
mod work;
