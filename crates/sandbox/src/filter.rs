//! The system calls that a command may not make.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch, sock_filter,
};

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Calls that no ordinary work needs, and that bypass the other layers or reach parts of the kernel in
/// which most vulnerabilities were found.
const REFUSED: &[i64] = &[
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_bpf,
    libc::SYS_chroot,
    libc::SYS_delete_module,
    libc::SYS_fanotify_init,
    libc::SYS_finit_module,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_init_module,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_kcmp,
    libc::SYS_kexec_file_load,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_lookup_dcookie,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    OPEN_TREE_ATTR,
    libc::SYS_perf_event_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pivot_root,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    libc::SYS_quotactl,
    QUOTACTL_FD,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_setns,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_umount2,
    libc::SYS_userfaultfd,
    libc::SYS_vhangup,
];

/// The numbers of calls that are newer than the declarations in `libc`. They are the same on every
/// architecture.
const QUOTACTL_FD: i64 = 443;
const OPEN_TREE_ATTR: i64 = 467;

/// Commands of `fcntl` that anybody who may read a file of the user's can use to keep others from opening
/// it for writing, such as a program's journal or lock outside.
const F_SETLEASE: u64 = 1024;
const F_SETDELEG: u64 = 1040;

/// Calls whose arguments are in memory, where a filter cannot see them. Programs fall back to older calls
/// if these do not exist.
const UNKNOWN: &[i64] = &[libc::SYS_clone3, libc::SYS_openat2];

/// Calls that reach queues, semaphores and shared memory of the user's other programs. With namespaces a
/// command has its own.
const SHARED: &[i64] = &[
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_msgctl,
    libc::SYS_msgget,
    libc::SYS_msgrcv,
    libc::SYS_msgsnd,
    libc::SYS_semctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_shmget,
];

/// Flags of `clone` and `unshare` that create namespaces.
const NAMESPACES: [i32; 8] = [
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    NEWTIME,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWUTS,
];
/// For `unshare`; in `clone` the bit is part of a signal number that no program uses.
const NEWTIME: i32 = 0x80;

/// The set-user-id and set-group-id bits of a mode.
const SET_ID: [u32; 2] = [0o4000, 0o2000];

/// What may be used of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Allowed {
    /// IPv4 and IPv6.
    pub(crate) internet: bool,
    /// Local sockets that have a name. Pairs without a name are always allowed.
    pub(crate) local: bool,
    /// Other processes by their numbers, and shared memory and queues. With namespaces this is harmless,
    /// because the command sees only its own.
    pub(crate) others: bool,
}

/// The filter program to install. It depends on `allowed` alone, so each variant is compiled once.
pub(crate) fn program(allowed: Allowed) -> Result<Arc<BpfProgram>, BackendError> {
    static COMPILED: Mutex<Vec<(Allowed, Arc<BpfProgram>)>> = Mutex::new(Vec::new());
    let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, known)) = compiled.iter().find(|(known, _)| *known == allowed) {
        return Ok(Arc::clone(known));
    }
    let new = Arc::new([unknown(), compile(refused(allowed)?)?].concat());
    compiled.push((allowed, Arc::clone(&new)));
    Ok(new)
}

/// Compiles a filter that also kills programs of other architectures.
fn compile(rules: Rules) -> Result<BpfProgram, BackendError> {
    let errno = SeccompAction::Errno(libc::EPERM.cast_unsigned());
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    SeccompFilter::new(rules, SeccompAction::Allow, errno, arch)?.try_into()
}

fn calls(numbers: &[i64]) -> Rules {
    numbers.iter().map(|number| (*number, Vec::new())).collect()
}

fn refused(allowed: Allowed) -> Result<Rules, BackendError> {
    let mut rules = calls(REFUSED);
    if !allowed.others {
        rules.extend(calls(SHARED));
        limits_of_others(&mut rules)?;
    }
    rules.insert(
        libc::SYS_clone,
        any_flag(0, NAMESPACES.into_iter().filter(|flag| *flag != NEWTIME))?,
    );
    rules.insert(libc::SYS_unshare, any_flag(0, NAMESPACES)?);
    // Both calls type characters into a terminal.
    let typing = [libc::TIOCSTI, libc::TIOCLINUX];
    let typing = typing.map(|request| SeccompRule::new(vec![equal(1, request)?]));
    rules.insert(
        libc::SYS_ioctl,
        typing.into_iter().collect::<Result<_, _>>()?,
    );
    let leases = [F_SETLEASE, F_SETDELEG];
    let leases = leases.map(|command| SeccompRule::new(vec![equal(1, command)?]));
    rules.insert(
        libc::SYS_fcntl,
        leases.into_iter().collect::<Result<_, _>>()?,
    );
    rules.insert(libc::SYS_socket, refused_sockets(allowed)?);
    modes(&mut rules)?;
    Ok(rules)
}

/// Everything but the allowed families; of netlink only the protocol that lists interfaces.
fn refused_sockets(sockets: Allowed) -> Result<Vec<SeccompRule>, BackendError> {
    let mut allowed = vec![libc::AF_NETLINK];
    if sockets.internet {
        allowed.extend([libc::AF_INET, libc::AF_INET6]);
    }
    if sockets.local {
        allowed.push(libc::AF_UNIX);
    }
    let others = allowed.iter().map(|family| {
        let family = u64::from(family.cast_unsigned());
        SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, family)
    });
    let others = SeccompRule::new(others.collect::<Result<_, _>>()?)?;
    let route = u64::from(libc::NETLINK_ROUTE.cast_unsigned());
    let other_netlink = SeccompRule::new(vec![
        equal(0, libc::AF_NETLINK.cast_unsigned().into())?,
        SeccompCondition::new(2, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, route)?,
    ])?;
    Ok(vec![others, other_netlink])
}

