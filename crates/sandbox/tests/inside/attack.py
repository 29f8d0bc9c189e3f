"""Tries to get out of a sandbox. Prints the name of each attempt that succeeded.

Arguments: home, outside, victim's pid, TCP port, UDP port, abstract name, SysV id.
The working folder is the workspace.
"""

import ctypes
import errno
import os
import socket
import struct
import sys

HOME, OUTSIDE, VICTIM, TCP, UDP, ABSTRACT, SHARED = sys.argv[1:8]
VICTIM, TCP, UDP, SHARED = int(VICTIM), int(TCP), int(UDP), int(SHARED)
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
WORK = os.getcwd()
attempts = []


def attempt(function):
    attempts.append((function.__name__, function))
    return function


def call(number, *arguments):
    """A raw system call. Raises OSError if it is refused."""
    plain = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result = libc.syscall(ctypes.c_long(number), *plain)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def several(prefix, cases):
    """One attempt for each case of name and function."""
    for name, function in cases.items():
        attempts.append((f"{prefix}_{name}", function))


def write(path, text="x"):
    def run():
        with open(path, "a") as file:
            file.write(text)
        return True
    return run


def read(path):
    def run():
        with open(path, "rb") as file:
            return len(file.read(64)) > 0
    return run


def done(function, *arguments):
    """Calls the function; success is that it does not raise."""
    def run():
        function(*arguments)
        return True
    return run


# Files outside.

several("write_outside", {
    "system": write("/usr/attack"),
    "settings": write("/etc/attack"),
    "passwords": write("/etc/passwd", ""),
    "home": write(f"{HOME}/.bashrc"),
    "new_in_home": write(f"{HOME}/attack"),
    "tools": write(f"{HOME}/.cargo/attack"),
    "other_folder": write(f"{OUTSIDE}/file"),
    "truncate": done(os.truncate, f"{OUTSIDE}/file", 0),
    "delete": done(os.unlink, f"{OUTSIDE}/file"),
    "chmod": done(os.chmod, f"{OUTSIDE}/file", 0o777),
    "by_own_root": write(f"/proc/self/root{OUTSIDE}/file"),
    "by_first_process": write(f"/proc/1/root{OUTSIDE}/file"),
    "by_first_folder": write("/proc/1/cwd/attack"),
    "by_parent_root": write(f"/proc/{os.getppid()}/root{OUTSIDE}/file"),
    "by_parent_folders": write(f"{WORK}/../outside/file"),
    "sibling_of_workspace": write(f"{WORK}/../attack"),
    "prepared_link": write("link-outside"),
})


@attempt
def write_outside_new_link():
    os.symlink(f"{OUTSIDE}/file", "new-link")
    return write("new-link")()


@attempt
def write_outside_unnamed_file():
    fd = os.open(WORK, os.O_TMPFILE | os.O_WRONLY, 0o600)
    os.link(f"/proc/self/fd/{fd}", f"{OUTSIDE}/attack", follow_symlinks=True)
    return True


@attempt
def write_outside_hard_link():
    os.link(f"{OUTSIDE}/file", "hard-link")
    return True


several("read_secret", {
    "ssh": read(f"{HOME}/.ssh/id"),
    "cargo": read(f"{HOME}/.cargo/credentials.toml"),
    "netrc": read(f"{HOME}/.netrc"),
    "own_settings": read(f"{HOME}/.config/program/config.toml"),
    "other_folder": read(f"{OUTSIDE}/file"),
    "by_own_root": read(f"/proc/self/root{HOME}/.ssh/id"),
    "by_first_process": read(f"/proc/1/root{HOME}/.ssh/id"),
    "prepared_link": read("link-secret"),
    "shadow": read("/etc/shadow"),
    "disk": read("/dev/vda"),
    "memory": read("/dev/mem"),
    "kernel_log": read("/dev/kmsg"),
    "first_memory": read("/proc/1/mem"),
    "first_environment": read("/proc/1/environ"),
    "in_workspace": read(".env"),
})


@attempt
def read_secret_variable():
    return "SECRET_KEY" in os.environ


@attempt
def read_secret_any_environment():
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if b"SECRET_KEY" in file.read():
                    return True
        except OSError:
            pass
    return False


