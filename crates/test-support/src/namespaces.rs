//! A command that cannot create namespaces, as in many containers.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use libc::{c_ulong, sock_filter, sock_fprog};

/// Lets the kernel refuse user namespaces to a command and to all that it starts.
pub fn forbid_namespaces(command: &mut Command) {
    // SAFETY: installing a filter is two system calls on memory of the stack.
    unsafe {
        command.pre_exec(install);
    }
}

fn install() -> io::Result<()> {
    const LOAD: u16 = 0x20;
    const EQUAL: u16 = 0x15;
    const ANY_BIT: u16 = 0x45;
    const RETURN: u16 = 0x06;
    /// The offsets of the call's number and of its first argument.
    const NUMBER: u32 = 0;
    const FIRST: u32 = 16;
    const REFUSE: u32 = 0x0005_0000 | libc::EPERM.cast_unsigned();
    const ALLOW: u32 = 0x7fff_0000;
    let step = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    let number = |call: libc::c_long| u32::try_from(call).unwrap_or(u32::MAX);
    let mut steps = [
        step(LOAD, 0, 0, NUMBER),
        step(EQUAL, 1, 0, number(libc::SYS_unshare)),
        step(EQUAL, 0, 3, number(libc::SYS_clone)),
        step(LOAD, 0, 0, FIRST),
        step(ANY_BIT, 0, 1, libc::CLONE_NEWUSER.cast_unsigned()),
        step(RETURN, 0, 0, REFUSE),
        step(RETURN, 0, 0, ALLOW),
    ];
    let program = sock_fprog {
        len: 7,
        filter: steps.as_mut_ptr(),
    };
    let none: c_ulong = 0;
    let one: c_ulong = 1;
    // SAFETY: the program lives on the stack until the kernel has copied it.
    let results = unsafe {
        [
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, one, none, none, none),
            libc::prctl(
                libc::PR_SET_SECCOMP,
                libc::SECCOMP_MODE_FILTER,
                &raw const program,
            ),
        ]
    };
    match results {
        [0, 0] => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
