//! The usual rules.

use super::script::{FORK_BOMB, UNREADABLE};
use super::{Invocation, Rule};

pub(super) fn usual() -> Vec<Rule> {
    vec![
        Rule::new("remove-root", remove_root),
        Rule::new("other-user", other_user),
        Rule::new("power", power),
        Rule::new("format", format_disk),
        Rule::new("raw-device", raw_device),
        Rule::new("kill-all", kill_all),
        Rule::new("fork-bomb", |invocation| {
            (invocation.program == FORK_BOMB)
                .then(|| "it starts copies of itself without end (a fork bomb)".to_owned())
        }),
        Rule::new("unreadable", |invocation| {
            (invocation.program == UNREADABLE)
                .then(|| "it is nested too deeply to be understood".to_owned())
        }),
    ]
}

/// Deleting, or changing the rights of, the system or a home as a whole.
fn remove_root(invocation: &Invocation) -> Option<String> {
    let program = invocation.program.as_str();
    let recursive = match program {
        "rm" | "chmod" | "chown" | "chgrp" => is_recursive(invocation),
        "find" => invocation.arguments.iter().any(|word| word == "-delete"),
        _ => false,
    };
    if !recursive {
        return None;
    }
    let no_guard = |word: &&String| word.starts_with("--no-preserve-root");
    if let Some(word) = invocation.arguments.iter().find(no_guard) {
        return Some(format!("`{program}` with {word}"));
    }
    let mut operands = operands(invocation);
    let target = operands.find(|word| is_critical(word))?;
    let what = if matches!(program, "rm" | "find") {
        "deletes"
    } else {
        "changes the rights of everything in"
    };
    Some(format!("`{program}` {what} {target}"))
}

fn is_recursive(invocation: &Invocation) -> bool {
    let mut options = invocation.arguments.iter().take_while(|word| *word != "--");
    options.any(|word| {
        let long = word.strip_prefix("--");
        match long {
            Some(long) => !long.is_empty() && "recursive".starts_with(long),
            None => word.starts_with('-') && word.contains(['r', 'R']),
        }
    })
}

/// The words that are no options.
fn operands(invocation: &Invocation) -> impl Iterator<Item = &String> {
    let mut options_over = false;
    invocation.arguments.iter().filter(move |word| {
        if *word == "--" {
            options_over = true;
            return false;
        }
        options_over || !word.starts_with('-') || word.len() == 1
    })
}

/// The folders of a system that nobody deletes as a whole on purpose.
const SYSTEM: &[&str] = &[
    "bin", "boot", "dev", "etc", "home", "lib", "lib32", "lib64", "media", "mnt", "opt", "proc",
    "root", "run", "sbin", "srv", "sys", "usr", "var",
];

/// Whether a path is the root, a home, or a folder of the system, or all that is in one of them.
fn is_critical(path: &str) -> bool {
    let home = ["~", "$HOME"].into_iter().find_map(|home| {
        let rest = path.strip_prefix(home)?;
        (rest.is_empty() || rest.starts_with('/')).then_some(rest)
    });
    let parts = parts(home.unwrap_or(path));
    if home.is_some() {
        return matches!(parts.as_slice(), [] | ["*" | ".*" | "{*,.*}"]);
    }
    if !path.starts_with('/') {
        return false;
    }
    match parts.as_slice() {
        [] => true,
        [first] => SYSTEM.contains(first) || first.contains(['*', '?', '[', '{']),
        ["home", _] => true,
        [first, "*"] => SYSTEM.contains(first),
        _ => false,
    }
}

/// The names in a path, with dots resolved as far as the text allows.
fn parts(path: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts
}

/// Running something as another user.
fn other_user(invocation: &Invocation) -> Option<String> {
    let program = invocation.program.as_str();
    let other = ["sudo", "su", "doas", "pkexec", "runuser", "sudoedit"].contains(&program);
    other.then(|| format!("`{program}` runs commands as another user"))
}

/// Turning the machine off.
fn power(invocation: &Invocation) -> Option<String> {
    let program = invocation.program.as_str();
    let has = |words: &[&str]| {
        invocation
            .arguments
            .iter()
            .any(|a| words.contains(&a.as_str()))
    };
    let off = match program {
        "shutdown" | "reboot" | "halt" | "poweroff" | "telinit" => true,
        "init" => has(&["0", "6"]),
        "systemctl" | "loginctl" => has(&[
            "poweroff",
            "reboot",
            "halt",
            "kexec",
            "suspend",
            "hibernate",
            "soft-reboot",
        ]),
        _ => false,
    };
    off.then(|| format!("`{program}` stops or restarts the machine"))
}

/// Making a new file system.
fn format_disk(invocation: &Invocation) -> Option<String> {
    let program = invocation.program.as_str();
    let formats = program == "mkfs"
        || program.starts_with("mkfs.")
        || ["mke2fs", "mkswap", "wipefs", "blkdiscard"].contains(&program);
    formats.then(|| format!("`{program}` overwrites a disk"))
}

/// Writing to a device.
fn raw_device(invocation: &Invocation) -> Option<String> {
    let redirects = invocation
        .redirects
        .iter()
        .map(|redirect| redirect.path.as_str());
    let arguments = invocation.arguments.iter().map(String::as_str);
    let written: Vec<&str> = match invocation.program.as_str() {
        "dd" => arguments
            .filter_map(|word| word.strip_prefix("of="))
            .collect(),
        "tee" | "shred" | "truncate" => arguments.collect(),
        "cp" | "mv" => arguments.rev().take(1).collect(),
        _ => Vec::new(),
    };
    let device = redirects.chain(written).find(|path| is_raw_device(path))?;
    Some(format!("it writes to the device {device}"))
}

fn is_raw_device(path: &str) -> bool {
    if !path.starts_with('/') {
        return false;
    }
    const HARMLESS: &[&str] = &[
        "null", "zero", "full", "stdin", "stdout", "stderr", "tty", "random", "urandom", "fd",
        "shm", "pts", "ptmx", "tcp", "udp", "mqueue",
    ];
    match parts(path).as_slice() {
        ["dev", name, ..] => !HARMLESS.contains(name),
        _ => false,
    }
}

/// Killing every process there is.
fn kill_all(invocation: &Invocation) -> Option<String> {
    let program = invocation.program.as_str();
    let arguments = invocation.arguments.as_slice();
    let all = match (program, arguments) {
        ("killall5", _) => true,
        // The first word can be a signal, and signal 1 is written like that.
        ("kill", [_, rest @ ..]) => rest.iter().any(|word| word == "-1"),
        _ => false,
    };
    all.then(|| format!("`{program}` kills every process"))
}