# Control files in the workspace.

several("control", {
    "write_team": write(".team/config.json"),
    "create_in_team": write(".team/new"),
    "delete_in_team": done(os.unlink, ".team/config.json"),
    "rename_team": done(os.rename, ".team", "team-away"),
    "write_by_folder_link": write("/proc/self/cwd/.team/config.json"),
    "write_settings": write("team.toml"),
    "delete_settings": done(os.unlink, "team.toml"),
    "write_secrets": write(".env"),
    "delete_secrets": done(os.unlink, ".env"),
    "write_editor": write(".vscode/settings.json"),
    "create_in_editor": write(".vscode/tasks.json"),
    "rename_editor": done(os.rename, ".vscode", "vscode-away"),
    "write_linked": write(".mcp.json"),
    "replace_linked": done(os.unlink, ".mcp.json"),
    "write_git_config": write(".git/config"),
    "lock_git_config": done(lambda: os.rename(".git/index-new", ".git/config")),
    "create_hook": write(".git/hooks/post-commit"),
    "rename_hooks": done(os.rename, ".git/hooks", ".git/hooks-away"),
    "rename_git": done(os.rename, ".git", "git-away"),
    "write_commondir": write(".git/commondir"),
    "delete_commondir": done(os.unlink, ".git/commondir"),
    "write_worktree_config": write(".git/config.worktree"),
    "write_module_config": write(".git/modules/sub/config"),
    "create_module_hook": write(".git/modules/sub/hooks/post-checkout"),
    "create_module_commondir": write(".git/modules/sub/commondir"),
    "rename_module": done(os.rename, ".git/modules/sub", ".git/modules/away"),
    "rename_modules": done(os.rename, ".git/modules", ".git/modules-away"),
    "write_linked_commondir": write(".git/worktrees/other/commondir"),
    "write_linked_gitdir": write(".git/worktrees/other/gitdir"),
    "rename_linked": done(os.rename, ".git/worktrees/other", ".git/worktrees/away"),
    "write_named_hooks": write("hooks-here/post-commit"),
    "rename_named_hooks": done(os.rename, "hooks-here", "hooks-away"),
    "write_included_settings": write("more-settings"),
})


@attempt
def control_replace_settings():
    write("replacement")()
    os.rename("replacement", "team.toml")
    return True


@attempt
def control_exchange_team():
    os.makedirs("exchange", exist_ok=True)
    exchange = 2
    call(316, -100, ctypes.c_char_p(b"exchange"), -100, ctypes.c_char_p(b".team"), exchange)
    return True


@attempt
def control_exchange_git():
    os.makedirs("exchange-git", exist_ok=True)
    call(316, -100, ctypes.c_char_p(b"exchange-git"), -100, ctypes.c_char_p(b".git"), 2)
    return True


@attempt
def control_hard_link_to_settings():
    os.link("team.toml", "hard-link-settings")
    return write("hard-link-settings")()


@attempt
def control_link_over_settings():
    os.symlink("/tmp", "link-new")
    os.rename("link-new", ".team")
    return True


@attempt
def read_secret_in_workspace_by_hard_link():
    os.link(".env", "hard-link-secret")
    return read("hard-link-secret")()


@attempt
def control_hard_link_to_team():
    os.link(".team/config.json", "hard-link-team")
    return write("hard-link-team")()


# Processes.

several("process", {
    "kill": done(os.kill, VICTIM, 0),
    "see": lambda: os.path.exists(f"/proc/{VICTIM}"),
    "trace": done(call, 101, 16, VICTIM, 0, 0),
    "trace_first": done(call, 101, 16, 1, 0, 0),
    "read_memory": done(call, 310, VICTIM, 0, 0, 0, 0, 0),
    "descriptor_of": lambda: call(438, call(434, VICTIM, 0), 0, 0) >= 0,
    "compare": done(call, 312, os.getpid(), VICTIM, 0, 0, 0),
    "priority": done(os.setpriority, os.PRIO_PROCESS, VICTIM, 5),
    "limit": done(call, 302, VICTIM, 0, struct.pack("QQ", 1 << 40, 1 << 40), 0),
    "signal_by_descriptor": lambda: call(424, call(434, VICTIM, 0), 0, 0, 0) == 0,
    "affinity": done(os.sched_setaffinity, VICTIM, {0}),
    "files_of_first": lambda: len(os.listdir("/proc/1/cwd")) > 0,
    "root_of_first": lambda: len(os.listdir("/proc/1/root")) > 0,
})


