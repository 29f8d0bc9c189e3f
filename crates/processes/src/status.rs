//! What the files and the operating system show of members. Nothing here changes anything.

pub(crate) mod idle_check;
pub(crate) mod member_view;
pub(crate) mod unread;
