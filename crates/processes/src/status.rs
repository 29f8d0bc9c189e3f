//! Reads the state of members from the files and the operating system. Changes nothing.

pub(crate) mod host_view;
pub(crate) mod idle_check;
pub(crate) mod member_view;
pub(crate) mod progress;
pub(crate) mod unread;