@attempt
def process_descriptors_of_first():
    """The first process reports how the command ended over one of them."""
    for number in range(64):
        for flags in (os.O_RDONLY, os.O_WRONLY):
            try:
                os.close(os.open(f"/proc/1/fd/{number}", flags | os.O_NONBLOCK))
                return True
            except OSError:
                pass
    return False


@attempt
def process_signal_by_file():
    """Has the kernel send SIGKILL when a pipe becomes readable. Whether it died is seen outside."""
    import fcntl
    reader, writer = os.pipe()
    try:
        fcntl.fcntl(reader, fcntl.F_SETOWN, VICTIM)
        fcntl.fcntl(reader, 10, 9)
        fcntl.fcntl(reader, fcntl.F_SETFL, fcntl.fcntl(reader, fcntl.F_GETFL) | os.O_ASYNC)
        os.write(writer, b"x")
    finally:
        os.close(reader)
        os.close(writer)
    return False


@attempt
def process_namespace_of_victim():
    fd = os.open(f"/proc/{VICTIM}/ns/mnt", os.O_RDONLY)
    call(308, fd, 0)
    return True


@attempt
def process_namespace_of_first():
    fd = os.open("/proc/1/ns/mnt", os.O_RDONLY)
    call(308, fd, 0)
    return True


# Mounts and namespaces.

NEWUSER = 0x10000000
several("mount", {
    "new": lambda: libc.mount(b"t", b"/tmp", b"tmpfs", 0, None) == 0,
    "remount": lambda: libc.mount(None, b".team", None, 32 | 4096, None) == 0,
    "remount_root": lambda: libc.mount(None, b"/", None, 32, None) == 0,
    "undo_team": lambda: libc.umount2(b".team", 2) == 0,
    "undo_secret": lambda: libc.umount2(b".env", 2) == 0,
    "undo_proc": lambda: libc.umount2(b"/proc", 2) == 0,
    "pivot": done(call, 155, ctypes.c_char_p(b"."), ctypes.c_char_p(b".")),
    "chroot": done(os.chroot, "."),
    "clone_tree": done(call, 428, -100, ctypes.c_char_p(b"."), 1),
    "clone_tree_new": done(call, 467, -100, ctypes.c_char_p(b"."), 1, 0, 0),
    "attributes": done(call, 442, -100, ctypes.c_char_p(b"."), 0, 0, 0),
    "file_system": done(call, 430, ctypes.c_char_p(b"tmpfs"), 0),
    "by_handle": done(call, 304, -100, 0, 0),
})
several("namespace", {
    "user": lambda: libc.unshare(NEWUSER) == 0,
    "mount": lambda: libc.unshare(0x20000) == 0,
    "network": lambda: libc.unshare(0x40000000) == 0,
    "clone": done(call, 56, NEWUSER | 17, 0, 0, 0, 0),
    "clone3": done(call, 435, 0, 0),
})

# The kernel.

several("kernel", {
    "core_pattern": lambda: os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY) >= 0,
    "sysrq": lambda: os.open("/proc/sysrq-trigger", os.O_WRONLY) >= 0,
    "setting": lambda: os.open("/proc/sys/vm/swappiness", os.O_WRONLY) >= 0,
    "device_setting": lambda: os.open("/sys/power/state", os.O_WRONLY) >= 0,
    "host_name": lambda: libc.sethostname(b"attack", 6) == 0,
    "rings": done(call, 425, 1, ctypes.create_string_buffer(256)),
    "keys": done(call, 250, 0, -3, 0, 0, 0),
    "add_key": done(call, 248, ctypes.c_char_p(b"user"), ctypes.c_char_p(b"a"), ctypes.c_char_p(b"b"), 1, -3),
    "bpf": done(call, 321, 0, ctypes.create_string_buffer(128), 128),
    "events": done(call, 298, ctypes.create_string_buffer(128), 0, -1, -1, 0),
    "page_faults": done(call, 323, 1),
    "second_numbers": done(call, 0x40000000 + 39),
    "clock": done(lambda: os.system("date -s 2001-01-01 >/dev/null 2>&1") == 0 or 1 / 0),
    "node": done(os.mknod, "node", 0o60600, os.makedev(254, 0)),
    "capabilities": lambda: any(
        int(line.split()[1], 16)
        for line in open("/proc/self/status")
        if line.startswith(("CapPrm", "CapEff", "CapAmb"))
    ),
    "new_privileges": lambda: "NoNewPrivs:\t0" in open("/proc/self/status").read(),
})

