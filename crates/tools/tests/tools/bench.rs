//! A workspace with something outside of it, and all the tools.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use command::{kill_marked, marked_processes};
use serde_json::Value;
use tools::{
    Background, BackgroundRun, Bash, CheckBackground, Compact, Confinement, EditFile, Glob, Grep,
    ListDir, OutputFolder, ReadFile, Registry, ToolContext, ToolOutput, Workspace, WriteFile,
};

/// Far more than anything here takes. Only what is broken waits so long.
pub(crate) const LONG: Duration = Duration::from_secs(30);

pub(crate) struct Bench {
    folder: tempfile::TempDir,
    pub(crate) context: ToolContext,
    pub(crate) background: Background,
    pub(crate) registry: Registry,
}

impl Bench {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("ws")).unwrap();
        let workspace = Workspace::open(folder.path().join("ws"), [".team".into()]).unwrap();
        let output = OutputFolder::new(workspace.root().join(".team/output"));
        let owner = format!("tools-test-{}-{number}", std::process::id());
        let background = Background::new();
        let mut registry = Registry::new();
        registry.add(Bash).unwrap();
        registry.add(ReadFile).unwrap();
        registry.add(WriteFile).unwrap();
        registry.add(EditFile).unwrap();
        registry.add(Grep).unwrap();
        registry.add(Glob).unwrap();
        registry.add(ListDir).unwrap();
        registry.add(Compact).unwrap();
        registry
            .add(BackgroundRun::new(background.clone()))
            .unwrap();
        registry
            .add(CheckBackground::new(background.clone()))
            .unwrap();
        Self {
            folder,
            context: ToolContext::new(workspace, output, &owner),
            background,
            registry,
        }
    }

    /// The workspace.
    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("ws")
    }

    /// A place beside the workspace.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn file(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn text(&self, path: &str) -> String {
        fs::read_to_string(self.root().join(path)).unwrap()
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> ToolOutput {
        self.registry
            .call(tool, &arguments.to_string(), &self.context)
            .await
    }

    /// The text of a call that works.
    #[track_caller]
    pub(crate) fn works(&self, tool: &str, arguments: Value) -> String {
        let output = block_on(self.call(tool, arguments));
        assert!(!output.is_error, "{output:?}");
        output.text
    }

    /// The text of a call that fails.
    #[track_caller]
    pub(crate) fn fails(&self, tool: &str, arguments: Value) -> String {
        let output = block_on(self.call(tool, arguments));
        assert!(output.is_error, "{output:?}");
        output.text
    }

    /// How many processes of this bench there are.
    pub(crate) fn processes(&self) -> usize {
        let all = marked_processes().into_iter();
        let own = all.filter(|process| process.mark.starts_with(&self.prefix()));
        own.count()
    }

    pub(crate) fn prefix(&self) -> String {
        format!("{}.", self.context.owner)
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.background.stop_all();
        let prefix = self.prefix();
        kill_marked(|mark| mark.starts_with(&prefix));
    }
}

/// A bench whose commands are confined, and whose user has a home folder outside of the workspace.
pub(crate) fn confined(has_sandbox: bool) -> Bench {
    let mut bench = Bench::new();
    bench.context.confinement = Some(Arc::new(Confinement {
        workspace: bench.root(),
        home: Some(bench.beside("home")),
        control: vec!["control.toml"],
        secrets: Vec::new(),
        locks: |_| Vec::new(),
        records: None,
        programs: Vec::new(),
        readable: Vec::new(),
        network: "off".parse().unwrap(),
        has_sandbox,
        remedy: "open the door".to_owned(),
        read_only_reason: "until noon".to_owned(),
    }));
    bench
}

/// Runs on this thread.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_time().build().unwrap().block_on(future)
}

/// Every file below a folder with its kind, permissions and content.
pub(crate) fn picture(folder: &Path) -> BTreeMap<PathBuf, (u32, u64, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let meta = fs::symlink_metadata(&path).unwrap();
            let mut content = Vec::new();
            if meta.is_dir() {
                folders.push(path.clone());
            } else if meta.is_file() {
                content = fs::read(&path).unwrap();
            }
            found.insert(path, (meta.permissions().mode(), meta.ino(), content));
        }
    }
    found
}
