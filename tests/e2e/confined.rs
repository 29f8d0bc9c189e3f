//! What a member's tools can do, whatever its model wants: real members whose model is hijacked, and
//! members that do ordinary work.

mod attacks;
mod cut_off;
mod files;
mod levels;
pub(crate) mod place;
mod plan;
mod work;
