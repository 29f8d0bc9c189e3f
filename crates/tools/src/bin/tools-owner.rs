//! A process that owns commands, for the tests that kill it. It reads one call per line, the name
//! of a tool and its arguments in JSON, starts it, and writes a line for every output.

use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::sync::Arc;

use tools::{Background, BackgroundRun, Bash, OutputFolder, Registry, ToolContext, Workspace};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().ok_or("the folder is missing")?);
    let owner = arguments.next().ok_or("the owner is missing")?;
    let workspace = Workspace::open(&folder, [])?;
    let output = OutputFolder::new(folder.join("output"));
    let context = ToolContext::new(workspace, output, &owner);
    let background = Background::new();
    let mut registry = Registry::new();
    registry.add(Bash)?;
    registry.add(BackgroundRun::new(background))?;
    let registry = Arc::new(registry);
    let (sender, mut lines) = tokio::sync::mpsc::unbounded_channel();
    std::thread::spawn(move || {
        let mut lines = io::stdin().lock().lines().map_while(Result::ok);
        lines.all(|line| sender.send(line).is_ok());
    });
    while let Some(line) = lines.recv().await {
        let (registry, context) = (Arc::clone(&registry), context.clone());
        tokio::spawn(async move {
            let (name, arguments) = line.split_once(' ').unwrap_or((&line, ""));
            let output = registry.call(name, arguments, &context).await;
            let mut stdout = io::stdout();
            // The reader has ended.
            let _ = writeln!(stdout, "{}", output.text.replace('\n', " "));
            let _ = stdout.flush();
        });
    }
    Ok(())
}
