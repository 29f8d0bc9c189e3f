//! Teams of real processes: members that think with a server that plays their models, with a
//! script, or offline; killed, stopped, refused and asked to end in every state.

mod context;
mod crash;
mod edge_cases;
mod explore;
mod failures;
mod folder_gone;
mod foreign;
mod full;
mod logging;
mod mail;
mod outside;
mod permission;
mod plan;
mod shutdown;
mod stop;
mod swarm;
mod sweep;
mod tasks;