# Network.


def connect(family, address, kind=socket.SOCK_STREAM):
    def run():
        with socket.socket(family, kind) as client:
            client.settimeout(2)
            client.connect(address)
            client.send(b"attack")
        # Whether a datagram arrived is seen outside.
        return kind != socket.SOCK_DGRAM
    return run


def create(family, kind, protocol=0):
    def run():
        socket.socket(family, kind, protocol).close()
        return True
    return run


several("network", {
    "tcp": connect(socket.AF_INET, ("127.0.0.1", TCP)),
    "udp": connect(socket.AF_INET, ("127.0.0.1", UDP), socket.SOCK_DGRAM),
    "abstract": connect(socket.AF_UNIX, "\0" + ABSTRACT),
    "local_outside": connect(socket.AF_UNIX, f"{OUTSIDE}/socket"),
    "local_in_home": connect(socket.AF_UNIX, f"{HOME}/socket"),
    "local_in_run": connect(socket.AF_UNIX, f"/run/{ABSTRACT}"),
    "local_run": connect(socket.AF_UNIX, "/run/dbus/system_bus_socket"),
    "see_run": lambda: len(os.listdir("/run")) > 0,
    "bluetooth": create(31, socket.SOCK_RAW, 1),
    "bus": create(29, socket.SOCK_RAW, 1),
    "phone": create(42, socket.SOCK_DGRAM),
    "machine": create(40, socket.SOCK_STREAM),
    "packets": create(socket.AF_PACKET, socket.SOCK_RAW),
    "raw": create(socket.AF_INET, socket.SOCK_RAW, 1),
    "ciphers": create(38, socket.SOCK_SEQPACKET),
    "audit": create(socket.AF_NETLINK, socket.SOCK_RAW, 9),
})
if os.environ.get("NETWORK") == "on":
    allowed = {"network_tcp", "network_udp"}
    attempts[:] = [(name, function) for name, function in attempts if name not in allowed]


