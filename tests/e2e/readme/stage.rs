//! A machine on which nobody has used the programs before: an empty home folder, and a clone.
//!
//! Three things are played:
//!
//! - **cargo** is a shell script. `cargo install` puts the two programs that `cargo test` has built
//!   where cargo would put them, `cargo build --release` links them, everything else does nothing.
//!   [`super::installation`] makes sure that the real one would install the same.
//! - **Providers of models** are a server on the loopback interface that speaks their protocols.
//! - **Scripts** that run for long are only asked for their help; `super::super::demo` runs the
//!   demonstration.

use crate::harness::{LIMIT, Terminal, with_variable};
use crate::readme::document::root;
use std::collections::BTreeSet;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;
use test_support::llm_server::{LlmServer, ServerReply};
use test_support::wait_until;

const CARGO: &str = r#"#!/bin/sh
case "$*" in
"install --path . --locked")
    [ -f Cargo.toml ] || exit 1
    mkdir -p "$HOME/.cargo/bin"
    ln -sf "$PROGRAMS/team-lead" "$PROGRAMS/teammate" "$HOME/.cargo/bin" ;;
"build --release "*) mkdir -p target && ln -sfn "$PROGRAMS" target/release ;;
esac
"#;

/// Where the README says that a local server listens.
const LOCAL_SERVER: &str = "http://localhost:11434/v1";

/// The folder of the programs that `cargo test` has built.
pub(crate) fn programs() -> &'static Path {
    let program = Path::new(env!("CARGO_BIN_EXE_team-lead"));
    program.parent().unwrap()
}

pub(crate) struct Stage {
    home: TempDir,
    server: LlmServer,
    said: String,
    folders: BTreeSet<PathBuf>,
    open: Vec<(String, Terminal)>,
}

