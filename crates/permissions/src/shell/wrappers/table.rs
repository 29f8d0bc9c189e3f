//! The programs that run other programs.

/// A program that runs the command in its arguments.
pub(super) struct Wrapper {
    pub(super) name: &'static str,
    /// Its options that have no value.
    pub(super) flags: &'static [&'static str],
    /// Its options that have a value, in the next word or attached.
    pub(super) valued: &'static [&'static str],
    /// The number of its own operands before the command.
    pub(super) operands: usize,
    /// Whether it adds nothing to what the command may do, so that it needs no rule of its own.
    pub(super) is_free: bool,
}

const fn wrapper(
    name: &'static str,
    flags: &'static [&'static str],
    valued: &'static [&'static str],
    operands: usize,
    is_free: bool,
) -> Wrapper {
    Wrapper {
        name,
        flags,
        valued,
        operands,
        is_free,
    }
}

pub(super) const WRAPPERS: &[Wrapper] = &[
    wrapper(
        "env",
        &[
            "-i",
            "-0",
            "-v",
            "-",
            "--ignore-environment",
            "--null",
            "--debug",
        ],
        &["-u", "--unset"],
        0,
        true,
    ),
    wrapper("nohup", &[], &[], 0, true),
    wrapper(
        "setsid",
        &["-c", "-f", "-w", "--ctty", "--fork", "--wait"],
        &[],
        0,
        true,
    ),
    wrapper("nice", &[], &["-n", "--adjustment"], 0, true),
    wrapper(
        "ionice",
        &["-t", "--ignore"],
        &["-c", "-n", "--class", "--classdata"],
        0,
        true,
    ),
    wrapper(
        "timeout",
        &[
            "-f",
            "-p",
            "-v",
            "--foreground",
            "--preserve-status",
            "--verbose",
        ],
        &["-k", "-s", "--kill-after", "--signal"],
        1,
        true,
    ),
    wrapper(
        "stdbuf",
        &[],
        &["-i", "-o", "-e", "--input", "--output", "--error"],
        0,
        true,
    ),
    wrapper(
        "time",
        &["-p", "-v", "--portability", "--verbose"],
        &["-f", "--format"],
        0,
        true,
    ),
    wrapper("command", &["-p", "-v", "-V"], &[], 0, true),
    wrapper("builtin", &[], &[], 0, true),
    wrapper("exec", &["-c", "-l"], &["-a"], 0, true),
    wrapper(
        "xargs",
        &[
            "-0",
            "-r",
            "-t",
            "-x",
            "--null",
            "--no-run-if-empty",
            "--verbose",
            "--exit",
        ],
        &[
            "-I",
            "-n",
            "-P",
            "-L",
            "-s",
            "-d",
            "-E",
            "--replace",
            "--max-args",
            "--max-procs",
            "--max-lines",
            "--max-chars",
            "--delimiter",
        ],
        0,
        true,
    ),
    wrapper(
        "sudo",
        &["-n", "-E", "-H", "-S", "-k", "-b", "-A"],
        &["-u", "-g", "-p", "-C"],
        0,
        false,
    ),
    wrapper("doas", &["-n"], &["-u", "-C"], 0, false),
    wrapper("busybox", &[], &[], 0, false),
    wrapper("chroot", &[], &["--userspec", "--groups"], 1, false),
    wrapper(
        "flock",
        &["-n", "-s", "-x", "-u", "-e"],
        &["-w", "-E"],
        1,
        false,
    ),
    wrapper(
        "strace",
        &["-f", "-ff", "-c", "-t", "-tt", "-T", "-y"],
        &["-e", "-s", "-p"],
        0,
        false,
    ),
    wrapper("ltrace", &["-f", "-c", "-S"], &["-e", "-s"], 0, false),
    wrapper("taskset", &["-a", "-c"], &[], 1, false),
    wrapper("chrt", &["-a", "-b", "-f", "-i", "-o", "-r"], &[], 1, false),
    wrapper("unshare", &[], &[], 0, false),
    wrapper("fakeroot", &[], &[], 0, false),
];

/// Programs that run commands in a way that is not followed: what they run may be anything.
pub(super) const OPAQUE: &[&str] = &[
    "coproc",
    "fish",
    "ksh",
    "parallel",
    "runuser",
    "script",
    "su",
    "systemd-run",
    "watch",
    "zsh",
];
pub(super) const SHELLS: &[&str] = &["ash", "bash", "dash", "sh"];

/// Words with which bash starts or ends something else than a simple command.
pub(super) const RESERVED: &[&str] = &[
    "!", "[[", "]]", "case", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if",
    "in", "select", "then", "until", "while", "{", "}",
];

/// Commands of the shell that evaluate the index in an argument such as `a[$(id)]`, though it is quoted.
pub(super) const EVALUATING: &[&str] = &[
    "[",
    "declare",
    "export",
    "let",
    "local",
    "mapfile",
    "printf",
    "read",
    "readarray",
    "readonly",
    "test",
    "typeset",
    "unset",
    "wait",
];
