use super::*;
use proptest::prelude::*;

#[track_caller]
fn refused(commands: &[&str]) {
    for command in commands {
        assert!(
            Policy::default().check(command).is_err(),
            "may run: {command}"
        );
    }
}

#[track_caller]
fn runs(commands: &[&str]) {
    for command in commands {
        let checked = Policy::default().check(command);
        assert_eq!(checked, Ok(()), "refused: {command}");
    }
}

#[test]
fn words_are_not_commands() {
    runs(&[
        "grep shutdown_request src",
        "grep -rn 'shutdown now' .",
        "echo \"rm -rf /\"",
        "git commit -m 'sudo'",
        "git log --grep sudo",
        "echo shutdown; echo reboot # sudo reboot",
        "cat <<EOF\nrm -rf /\nsudo x\nEOF",
        "cat <<'EOF'\n$(sudo x)\nEOF",
        "cat <<-'EOF' > notes\n\tsudo x\n\tEOF",
        "printf '%s' '$(sudo x)'",
        "man mkfs.ext4",
        "which sudo && command -v sudo",
        "case $1 in reboot) echo r;; (halt) echo h;; esac",
        "case $1 in (reboot|halt) echo h\n;; esac",
        "./reboot.sh; my-sudo x; sudoku",
        "a=(sudo reboot); x=sudo; SUDO=1 make",
        "test -e /sbin/reboot",
        "python3 -c 'import sys; print(\"sudo\")'",
        "for x in sudo reboot; do echo $x; done",
    ]);
}

#[test]
fn ordinary_work_runs() {
    runs(&[
        "rm -rf target node_modules ./build",
        "rm -rf /tmp/x /tmp/*",
        "rm -f /etc/hosts.bak",
        "rm -rf ~/project/target \"$HOME/x/y\"",
        "rm -rf \"~\"",
        "cargo test 2>&1 | tee log > /dev/null",
        "echo x >/dev/stderr 2>/dev/null &>/dev/null",
        "dd if=/dev/zero of=file bs=1M count=1",
        "dd if=/dev/urandom of=/dev/null",
        "kill -9 1234; kill -1 1234; kill %1",
        "chmod -R u+w target; chown -R me:me /srv/app/data",
        "find . -name '*.o' -delete; find / -name x 2>/dev/null",
        "walk() { for f in *; do walk \"$f\"; done; }; walk .",
        "f() { echo hi | cat; }; f & wait",
        "systemctl status nginx; init_db 0",
        "cp a b; mv x /tmp/y",
        "ls /dev; cat </dev/sda >copy",
        "[[ $a > /x ]] && (( a > 5 ))",
        "",
        "\n\n;;",
    ]);
}

#[test]
fn the_root_and_homes_are_not_deleted() {
    refused(&[
        "rm -rf /",
        "rm -fr /",
        "rm -r -f /*",
        "rm -f / -r",
        "rm --recursive --force ~",
        "rm --rec /",
        "rm -Rf ~/",
        "rm -rf ~/*",
        "rm -rf $HOME",
        "rm -rf \"$HOME/\"",
        "rm -rf ${HOME}",
        "rm -rf ${HOME:?}/*",
        "rm -rf '/'",
        "rm -rf //",
        "rm -rf /.",
        "rm -rf /tmp/..",
        "rm -rf -- /",
        "rm -rf x /etc y",
        "rm -rf /usr/*",
        "rm -rf /home/somebody",
        "rm -rf /{bin,etc}",
        "/bin/rm -rf /",
        "\\rm -rf /",
        "r''m -rf /",
        "rm -r --no-preserve-root x",
        "chmod -R 777 /",
        "chown -R nobody /usr",
        "find / -delete",
        "find / -type f -exec rm -rf {} +",
    ]);
}

#[test]
fn other_users_power_and_disks_are_left_alone() {
    refused(&[
        "sudo x",
        "/usr/bin/sudo x",
        "su - root",
        "doas x",
        "shutdown now",
        "reboot",
        "/sbin/poweroff -f",
        "systemctl reboot",
        "init 0",
        "mkfs.ext4 /dev/sda",
        "mkfs /dev/sda1",
        "wipefs -a /dev/sda",
        "dd if=x of=/dev/sda",
        "dd of=/dev/nvme0n1 if=/dev/zero",
        "> /dev/sda",
        "echo x > /dev/sda",
        "echo x >>/dev/sda",
        "echo x 1>/dev/sda",
        "echo x &> /dev/sda",
        "echo x >| /dev/sda",
        "cat image | tee /dev/sdb",
        "cp image /dev/sdb",
        "kill -9 -1",
        "kill -KILL -1",
    ]);
}