impl Stage {
    /// A home with a clone of this repository, in which the reader stands.
    pub(crate) fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let clone = home.path().join("clone");
        let stubs = home.path().join("stubs");
        std::fs::create_dir(&clone).unwrap();
        std::fs::create_dir(&stubs).unwrap();
        for name in [
            "Cargo.toml",
            "Cargo.lock",
            "README.md",
            "crates",
            "scripts",
            "tests",
        ] {
            symlink(root().join(name), clone.join(name)).unwrap();
        }
        program(&stubs.join("cargo"), CARGO);
        if Command::new("jq").arg("--version").output().is_err() {
            program(&stubs.join("jq"), "#!/bin/sh\ncat >/dev/null\n");
        }
        std::fs::write(home.path().join("cwd"), clone.to_str().unwrap()).unwrap();
        let server = LlmServer::start();
        server.always("readme", ServerReply::text("Done."));
        Self {
            home,
            server,
            said: String::new(),
            folders: BTreeSet::new(),
            open: Vec::new(),
        }
    }

    /// The same after the first command of the README.
    pub(crate) fn installed() -> Self {
        let mut stage = Self::new();
        stage.type_block("cargo install --path . --locked\nmkdir ~/work\ncd ~/work\n");
        stage
    }

    /// Types the lines of a block. All of them have to succeed.
    pub(crate) fn type_block(&mut self, text: &str) {
        let mut lines = Vec::new();
        for line in text.lines() {
            if stays_open(line) {
                self.run(&lines.join("\n"));
                lines.clear();
                self.start(line);
            } else {
                lines.push(self.playable(line));
            }
        }
        self.run(&lines.join("\n"));
    }

    /// Types the commands of a block that shows what they print, and compares that.
    pub(crate) fn compare(&mut self, text: &str) {
        let mut blocks = text.split("$ ");
        assert_eq!(blocks.next(), Some(""), "a command comes first: {text}");
        for block in blocks {
            let (command, expected) = block.split_once('\n').unwrap();
            let output = self.run(command);
            let said = String::from_utf8_lossy(&output.stdout);
            assert_eq!(said, expected, "{command}");
        }
    }

    /// Makes sure that these lines were printed before.
    pub(crate) fn expect_shown(&mut self, text: &str) {
        text.lines().for_each(|line| self.said(line));
    }

    /// Makes sure that the commands so far have printed this.
    #[track_caller]
    pub(crate) fn said(&self, words: &str) {
        assert!(
            self.said.contains(words),
            "{words:?} is not in {}",
            self.said
        );
    }

    /// Types the `run` steps of a workflow, beside a checkout of this repository and with a key.
    pub(crate) fn type_workflow(&mut self, text: &str) {
        let values = text.lines().filter_map(|line| {
            let (name, value) = line.trim().split_once(": ")?;
            let is_variable = name.chars().all(|c| c.is_ascii_uppercase() || c == '_');
            let value = value.replace("${{ secrets.ANTHROPIC_API_KEY }}", "key-of-a-test");
            is_variable.then(|| format!("export {name}={value}"))
        });
        let steps = text
            .lines()
            .filter_map(|line| line.trim().strip_prefix("- run: "));
        // Each step has a shell of its own.
        let steps: Vec<String> = steps.map(|step| format!("({step})")).collect();
        assert!(!steps.is_empty(), "a workflow without steps: {text}");
        let values: Vec<String> = values.collect();
        self.run(&format!(
            "ln -sfn ~/clone team-lead\n{}\n{}",
            values.join("\n"),
            steps.join("\n")
        ));
    }

    /// Makes sure that a `team.toml` can be used.
    pub(crate) fn configure(&mut self, text: &str) {
        let folder = self.home.path().join("configured");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("team.toml"), text).unwrap();
        self.run("team-lead -C ~/configured config show");
    }

    /// The names of the models that were asked, in the order in which they first were.
    pub(crate) fn models_asked(&self) -> Vec<String> {
        let requests = self.server.requests("readme");
        let mut names: Vec<String> = requests.iter().map(|r| r.model().to_owned()).collect();
        names.dedup();
        names
    }

    /// A line as it can be played here.
    fn playable(&self, line: &str) -> String {
        let line = line.replace(LOCAL_SERVER, &self.server.openai_base_url("readme"));
        let is_script = line.starts_with("scripts/") || line.starts_with("TEAM_TEST=long ");
        if is_script {
            let command = line.split(" #").next().unwrap();
            format!("(cd ~/clone && {command} --help)")
        } else {
            line
        }
    }

    /// The shell of this machine, in the folder where the last command left it.
    fn shell(&self, lines: &str) -> Command {
        let home = self.home.path();
        let script = format!("cd \"$(cat ~/cwd)\"\nset -ex\n{lines}\nset +x\npwd > ~/cwd\n");
        let path = std::env::var("PATH").unwrap();
        let path = format!("{0}/stubs:{0}/.cargo/bin:{path}", home.display());
        // A command that hangs fails the test with what was printed, instead of holding it up.
        let mut shell = Command::new("timeout");
        shell.args(["--foreground", "240", "bash", "-c", &script]);
        shell.env_clear().current_dir(home).env("HOME", home);
        shell.env("PATH", path).env("PROGRAMS", programs());
        // For machines that are busy with other tests.
        shell.env("TEAM_READY_TIMEOUT", "120");
        shell.env("TERM", "xterm-256color").env("LANG", "C.UTF-8");
        shell.env("ANTHROPIC_BASE_URL", self.server.base_url("readme"));
        shell.env("OPENAI_BASE_URL", self.server.openai_base_url("readme"));
        shell
    }

    pub(crate) fn run(&mut self, lines: &str) -> Output {
        let output = self.shell(lines).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "{}\n{said}\n{errors}",
            output.status
        );
        self.said.push_str(&said);
        self.said.push_str(&errors);
        let folder = std::fs::read_to_string(self.home.path().join("cwd")).unwrap();
        self.folders.insert(PathBuf::from(folder.trim_end()));
        output
    }

    /// Starts a command at a terminal of its own, and waits until it shows something.
    fn start(&mut self, line: &str) {
        let shell = self.shell(&format!("set +x; {line}"));
        let terminal = Terminal::start(shell, 24, 80);
        wait_until(line, LIMIT, || !terminal.output().is_empty());
        self.open.push((line.to_owned(), terminal));
    }

    /// Leaves the terminals, ends all teams, and makes sure that no process is left.
    pub(crate) fn close(&mut self) {
        for (line, mut terminal) in self.open.drain(..) {
            let is_stream = line.contains(" -f");
            terminal.type_keys(if is_stream { "\x03" } else { "q\r" });
            terminal.end();
        }
        for folder in std::mem::take(&mut self.folders) {
            if folder.join(".team").exists() {
                let folder = folder.display();
                self.run(&format!(
                    "team-lead -C {folder} shutdown --all --wait --timeout 30 --force"
                ));
            }
        }
        let home = format!("HOME={}", self.home.path().display());
        wait_until("the end of all processes", LIMIT, || {
            with_variable(&home).is_empty()
        });
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.open.clear();
        for folder in &self.folders {
            let kill =
                "for name in .team/members/[a-z]*/; do team-lead kill $(basename $name); done";
            let kill = format!("cd {} && [ -d .team ] && {kill}", folder.display());
            let _ = self.shell(&kill).output();
        }
    }
}

/// Whether a command stays until it is left: it gets a terminal of its own.
fn stays_open(line: &str) -> bool {
    let command = line.split(" #").next().unwrap().trim_end();
    ["team-lead watch", "team-lead run", " -f"]
        .iter()
        .any(|end| command.ends_with(end))
}

/// Another process writes it: a child that another test starts meanwhile would inherit a descriptor of this
/// one, and a file that is open for writing cannot be executed.
fn program(path: &Path, text: &str) {
    let source = path.with_extension("source");
    std::fs::write(&source, text).unwrap();
    let mut install = Command::new("install");
    let status = install.args(["-m", "755"]).args([&source, path]).status();
    assert!(status.unwrap().success(), "install {}", path.display());
}
