//! What a message across two hosts is compared with.

use super::super::clock;
use super::super::end::LINE;
use super::WARM_UP;
use anyhow::Context as _;
use async_nats::jetstream::{self, stream};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use tokio::runtime::Runtime;

/// A client that publishes to a stream of its own and waits for each acknowledgement.
pub(super) struct PlainNats {
    runtime: Runtime,
    context: jetstream::Context,
}

impl PlainNats {
    pub(super) fn start(address: &str) -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let context = runtime.block_on(async {
            let client = async_nats::connect(address).await?;
            let context = jetstream::new(client);
            let config = stream::Config {
                name: "plain".to_owned(),
                subjects: vec!["plain".to_owned()],
                ..stream::Config::default()
            };
            context.create_stream(config).await?;
            anyhow::Ok(context)
        })?;
        Ok(Self { runtime, context })
    }

    pub(super) fn block(&mut self, rounds: u64) -> anyhow::Result<Vec<u64>> {
        let (context, line) = (&self.context, "x".repeat(LINE));
        self.runtime.block_on(async {
            let mut times = Vec::new();
            for round in 0..WARM_UP + rounds {
                let began = clock::nanos();
                let published = context.publish("plain", line.clone().into()).await?;
                published.await?;
                if round >= WARM_UP {
                    times.push(clock::nanos() - began);
                }
            }
            Ok(times)
        })
    }
}

/// A line that a process on the other host returns.
pub(super) struct BarePipe {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl BarePipe {
    pub(super) fn start(ssh: &str, host: &str) -> anyhow::Result<Self> {
        let mut words = ssh.split_whitespace();
        let mut command = Command::new(words.next().context("a program")?);
        command.args(words).args([host, "cat"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn()?;
        let input = process.stdin.take().context("a pipe")?;
        let output = BufReader::new(process.stdout.take().context("a pipe")?);
        Ok(Self {
            process,
            input,
            output,
        })
    }

    pub(super) fn block(&mut self, rounds: u64) -> anyhow::Result<Vec<u64>> {
        let line = "x".repeat(LINE - 1) + "\n";
        let mut times = Vec::new();
        for round in 0..WARM_UP + rounds {
            let (began, mut back) = (clock::nanos(), String::new());
            self.input.write_all(line.as_bytes())?;
            self.output.read_line(&mut back)?;
            anyhow::ensure!(back == line, "the pipe has ended");
            if round >= WARM_UP {
                times.push(clock::nanos() - began);
            }
        }
        Ok(times)
    }
}

impl Drop for BarePipe {
    fn drop(&mut self) {
        // It ends with its pipe anyway.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Writes a program of the shell.
pub(super) fn script(path: &Path, lines: &str) -> anyhow::Result<()> {
    std::fs::write(path, lines)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))?;
    Ok(())
}