#[test]
fn commands_are_found_wherever_a_shell_finds_them() {
    refused(&[
        "true; sudo x",
        "true && sudo x",
        "false || sudo x",
        "true | sudo x",
        "true & sudo x",
        "true\nsudo x",
        "(sudo x)",
        "{ sudo x; }",
        "! sudo x",
        "echo $(sudo x)",
        "echo \"a $(sudo x) b\"",
        "echo `sudo x`",
        "echo \"`sudo x`\"",
        "echo ${x:-$(sudo x)}",
        "echo $((1 + $(sudo x)))",
        "cat <(sudo x)",
        "cat <<EOF\n$(sudo x)\nEOF",
        "cat <<EOF\nx\nEOF\nsudo x",
        "A=1 B=2 sudo x",
        "A=$(sudo x) true",
        "if true; then sudo x; fi",
        "while sudo x; do :; done",
        "for i in 1 2; do sudo x; done",
        "case a in a) sudo x;; esac",
        "case a in a) (sudo x);; esac",
        "case a in (a) echo;; b) true; sudo x; esac",
        "f() { sudo x; }; f",
        "function f { sudo x; }",
        "x=(1 2); sudo x",
        "sudo\\\n x",
        "time -p sudo x",
        ">log 2>&1 sudo x",
    ]);
}

#[test]
fn programs_that_start_programs_are_looked_through() {
    refused(&[
        "env sudo x",
        "env -i A=1 sudo x",
        "env -u HOME -C / sudo x",
        "env -S 'sudo x'",
        "nohup sudo x &",
        "nice -n 5 sudo x",
        "timeout -s KILL 5 sudo x",
        "timeout 5 rm -rf /",
        "exec sudo x",
        "exec -a y sudo x",
        "command sudo x",
        "builtin eval 'sudo x'",
        "time sudo x",
        "setsid -f sudo x",
        "stdbuf -oL sudo x",
        "echo y | xargs sudo",
        "ls | xargs -n 1 -I {} rm -rf /",
        "echo / | xargs rm -rf",
        "ls | xargs -i rm -rf /",
        "watch -n 1 'sudo x'",
        "bash -c 'sudo x'",
        "bash -lc 'true; sudo x'",
        "sh -e -c \"rm -rf /\"",
        "bash -o pipefail -c 'sudo x'",
        "bash -c \"bash -c 'sudo x'\"",
        "eval sudo x",
        "eval 'rm -rf' /",
        "trap 'sudo x' EXIT",
        "echo 'rm -rf /' | sh",
        "bash <<< 'sudo x'",
        "bash <<EOF\nsudo x\nEOF",
        "cat <<EOF | bash -s\nsudo x\nEOF",
        "busybox rm -rf /",
        "nohup env nice bash -c 'exec sudo x'",
        "find . -exec sudo x {} \\;",
    ]);
}

#[test]
fn fork_bombs_are_refused() {
    refused(&[
        ":(){ :|:& };:",
        ":() { : | : & }; :",
        "bomb() { bomb | bomb & }; bomb",
        "bash -c ':(){ :|:& };:'",
    ]);
}

#[test]
fn rules_can_be_added_and_switched_off() {
    let policy = Policy::default().without("other-user");
    assert_eq!(policy.check("sudo x"), Ok(()));
    assert!(policy.check("sudo rm -rf /").is_err());
    assert_eq!(Policy::allow_all().check("rm -rf /"), Ok(()));
    let rule = Rule::deny_program("terraform", "ask first");
    let policy = policy.with(rule);
    assert_eq!(
        policy.check("cd x && terraform apply"),
        Err("ask first".to_owned())
    );
    let push = Rule::new("no-push", |invocation| {
        let pushes = invocation
            .arguments
            .first()
            .is_some_and(|word| word == "push");
        (invocation.program == "git" && pushes).then(|| "pushing is not yours".to_owned())
    });
    let policy = policy.with(push);
    assert!(policy.check("git push origin").is_err());
    assert_eq!(policy.check("git commit -m push"), Ok(()));
    assert!(policy.names().any(|name| name == "no-push"));
}

#[test]
fn what_is_nested_too_deeply_is_refused_and_soon() {
    let mut command = "true".to_owned();
    for _ in 0..40 {
        command = format!("$({command})");
    }
    assert!(Policy::default().check(&command).is_err());
    let wrapped = "env ".repeat(10_000);
    assert!(Policy::default().check(&wrapped).is_err());
    for opening in [
        "${",
        "$((",
        "$(",
        "`",
        "a=(",
        "<(",
        "\"$(",
        "(",
        "{ ",
        "<<E ",
        "case x in ",
    ] {
        let _ = Policy::default().check(&opening.repeat(50_000));
    }
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in any::<String>()) {
        let _ = Policy::default().check(&text);
    }

    #[test]
    fn no_mixture_of_syntax_makes_it_panic(
        parts in prop::collection::vec(prop::sample::select(vec![
            "'", "\"", "`", "$(", ")", "(", "{", "}", "${", "$((", "))", "<<EOF", "\nEOF\n", "<<<",
            ">", "2>&1", "&", "|", ";", "\\", "\n", "#", "case", "esac", "f()", "bash -c", "env -S",
            "eval", "xargs", "find -exec", "~", "/", "rm -rf", " ", "é", "=(", "<(",
        ]), 0..30),
    ) {
        let _ = Policy::default().check(&parts.concat());
    }

    #[test]
    fn quoting_hides_any_text(text in "[^']{0,60}") {
        prop_assert_eq!(Policy::default().check(&format!("echo '{text}'")), Ok(()));
    }
}