@attempt
def network_other_interface():
    """UDP to an address that is not on this machine."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.connect(("192.0.2.1", 9))
        client.send(b"attack")
    return os.environ.get("NETWORK") != "on"


# Shared memory, set-id files, descriptors.


@attempt
def memory_remove_shared():
    if libc.shmctl(SHARED, 0, None) != 0:
        raise OSError(ctypes.get_errno(), "refused")
    return True


@attempt
def memory_attach_shared():
    libc.shmat.restype = ctypes.c_void_p
    address = libc.shmat(SHARED, None, 0)
    return address not in (None, ctypes.c_void_p(-1).value)


@attempt
def memory_remove_queue():
    if libc.mq_unlink(b"/" + ABSTRACT.encode()) != 0:
        raise OSError(ctypes.get_errno(), "refused")
    return True


def other_numbers(number, *arguments):
    """A system call by its number of 32-bit programs, in a child because the filter may kill it."""
    import mmap
    code = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40, 7)
    start = ctypes.addressof(ctypes.c_char.from_buffer(code))
    loads = b"".join(
        load + struct.pack("<I", value if isinstance(value, int) else start + 1024)
        for load, value in zip((b"\xbb", b"\xb9", b"\xba"), arguments)
    )
    for value in arguments:
        if isinstance(value, bytes):
            code[1024:1024 + len(value) + 1] = value + b"\0"
    code[0:1] = b"\x53"
    body = b"\xb8" + struct.pack("<I", number) + loads + b"\xcd\x80\x5b\xc3"
    code[1:1 + len(body)] = body
    child = os.fork()
    if child == 0:
        ctypes.CFUNCTYPE(ctypes.c_int)(start)()
        os._exit(0)
    return os.waitpid(child, 0)[1]


@attempt
def set_id_by_other_numbers():
    write("set-id-32")()
    other_numbers(15, b"set-id-32", 0o4755)
    return bool(os.stat("set-id-32").st_mode & 0o6000)


@attempt
def kernel_other_numbers():
    """`getpid` by its old number does no harm, and shows whether the others are open."""
    return other_numbers(20) == 0


def set_id(function):
    def run():
        write("set-id")()
        function()
        return bool(os.stat("set-id").st_mode & 0o6000)
    return run


def create_with(mode, *flags):
    def run():
        fd = os.open("set-id-new", os.O_CREAT | os.O_WRONLY, mode)
        found = os.fstat(fd).st_mode & 0o6000
        os.unlink("set-id-new")
        return bool(found)
    return run


several("set_id", {
    "user": set_id(lambda: os.chmod("set-id", 0o4755)),
    "group": set_id(lambda: os.chmod("set-id", 0o2755)),
    "by_descriptor": set_id(lambda: os.fchmod(os.open("set-id", os.O_RDONLY), 0o6755)),
    "at": set_id(lambda: call(268, -100, ctypes.c_char_p(b"set-id"), 0o4755)),
    "at_new": set_id(lambda: call(452, -100, ctypes.c_char_p(b"set-id"), 0o4755, 0)),
    "old_call": set_id(lambda: call(90, ctypes.c_char_p(b"set-id"), 0o4755)),
    "create": create_with(0o6777),
    "create_old": lambda: call(85, ctypes.c_char_p(b"set-id-old"), 0o6755) >= 0
    and bool(os.stat("set-id-old").st_mode & 0o6000),
    "create_new": lambda: call(437, -100, ctypes.c_char_p(b"set-id-2"),
                               struct.pack("QQQ", os.O_CREAT | os.O_WRONLY, 0o6755, 0), 24) >= 0,
    "folder": lambda: os.mkdir("set-id-folder", 0o6755) is None
    and bool(os.stat("set-id-folder").st_mode & 0o6000),
    "capability": lambda: os.setxattr("set-id", "security.capability", bytes.fromhex("0100000200ffffff00ffffff00000000000000000000000000")[:20])
    is None,
    "by_link": set_id(lambda: os.chmod("/proc/self/cwd/set-id", 0o4755)),
    "node": lambda: os.mknod("set-id-node", 0o106755) is None
    and bool(os.stat("set-id-node").st_mode & 0o6000),
    "unnamed": lambda: bool(os.fstat(os.open(".", os.O_TMPFILE | os.O_WRONLY, 0o6777)).st_mode & 0o6000),
})


@attempt
def descriptor_inherited():
    """Anything but the three standard ones, and what this program has opened."""
    for name in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{name}")
            if int(name) > 2 and not target.startswith(("/proc/", "anon_inode:", WORK)):
                return True
        except OSError:
            pass
    return False


@attempt
def descriptor_input_reopened():
    return write("/proc/self/fd/0")()


def lease(path, kind):
    def run():
        import fcntl
        fcntl.fcntl(os.open(path, os.O_RDONLY), 1024, kind)
        return True
    return run


# Whoever holds a lease keeps programs outside from opening the file.

several("lease", {
    "control_to_read": lease(".git/config", 0),
    "control_to_write": lease(".git/config", 1),
    "own_file": lease("attack.py", 0),
    "system": lease("/etc/hostname", 0),
})


@attempt
def terminal_input():
    import fcntl
    return fcntl.ioctl(2, 0x5412, b"x") is not None


@attempt
def left_running():
    """Writes a file two seconds after the command has ended. The lock tells when it is over."""
    import fcntl
    lock = open("survivor.lock", "w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for fd in range(3):
                os.close(fd)
            import time
            time.sleep(2)
            write("survivor")()
        os._exit(0)
    return False


def main():
    for name, function in attempts:
        try:
            if function():
                print("THROUGH", name, flush=True)
        except (OSError, ZeroDivisionError):
            pass
    print("TRIED", len(attempts), flush=True)
    sys.stdout.flush()
    os._exit(0)


main()