/// Limits may not be set for other processes: a limit on processor time ends a process, and one on file
/// sizes keeps it from writing. Zero means the process itself, except for priorities, where it may mean all
/// processes of the user.
fn limits_of_others(rules: &mut Rules) -> Result<(), BackendError> {
    let other = |argument| {
        let other = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, 0)?;
        SeccompRule::new(vec![other])
    };
    rules.insert(libc::SYS_prlimit64, vec![other(0)?]);
    let whole_user = SeccompRule::new(vec![equal(0, u64::from(libc::PRIO_USER))?])?;
    rules.insert(libc::SYS_setpriority, vec![other(1)?, whole_user]);
    Ok(())
}

/// Refuses the calls that would create a set-id file, which would belong to the user outside of the
/// sandbox.
fn modes(rules: &mut Rules) -> Result<(), BackendError> {
    let create = [libc::O_CREAT, libc::O_TMPFILE & !libc::O_DIRECTORY];
    #[cfg(target_arch = "x86_64")]
    {
        rules.insert(libc::SYS_chmod, any_flag(1, SET_ID)?);
        rules.insert(libc::SYS_creat, any_flag(1, SET_ID)?);
        rules.insert(libc::SYS_mknod, any_flag(1, SET_ID)?);
        rules.insert(libc::SYS_open, creating(1, create, 2)?);
    }
    rules.insert(libc::SYS_fchmod, any_flag(1, SET_ID)?);
    rules.insert(libc::SYS_fchmodat, any_flag(2, SET_ID)?);
    rules.insert(libc::SYS_fchmodat2, any_flag(2, SET_ID)?);
    rules.insert(libc::SYS_mknodat, any_flag(2, SET_ID)?);
    rules.insert(libc::SYS_openat, creating(2, create, 3)?);
    Ok(())
}

/// A mode only counts together with a flag that creates a file.
fn creating(flags: u8, create: [i32; 2], mode: u8) -> Result<Vec<SeccompRule>, BackendError> {
    let mut rules = Vec::new();
    for create in create {
        for bit in SET_ID {
            let both = vec![has(flags, create.cast_unsigned())?, has(mode, bit)?];
            rules.push(SeccompRule::new(both)?);
        }
    }
    Ok(rules)
}

fn any_flag<T: Flag>(
    argument: u8,
    flags: impl IntoIterator<Item = T>,
) -> Result<Vec<SeccompRule>, BackendError> {
    let rules = flags
        .into_iter()
        .map(|flag| SeccompRule::new(vec![has(argument, flag.bits())?]));
    rules.collect()
}

/// A flag of the C interface, declared signed or unsigned.
trait Flag {
    fn bits(self) -> u32;
}

impl Flag for u32 {
    fn bits(self) -> u32 {
        self
    }
}

impl Flag for i32 {
    fn bits(self) -> u32 {
        self.cast_unsigned()
    }
}

fn has(argument: u8, bit: u32) -> Result<SeccompCondition, BackendError> {
    let bit = u64::from(bit);
    SeccompCondition::new(
        argument,
        SeccompCmpArgLen::Dword,
        SeccompCmpOp::MaskedEq(bit),
        bit,
    )
}

fn equal(argument: u8, value: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)
}

/// The start of the program: it answers some calls as if they did not exist, and passes the others on to
/// what follows. A separate filter for this would cost every command the time to install it.
///
/// The second set of call numbers of x86-64, which the rest does not check, is among the calls that do not
/// exist.
fn unknown() -> BpfProgram {
    const FIRST_OF_X32: u32 = 0x4000_0000;
    const LOAD: u16 = 0x20;
    const NUMBER: u32 = 0;
    const JUMP_IF_EQUAL: u16 = 0x15;
    const JUMP_IF_AT_LEAST: u16 = 0x35;
    const RETURN: u16 = 0x06;
    const ERRNO: u32 = 0x0005_0000;
    let instruction = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    let no_such_call = || instruction(RETURN, 0, 0, ERRNO | libc::ENOSYS.cast_unsigned());
    let mut program = vec![instruction(LOAD, 0, 0, NUMBER)];
    let numbers = UNKNOWN
        .iter()
        .filter_map(|number| u32::try_from(*number).ok());
    for number in numbers {
        program.extend([instruction(JUMP_IF_EQUAL, 0, 1, number), no_such_call()]);
    }
    if cfg!(target_arch = "x86_64") {
        let x32 = instruction(JUMP_IF_AT_LEAST, 0, 1, FIRST_OF_X32);
        program.extend([x32, no_such_call()]);
    }
    program
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_compiles_for_every_choice() {
        for bits in 0..8_u8 {
            let [internet, local, others] = [1, 2, 4].map(|bit| bits & bit != 0);
            let allowed = Allowed {
                internet,
                local,
                others,
            };
            let program = program(allowed).unwrap();
            // The kernel accepts at most 4096 instructions.
            assert!(program.len() > unknown().len() && program.len() < 4096);
        }
    }
}
